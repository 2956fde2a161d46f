/* A cloud's error codes -> classes, hints and the attribute to blame: a module's table with the
 * columns code, class, attribute, hint. Read once when an instance opens. Immutable afterwards; any
 * thread. */
#pragma once
#include "common/talk.h"

typedef struct {
	int32_t class_;
	const char *attribute, *hint; /* NULL when there is nothing to say */
} ModErrorRow;

typedef struct ModErrors ModErrors;

/* `csv`: one row a line under a line of titles; no field but the hint, the last one, holds a comma,
 * none a quote. */
ModErrors *mod_errors_new(const char *csv);
void mod_errors_free(ModErrors *errors);
/* NULL for a code that the table does not have. */
const ModErrorRow *mod_errors_find(const ModErrors *errors, const char *code);
/* A failure with a code and a message (may be empty); class unknown where the table lacks the code.
 */
void mod_errors_describe(
	const ModErrors *errors, const char *code, const char *message, ModFailure *failure);
/* What a bare HTTP status says: for codes that the table lacks. */
int32_t mod_class_of_status(int32_t status);
