#include "render/report/findings.h"
#include "render/plan/lease.h"
#include "base/redact.h"
#include "render/text/paint.h"
#include <string.h>

bool rg_report_format_parse(const char *word, RgReportFormat *format)
{
	static const struct {
		const char *word;
		RgReportFormat format;
	} rows[] = {{"text", RG_REPORT_TEXT},
#define ROW(name, text) {text, RG_REPORT_##name},
		RG_REPORT_LIST(ROW)
#undef ROW
	};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		if (!g_str_equal(rows[i].word, word))
			continue;
		*format = rows[i].format;
		return true;
	}
	return false;
}

static void finding_free(gpointer data)
{
	Finding *finding = data;
	g_free(finding->rule);
	g_free(finding->subject);
	g_free(finding->message);
	g_free(finding->related_text);
	g_free(finding);
}

static char *safe(const char *text)
{
	g_autofree char *line = clean_message(text);
	return line ? rg_redact(line, strlen(line)) : NULL;
}

static Finding *add(GPtrArray *findings, RgSeverity severity, const char *rule, const char *subject,
	const char *message)
{
	Finding *finding = g_new0(Finding, 1);
	finding->severity = severity;
	finding->rule = g_strdup(rule);
	finding->subject = safe(subject);
	finding->message = safe(message);
	finding->count = 1;
	g_ptr_array_add(findings, finding);
	return finding;
}

char *related_phrase(const RgDiag *diag)
{
	if (!diag->related.line || !diag->related.file)
		return g_strdup("");
	return g_strdup_printf(" (%s: %s:%u)", diag->related_text ? diag->related_text : "see",
		diag->related.file, diag->related.line);
}

static void add_diags(GPtrArray *findings, const RgDiags *diags)
{
	rg_diags_foreach (diag, diags) {
		g_autofree char *related = related_phrase(diag);
		g_autofree char *text = g_strdup_printf("%s%s%s%s%s%s", diag->summary, related,
			diag->detail ? ": " : "", diag->detail ? diag->detail : "",
			diag->hint ? "; " : "", diag->hint ? diag->hint : "");
		g_strdelimit(text, "\n", ' ');
		Finding *finding = add(findings, diag->severity, diag->code, diag->address, text);
		finding->source = diag->source;
		if (!diag->related.line)
			continue;
		finding->related = diag->related;
		finding->related_text = safe(diag->related_text ? diag->related_text : "see");
	}
}

static const char *rule_of(const RgPlanChange *change)
{
	static const char *const rules[] = {[RG_ACTION_CREATE] = "plan.create",
		[RG_ACTION_UPDATE] = "plan.update",
		[RG_ACTION_REPLACE] = "plan.replace",
		[RG_ACTION_DELETE] = "plan.delete",
		[RG_ACTION_RECORD] = "plan.record",
		[RG_ACTION_FORGET] = "plan.forget",
		[RG_ACTION_RELEASE] = "plan.release",
		[RG_ACTION_STOP] = "plan.stop"};
	return rules[change->action];
}

static RgSeverity severity_of(const RgPlanChange *change)
{
	if (change->action == RG_ACTION_STOP)
		return RG_SEVERITY_ERROR;
	return change->action == RG_ACTION_DELETE || change->action == RG_ACTION_REPLACE
		       ? RG_SEVERITY_WARNING
		       : RG_SEVERITY_NOTE;
}

/* Nodes of a pool that change in the same way because of the same line. */
static bool is_like(const RgPlanChange *a, const RgPlanChange *b)
{
	return a->action == b->action && a->index >= 0 && b->index >= 0 &&
	       g_str_equal(a->kind, b->kind) && g_str_equal(a->name, b->name) &&
	       g_strcmp0(a->reason, b->reason) == 0 && a->source.line == b->source.line;
}

static void add_import(GPtrArray *findings, const RgPlanChange *change)
{
	g_autofree char *message = g_strdup_printf("%s will be imported (id=%s)", change->address,
		rg_json_str(change->import, "id", "?"));
	const json_t *source = json_object_get(change->import, "source");
	const char *file = rg_json_str(source, "file", NULL);
	Finding *finding = add(findings, RG_SEVERITY_NOTE, "plan.import", change->address, message);
	if (file)
		finding->source = (RgSource){.file = g_intern_string(file),
			.line = (unsigned)rg_json_int(source, "line", 0),
			.column = (unsigned)rg_json_int(source, "column", 0)};
}

static void add_plan(GPtrArray *findings, const RgPlan *plan)
{
	for (guint i = 0, end; i < plan->changes->len; i = end) {
		const RgPlanChange *change = plan->changes->pdata[i];
		end = i + 1;
		if (change->import && rg_plan_change_shows(change))
			add_import(findings, change);
		if (change->action == RG_ACTION_NONE)
			continue;
		while (end < plan->changes->len && is_like(change, plan->changes->pdata[end]))
			end++;
		g_autofree char *more =
			end - i > 1 ? g_strdup_printf(" and %u more like it", end - i - 1) : NULL;
		g_autofree char *fields = spec_changes_phrase(change);
		g_autofree char *message = g_strdup_printf("%s%s %s%s%s%s%s", change->address,
			more ? more : "", change_phrase(change), change->note ? ": " : "",
			change->note ? change->note : "", fields ? ", because of " : "",
			fields ? fields : "");
		Finding *finding = add(
			findings, severity_of(change), rule_of(change), change->address, message);
		finding->source = change->source;
		finding->count = end - i;
	}
}

/* A reviewer must not overlook that protection is removed. */
static void add_protection(GPtrArray *findings, const RgPlan *plan)
{
	rg_json_foreach (item, plan->protection) {
		bool after = json_is_true(json_object_get(item, "after"));
		g_autofree char *message = g_strdup_printf("%s %s", rg_json_str(item, "pool", "?"),
			after ? "will be protected: protect: false -> true"
			      : "will no longer be protected: protect: true -> false");
		add(findings, after ? RG_SEVERITY_NOTE : RG_SEVERITY_WARNING, "plan.protection",
			rg_json_str(item, "pool", "?"), message);
	}
}

static void add_renames(GPtrArray *findings, const RgPlan *plan)
{
	rg_json_foreach (item, plan->renames) {
		const char *to = rg_json_str(item, "to", "?");
		g_autofree char *message =
			g_strdup_printf("%s was pool %s", to, rg_json_str(item, "from", "?"));
		add(findings, RG_SEVERITY_NOTE, "plan.renamed", to, message);
	}
}

static void add_leases(GPtrArray *findings, const RgPlan *plan)
{
	rg_json_foreach (lease, plan->leases) {
		const char *pool = rg_json_str(lease, "pool", plan->cluster);
		g_autofree char *phrase = lease_phrase(lease);
		g_autofree char *message = g_strdup_printf("%s: %s", pool, phrase);
		if (rg_plan_lease_changes(lease))
			add(findings, RG_SEVERITY_NOTE, "plan.lease", pool, message);
	}
}

static void add_drift(GPtrArray *findings, const RgDrift *drift)
{
	static const char *const rules[] = {
		"drift.missing", "drift.changed", "drift.unmanaged", "drift.unhealthy"};
	rg_ptr_foreach (const RgDriftItem, item, drift->items) {
		g_autofree char *name = drift_name(item), *phrase = drift_phrase(item);
		g_autofree char *message = g_strdup_printf("%s %s%s%s%s", name, phrase,
			item->address && item->id ? " (" : "",
			item->address && item->id ? item->id : "",
			item->address && item->id ? ")" : "");
		Finding *finding =
			add(findings, RG_SEVERITY_WARNING, rules[item->type], name, message);
		finding->source = item->source;
	}
}

static int by_severity(gconstpointer a, gconstpointer b)
{
	const Finding *x = *(Finding *const *)a, *y = *(Finding *const *)b;
	return (x->severity > y->severity) - (x->severity < y->severity);
}

/* What was added since `from` belongs to that cluster; in a report on several, its name comes
 * first. */
static void mark(GPtrArray *findings, guint from, const RgReports *reports, const RgReport *report)
{
	for (guint i = from; i < findings->len; i++) {
		Finding *finding = findings->pdata[i];
		finding->cluster = report_cluster(report);
		finding->file = report->plan ? report->plan->spec_file : report->spec;
		if (!reports->several || g_str_equal(finding->cluster, "?"))
			continue;
		g_autofree char *plain = finding->message, *name = safe(finding->cluster);
		finding->message = g_strdup_printf("%s: %s", name, plain);
	}
}

GPtrArray *findings_of(const RgReports *reports)
{
	GPtrArray *findings = g_ptr_array_new_with_free_func(finding_free);
	const RgReport nobody = {0};
	if (reports->diags)
		add_diags(findings, reports->diags);
	mark(findings, 0, reports, &nobody);
	for (size_t i = 0; i < reports->n; i++) {
		const RgReport *report = &reports->items[i];
		guint from = findings->len;
		if (report->diags)
			add_diags(findings, report->diags);
		if (report->plan)
			add_plan(findings, report->plan);
		if (report->plan)
			add_protection(findings, report->plan);
		if (report->plan)
			add_renames(findings, report->plan);
		if (report->plan)
			add_leases(findings, report->plan);
		if (report->drift)
			add_drift(findings, report->drift);
		mark(findings, from, reports, report);
	}
	g_ptr_array_sort(findings, by_severity); /* stable: otherwise in the order of the plan */
	return findings;
}

const char *report_cluster(const RgReport *report)
{
	const char *name = report->plan	   ? report->plan->cluster
			   : report->drift ? report->drift->cluster
					   : report->cluster;
	return name ? name : "?";
}

static char *drift_headline(const RgDrift *drift)
{
	if (!drift->items->len && drift->unread)
		return g_strdup_printf(
			"%u resource%s of %u could not be read: whether there is drift is unknown.",
			drift->unread, drift->unread == 1 ? "" : "s",
			drift->checked + drift->unread);
	if (!drift->items->len)
		return g_strdup_printf("No drift. %u resources checked.", drift->checked);
	return g_strdup_printf("Drift: %u missing, %u changed, %u unmanaged; %u resources checked.",
		drift_count(drift, RG_DRIFT_MISSING), drift_count(drift, RG_DRIFT_CHANGED),
		drift_count(drift, RG_DRIFT_UNMANAGED), drift->checked);
}

char *report_headline(const RgReports *reports, const RgReport *report)
{
	if (report->drift)
		return drift_headline(report->drift);
	if (report->plan && !report->plan->errored)
		return rg_render_plan_summary(report->plan);
	return g_strdup_printf("raygpu %s failed: %zu error%s.", reports->command,
		rg_diags_count_of(report->diags, RG_SEVERITY_ERROR),
		rg_diags_count_of(report->diags, RG_SEVERITY_ERROR) == 1 ? "" : "s");
}
