#include "command.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

typedef struct {
	ChangeOptions change;
	gboolean auto_approve;
	int parallelism;
	int lock_timeout_s;
	bool destroy;
} Options;

static void write_progress(void *data, const char *text)
{
	fflush(stdout); /* the plan comes first also where both go into one log */
	fputs(text, stderr);
	fflush(stderr);
}

static void on_event(void *data, const RgEvent *event)
{
	Context *context = data;
	status_clear(context);
	rg_progress_event(context->progress, event);
}

/* Signals are counted on a thread, so reading must not sleep through Ctrl-C. */
static bool read_line(char *line, int size)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	while (!signals_came(NULL)) {
		if (poll(&input, 1, 100) > 0)
			return fgets(line, size, stdin) != NULL;
	}
	return false;
}

/* Terraform's question: only the whole word counts. */
static bool ask(Context *context, bool destroy)
{
	if (!isatty(STDIN_FILENO)) {
		RgDiag *diag = rg_diags_error(context->diags, "apply.no-terminal",
			"there is no terminal to ask for approval on");
		rg_diag_hint(diag, "give --auto-approve, or save a plan with `raygpu plan --out "
				   "FILE` and apply "
				   "that");
		return false;
	}
	fflush(stdout);
	fputs(destroy ? "\nDo you really want to destroy all of this?\n  There is no undo. Only "
			"'yes' will be "
			"accepted to confirm.\n\n  Enter a value: "
		      : "\nDo you want to perform these actions?\n  raygpu will perform the "
			"actions described "
			"above.\n  Only 'yes' will be accepted to approve.\n\n  Enter a value: ",
		stderr);
	char line[64] = "";
	if (!read_line(line, sizeof(line)) || !g_str_equal(g_strstrip(line), "yes")) {
		fputs("\n", stderr);
		rg_diags_error(context->diags, "apply.declined", "%s cancelled",
			destroy ? "destroy" : "apply");
		return false;
	}
	fputs("\n", stderr);
	return true;
}

static json_t *run_meta(const Context *context, const RgPass *pass)
{
	struct utsname host;
	json_t *meta = json_object();
	rg_json_set_str(meta, "command", context->command->name);
	rg_json_set_str(meta, "user", g_get_user_name());
	rg_json_set_str(meta, "host", uname(&host) == 0 ? host.nodename : "?");
	rg_json_set_str(meta, "commit", pass->plan->commit);
	rg_json_set_str(meta, "author", pass->provenance ? pass->provenance->author : NULL);
	json_object_set_new(meta, "dirty", json_boolean(pass->plan->dirty));
	rg_json_set_str(meta, "spec", pass->plan->spec_file);
	rg_json_set_str(meta, "digest", pass->plan->spec_digest);
	if (pass->plan->labels)
		json_object_set(meta, "labels", pass->plan->labels);
	if (pass->plan->override)
		rg_json_set_str(meta, "budget_override", pass->plan->override);
	return meta;
}

static int exit_code_of(const Context *context, const RgApplyResult *result, bool done)
{
	if (result->interrupted)
		return EXIT_INTERRUPTED;
	if (done)
		return EXIT_FINE;
	if (result->added || result->changed || result->destroyed)
		return EXIT_PARTIAL;
	int code = rg_diags_exit_code(context->diags);
	return code ? code : EXIT_ERROR;
}

/* What the next run has to clear up, as the journal has it. */
static void print_open(Context *context, const char *cluster)
{
	g_autoptr(RgSnapshot) snapshot = rg_store_load(context->store, cluster, context->diags);
	g_autoptr(GString) text = g_string_new(NULL);
	for (size_t i = 0; snapshot && i < rg_resource_set_size(snapshot->recorded); i++) {
		const RgResource *resource = rg_resource_set_get(snapshot->recorded, i);
		if (resource->presence == RG_PENDING)
			g_string_append_printf(
				text, "  %s: its creation is open\n", resource->address);
		else if (resource->leaving)
			g_string_append_printf(
				text, "  %s: its removal is open\n", resource->address);
	}
	if (!text->len)
		return;
	out_text("Open, cleared up by the next apply:\n");
	out_text(text->str);
}

/* What the spec says of protection goes into the state with everything else, also when nothing in
 * the cloud changes: it must hold when the pool is taken out of the spec. */
static bool keep_protection(Context *context, const RgPlan *plan)
{
	return !plan->protect ||
	       rg_store_protect(context->store, plan->cluster, plan->protect, context->diags);
}

static int execute(Context *context, const Options *options, RgPass *pass)
{
	g_autofree char *run = NULL, *lineage = NULL;
	g_autoptr(RgJson) meta = run_meta(context, pass);
	const RgPlan *plan = pass->plan;
	const RgRunBegin begin = {
		.cluster = plan->cluster,
		.provider = plan->provider,
		.region = plan->region,
		.config = plan->config,
		.facts = plan->facts,
		.meta = meta,
	};
	if (!rg_store_begin_run(context->store, &begin, &run, &lineage, context->diags))
		return rg_diags_exit_code(context->diags);
	RgApplyOptions apply = {.parallelism = (unsigned)options->parallelism,
		.interrupted = signals_level,
		.event = on_event,
		.event_data = context,
		.run = run,
		.lineage = lineage,
		.commit = plan->commit,
		.labels = plan->labels};
	context->progress =
		rg_progress_new(plan, context->live, &context->err, write_progress, context);
	RgApplyResult result;
	signals_now_changing();
	bool done = rg_apply(pass->provider, context->store, pass->snapshot, plan, &apply, &result,
		context->diags);
	rg_progress_finish(context->progress);
	g_clear_pointer(&context->progress, rg_progress_free);
	const char *outcome = result.interrupted				   ? "interrupted"
			      : done						   ? "done"
			      : result.added || result.changed || result.destroyed ? "partial"
										   : "failed";
	if (!keep_protection(context, plan))
		done = false;
	if (!rg_store_end_run(context->store, run, outcome, context->diags))
		done = false;
	g_autofree char *text = rg_render_apply_result(&result, options->destroy, &context->out);
	out_text(text);
	if (result.interrupted || result.open)
		print_open(context, plan->cluster);
	return exit_code_of(context, &result, done);
}

static int nothing_to_do(Context *context, const Options *options, const RgPlan *plan)
{
	if (plan->lineage && !keep_protection(context, plan))
		return rg_diags_exit_code(context->diags);
	RgApplyResult result = {0};
	g_autofree char *text = rg_render_apply_result(&result, options->destroy, &context->out);
	out_text(text);
	return EXIT_FINE;
}

static int from_spec(Context *context, const Options *options, const char *spec_path)
{
	g_autoptr(RgPass) pass = run_pass(context, spec_path);
	if (!pass)
		return rg_diags_exit_code(context->diags);
	g_autofree char *text = rg_render_plan(pass->plan, &context->out);
	out_text(text);
	if (pass->plan->errored || rg_diags_has_errors(context->diags))
		return rg_diags_exit_code(context->diags);
	print_diags(context); /* warnings belong before the question */
	rg_diags_clear(context->diags);
	if (!rg_plan_has_changes(pass->plan))
		return nothing_to_do(context, options, pass->plan);
	if (!options->auto_approve && !ask(context, options->destroy))
		return rg_diags_exit_code(context->diags);
	if (signals_came(NULL))
		return EXIT_INTERRUPTED;
	return execute(context, options, pass);
}

/* A saved plan carries the limits that it was held against, and the reason that passed them. */
static bool check_saved_budget(Context *context, const Options *options, RgPlan *plan)
{
	const char *reason = options->change.override ? options->change.override : plan->override;
	bool passed = false;
	if (!rg_plan_check_budget(plan, reason, &passed, context->diags))
		return false;
	char *kept = passed ? g_strdup(reason) : NULL;
	g_free(plan->override);
	plan->override = kept;
	return true;
}

static int from_plan(Context *context, const Options *options, RgPlan *plan)
{
	g_autoptr(RgPass) pass = rg_pipeline_open_saved(&context->session, plan, context->diags);
	if (!pass) {
		rg_plan_free(plan);
		return rg_diags_exit_code(context->diags);
	}
	pass->plan = plan;
	if (plan->errored) {
		RgDiag *diag = rg_diags_error(
			context->diags, "plan.bad-file", "the plan says itself that it has errors");
		rg_diag_hint(diag, "plan again: what has errors is not saved, and not applied");
		return rg_diags_exit_code(context->diags);
	}
	if (!rg_plan_has_changes(plan))
		return nothing_to_do(context, options, plan);
	if (!check_saved_budget(context, options, plan))
		return rg_diags_exit_code(context->diags);
	print_diags(context);
	rg_diags_clear(context->diags);
	return execute(context, options, pass);
}

/* Whose lock: the cluster's name, before anything of its state is read. */
static char *cluster_name(Context *context, const char *spec_path, const RgPlan *plan)
{
	if (plan)
		return g_strdup(plan->cluster);
	if (context->cluster)
		return g_strdup(context->cluster);
	if (!spec_path && !context->ref && !g_file_test("cluster.yaml", G_FILE_TEST_EXISTS))
		return g_strdup("?"); /* run_pass tells what is missing */
	if (g_strcmp0(spec_path, "-") == 0) {
		rg_diags_error(context->diags, "usage.bad-argument",
			"raygpu %s can't read the spec from standard input",
			context->command->name);
		return NULL;
	}
	g_autoptr(RgDiags) diags = rg_diags_new(); /* run_pass reads it again and tells warnings */
	g_autoptr(RgProvenance) provenance = NULL;
	g_autoptr(RgCluster) cluster = rg_pipeline_load_spec(
		spec_path ? spec_path : "cluster.yaml", context->ref, &provenance, diags);
	if (!cluster)
		rg_diags_take_all(context->diags, diags);
	return cluster ? g_strdup(cluster->name) : NULL;
}

static int run(Context *context, const Options *options, const char *argument)
{
	bool is_plan = false;
	/* a saved plan has its commit in it: with --ref the argument is a spec's path */
	RgPlan *plan = argument && !g_str_equal(argument, "-") && !options->destroy && !context->ref
			       ? plan_file_load(context, argument, &is_plan)
			       : NULL;
	if (is_plan && !plan)
		return rg_diags_exit_code(context->diags);
	signals_start();
	g_autofree char *name = cluster_name(context, argument, plan);
	if (!name || !context_open_session(context, RG_STORE_WRITE)) {
		rg_plan_free(plan);
		return rg_diags_exit_code(context->diags);
	}
	change_options_use(context, &options->change, options->destroy);
	rg_store_set_canceled(context->store, signals_came, NULL);
	g_autoptr(RgLock) lock = rg_lock_take(context->store, name, context->command->name,
		(unsigned)options->lock_timeout_s * 1000, context->diags);
	if (!lock) {
		rg_plan_free(plan);
		return rg_diags_exit_code(context->diags);
	}
	return plan ? from_plan(context, options, plan) : from_spec(context, options, argument);
}

static int parse_and_run(Context *context, bool destroy, int argc, char **argv)
{
	Options options = {.destroy = destroy, .parallelism = 10};
	const GOptionEntry end = {NULL, 0, 0, 0, NULL, NULL, NULL};
	const GOptionEntry entries[] = {
		{"auto-approve", 0, 0, G_OPTION_ARG_NONE, &options.auto_approve, "don't ask", NULL},
		{"parallelism", 0, 0, G_OPTION_ARG_INT, &options.parallelism,
			"calls in flight at a time (10)", "N"},
		{"lock-timeout", 0, 0, G_OPTION_ARG_INT, &options.lock_timeout_s,
			"wait so long for the state's lock (0)", "SECONDS"},
		REF_ENTRY(context),
		CHANGE_ENTRIES(context, options.change),
		destroy ? end : (GOptionEntry)OVERRIDE_ENTRY(options.change),
		end,
	};
	int code = EXIT_FINE;
	if (options_parse(context, entries, &argc, &argv, 0, 1, &code)) {
		if (!change_options_check(context, &options.change)) {
			code = EXIT_USAGE;
		} else if (options.parallelism < 1 || options.parallelism > 256 ||
			   options.lock_timeout_s < 0) {
			rg_diags_error(context->diags, "usage.bad-argument",
				"--parallelism wants 1 to 256, --lock-timeout 0 or more");
			code = EXIT_USAGE;
		} else {
			code = run(context, &options, argc > 1 ? argv[1] : NULL);
			if (code != EXIT_FINE && signals_came(NULL))
				code = EXIT_INTERRUPTED;
		}
	}
	change_options_clear(&options.change);
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
