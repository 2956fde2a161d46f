#include "command.h"
#include "ready/ready.h"

/* What runs, and what Ray has of it: the reading calls of drift, shown by pool. */

typedef struct {
	ChangeOptions change;
	gboolean detailed;
} Options;

/* The last run that changed something; a new reference, NULL: none. */
static json_t *last_run(Context *context, const char *cluster)
{
	json_auto_t *runs = rg_store_runs(context->store, cluster, context->diags);
	rg_json_foreach (run, runs)
		if (json_object_size(json_object_get(run, "changes")))
			return json_incref(run);
	return NULL;
}

/* spec_path NULL: --cluster. */
static int status_one(
	Context *context, const Options *options, const char *spec_path, json_t *clusters)
{
	g_autoptr(RgPass) pass = NULL;
	g_autoptr(RgDrift) drift = drift_look(context, &options->change, spec_path, &pass);
	if (!drift || rg_diags_has_errors(context->diags))
		return rg_diags_exit_code(context->diags);
	json_auto_t *run = last_run(context, pass->plan->cluster);
	const RgStatus status = {pass->plan, drift, rg_ready_reports(pass->provider), run};
	json_t *document = rg_render_status_json(&status);
	json_array_append_new(clusters, document);
	if (!context->json) {
		g_autofree char *text = rg_render_status(document, &context->out);
		out_text(json_array_size(clusters) > 1 ? "\n" : "");
		out_text(text);
	}
	return options->detailed && !json_is_true(json_object_get(document, "healthy"))
		       ? EXIT_CHANGES
		       : EXIT_FINE;
}

/* Each spec with diagnostics of its own: one that fails does not stop the others. */
static int status_several(
	Context *context, const Options *options, const RgSpecs *specs, json_t *clusters)
{
	RgDiags *common = context->diags;
	int code = EXIT_FINE;
	context->several = specs->several;
	rg_ptr_foreach (const RgSpecFile, file, specs->files) {
		g_autoptr(RgDiags) own = rg_diags_new();
		context->diags = own;
		code = worst_exit_code(code, status_one(context, options, file->path, clusters));
		context->diags = common;
		rg_diags_take_all(common, own);
	}
	return code;
}

static int status_run(Context *context, const Options *options, int argc, char **argv)
{
	json_auto_t *clusters = json_array();
	g_autoptr(RgSpecs) specs = context->cluster ? NULL : specs_with_state(context, argc, argv);
	if (!context->cluster && (!specs || rg_diags_has_errors(context->diags)))
		return rg_diags_exit_code(context->diags);
	int code = specs ? status_several(context, options, specs, clusters)
			 : status_one(context, options, argc > 1 ? argv[1] : NULL, clusters);
	if (context->json) {
		json_auto_t *document =
			json_pack("{s:s, s:O}", "format_version", "1.0", "clusters", clusters);
		out_json(document);
	}
	return code;
}

int cmd_status(Context *context, int argc, char **argv)
{
	Options options = {0};
	const GOptionEntry entries[] = {
		REF_ENTRY(context),
		{"cluster", 0, 0, G_OPTION_ARG_STRING, &context->cluster,
			"show this cluster of the state, without a spec", "NAME"},
		{"detailed-exitcode", 0, 0, G_OPTION_ARG_NONE, &options.detailed,
			"exit code 2 if anything is not as it should be", NULL},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (options_parse(context, entries, &argc, &argv, 0, -1, &code))
		code = status_run(context, &options, argc, argv);
	return code;
}
