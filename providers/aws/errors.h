/* EC2's error codes -> classes, hints and the attribute to blame: data in errors.csv (columns code,
 * class, attribute, hint; cut from the collected contract, see README.md), embedded. */
#pragma once
#include "common/errors.h"

ModErrors *aws_errors_new(void);

/* Reads an answer that is no success into `failure`: class, code, message, request id, hint. Also
 * for bodies that are HTML, empty or cut: then by status. `definite` is left false. */
void aws_errors_read(
	const ModErrors *errors, int32_t status, struct rgp_bytes body, ModFailure *failure);
