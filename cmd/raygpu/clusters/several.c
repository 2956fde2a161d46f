#include "print/stream.h"
#include "config.h"
#include "base/money.h"
#include "resource/nodes.h"
#include <stdio.h>

/* plan and drift over several clusters: one after the other, each with its own diagnostics, so that
 * one that fails does not stop the others; then one report. */

int worst_exit_code(int a, int b)
{
	/* the order of importance for a pipeline; 2 is not a failure */
	static const int order[] = {EXIT_INTERRUPTED, EXIT_PARTIAL, EXIT_ERROR, EXIT_USAGE, 7, 8, 9,
		5, EXIT_STALE, EXIT_CHANGES, EXIT_FINE};
	for (size_t i = 0; i < G_N_ELEMENTS(order); i++) {
		if (a == order[i] || b == order[i])
			return order[i];
	}
	return EXIT_ERROR;
}

void tell_turn(Context *context, size_t i, size_t n, const char *cluster, const char *spec)
{
	g_autofree char *file = rg_render_name(spec);
	g_autofree char *line = g_strdup_printf("[%zu/%zu] %s%s%s%s\n", i + 1, n,
		cluster ? cluster : file, cluster && file ? " (" : "", cluster && file ? file : "",
		cluster && file ? ")" : "");
	stream_cluster(context, cluster);
	err_text(context, line);
}

static void add_running(RgRemoved *removed, const json_t *pin, unsigned nodes)
{
	int64_t price = rg_json_int(pin, "price_microusd_hour", RG_MONEY_UNKNOWN);
	if (price == RG_MONEY_UNKNOWN) {
		removed->unpriced += nodes;
		return;
	}
	removed->microusd_hour += price * nodes;
	rg_price_basis_add(&removed->basis, rg_json_str(pin, "price_quality", NULL),
		rg_json_str(pin, "price_date", NULL));
}

/* Clusters without a spec that the state still records. */
static RgRemoved *removed_of(Context *context, const RgSpecFile *file)
{
	g_autoptr(RgSnapshot) snapshot =
		rg_store_load(context->store, file->cluster, context->diags);
	RgRemoved *removed = g_new0(RgRemoved, 1);
	*removed = (RgRemoved){.cluster = file->cluster, .spec = file->path};
	for (size_t i = 0; snapshot && i < rg_resource_set_size(snapshot->recorded); i++) {
		const RgResource *resource = rg_resource_set_get(snapshot->recorded, i);
		for (size_t n = 0; n < rg_nodes_pools(resource, NULL); n++) {
			const RgPoolNodes nodes = rg_nodes_get(resource, n);
			add_running(removed, nodes.pin, rg_nodes_now(&nodes, NULL));
		}
		removed->recorded++;
	}
	return removed;
}

static void tell_removed(Context *context, const RgRemoved *removed)
{
	if (!removed->recorded) {
		RgDiag *note = rg_diags_note(context->diags, "spec.removed",
			"the spec of cluster %s was removed (%s)", removed->cluster, removed->spec);
		rg_diag_detail(note, "the state has no record of it");
		return;
	}
	g_autofree char *cost = rg_money_format(removed->microusd_hour);
	RgDiag *diag = rg_diags_warning(context->diags, "spec.removed",
		"the spec of cluster %s was removed, but the cluster keeps running and costs money",
		removed->cluster);
	rg_diag_detail(diag, "it was in %s; the state records %u resources, %s%s per hour",
		removed->spec, removed->recorded, removed->unpriced ? "at least " : "", cost);
	rg_diag_hint(diag, "destroy it with `raygpu destroy --cluster %s`, or restore the spec",
		removed->cluster);
}

GPtrArray *removed_clusters(Context *context, const RgSpecs *specs)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 0; i < specs->removed->len; i++) {
		RgRemoved *removed = removed_of(context, specs->removed->pdata[i]);
		tell_removed(context, removed);
		g_ptr_array_add(all, removed);
	}
	return all;
}

bool several_allows(Context *context, const ChangeOptions *options)
{
	const char *option = options->targets	 ? "--target"
			     : options->excludes ? "--exclude"
			     : options->replaces ? "--replace"
			     : options->override ? "--override-budget"
						 : NULL;
	if (context->cluster)
		rg_diags_error(
			context->diags, "usage.conflict", "give specs or --cluster, not both");
	if (option) {
		RgDiag *diag = rg_diags_error(context->diags, "usage.conflict",
			"%s is for one cluster, but several were given", option);
		rg_diag_hint(diag, "name the one spec file");
	}
	return !context->cluster && !option;
}

/* One cluster: its text is printed immediately, so that a long run can be watched. */
static void run_one(Context *context, const ReportOptions *options, RgReport *report, Step step,
	void *data, RgDiags *own)
{
	RgDiags *common = context->diags;
	context->diags = own;
	context->several = true;
	report->diags = own;
	report->exit_code = step(context, report, data);
	context_name_ref(context, own);
	status_clear(context);
	stream_report(context, report);
	if (options->kind == RG_REPORT_TEXT && !stream_shown(context)) {
		g_autofree char *heading = rg_report_heading(report, &context->out);
		g_autofree char *text =
			report->drift  ? rg_render_drift(report->drift, &context->out)
			: report->plan ? rg_render_plan(report->plan, &context->out)
				       : g_strdup("No plan was created: see the errors.\n");
		out_text(heading);
		out_text(text);
	}
	if (options->kind != RG_REPORT_GITHUB)
		print_diags(context, own);
	else /* the report contains them */
		stream_diags(context, own);
	stream_cluster(context, NULL);
	context->diags = common;
}

static void run_all(Context *context, const ReportOptions *options, const RgSpecs *specs,
	RgReport *reports, GPtrArray *sinks, Step step, void *data)
{
	for (guint i = 0; i < specs->files->len; i++) {
		const RgSpecFile *file = specs->files->pdata[i];
		RgDiags *own = rg_diags_new();
		g_ptr_array_add(sinks, own);
		reports[i] = (RgReport){.cluster = file->cluster, .spec = file->path, .diags = own};
		reports[i].not_run = signals_came(NULL);
		reports[i].exit_code = EXIT_INTERRUPTED;
		if (reports[i].not_run)
			continue;
		tell_turn(context, i, specs->files->len, file->cluster, file->path);
		run_one(context, options, &reports[i], step, data, own);
	}
}

static void diags_free(gpointer diags)
{
	rg_diags_free(diags);
}

int several_run(
	Context *context, const ReportOptions *options, const RgSpecs *specs, Step step, void *data)
{
	if (!context_open_session(context, RG_STORE_READ))
		return rg_diags_exit_code(context->diags);
	guint n = specs->files->len;
	g_autofree RgReport *items = g_new0(RgReport, n + 1);
	g_autoptr(GPtrArray) sinks = g_ptr_array_new_with_free_func(diags_free);
	int code = EXIT_FINE;
	signals_start(); /* an interrupted run still reports what it has */
	run_all(context, options, specs, items, sinks, step, data);
	for (guint i = 0; i < n; i++)
		code = worst_exit_code(code, items[i].exit_code);
	g_autoptr(GPtrArray) removed = removed_clusters(context, specs);
	const RgReports reports = {.command = context->command->name,
		.version = RG_VERSION,
		.today = context->out.today,
		.items = items,
		.n = n,
		.several = true,
		.diags = context->diags,
		.skipped = specs->skipped,
		.removed = removed,
		.untouched = specs->untouched,
		.exit_code = code};
	code = worst_exit_code(code, rg_diags_exit_code(context->diags));
	if (!reports_write(context, options, &reports))
		code = worst_exit_code(code, EXIT_ERROR);
	for (guint i = 0; i < n; i++) {
		rg_plan_free((RgPlan *)(uintptr_t)items[i].plan);
		rg_drift_free((RgDrift *)(uintptr_t)items[i].drift);
	}
	return code;
}
