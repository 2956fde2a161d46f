#include "command.h"
#include "pipeline/pass.h"

/* A cluster as a file for another tool, in a form that the module knows. */
static int export_run(Context *context, const char *form, const char *spec)
{
	context_use_spec(context, spec);
	if (!context_open_session(context, RG_STORE_READ))
		return rg_diags_exit_code(context->diags);
	g_autoptr(RgPass) pass =
		rg_pipeline_load(spec, context->ref, context->trusted, context->diags);
	g_autofree char *text =
		pass ? rg_pipeline_export(&context->session, pass, form, context->diags) : NULL;
	if (text)
		out_text(text);
	return rg_diags_exit_code(context->diags);
}

int cmd_export(Context *context, int argc, char **argv)
{
	const GOptionEntry entries[] = {
		REF_ENTRY(context),
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (!options_parse(context, entries, &argc, &argv, 1, 2, &code))
		return code;
	const char *spec = argc > 2 ? argv[2] : DEFAULT_SPEC;
	return argc > 2 || spec_is_here(context) ? export_run(context, argv[1], spec)
						 : rg_diags_exit_code(context->diags);
}
