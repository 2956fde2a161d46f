/* A cluster leaves a place that has no capacity for it. */
#include "pipeline/internal.h"

bool rg_pipeline_give_back(RgSession *session, const char *cluster, const RgApplyOptions *options,
	const json_t *who, RgRun *run, RgDiags *diags)
{
	const RgDiffOptions kept = session->diff;
	json_auto_t *meta = who ? json_copy(rg_json_unconst(who)) : json_object();
	rg_json_set_str(meta, "command", PASS_MOVE);
	session->diff = (RgDiffOptions){.destroy = true};
	g_autoptr(RgPass) pass = rg_pipeline_plan_recorded(session, cluster, diags);
	*run = (RgRun){.outcome = "failed"};
	bool done = pass && !pass->plan->errored &&
		    (!rg_plan_has_changes(pass->plan) ||
			    rg_pipeline_run(session, pass, options, meta, run, diags));
	session->diff = kept;
	return done;
}
