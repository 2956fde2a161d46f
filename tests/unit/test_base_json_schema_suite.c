/* The public JSON-Schema-Test-Suite (Debian: json-schema-test-suite) for our subset. Every group
 * whose schema compiles must give the suite's verdicts. A suite without draft 2020-12 (Debian 12)
 * is read from draft 7, with the keywords renamed according to the release notes of 2019-09 and
 * 2020-12 (json-schema.org/draft/2020-12/release-notes). */
#include <string.h>
#include "base/json_schema.h"

#define SUITE "/usr/share/json-schema-test-suite/tests/"
#define GROUPS_MIN 90 /* the minimum: fewer means that the subset or the suite shrank */
#define VERDICTS_MIN 320

typedef struct {
	unsigned groups, skipped, verdicts;
} Tally;

/* In draft 7 a "$ref" hides its siblings, since 2019-09 it does not. */
static const char *const changed_groups[] = {"ref overrides any sibling keywords",
	"$ref prevents a sibling $id from changing the base uri", NULL};

static void rename_key(json_t *object, const char *from, const char *to)
{
	json_t *value = json_object_get(object, from);
	if (!value)
		return;
	json_object_set(object, to, value);
	json_object_del(object, from);
}

static void rewrite_ref(json_t *schema)
{
	const char *ref = rg_json_str(schema, "$ref", NULL);
	if (!ref)
		return;
	g_autoptr(GString) text = g_string_new(ref);
	g_string_replace(text, "#/definitions/", "#/$defs/", 0);
	json_object_set_new(schema, "$ref", json_string(text->str));
}

static void translate(json_t *schema)
{
	size_t i;
	json_t *item;
	json_array_foreach (schema, i, item)
		translate(item);
	if (!json_is_object(schema))
		return;
	if (json_is_array(json_object_get(schema, "items"))) {
		rename_key(schema, "items", "prefixItems");
		rename_key(schema, "additionalItems", "items");
	}
	/* with anything but a list of items it never had an effect */
	json_object_del(schema, "additionalItems");
	rename_key(schema, "definitions", "$defs");
	rewrite_ref(schema);
	const char *key;
	json_object_foreach (schema, key, item) {
		if (!g_str_equal(key, "const") && !g_str_equal(key, "enum"))
			translate(item);
	}
}

static void run_group(json_t *group, const char *file, Tally *tally)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgJsonSchema) schema =
		rg_json_schema_compile(json_object_get(group, "schema"), diags);
	g_autoptr(RgJsonSchema) known =
		rg_json_schema_compile_known(json_object_get(group, "schema"), diags);
	if (!schema) {
		tally->skipped++;
		g_test_message("outside: %s: %s: %s", file, rg_json_str(group, "description", ""),
			rg_diags_get(diags, 0)->summary);
		return;
	}
	tally->groups++;
	size_t i;
	json_t *test;
	json_array_foreach (json_object_get(group, "tests"), i, test) {
		const json_t *data = json_object_get(test, "data");
		bool valid = rg_json_schema_check(schema, data, NULL, NULL);
		g_assert_true(rg_json_schema_check(known, data, NULL, NULL) == valid);
		tally->verdicts++;
		if (valid != rg_json_bool(test, "valid", !valid)) {
			g_test_message("%s: %s: %s", file, rg_json_str(group, "description", ""),
				rg_json_str(test, "description", ""));
			g_test_fail();
		}
	}
}

static void run_file(const char *folder, const char *name, bool is_old, Tally *tally)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);
	json_error_t error;
	json_auto_t *groups = json_load_file(path, 0, &error);
	if (!groups) {
		g_test_message("%s: %s", path, error.text); /* numbers beyond int64 */
		return;
	}
	size_t i;
	json_t *group;
	json_array_foreach (groups, i, group) {
		if (is_old) {
			if (g_strv_contains(changed_groups, rg_json_str(group, "description", "")))
				continue;
			translate(json_object_get(group, "schema"));
		}
		run_group(group, name, tally);
	}
}

static void the_suite_agrees(void)
{
	bool is_old = !g_file_test(SUITE "draft2020-12", G_FILE_TEST_IS_DIR);
	const char *folder = is_old ? SUITE "draft7" : SUITE "draft2020-12";
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	if (!dir) {
		g_test_skip("json-schema-test-suite is not installed");
		return;
	}
	Tally tally = {0};
	for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
		if (g_str_has_suffix(name, ".json"))
			run_file(folder, name, is_old, &tally);
	}
	g_test_message("%s: %u groups run, %u outside the subset, %u verdicts", folder,
		tally.groups, tally.skipped, tally.verdicts);
	g_assert_cmpuint(tally.groups, >=, GROUPS_MIN);
	g_assert_cmpuint(tally.verdicts, >=, VERDICTS_MIN);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/schema/the public test suite agrees", the_suite_agrees);
	return g_test_run();
}
