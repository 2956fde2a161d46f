/* diff -> plan -> JSON, one file per case: tests/golden/plan. @fitted is the fitted document;
 * @expect is the saved plan, one member per line. Each is also checked against
 * schemas/plan.schema.json, made again 20 times from shuffled input, and loaded and saved again. */
#include "../golden/golden.h"
#include "base/json_schema.h"
#include "plan/plan.h"
#include <string.h>

static bool update;
static char *schema_path, *plan_schema_path;

static RgSource source_of(const void *data, const char *pointer)
{
	RgSource source = {.file = "/home/someone/spec.yaml", .line = 10, .column = 3};
	if (g_str_equal(pointer, "/head"))
		source.line = 5;
	return source;
}

static json_t *section_json(const GoldenCase *test, const char *name)
{
	const char *text = golden_section(test, name);
	return *text != '\0' ? json_loads(text, 0, NULL) : NULL;
}

static GPtrArray *pool_order(void)
{
	GPtrArray *order = g_ptr_array_new();
	g_ptr_array_add(order, (gpointer)(uintptr_t) "train");
	g_ptr_array_add(order, (gpointer)(uintptr_t) "legacy");
	return order;
}

static RgPlan *make_plan(const GoldenCase *test)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgDiff) diff = rg_diff(
		test->schema, test->desired, test->recorded, test->observed, &test->options, diags);
	g_assert_nonnull(diff);
	json_auto_t *fitted = section_json(test, "fitted");
	json_auto_t *config = json_pack("{s:s}", "vpc", "vpc-1");
	g_autoptr(GPtrArray) order = pool_order();
	RgPlanInput input = {.command = test->options.destroy ? "destroy" : "plan",
		.lineage = rg_resource_set_size(test->recorded) > 0
				   ? "0123456789abcdef0123456789abcdef"
				   : NULL,
		.state = ".raygpu/state.db",
		.serial = 7,
		.commit = "c0ffee",
		.in_git = true,
		.dirty = true,
		.fitted = fitted,
		.cluster = "research",
		.provider = "t",
		.region = "r-1",
		.spec_file = "clusters/spec.yaml",
		.spec_digest = "d1gest",
		.config = config,
		.source = source_of,
		.pool_order = order};
	return rg_plan_new(diff, test->schema, &input, diags);
}

static char *plan_text(const RgPlan *plan, size_t flags)
{
	json_auto_t *document = rg_plan_to_json(plan);
	char *text = json_dumps(document, flags);
	char *copy = g_strconcat(text, "\n", NULL);
	free(text);
	return copy;
}

static void report(const RgSchemaFinding *finding, void *data)
{
	g_test_message("plan.schema.json: %s: %s", finding->pointer, finding->keyword);
	g_test_fail();
}

static void check_schema(const char *text)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *schema_json = json_load_file(plan_schema_path, 0, NULL);
	json_auto_t *document = json_loads(text, 0, NULL);
	g_assert_nonnull(schema_json);
	g_autoptr(RgJsonSchema) schema = rg_json_schema_compile(schema_json, diags);
	for (size_t i = 0; i < rg_diags_count(diags); i++)
		g_test_message("%s", rg_diags_get(diags, i)->summary);
	g_assert_nonnull(schema);
	rg_json_schema_check(schema, document, report, NULL);
}

static void check_round_trip(const char *text)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *document = json_loads(text, 0, NULL);
	g_autoptr(RgPlan) plan = rg_plan_from_json(document, diags);
	for (size_t i = 0; i < rg_diags_count(diags); i++)
		g_test_message("%s", rg_diags_get(diags, i)->summary);
	g_assert_nonnull(plan);
	g_autofree char *again = plan_text(plan, JSON_INDENT(1));
	g_assert_cmpstr(again, ==, text);
}

static void run(gconstpointer path)
{
	GoldenCase *test = golden_load(path, schema_path);
	g_autoptr(RgPlan) plan = make_plan(test);
	g_autofree char *got = plan_text(plan, JSON_INDENT(1));
	golden_expect(test, got, update);
	check_schema(got);
	check_round_trip(got);
	g_assert_null(strstr(got, "hush"));
	g_assert_null(strstr(got, "/home/someone"));
	g_autoptr(GRand) random = g_rand_new_with_seed(2);
	for (int i = 0; i < 20; i++) {
		golden_shuffle(test, random);
		g_autoptr(RgPlan) other = make_plan(test);
		g_autofree char *again = plan_text(other, JSON_INDENT(1));
		g_assert_cmpstr(again, ==, got);
	}
	golden_free(test);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, >=, 3);
	update = argc > 3 && g_str_equal(argv[3], "--update");
	g_autofree char *folder = g_build_filename(argv[1], "plan", NULL);
	schema_path = g_build_filename(argv[1], "schema.json", NULL);
	plan_schema_path = g_build_filename(argv[2], "plan.schema.json", NULL);
	golden_add_all(folder, "/plan/", run);
	int status = g_test_run();
	g_free(schema_path);
	g_free(plan_schema_path);
	return status;
}
