/* Small helpers for jansson, which represents attributes everywhere inside raygpu. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include <stdint.h>
#include <stdbool.h>
#include "base/diag.h"
#include "base/each.h"

/* jansson's functions do not accept const: use this for a value that they only read, or whose count
 * they raise. */
static inline json_t *rg_json_unconst(const json_t *value)
{
	return (json_t *)(uintptr_t)value;
}

/* json_decref as a GDestroyNotify. */
void rg_json_unref(void *value);

/* Compact text with sorted keys: equal values produce equal bytes. g_free the result. */
char *rg_json_canonical(const json_t *value);
/* Lower-case hex SHA-256 of the canonical text. g_free the result. */
char *rg_json_digest(const json_t *value);
/* Parses one JSON text of a trusted size; NULL and a diagnostic `code` on error (message names
 * `what`, line and column). Rejects duplicate keys. Caps depth at RG_CAP_JSON_DEPTH. */
json_t *rg_json_parse(
	const char *text, size_t len, const char *what, const char *code, RgDiags *diags);
/* Member look-ups that return the given default if the key is absent or of another type. */
const char *rg_json_str(const json_t *object, const char *key, const char *otherwise);
int64_t rg_json_int(const json_t *object, const char *key, int64_t otherwise);
bool rg_json_bool(const json_t *object, const char *key, bool otherwise);
/* Whether `names`, a text or a list of texts, contains this text. */
bool rg_json_has_text(const json_t *names, const char *text);
/* The texts of a list, or the one text; NULL if there is none. g_strfreev. */
GStrv rg_json_texts(const json_t *list);
/* RFC 6901 pointer look-up ("" = whole); borrowed, NULL if absent. */
json_t *rg_json_at(const json_t *value, const char *pointer);
/* The name in one step of a pointer ("ray.io~1x": "ray.io/x"). g_free. */
char *rg_json_step_name(const char *step, size_t len);
/* Appends "/key" to a pointer with RFC 6901 escaping. g_free the result. */
char *rg_json_pointer_add(const char *pointer, const char *key);
/* A deep copy in which whole numbers are integers: 2.0 is one to JSON Schema, but not to jansson.
 * NULL for NULL. */
json_t *rg_json_with_integers(const json_t *value);
/* Sets a member from a text that may be NULL, which becomes JSON null. Steals nothing. */
void rg_json_set_str(json_t *object, const char *key, const char *text);
