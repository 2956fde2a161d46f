/* EC2's error codes -> classes, hints and the attribute at fault: data in errors.csv (columns code,
 * class, attribute, hint; derived from the collected contract, see README.md) and error_texts.csv,
 * embedded. */
#pragma once
#include "common/errors.h"

ModErrors *aws_errors_new(void);

/* Reads an unsuccessful answer into `failure`: class, code, message, request id, hint. For bodies
 * that are HTML, empty or truncated, the status decides. `definite` is left false. */
void aws_errors_read(
	const ModErrors *errors, int32_t status, struct rgp_bytes body, ModFailure *failure);
/* The same for the services that speak JSON. */
void aws_errors_read_json(
	const ModErrors *errors, int32_t status, struct rgp_bytes body, ModFailure *failure);
