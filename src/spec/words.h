/* How findings describe types, values and keys. Pure; src/spec only. */
#pragma once
#include "base/json.h"

/* "a whole number", "text or a list": the types that a schema's `type` allows. g_free. */
char *rg_words_of_types(const json_t *types);
/* "text \"two\"", "the number 3", "nothing", "a list": shortened to one line. g_free. */
char *rg_words_of_value(const json_t *value);
/* Text in quotes, cut to 60 characters, control characters escaped. g_free. */
char *rg_words_quote(const char *text);
