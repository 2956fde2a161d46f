#include "command.h"
#include "workloads/emit.h"
#include "render/fit/fit.h"

static char *render_python(const json_t *fit)
{
	return rg_render_fit_python(fit);
}

static char *render_train(const json_t *fit)
{
	return rg_render_fit_train(json_object_get(fit, "emitted"));
}

static char *render_serve(const json_t *fit)
{
	return rg_render_fit_serve(json_object_get(fit, "emitted"));
}

static const RgEmit train = RG_EMIT_TRAIN, serve = RG_EMIT_SERVE;

/* What --emit prints. */
typedef struct {
	const char *word;
	const RgEmit *form; /* NULL: the report is enough */
	char *(*render)(const json_t *fit);
} Module;

static const Module modules[] = {{"python", NULL, render_python}, {"train", &train, render_train},
	{"serve", &serve, render_serve}};

static const Module *find_module(const char *word)
{
	for (size_t i = 0; i < G_N_ELEMENTS(modules); i++) {
		if (g_str_equal(modules[i].word, word))
			return &modules[i];
	}
	return NULL;
}

static void print_report(Context *context, json_t *fit)
{
	if (context->json) {
		json_auto_t *found = rg_render_diags_json(context->diags);
		json_object_set(fit, "diagnostics", found);
		out_json(fit);
		rg_diags_clear(context->diags); /* the report contains them */
		return;
	}
	const json_t *explained = json_object_get(fit, "explained");
	g_autofree char *text = explained ? rg_render_fit_explained(explained, &context->out)
					  : rg_render_fit(fit, &context->out);
	out_text(text);
}

static int fit_run(Context *context, const char *path, const char *emit, const char *explain)
{
	const Module *module = emit ? find_module(emit) : NULL;
	if (emit && !module) {
		rg_diags_error(context->diags, "usage.bad-argument",
			"--emit writes python, train or serve, not \"%s\"", emit);
		return EXIT_USAGE;
	}
	if (emit && context->json) {
		rg_diags_error(
			context->diags, "usage.conflict", "--json and --emit exclude each other");
		return EXIT_USAGE;
	}
	if (emit && explain) {
		rg_diags_error(context->diags, "usage.conflict",
			"--explain and --emit exclude each other");
		return EXIT_USAGE;
	}
	context_open_providers(context);
	json_auto_t *fit = rg_pipeline_fit(context->providers, path, context->ref, context->trusted,
		module ? module->form : NULL, explain, context->diags);
	int code = rg_diags_exit_code(context->diags);
	bool nothing = fit && !json_is_array(json_object_get(fit, "workloads"));
	if (fit && !module && (!explain || json_object_get(fit, "explained"))) {
		print_report(context, fit);
	} else if (module && fit && !nothing) {
		g_autofree char *text = module->render(fit);
		out_text(text);
	}
	if (nothing && !context->json)
		err_text(context, "The spec has no workloads: there is nothing to place.\n");
	return code;
}

int cmd_fit(Context *context, int argc, char **argv)
{
	char *emit = NULL, *explain = NULL;
	const GOptionEntry entries[] = {
		{"emit", 0, 0, G_OPTION_ARG_STRING, &emit,
			"print a Python module instead: python (options of tasks and actors), "
			"train, serve",
			"FORM"},
		{"explain", 0, 0, G_OPTION_ARG_STRING, &explain,
			"print what each pool lacks for this workload instead", "WORKLOAD"},
		REF_ENTRY(context),
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (options_parse(context, entries, &argc, &argv, 0, 1, &code))
		code = fit_run(context, argc > 1 ? argv[1] : "cluster.yaml", emit, explain);
	g_free(emit);
	g_free(explain);
	return code;
}
