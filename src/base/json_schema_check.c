/* Checking interprets the schema over the value. Findings are collected first, because anyOf and
 * oneOf decide afterwards which findings help the reader. */
#include "base/json_schema_internal.h"

#include <string.h>

/* Levels of subschemas at a time: the value's depth times the schema's in-place nesting. */
#define DEPTH_MAX 1000
/* Limit of one list of findings: the faults of a hostile value must not use more memory than the
 * value itself. A fault that is left out still counts, because others precede it. */
#define FINDINGS_MAX 200000

/* Where a value is in the one above it. */
typedef struct Step {
	const struct Step *above; /* NULL: the root */
	const char *key;	  /* NULL: the item `i` of a list */
	size_t i;
} Step;

typedef struct {
	const RgJsonSchema *schema;
	const Step *at;	     /* the current value */
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

static void add_step(const Step *step, GString *pointer)
{
	if (!step)
		return;
	add_step(step->above, pointer);
	g_autofree char *name =
		step->key ? rg_json_pointer_add("", step->key) : g_strdup_printf("/%zu", step->i);
	g_string_append(pointer, name);
}

static char *current_pointer(const Check *check)
{
	GString *pointer = g_string_new(NULL);
	add_step(check->at, pointer);
	return g_string_free(pointer, FALSE);
}

static void add_finding(Check *check, RgSchemaFinding finding)
{
	if (check->findings->len >= FINDINGS_MAX)
		return;
	Finding *own = g_new0(Finding, 1);
	own->pointer = current_pointer(check);
	own->name = g_strdup(finding.name);
	own->public = finding;
	own->public.pointer = own->pointer;
	own->public.name = own->name;
	g_ptr_array_add(check->findings, own);
}

static void add(Check *check, const RgSchemaRules *schema, RgSchemaKey key, const char *name,
	const json_t *value)
{
	add_finding(check, (RgSchemaFinding){.keyword = rg_schema_keys[key],
				   .name = name,
				   .value = value,
				   .rule = schema->at[key],
				   .schema = schema->self});
}

static void check_step(Check *check, const json_t *schema, const json_t *value, Step step)
{
	step.above = check->at;
	check->at = &step;
	check_value(check, schema, value);
	check->at = step.above;
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

static bool is_any_type(const RgSchemaRules *schema, const json_t *value)
{
	return (schema->types & 1u << json_typeof(value)) != 0 ||
	       (schema->whole && rg_json_schema_is_type(value, "integer"));
}

static bool is_among(const json_t *list, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (rg_json_schema_equal(json_array_get(list, i), value))
			return true;
	}
	return false;
}

static void check_any(Check *check, const RgSchemaRules *schema, const json_t *value)
{
	const json_t *rule;
	if (schema->at[RG_KEY_TYPE] && !is_any_type(schema, value))
		add(check, schema, RG_KEY_TYPE, NULL, value);
	if ((rule = schema->at[RG_KEY_ENUM]) && !is_among(rule, value))
		add(check, schema, RG_KEY_ENUM, NULL, value);
	if ((rule = schema->at[RG_KEY_CONST]) && !rg_json_schema_equal(rule, value))
		add(check, schema, RG_KEY_CONST, NULL, value);
}

static void check_number(Check *check, const RgSchemaRules *schema, const json_t *value)
{
	const json_t *rule;
	if ((rule = schema->at[RG_KEY_MINIMUM]) && rg_json_schema_compare(value, rule) < 0)
		add(check, schema, RG_KEY_MINIMUM, NULL, value);
	if ((rule = schema->at[RG_KEY_MAXIMUM]) && rg_json_schema_compare(value, rule) > 0)
		add(check, schema, RG_KEY_MAXIMUM, NULL, value);
	if ((rule = schema->at[RG_KEY_ABOVE]) && rg_json_schema_compare(value, rule) <= 0)
		add(check, schema, RG_KEY_ABOVE, NULL, value);
	if ((rule = schema->at[RG_KEY_BELOW]) && rg_json_schema_compare(value, rule) >= 0)
		add(check, schema, RG_KEY_BELOW, NULL, value);
}

static void check_size(Check *check, const RgSchemaRules *schema, RgSchemaKey min, RgSchemaKey max,
	const json_t *value, size_t size)
{
	if (schema->at[min] && (double)size < json_number_value(schema->at[min]))
		add(check, schema, min, NULL, value);
	if (schema->at[max] && (double)size > json_number_value(schema->at[max]))
		add(check, schema, max, NULL, value);
}

/* A match that PCRE gives up on (its step limit) counts as no match. */
static bool does_match(const Check *check, const char *pattern, const char *text)
{
	RgSchemaPattern *known = g_hash_table_lookup(check->schema->patterns, pattern);
	if (g_once_init_enter(&known->regex)) {
		GRegex *regex = g_regex_new(pattern, G_REGEX_DOLLAR_ENDONLY, 0, NULL);
		g_assert(regex != NULL);
		g_once_init_leave(&known->regex, regex);
	}
	return g_regex_match(known->regex, text, 0, NULL);
}

static void check_text(Check *check, const RgSchemaRules *schema, const json_t *value)
{
	const char *text = json_string_value(value);
	if (schema->at[RG_KEY_MIN_LENGTH] || schema->at[RG_KEY_MAX_LENGTH])
		check_size(check, schema, RG_KEY_MIN_LENGTH, RG_KEY_MAX_LENGTH, value,
			(size_t)g_utf8_strlen(text, (gssize)json_string_length(value)));
	const json_t *rule = schema->at[RG_KEY_PATTERN];
	if (rule && !does_match(check, json_string_value(rule), text))
		add(check, schema, RG_KEY_PATTERN, NULL, value);
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

static void check_array(Check *check, const RgSchemaRules *schema, const json_t *value)
{
	size_t n = json_array_size(value);
	check_size(check, schema, RG_KEY_MIN_ITEMS, RG_KEY_MAX_ITEMS, value, n);
	if (json_is_true(schema->at[RG_KEY_UNIQUE]) && !are_unique(value))
		add(check, schema, RG_KEY_UNIQUE, NULL, value);
	const json_t *prefix = schema->at[RG_KEY_PREFIX_ITEMS];
	size_t fixed = MIN(json_array_size(prefix), n);
	for (size_t i = 0; i < fixed; i++)
		check_step(
			check, json_array_get(prefix, i), json_array_get(value, i), (Step){.i = i});
	const json_t *items = schema->at[RG_KEY_ITEMS];
	if (json_is_false(items) && n > fixed)
		add(check, schema, RG_KEY_ITEMS, NULL, value);
	else if (items) {
		for (size_t i = fixed; i < n; i++)
			check_step(check, items, json_array_get(value, i), (Step){.i = i});
	}
}

static void check_required(Check *check, const RgSchemaRules *schema, RgSchemaKey keyword,
	const json_t *names, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));
		if (!json_object_get(value, name))
			add(check, schema, keyword, name, value);
	}
}

static void check_member_rules(Check *check, const RgSchemaRules *schema, const json_t *object,
	const char *key, const json_t *member)
{
	bool matched = false;
	const json_t *rule = json_object_get(schema->at[RG_KEY_PROPERTIES], key);
	if (rule) {
		matched = true;
		check_step(check, rule, member, (Step){.key = key});
	}
	json_t *by_pattern = schema->at[RG_KEY_BY_PATTERN];
	rg_json_foreach_member (pattern, pattern_rule, by_pattern) {
		if (!does_match(check, pattern, key))
			continue;
		matched = true;
		check_step(check, pattern_rule, member, (Step){.key = key});
	}
	rule = schema->at[RG_KEY_ADDITIONAL];
	if (matched || !rule)
		return;
	if (json_is_false(rule))
		add(check, schema, RG_KEY_ADDITIONAL, key, object);
	else
		check_step(check, rule, member, (Step){.key = key});
}

static void check_object(Check *check, const RgSchemaRules *schema, const json_t *value)
{
	check_size(check, schema, RG_KEY_MIN_PROPERTIES, RG_KEY_MAX_PROPERTIES, value,
		json_object_size(value));
	check_required(check, schema, RG_KEY_REQUIRED, schema->at[RG_KEY_REQUIRED], value);
	const json_t *names_rule = schema->at[RG_KEY_NAMES];
	const json_t *dependent = schema->at[RG_KEY_DEPENDENT];
	rg_json_foreach_member (key, member, value) {
		check_member_rules(check, schema, value, key, member);
		check_required(
			check, schema, RG_KEY_DEPENDENT, json_object_get(dependent, key), value);
		if (!names_rule)
			continue;
		json_auto_t *name = json_string(key);
		g_autoptr(GPtrArray) findings = try_schema(check, names_rule, name);
		if (findings->len > 0)
			add(check, schema, RG_KEY_NAMES, key, value);
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
	g_autofree char *here = current_pointer(check);
	for (guint i = 0; i < findings->len; i++) {
		const RgSchemaFinding *finding =
			&((const Finding *)g_ptr_array_index(findings, i))->public;
		if (!g_str_equal(finding->pointer, here))
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
	Check *check, const RgSchemaRules *schema, RgSchemaKey keyword, const json_t *value)
{
	const json_t *branches = schema->at[keyword];
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
	if (!branches || holding == 1 || (holding > 1 && keyword == RG_KEY_ANY_OF))
		return;
	if (holding == 0 && fitting == 1)
		g_ptr_array_extend_and_steal(check->findings, g_steal_pointer(&best));
	else
		add(check, schema, keyword, NULL, value);
}

static void check_combined(Check *check, const RgSchemaRules *schema, const json_t *value)
{
	if (schema->target)
		check_value(check, schema->target, value);
	const json_t *rule = schema->at[RG_KEY_ALL_OF];
	for (size_t i = 0; i < json_array_size(rule); i++)
		check_value(check, json_array_get(rule, i), value);
	check_branches(check, schema, RG_KEY_ANY_OF, value);
	check_branches(check, schema, RG_KEY_ONE_OF, value);
	if ((rule = schema->at[RG_KEY_NOT])) {
		g_autoptr(GPtrArray) own = try_schema(check, rule, value);
		if (own->len == 0)
			add(check, schema, RG_KEY_NOT, NULL, value);
	}
	if ((rule = schema->at[RG_KEY_IF])) {
		g_autoptr(GPtrArray) own = try_schema(check, rule, value);
		const json_t *next = schema->at[own->len == 0 ? RG_KEY_THEN : RG_KEY_ELSE];
		if (next)
			check_value(check, next, value);
	}
}

static void check_value(Check *check, const json_t *subschema, const json_t *value)
{
	if (json_is_true(subschema))
		return;
	if (json_is_false(subschema) || check->depth == DEPTH_MAX) {
		add_finding(check,
			(RgSchemaFinding){.keyword = json_is_false(subschema) ? "false" : "depth",
				.value = value,
				.rule = json_is_false(subschema) ? subschema : NULL,
				.schema = subschema});
		return;
	}
	const RgSchemaRules *schema = g_hash_table_lookup(check->schema->rules, subschema);
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
	return rg_json_schema_check_def(schema, NULL, value, report, data);
}

bool rg_json_schema_check_def(const RgJsonSchema *schema, const char *def, const json_t *value,
	RgSchemaReport report, void *data)
{
	g_autoptr(GPtrArray) findings = g_ptr_array_new_with_free_func(finding_free);
	Check check = {.schema = schema, .findings = findings};
	const json_t *defs = json_object_get(schema->root, "$defs");
	const json_t *root = def ? json_object_get(defs, def) : schema->root;
	g_assert(root != NULL);
	check_value(&check, root, value);
	for (guint i = 0; report && i < findings->len; i++)
		report(&((const Finding *)g_ptr_array_index(findings, i))->public, data);
	return findings->len == 0;
}
