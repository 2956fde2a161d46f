/* EC2's error codes -> classes, hints and the attribute to blame: data in errors.csv (columns code,
 * class, attribute, hint; cut from the collected contract, see README.md), embedded and read once
 * when an instance opens. Immutable afterwards; any thread. */
#pragma once
#include "common/talk.h"

typedef struct {
	int32_t class_;
	const char *attribute, *hint; /* NULL when there is nothing to say */
} AwsErrorRow;

typedef struct AwsErrors AwsErrors;

AwsErrors *aws_errors_new(void);
void aws_errors_free(AwsErrors *errors);
/* NULL for a code that the table doesn't have. */
const AwsErrorRow *aws_errors_find(const AwsErrors *errors, const char *code);

/* Reads an answer that is no success into `failure`: class, code, message, request id, hint. Also
 * for bodies that are HTML, empty or cut: then by status. `definite` is left false. */
void aws_errors_read(
	const AwsErrors *errors, int32_t status, struct rgp_bytes body, ModFailure *failure);
/* A code and message met inside an answer (StateReason). */
void aws_errors_describe(
	const AwsErrors *errors, const char *code, const char *message, ModFailure *failure);
