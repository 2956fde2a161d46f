/* A cloud's error codes -> classes, hints and the attribute at fault: a module's table with the
 * columns code, class, attribute, hint. Read once when an instance opens. Immutable afterwards; any
 * thread. */
#pragma once
#include "common/talk.h"

typedef struct {
	int32_t class_;
	const char *attribute, *hint; /* NULL if there is nothing to say */
} ModErrorRow;

typedef struct ModErrors ModErrors;

/* `csv`: one row per line, after a header line; only the last field, the hint, may contain commas;
 * no field contains quotes. `texts`: the same with a second column, a part of the message, for
 * codes that mean several things; the first row that applies counts. NULL: no code does. */
ModErrors *mod_errors_new(const char *csv, const char *texts);
void mod_errors_free(ModErrors *errors);
/* NULL for a code that is not in the table. */
const ModErrorRow *mod_errors_find(const ModErrors *errors, const char *code);
/* A failure with a code and a message (may be empty); class unknown if the table lacks the code. */
void mod_errors_describe(
	const ModErrors *errors, const char *code, const char *message, ModFailure *failure);
/* What the HTTP status alone implies: for codes that are not in the table. */
int32_t mod_class_of_status(int32_t status);
