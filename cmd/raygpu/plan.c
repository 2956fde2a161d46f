#include "command.h"

typedef struct {
	ChangeOptions change;
	ReportOptions report;
	char *out;
	gboolean detailed, destroy;
} Options;

static void tell_saved(const Options *options)
{
	if (!options->out || options->report.kind != RG_REPORT_TEXT)
		return;
	g_autofree char *saved =
		g_strdup_printf("\nSaved the plan to: %s\n\nTo perform exactly these "
				"actions, run:\n    raygpu apply %s\n",
			options->out, options->out);
	out_text(saved);
}

static RgPass *make(Context *context, const Options *options, const char *spec_path)
{
	if (!context_open_session(context, RG_STORE_READ))
		return NULL;
	change_options_use(context, &options->change, options->destroy);
	return run_pass(context, spec_path);
}

static int run(Context *context, const Options *options, const char *spec_path)
{
	g_autoptr(RgPass) pass = make(context, options, spec_path);
	bool save = options->out && pass && !pass->plan->errored;
	if (save && !plan_file_save(context, options->out, pass->plan))
		return EXIT_ERROR;
	if (!report_write(context, &options->report, pass ? pass->plan : NULL, NULL))
		return EXIT_ERROR;
	if (pass)
		tell_saved(options);
	if (!pass || rg_diags_has_errors(context->diags))
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
		REF_ENTRY(context),
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
		REPORT_ENTRIES(options.report),
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (options_parse(context, entries, &argc, &argv, 0, 1, &code))
		code = report_options_check(context, &options.report)
			       ? run(context, &options, argc > 1 ? argv[1] : NULL)
			       : EXIT_USAGE;
	report_options_clear(&options.report);
	change_options_clear(&options.change);
	g_free(options.out);
	return code;
}
