#include "render/report/findings.h"
#include "render/text/paint.h"
#include "base/money.h"
#include <string.h>

/* A comment for a pull or merge request. Text from outside is escaped: it cannot create a link,
 * mention, table cell or heading, or end the fence of the text. */

/* What becomes a link or a mention without any mark-up, even after a backslash. */
static bool links_itself(const char *word)
{
	g_autofree char *lower = g_ascii_strdown(word, -1);
	return strchr(word, '@') || strstr(lower, "://") || strstr(lower, "www.");
}

static char *fence_for(const char *text, size_t least);

static void add_word(GString *to, const char *word)
{
	if (links_itself(word)) {
		/* Inside code there are no links and no mentions; "|" would still end a table
		 * cell. */
		g_autofree char *fence = fence_for(word, 1);
		g_auto(GStrv) parts = g_strsplit(word, "|", -1);
		g_autofree char *inner = g_strjoinv("\\|", parts);
		const char *blank = strchr(word, '`') ? " " : "";
		g_string_append_printf(to, "%s%s%s%s%s", fence, blank, inner, blank, fence);
		return;
	}
	for (const char *at = word; *at; at++) {
		if (strchr("\\`*_{}[]()<>#+!|~&", *at))
			g_string_append_c(to, '\\');
		g_string_append_c(to, *at);
	}
}

static void add_escaped(GString *to, const char *text)
{
	g_autofree char *line = clean(text ? text : "");
	g_auto(GStrv) words = g_strsplit(line, " ", -1);
	for (guint i = 0; words[i]; i++) {
		g_string_append(to, i ? " " : "");
		add_word(to, words[i]);
	}
}

static void add_cell(GString *to, const char *text)
{
	add_escaped(to, text);
	g_string_append(to, " | ");
}

/* "a -> b" */
static void add_change(GString *to, const char *text)
{
	g_auto(GStrv) sides = g_strsplit(text, " -> ", 2);
	g_autofree char *arrow = g_strjoinv(" → ", sides);
	add_cell(to, arrow);
}

static void add_numbers(GString *to, const char *unit, unsigned before, unsigned after)
{
	const char *space = *unit ? " " : "";
	g_autofree char *cell =
		before == after ? g_strdup_printf("%s%s%u", unit, space, after)
				: g_strdup_printf("%s%s%u → %u", unit, space, before, after);
	add_cell(to, cell);
}

static void add_legend(GString *to, const RgPriceMarks *seen)
{
	const char *legend = rg_price_legend(seen);
	if (!legend)
		return;
	g_string_append_c(to, '\n');
	add_escaped(to, legend);
	g_string_append_c(to, '\n');
}

static void add_table(GString *to, const RgPlan *plan, const char *today)
{
	if (!plan->pools->len)
		return;
	g_string_append(to, "\n| Pool | Type | Market | Nodes | GPUs | Per hour |\n"
			    "| --- | --- | --- | --- | --- | --- |\n");
	RgPriceMarks seen = {0};
	rg_ptr_foreach (const RgPlanPool, pool, plan->pools) {
		const RgPlanSum *was = &pool->before.now, *is = &pool->after.now;
		g_autofree char *cost = pool_cost(pool, &seen, today);
		g_autofree char *nodes = nodes_change(pool);
		g_autofree char *type =
			word_change(pool->instance_type_before, pool->instance_type);
		g_autofree char *market = word_change(pool->market_before, pool->market);
		g_string_append(to, "| ");
		add_cell(to, pool->pool);
		add_change(to, type);
		add_change(to, market);
		add_change(to, nodes);
		if (pool->accelerator)
			add_numbers(to, pool->accelerator, was->gpus, is->gpus);
		else
			add_cell(to, "-");
		add_change(to, cost);
		g_string_append_c(to, '\n');
	}
	add_legend(to, &seen);
}

static void add_money(GString *to, const RgPlan *plan)
{
	if (!plan->pools->len)
		return;
	const RgPlanSide all = rg_plan_sum(plan, NULL, true);
	const RgPlanSum before = rg_plan_sum(plan, NULL, false).now, after = all.now;
	g_autofree char *hour = money_change(&before, &after, 1);
	g_autofree char *month = money_change(&before, &after, RG_MONTH_HOURS);
	g_autofree char *carbon =
		json_object_get(plan->carbon, "source") ? carbon_change(&before, &after) : NULL;
	g_autoptr(GString) line = g_string_new(NULL);
	bool lacks = rg_sums_lack_prices(&before, &after);
	if (lacks)
		g_string_append(line, "no price is known for these nodes");
	else
		g_string_append_printf(
			line, "%s per hour, %s per month of %d hours", hour, month, RG_MONTH_HOURS);
	if (!lacks && rg_plan_is_range(&all)) {
		g_autofree char *most = rg_money_format(all.most.microusd_hour);
		g_string_append_printf(line, "; with elastic pools at their maximum %s%s per hour",
			all.most.unpriced ? "at least " : "", most);
	}
	g_autofree char *forgotten = forgotten_text(plan);
	if (forgotten)
		g_string_append_printf(line, "; %s", forgotten);
	if (carbon)
		g_string_append_printf(line, "; %s", carbon);
	if (plan->override)
		g_string_append_printf(line, "; budget overridden: %s", plan->override);
	g_string_replace(line, "->", "→", 0);
	g_string_append(to, "\nCost: ");
	add_escaped(to, line->str);
	g_string_append_c(to, '\n');
}

static void add_new_nodes(GString *to, const RgPlan *plan)
{
	g_autoptr(GPtrArray) lines = runs_lines(plan);
	for (guint i = 0; i < lines->len; i++) {
		g_string_append_c(to, '\n');
		add_escaped(to, lines->pdata[i]);
		g_string_append_c(to, '\n');
	}
}

static void add_disabled_pools(GString *to, const RgPlan *plan)
{
	for (guint i = 0; i < plan->pools->len; i++) {
		g_autofree char *line = disabled_text(plan->pools->pdata[i]);
		if (!line)
			continue;
		g_string_append_c(to, '\n');
		add_escaped(to, line);
		g_string_append_c(to, '\n');
	}
}

/* Why nodes are replaced, in terms of the spec. */
static void add_reasons(GString *to, const RgPlan *plan)
{
	g_autoptr(GPtrArray) lines = spec_change_lines(plan, true);
	if (lines->len)
		g_string_append(to, "\nChanged in the spec:\n\n");
	for (guint i = 0; i < lines->len && i < 20; i++) {
		g_autoptr(GString) line = g_string_new(lines->pdata[i]);
		g_string_replace(line, "->", "→", 0);
		g_string_append(to, "- ");
		add_escaped(to, line->str);
		g_string_append_c(to, '\n');
	}
	if (lines->len > 20)
		g_string_append_printf(to, "- and %u more\n", lines->len - 20);
}

static void add_losses(GString *to, const RgPlan *plan)
{
	bool head = false;
	const char *label;
	g_autofree char *destroyed = destroyed_nodes(plan, &label);
	g_autofree char *replaced = replaced_nodes(plan, &head);
	const char *const labels[] = {label, "Replaced"}, *const nodes[] = {destroyed, replaced};
	for (guint i = 0; i < G_N_ELEMENTS(labels); i++) {
		if (!*nodes[i])
			continue;
		g_string_append_printf(to, "\n**%s:** ", labels[i]);
		add_escaped(to, nodes[i]);
		g_string_append_c(to, '\n');
	}
}

/* What an approver must not overlook, and what failed; the rest is folded. */
static void add_findings(GString *to, GPtrArray *findings)
{
	static const char *const words[] = {"**Error:** ", "**Warning:** "};
	unsigned shown = 0, total = 0;
	rg_ptr_foreach (const Finding, finding, findings) {
		if (finding->severity > RG_SEVERITY_WARNING)
			continue;
		if (total++ >= 20)
			continue;
		g_string_append(to, shown++ ? "- " : "\n- ");
		g_string_append(to, words[finding->severity]);
		g_autofree char *brief = g_utf8_strlen(finding->message, -1) > 300
						 ? g_utf8_substring(finding->message, 0, 300)
						 : g_strdup(finding->message);
		add_escaped(to, brief);
		g_string_append_c(to, '\n');
	}
	if (total > shown)
		g_string_append_printf(to, "- and %u more\n", total - shown);
}

/* Longer than any run of backticks in the text, so the text cannot end it. */
static char *fence_for(const char *text, size_t least)
{
	size_t longest = least - 1;
	for (const char *at = text; *at; at++) {
		size_t run = strspn(at, "`");
		longest = MAX(longest, run);
		at += run ? run - 1 : 0;
	}
	return g_strnfill(longest + 1, '`');
}

/* `bytes`: the maximum length of all of `to` afterwards. */
static void add_fold(GString *to, const RgReport *report, const RgStyle *style, const char *summary,
	size_t bytes)
{
	g_autofree char *text = report->drift  ? rg_render_drift(report->drift, style)
				: report->plan ? rg_render_plan(report->plan, style)
					       : rg_render_diags(report->diags, style);
	g_autofree char *fence = fence_for(text, 3);
	g_autoptr(GString) inner = g_string_new(NULL);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	guint n = g_strv_length(lines), i = 0;
	/* size of the text around the lines, below */
	size_t frame = 2 * strlen(fence) + strlen(summary) + 200;
	for (; i < n; i++) {
		gsize before = inner->len;
		/* A line of the text with its sign in column 0, where the "diff" highlighting
		 * expects it; "~" is "!". */
		size_t blanks = strspn(lines[i], " ");
		const char *word = lines[i] + blanks;
		char sign = g_str_has_prefix(word, "-/+ ") || g_str_has_prefix(word, "~ ") ? '!'
			    : g_str_has_prefix(word, "+ ")				   ? '+'
			    : g_str_has_prefix(word, "- ")				   ? '-'
											   : ' ';
		if (sign == ' ')
			g_string_append_printf(inner, "%s\n", lines[i]);
		else
			g_string_append_printf(inner, "%c%s\n", sign, lines[i]);
		if (to->len + inner->len + frame > bytes) {
			g_string_truncate(inner, before);
			break;
		}
	}
	g_string_append_printf(to,
		"\n<details><summary>%s</summary>\n\n%sdiff\n%s%s\n\n</details>\n", summary, fence,
		inner->str, fence);
	if (i < n)
		g_string_append_printf(to, "\n%u more lines are in the job's log.\n", n - i);
}

static void cut(GString *to, size_t bytes)
{
	g_string_truncate(to, bytes);
	g_autofree char *valid = g_utf8_make_valid(to->str, -1);
	g_string_assign(to, valid);
	g_string_append(to, "\n\nThe rest is in the job's log.\n");
}

static char *one(const RgReports *reports, size_t bytes)
{
	const RgReport *report = &reports->items[0];
	g_autoptr(GPtrArray) findings = findings_of(reports);
	const RgStyle style = {.width = 100, .today = reports->today};
	g_autofree char *headline = report_headline(reports, report);
	g_autofree char *marker = clean(report_cluster(report));
	GString *out = g_string_new(NULL);
	g_string_append_printf(out, "<!-- raygpu:%s:%s -->\n## raygpu %s", reports->command,
		g_strdelimit(marker, "<>-", '_'), reports->command);
	const char *known =
		g_str_equal(report_cluster(report), "?") ? NULL : report_cluster(report);
	const char *title = known ? known : report->spec;
	g_string_append(out, title ? ": " : "");
	add_escaped(out, title);
	g_string_append_printf(out, "\n\n**%s**\n", headline);
	if (report->plan && !rg_plan_is_noop(report->plan)) {
		add_losses(out, report->plan);
		add_table(out, report->plan, reports->today);
		add_money(out, report->plan);
		add_new_nodes(out, report->plan);
		add_disabled_pools(out, report->plan);
		add_reasons(out, report->plan);
	}
	add_findings(out, findings);
	if (out->len + 1000 > bytes) /* 200 pools with the longest possible names */
		cut(out, bytes / 2);
	if (!report->plan || !rg_plan_is_noop(report->plan) || rg_plan_left(report->plan))
		add_fold(out, report, &style, "Full plan", bytes);
	return text_finish(out, &(RgStyle){0});
}

/* ---- several clusters */

static void markdown_add_row(
	GString *to, const RgReports *reports, const RgReport *report, RgPriceMarks *seen)
{
	Tally tally = {0};
	tally_add(&tally, report);
	g_autofree char *cost = tally_cost(&tally, " → ", seen, reports->today);
	g_autofree char *counts = g_strdup_printf("%u | %u | %u | ", tally.add + tally.replace,
		tally.change, tally.destroy + tally.replace);
	bool known = report->plan || report->drift;
	g_string_append(to, "| ");
	add_cell(to, report_cluster(report));
	g_string_append(to, known ? counts : "- | - | - | ");
	if (!g_str_equal(reports->command, "drift") && known) {
		add_numbers(to, "", tally.gpus_before, tally.gpus_after);
		add_cell(to, cost);
	} else if (!g_str_equal(reports->command, "drift"))
		g_string_append(to, "- | - | ");
	g_string_append_printf(to, "%s |\n", report_status(report));
}

/* Clusters without content come last, and are dropped first if there is no room. */
static void add_clusters(GString *to, const RgReports *reports, size_t bytes)
{
	size_t left = 0;
	RgPriceMarks seen = {0};
	if (!reports->n)
		return;
	g_string_append(
		to, g_str_equal(reports->command, "drift")
			    ? "\n| Cluster | Missing | Changed | Unmanaged | Status |\n"
			      "| --- | --- | --- | --- | --- |\n"
			    : "\n| Cluster | Add | Change | Destroy | GPUs | Per hour | Status |\n"
			      "| --- | --- | --- | --- | --- | --- | --- |\n");
	for (int quiet = 0; quiet < 2; quiet++) {
		for (size_t i = 0; i < reports->n; i++) {
			const RgReport *report = &reports->items[i];
			if (g_str_has_prefix(report_status(report), "no ") != quiet)
				continue;
			if (to->len < bytes)
				markdown_add_row(to, reports, report, &seen);
			else
				left++;
		}
	}
	add_legend(to, &seen);
	if (left)
		g_string_append_printf(to, "\n%zu more clusters are in the job's log.\n", left);
}

#define FOLD_LEAST 600 /* minimum useful size of a fold */

/* Each with content gets an equal part of the remaining room. */
static void add_folds(GString *to, const RgReports *reports, size_t bytes)
{
	const RgStyle style = {.width = 100, .today = reports->today};
	size_t folds = 0, missed = 0;
	for (size_t i = 0; i < reports->n; i++)
		folds += !g_str_has_prefix(report_status(&reports->items[i]), "no");
	for (size_t i = 0; folds > 0 && i < reports->n; i++) {
		const RgReport *report = &reports->items[i];
		if (g_str_has_prefix(report_status(report), "no"))
			continue;
		size_t room = bytes > to->len ? (bytes - to->len) / folds : 0;
		folds--;
		g_autofree char *headline = report_headline(reports, report);
		g_autoptr(GString) summary = g_string_new(NULL);
		/* A name inside <summary>, where Markdown is not parsed. */
		g_autofree char *line = clean(report_cluster(report));
		g_autofree char *escaped = g_markup_escape_text(line, -1);
		bool code = links_itself(line);
		g_string_append_printf(summary, code ? "<code>%s</code>" : "%s", escaped);
		g_string_append_printf(summary, ": %s", headline);
		if (room < FOLD_LEAST + summary->len)
			missed++;
		else
			add_fold(to, report, &style, summary->str, to->len + room);
	}
	if (missed)
		g_string_append_printf(
			to, "\n%zu more clusters' texts are in the job's log.\n", missed);
}

static char *all(const RgReports *reports, size_t bytes)
{
	g_autoptr(GPtrArray) findings = findings_of(reports);
	g_autofree char *headline = reports_headline(reports);
	GString *out = g_string_new(NULL);
	g_string_append_printf(out, "<!-- raygpu:%s:* -->\n## raygpu %s\n\n**%s**\n",
		reports->command, reports->command, headline);
	add_clusters(out, reports, bytes / 2);
	add_findings(out, findings);
	if (out->len + 1000 > bytes)
		cut(out, bytes / 2);
	add_folds(out, reports, bytes - 200); /* the text about those that did not fit */
	return text_finish(out, &(RgStyle){0});
}

char *rg_report_markdown(const RgReports *reports, size_t bytes)
{
	return reports->several ? all(reports, bytes) : one(reports, bytes);
}
