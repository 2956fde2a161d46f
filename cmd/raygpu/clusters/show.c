#include "command.h"
#include "intent/lease.h"

static int show_plan(Context *context, const ReportOptions *report, const char *path)
{
	g_autoptr(RgPlan) plan = plan_file_load(context, path, NULL);
	if (!plan)
		return rg_diags_exit_code(context->diags);
	return report_write(context, report, &(RgReport){.plan = plan}) ? EXIT_FINE : EXIT_ERROR;
}

static bool is_for_state(Context *context, const ReportOptions *report)
{
	if (!report->json_into && !report->gitlab && !report->reports &&
		(report->kind == RG_REPORT_TEXT || report->kind == RG_REPORT_JSON))
		return true;
	rg_diags_error(context->diags, "usage.conflict",
		"without a saved plan there is only --format text and json");
	return false;
}

static const RgSchema *schema_of(Context *context, const RgSnapshot *snapshot)
{
	if (!snapshot->provider)
		return NULL;
	context_open_providers(context);
	return rg_provider_schema(context->providers, snapshot->provider, context->diags);
}

static int show_state(Context *context, const ReportOptions *report)
{
	context->store = context_open_state(context, RG_STORE_READ, context->diags);
	g_autofree char *cluster = context->store ? context_one_cluster(context) : NULL;
	g_autoptr(RgSnapshot) snapshot =
		cluster ? rg_store_load(context->store, cluster, context->diags) : NULL;
	const RgSchema *schema = snapshot ? schema_of(context, snapshot) : NULL;
	if (!schema)
		return rg_diags_has_errors(context->diags) ? rg_diags_exit_code(context->diags)
							   : EXIT_FINE;
	if (report->kind == RG_REPORT_JSON) {
		json_auto_t *document = rg_render_state_json(snapshot->recorded, schema);
		rg_json_set_str(document, "cluster", cluster);
		rg_json_set_str(document, "lineage", snapshot->lineage);
		json_object_set_new(document, "serial", json_integer(snapshot->serial));
		if (rg_snapshot_leases(snapshot))
			json_object_set(
				document, "leases", rg_json_unconst(rg_snapshot_leases(snapshot)));
		out_json(document);
	} else {
		g_autofree char *text =
			rg_render_state(cluster, snapshot->recorded, schema, &context->out);
		g_autofree char *leases = rg_render_recorded_leases(
			cluster, rg_snapshot_leases(snapshot), &context->out);
		out_text(text);
		out_text(leases);
	}
	return EXIT_FINE;
}

static int show_merged(Context *context, const ReportOptions *report, const char *path)
{
	if (!path) {
		rg_diags_error(context->diags, "usage.bad-argument", "--merged needs a SPEC");
		return EXIT_USAGE;
	}
	g_autofree char *text =
		rg_specs_merged(path, context->ref, report->kind == RG_REPORT_JSON, context->diags);
	if (!text)
		return rg_diags_exit_code(context->diags);
	out_text(text);
	if (report->kind == RG_REPORT_JSON)
		out_text("\n");
	return EXIT_FINE;
}

static int show_any(Context *context, ReportOptions *report, bool merged, const char *path)
{
	if (!report_options_check(context, report))
		return EXIT_USAGE;
	if (merged)
		return show_merged(context, report, path);
	if (path)
		return show_plan(context, report, path);
	return is_for_state(context, report) ? show_state(context, report) : EXIT_USAGE;
}

int cmd_show(Context *context, int argc, char **argv)
{
	ReportOptions report = {0};
	gboolean merged = FALSE;
	const GOptionEntry entries[] = {
		{"cluster", 0, 0, G_OPTION_ARG_STRING, &context->cluster,
			"cluster of the state (default: the only one)", "NAME"},
		{"merged", 0, 0, G_OPTION_ARG_NONE, &merged,
			"print the spec SPEC with the files that it extends", NULL},
		REF_ENTRY(context),
		DETAIL_ENTRIES(context),
		REPORT_ENTRIES(report),
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (options_parse(context, entries, &argc, &argv, 0, 1, &code))
		code = show_any(context, &report, merged, argc > 1 ? argv[1] : NULL);
	report_options_clear(&report);
	return code;
}
