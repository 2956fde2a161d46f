/* decide.md, one file per case: tests/golden/diff. */
#include "../golden/golden.h"
#include <string.h>

static bool update;
static char *schema_path;

static void put_value(GString *text, const json_t *value)
{
	g_autofree char *json = value ? rg_json_canonical(value) : g_strdup("-");
	g_string_append(text, json);
}

static void put_attr(GString *text, const RgAttrChange *attr)
{
	g_string_append_printf(text, "    %s ", attr->name);
	put_value(text, attr->before);
	g_string_append(text, " -> ");
	if (attr->after_unknown)
		g_string_append(text, "(known after apply)");
	else
		put_value(text, attr->after);
	g_string_append_printf(text, "%s%s%s%s", attr->spec ? " spec" : "",
		attr->drift ? " drift" : "", attr->force_new ? " force_new" : "",
		attr->sensitive ? " sensitive" : "");
	if (attr->drift) {
		g_string_append(text, " recorded ");
		put_value(text, attr->recorded);
	}
	g_string_append_c(text, '\n');
}

static void put_change(GString *text, const RgChange *change)
{
	static const char *const actions[] = {"none", "create", "update", "replace", "delete",
		"record", "forget", "release", "stop"};
	static const char *const grades[] = {
		"safe", "destructive", "drift", "recover", "conflict", "unknown"};
	g_autofree char *row =
		change->row == 1 ? g_strdup("1b") : g_strdup_printf("%d", change->row);
	g_string_append_printf(text, "%s %s %s %s%s%s%s", row, actions[change->action],
		grades[change->grade], change->address, change->replay ? " replay" : "",
		change->drifted ? " drifted" : "", change->left ? " left" : "");
	if (change->reason)
		g_string_append_printf(text, " reason=%s", change->reason);
	g_string_append_c(text, '\n');
	if (change->note)
		g_string_append_printf(text, "    note: %s\n", change->note);
	for (guint i = 0; i < change->attrs->len; i++)
		put_attr(text, change->attrs->pdata[i]);
	for (guint i = 0; i < change->after->len; i++)
		g_string_append_printf(text, "%s %s%s", i == 0 ? "    after:" : "",
			((RgChange *)change->after->pdata[i])->address,
			i + 1 == change->after->len ? "\n" : "");
}

static char *run_diff(const GoldenCase *test)
{
	GString *text = g_string_new(NULL);
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgResourceSet) refreshed = NULL;
	if (test->options.refresh_only)
		refreshed = rg_diff_refreshed(
			test->schema, test->recorded, test->observed, &test->options, diags);
	g_autoptr(RgDiff) diff = rg_diff(test->schema, refreshed ? refreshed : test->desired,
		test->recorded, test->observed, &test->options, diags);
	for (guint i = 0; diff && i < diff->changes->len; i++)
		put_change(text, diff->changes->pdata[i]);
	for (guint i = 0; diff && i < diff->unmanaged->len; i++) {
		const RgResource *stray = diff->unmanaged->pdata[i];
		g_string_append_printf(text, "unmanaged %s %s\n", stray->kind, stray->id);
	}
	golden_diags(text, diags);
	return g_string_free(text, FALSE);
}

static void run(gconstpointer path)
{
	GoldenCase *test = golden_load(path, schema_path);
	g_autofree char *got = run_diff(test);
	golden_expect(test, got, update);
	g_autoptr(GRand) random = g_rand_new_with_seed(1);
	for (int i = 0; i < 20; i++) {
		golden_shuffle(test, random);
		g_autofree char *again = run_diff(test);
		g_assert_cmpstr(again, ==, got);
	}
	golden_free(test);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, >=, 2);
	update = argc > 2 && g_str_equal(argv[2], "--update");
	g_autofree char *folder = g_build_filename(argv[1], "diff", NULL);
	schema_path = g_build_filename(argv[1], "schema.json", NULL);
	golden_add_all(folder, "/diff/", run);
	int status = g_test_run();
	g_free(schema_path);
	return status;
}
