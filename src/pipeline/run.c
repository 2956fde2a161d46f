/* The last step: carries out a plan, and records in the state who did it and the result. */
#include "pipeline/internal.h"

/* What `raygpu log` shows of the run. */
static json_t *meta_of(const RgPass *pass, const json_t *who)
{
	const RgPlan *plan = pass->plan;
	json_t *meta = who ? json_copy(rg_json_unconst(who)) : json_object();
	rg_json_set_str(meta, "commit", plan->commit);
	rg_json_set_str(meta, "author", pass->provenance ? pass->provenance->author : NULL);
	json_object_set_new(meta, "dirty", json_boolean(plan->dirty));
	rg_json_set_str(meta, "spec", plan->spec_file);
	rg_json_set_str(meta, "digest", plan->spec_digest);
	if (plan->labels)
		json_object_set(meta, "labels", plan->labels);
	if (plan->override)
		rg_json_set_str(meta, "budget_override", plan->override);
	return meta;
}

static const char *outcome_of(const RgRun *run, bool done)
{
	const RgApplyResult *result = &run->result;
	if (result->interrupted || run->ready.interrupted)
		return "interrupted";
	if (done)
		return "done";
	return json_array_size(run->ready.failed) || result->added || result->changed ||
			       result->destroyed
		       ? "partial"
		       : "failed";
}

/* `failed`: addresses that are not awaited, because they did not even start; may be NULL. */
static bool run_wait(
	RgSession *session, const RgPass *pass, GHashTable *failed, RgRun *run, RgDiags *diags)
{
	if (!session->ready || session->diff.destroy)
		return true;
	RgReadyOptions options = *session->ready;
	options.timeouts_s = pass->plan->ready_timeouts;
	options.failed = failed;
	bool done = rg_ready_wait(
		pass->provider, session->store, pass->plan->cluster, &options, &run->ready, diags);
	if (pass->cluster)
		pass_locate(pass->cluster, diags);
	return done;
}

bool rg_pipeline_wait(RgSession *session, const RgPass *pass, RgRun *run, RgDiags *diags)
{
	return run_wait(session, pass, NULL, run, diags);
}

/* What the caller is shown passes here. */
typedef struct {
	const RgApplyOptions *options;
	GHashTable *failed; /* char* address -> itself */
} Watch;

static void run_event(void *data, const RgEvent *event)
{
	const Watch *watch = data;
	if (event->type == RG_EVENT_FAILED && event->address)
		g_hash_table_add(watch->failed, g_strdup(event->address));
	if (watch->options->event)
		watch->options->event(watch->options->event_data, event);
}

/* And nothing else. */
static bool lacks_capacity(const RgApplyResult *result)
{
	return result->lacking && result->lacking == result->failed && !result->open &&
	       !result->interrupted;
}

static char *run_begin(
	RgSession *session, const RgPass *pass, const json_t *who, RgRun *run, RgDiags *diags)
{
	const RgPlan *plan = pass->plan;
	json_auto_t *meta = meta_of(pass, who);
	const RgRunBegin begin = {.cluster = plan->cluster,
		.provider = plan->provider,
		.region = plan->region,
		.config = plan->config,
		.facts = plan->facts,
		.meta = meta,
		.account = pass->account};
	char *lineage = NULL;
	rg_store_begin_run(session->store, &begin, &run->id, &lineage, diags);
	return lineage;
}

bool rg_pipeline_run(RgSession *session, const RgPass *pass, const RgApplyOptions *options,
	const json_t *who, RgRun *run, RgDiags *diags)
{
	const RgPlan *plan = pass->plan;
	*run = (RgRun){.outcome = "failed"};
	g_autofree char *lineage = run_begin(session, pass, who, run, diags);
	if (!lineage)
		return false;
	g_autoptr(GHashTable) failed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	Watch watch = {options, failed};
	RgApplyOptions apply = *options;
	apply.event = run_event;
	apply.event_data = &watch;
	apply.run = run->id;
	apply.lineage = lineage;
	apply.commit = plan->commit;
	apply.labels = plan->labels;
	bool may_move = pass_may_move(session, pass, diags);
	if (may_move) /* the other places are tried first */
		apply.capacity_ms = 0;
	bool done = rg_apply(
		pass->provider, session->store, pass->snapshot, plan, &apply, &run->result, diags);
	run->moves = may_move && lacks_capacity(&run->result);
	if (!run->result.interrupted && !run->moves)
		done = run_wait(session, pass, failed, run, diags) && done;
	/* a cluster that may still move is cut off by what has no known outcome */
	bool cut_off = may_move && run->result.open;
	run->outcome = run->moves ? "moved" : cut_off ? "interrupted" : outcome_of(run, done);
	/* the spec's protection must still apply when the pool leaves the spec */
	bool kept = run->moves || !plan->protect ||
		    rg_store_protect(session->store, plan->cluster, plan->protect, diags);
	done = rg_store_end_run(session->store, run->id, run->outcome, diags) && kept && done;
	run->changes = rg_store_run_changes(session->store, run->id, diags);
	if (run->result.interrupted || run->result.open)
		run->left = rg_store_load(session->store, plan->cluster, diags);
	return done;
}

void rg_run_clear(RgRun *run)
{
	g_free(run->id);
	rg_ready_result_clear(&run->ready);
	json_decref(run->changes);
	json_decref(run->result.tried);
	rg_snapshot_free(run->left);
	*run = (RgRun){0};
}
