#include "clusters/turn.h"
#include "reach/reach.h"
#include "state/write.h"
#include <stdio.h>

Turn *turn_new(const char *cluster, const char *file, RgPlan *saved)
{
	Turn *turn = g_new0(Turn, 1);
	turn->cluster = g_strdup(cluster);
	turn->file = g_strdup(file);
	turn->saved = saved;
	turn->diags = rg_diags_new();
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
	context_name_ref(context, turn->diags);
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
	turn->pass = rg_pipeline_load(turn->file, context->ref, context->trusted, turn->diags);
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

/* `plan` NULL: none could be made. */
static void show_plan(
	Context *context, const ApplyOptions *options, const Turn *turn, const RgPlan *plan)
{
	const RgReport report = {.cluster = turn->cluster, .spec = turn->file, .plan = plan};
	if (options->several) {
		g_autofree char *heading = rg_report_heading(&report, &context->out);
		say(context, heading);
	}
	if (!plan)
		return;
	g_autofree char *text = rg_render_plan(plan, &context->out);
	say(context, text);
	stream_report(context, &report);
}

static bool make_plan(Context *context, const ApplyOptions *options, Turn *turn)
{
	turn->pass = turn->ended ? plan_ended(context, turn)
				 : make_pass(context, turn->file, g_steal_pointer(&turn->pass),
					   turn->diags);
	show_plan(context, options, turn, turn->pass ? turn->pass->plan : NULL);
	return turn->pass && !turn->pass->plan->errored && !rg_diags_has_errors(turn->diags);
}

void turn_plan(Context *context, const ApplyOptions *options, Turn *turn)
{
	bool ok = turn->saved ? open_saved(context, options, turn)
			      : make_plan(context, options, turn);
	status_clear(context);
	if (!ok)
		turn_fail(turn);
	turn->queued = !options->destroy && rg_diags_has_code(turn->diags, "provider.queued");
	turn_tell(context, turn); /* warnings belong before the question */
}

bool turn_is_planned(const Turn *turn)
{
	return turn->pass && turn->pass->plan;
}

bool turn_is_ready(const Turn *turn)
{
	return !turn->code && turn_is_planned(turn) && rg_plan_has_changes(turn->pass->plan);
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
	if (context->progress && (turn->run.id || turn->run.ready.awaited))
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
	rg_resource_foreach (resource, recorded) {
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

/* `missing`: the settings without which nobody can connect, or NULL. */
static char *how_to_connect(
	Context *context, const char *missing, const char *option, const char *name)
{
	if (!missing)
		return g_strdup_printf("  raygpu connect %s%s -- ray job submit -- python -c "
				       "'import ray; ray.init()'\n",
			option, name);
	g_autofree char *sentence = g_strdup_printf("For `raygpu connect`, set %s.", missing);
	g_autofree char *wrapped = rg_render_wrapped(sentence, "", &context->out);
	return g_strconcat(wrapped, "\n", NULL);
}

/* Where the cluster is, and what to do with it: to people if something is new. */
static void tell_head(Context *context, const Turn *turn)
{
	g_autoptr(RgDiags) unread = rg_diags_new();
	g_autoptr(RgSnapshot) left = rg_store_load(context->store, turn->cluster, unread);
	if (!left)
		return;
	const RgSchema *schema = rg_provider_get_schema(turn->pass->provider);
	json_auto_t *outputs = rg_reach_outputs(schema, left);
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
	const char *option = here ? "" : "--cluster ", *name = here ? turn->file : turn->cluster;
	g_autofree char *missing = rg_reach_missing(schema, left->config, NULL);
	g_autofree char *connect = how_to_connect(context, missing, option, name);
	g_autofree char *text = g_strdup_printf("\nHead: %s%s%s\n\n%s  raygpu output %s%s\n",
		address, public ? ", public address " : "", public ? public : "", connect, option,
		name);
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

/* One cluster while it is applied, in one place after the other. */
typedef struct {
	Context *context;
	const ApplyOptions *options;
	Turn *turn;
	RgReadyOptions ready;
} Applying;

static void on_leave(void *data, const char *place)
{
	const Applying *applying = data;
	turn_watched(applying->context, applying->turn);
	g_autofree char *text = g_strdup_printf(
		"%s has no capacity for the cluster: removing what was created there.\n", place);
	say(applying->context, text);
	stream_log(applying->context, text);
}

static bool on_next(void *data, const RgPass *pass)
{
	Applying *applying = data;
	status_clear(applying->context);
	show_plan(applying->context, applying->options, applying->turn, pass->plan);
	turn_watch(applying->context, applying->options, applying->turn, &applying->ready);
	return true; /* who approved the first one approved what the spec says */
}

static void on_wait(void *data, int64_t seconds)
{
	const Applying *applying = data;
	status_clear(applying->context);
	g_autofree char *text = g_strdup_printf(
		"No place has capacity, trying again in %" G_GINT64_FORMAT " s.\n", seconds);
	say(applying->context, text);
	stream_log(applying->context, text);
}

void turn_execute(Context *context, const ApplyOptions *options, Turn *turn)
{
	const RgApplyOptions apply = apply_options(context, options);
	json_auto_t *who = note_meta(context->command->name);
	Applying applying = {context, options, turn, {0}};
	const RgAnywhere anywhere = {
		.leaves = on_leave, .approve = on_next, .waits = on_wait, .data = &applying};
	turn_watch(context, options, turn, &applying.ready);
	signals_now_changing();
	bool done = rg_pipeline_run_anywhere(
		&context->session, turn->pass, &anywhere, &apply, who, &turn->run, turn->diags);
	turn_watched(context, turn);
	status_clear(context);
	turn->tried = turn->run.id || turn->run.unplaced;
	if (!turn->run.unplaced) {
		tell_end(context, options, turn, done);
		return;
	}
	turn_fail(turn);
	turn_tell(context, turn);
}

void turn_keep(Context *context, const ApplyOptions *options, Turn *turn)
{
	RgReadyOptions ready;
	turn_watch(context, options, turn, &ready);
	bool done = rg_pipeline_wait(&context->session, turn->pass, &turn->run, turn->diags);
	turn_watched(context, turn);
	turn->run.outcome = done && !turn->queued ? "nothing-to-do" : "partial";
	turn->tried = true;
	turn->code = done && turn->queued ? EXIT_PARTIAL : exit_code_of(turn, done);
	if (!options->several || !done)
		tell_result(context, options, turn);
	if (done && !options->destroy && context->stream)
		tell_head(context, turn);
	turn_tell(context, turn);
}
