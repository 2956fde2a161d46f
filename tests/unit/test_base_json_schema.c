#include "base/json_schema.h"

#include <string.h>
#include "base/caps.h"

static json_t *parse(const char *text)
{
	json_error_t error;
	json_t *value = json_loads(text, JSON_DECODE_ANY, &error);
	if (!value)
		g_error("%s: %s", error.text, text);
	return value;
}

static RgJsonSchema *compile(const char *text)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *json = parse(text);
	RgJsonSchema *schema = rg_json_schema_compile(json, diags);
	if (!schema)
		g_error("%s", rg_diags_get(diags, 0)->summary);
	return schema;
}

static void note(const RgSchemaFinding *finding, void *data)
{
	g_string_append_printf(data, "%s %s", finding->pointer, finding->keyword);
	if (finding->name)
		g_string_append_printf(data, " %s", finding->name);
	g_string_append_c(data, ';');
}

static void assert_findings(const RgJsonSchema *schema, const char *text, const char *expected)
{
	json_auto_t *value = parse(text);
	g_autoptr(GString) found = g_string_new(NULL);
	bool ok = rg_json_schema_check(schema, value, note, found);
	g_assert_cmpstr(found->str, ==, expected);
	g_assert_cmpint(ok, ==, *expected == '\0');
}

static void every_finding_has_its_place(void)
{
	g_autoptr(RgJsonSchema) schema = compile(
		"{\"type\":\"object\",\"required\":[\"name\",\"pools\"],\"additionalProperties\":"
		"false,"
		"\"properties\":{\"name\":{\"type\":\"string\",\"pattern\":\"^[a-z]+$\","
		"\"maxLength\":3},"
		"\"pools\":{\"propertyNames\":{\"maxLength\":4},\"additionalProperties\":"
		"{\"$ref\":\"#/$defs/pool\"}},\"no\":false},"
		"\"$defs\":{\"pool\":{\"type\":\"object\",\"properties\":{\"n\":{\"minimum\":1},"
		"\"z\":{\"uniqueItems\":true,\"items\":{\"type\":\"string\"}}}}}}");
	assert_findings(schema, "{\"name\":\"abc\",\"pools\":{}}", "");
	assert_findings(schema, "[]", " type;");
	assert_findings(
		schema, "{\"x\":1}", " required name; required pools; additionalProperties x;");
	assert_findings(schema, "{\"name\":\"ABCD\",\"no\":1,\"pools\":{\"a/b~c\":{\"n\":0}}}",
		"/name maxLength;/name pattern;/no false;/pools/a~1b~0c/n minimum;"
		"/pools propertyNames a/b~c;");
	assert_findings(schema, "{\"name\":\"a\",\"pools\":{\"p\":{\"z\":[\"a\",\"a\",3]}}}",
		"/pools/p/z uniqueItems;/pools/p/z/2 type;");
	assert_findings(
		schema, "{\"name\":\"\xc3\xa4\xc3\xb6\xc3\xbc\",\"pools\":{}}", "/name pattern;");
	/* "$" is the end, not the place before a last newline */
	assert_findings(schema, "{\"name\":\"ab\\n\",\"pools\":{}}", "/name pattern;");
}

static void the_branch_of_the_values_type_tells_its_findings(void)
{
	g_autoptr(RgJsonSchema) schema =
		compile("{\"anyOf\":[{\"type\":\"integer\",\"minimum\":0},{\"const\":\"auto\"},{\"$"
			"ref\":\"#/$defs/range\"}],"
			"\"$defs\":{\"range\":{\"type\":\"object\",\"properties\":{\"min\":{"
			"\"type\":\"integer\"}},"
			"\"additionalProperties\":false}}}");
	assert_findings(schema, "3", "");
	assert_findings(schema, "\"auto\"", "");
	assert_findings(schema, "-1", " minimum;");
	assert_findings(schema, "\"x\"", " const;");
	assert_findings(
		schema, "{\"min\":\"x\",\"mim\":1}", "/min type; additionalProperties mim;");
	assert_findings(schema, "[]", " anyOf;");
	g_autoptr(RgJsonSchema) one = compile("{\"oneOf\":[{\"type\":\"string\",\"minLength\":2},{"
					      "\"type\":\"string\",\"maxLength\":3}]}");
	assert_findings(one, "\"abc\"", " oneOf;");
	assert_findings(one, "\"a\"", "");
	assert_findings(one, "1", " oneOf;");
}

static void numbers_compare_exactly(void)
{
	g_autoptr(RgJsonSchema) schema =
		compile("{\"maximum\":9007199254740992,\"not\":{\"enum\":[2.0]}}");
	assert_findings(schema, "9007199254740992", "");
	assert_findings(schema, "9007199254740993", " maximum;");
	assert_findings(schema, "2", " not;");
	g_autoptr(RgJsonSchema) real = compile("{\"exclusiveMinimum\":9007199254740993,"
					       "\"maximum\":9223372036854775808.0}");
	assert_findings(real, "9007199254740992.0", " exclusiveMinimum;");
	assert_findings(real, "9007199254740993", " exclusiveMinimum;");
	assert_findings(real, "9007199254740994.0", "");
	assert_findings(real, "9223372036854775807", "");
	assert_findings(real, "1e300", " maximum;");
	assert_findings(real, "-1e300", " exclusiveMinimum;");
	g_autoptr(RgJsonSchema) part = compile("{\"minimum\":-1.5,\"maximum\":1.5}");
	assert_findings(part, "-1", "");
	assert_findings(part, "-2", " minimum;");
	assert_findings(part, "1", "");
	assert_findings(part, "2", " maximum;");
}

static void schemas_outside_the_subset_are_refused(void)
{
	static const char *const bad[] = {"{\"multipleOf\":2}", "{\"format\":\"date\"}", "3",
		"{\"type\":\"text\"}", "{\"type\":[]}", "{\"pattern\":\"(\"}",
		"{\"patternProperties\":{\"[\":true}}", "{\"required\":\"a\"}",
		"{\"minLength\":-1}", "{\"minimum\":\"1\"}", "{\"anyOf\":[]}", "{\"items\":[true]}",
		"{\"$ref\":\"other.json\"}", "{\"$ref\":\"#/$defs/none\"}",
		"{\"$ref\":\"#/properties/a\",\"properties\":{\"a\":true}}",
		"{\"$ref\":\"#/$defs/a/const\",\"$defs\":{\"a\":{\"const\":{}}}}",
		"{\"$ref\":\"#\"}",
		("{\"$defs\":{\"a\":{\"allOf\":[{\"$ref\":\"#/$defs/b\"}]},"
		 "\"b\":{\"if\":{\"$ref\":\"#/$defs/a\"}}}}"),
		"{\"properties\":{\"a\":{\"$id\":\"b\"}}}",
		"{\"$schema\":\"http://json-schema.org/draft-07/schema#\"}",
		"{\"properties\":{\"a\":{\"typ\":\"string\"}}}", "{\"properties\":[]}",
		"{\"dependentRequired\":{\"a\":1}}", "{\"uniqueItems\":1}", "{\"enum\":1}",
		"{\"x-other\":1}"};
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		json_auto_t *json = parse(bad[i]);
		g_autoptr(RgJsonSchema) schema = rg_json_schema_compile(json, diags);
		if (schema)
			g_error("compiled: %s", bad[i]);
		g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "catalog.bad-data");
	}
	g_autoptr(RgJsonSchema) ours = compile(
		"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"x\","
		"\"properties\":{\"self\":{\"$ref\":\"#\"}},\"x-raygpu-later\":[1]}");
	assert_findings(ours, "{\"self\":{\"self\":{}}}", "");
}

/* As rg_json_schema_embedded supposes. */
static void embedded_schemas_compile(void)
{
	extern const struct rg_embedded rg_schemas[];
	for (const struct rg_embedded *file = rg_schemas; file->name; file++) {
		json_auto_t *root = parse(file->data);
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_autoptr(RgJsonSchema) schema = rg_json_schema_compile(root, diags);
		if (!schema)
			g_error("%s: %s", file->name, rg_diags_get(diags, 0)->summary);
	}
}

/* A list nested `depth` deep, made without a parser's limit. */
static json_t *nest(size_t depth)
{
	json_t *value = json_array();
	for (size_t i = 0; i < depth; i++) {
		json_t *outer = json_array();
		json_array_append_new(outer, value);
		value = outer;
	}
	return value;
}

/* As in a pool_config that takes its values from the module's other settings. */
static void one_value_may_stand_in_two_places(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *json = parse("{\"$defs\":{\"n\":{\"type\":\"integer\"}},\"properties\":"
				  "{\"a\":{\"$ref\":\"#/$defs/n\"}}}");
	json_t *properties = json_object_get(json, "properties");
	for (char name[] = "b"; *name <= 'z'; ++*name)
		json_object_set(properties, name, json_object_get(properties, "a"));
	g_autoptr(RgJsonSchema) schema = rg_json_schema_compile(json, diags);
	g_assert_nonnull(schema);
	json_auto_t *good = parse("{\"a\":1,\"z\":2}"), *bad = parse("{\"a\":1,\"z\":\"x\"}");
	g_assert_true(rg_json_schema_check(schema, good, NULL, NULL));
	g_assert_false(rg_json_schema_check(schema, bad, NULL, NULL));
}

static void deep_values_and_schemas_end(void)
{
	g_autoptr(RgJsonSchema) schema = compile("{\"items\":{\"$ref\":\"#\"}}");
	json_auto_t *shallow = nest(RG_CAP_JSON_DEPTH);
	g_assert_true(rg_json_schema_check(schema, shallow, NULL, NULL));
	json_auto_t *deep = nest(1500);
	g_autoptr(GString) found = g_string_new(NULL);
	g_assert_false(rg_json_schema_check(schema, deep, note, found));
	g_assert_true(g_str_has_suffix(found->str, " depth;"));
	json_auto_t *nested = json_true();
	for (int i = 0; i < 1000; i++)
		nested = json_pack("{s:o}", "not", nested);
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_assert_null(rg_json_schema_compile(nested, diags));
}

static void large_lists_stay_quick(void)
{
	g_autoptr(RgJsonSchema) schema = compile("{\"uniqueItems\":true}");
	json_auto_t *list = json_array();
	for (int i = 0; i < 200000; i++)
		json_array_append_new(list, json_pack("{s:i}", "a", i));
	gint64 start = g_get_monotonic_time();
	g_assert_true(rg_json_schema_check(schema, list, NULL, NULL));
	json_array_append_new(list, json_pack("{s:f}", "a", 77.0));
	g_assert_false(rg_json_schema_check(schema, list, NULL, NULL));
	g_assert_cmpint(g_get_monotonic_time() - start, <, 60 * G_USEC_PER_SEC);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/schema/every finding has its place", every_finding_has_its_place);
	g_test_add_func("/schema/the branch of the value's type tells its findings",
		the_branch_of_the_values_type_tells_its_findings);
	g_test_add_func("/schema/numbers compare exactly", numbers_compare_exactly);
	g_test_add_func("/schema/schemas outside the subset are refused",
		schemas_outside_the_subset_are_refused);
	g_test_add_func("/schema/embedded schemas compile", embedded_schemas_compile);
	g_test_add_func(
		"/schema/one value may stand in two places", one_value_may_stand_in_two_places);
	g_test_add_func("/schema/deep values and schemas end", deep_values_and_schemas_end);
	g_test_add_func("/schema/large lists stay quick", large_lists_stay_quick);
	return g_test_run();
}
