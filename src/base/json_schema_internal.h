/* Shared by the compiling and the checking half of base/json_schema.h. */
#pragma once
#include "base/json_schema.h"

/* The keywords with a meaning for values, as indexes of RgSchemaRules.at. */
#define RG_SCHEMA_KEYS(K)                                                                          \
	K(REF, "$ref")                                                                             \
	K(TYPE, "type")                                                                            \
	K(ENUM, "enum")                                                                            \
	K(CONST, "const")                                                                          \
	K(PROPERTIES, "properties")                                                                \
	K(REQUIRED, "required")                                                                    \
	K(ADDITIONAL, "additionalProperties")                                                      \
	K(BY_PATTERN, "patternProperties")                                                         \
	K(NAMES, "propertyNames")                                                                  \
	K(DEPENDENT, "dependentRequired")                                                          \
	K(MIN_PROPERTIES, "minProperties")                                                         \
	K(MAX_PROPERTIES, "maxProperties")                                                         \
	K(ITEMS, "items")                                                                          \
	K(PREFIX_ITEMS, "prefixItems")                                                             \
	K(MIN_ITEMS, "minItems")                                                                   \
	K(MAX_ITEMS, "maxItems")                                                                   \
	K(UNIQUE, "uniqueItems")                                                                   \
	K(MINIMUM, "minimum")                                                                      \
	K(MAXIMUM, "maximum")                                                                      \
	K(ABOVE, "exclusiveMinimum")                                                               \
	K(BELOW, "exclusiveMaximum")                                                               \
	K(MIN_LENGTH, "minLength")                                                                 \
	K(MAX_LENGTH, "maxLength")                                                                 \
	K(PATTERN, "pattern")                                                                      \
	K(ANY_OF, "anyOf")                                                                         \
	K(ONE_OF, "oneOf")                                                                         \
	K(ALL_OF, "allOf")                                                                         \
	K(NOT, "not")                                                                              \
	K(IF, "if")                                                                                \
	K(THEN, "then")                                                                            \
	K(ELSE, "else")
#define RG_SCHEMA_KEY(name, text) RG_KEY_##name,
typedef enum { RG_SCHEMA_KEYS(RG_SCHEMA_KEY) RG_KEYS } RgSchemaKey;
#undef RG_SCHEMA_KEY

/* A subschema, its keywords looked up once. */
typedef struct {
	json_t *self, *target; /* of its "$ref"; NULL: it has none */
	json_t *at[RG_KEYS];   /* borrowed; NULL: it has not the keyword */
	unsigned types;	       /* a bit of each json_type that "type" allows */
	bool whole;	       /* and of reals, the whole ones */
} RgSchemaRules;

typedef struct {
	GRegex *regex; /* NULL: not used yet */
} RgSchemaPattern;

struct RgJsonSchema {
	json_t *root;
	GHashTable *patterns; /* pattern text (borrowed from root) -> RgSchemaPattern */
	GHashTable *rules;    /* subschema object -> RgSchemaRules */
};

extern const char *const rg_schema_keys[RG_KEYS];

/* Compares as JSON Schema does: 1 and 1.0 are equal, the order of members does not matter. */
gboolean rg_json_schema_equal(gconstpointer a, gconstpointer b);
guint rg_json_schema_hash(gconstpointer value);
/* Whether a value is of a JSON Schema type; 1.0 is an integer. */
bool rg_json_schema_is_type(const json_t *value, const char *type);
/* Compares two numbers: below 0, 0 or above. Exact for all types: 2^53 + 1 is more than 2^53. */
int rg_json_schema_compare(const json_t *a, const json_t *b);
