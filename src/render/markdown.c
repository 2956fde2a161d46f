#include "render/findings.h"
#include "render/paint.h"
#include "base/money.h"
#include <string.h>

/* A comment for a pull or merge request. Words from outside are escaped: they make no link,
 * mention, table cell or heading, and can't end the fence of the text. */

static void add_escaped(GString *to, const char *text)
{
	g_autofree char *line = clean(text ? text : "");
	for (const char *at = line; *at; at++) {
		if (*at == '@') /* a backslash does not keep GitHub from telling that person */
			g_string_append(to, "&#64;");
		else if (strchr("\\`*_{}[]()<>#+!|~&", *at))
			g_string_append_printf(to, "\\%c", *at);
		else
			g_string_append_c(to, *at);
	}
}

static void add_cell(GString *to, const char *text)
{
	add_escaped(to, text);
	g_string_append(to, " | ");
}

static void add_numbers(GString *to, const char *unit, unsigned before, unsigned after)
{
	const char *space = *unit ? " " : "";
	g_autofree char *cell =
		before == after ? g_strdup_printf("%s%s%u", unit, space, after)
				: g_strdup_printf("%s%s%u → %u", unit, space, before, after);
	add_cell(to, cell);
}

static void add_table(GString *to, const RgPlan *plan)
{
	if (!plan->pools->len)
		return;
	g_string_append(to, "\n| Pool | Type | Nodes | GPUs | Per hour |\n"
			    "| --- | --- | --- | --- | --- |\n");
	for (guint i = 0; i < plan->pools->len; i++) {
		const RgPlanPool *pool = plan->pools->pdata[i];
		g_autofree char *cost = rg_money_format(pool->microusd_hour_after);
		g_autofree char *whole = pool->unpriced_after ? g_strdup_printf("%s + %u unpriced",
									cost, pool->unpriced_after)
							      : g_strdup(cost);
		g_string_append(to, "| ");
		add_cell(to, pool->pool);
		add_cell(to, pool->instance_type);
		add_numbers(to, "", pool->nodes_before, pool->nodes_after);
		if (pool->accelerator)
			add_numbers(to, pool->accelerator, pool->gpus_before, pool->gpus_after);
		else
			add_cell(to, "-");
		add_escaped(to, whole);
		g_string_append(to, " |\n");
	}
}

/* What an approver must not overlook, and what failed; the rest stands in the fold. */
static void add_findings(GString *to, const RgReport *report, GPtrArray *findings)
{
	static const char *const words[] = {"**Error:** ", "**Warning:** "};
	unsigned shown = 0, total = 0;
	for (guint i = 0; i < findings->len; i++) {
		const Finding *finding = findings->pdata[i];
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

/* A line of the text with its sign in column 0, where the "diff" colouring looks; "~" is "!". */
static void add_signed(GString *to, const char *line)
{
	size_t blanks = strspn(line, " ");
	const char *word = line + blanks;
	char sign = g_str_has_prefix(word, "-/+ ") || g_str_has_prefix(word, "~ ") ? '!'
		    : g_str_has_prefix(word, "+ ")				   ? '+'
		    : g_str_has_prefix(word, "- ")				   ? '-'
										   : ' ';
	if (sign == ' ')
		g_string_append_printf(to, "%s\n", line);
	else
		g_string_append_printf(to, "%c%s\n", sign, line);
}

/* Longer than any run of backticks in the text, which thereby can't end it. */
static char *fence_for(const char *text)
{
	size_t longest = 2;
	for (const char *at = text; *at; at++) {
		size_t run = strspn(at, "`");
		longest = MAX(longest, run);
		at += run ? run - 1 : 0;
	}
	return g_strnfill(longest + 1, '`');
}

static void add_fold(GString *to, const RgReport *report, size_t bytes)
{
	const RgStyle plain = {false, 100};
	g_autofree char *text = report->drift  ? rg_render_drift(report->drift, &plain)
				: report->plan ? rg_render_plan(report->plan, &plain)
					       : rg_render_diags(report->diags, &plain);
	g_autofree char *fence = fence_for(text);
	g_autoptr(GString) inner = g_string_new(NULL);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	guint n = g_strv_length(lines), i = 0;
	size_t frame = 2 * strlen(fence) + 200; /* the words around the lines, below */
	for (; i < n; i++) {
		gsize before = inner->len;
		add_signed(inner, lines[i]);
		if (to->len + inner->len + frame > bytes) {
			g_string_truncate(inner, before);
			break;
		}
	}
	g_string_append_printf(to,
		"\n<details><summary>All of it</summary>\n\n%sdiff\n%s%s\n\n</details>\n", fence,
		inner->str, fence);
	if (i < n)
		g_string_append_printf(to, "\n%u more lines stand in the job's log.\n", n - i);
}

char *rg_report_markdown(const RgReport *report, size_t bytes)
{
	g_autoptr(GPtrArray) findings = findings_of(report);
	g_autofree char *headline = report_headline(report);
	g_autofree char *marker = clean(report_cluster(report));
	GString *out = g_string_new(NULL);
	g_string_append_printf(out, "<!-- raygpu:%s:%s -->\n## raygpu %s: ", report->command,
		g_strdelimit(marker, "<>-", '_'), report->command);
	add_escaped(out, report_cluster(report));
	g_string_append_printf(out, "\n\n**%s**\n", headline);
	if (report->plan)
		add_table(out, report->plan);
	add_findings(out, report, findings);
	if (out->len + 1000 > bytes) { /* 200 pools with names as long as they may be */
		g_string_truncate(out, bytes / 2);
		g_autofree char *valid = g_utf8_make_valid(out->str, -1);
		g_string_assign(out, valid);
		g_string_append(out, "\n\nThe rest stands in the job's log.\n");
	}
	add_fold(out, report, bytes);
	return text_finish(out, &(RgStyle){0});
}
