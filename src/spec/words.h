/* How findings name types, values and keys to people. Pure; src/spec only. */
#pragma once
#include "base/json.h"

/* "a whole number", "text or a list": what a schema's `type` asks for. g_free. */
char *rg_words_of_types(const json_t *types);
/* "text \"two\"", "the number 3", "nothing", "a list": shortened to one line. g_free. */
char *rg_words_of_value(const json_t *value);
/* Text in quotes, cut to 60 characters, control characters escaped. g_free. */
char *rg_words_quote(const char *text);
