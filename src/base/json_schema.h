/* JSON Schema (draft 2020-12), a subset: only the keywords listed in json_schema.c. Compiling a
 * schema with an unknown keyword fails, so nothing is silently unchecked. Pure; findings go to a
 * callback so that the caller can place them. */
#pragma once
#include "base/embedded.h"
#include "base/json.h"

typedef struct RgJsonSchema RgJsonSchema;

/* One violation. If `name` is set (required, additionalProperties, dependentRequired,
 * propertyNames), `pointer` and `value` are the object and `name` is the key in it. A value that no
 * rule allows has keyword "false"; anyOf and oneOf are reported as such only if no single branch
 * has the value's type, else that branch's findings are reported. All pointers are borrowed for the
 * duration of the callback. */
typedef struct {
	const char *pointer;  /* RFC 6901 pointer of the offending value */
	const char *keyword;  /* "type", "required", "additionalProperties", "pattern", ... */
	const char *name;     /* the missing or unknown key; NULL otherwise */
	const json_t *value;  /* the offending value */
	const json_t *rule;   /* the keyword's value in the schema */
	const json_t *schema; /* the subschema object that holds the keyword ("description", ...) */
} RgSchemaFinding;

typedef void (*RgSchemaReport)(const RgSchemaFinding *finding, void *data);

/* NULL and a diagnostic (catalog.bad-data) if the schema is not in the subset. `schema` is
 * referenced. */
RgJsonSchema *rg_json_schema_compile(json_t *schema, RgDiags *diags);
/* The same for a schema that rg_json_schema_compile has passed before, here or in a test: patterns
 * are compiled at their first use, and references are not searched for loops. */
RgJsonSchema *rg_json_schema_compile_known(json_t *schema, RgDiags *diags);
/* Compiles a known embedded file, which the build guarantees to exist. */
RgJsonSchema *rg_json_schema_embedded(
	const struct rg_embedded *files, const char *name, RgDiags *diags);
void rg_json_schema_free(RgJsonSchema *schema);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgJsonSchema, rg_json_schema_free)
/* The document that was compiled, borrowed. */
const json_t *rg_json_schema_root(const RgJsonSchema *schema);
/* Reports every violation; true if there is none. Safe for concurrent use. */
bool rg_json_schema_check(
	const RgJsonSchema *schema, const json_t *value, RgSchemaReport report, void *data);
/* The same for the subschema `def` of the root's "$defs", which exists. */
bool rg_json_schema_check_def(const RgJsonSchema *schema, const char *def, const json_t *value,
	RgSchemaReport report, void *data);
