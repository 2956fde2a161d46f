#include "render/report/findings.h"
#include "render/text/paint.h"
#include "base/redact.h"
#include <string.h>

/* JUnit XML for Jenkins, GitLab and GitHub's actions (the Ant task's format: testsuites, testsuite
 * with its counts, testcase with failure, error or skipped). */

typedef struct {
	GString *cases;
	const char *prefix; /* of the groups: with several clusters, the cluster's name and a dot;
			       else "" */
	unsigned tests, failures, errors, skipped;
} Suite;

/* Replaces characters that XML 1.0 cannot represent. */
static char *xml(const char *text)
{
	g_autofree char *line = clean_message(text ? text : "");
	g_autofree char *shown = rg_redact(line, strlen(line));
	g_autoptr(GString) allowed = g_string_new(NULL);
	for (const char *at = shown; *at; at = next_char(at)) {
		gunichar c = g_utf8_get_char(at);
		g_string_append_unichar(allowed, (c & 0xfffe) == 0xfffe ? 0xfffd : c);
	}
	return g_markup_escape_text(allowed->str, -1);
}

/* `outcome` NULL: it passed. */
static void add_case(
	Suite *suite, const char *group, const char *name, const char *outcome, const char *text)
{
	g_autofree char *whole = g_strconcat(suite->prefix, group, NULL);
	g_autofree char *safe_group = xml(whole), *safe_name = xml(name), *safe_text = xml(text);
	suite->tests++;
	g_string_append_printf(
		suite->cases, "    <testcase classname=\"%s\" name=\"%s\"", safe_group, safe_name);
	if (!outcome) {
		g_string_append(suite->cases, "/>\n");
		return;
	}
	suite->failures += g_str_equal(outcome, "failure");
	suite->errors += g_str_equal(outcome, "error");
	suite->skipped += g_str_equal(outcome, "skipped");
	g_string_append_printf(
		suite->cases, "><%s message=\"%s\"/></testcase>\n", outcome, safe_text);
}

static char *place_of(const char *text, RgSource source)
{
	return source.line ? g_strdup_printf("%s (%s:%u)", text, source.file, source.line)
			   : g_strdup(text);
}

static void add_plan(Suite *suite, const RgPlan *plan)
{
	rg_ptr_foreach (const RgPlanChange, change, plan->changes) {
		g_autofree char *text = place_of(change_phrase(change), change->source);
		add_case(suite, change->kind, change->address,
			!rg_plan_change_shows(change)	   ? NULL
			: change->action == RG_ACTION_STOP ? "failure"
							   : "skipped",
			text);
	}
	rg_json_foreach (item, plan->protection) {
		bool after = json_is_true(json_object_get(item, "after"));
		add_case(suite, "raygpu.protection", rg_json_str(item, "pool", "?"), "skipped",
			after ? "protect: false -> true" : "protect: true -> false");
	}
}

static void add_drift(Suite *suite, const RgDrift *drift)
{
	unsigned sound = drift->checked -
			 MIN(drift->checked, drift_count(drift, RG_DRIFT_MISSING) +
						     drift_count(drift, RG_DRIFT_CHANGED) +
						     drift_count(drift, RG_DRIFT_UNHEALTHY));
	rg_ptr_foreach (const RgDriftItem, item, drift->items) {
		g_autofree char *name = drift_name(item), *phrase = drift_phrase(item);
		g_autofree char *text = place_of(phrase, item->source);
		add_case(suite, item->kind, name, "failure", text);
	}
	g_autofree char *rest = g_strdup_printf("%u resources are as recorded", sound);
	add_case(suite, "raygpu.drift", rest, NULL, NULL);
	if (drift->unread) {
		g_autofree char *text = g_strdup_printf("%u resources", drift->unread);
		add_case(suite, "raygpu.drift", "reading", "error", text);
	}
}

static void add_diags(Suite *suite, const RgDiags *diags)
{
	rg_diags_foreach (diag, diags) {
		if (diag->severity != RG_SEVERITY_ERROR)
			continue;
		g_autofree char *related = related_phrase(diag);
		g_autofree char *place = place_of(diag->summary, diag->source);
		g_autofree char *text = g_strconcat(place, related, NULL);
		add_case(suite, "raygpu.error", diag->address ? diag->address : diag->code, "error",
			text);
	}
}

static char *counts_of(const Suite *suite, const char *plain_name)
{
	g_autofree char *name = xml(plain_name);
	return g_strdup_printf(
		"name=\"%s\" tests=\"%u\" failures=\"%u\" errors=\"%u\" skipped=\"%u\"", name,
		suite->tests, suite->failures, suite->errors, suite->skipped);
}

/* Appends the element of one cluster, and adds its counts to those of `all`. */
static void add_suite(GString *to, Suite *all, const RgReports *reports, const RgReport *report)
{
	g_autoptr(GString) cases = g_string_new(NULL);
	g_autofree char *prefix =
		reports->several ? g_strdup_printf("%s.", report_cluster(report)) : g_strdup("");
	Suite suite = {.cases = cases, .prefix = prefix};
	if (report->diags)
		add_diags(&suite, report->diags);
	if (report->plan)
		add_plan(&suite, report->plan);
	if (report->drift)
		add_drift(&suite, report->drift);
	if (report->not_run)
		add_case(&suite, "raygpu", reports->command, "skipped", "not run");
	g_autofree char *name =
		g_strdup_printf("raygpu %s %s", reports->command, report_cluster(report));
	g_autofree char *counts = counts_of(&suite, name);
	g_string_append_printf(to, "  <testsuite %s>\n%s  </testsuite>\n", counts, cases->str);
	all->tests += suite.tests;
	all->failures += suite.failures;
	all->errors += suite.errors;
	all->skipped += suite.skipped;
}

/* A removed spec fails a case of its own, because its cluster is in no other suite. */
static void add_removed(GString *to, Suite *all, const RgReports *reports)
{
	g_autoptr(GString) cases = g_string_new(NULL);
	Suite suite = {.cases = cases, .prefix = ""};
	for (guint i = 0; reports->removed && i < reports->removed->len; i++) {
		const RgRemoved *removed = reports->removed->pdata[i];
		g_autofree char *text = g_strdup_printf(
			"its spec %s was removed; %u resources are recorded and keep running",
			removed->spec, removed->recorded);
		add_case(&suite, "raygpu.removed", removed->cluster,
			removed->recorded ? "failure" : NULL, text);
	}
	if (!suite.tests)
		return;
	g_autofree char *counts = counts_of(&suite, "raygpu removed specs");
	g_string_append_printf(to, "  <testsuite %s>\n%s  </testsuite>\n", counts, cases->str);
	all->tests += suite.tests;
	all->failures += suite.failures;
}

char *rg_report_junit(const RgReports *reports)
{
	g_autoptr(GString) suites = g_string_new(NULL);
	Suite all = {0};
	for (size_t i = 0; i < reports->n; i++)
		add_suite(suites, &all, reports, &reports->items[i]);
	add_removed(suites, &all, reports);
	g_autofree char *name = reports->several ? g_strdup_printf("raygpu %s", reports->command)
						 : g_strdup_printf("raygpu %s %s", reports->command,
							   report_cluster(&reports->items[0]));
	g_autofree char *counts = counts_of(&all, name);
	return g_strdup_printf(
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites %s>\n%s</testsuites>\n",
		counts, suites->str);
}
