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

static const char *outcome_of(const RgApplyResult *result, bool done)
{
	if (result->interrupted)
		return "interrupted";
	if (done)
		return "done";
	return result->added || result->changed || result->destroyed ? "partial" : "failed";
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
	RgApplyOptions apply = *options;
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
	run->outcome = run->moves ? "moved" : outcome_of(&run->result, done);
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
	json_decref(run->changes);
	json_decref(run->result.tried);
	rg_snapshot_free(run->left);
	*run = (RgRun){0};
}
