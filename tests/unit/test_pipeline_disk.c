/* The root disk of a node whose spec names none: the first row of the module's "disk" that matches
 * its instance type. */
#include "pipeline/internal.h"

static const char schema_text[] = "{'format': 1, 'provider': 't', 'boot': {'by': 'nothing'}, "
				  "'limits': {'requests_per_s': 1, 'burst': 1},"
				  " 'disk': {'types': ['fast', 'slow'], 'default': "
				  "[{'instance_types': '^gpu-', 'type': 'fast'},"
				  " {'type': 'slow'}]}, 'kinds': {}}";

static json_t *parse(const char *text)
{
	g_autoptr(GString) json = g_string_new(text);
	g_string_replace(json, "'", "\"", 0);
	json_t *value = json_loads(json->str, 0, NULL);
	g_assert_nonnull(value);
	return value;
}

static void test_default(void)
{
	static const char *const expected[] = {"fast", "slow", "slow", "own"};
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *document = parse(schema_text);
	g_autoptr(RgSchema) schema = rg_schema_new(document, diags);
	g_assert_nonnull(schema);
	json_auto_t *fitted =
		parse("{'nodes': ["
		      "{'offer': {'instance_type': 'gpu-8'}, 'disk': {'type': null}},"
		      "{'offer': {'instance_type': 'big-gpu-8'}, 'disk': {'type': null}},"
		      "{'offer': {'instance_type': 'cpu'}, 'disk': {'type': null}},"
		      "{'offer': {'instance_type': 'gpu-8'}, 'disk': {'type': 'own'}}]}");
	pass_choose_disks(schema, fitted);
	size_t i;
	const json_t *node;
	json_array_foreach (json_object_get(fitted, "nodes"), i, node)
		g_assert_cmpstr(
			rg_json_str(json_object_get(node, "disk"), "type", NULL), ==, expected[i]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pipeline/disk/default", test_default);
	return g_test_run();
}
