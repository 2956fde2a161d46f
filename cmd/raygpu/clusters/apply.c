#include "clusters/turn.h"
#include "base/words.h"
#include "state/write.h"

/* apply and destroy: selects the clusters, asks, and processes one after the other. */

static char *question_of(bool destroy, bool several, size_t n)
{
	g_autofree char *where =
		several ? g_strdup_printf(" in %zu cluster%s", n, n == 1 ? "" : "s") : g_strdup("");
	if (destroy)
		return g_strdup_printf(
			"\nDo you really want to destroy all of this%s?\n  There is no undo. Only "
			"'yes' will be accepted to confirm.\n\n  Enter a value: ",
			where);
	return g_strdup_printf(
		"\nDo you want to perform these actions%s?\n  raygpu will perform the "
		"actions described above.\n  Only 'yes' will be accepted to approve.\n\n"
		"  Enter a value: ",
		where);
}

static bool ask(Context *context, const ApplyOptions *options, size_t n)
{
	g_autofree char *question = question_of(options->destroy, options->several, n);
	return confirm(context, question, options->destroy ? "destroy" : "apply",
		"use --auto-approve, or save a plan with `raygpu plan --out FILE` and apply it");
}

/* ---- arguments -> turns */

static void turn_release(gpointer turn)
{
	turn_free(turn);
}

/* The plans that `plan --out FOLDER` wrote there; none for any other folder. false: an error. */
static bool add_saved_folder(Context *context, const char *folder, GPtrArray *turns)
{
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
	for (const char *name; dir && (name = g_dir_read_name(dir));) {
		if (*name != '.' && g_str_has_suffix(name, ".json"))
			g_ptr_array_add(paths, g_build_filename(folder, name, NULL));
	}
	g_ptr_array_sort(paths, rg_by_text);
	for (guint i = 0; i < paths->len; i++) {
		bool is_plan = false;
		RgPlan *plan = plan_file_load(context, paths->pdata[i], &is_plan);
		if (plan)
			g_ptr_array_add(turns, turn_new(plan->cluster, paths->pdata[i], plan));
		else if (is_plan)
			return false;
	}
	return true;
}

/* Jobs for the arguments that are saved plans; *others counts the rest. */
static bool add_saved(Context *context, char *const *arguments, GPtrArray *turns, guint *others)
{
	for (guint i = 0; arguments[i]; i++) {
		guint before = turns->len;
		bool is_plan = false;
		if (g_file_test(arguments[i], G_FILE_TEST_IS_DIR)) {
			if (!add_saved_folder(context, arguments[i], turns))
				return false;
		} else if (!g_str_equal(arguments[i], "-")) {
			RgPlan *plan = plan_file_load(context, arguments[i], &is_plan);
			if (plan)
				g_ptr_array_add(turns, turn_new(plan->cluster, arguments[i], plan));
			else if (is_plan)
				return false;
		}
		*others += turns->len == before;
	}
	return true;
}

/* A folder with both plans and specs is ambiguous. */
static bool has_specs(char *const *arguments)
{
	g_autoptr(RgDiags) unused = rg_diags_new();
	const RgSpecsFrom from = {0};
	for (guint i = 0; arguments[i]; i++) {
		char *const one[] = {arguments[i], NULL};
		g_autoptr(RgSpecs) specs = g_file_test(arguments[i], G_FILE_TEST_IS_DIR)
						   ? rg_specs_find(one, &from, unused)
						   : NULL;
		if (specs && specs->files->len)
			return true;
	}
	return false;
}

/* A saved plan is applied completely: an option that selects less must not be ignored silently. */
static bool saved_allows(Context *context, const ChangeOptions *options)
{
	const char *option = options->targets	     ? "--target"
			     : options->excludes     ? "--exclude"
			     : options->replaces     ? "--replace"
			     : options->refresh_only ? "--refresh-only"
						     : NULL;
	if (!option)
		return true;
	RgDiag *diag = rg_diags_error(context->diags, "usage.conflict",
		"a saved plan is always applied whole: %s selects what to plan", option);
	rg_diag_hint(diag, "create the plan with it: raygpu plan %s ... --out FILE", option);
	return false;
}

static bool check_saved(Context *context, char *const *arguments, GPtrArray *turns, guint others)
{
	g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
	if (others || has_specs(arguments)) {
		rg_diags_error(
			context->diags, "usage.conflict", "give saved plans or specs, not both");
		return false;
	}
	rg_ptr_foreach (const Turn, turn, turns) {
		if (!context_use_plan(context, turn->saved, ((Turn *)turns->pdata[0])->saved))
			return false;
		if (g_hash_table_add(names, turn->cluster))
			continue;
		rg_diags_error(context->diags, "usage.conflict",
			"two of the plans are for cluster %s: the second becomes stale when the "
			"first is applied",
			turn->cluster);
		return false;
	}
	return true;
}

/* Nobody should destroy a folder by mistake: specs must be named one by one. */
static bool check_destroy(Context *context, const RgSpecs *specs)
{
	if (!specs->folder)
		return true;
	g_autoptr(GString) names = g_string_new(NULL);
	for (guint i = 0; i < specs->files->len; i++)
		g_string_append_printf(names, " %s", ((RgSpecFile *)specs->files->pdata[i])->path);
	RgDiag *diag = rg_diags_error(context->diags, "usage.conflict",
		"destroy does not accept a folder: name each spec");
	rg_diag_hint(diag, "raygpu destroy%s", names->str);
	return false;
}

static bool add_specs(
	Context *context, ApplyOptions *options, const RgSpecs *specs, GPtrArray *turns)
{
	options->several = specs->several;
	if (rg_diags_has_errors(context->diags) ||
		(specs->several && !several_allows(context, &options->change)) ||
		(options->destroy && !check_destroy(context, specs)))
		return false;
	rg_ptr_foreach (const RgSpecFile, file, specs->files)
		g_ptr_array_add(turns, turn_new(file->cluster, file->path, NULL));
	return true;
}

/* false and diagnostics; *specs stays NULL with saved plans and --cluster. */
static bool find_turns(Context *context, ApplyOptions *options, int argc, char **argv,
	GPtrArray *turns, RgSpecs **specs)
{
	guint others = 0;
	if (context->cluster) {
		g_ptr_array_add(turns, turn_new(context->cluster, argc > 1 ? argv[1] : NULL, NULL));
		return true;
	}
	/* a saved plan contains its commit: with --ref the argument is a spec's path */
	if (argc > 1 && !options->destroy && !context->ref && !context->changed_since &&
		!add_saved(context, argv + 1, turns, &others))
		return false;
	if (turns->len) {
		options->several = turns->len > 1 || g_file_test(argv[1], G_FILE_TEST_IS_DIR);
		return (!options->several || several_allows(context, &options->change)) &&
		       saved_allows(context, &options->change) &&
		       check_saved(context, argv + 1, turns, others);
	}
	*specs = specs_with_state(context, argc, argv);
	return *specs && add_specs(context, options, *specs, turns);
}

/* ---- the run */

static int by_cluster(gconstpointer a, gconstpointer b)
{
	return g_strcmp0((*(Turn *const *)a)->cluster, (*(Turn *const *)b)->cluster);
}

/* In the order of the names, so that two runs never wait for each other. */
void turns_lock(Context *context, const ApplyOptions *options, GPtrArray *turns)
{
	g_autoptr(GPtrArray) ordered = g_ptr_array_copy(turns, NULL, NULL);
	g_ptr_array_set_free_func(ordered, NULL);
	g_ptr_array_sort(ordered, by_cluster);
	for (guint i = 0; i < ordered->len && !signals_came(NULL); i++)
		turn_lock(context, options, ordered->pdata[i]);
}

void turns_plan(Context *context, const ApplyOptions *options, GPtrArray *turns)
{
	for (guint i = 0; i < turns->len && !signals_came(NULL); i++) {
		Turn *turn = turns->pdata[i];
		if (!turn->lock)
			continue;
		if (options->several)
			tell_turn(context, i, turns->len, turn->cluster, turn->file);
		turn_plan(context, options, turn);
	}
}

/* With several: the sums and what was removed. The stream has the sums also of one. */
static void show_overview(
	Context *context, const ApplyOptions *options, GPtrArray *turns, const RgSpecs *specs)
{
	g_autofree RgReport *items = g_new0(RgReport, turns->len + 1);
	g_autoptr(GPtrArray) removed = options->several ? removed_clusters(context, specs) : NULL;
	for (guint i = 0; i < turns->len; i++) {
		const Turn *turn = turns->pdata[i];
		items[i] = (RgReport){.cluster = turn->cluster,
			.spec = turn->file,
			.plan = turn->pass ? turn->pass->plan : NULL,
			.diags = turn->diags,
			.exit_code = turn->code};
	}
	const RgReports reports = {.command = "plan",
		.items = items,
		.n = turns->len,
		.several = options->several,
		.removed = removed,
		.untouched = specs ? specs->untouched : 0};
	if (context->stream) {
		stream_cluster(context, options->several ? NULL : items[0].cluster);
		stream_put(context, rg_message_reports(&reports));
	}
	if (!options->several)
		return;
	g_autofree char *text = rg_report_overview(&reports, &context->out);
	say(context, text);
	print_diags(context, context->diags);
	rg_diags_clear(context->diags);
}

static size_t count_ready(GPtrArray *turns)
{
	size_t n = 0;
	for (guint i = 0; i < turns->len; i++)
		n += turn_is_ready(turns->pdata[i]);
	return n;
}

void turns_execute(Context *context, const ApplyOptions *options, GPtrArray *turns)
{
	size_t n = count_ready(turns), nth = 0;
	for (guint i = 0; i < turns->len && !signals_came(NULL); i++) {
		Turn *turn = turns->pdata[i];
		if (!turn_is_ready(turn)) {
			if (!turn->code && turn_is_planned(turn))
				turn_keep(context, options, turn);
			continue;
		}
		if (options->several)
			tell_turn(context, nth++, n, turn->cluster, turn->file);
		turn_execute(context, options, turn);
	}
}

/* The result of all, and the worst exit code. */
int turns_finish(Context *context, const ApplyOptions *options, GPtrArray *turns)
{
	int code = rg_diags_exit_code(context->diags);
	g_autofree RgApplied *items = g_new0(RgApplied, turns->len + 1);
	for (guint i = 0; i < turns->len; i++) {
		Turn *turn = turns->pdata[i];
		if (!turn->code && !turn->tried && signals_came(NULL))
			turn->code = EXIT_INTERRUPTED;
		code = worst_exit_code(code, turn->code);
		items[i] = (RgApplied){.cluster = turn->cluster,
			.file = turn->file,
			.outcome = turn->run.outcome,
			.run = turn->run.id,
			.result = turn->tried ? &turn->run.result : NULL,
			.ready = turn->tried ? &turn->run.ready : NULL,
			.changes = turn->run.changes,
			.open = turn->open,
			.exit_code = turn->code};
	}
	if (code != EXIT_FINE && signals_came(NULL))
		code = EXIT_INTERRUPTED;
	if (options->several) {
		g_autofree char *text = rg_render_applied(items, turns->len, &context->out);
		say(context, text);
	}
	stream_cluster(context, turns->len == 1 ? ((const Turn *)turns->pdata[0])->cluster : NULL);
	if (context->stream)
		stream_last(context, rg_message_applied(options->destroy ? "destroy" : "apply",
					     items, turns->len, code));
	return code;
}

static void apply_work(
	Context *context, const ApplyOptions *options, GPtrArray *turns, const RgSpecs *specs)
{
	signals_start();
	if (!context_open_session(context, RG_STORE_WRITE))
		return;
	change_options_use(context, &options->change, options->destroy);
	rg_store_set_canceled(context->store, signals_came, NULL);
	turns_lock(context, options, turns);
	turns_plan(context, options, turns);
	if ((specs || context->cluster) && turns->len && !signals_came(NULL))
		show_overview(context, options, turns, specs);
	size_t ready = count_ready(turns);
	/* a saved plan was approved when it was passed */
	bool approved = options->auto_approve || (!specs && !context->cluster);
	if (ready && !approved && !signals_came(NULL) && !ask(context, options, ready))
		return;
	turns_execute(context, options, turns);
}

static int parse_and_run(Context *context, bool destroy, int argc, char **argv)
{
	ApplyOptions options = {.destroy = destroy, .parallelism = 10, .max_replacements = 3};
	const GOptionEntry end = {NULL, 0, 0, 0, NULL, NULL, NULL};
	const GOptionEntry entries[] = {
		{"auto-approve", 0, 0, G_OPTION_ARG_NONE, &options.auto_approve, "do not ask",
			NULL},
		{"parallelism", 0, 0, G_OPTION_ARG_INT, &options.parallelism,
			"concurrent calls (default 10)", "N"},
		{"lock-timeout", 0, 0, G_OPTION_ARG_INT, &options.lock_timeout_s,
			"seconds to wait for the state's lock (default 0)", "SECONDS"},
		REF_ENTRY(context),
		CHANGE_ENTRIES(context, options.change),
		DETAIL_ENTRIES(context),
		{"json-into", 0, 0, G_OPTION_ARG_FILENAME, &options.json_into,
			"also write what --json prints to FILE", "FILE"},
		/* the entries of destroy end here: it creates nothing, and removing a spec on a
		 * branch does not mean destroying its cluster */
		destroy ? end
			: (GOptionEntry){"capacity-timeout", 0, 0, G_OPTION_ARG_STRING,
				  &options.hunt,
				  "how long to request nodes that the cloud cannot provide: 90s, "
				  "30m, 8h, or until 06:00 (default 0)",
				  "TIME"},
		destroy ? end : (GOptionEntry)CHANGED_ENTRY(context),
		destroy ? end : (GOptionEntry)OVERRIDE_ENTRY(options.change),
		destroy ? end : (GOptionEntry)PREFLIGHT_ENTRY(options.change),
		destroy ? end : (GOptionEntry)REFRESH_ENTRY(options.change),
		destroy ? end
			: (GOptionEntry){"no-wait", 0, 0, G_OPTION_ARG_NONE, &options.no_wait,
				  "do not wait for new nodes to start and join Ray", NULL},
		destroy ? end
			: (GOptionEntry){"force-conflicts", 0, 0, G_OPTION_ARG_NONE,
				  &options.force_conflicts, "take over fields that others own",
				  NULL},
		destroy ? end
			: (GOptionEntry){"max-replacements", 0, 0, G_OPTION_ARG_INT,
				  &options.max_replacements,
				  "nodes to replace that do not join Ray (default 3)", "N"},
		end,
	};
	int code = EXIT_FINE;
	stream_want(context);
	if (options_parse(context, entries, &argc, &argv, 0, -1, &code)) {
		if (!stream_open(context, options.json_into)) {
			code = EXIT_ERROR;
		} else if (!change_options_check(context, &options.change)) {
			code = EXIT_USAGE;
		} else if (options.parallelism < 1 || options.parallelism > 256 ||
			   options.lock_timeout_s < 0 || options.max_replacements < 0) {
			rg_diags_error(context->diags, "usage.bad-argument",
				"--parallelism must be 1 to 256, --lock-timeout and "
				"--max-replacements 0 or more");
			code = EXIT_USAGE;
		} else if (options.hunt && !hunt_parse(options.hunt, &options.capacity_ms)) {
			rg_diags_error(context->diags, "usage.bad-argument",
				"--capacity-timeout is a duration such as 90s, 30m, 8h or 2d, or a "
				"time of day such as 06:00, not \"%s\"",
				options.hunt);
			code = EXIT_USAGE;
		} else {
			context->session.waits_for_capacity = options.capacity_ms > 0;
			g_autoptr(GPtrArray) turns = g_ptr_array_new_with_free_func(turn_release);
			g_autoptr(RgSpecs) specs = NULL;
			if (find_turns(context, &options, argc, argv, turns, &specs))
				apply_work(context, &options, turns, specs);
			code = turns_finish(context, &options, turns);
		}
	}
	change_options_clear(&options.change);
	g_free(options.hunt);
	g_free(options.json_into);
	return code;
}

int cmd_apply(Context *context, int argc, char **argv)
{
	return parse_and_run(context, false, argc, argv);
}

int cmd_destroy(Context *context, int argc, char **argv)
{
	return parse_and_run(context, true, argc, argv);
}
