#include "print/stream.h"
#include "intent/intent.h"

typedef struct {
	ChangeOptions change;
	ReportOptions report;
} Options;

static RgSource source_of(const void *data, const char *pointer)
{
	return data ? rg_cluster_source(data, pointer) : (RgSource){0};
}

/* Among several clusters, one that was never applied is not an error if the state has others. */
static bool is_new_among_others(Context *context, const char *cluster)
{
	g_auto(GStrv) names =
		context->several ? rg_store_clusters(context->store, context->diags) : NULL;
	if (!names || !names[0])
		return false;
	rg_diags_note(context->diags, "state.no-such-cluster",
		"cluster %s has not been applied yet: there is nothing to compare", cluster);
	return true;
}

/* A mistyped state file must not look like "no drift". */
static bool is_recorded(Context *context, const RgPass *pass)
{
	if (pass->snapshot->lineage || is_new_among_others(context, pass->plan->cluster))
		return true;
	RgDiag *diag = rg_diags_error(context->diags, "state.no-such-cluster",
		"cluster %s was never applied with the state \"%s\"", pass->plan->cluster,
		context_state_path(context));
	rg_diag_hint(diag,
		"check that it is the right file; --state FILE or RAYGPU_STATE selects another");
	return false;
}

RgDrift *drift_look(
	Context *context, const ChangeOptions *options, const char *spec_path, RgPass **pass)
{
	if (!context_open_session(context, RG_STORE_READ))
		return NULL;
	change_options_use(context, options, false);
	context->session.diff.looking = true;
	*pass = make_pass(context, spec_path, NULL, context->diags);
	if (!*pass || !is_recorded(context, *pass))
		return NULL;
	RgDrift *drift = rg_drift_new((*pass)->diff, (*pass)->snapshot->recorded,
		(*pass)->plan->cluster, source_of, (*pass)->cluster);
	drift->acting = g_strdup((*pass)->acting);
	drift->spec = g_strdup(spec_path);
	rg_pipeline_check_nodes(context->store, *pass, drift, context->diags);
	rg_intent_leave_ended((*pass)->snapshot, (*pass)->leases,
		rg_provider_get_schema((*pass)->provider), drift);
	return drift;
}

/* spec_path NULL: --cluster. The caller owns the report. */
static int drift_one(
	Context *context, const Options *options, const char *spec_path, RgDrift **drift)
{
	g_autoptr(RgPass) pass = NULL;
	*drift = drift_look(context, &options->change, spec_path, &pass);
	/* a failed read is an error, whatever drift was seen */
	if (!*drift || rg_diags_has_errors(context->diags))
		return rg_diags_exit_code(context->diags);
	return (*drift)->items->len ? EXIT_CHANGES : EXIT_FINE;
}

static int run_one(Context *context, const Options *options, const char *spec_path)
{
	g_autoptr(RgDrift) drift = NULL;
	int code = drift_one(context, options, spec_path, &drift);
	const RgReport report = {.spec = spec_path, .drift = drift, .exit_code = code};
	return report_write(context, &options->report, &report) ? code : EXIT_ERROR;
}

static int drift_step(Context *context, RgReport *report, void *data)
{
	RgDrift *drift = NULL;
	int code = drift_one(context, data, report->spec, &drift);
	report->drift = drift;
	return code;
}

static int drift_run(Context *context, Options *options, int argc, char **argv)
{
	if (context->cluster)
		return run_one(context, options, argc > 1 ? argv[1] : NULL);
	g_autoptr(RgSpecs) specs = specs_with_state(context, argc, argv);
	if (specs && !specs->several)
		return run_one(context, options, ((RgSpecFile *)specs->files->pdata[0])->path);
	if (specs && !rg_diags_has_errors(context->diags))
		return several_run(context, &options->report, specs, drift_step, options);
	int code = rg_diags_exit_code(context->diags);
	const RgReport report = {.exit_code = code};
	return report_write(context, &options->report, &report) ? code : EXIT_ERROR;
}

int cmd_drift(Context *context, int argc, char **argv)
{
	Options options = {0};
	const GOptionEntry entries[] = {
		REF_ENTRY(context),
		CHANGED_ENTRY(context),
		{"cluster", 0, 0, G_OPTION_ARG_STRING, &context->cluster,
			"check this cluster of the state, without a spec", "NAME"},
		{"no-settle", 0, 0, G_OPTION_ARG_NONE, &options.change.no_settle,
			"do not wait for new resources to become visible", NULL},
		REPORT_ENTRIES(options.report),
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	stream_want(context);
	if (options_parse(context, entries, &argc, &argv, 0, -1, &code))
		code = report_options_check(context, &options.report)
			       ? drift_run(context, &options, argc, argv)
			       : rg_diags_exit_code(context->diags);
	report_options_clear(&options.report);
	return code;
}
