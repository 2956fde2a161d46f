#include "turn.h"
#include <stdio.h>
#include <sys/utsname.h>

Turn *turn_new(const char *cluster, const char *file, RgPlan *saved)
{
	Turn *turn = g_new0(Turn, 1);
	turn->cluster = g_strdup(cluster);
	turn->file = g_strdup(file);
	turn->saved = saved;
	turn->diags = rg_diags_new();
	turn->told = json_array();
	turn->open = json_array();
	turn->outcome = "not-run";
	return turn;
}

void turn_free(Turn *turn)
{
	if (!turn)
		return;
	rg_pass_free(turn->pass);
	rg_lock_release(turn->lock);
	rg_plan_free(turn->saved);
	rg_diags_free(turn->diags);
	json_decref(turn->told);
	json_decref(turn->changes);
	json_decref(turn->open);
	g_free(turn->run);
	g_free(turn->cluster);
	g_free(turn->file);
	g_free(turn);
}

void say(Context *context, const char *text)
{
	if (context->json)
		err_text(context, text);
	else
		out_text(text);
}

/* Prints what was found and keeps it for the document; what comes later shows its lines all the
 * same, because the texts of files stay. */
static void tell(Context *context, Turn *turn)
{
	json_auto_t *more = rg_render_diags_json(context->diags);
	print_diags(context);
	json_array_extend(turn->told, more);
	if (!rg_diags_has_errors(context->diags)) /* the overview names the first error */
		rg_diags_clear(context->diags);
}

static void fail(Turn *turn, int code)
{
	turn->code = code;
	turn->outcome = code == EXIT_INTERRUPTED ? "interrupted" : "failed";
}

/* ---- the lock */

/* Whose lock: the cluster's name, before anything of its state is read. */
static bool find_name(Context *context, Turn *turn)
{
	if (turn->cluster)
		return true;
	if (g_strcmp0(turn->file, "-") == 0) {
		rg_diags_error(context->diags, "usage.bad-argument",
			"raygpu %s can't read the spec from standard input",
			context->command->name);
		return false;
	}
	g_autoptr(RgDiags) diags = rg_diags_new(); /* run_pass reads it again and tells warnings */
	g_autoptr(RgProvenance) provenance = NULL;
	g_autoptr(RgCluster) cluster = rg_specs_load(turn->file, context->ref, &provenance, diags);
	if (cluster)
		turn->cluster = g_strdup(cluster->name);
	else
		rg_diags_take_all(context->diags, diags);
	return cluster != NULL;
}

void turn_lock(Context *context, const ApplyOptions *options, Turn *turn)
{
	RgDiags *common = context->diags;
	context->diags = turn->diags;
	if (find_name(context, turn))
		turn->lock = rg_lock_take(context->store, turn->cluster, context->command->name,
			(unsigned)options->lock_timeout_s * 1000, context->diags);
	if (!turn->lock) {
		fail(turn,
			signals_came(NULL) ? EXIT_INTERRUPTED : rg_diags_exit_code(context->diags));
		tell(context, turn);
	}
	context->diags = common;
}

/* ---- the plan */

/* A saved plan carries the limits that it was held against, and the reason that passed them. */
static bool check_saved_budget(Context *context, const ApplyOptions *options, RgPlan *plan)
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

static bool open_saved(Context *context, const ApplyOptions *options, Turn *turn)
{
	turn->pass = rg_pipeline_open_saved(&context->session, turn->saved, context->diags);
	if (!turn->pass)
		return false;
	turn->pass->plan = g_steal_pointer(&turn->saved);
	RgPlan *plan = turn->pass->plan;
	if (!plan->errored)
		return !rg_plan_has_changes(plan) || check_saved_budget(context, options, plan);
	RgDiag *diag = rg_diags_error(
		context->diags, "plan.bad-file", "the plan says itself that it has errors");
	rg_diag_hint(diag, "plan again: what has errors is not saved, and not applied");
	return false;
}

static bool make_plan(Context *context, const ApplyOptions *options, Turn *turn)
{
	turn->pass = run_pass(context, turn->file);
	if (options->several) {
		const RgReport report = {.cluster = turn->cluster, .spec = turn->file};
		g_autofree char *heading = rg_report_heading(&report, &context->out);
		say(context, heading);
	}
	if (!turn->pass)
		return false;
	g_autofree char *text = rg_render_plan(turn->pass->plan, &context->out);
	say(context, text);
	return !turn->pass->plan->errored && !rg_diags_has_errors(context->diags);
}

void turn_plan(Context *context, const ApplyOptions *options, Turn *turn)
{
	RgDiags *common = context->diags;
	context->diags = turn->diags;
	bool ok = turn->saved ? open_saved(context, options, turn)
			      : make_plan(context, options, turn);
	status_clear(context);
	if (!ok)
		fail(turn,
			signals_came(NULL) ? EXIT_INTERRUPTED : rg_diags_exit_code(context->diags));
	tell(context, turn); /* warnings belong before the question */
	context->diags = common;
}

bool turn_is_ready(const Turn *turn)
{
	return !turn->code && turn->pass && rg_plan_has_changes(turn->pass->plan);
}

/* ---- doing it */

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

static const char *outcome_of(const RgApplyResult *result, bool done)
{
	if (result->interrupted)
		return "interrupted";
	if (done)
		return "done";
	return result->added || result->changed || result->destroyed ? "partial" : "failed";
}

/* What the next run has to clear up, as the journal has it. */
static void tell_open(Context *context, Turn *turn)
{
	g_autoptr(RgSnapshot) snapshot =
		rg_store_load(context->store, turn->cluster, context->diags);
	g_autoptr(GString) text = g_string_new("Open, cleared up by the next apply:\n");
	for (size_t i = 0; snapshot && i < rg_resource_set_size(snapshot->recorded); i++) {
		const RgResource *resource = rg_resource_set_get(snapshot->recorded, i);
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

/* What the spec says of protection goes into the state with everything else: it must hold when the
 * pool is taken out of the spec. */
static bool keep_protection(Context *context, const RgPlan *plan)
{
	return !plan->protect ||
	       rg_store_protect(context->store, plan->cluster, plan->protect, context->diags);
}

static int execute(Context *context, const ApplyOptions *options, Turn *turn)
{
	const RgPass *pass = turn->pass;
	g_autofree char *lineage = NULL;
	json_auto_t *meta = run_meta(context, pass);
	const RgPlan *plan = pass->plan;
	const RgRunBegin begin = {
		.cluster = plan->cluster,
		.provider = plan->provider,
		.region = plan->region,
		.config = plan->config,
		.facts = plan->facts,
		.meta = meta,
		.account = pass->account,
	};
	if (!rg_store_begin_run(context->store, &begin, &turn->run, &lineage, context->diags))
		return rg_diags_exit_code(context->diags);
	RgApplyOptions apply = {.parallelism = (unsigned)options->parallelism,
		.interrupted = signals_level,
		.event = on_event,
		.event_data = context,
		.run = turn->run,
		.lineage = lineage,
		.commit = plan->commit,
		.labels = plan->labels};
	context->progress =
		rg_progress_new(plan, context->live, &context->err, write_progress, context);
	signals_now_changing();
	bool done = rg_apply(pass->provider, context->store, pass->snapshot, plan, &apply,
		&turn->result, context->diags);
	rg_progress_finish(context->progress);
	g_clear_pointer(&context->progress, rg_progress_free);
	turn->tried = true;
	turn->outcome = outcome_of(&turn->result, done);
	if (!keep_protection(context, plan))
		done = false;
	if (!rg_store_end_run(context->store, turn->run, turn->outcome, context->diags))
		done = false;
	g_autofree char *text =
		rg_render_apply_result(&turn->result, options->destroy, &context->out);
	say(context, text);
	turn->changes = rg_store_run_changes(context->store, turn->run, context->diags);
	if (turn->result.interrupted || turn->result.open)
		tell_open(context, turn);
	return exit_code_of(context, &turn->result, done);
}

void turn_execute(Context *context, const ApplyOptions *options, Turn *turn)
{
	RgDiags *common = context->diags;
	context->diags = turn->diags;
	turn->outcome = "failed"; /* until it has begun */
	turn->code = execute(context, options, turn);
	tell(context, turn);
	context->diags = common;
}

void turn_keep(Context *context, const ApplyOptions *options, Turn *turn)
{
	RgDiags *common = context->diags;
	context->diags = turn->diags;
	turn->outcome = "nothing-to-do";
	turn->tried = true;
	g_autofree char *text =
		rg_render_apply_result(&turn->result, options->destroy, &context->out);
	if (!options->several)
		say(context, text);
	tell(context, turn);
	context->diags = common;
}
