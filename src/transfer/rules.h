/* Shared by the parts that read a document. Private to document.c and document_rules.c. */
#pragma once
#include "transfer/document.h"

#define TOLD_MAX 20

typedef struct {
	const char *file, *text;
	size_t len;
	bool force; /* dangling references are allowed */
	unsigned told;
	RgDiags *diags;
} Reading;

/* An error at the place of a JSON pointer, the first with a hint at the schema; NULL if enough were
 * reported. */
RgDiag *reading_error(Reading *reading, const char *code, const char *pointer, const char *format,
	...) G_GNUC_PRINTF(4, 5);
/* What a JSON Schema cannot express, for a document of the right structure; false: an error was
 * reported. */
bool rules_check(Reading *reading, const json_t *document);
