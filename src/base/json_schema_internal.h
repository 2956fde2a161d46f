/* Shared by the compiling and the checking half of base/json_schema.h. */
#pragma once
#include "base/json_schema.h"

struct RgJsonSchema {
	json_t *root;
	GHashTable *patterns; /* pattern text (borrowed from root) -> GRegex */
};

/* The subschema that a "$ref" text names; NULL if it is neither "#" nor under "#/$defs/". */
json_t *rg_json_schema_ref(const RgJsonSchema *schema, const char *ref);
/* Compares as JSON Schema does: 1 and 1.0 are equal, the order of members does not matter. */
gboolean rg_json_schema_equal(gconstpointer a, gconstpointer b);
guint rg_json_schema_hash(gconstpointer value);
/* Whether a value is of a JSON Schema type; 1.0 is an integer. */
bool rg_json_schema_is_type(const json_t *value, const char *type);
/* Compares two numbers: below 0, 0 or above. Exact for all types: 2^53 + 1 is more than 2^53. */
int rg_json_schema_compare(const json_t *a, const json_t *b);
