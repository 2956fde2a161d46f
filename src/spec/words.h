/* How findings name types, values and keys to people. Pure; src/spec only. */
#pragma once
#include "base/json.h"

/* "a whole number", "text or a list": what a schema's `type` asks for. g_free. */
char *rg_words_of_types(const json_t *types);
/* "text \"two\"", "the number 3", "nothing", "a list": shortened to one line. g_free. */
char *rg_words_of_value(const json_t *value);
/* Text in quotes, cut to 60 characters, control characters escaped. g_free. */
char *rg_words_quote(const char *text);
/* The word that a user of Ray, SkyPilot, Terraform or a cloud's console may have meant, if it is
 * one of `known` (NULL-ended): "max_workers" -> "nodes". Borrowed. */
const char *rg_words_synonym(const char *word, const char *const *known);
