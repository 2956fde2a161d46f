/* The texts of plan and drift, one file per case: tests/golden/render, at 80 columns without
 * colours. Each is also rendered with colours (removing them gives the same text) and searched for
 * characters that a terminal would interpret and for lines that are too wide although they could be
 * broken. */
#include "../golden/golden.h"
#include "render/report/report.h"
#include "render/stream/stream.h"
#include <string.h>

static bool update;
static char *schema_path;

static RgSource source_of(const void *data, const char *pointer)
{
	return (RgSource){.file = "clusters/spec.yaml", .line = 10, .column = 3};
}

static RgPlan *make_plan(const GoldenCase *test, const RgDiff *diff, RgDiags *diags)
{
	const char *text = golden_section(test, "fitted");
	json_auto_t *fitted = *text ? json_loads(text, 0, NULL) : NULL;
	const char *entries = golden_section(test, "imports");
	json_auto_t *imports = *entries ? json_loads(entries, 0, NULL) : NULL;
	g_autoptr(GPtrArray) order = g_ptr_array_new();
	g_ptr_array_add(order, (gpointer)(uintptr_t) "train");
	g_ptr_array_add(order, (gpointer)(uintptr_t) "legacy");
	RgPlanInput input = {.command = test->options.destroy ? "destroy" : "plan",
		.lineage = "0123456789abcdef0123456789abcdef",
		.state = ".raygpu/state.db",
		.commit = "c0ffeec0ffeec0ffee",
		.in_git = true,
		.dirty = true,
		.fitted = fitted,
		.imports = imports,
		.cluster = "research",
		.provider = "t",
		.region = "r-1",
		.spec_file = "clusters/spec.yaml",
		.spec_digest = "d1gest",
		.source = source_of,
		.pool_order = order};
	return rg_plan_new(diff, test->schema, &input, diags);
}

static char *without_colors(const char *text)
{
	g_autoptr(GRegex) codes = g_regex_new("\033\\[[0-9]+m", 0, 0, NULL);
	return g_regex_replace_literal(codes, text, -1, 0, "", 0, NULL);
}

static unsigned columns(const char *line)
{
	unsigned n = 0;
	for (const char *at = line; *at; at += g_utf8_skip[(guchar)*at])
		n += g_unichar_iswide(g_utf8_get_char(at)) ? 2 : 1;
	return n;
}

/* Only a value on one line and a heading, which tools expect on one line, may be too wide. */
static void check_lines(const char *text)
{
	g_assert_true(g_utf8_validate(text, -1, NULL));
	for (const char *at = text; *at; at += g_utf8_skip[(guchar)*at]) {
		gunichar c = g_utf8_get_char(at);
		g_assert_true(c == '\n' || c == '\t' ||
			      (!g_unichar_iscntrl(c) && g_unichar_type(c) != G_UNICODE_FORMAT));
	}
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i]; i++) {
		if (columns(lines[i]) > 80)
			g_test_message("%u columns: %s", columns(lines[i]), lines[i]);
		g_assert_true(columns(lines[i]) <= 80 || strstr(lines[i], "-> \"\\u001B") ||
			      g_str_has_prefix(lines[i], "  # t."));
	}
}

static void check_xml(const char *text)
{
	static const GMarkupParser parser;
	g_autoptr(GMarkupParseContext) context = g_markup_parse_context_new(&parser, 0, NULL, NULL);
	g_autoptr(GError) error = NULL;
	g_markup_parse_context_parse(context, text, -1, &error);
	g_assert_no_error(error);
	g_markup_parse_context_end_parse(context, &error);
	g_assert_no_error(error);
}

static void check_message(json_t *owned)
{
	json_auto_t *message = owned;
	if (!message)
		return;
	g_autofree char *text = rg_json_canonical(message);
	g_assert_null(strstr(text, "hush"));
	g_assert_nonnull(json_object_get(message, "raygpu"));
	g_assert_cmpstr(rg_json_str(message, "@message", ""), !=, "");
}

static void check_stream(const RgReports *reports)
{
	check_message(rg_message_reports(reports));
	for (size_t i = 0; i < reports->n; i++) {
		const RgReport *report = &reports->items[i];
		for (guint c = 0; report->plan && c < report->plan->changes->len; c++) {
			check_message(rg_message_planned(report->plan->changes->pdata[c]));
			check_message(rg_message_drifted(report->plan->changes->pdata[c]));
		}
		for (guint d = 0; report->drift && d < report->drift->items->len; d++)
			check_message(rg_message_drift(report->drift->items->pdata[d]));
		json_auto_t *rows = rg_render_diags_json(report->diags);
		for (size_t r = 0; r < json_array_size(rows); r++)
			check_message(rg_message_diag(json_array_get(rows, r)));
	}
}

/* Whatever the names are: well-formed, within the limit, no secret, no command for GitHub's
 * runner. */
static void check_reports(const RgReports *report)
{
	g_autofree char *junit = rg_report_junit(report), *github = rg_report_github(report);
	const RgPlan *plan = report->n == 1 ? report->items[0].plan : NULL;
	const bool one_line = plan && rg_plan_is_noop(plan);
	check_xml(junit);
	for (size_t limit = 3000; limit <= RG_REPORT_COMMENT_BYTES; limit *= 2) {
		g_autofree char *comment = rg_report_markdown(report, limit);
		g_assert_cmpuint(strlen(comment), <=, limit);
		g_assert_true(g_utf8_validate(comment, -1, NULL));
		g_assert_null(strstr(comment, "hush"));
		g_assert_true(!strstr(comment, "</details>") == one_line);
	}
	g_auto(GStrv) parts = g_strsplit(github, "::", 4);
	g_assert_cmpstr(parts[1], ==, "stop-commands");
	g_autofree char *word = g_strndup(parts[2], 64);
	g_autofree char *end = g_strdup_printf("\n::%s::\n", word);
	g_assert_nonnull(strstr(github, end));
	g_assert_null(strstr(github, "hush"));
	json_auto_t *sarif = rg_report_sarif(report);
	g_autofree char *dumped = rg_json_canonical(sarif);
	g_assert_null(strstr(dumped, "hush"));
	g_assert_null(strstr(dumped, "\\u001B"));
	json_auto_t *counts = rg_report_gitlab(report);
	g_assert_cmpuint(json_object_size(counts), ==, 3);
	check_stream(report);
	json_auto_t *document = rg_report_json(report);
	g_autofree char *whole = rg_json_canonical(document);
	g_assert_null(strstr(whole, "hush"));
	g_autofree char *overview = rg_report_overview(report, &(RgStyle){0});
	g_assert_null(strstr(overview, "\033"));
}

/* By itself, and three times in one report together with one that failed. */
static void check_report(const char *command, RgReport report, const RgDiags *diags)
{
	report.diags = diags;
	RgReports alone = {.command = command, .version = "1", .items = &report, .n = 1};
	check_reports(&alone);
	const RgReport items[] = {
		report, {.cluster = "lost", .spec = "a`b.yaml", .diags = diags}, report, report};
	RgRemoved gone = {.cluster = "gone", .spec = "gone.yaml", .recorded = 2};
	g_autoptr(GPtrArray) removed = g_ptr_array_new();
	g_ptr_array_add(removed, &gone);
	RgReports many = {.command = command,
		.version = "1",
		.items = items,
		.n = G_N_ELEMENTS(items),
		.several = true,
		.removed = removed};
	check_reports(&many);
}

static char *render(const GoldenCase *test, const RgStyle *style)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgDiff) diff = rg_diff(
		test->schema, test->desired, test->recorded, test->observed, &test->options, diags);
	g_assert_nonnull(diff);
	g_autoptr(RgPlan) plan = make_plan(test, diff, diags);
	g_autoptr(RgDrift) drift = rg_drift_new(diff, test->recorded, "research", source_of, NULL);
	check_report("plan", (RgReport){.plan = plan}, diags);
	check_report("drift", (RgReport){.drift = drift}, diags);
	g_autofree char *text = rg_render_plan(plan, style);
	g_autofree char *drifted = rg_render_drift(drift, style);
	return g_strconcat(text, "\n---- drift\n", drifted, NULL);
}

static void run(gconstpointer path)
{
	GoldenCase *test = golden_load(path, schema_path);
	g_autofree char *plain = render(test, &(RgStyle){false, 80});
	golden_expect(test, plain, update);
	check_lines(plain);
	g_assert_null(strstr(plain, "hush"));
	g_autofree char *painted = render(test, &(RgStyle){true, 80});
	g_autofree char *washed = without_colors(painted);
	g_assert_cmpstr(washed, ==, plain);
	golden_free(test);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, >=, 2);
	update = argc > 2 && g_str_equal(argv[2], "--update");
	g_autofree char *folder = g_build_filename(argv[1], "render", NULL);
	schema_path = g_build_filename(argv[1], "schema.json", NULL);
	golden_add_all(folder, "/render/", run);
	int status = g_test_run();
	g_free(schema_path);
	return status;
}
