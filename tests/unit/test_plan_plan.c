/* What a plan decides (no-op, fresh), and what makes a plan file invalid. */
#include "../golden/golden.h"
#include "plan/plan.h"
#include <string.h>

static const char *golden_dir;

typedef struct {
	GoldenCase *test;
	RgDiags *diags;
	RgPlan *plan;
} Fixture;

static void fixture_clear(Fixture *fixture)
{
	rg_plan_free(fixture->plan);
	rg_diags_free(fixture->diags);
	golden_free(fixture->test);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Fixture, fixture_clear)

static void fixture_init(Fixture *fixture, const char *folder, const char *name)
{
	g_autofree char *path = g_strdup_printf("%s/%s/%s.test", golden_dir, folder, name);
	g_autofree char *schema = g_build_filename(golden_dir, "schema.json", NULL);
	fixture->test = golden_load(path, schema);
	fixture->diags = rg_diags_new();
	g_autoptr(RgDiff) diff =
		rg_diff(fixture->test->schema, fixture->test->desired, fixture->test->recorded,
			fixture->test->observed, &fixture->test->options, fixture->diags);
	const char *fitted_text = golden_section(fixture->test, "fitted");
	json_auto_t *fitted = *fitted_text ? json_loads(fitted_text, 0, NULL) : NULL;
	RgPlanInput input = {.command = "plan",
		.cluster = "research",
		.lineage = "abc",
		.fitted = fitted,
		.provider = "t"};
	fixture->plan = rg_plan_new(diff, fixture->test->schema, &input, fixture->diags);
}

static void test_noop_means_nothing_to_do_and_nothing_stopped(void)
{
	static const struct {
		const char *name;
		bool changes, noop;
	} rows[] = {{"row-05-nothing", false, true}, {"row-06-drift-update", true, false},
		{"row-09-record", true, false}, {"row-12-shrink", true, false},
		{"row-14-forget", true, false}, {"row-15-not-told", false, false},
		{"row-01b-vanished", false, false}, {"row-17-replay", true, false}};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_auto(Fixture) fixture = {0};
		fixture_init(&fixture, "diff", rows[i].name);
		g_assert_true(rg_plan_has_changes(fixture.plan) == rows[i].changes);
		g_assert_true(rg_plan_is_noop(fixture.plan) == rows[i].noop);
	}
}

static void test_stray_alone_does_not_make_a_noop_a_change(void)
{
	g_auto(Fixture) fixture = {0};
	fixture_init(&fixture, "diff", "row-05-nothing");
	RgResource *stray = rg_resource_new("t.node", "old", 3);
	stray->id = g_strdup("i-9");
	rg_resource_set_add_extra(fixture.test->observed, stray);
	g_autoptr(RgDiff) diff = rg_diff(fixture.test->schema, fixture.test->desired,
		fixture.test->recorded, fixture.test->observed, NULL, fixture.diags);
	RgPlanInput input = {.command = "plan", .cluster = "research"};
	g_autoptr(RgPlan) plan = rg_plan_new(diff, fixture.test->schema, &input, fixture.diags);
	g_assert_cmpuint(plan->unmanaged->len, ==, 1);
	g_assert_true(rg_plan_is_noop(plan));
}

static void test_plan_is_stale_when_any_row_moved(void)
{
	g_auto(Fixture) fixture = {0};
	fixture_init(&fixture, "diff", "row-06-drift-replace");
	RgResource *touched = rg_resource_set_find(fixture.test->recorded, "t.node.train[0]");
	RgResource *other = rg_resource_set_find(fixture.test->recorded, "t.node.train[1]");
	const RgResourceSet *recorded = fixture.test->recorded;
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_assert_true(rg_plan_check_fresh(fixture.plan, "abc", recorded, diags));
	g_assert_cmpuint(rg_diags_count(diags), ==, 0);
	other->updated_s = 99; /* the plan does not change it, but its sums include it */
	g_assert_false(rg_plan_check_fresh(fixture.plan, "abc", recorded, diags));
	other->updated_s = 0;
	touched->updated_s = 99;
	g_assert_false(rg_plan_check_fresh(fixture.plan, "abc", recorded, diags));
	g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "plan.stale");
	touched->updated_s = 0;
	touched->generation = 1;
	g_assert_false(rg_plan_check_fresh(fixture.plan, "abc", recorded, diags));
	touched->generation = 0;
	touched->presence = RG_PENDING;
	g_assert_false(rg_plan_check_fresh(fixture.plan, "abc", recorded, diags));
	g_autoptr(RgResourceSet) empty = rg_resource_set_new();
	g_assert_false(rg_plan_check_fresh(fixture.plan, "abc", empty, diags));
}

static void test_plan_of_another_state_is_refused(void)
{
	g_auto(Fixture) fixture = {0};
	g_autoptr(RgDiags) diags = rg_diags_new();
	fixture_init(&fixture, "diff", "row-06-drift-replace");
	g_assert_false(rg_plan_check_fresh(fixture.plan, "other", fixture.test->recorded, diags));
	g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "plan.wrong-state");
	g_assert_false(rg_plan_check_fresh(fixture.plan, NULL, fixture.test->recorded, diags));
	g_assert_cmpstr(rg_diags_get(diags, 1)->code, ==, "plan.wrong-state");
	g_clear_pointer(&fixture.plan->lineage, g_free);
	g_assert_false(rg_plan_check_fresh(fixture.plan, "abc", fixture.test->recorded, diags));
	g_assert_cmpstr(rg_diags_get(diags, 2)->code, ==, "plan.stale");
}

static void test_created_row_that_is_there_meanwhile_is_stale(void)
{
	g_auto(Fixture) fixture = {0};
	g_autoptr(RgDiags) diags = rg_diags_new();
	fixture_init(&fixture, "diff", "row-02-create");
	g_autoptr(RgResourceSet) now = rg_resource_set_new();
	g_assert_true(rg_plan_check_fresh(fixture.plan, "abc", now, diags));
	rg_resource_set_add(now, rg_resource_new("t.node", "train", 1));
	g_assert_false(rg_plan_check_fresh(fixture.plan, "abc", now, diags));
	g_assert_cmpstr(rg_diags_get(diags, 0)->address, ==, "t.node.train[1]");
}

/* The plan in the file, with one value at `pointer` set to `text` (NULL: removed). */
static void refuse(json_t *good, const char *parent, const char *key, const char *text)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *bad = json_deep_copy(good);
	json_t *object = rg_json_at(bad, parent);
	g_assert_true(json_is_object(object));
	if (!text)
		json_object_del(object, key);
	else
		json_object_set_new(object, key, json_loads(text, JSON_DECODE_ANY, NULL));
	g_assert_false(json_equal(bad, good));
	g_autoptr(RgPlan) plan = rg_plan_from_json(bad, diags);
	if (plan)
		g_error("%s/%s = %s was taken", parent, key, text ? text : "nothing");
	g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "plan.bad-file");
}

static void test_edited_plans_are_refused(void)
{
	static const char *const rows[][3] = {{"", "raygpu_format", "2"}, {"", "raygpu", NULL},
		{"", "resource_changes", "{}"}, {"", "blobs", NULL}, {"", "extra", "1"},
		{"", "applyable", "false"}, {"", "errored", "true"}, {"", "errored", "0"},
		{"/raygpu", "cluster", "7"}, {"/raygpu", "cluster", NULL},
		{"/raygpu", "serial", "\"1\""}, {"/raygpu", "touched", "{}"},
		{"/raygpu", "touched", NULL}, {"/raygpu/summary", "create", "9"},
		{"/raygpu/budget", "api_calls", "-1"}, {"/raygpu/pools/0/after", "gpus", "-4"},
		{"/raygpu", "config", "[]"}, {"/resource_changes/0", "address", "\"x\""},
		{"/resource_changes/0", "address", "\"t.group.other\""},
		{"/resource_changes/0", "type", "\"t.net\""},
		{"/resource_changes/0/change", "actions", "[\"no-op\"]"},
		{"/resource_changes/0/raygpu", "action", "\"delete\""},
		{"/resource_changes/0/raygpu", "action", "\"explode\""},
		{"/resource_changes/0/raygpu", "grade", NULL},
		{"/resource_changes/0/raygpu", "row", "99999999999"},
		{"/resource_changes/0/raygpu", "desired", NULL},
		{"/resource_changes/0/raygpu", "desired", "{\"$blob\":\"nowhere\"}"},
		{"/resource_changes/0/raygpu", "desired", "{\"label\":{\"$ref\":1}}"},
		{"/resource_changes/0/raygpu", "desired", "{\"label\":\"other\"}"},
		{"/resource_changes/0/raygpu", "after", "[\"t.node.train[0]\"]"},
		{"/resource_changes/0/raygpu", "depends_on", "[\"t.node.train[0]\"]"},
		{"/resource_changes/0/raygpu", "depends_on", "[3]"},
		{"/resource_changes/0/raygpu", "attrs", "[{}]"},
		{"/resource_changes/0/raygpu", "unheard", "1"}};
	g_auto(Fixture) fixture = {0};
	fixture_init(&fixture, "diff", "row-02-create");
	json_auto_t *good = rg_plan_to_json(fixture.plan);
	g_autoptr(RgPlan) loaded = rg_plan_from_json(good, fixture.diags);
	g_assert_nonnull(loaded);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
		refuse(good, rows[i][0], rows[i][1], rows[i][2]);
}

static void test_no_plan_at_all_is_refused(void)
{
	static const char *const bad[] = {"null", "[]", "{}", "7", "\"plan\"",
		"{\"raygpu_format\": 1}", "{\"raygpu_format\": 1, \"raygpu\": []}"};
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		json_auto_t *document = json_loads(bad[i], JSON_DECODE_ANY, NULL);
		g_assert_null(rg_plan_from_json(document, diags));
		g_assert_cmpstr(rg_diags_get(diags, 0)->code, ==, "plan.bad-file");
	}
}

static void test_plain_sensitive_value_is_saved_nowhere_and_the_file_not_applied(void)
{
	g_auto(Fixture) fixture = {0};
	g_autoptr(RgDiags) diags = rg_diags_new();
	fixture_init(&fixture, "diff", "sensitive");
	json_auto_t *document = rg_plan_to_json(fixture.plan);
	g_autofree char *text = rg_json_canonical(document);
	g_assert_null(strstr(text, "password\":\"new"));
	g_assert_null(strstr(text, "new-password"));
	g_assert_null(strstr(text, "old-password"));
	g_assert_null(strstr(text, "hush"));
	g_assert_null(rg_plan_from_json(document, diags));
	g_assert_nonnull(strstr(rg_diags_get(diags, 0)->summary, "sensitive"));
}

/* A module need not report it, but if it does, user data with secrets is in no file. */
static void test_unreadable_value_is_saved_nowhere(void)
{
	g_auto(Fixture) fixture = {0};
	fixture_init(&fixture, "diff", "row-06-drift-update");
	json_t *seen = rg_resource_set_find(fixture.test->observed, "t.node.train[0]")->attrs;
	rg_json_set_str(seen, "data", "user data of the cloud");
	g_autoptr(RgDiff) diff = rg_diff(fixture.test->schema, fixture.test->desired,
		fixture.test->recorded, fixture.test->observed, NULL, fixture.diags);
	RgPlanInput input = {.command = "plan", .cluster = "research"};
	g_autoptr(RgPlan) plan = rg_plan_new(diff, fixture.test->schema, &input, fixture.diags);
	json_auto_t *document = rg_plan_to_json(plan);
	g_autofree char *text = rg_json_canonical(document);
	g_assert_nonnull(strstr(text, "\"observed\""));
	g_assert_null(strstr(text, "user data of the cloud"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	golden_dir = argv[1];
	g_test_add_func("/plan/noop", test_noop_means_nothing_to_do_and_nothing_stopped);
	g_test_add_func("/plan/stray-alone", test_stray_alone_does_not_make_a_noop_a_change);
	g_test_add_func("/fresh/any-row", test_plan_is_stale_when_any_row_moved);
	g_test_add_func("/fresh/other-state", test_plan_of_another_state_is_refused);
	g_test_add_func("/fresh/created", test_created_row_that_is_there_meanwhile_is_stale);
	g_test_add_func("/file/edited", test_edited_plans_are_refused);
	g_test_add_func("/file/no-plan", test_no_plan_at_all_is_refused);
	g_test_add_func("/file/sensitive",
		test_plain_sensitive_value_is_saved_nowhere_and_the_file_not_applied);
	g_test_add_func("/file/unreadable", test_unreadable_value_is_saved_nowhere);
	return g_test_run();
}
