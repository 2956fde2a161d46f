/* Compiling walks the whole schema once, so that checking meets only known keywords with
 * well-formed arguments, compiled patterns and references that lead to a subschema. */
#include "base/json_schema_internal.h"

#include <string.h>
#include "base/caps.h"

#define CODE "catalog.bad-data"
#define DIALECT "https://json-schema.org/draft/2020-12/schema"

typedef enum {
	ANYTHING, /* annotations, const */
	TEXT,
	FLAG,
	NUMBER,
	COUNT,
	LIST,
	TEXTS,
	TYPES,
	PATTERN,
	DIALECT_NAME,
	ROOT_ID,
	REF,
	SCHEMA,
	SCHEMA_LIST,
	SCHEMA_MAP,
	PATTERN_MAP,
	TEXTS_MAP,
} Shape;

/* The subset: every keyword that a schema may contain, and what its value must be. Keys that begin
 * with "x-raygpu" may have any value. */
static const struct {
	const char *name;
	Shape shape;
	bool in_place; /* its subschemas apply to the same value */
} keywords[] = {
	{"$schema", DIALECT_NAME},
	{"$id", ROOT_ID},
	{"$comment", TEXT},
	{"title", TEXT},
	{"description", TEXT},
	{"default", ANYTHING},
	{"examples", LIST},
	{"deprecated", FLAG},
	{"$ref", REF, true},
	{"$defs", SCHEMA_MAP},
	{"type", TYPES},
	{"enum", LIST},
	{"const", ANYTHING},
	{"properties", SCHEMA_MAP},
	{"required", TEXTS},
	{"additionalProperties", SCHEMA},
	{"patternProperties", PATTERN_MAP},
	{"propertyNames", SCHEMA},
	{"dependentRequired", TEXTS_MAP},
	{"minProperties", COUNT},
	{"maxProperties", COUNT},
	{"items", SCHEMA},
	{"prefixItems", SCHEMA_LIST},
	{"minItems", COUNT},
	{"maxItems", COUNT},
	{"uniqueItems", FLAG},
	{"minimum", NUMBER},
	{"maximum", NUMBER},
	{"exclusiveMinimum", NUMBER},
	{"exclusiveMaximum", NUMBER},
	{"minLength", COUNT},
	{"maxLength", COUNT},
	{"pattern", PATTERN},
	{"anyOf", SCHEMA_LIST, true},
	{"oneOf", SCHEMA_LIST, true},
	{"allOf", SCHEMA_LIST, true},
	{"not", SCHEMA, true},
	{"if", SCHEMA, true},
	{"then", SCHEMA, true},
	{"else", SCHEMA, true},
};

#define RG_SCHEMA_KEY(name, text) text,
const char *const rg_schema_keys[RG_KEYS] = {RG_SCHEMA_KEYS(RG_SCHEMA_KEY)};
#undef RG_SCHEMA_KEY

typedef struct {
	RgJsonSchema *schema;
	GPtrArray *refs; /* RgSchemaRules that have a "$ref", borrowed */
	unsigned depth;
	bool known; /* its patterns are compiled at their first use */
	RgDiags *diags;
} Compiler;

static bool walk(Compiler *compiler, json_t *schema, const char *at);

static bool schema_refuse(Compiler *compiler, const char *at, const char *key, const char *problem)
{
	rg_diags_error(compiler->diags, CODE, "JSON Schema at \"%s\": \"%s\" %s", at, key, problem);
	return false;
}

/* Most differ in the first letter, and most of compiling is looking keywords up. */
static bool is_same(const char *a, const char *b)
{
	return *a == *b && g_str_equal(a, b);
}

static bool are_texts(const json_t *value)
{
	for (size_t i = 0; i < json_array_size(value); i++) {
		if (!json_is_string(json_array_get(value, i)))
			return false;
	}
	return json_is_array(value);
}

static bool is_type_name(const json_t *value)
{
	static const char *const names[] = {
		"object", "array", "string", "integer", "number", "boolean", "null", NULL};
	return json_is_string(value) && g_strv_contains(names, json_string_value(value));
}

static bool are_types(const json_t *value)
{
	if (!json_is_array(value))
		return is_type_name(value);
	for (size_t i = 0; i < json_array_size(value); i++) {
		if (!is_type_name(json_array_get(value, i)))
			return false;
	}
	return json_array_size(value) > 0;
}

static bool is_count(const json_t *value)
{
	return rg_json_schema_is_type(value, "integer") && json_number_value(value) >= 0;
}

static void free_pattern(gpointer data)
{
	RgSchemaPattern *pattern = data;
	if (pattern->regex)
		g_regex_unref(pattern->regex);
	g_free(pattern);
}

static bool add_pattern(Compiler *compiler, const char *text, const char *at)
{
	GHashTable *patterns = compiler->schema->patterns;
	if (g_hash_table_contains(patterns, text))
		return true;
	g_autoptr(GError) error = NULL;
	RgSchemaPattern *pattern = g_new0(RgSchemaPattern, 1);
	g_hash_table_insert(patterns, (gpointer)(uintptr_t)text, pattern);
	if (compiler->known)
		return true;
	pattern->regex = g_regex_new(text, G_REGEX_DOLLAR_ENDONLY, 0, &error);
	return pattern->regex || schema_refuse(compiler, at, text, error->message);
}

/* Subschemas in a list or a map; the keys of a PATTERN_MAP are patterns. */
static bool walk_members(Compiler *compiler, json_t *value, Shape shape, const char *at)
{
	bool ok = true;
	for (size_t i = 0; i < json_array_size(value); i++) {
		g_autofree char *below = g_strdup_printf("%s/%zu", at, i);
		ok = walk(compiler, json_array_get(value, i), below) && ok;
	}
	rg_json_foreach_member (key, item, value) {
		g_autofree char *below = rg_json_pointer_add(at, key);
		if (shape == PATTERN_MAP)
			ok = add_pattern(compiler, key, below) && ok;
		ok = walk(compiler, item, below) && ok;
	}
	return ok;
}

static bool are_dependents(json_t *value)
{
	rg_json_foreach_member (key, item, value) {
		if (!are_texts(item))
			return false;
	}
	return json_is_object(value);
}

/* What is wrong with the form of an argument; NULL if nothing is. */
static const char *find_fault(json_t *value, Shape shape, bool is_root)
{
	switch (shape) {
	case ANYTHING:
	case SCHEMA:
		return NULL;
	case TEXT:
	case PATTERN:
	case REF:
		return json_is_string(value) ? NULL : "must be a string";
	case FLAG:
		return json_is_boolean(value) ? NULL : "must be true or false";
	case NUMBER:
		return json_is_number(value) ? NULL : "must be a number";
	case COUNT:
		return is_count(value) ? NULL : "must be a whole number, 0 or more";
	case LIST:
		return json_is_array(value) ? NULL : "must be a list";
	case TEXTS:
		return are_texts(value) ? NULL : "must be a list of strings";
	case TYPES:
		return are_types(value) ? NULL : "must be a type's name or a list of them";
	case DIALECT_NAME:
		return json_is_string(value) && g_str_has_prefix(json_string_value(value), DIALECT)
			       ? NULL
			       : "must be " DIALECT;
	case ROOT_ID:
		return is_root && json_is_string(value) ? NULL : "is allowed only in the root";
	case SCHEMA_LIST:
		return json_array_size(value) > 0 ? NULL : "must be a list of schemas";
	case SCHEMA_MAP:
	case PATTERN_MAP:
		return json_is_object(value) ? NULL : "must be an object of schemas";
	case TEXTS_MAP:
		return are_dependents(value) ? NULL : "must be an object of lists of strings";
	}
	return "has an unsupported form";
}

static bool walk_keyword(Compiler *compiler, const char *key, json_t *value, const char *at)
{
	if (g_str_has_prefix(key, "x-raygpu"))
		return true;
	size_t row = 0;
	while (row < G_N_ELEMENTS(keywords) && !is_same(keywords[row].name, key))
		row++;
	if (row == G_N_ELEMENTS(keywords))
		return schema_refuse(compiler, at, key, "is not a keyword of the supported subset");
	Shape shape = keywords[row].shape;
	const char *fault = find_fault(value, shape, *at == '\0');
	if (fault)
		return schema_refuse(compiler, at, key, fault);
	if (shape != SCHEMA && shape != SCHEMA_LIST && shape != SCHEMA_MAP &&
		shape != PATTERN_MAP && shape != PATTERN)
		return true;
	g_autofree char *below = rg_json_pointer_add(at, key);
	if (shape == SCHEMA)
		return walk(compiler, value, below);
	if (shape == PATTERN)
		return add_pattern(compiler, json_string_value(value), below);
	return walk_members(compiler, value, shape, below);
}

static void allow_type(RgSchemaRules *rules, const json_t *type)
{
	static const struct {
		const char *name;
		unsigned types;
	} types[] = {
		{"object", 1u << JSON_OBJECT},
		{"array", 1u << JSON_ARRAY},
		{"string", 1u << JSON_STRING},
		{"integer", 1u << JSON_INTEGER},
		{"number", 1u << JSON_INTEGER | 1u << JSON_REAL},
		{"boolean", 1u << JSON_TRUE | 1u << JSON_FALSE},
		{"null", 1u << JSON_NULL},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
		if (g_str_equal(types[i].name, json_string_value(type)))
			rules->types |= types[i].types;
	}
	rules->whole |= g_str_equal(json_string_value(type), "integer");
}

/* The schema is well-formed: walk has passed it. */
static void add_rules(Compiler *compiler, json_t *object)
{
	RgSchemaRules *rules = g_new0(RgSchemaRules, 1);
	rules->self = object;
	rg_json_foreach_member (key, value, object) {
		for (size_t i = 0; i < RG_KEYS; i++) {
			if (is_same(rg_schema_keys[i], key)) {
				rules->at[i] = value;
				break;
			}
		}
	}
	const json_t *types = rules->at[RG_KEY_TYPE];
	if (json_is_string(types))
		allow_type(rules, types);
	for (size_t i = 0; i < json_array_size(types); i++)
		allow_type(rules, json_array_get(types, i));
	g_hash_table_insert(compiler->schema->rules, object, rules);
	if (rules->at[RG_KEY_REF])
		g_ptr_array_add(compiler->refs, rules);
}

static bool walk(Compiler *compiler, json_t *schema, const char *at)
{
	if (json_is_boolean(schema))
		return true;
	if (!json_is_object(schema))
		return schema_refuse(compiler, at, "schema", "must be an object, true or false");
	if (g_hash_table_contains(compiler->schema->rules, schema))
		return true; /* one value in two places */
	if (compiler->depth == RG_CAP_JSON_DEPTH)
		return schema_refuse(compiler, at, "schema", "is nested too deep");
	compiler->depth++;
	bool ok = true;
	rg_json_foreach_member (key, value, schema)
		ok = walk_keyword(compiler, key, value, at) && ok;
	compiler->depth--;
	if (ok)
		add_rules(compiler, schema);
	return ok;
}

/* The subschema that a "$ref" text names; NULL if it is neither "#" nor under "#/$defs/". */
static json_t *find_target(const RgJsonSchema *schema, const char *ref)
{
	if (g_str_equal(ref, "#"))
		return schema->root;
	if (!g_str_has_prefix(ref, "#/$defs/"))
		return NULL;
	g_autofree char *pointer = g_uri_unescape_string(ref + 1, NULL);
	return pointer ? rg_json_at(schema->root, pointer) : NULL;
}

static bool find_targets(Compiler *compiler)
{
	bool ok = true;
	rg_ptr_foreach (RgSchemaRules, rules, compiler->refs) {
		const char *ref = json_string_value(rules->at[RG_KEY_REF]);
		json_t *target = rules->target = find_target(compiler->schema, ref);
		bool known =
			target && (json_is_boolean(target) ||
					  g_hash_table_contains(compiler->schema->rules, target));
		if (!known)
			ok = schema_refuse(
				compiler, ref, "$ref", "must refer to a schema under #/$defs/");
	}
	return ok;
}

static bool has_loop(const RgJsonSchema *schema, json_t *at, GHashTable *open, GHashTable *done);

static bool any_loops(
	const RgJsonSchema *schema, json_t *argument, GHashTable *open, GHashTable *done)
{
	if (json_is_string(argument))
		return has_loop(
			schema, find_target(schema, json_string_value(argument)), open, done);
	if (!json_is_array(argument))
		return has_loop(schema, argument, open, done);
	for (size_t i = 0; i < json_array_size(argument); i++) {
		if (has_loop(schema, json_array_get(argument, i), open, done))
			return true;
	}
	return false;
}

/* Whether checking one value against `at` would lead back to `at` with the same value. */
static bool has_loop(const RgJsonSchema *schema, json_t *at, GHashTable *open, GHashTable *done)
{
	if (!json_is_object(at) || g_hash_table_contains(done, at))
		return false;
	if (!g_hash_table_add(open, at))
		return true;
	for (size_t i = 0; i < G_N_ELEMENTS(keywords); i++) {
		json_t *argument =
			keywords[i].in_place ? json_object_get(at, keywords[i].name) : NULL;
		if (argument && any_loops(schema, argument, open, done))
			return true;
	}
	g_hash_table_remove(open, at);
	g_hash_table_add(done, at);
	return false;
}

static bool refuse_loops(Compiler *compiler)
{
	g_autoptr(GHashTable) open = g_hash_table_new(NULL, NULL);
	g_autoptr(GHashTable) done = g_hash_table_new(NULL, NULL);
	rg_hash_keys (json_t, at, compiler->schema->rules) {
		if (has_loop(compiler->schema, at, open, done))
			return schema_refuse(compiler, "", "$ref", "refers to itself");
	}
	return true;
}

static RgJsonSchema *compile(json_t *root, bool known, RgDiags *diags)
{
	g_autoptr(RgJsonSchema) schema = g_new0(RgJsonSchema, 1);
	schema->root = json_incref(root);
	schema->patterns = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_pattern);
	schema->rules = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	g_autoptr(GPtrArray) refs = g_ptr_array_new();
	Compiler compiler = {.schema = schema, .refs = refs, .known = known, .diags = diags};
	if (!walk(&compiler, root, "") || !find_targets(&compiler) ||
		(!known && !refuse_loops(&compiler)))
		return NULL;
	return g_steal_pointer(&schema);
}

RgJsonSchema *rg_json_schema_compile(json_t *root, RgDiags *diags)
{
	return compile(root, false, diags);
}

RgJsonSchema *rg_json_schema_compile_known(json_t *root, RgDiags *diags)
{
	return compile(root, true, diags);
}

RgJsonSchema *rg_json_schema_embedded(
	const struct rg_embedded *files, const char *name, RgDiags *diags)
{
	const struct rg_embedded *file = rg_embedded_find(files, name);
	g_assert(file != NULL);
	json_auto_t *root = rg_json_parse(file->data, file->len, name, CODE, diags);
	return root ? rg_json_schema_compile_known(root, diags) : NULL;
}

const json_t *rg_json_schema_root(const RgJsonSchema *schema)
{
	return schema->root;
}

void rg_json_schema_free(RgJsonSchema *schema)
{
	if (!schema)
		return;
	json_decref(schema->root);
	g_hash_table_unref(schema->patterns);
	g_hash_table_unref(schema->rules);
	g_free(schema);
}
