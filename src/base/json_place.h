/* Where a value stands in the JSON text that it was read from, for diagnostics: jansson keeps no
 * places. Pure; the text must be one that rg_json_parse accepts (of another the answer is any, but
 * nothing outside of it is read). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* line and column (in characters) from 1 of the value at an RFC 6901 pointer; where the pointer
 * leads nowhere, of the last value on its way. false when there is no value at all. */
bool rg_json_place(
	const char *text, size_t len, const char *pointer, unsigned *line, unsigned *column);
/* How many values the text has at most, found without parsing it: what it would cost in memory. */
size_t rg_json_count_values(const char *text, size_t len);
