#include "print/stream.h"
#include <errno.h>
#include <glib/gstdio.h>

typedef struct {
	ChangeOptions change;
	ReportOptions report;
	char *out;
	unsigned saved; /* plans in that folder */
	gboolean detailed, destroy, reoptimize, renew_images;
} Options;

static void tell_saved(const Context *context, const Options *options)
{
	if (!options->out || options->report.kind != RG_REPORT_TEXT || stream_shown(context))
		return;
	g_autofree char *saved =
		g_strdup_printf("\nSaved the plan to: %s\n\nTo perform exactly these "
				"actions, run:\n    raygpu apply %s\n",
			options->out, options->out);
	out_text(saved);
}

/* spec_path NULL: --cluster. The caller owns the plan; `out` (may be NULL): where it is saved. */
static int plan_one(Context *context, const Options *options, const char *spec_path,
	const char *out, RgPlan **plan)
{
	if (!context_open_session(context, RG_STORE_READ))
		return rg_diags_exit_code(context->diags);
	change_options_use(context, &options->change, options->destroy);
	context->session.reoptimize = options->reoptimize;
	context->session.renew_images = options->renew_images;
	g_autoptr(RgPass) pass = make_pass(context, spec_path, NULL, context->diags);
	if (!pass)
		return rg_diags_exit_code(context->diags);
	*plan = g_steal_pointer(&pass->plan);
	if (out && !(*plan)->errored && !plan_file_save(context, out, *plan))
		return EXIT_ERROR;
	if (rg_diags_has_errors(context->diags))
		return rg_diags_exit_code(context->diags);
	return options->detailed && !rg_plan_is_noop(*plan) ? EXIT_CHANGES : EXIT_FINE;
}

static int run_one(Context *context, const Options *options, const char *spec_path)
{
	g_autoptr(RgPlan) plan = NULL;
	int code = plan_one(context, options, spec_path, options->out, &plan);
	const char *saved = plan && !plan->errored && code != EXIT_ERROR ? options->out : NULL;
	const RgReport report = {
		.spec = spec_path, .plan = plan, .saved = saved, .exit_code = code};
	if (!report_write(context, &options->report, &report))
		return EXIT_ERROR;
	if (saved)
		tell_saved(context, options);
	return code;
}

static int plan_step(Context *context, RgReport *report, void *data)
{
	Options *options = data;
	RgPlan *plan = NULL;
	g_autofree char *name = g_strdup_printf("%s.json", report->cluster);
	g_autofree char *out =
		options->out && report->cluster ? g_build_filename(options->out, name, NULL) : NULL;
	int code = plan_one(context, options, report->spec, out, &plan);
	report->plan = plan;
	if (plan && out && !plan->errored && code != EXIT_ERROR) {
		report->saved = g_intern_string(out);
		options->saved++;
	}
	return code;
}

/* A plan that an earlier run left in the folder would be applied together with those of this
 * one. */
static bool prepare_folder(Context *context, const char *out)
{
	g_autoptr(GDir) dir = g_dir_open(out, 0, NULL);
	if (dir && !g_dir_read_name(dir))
		return true;
	if (!dir && g_mkdir(out, 0700) == 0)
		return true;
	int error = errno;
	RgDiag *diag = dir ? rg_diags_error(context->diags, "usage.bad-argument",
				     "the folder \"%s\" for the plans is not empty", out)
			   : rg_diags_error(context->diags, "usage.bad-argument",
				     "cannot create the folder \"%s\" for the plans: %s", out,
				     g_strerror(error));
	rg_diag_hint(diag, "with several specs --out is a folder, which gets one file per cluster; "
			   "remove it, or choose another");
	return false;
}

static int run_several(Context *context, Options *options, const RgSpecs *specs)
{
	if (options->destroy) {
		RgDiag *diag = rg_diags_error(
			context->diags, "usage.conflict", "plan --destroy is for one cluster");
		rg_diag_hint(diag, "name the one spec file, or --cluster NAME");
	}
	if (options->destroy || !several_allows(context, &options->change) ||
		rg_diags_has_errors(context->diags) ||
		(options->out && !prepare_folder(context, options->out)))
		return rg_diags_exit_code(context->diags);
	int code = several_run(context, &options->report, specs, plan_step, options);
	if (options->saved)
		tell_saved(context, options);
	return code;
}

static int plan_run(Context *context, Options *options, int argc, char **argv)
{
	if (options->destroy && options->change.refresh_only) {
		rg_diags_error(context->diags, "usage.conflict",
			"--refresh-only changes nothing in the cloud, so it destroys nothing");
		return EXIT_USAGE;
	}
	if (context->cluster)
		return run_one(context, options, argc > 1 ? argv[1] : NULL);
	g_autoptr(RgSpecs) specs = specs_with_state(context, argc, argv);
	if (specs && specs->several)
		return run_several(context, options, specs);
	if (specs)
		return run_one(context, options, ((RgSpecFile *)specs->files->pdata[0])->path);
	int code = rg_diags_exit_code(context->diags);
	const RgReport report = {.exit_code = code};
	return report_write(context, &options->report, &report) ? code : EXIT_ERROR;
}

int cmd_plan(Context *context, int argc, char **argv)
{
	Options options = {0};
	const GOptionEntry entries[] = {
		{"out", 'o', 0, G_OPTION_ARG_FILENAME, &options.out,
			"save the plan for `raygpu apply FILE`; for several specs, a folder",
			"FILE"},
		{"detailed-exitcode", 0, 0, G_OPTION_ARG_NONE, &options.detailed,
			"exit with 2 when there are changes", NULL},
		{"destroy", 0, 0, G_OPTION_ARG_NONE, &options.destroy, "plan to destroy everything",
			NULL},
		{"reoptimize", 0, 0, G_OPTION_ARG_NONE, &options.reoptimize,
			"choose today's best instance types, not the pinned ones", NULL},
		{"renew-images", 0, 0, G_OPTION_ARG_NONE, &options.renew_images,
			"use today's node images, not the pinned ones", NULL},
		REF_ENTRY(context),
		CHANGED_ENTRY(context),
		CHANGE_ENTRIES(context, options.change),
		OVERRIDE_ENTRY(options.change),
		PREFLIGHT_ENTRY(options.change),
		REFRESH_ENTRY(options.change),
		DETAIL_ENTRIES(context),
		REPORT_ENTRIES(options.report),
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	stream_want(context);
	if (options_parse(context, entries, &argc, &argv, 0, -1, &code))
		code = report_options_check(context, &options.report) &&
				       change_options_check(context, &options.change)
			       ? plan_run(context, &options, argc, argv)
			       : rg_diags_exit_code(context->diags);
	report_options_clear(&options.report);
	change_options_clear(&options.change);
	g_free(options.out);
	return code;
}
