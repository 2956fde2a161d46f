/* Where a value is in the JSON text that it was read from, for diagnostics: jansson does not keep
 * positions. Pure; the text must be one that rg_json_parse accepts (for other texts the answer is
 * undefined, but nothing outside the text is read). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* line and column (in characters, from 1) of the value at an RFC 6901 pointer; if the pointer leads
 * nowhere, of the last value on its path. false if there is no value at all. */
bool rg_json_place(
	const char *text, size_t len, const char *pointer, unsigned *line, unsigned *column);
/* The maximum number of values in the text, without parsing it: an estimate of the memory that it
 * needs. */
size_t rg_json_count_values(const char *text, size_t len);
