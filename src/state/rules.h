/* What the parts of reading a document share. Private to document.c and document_rules.c. */
#pragma once
#include "state/document.h"

typedef struct {
	const char *file, *text;
	size_t len;
	bool force; /* dangling references pass */
	unsigned told;
	RgDiags *diags;
} Reading;

/* An error at the place of a JSON pointer, the first with a hint at the schema; NULL when enough
 * were reported. */
RgDiag *reading_error(Reading *reading, const char *code, const char *pointer, const char *format,
	...) G_GNUC_PRINTF(4, 5);
/* What no JSON Schema can say, of a document of the right shape; false: an error was reported. */
bool rules_check(Reading *reading, const json_t *document);
