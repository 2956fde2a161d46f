#include "command.h"
#include "render/fit.h"

static int fit_run(Context *context, const char *path, const char *emit)
{
	if (emit && !g_str_equal(emit, "python")) {
		rg_diags_error(context->diags, "usage.bad-argument",
			"--emit writes python, not \"%s\"", emit);
		return EXIT_USAGE;
	}
	if (emit && context->json) {
		rg_diags_error(
			context->diags, "usage.conflict", "--json and --emit exclude each other");
		return EXIT_USAGE;
	}
	context_open_providers(context);
	json_auto_t *fit = rg_pipeline_fit(context->providers, path, context->ref, context->diags);
	int code = rg_diags_exit_code(context->diags);
	bool nothing = fit && !json_is_array(json_object_get(fit, "workloads"));
	if (fit && !(nothing && emit)) {
		if (emit) {
			g_autofree char *module = rg_render_fit_python(fit);
			out_text(module);
		} else if (context->json) {
			json_auto_t *found = rg_render_diags_json(context->diags);
			json_object_set(fit, "diagnostics", found);
			out_json(fit);
			rg_diags_clear(context->diags); /* the report contains them */
		} else {
			g_autofree char *text = rg_render_fit(fit, &context->out);
			out_text(text);
		}
	}
	if (nothing && !context->json)
		err_text(context, "The spec has no workloads: there is nothing to place.\n");
	return code;
}

int cmd_fit(Context *context, int argc, char **argv)
{
	char *emit = NULL;
	const GOptionEntry entries[] = {
		{"emit", 0, 0, G_OPTION_ARG_STRING, &emit,
			"print a module of Ray's options instead: python", "LANGUAGE"},
		REF_ENTRY(context),
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (options_parse(context, entries, &argc, &argv, 0, 1, &code))
		code = fit_run(context, argc > 1 ? argv[1] : "cluster.yaml", emit);
	g_free(emit);
	return code;
}
