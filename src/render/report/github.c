#include "render/report/findings.h"
#include "base/disarm.h"
#include <string.h>

/* GitHub's workflow commands: "::error file=F,line=L,col=C,title=T::MESSAGE" with %, CR and LF
 * escaped everywhere, and : and , in properties too. A step shows 10 annotations of a kind and
 * silently drops the rest (github.com/orgs/community/discussions/26680), so the tenth says how many
 * there are. */

#define OF_A_KIND 10

static void add_escaped(GString *to, const char *text, bool property)
{
	for (const char *at = text; *at; at++) {
		if (strchr("%\r\n", *at) || (property && strchr(":,", *at)))
			g_string_append_printf(to, "%%%02X", (unsigned)(guchar)*at);
		else
			g_string_append_c(to, *at);
	}
}

static void add_property(GString *to, const char *name, const char *value)
{
	g_string_append_printf(to, "%s%s=", to->str[to->len - 1] == ' ' ? "" : ",", name);
	add_escaped(to, value, true);
}

static void add_annotation(GString *to, const char *kind, const Finding *finding)
{
	g_string_append_printf(to, "::%s ", kind);
	if (finding->source.line && finding->source.file) {
		g_autofree char *line = g_strdup_printf("%u", finding->source.line);
		g_autofree char *column = g_strdup_printf("%u", MAX(finding->source.column, 1));
		add_property(to, "file", finding->source.file);
		add_property(to, "line", line);
		add_property(to, "col", column);
	}
	g_autofree char *title = g_strdup_printf("raygpu %s", finding->rule);
	add_property(to, "title", title);
	g_string_append(to, "::");
	g_autofree char *message = rg_disarm(finding->message);
	add_escaped(to, message, false);
	g_string_append_c(to, '\n');
}

static void add_kind(GString *to, const char *kind, RgSeverity severity, GPtrArray *findings)
{
	guint total = 0, shown = 0;
	for (guint i = 0; i < findings->len; i++)
		total += ((Finding *)findings->pdata[i])->severity == severity;
	guint limit = total > OF_A_KIND ? OF_A_KIND - 1 : total;
	for (guint i = 0; i < findings->len && shown < limit; i++) {
		const Finding *finding = findings->pdata[i];
		if (finding->severity != severity)
			continue;
		add_annotation(to, kind, finding);
		shown++;
	}
	if (total > limit)
		g_string_append_printf(to,
			"::%s title=raygpu::%u more of this kind; the step's log has all of them\n",
			kind, total - limit);
}

static void add_body(GString *to, const RgReport *report, bool headed, const RgStyle *plain)
{
	g_autofree char *heading = headed ? rg_report_heading(report, plain) : g_strdup("");
	g_autofree char *diags = rg_render_diags(report->diags, plain);
	g_autofree char *body = report->drift  ? rg_render_drift(report->drift, plain)
				: report->plan ? rg_render_plan(report->plan, plain)
					       : g_strdup("");
	g_string_append_printf(to, "%s%s%s", heading, body, diags);
}

char *rg_report_github(const RgReports *reports)
{
	g_autoptr(GPtrArray) findings = findings_of(reports);
	GString *out = g_string_new(NULL);
	/* The log's text between stop-commands: a name in it cannot send commands to the runner.
	 * The word that ends it is derived from the text itself, so the text cannot contain it. */
	const RgStyle plain = {.width = 100, .today = reports->today};
	g_autoptr(GString) text = g_string_new(NULL);
	for (size_t i = 0; i < reports->n; i++)
		add_body(text, &reports->items[i], reports->several, &plain);
	if (reports->several) {
		g_autofree char *overview = rg_report_overview(reports, &plain);
		g_autofree char *diags =
			reports->diags ? rg_render_diags(reports->diags, &plain) : g_strdup("");
		g_string_append_printf(text, "%s%s", overview, diags);
	}
	g_autofree char *word = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text->str, -1);
	g_string_append_printf(out, "::stop-commands::%s\n%s\n::%s::\n", word, text->str, word);
	add_kind(out, "error", RG_SEVERITY_ERROR, findings);
	add_kind(out, "warning", RG_SEVERITY_WARNING, findings);
	add_kind(out, "notice", RG_SEVERITY_NOTE, findings);
	return g_string_free(out, FALSE);
}
