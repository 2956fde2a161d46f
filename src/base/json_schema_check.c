/* Checking interprets the schema over the value. Findings are collected first, because anyOf and
 * oneOf decide afterwards which findings help the reader. */
#include "base/json_schema_internal.h"

#include <string.h>

/* Levels of subschemas at a time: the value's depth times the schema's in-place nesting. */
#define DEPTH_MAX 1000
/* Limit of one list of findings: the faults of a hostile value must not use more memory than the
 * value itself. A fault that is left out still counts, because others precede it. */
#define FINDINGS_MAX 200000

typedef struct {
	const RgJsonSchema *schema;
	GString *pointer;    /* of the current value */
	GPtrArray *findings; /* Finding */
	unsigned depth;
} Check;

typedef struct {
	RgSchemaFinding public;
	char *pointer, *name; /* owned texts behind `public` */
} Finding;

static void finding_free(gpointer data)
{
	Finding *finding = data;
	g_free(finding->pointer);
	g_free(finding->name);
	g_free(finding);
}

static void check_value(Check *check, const json_t *schema, const json_t *value);

static void add(Check *check, const json_t *schema, const char *keyword, const char *name,
	const json_t *value)
{
	if (check->findings->len >= FINDINGS_MAX)
		return;
	Finding *finding = g_new0(Finding, 1);
	finding->pointer = g_strdup(check->pointer->str);
	finding->name = g_strdup(name);
	finding->public = (RgSchemaFinding){.pointer = finding->pointer,
		.keyword = g_intern_string(keyword),
		.name = finding->name,
		.value = value,
		.rule = json_is_object(schema) ? json_object_get(schema, keyword) : schema,
		.schema = schema};
	g_ptr_array_add(check->findings, finding);
}

static void check_member(Check *check, const json_t *schema, const json_t *value, const char *key)
{
	size_t len = check->pointer->len;
	g_autofree char *step = rg_json_pointer_add("", key);
	g_string_append(check->pointer, step);
	check_value(check, schema, value);
	g_string_truncate(check->pointer, len);
}

static void check_item(Check *check, const json_t *schema, const json_t *array, size_t i)
{
	size_t len = check->pointer->len;
	g_string_append_printf(check->pointer, "/%zu", i);
	check_value(check, schema, json_array_get(array, i));
	g_string_truncate(check->pointer, len);
}

/* The findings of one subschema on the current value, separate from the others. */
static GPtrArray *try_schema(Check *check, const json_t *schema, const json_t *value)
{
	GPtrArray *kept = check->findings;
	GPtrArray *own = check->findings = g_ptr_array_new_with_free_func(finding_free);
	check_value(check, schema, value);
	check->findings = kept;
	return own;
}

static bool is_any_type(const json_t *types, const json_t *value)
{
	if (json_is_string(types))
		return rg_json_schema_is_type(value, json_string_value(types));
	for (size_t i = 0; i < json_array_size(types); i++) {
		if (rg_json_schema_is_type(value, json_string_value(json_array_get(types, i))))
			return true;
	}
	return false;
}

static bool is_among(const json_t *list, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (rg_json_schema_equal(json_array_get(list, i), value))
			return true;
	}
	return false;
}

static void check_any(Check *check, const json_t *schema, const json_t *value)
{
	const json_t *rule;
	if ((rule = json_object_get(schema, "type")) && !is_any_type(rule, value))
		add(check, schema, "type", NULL, value);
	if ((rule = json_object_get(schema, "enum")) && !is_among(rule, value))
		add(check, schema, "enum", NULL, value);
	if ((rule = json_object_get(schema, "const")) && !rg_json_schema_equal(rule, value))
		add(check, schema, "const", NULL, value);
}

static void check_number(Check *check, const json_t *schema, const json_t *value)
{
	const json_t *rule;
	if ((rule = json_object_get(schema, "minimum")) && rg_json_schema_compare(value, rule) < 0)
		add(check, schema, "minimum", NULL, value);
	if ((rule = json_object_get(schema, "maximum")) && rg_json_schema_compare(value, rule) > 0)
		add(check, schema, "maximum", NULL, value);
	if ((rule = json_object_get(schema, "exclusiveMinimum")) &&
		rg_json_schema_compare(value, rule) <= 0)
		add(check, schema, "exclusiveMinimum", NULL, value);
	if ((rule = json_object_get(schema, "exclusiveMaximum")) &&
		rg_json_schema_compare(value, rule) >= 0)
		add(check, schema, "exclusiveMaximum", NULL, value);
}

static int compare_size(size_t size, const json_t *rule)
{
	json_auto_t *number = json_integer((json_int_t)size);
	return rg_json_schema_compare(number, rule);
}

static void check_size(Check *check, const json_t *schema, const char *min, const char *max,
	const json_t *value, size_t size)
{
	const json_t *rule;
	if ((rule = json_object_get(schema, min)) && compare_size(size, rule) < 0)
		add(check, schema, min, NULL, value);
	if ((rule = json_object_get(schema, max)) && compare_size(size, rule) > 0)
		add(check, schema, max, NULL, value);
}

/* A match that PCRE gives up on (its step limit) counts as no match. */
static bool does_match(const Check *check, const char *pattern, const char *text)
{
	const GRegex *regex = g_hash_table_lookup(check->schema->patterns, pattern);
	return g_regex_match(regex, text, 0, NULL);
}

static void check_text(Check *check, const json_t *schema, const json_t *value)
{
	const char *text = json_string_value(value);
	check_size(check, schema, "minLength", "maxLength", value,
		(size_t)g_utf8_strlen(text, (gssize)json_string_length(value)));
	const json_t *rule = json_object_get(schema, "pattern");
	if (rule && !does_match(check, json_string_value(rule), text))
		add(check, schema, "pattern", NULL, value);
}

static bool are_unique(const json_t *array)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(rg_json_schema_hash, rg_json_schema_equal);
	for (size_t i = 0; i < json_array_size(array); i++) {
		if (!g_hash_table_add(seen, json_array_get(array, i)))
			return false;
	}
	return true;
}

static void check_array(Check *check, const json_t *schema, const json_t *value)
{
	size_t n = json_array_size(value);
	check_size(check, schema, "minItems", "maxItems", value, n);
	if (rg_json_bool(schema, "uniqueItems", false) && !are_unique(value))
		add(check, schema, "uniqueItems", NULL, value);
	const json_t *prefix = json_object_get(schema, "prefixItems");
	size_t fixed = MIN(json_array_size(prefix), n);
	for (size_t i = 0; i < fixed; i++)
		check_item(check, json_array_get(prefix, i), value, i);
	const json_t *items = json_object_get(schema, "items");
	if (json_is_false(items) && n > fixed)
		add(check, schema, "items", NULL, value);
	else if (items) {
		for (size_t i = fixed; i < n; i++)
			check_item(check, items, value, i);
	}
}

static void check_required(Check *check, const json_t *schema, const char *keyword,
	const json_t *names, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));
		if (!json_object_get(value, name))
			add(check, schema, keyword, name, value);
	}
}

static void check_member_rules(Check *check, const json_t *schema, const json_t *object,
	const char *key, const json_t *member)
{
	bool matched = false;
	const json_t *rule = json_object_get(json_object_get(schema, "properties"), key);
	if (rule) {
		matched = true;
		check_member(check, rule, member, key);
	}
	json_t *by_pattern = json_object_get(schema, "patternProperties"), *pattern_rule;
	const char *pattern;
	json_object_foreach (by_pattern, pattern, pattern_rule) {
		if (!does_match(check, pattern, key))
			continue;
		matched = true;
		check_member(check, pattern_rule, member, key);
	}
	rule = json_object_get(schema, "additionalProperties");
	if (matched || !rule)
		return;
	if (json_is_false(rule))
		add(check, schema, "additionalProperties", key, object);
	else
		check_member(check, rule, member, key);
}

static void check_object(Check *check, const json_t *schema, const json_t *value)
{
	check_size(check, schema, "minProperties", "maxProperties", value, json_object_size(value));
	check_required(check, schema, "required", json_object_get(schema, "required"), value);
	const json_t *names_rule = json_object_get(schema, "propertyNames");
	const json_t *dependent = json_object_get(schema, "dependentRequired");
	const char *key;
	json_t *member;
	json_object_foreach (rg_json_unconst(value), key, member) {
		check_member_rules(check, schema, value, key, member);
		check_required(
			check, schema, "dependentRequired", json_object_get(dependent, key), value);
		if (!names_rule)
			continue;
		json_auto_t *name = json_string(key);
		g_autoptr(GPtrArray) findings = try_schema(check, names_rule, name);
		if (findings->len > 0)
			add(check, schema, "propertyNames", key, value);
	}
}

static bool has_type_of(const json_t *value, const json_t *other)
{
	return json_typeof(value) == json_typeof(other) ||
	       (json_is_number(value) && json_is_number(other)) ||
	       (json_is_boolean(value) && json_is_boolean(other));
}

/* Whether a branch was never meant for values of this type, which makes its other findings
 * irrelevant. */
static bool is_of_another_type(const Check *check, const GPtrArray *findings)
{
	for (guint i = 0; i < findings->len; i++) {
		const RgSchemaFinding *finding =
			&((const Finding *)g_ptr_array_index(findings, i))->public;
		if (!g_str_equal(finding->pointer, check->pointer->str))
			continue;
		if (g_str_equal(finding->keyword, "type") || json_is_false(finding->schema))
			return true;
		if (g_str_equal(finding->keyword, "const") &&
			!has_type_of(finding->value, finding->rule))
			return true;
		bool one_fits = !g_str_equal(finding->keyword, "enum");
		for (size_t k = 0; !one_fits && k < json_array_size(finding->rule); k++)
			one_fits = has_type_of(finding->value, json_array_get(finding->rule, k));
		if (!one_fits)
			return true;
	}
	return false;
}

/* anyOf and oneOf. If no branch matches and exactly one has the value's type, its findings are
 * reported, so that `nodes: {min: x}` is a wrong type in /nodes/min. */
static void check_branches(
	Check *check, const json_t *schema, const char *keyword, const json_t *value)
{
	const json_t *branches = json_object_get(schema, keyword);
	g_autoptr(GPtrArray) best = NULL;
	size_t holding = 0, fitting = 0;
	for (size_t i = 0; i < json_array_size(branches); i++) {
		g_autoptr(GPtrArray) own = try_schema(check, json_array_get(branches, i), value);
		holding += own->len == 0;
		if (own->len == 0 || is_of_another_type(check, own))
			continue;
		fitting++;
		g_clear_pointer(&best, g_ptr_array_unref);
		best = g_steal_pointer(&own);
	}
	if (!branches || holding == 1 || (holding > 1 && g_str_equal(keyword, "anyOf")))
		return;
	if (holding == 0 && fitting == 1)
		g_ptr_array_extend_and_steal(check->findings, g_steal_pointer(&best));
	else
		add(check, schema, keyword, NULL, value);
}

static void check_combined(Check *check, const json_t *schema, const json_t *value)
{
	const json_t *rule = json_object_get(schema, "$ref");
	if (rule)
		check_value(
			check, rg_json_schema_ref(check->schema, json_string_value(rule)), value);
	rule = json_object_get(schema, "allOf");
	for (size_t i = 0; i < json_array_size(rule); i++)
		check_value(check, json_array_get(rule, i), value);
	check_branches(check, schema, "anyOf", value);
	check_branches(check, schema, "oneOf", value);
	if ((rule = json_object_get(schema, "not"))) {
		g_autoptr(GPtrArray) own = try_schema(check, rule, value);
		if (own->len == 0)
			add(check, schema, "not", NULL, value);
	}
	if ((rule = json_object_get(schema, "if"))) {
		g_autoptr(GPtrArray) own = try_schema(check, rule, value);
		const json_t *next = json_object_get(schema, own->len == 0 ? "then" : "else");
		if (next)
			check_value(check, next, value);
	}
}

static void check_value(Check *check, const json_t *schema, const json_t *value)
{
	if (json_is_true(schema))
		return;
	if (json_is_false(schema) || check->depth == DEPTH_MAX) {
		add(check, schema, json_is_false(schema) ? "false" : "depth", NULL, value);
		return;
	}
	check->depth++;
	check_any(check, schema, value);
	if (json_is_number(value))
		check_number(check, schema, value);
	else if (json_is_string(value))
		check_text(check, schema, value);
	else if (json_is_array(value))
		check_array(check, schema, value);
	else if (json_is_object(value))
		check_object(check, schema, value);
	check_combined(check, schema, value);
	check->depth--;
}

bool rg_json_schema_check(
	const RgJsonSchema *schema, const json_t *value, RgSchemaReport report, void *data)
{
	g_autoptr(GString) pointer = g_string_new("");
	g_autoptr(GPtrArray) findings = g_ptr_array_new_with_free_func(finding_free);
	Check check = {.schema = schema, .pointer = pointer, .findings = findings};
	check_value(&check, schema->root, value);
	for (guint i = 0; report && i < findings->len; i++)
		report(&((const Finding *)g_ptr_array_index(findings, i))->public, data);
	return findings->len == 0;
}
