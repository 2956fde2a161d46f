/* Diagnostics under the line of the spec, and the progress of an apply. */
#include "render/text/paint.h"
#include "render/fit/fit.h"
#include "render/text/cost.h"
#include "base/redact.h"
#include "render/render.h"
#include <string.h>

static const RgStyle plain = {false, 80};

static char *one_diag(const char *spec, RgSource at, const char *summary)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	rg_diags_add_text(diags, "c.yaml", spec, strlen(spec));
	at.file = "c.yaml";
	rg_diag_at(rg_diags_error(diags, "spec.bad-value", "%s", summary), at);
	return rg_render_diags(diags, &plain);
}

static void caret(const char *line, unsigned column, unsigned end, const char *expect)
{
	g_autofree char *got =
		one_diag(line, (RgSource){.line = 1, .column = column, .end_column = end}, "bad");
	g_autofree char *want = g_strdup_printf(
		"\nError: bad [spec.bad-value]\n  on c.yaml:1:%u\n%s\n", column, expect);
	g_assert_cmpstr(got, ==, want);
}

static void test_caret(void)
{
	caret("pools: {a: x}", 12, 13, "  1 | pools: {a: x}\n    |            ^");
	caret("a:\tbad", 4, 7, "  1 | a:\tbad\n    |   \t^^^");
	caret("名前: bad", 5, 8, "  1 | 名前: bad\n    |       ^^^");
	caret("x: 名前", 4, 6, "  1 | x: 名前\n    |    ^^^^");
	caret("short", 99, 0, "  1 | short\n    |      ^");
	caret("a: \033[31mred", 4, 5, "  1 | a: \357\277\275[31mred\n    |    ^");
}

static void test_long_line(void)
{
	g_autofree char *left = g_strnfill(500, 'a'), *right = g_strnfill(500, 'b');
	g_autofree char *line = g_strconcat(left, "X", right, NULL);
	g_autofree char *got =
		one_diag(line, (RgSource){.line = 1, .column = 501, .end_column = 502}, "bad");
	g_auto(GStrv) lines = g_strsplit(got, "\n", -1);
	g_assert_cmpuint(strlen(lines[3]), <=, 80);
	g_assert_cmpint(strchr(lines[4], '^') - lines[4], ==, strchr(lines[3], 'X') - lines[3]);
}

static void test_secret(void)
{
	rg_redact_add("correct-horse-battery", 21);
	g_autofree char *got = one_diag("key: correct-horse-battery",
		(RgSource){.line = 1, .column = 1}, "\"correct-horse-battery\" is no key");
	g_assert_null(strstr(got, "horse"));
	g_assert_nonnull(strstr(got, "1 | key: [redacted]\n"));
	g_autoptr(RgDiags) diags = rg_diags_new();
	rg_diags_add_text(diags, "c.yaml", "key: correct-horse-battery", 26);
	rg_diag_at(rg_diags_error(diags, "spec.bad-value", "correct-horse-battery"),
		(RgSource){.file = "c.yaml", .line = 1, .column = 1});
	json_auto_t *rows = rg_render_diags_json(diags);
	g_autofree char *text = rg_json_canonical(rows);
	g_assert_null(strstr(text, "horse"));
}

/* A cloud's answer with a line break must not start a line that a tool reads as another error. */
static void test_forged_line(void)
{
	g_autofree char *got = one_diag("x", (RgSource){0}, "no\nError: forged\nNo changes.");
	g_assert_null(strstr(got, "\nError: forged"));
	g_assert_null(strstr(got, "\nNo changes."));
}

static void collect(void *data, const char *text)
{
	g_string_append(data, text);
}

static RgPlan *two_nodes(void)
{
	static RgPlanChange nodes[2];
	RgPlan *plan = g_new0(RgPlan, 1);
	plan->changes = g_ptr_array_new();
	for (int i = 0; i < 2; i++) {
		nodes[i] = (RgPlanChange){.address = (char *)(uintptr_t) "t.node.a[0]",
			.group = (char *)(uintptr_t) "a",
			.action = RG_ACTION_CREATE};
		g_ptr_array_add(plan->changes, &nodes[i]);
	}
	return plan;
}

static char *progress_of(bool live, unsigned width)
{
	RgPlan *plan = two_nodes();
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(RgProgress) progress =
		rg_progress_new(plan, live, &(RgStyle){false, width}, collect, out);
	RgEvent start = {.type = RG_EVENT_START, .address = "t.node.a[0]", .pool = "a"};
	start.action = RG_ACTION_CREATE;
	RgEvent done = start;
	done.type = RG_EVENT_DONE;
	done.id = "i-1\033[2J";
	done.seconds = 3;
	rg_progress_event(progress, &start);
	rg_progress_event(progress, &done);
	rg_progress_finish(progress);
	g_ptr_array_unref(plan->changes);
	g_free(plan);
	return g_strdup(out->str);
}

static void test_progress(void)
{
	g_autofree char *log = progress_of(false, 80);
	g_assert_cmpstr(log, ==,
		"t.node.a[0]: Creating...\n"
		"t.node.a[0]: Creation complete after 3s [id=i-1\357\277\275[2J]\n");
	g_autofree char *live = progress_of(true, 80);
	g_assert_true(g_str_has_suffix(live, "1 of 2 done  a 1/2\n"));
	g_autofree char *narrow = progress_of(true, 12);
	g_assert_true(g_str_has_suffix(narrow, "  0s  1 of \n"));
}

/* What stands for nodes of other pools has a line of its own. */
static void test_a_line_of_progress_is_a_pool(void)
{
	json_auto_t *one = json_pack("[{s:s}]", "pool", "train");
	json_auto_t *both = json_pack("[{s:s}, {s:s}]", "pool", "head", "pool", "train");
	RgPlanChange change = {.name = (char *)(uintptr_t) "fleet"};
	g_assert_null(rg_plan_change_pool(&change));
	change.nodes = one;
	g_assert_cmpstr(rg_plan_change_pool(&change), ==, "train");
	change.nodes = both;
	g_assert_cmpstr(rg_plan_change_pool(&change), ==, "fleet");
	change.group = (char *)(uintptr_t) "a";
	g_assert_cmpstr(rg_plan_change_pool(&change), ==, "a");
}

static char *interrupt_of(bool live)
{
	RgPlan *plan = two_nodes();
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(RgProgress) progress =
		rg_progress_new(plan, live, &(RgStyle){false, 30}, collect, out);
	rg_progress_event(progress, &(RgEvent){.type = RG_EVENT_TIME});
	rg_progress_event(progress, &(RgEvent){.type = RG_EVENT_INTERRUPT,
					    .text = "Interrupted: waiting for requests in flight"});
	g_ptr_array_unref(plan->changes);
	g_free(plan);
	return g_strdup(out->str);
}

static void test_notice(void)
{
	g_autofree char *live = interrupt_of(true);
	g_assert_nonnull(strstr(live, "Interrupted: waiting for\nrequests in flight\n"));
	g_assert_true(g_str_has_prefix(live, "  0s  0 of 2 done"));
	g_autofree char *log = interrupt_of(false);
	g_assert_cmpstr(log, ==, "Interrupted: waiting for requests in flight\n");
}

static char *waiting_of(unsigned width)
{
	static const RgReadyPool pools[] = {{"head", 1, 0, 1, 0}, {"train", 4, 1, 2, 0}};
	RgPlan *plan = two_nodes();
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(RgProgress) progress =
		rg_progress_new(plan, true, &(RgStyle){false, width}, collect, out);
	RgEvent done = {.type = RG_EVENT_DONE, .address = "t.node.a[0]", .pool = "a"};
	done.action = RG_ACTION_CREATE;
	rg_progress_event(progress, &done);
	rg_progress_event(progress, &done);
	rg_progress_ready(progress, &(RgReadyEvent){.n = 2, .pools = pools});
	rg_progress_finish(progress);
	g_ptr_array_unref(plan->changes);
	g_free(plan);
	return g_strdup(out->str);
}

/* While it is redrawn it has one line; what stays has all pools. */
static void test_waiting_leaves_all_pools(void)
{
	g_autofree char *wide = waiting_of(120);
	g_assert_nonnull(strstr(wide, "2 of 2 done  a 2/2\n"));
	g_assert_true(g_str_has_suffix(wide,
		"  0s  Ray: head 1 of 1 joined, train 2 of 4 joined (1 booting, 1 pulling the "
		"image)\n"));
	g_autofree char *narrow = waiting_of(40);
	g_assert_nonnull(strstr(narrow, "  0s  Ray: 3 of 5 nodes joined\r"));
	g_assert_true(g_str_has_suffix(narrow, "image)\n"));
	g_assert_nonnull(strstr(narrow, "head 1 of 1 joined,"));
}

/* In a log: what changes, and once a minute that it still waits, and for how long. */
static void test_waiting_in_a_log(void)
{
	static const RgReadyPool pools[] = {{"w", 2, 0, 1, 0}};
	g_autoptr(GPtrArray) none = g_ptr_array_new();
	RgPlan plan = {.changes = none};
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(RgProgress) progress =
		rg_progress_new(&plan, false, &(RgStyle){false, 80}, collect, out);
	for (unsigned i = 0; i < 14; i++)
		rg_progress_ready(progress, &(RgReadyEvent){pools, 1, 10 * i, 1200 - 10 * i});
	g_assert_cmpstr(out->str, ==,
		"Ray: w 1 of 2 joined (1 booting)\n"
		"Ray: w 1 of 2 joined (1 booting); this can take up to 1140 s more\n"
		"Ray: w 1 of 2 joined (1 booting); this can take up to 1080 s more\n");
}

static const RgStyle dated = {.width = 80, .today = "2026-11-22"};

static void test_cost_marks(void)
{
	g_autoptr(RgSpend) spend = rg_spend_new(RG_SPEND_BY_POOL, NULL, 0, 3600);
	json_auto_t *lives = json_loads(
		"[{\"cluster\": \"c\", \"pool\": \"a\", \"began_s\": 1, \"ended_s\": null,"
		" \"pin\": {\"price_microusd_hour\": 1000000, \"price_date\": \"2025-11-01\","
		" \"price_quality\": \"derived\"}},"
		" {\"cluster\": \"c\", \"pool\": \"b\", \"began_s\": 1, \"ended_s\": null,"
		" \"pin\": {\"price_microusd_hour\": 2000000, \"price_date\": \"2025-12-01\"}}]",
		0, NULL);
	rg_spend_add(spend, lives);
	g_autofree char *marked = rg_render_cost(spend, 0, &dated);
	g_assert_nonnull(strstr(marked, "$1.00~*"));
	g_assert_nonnull(strstr(marked, "$2.00 "));
	g_assert_nonnull(strstr(marked, "$3.00~*"));
	g_assert_nonnull(strstr(marked, "\n~ derived from other prices; * older than a year\n"));
	g_autofree char *undated = rg_render_cost(spend, 0, &plain);
	g_assert_nonnull(strstr(undated, "$1.00~ "));
	g_assert_nonnull(strstr(undated, "\n~ derived from other prices\n"));
	json_auto_t *document = rg_render_cost_json(spend, 0);
	const json_t *total = json_object_get(document, "total");
	g_assert_cmpstr(rg_json_str(total, "oldest_price_date", ""), ==, "2025-11-01");
	g_assert_cmpstr(rg_json_str(total, "price_date", ""), ==, "2025-12-01");
	g_assert_cmpint(rg_json_int(total, "derived", 0), ==, 1);
}

static void test_fit_cost_marks(void)
{
	json_auto_t *fit = json_loads(
		"{\"cost\": {\"least\": {\"nodes\": 2, \"microusd_hour\": 3000000},"
		" \"most\": {\"nodes\": 2, \"microusd_hour\": 3000000}, \"derived\": 0,"
		" \"price_date\": \"2026-07-20\", \"oldest_price_date\": \"2024\", \"pools\": ["
		" {\"pool\": \"new\", \"least\": {\"nodes\": 1, \"microusd_hour\": 1000000},"
		" \"most\": {\"nodes\": 1, \"microusd_hour\": 1000000}, \"derived\": 0,"
		" \"oldest_price_date\": \"2026-07-20\"},"
		" {\"pool\": \"old\", \"least\": {\"nodes\": 1, \"microusd_hour\": 2000000},"
		" \"most\": {\"nodes\": 1, \"microusd_hour\": 2000000}, \"derived\": 0,"
		" \"oldest_price_date\": \"2024\"}]}}",
		0, NULL);
	g_autofree char *text = rg_render_fit(fit, &dated);
	g_assert_nonnull(strstr(text, "$1.00 "));
	g_assert_nonnull(strstr(text, "$2.00* "));
	g_assert_nonnull(strstr(text, "$3.00* "));
	g_assert_nonnull(strstr(text, "\n* older than a year\n"));
}

static void test_pool_marks(void)
{
	RgPlanPool pool = {.pool = (char[]){"a"},
		.price_date = (char[]){"2024-01-01"},
		.price_quality = (char[]){"derived"},
		.before.now = {.nodes = 1, .microusd_hour = 1000000},
		.after.now = {.nodes = 2, .microusd_hour = 2000000}};
	RgPriceMarks seen = {0};
	g_autofree char *grows = pool_cost(&pool, &seen, "2026-11-22");
	g_assert_cmpstr(grows, ==, "$1.00 -> $2.00~*");
	g_assert_true(seen.derived && seen.old);
	pool.after.now = (RgPlanSum){0};
	g_autofree char *ends = pool_cost(&pool, &seen, NULL);
	g_assert_cmpstr(ends, ==, "$1.00~ -> $0.00");
}

static void test_messages_of_others(void)
{
	/* libpq indents with tabs, an API server ends lines */
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgDiag *diag = rg_diags_error(
		diags, "state.unreachable", "admission webhook denied:\n\tno\ttoken");
	rg_diag_detail(diag, "PostgreSQL: connection refused\n\tIs the server\trunning?\r\n");
	rg_diag_hint(diag, "a\033[8mb");
	g_autofree char *got = rg_render_diags(diags, &plain);
	g_assert_cmpstr(got, ==,
		"\nError: admission webhook denied: no token [state.unreachable]\n"
		"  PostgreSQL: connection refused\n  Is the server running?\n  \n"
		"  hint: a\357\277\275[8mb\n");
}

static void test_only_our_escape_codes(void)
{
	g_autofree char *got = rg_render_printable(
		"\033[31mred\033[0m \033[8mhidden\033[0m \033[30mblack\033[47m\033[01m");
	g_assert_cmpstr(got, ==,
		"\033[31mred\033[0m \357\277\275[8mhidden\033[0m "
		"\357\277\275[30mblack\357\277\275[47m\357\277\275[01m");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/render/the-caret-stands-under-the-character", test_caret);
	g_test_add_func("/render/a-long-line-is-cut-around-the-caret", test_long_line);
	g_test_add_func("/render/a-secret-in-the-line-is-not-shown", test_secret);
	g_test_add_func("/render/a-line-break-forges-nothing", test_forged_line);
	g_test_add_func("/render/messages-of-others", test_messages_of_others);
	g_test_add_func("/render/only-our-escape-codes", test_only_our_escape_codes);
	g_test_add_func("/render/progress-on-and-off-a-terminal", test_progress);
	g_test_add_func("/render/progress-by-pool", test_a_line_of_progress_is_a_pool);
	g_test_add_func("/render/a-notice-breaks-between-words-on-a-terminal", test_notice);
	g_test_add_func("/render/waiting-leaves-all-pools", test_waiting_leaves_all_pools);
	g_test_add_func("/render/waiting-in-a-log", test_waiting_in_a_log);
	g_test_add_func("/render/cost-marks", test_cost_marks);
	g_test_add_func("/render/fit-cost-marks", test_fit_cost_marks);
	g_test_add_func("/render/pool-marks", test_pool_marks);
	return g_test_run();
}
