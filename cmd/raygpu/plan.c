#include "command.h"

typedef struct {
	ChangeOptions change;
	char *out;
	gboolean detailed, destroy;
} Options;

static void print_plan(Context *context, const Options *options, const RgPlan *plan)
{
	if (context->json) {
		g_autoptr(RgJson) document = rg_plan_to_json(plan);
		out_json(document);
		return;
	}
	g_autofree char *text = rg_render_plan(plan, &context->out);
	out_text(text);
	if (options->out) {
		g_autofree char *saved =
			g_strdup_printf("\nSaved the plan to: %s\n\nTo perform exactly these "
					"actions, run:\n    raygpu apply %s\n",
				options->out, options->out);
		out_text(saved);
	}
}

static int run(Context *context, const Options *options, const char *spec_path)
{
	if (!context_open_session(context, RG_STORE_READ))
		return rg_diags_exit_code(context->diags);
	change_options_use(context, &options->change, options->destroy);
	g_autoptr(RgPass) pass = run_pass(context, spec_path);
	if (!pass)
		return rg_diags_exit_code(context->diags);
	if (options->out && !pass->plan->errored &&
		!plan_file_save(context, options->out, pass->plan))
		return EXIT_ERROR;
	print_plan(context, options, pass->plan);
	if (rg_diags_has_errors(context->diags))
		return rg_diags_exit_code(context->diags);
	return options->detailed && !rg_plan_is_noop(pass->plan) ? EXIT_CHANGES : EXIT_FINE;
}

int cmd_plan(Context *context, int argc, char **argv)
{
	Options options = {0};
	const GOptionEntry entries[] = {
		{"out", 'o', 0, G_OPTION_ARG_FILENAME, &options.out,
			"save the plan for `raygpu apply FILE`", "FILE"},
		{"detailed-exitcode", 0, 0, G_OPTION_ARG_NONE, &options.detailed,
			"exit with 2 when there are changes", NULL},
		{"destroy", 0, 0, G_OPTION_ARG_NONE, &options.destroy, "plan to destroy everything",
			NULL},
		{"target", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.change.targets,
			"only this address and what it needs; may be repeated", "ADDRESS"},
		{"exclude", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.change.excludes,
			"all but this address and what needs it", "ADDRESS"},
		{"replace", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.change.replaces,
			"replace this resource though nothing asks for it", "ADDRESS"},
		{"no-settle", 0, 0, G_OPTION_ARG_NONE, &options.change.no_settle,
			"don't wait for young resources to show in the cloud", NULL},
		{"cluster", 0, 0, G_OPTION_ARG_STRING, &context->cluster,
			"work from the state alone on this cluster", "NAME"},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (options_parse(context, entries, &argc, &argv, 0, 1, &code))
		code = run(context, &options, argc > 1 ? argv[1] : NULL);
	change_options_clear(&options.change);
	g_free(options.out);
	return code;
}
