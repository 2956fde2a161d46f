#include "command.h"
#include "state/write.h"
#include "state/move.h"
#include <string.h>

/* raygpu import: existing resources become part of a cluster. Writes only the state: the transport
 * allows only reading calls, and the next apply writes the marks. */

typedef struct {
	gboolean dry_run, as_is;
	int lock_timeout_s;
} Options;

static json_t *report_new(const RgPass *pass, const GPtrArray *records, bool recorded)
{
	json_t *report = json_object(), *rows = json_array(), *plan = rg_plan_to_json(pass->plan);
	rg_ptr_foreach (const RgResource, resource, records) {
		json_t *row = json_object();
		rg_json_set_str(row, "address", resource->address);
		rg_json_set_str(row, "id", resource->id);
		json_array_append_new(rows, row);
	}
	rg_json_set_str(report, "cluster", pass->cluster->name);
	json_object_set_new(report, "recorded", json_boolean(recorded));
	json_object_set_new(report, "imports", rows);
	json_object_set_new(report, "plan", plan);
	return report;
}

static bool record(Context *context, const RgPass *pass, const GPtrArray *records)
{
	const RgProviderRef *place = &pass->cluster->provider;
	const RgRunBegin begin = {.cluster = pass->cluster->name,
		.provider = place->name,
		.region = place->region,
		.config = place->config,
		.account = pass->account};
	g_autofree char *run = note_begin(context, "import", &begin);
	return run && note_end(context, run,
			      rg_store_import(context->store, pass->cluster->name, records,
				      context->diags));
}

static int look_and_record(
	Context *context, const Options *options, RgPass *pass, const RgImport *imports, size_t n)
{
	g_autoptr(GPtrArray) records =
		rg_pipeline_import(&context->session, pass, imports, n, context->diags);
	status_clear(context);
	if (!records)
		return rg_diags_exit_code(context->diags);
	if (!context->json) {
		g_autoptr(GString) text = g_string_new(NULL);
		rg_ptr_foreach (const RgResource, resource, records) {
			g_string_append_printf(text, "  # %s will be imported", resource->address);
			if (resource->id)
				g_string_append_printf(text, " (id=%s)", resource->id);
			g_string_append_c(text, '\n');
		}
		g_autofree char *plan = rg_render_plan(pass->plan, &context->out);
		g_string_append_printf(
			text, "\nWhat `raygpu apply` would do after that:\n\n%s", plan);
		out_text(text->str);
	}
	bool wanted =
		!options->dry_run && !pass->plan->errored && !rg_diags_has_errors(context->diags);
	bool recorded = wanted && record(context, pass, records);
	if (context->json) {
		json_auto_t *report = report_new(pass, records, recorded);
		out_json(report);
	} else if (recorded) {
		out_text("\nImport successful! The resources above are now in the state and "
			 "managed by\nraygpu: `raygpu destroy` would destroy them too.\n");
	} else if (options->dry_run) {
		out_text("\nNothing was recorded: --dry-run.\n");
	}
	return rg_diags_exit_code(context->diags);
}

int cmd_import(Context *context, int argc, char **argv)
{
	Options options = {0};
	const GOptionEntry entries[] = {
		{"dry-run", 0, 0, G_OPTION_ARG_NONE, &options.dry_run,
			"only show what would be recorded, and the plan after it", NULL},
		{"as-is", 0, 0, G_OPTION_ARG_NONE, &options.as_is,
			"keep nodes that booted with other user data", NULL},
		{"lock-timeout", 0, 0, G_OPTION_ARG_INT, &options.lock_timeout_s,
			"seconds to wait for the state's lock (default 0)", "SECONDS"},
		REF_ENTRY(context),
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (!options_parse(context, entries, &argc, &argv, 3, -1, &code))
		return code;
	if (argc % 2 != 0 || g_str_equal(argv[1], "-")) {
		RgDiag *diag = rg_diags_error(context->diags, "usage.bad-argument",
			"raygpu import requires a spec file, and an address and an id for each "
			"resource");
		rg_diag_hint(diag, "raygpu import cluster.yaml 'KIND.POOL[0]' ID; `raygpu plan` "
				   "shows the addresses");
		return EXIT_USAGE;
	}
	size_t n = (size_t)(argc - 2) / 2;
	g_autofree RgImport *imports = g_new0(RgImport, n);
	for (size_t i = 0; i < n; i++)
		imports[i] = (RgImport){argv[2 + 2 * i], argv[3 + 2 * i], options.as_is, NULL};
	g_autoptr(RgPass) pass =
		rg_pipeline_load(argv[1], context->ref, context->trusted, context->diags);
	if (!pass)
		return rg_diags_exit_code(context->diags);
	context_use_spec(context, argv[1]);
	if (!context_open_session(context, options.dry_run ? RG_STORE_READ : RG_STORE_WRITE))
		return rg_diags_exit_code(context->diags);
	context->session.http.read_only = true;
	g_autoptr(RgLock) lock =
		options.dry_run
			? NULL
			: rg_lock_take(context->store, pass->cluster->name, "import",
				  (unsigned)MAX(options.lock_timeout_s, 0) * 1000, context->diags);
	if (!lock && !options.dry_run)
		return rg_diags_exit_code(context->diags);
	return look_and_record(context, &options, pass, imports, n);
}
