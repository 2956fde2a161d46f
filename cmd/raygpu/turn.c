#include "turn.h"
#include "reach/reach.h"
#include <stdio.h>

Turn *turn_new(const char *cluster, const char *file, RgPlan *saved)
{
	Turn *turn = g_new0(Turn, 1);
	turn->cluster = g_strdup(cluster);
	turn->file = g_strdup(file);
	turn->saved = saved;
	turn->diags = rg_diags_new();
	turn->refused = json_array();
	turn->avoid = json_array();
	turn->open = json_array();
	turn->run.outcome = "not-run";
	return turn;
}

void turn_free(Turn *turn)
{
	if (!turn)
		return;
	rg_pass_free(turn->pass);
	rg_lock_release(turn->lock);
	rg_ended_free(turn->ended);
	rg_plan_free(turn->saved);
	rg_diags_free(turn->diags);
	json_decref(turn->refused);
	json_decref(turn->avoid);
	json_decref(turn->open);
	rg_run_clear(&turn->run);
	g_free(turn->cluster);
	g_free(turn->file);
	g_free(turn);
}

void say(Context *context, const char *text)
{
	if (!stream_shown(context))
		out_text(text);
}

/* Prints the diagnostics; later ones can still show their lines, because the texts of files stay.
 */
static void turn_tell(Context *context, Turn *turn)
{
	stream_cluster(context, turn->cluster);
	print_diags(context, turn->diags);
	if (!rg_diags_has_errors(turn->diags)) /* the overview names the first error */
		rg_diags_clear(turn->diags);
}

static void turn_fail(Turn *turn)
{
	turn->code = signals_came(NULL) ? EXIT_INTERRUPTED : rg_diags_exit_code(turn->diags);
	turn->run.outcome = turn->code == EXIT_INTERRUPTED ? "interrupted" : "failed";
}

/* ---- the lock */

/* Which lock: the cluster's name, before anything of its state is read. */
static bool find_name(Context *context, Turn *turn)
{
	if (turn->cluster)
		return true;
	if (g_str_equal(turn->file, "-")) {
		rg_diags_error(turn->diags, "usage.bad-argument",
			"raygpu %s cannot read the spec from standard input",
			context->command->name);
		return false;
	}
	turn->pass = rg_pipeline_load(turn->file, context->ref, turn->diags);
	if (turn->pass)
		turn->cluster = g_strdup(turn->pass->cluster->name);
	return turn->pass != NULL;
}

void turn_lock(Context *context, const ApplyOptions *options, Turn *turn)
{
	if (find_name(context, turn))
		turn->lock = rg_lock_take(context->store, turn->cluster, context->command->name,
			(unsigned)options->lock_timeout_s * 1000, turn->diags);
	if (turn->lock)
		return;
	turn_fail(turn);
	turn_tell(context, turn);
}

/* ---- the plan */

/* A saved plan contains its limits, and the reason for overriding them. */
static bool check_saved_budget(const ApplyOptions *options, RgPlan *plan, RgDiags *diags)
{
	const char *reason = options->change.override ? options->change.override : plan->override;
	bool passed = false;
	if (!rg_plan_check_budget(plan, reason, &passed, diags))
		return false;
	char *kept = passed ? g_strdup(reason) : NULL;
	g_free(plan->override);
	plan->override = kept;
	return true;
}

static bool open_saved(Context *context, const ApplyOptions *options, Turn *turn)
{
	turn->pass = rg_pipeline_open_saved(&context->session, turn->saved, turn->diags);
	if (!turn->pass)
		return false;
	turn->pass->plan = g_steal_pointer(&turn->saved);
	RgPlan *plan = turn->pass->plan;
	if (!plan->errored)
		return !rg_plan_has_changes(plan) || check_saved_budget(options, plan, turn->diags);
	RgDiag *diag = rg_diags_error(turn->diags, "plan.bad-file", "the plan has errors");
	rg_diag_hint(diag, "plan again: a plan with errors is not applied");
	return false;
}

/* From the state alone, and nothing but what has ended. */
static RgPass *plan_ended(Context *context, const Turn *turn)
{
	RgDiffOptions *diff = &context->session.diff;
	g_autoptr(GPtrArray) targets = g_ptr_array_copy(turn->ended->addresses, NULL, NULL);
	g_ptr_array_set_free_func(targets, NULL);
	g_ptr_array_add(targets, NULL);
	diff->targets = turn->ended->whole ? NULL : (char **)targets->pdata;
	g_autoptr(RgPass) pass =
		rg_pipeline_plan_recorded(&context->session, turn->cluster, turn->diags);
	diff->targets = NULL;
	bool covered = pass && rg_ended_covers(turn->ended, pass->plan, turn->diags);
	return covered ? g_steal_pointer(&pass) : NULL;
}

static bool make_plan(Context *context, const ApplyOptions *options, Turn *turn)
{
	turn->pass = turn->ended ? plan_ended(context, turn)
				 : make_pass(context, turn->file, g_steal_pointer(&turn->pass),
					   turn->diags);
	if (options->several) {
		const RgReport report = {.cluster = turn->cluster, .spec = turn->file};
		g_autofree char *heading = rg_report_heading(&report, &context->out);
		say(context, heading);
	}
	if (!turn->pass)
		return false;
	g_autofree char *text = rg_render_plan(turn->pass->plan, &context->out);
	say(context, text);
	stream_report(context, &(RgReport){.cluster = turn->cluster, .plan = turn->pass->plan});
	return !turn->pass->plan->errored && !rg_diags_has_errors(turn->diags);
}

void turn_plan(Context *context, const ApplyOptions *options, Turn *turn)
{
	bool ok = turn->saved ? open_saved(context, options, turn)
			      : make_plan(context, options, turn);
	status_clear(context);
	if (!ok)
		turn_fail(turn);
	turn_tell(context, turn); /* warnings belong before the question */
}

bool turn_is_ready(const Turn *turn)
{
	return !turn->code && turn->pass && rg_plan_has_changes(turn->pass->plan);
}

/* ---- applying */

static void write_progress(void *data, const char *text)
{
	fflush(stdout); /* the plan comes first even if both go to one log */
	fputs(text, stderr);
	fflush(stderr);
}

static void on_event(void *data, const RgEvent *event)
{
	Context *context = data;
	stream_event(context, event);
	if (stream_shown(context))
		return;
	status_clear(context);
	rg_progress_event(context->progress, event);
}

static void on_look(void *data, const RgReadyEvent *event)
{
	Context *context = data;
	stream_ready(context, event);
	if (stream_shown(context))
		return;
	status_clear(context);
	rg_progress_ready(context->progress, event);
}

/* The progress is there until turn_watched. */
static void turn_watch(
	Context *context, const ApplyOptions *options, const Turn *turn, RgReadyOptions *ready)
{
	stream_cluster(context, turn->cluster);
	*ready = (RgReadyOptions){.max_replacements = (unsigned)options->max_replacements,
		.interrupted = signals_level,
		.event = on_look,
		.event_data = context};
	context->session.ready = options->no_wait ? NULL : ready;
	context->progress = rg_progress_new(
		turn->pass->plan, context->live, &context->err, write_progress, context);
}

static void turn_watched(Context *context, const Turn *turn)
{
	if (turn->run.id || turn->run.ready.awaited)
		rg_progress_finish(context->progress);
	g_clear_pointer(&context->progress, rg_progress_free);
	context->session.ready = NULL;
}

static int exit_code_of(const Turn *turn, bool done)
{
	const RgApplyResult *result = &turn->run.result;
	if (result->interrupted || turn->run.ready.interrupted)
		return EXIT_INTERRUPTED;
	if (done)
		return EXIT_FINE;
	if (json_array_size(turn->run.ready.failed) || result->added || result->changed ||
		result->destroyed)
		return EXIT_PARTIAL;
	int code = rg_diags_exit_code(turn->diags);
	return code ? code : EXIT_ERROR;
}

/* What the next run must complete, from the journal. */
static void tell_left(Context *context, Turn *turn)
{
	const RgResourceSet *recorded = turn->run.left->recorded;
	g_autoptr(GString) text = g_string_new("Open, to be resolved by the next apply:\n");
	for (size_t i = 0; i < rg_resource_set_size(recorded); i++) {
		const RgResource *resource = rg_resource_set_get(recorded, i);
		bool pending = resource->presence == RG_PENDING;
		if (!pending && !resource->leaving)
			continue;
		g_string_append_printf(text, "  %s: its %s is open\n", resource->address,
			pending ? "creation" : "removal");
		json_array_append_new(turn->open, json_string(resource->address));
	}
	if (json_array_size(turn->open))
		say(context, text->str);
}

static void tell_result(Context *context, const ApplyOptions *options, const Turn *turn)
{
	g_autofree char *text = rg_render_apply_result(
		&turn->run.result, &turn->run.ready, options->destroy, &context->out);
	say(context, text);
}

/* Where the cluster is, and what to do with it: to people if something is new. */
static void tell_head(Context *context, const Turn *turn)
{
	g_autoptr(RgDiags) unread = rg_diags_new();
	g_autoptr(RgSnapshot) left = rg_store_load(context->store, turn->cluster, unread);
	if (!left)
		return;
	json_auto_t *outputs = rg_reach_outputs(rg_provider_get_schema(turn->pass->provider), left);
	if (context->stream)
		stream_put(context,
			rg_message_outputs(outputs, rg_reach_token(left) ? RG_REACH_TOKEN : NULL));
	if (!turn->run.result.added)
		return;
	const char *address = rg_json_str(outputs, "head_address", NULL);
	const char *public = rg_json_str(outputs, "head_public_address", NULL);
	if (!address)
		return;
	/* of a saved plan, or a commit, the spec need not be here */
	bool here = turn->pass->cluster && !context->ref;
	g_autofree char *text = g_strdup_printf(
		"\nHead: %s%s%s\n\n"
		"  raygpu connect %s%s -- ray job submit -- python -c 'import ray; ray.init()'\n"
		"  raygpu output %s%s\n",
		address, public ? ", public address " : "", public ? public : "",
		here ? "" : "--cluster ", here ? turn->file : turn->cluster,
		here ? "" : "--cluster ", here ? turn->file : turn->cluster);
	say(context, text);
}

static RgApplyOptions apply_options(Context *context, const ApplyOptions *options)
{
	return (RgApplyOptions){.parallelism = (unsigned)options->parallelism,
		.capacity_ms = options->capacity_ms,
		.force = options->force_conflicts,
		.no_wait = options->no_wait,
		.interrupted = signals_level,
		.event = on_event,
		.event_data = context};
}

/* What was refused in the places before this one is part of the report. */
static void keep_tried(Turn *turn)
{
	if (turn->run.result.tried)
		json_array_extend(turn->refused, turn->run.result.tried);
	if (!json_array_size(turn->refused))
		return;
	json_decref(turn->run.result.tried);
	turn->run.result.tried = json_incref(turn->refused);
}

static bool execute_here(Context *context, const ApplyOptions *options, Turn *turn)
{
	const RgApplyOptions apply = apply_options(context, options);
	json_auto_t *who = note_meta(context->command->name);
	RgReadyOptions ready;
	turn_watch(context, options, turn, &ready);
	signals_now_changing();
	bool done = rg_pipeline_run(
		&context->session, turn->pass, &apply, who, &turn->run, turn->diags);
	keep_tried(turn);
	turn->tried = turn->run.id != NULL;
	turn_watched(context, turn);
	return done;
}

static void tell_end(Context *context, const ApplyOptions *options, Turn *turn, bool done)
{
	if (turn->tried)
		tell_result(context, options, turn);
	if (done && !options->destroy && (turn->run.result.added || context->stream))
		tell_head(context, turn);
	if (turn->run.left)
		tell_left(context, turn);
	turn->code = turn->tried ? exit_code_of(turn, done) : rg_diags_exit_code(turn->diags);
	turn_tell(context, turn);
}

/* ---- on to another place */

/* Nothing of the cluster stays where it can't be completed; false: it does. */
static bool leave_place(Context *context, const ApplyOptions *options, Turn *turn)
{
	RgApplyOptions apply = apply_options(context, options);
	apply.event = NULL; /* there is no progress without a plan that was shown */
	json_auto_t *who = note_meta(context->command->name);
	RgRun back;
	g_autofree char *here = rg_place_text(turn->pass->plan->provider, turn->pass->plan->region);
	g_autofree char *text = g_strdup_printf(
		"%s has no capacity for the cluster: removing what was created there.\n", here);
	say(context, text);
	stream_log(context, text);
	rg_diags_clear(turn->diags); /* each refusal has been reported as it came */
	bool done = rg_pipeline_give_back(
		&context->session, turn->cluster, &apply, who, &back, turn->diags);
	rg_run_clear(&back);
	json_array_append_new(turn->avoid, json_string(here));
	return done;
}

static bool plan_elsewhere(Context *context, const ApplyOptions *options, Turn *turn)
{
	context->session.avoid = turn->avoid;
	g_clear_pointer(&turn->pass, rg_pass_free);
	rg_run_clear(&turn->run);
	bool ok = make_plan(context, options, turn);
	context->session.avoid = NULL;
	status_clear(context);
	return ok && turn_is_ready(turn);
}

static bool has_code(const RgDiags *diags, const char *code)
{
	for (size_t i = 0; i < rg_diags_count(diags); i++) {
		if (g_str_equal(rg_diags_get(diags, i)->code, code))
			return true;
	}
	return false;
}

/* Every place was tried: the cluster is nowhere. */
static void report_nowhere(Turn *turn)
{
	g_autoptr(GString) tried = g_string_new("refused:");
	size_t i;
	const json_t *entry;
	json_array_foreach (turn->refused, i, entry)
		g_string_append_printf(tried, "%s %s %s in %s (%s)", i ? "," : "",
			rg_json_str(entry, "market", ""), rg_json_str(entry, "instance_type", ""),
			rg_json_str(entry, "zone", ""), rg_json_str(entry, "code", ""));
	rg_diags_clear(turn->diags);
	RgDiag *diag = rg_diags_error(turn->diags, "provider.capacity",
		"no place of provider.any_of has capacity for cluster %s; nothing of it is left",
		turn->cluster);
	rg_diag_detail(diag, "%s", tried->str);
	rg_diag_hint(diag, "run apply again later, with --capacity-timeout to repeat it, or add a "
			   "place or an accelerator");
	turn->code = rg_diags_exit_code(turn->diags);
	turn->run.outcome = "failed";
}

void turn_execute(Context *context, const ApplyOptions *options, Turn *turn)
{
	Hunt hunt = hunt_begin(options->capacity_ms);
	for (;;) {
		bool done = execute_here(context, options, turn);
		if (!turn->run.moves || signals_came(NULL)) {
			tell_end(context, options, turn, done);
			return;
		}
		if (!leave_place(context, options, turn)) {
			turn_fail(turn);
			break;
		}
		if (plan_elsewhere(context, options, turn))
			continue;
		if (has_code(turn->diags, "fit.no-place")) {
			json_array_clear(turn->avoid);
			rg_diags_clear(turn->diags);
			if (hunt_wait(context, &hunt) && plan_elsewhere(context, options, turn))
				continue;
			report_nowhere(turn);
		} else {
			turn_fail(turn);
		}
		break;
	}
	turn_tell(context, turn);
}

void turn_keep(Context *context, const ApplyOptions *options, Turn *turn)
{
	RgReadyOptions ready;
	turn_watch(context, options, turn, &ready);
	bool done = rg_pipeline_wait(&context->session, turn->pass, &turn->run, turn->diags);
	turn_watched(context, turn);
	turn->run.outcome = done ? "nothing-to-do" : "partial";
	turn->tried = true;
	turn->code = exit_code_of(turn, done);
	if (!options->several || !done)
		tell_result(context, options, turn);
	if (done && !options->destroy && context->stream)
		tell_head(context, turn);
	turn_tell(context, turn);
}
