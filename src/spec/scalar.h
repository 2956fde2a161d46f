/* What an unquoted YAML scalar means: the core schema of YAML 1.2.2, section 10.3.2. Pure. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

typedef enum {
	RG_SCALAR_TEXT,
	RG_SCALAR_WORD11, /* text here, a boolean for YAML 1.1 parsers: yes, no, on, off, y, n */
	RG_SCALAR_NULL,
	RG_SCALAR_BOOLEAN,
	RG_SCALAR_NUMBER,
	RG_SCALAR_TOO_LARGE,  /* a number that does not fit a 64-bit integer or double */
	RG_SCALAR_NOT_FINITE, /* .inf and .nan */
} RgScalarKind;

/* Whether YAML 1.1 takes a number of the core schema for octal: 010. */
bool rg_scalar_is_octal11(const char *text);
/* *value gets a new reference: text for RG_SCALAR_TEXT and WORD11, null for TOO_LARGE and
 * NOT_FINITE. `text` is valid UTF-8. */
RgScalarKind rg_scalar_resolve(const char *text, json_t **value);
