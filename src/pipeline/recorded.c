#include "pipeline/internal.h"

/* Passes that start from the state instead of a spec. */

/* A cluster of the pass is what admits the recorded settings. */
static bool open_recorded(RgSession *session, RgPass *pass, const char *cluster, RgDiags *diags)
{
	pass->snapshot = rg_store_load(session->store, cluster, diags);
	const RgSnapshot *snapshot = pass->snapshot;
	if (!snapshot)
		return false;
	if (!snapshot->provider) {
		RgDiag *diag = rg_diags_error(diags, "state.no-such-cluster",
			"the state \"%s\" has no cluster %s", session->state_path, cluster);
		rg_diag_hint(diag, "`raygpu state list` lists its records");
		return false;
	}
	if (!pass_open_provider(
		    session, pass, snapshot->provider, snapshot->region, snapshot->config, diags))
		return false;
	rg_pass_ask_account(pass);
	return true;
}

RgPass *rg_pipeline_open_recorded(RgSession *session, const char *cluster, RgDiags *diags)
{
	g_autoptr(RgPass) pass = g_new0(RgPass, 1);
	return open_recorded(session, pass, cluster, diags) ? g_steal_pointer(&pass) : NULL;
}

static bool plan_recorded(RgSession *session, RgPass *pass, RgDiags *diags)
{
	pass->leases = json_incref(rg_json_unconst(rg_snapshot_leases(pass->snapshot)));
	pass->desired = session->diff.destroy ? rg_resource_set_new()
					      : rg_diff_recorded(pass->snapshot->recorded);
	if (!rg_pass_make_plan(session, pass, diags))
		return false;
	pass_preflight(session, pass, NULL, diags);
	return true;
}

RgPass *rg_pipeline_plan_recorded(RgSession *session, const char *cluster, RgDiags *diags)
{
	g_autoptr(RgPass) pass = rg_pipeline_open_recorded(session, cluster, diags);
	if (!pass || !rg_specs_project(NULL, NULL, NULL, &pass->project, diags) ||
		!plan_recorded(session, pass, diags))
		return NULL;
	return g_steal_pointer(&pass);
}

bool rg_pipeline_plan_refresh(RgSession *session, RgPass *pass, RgDiags *diags)
{
	if (!open_recorded(session, pass, pass->cluster->name, diags))
		return false;
	g_clear_pointer(&pass->cluster, rg_cluster_free);
	return plan_recorded(session, pass, diags);
}

RgPass *rg_pipeline_observe(RgSession *session, const char *cluster, RgDiags *diags)
{
	g_autoptr(RgPass) pass = rg_pipeline_open_recorded(session, cluster, diags);
	if (!pass)
		return NULL;
	g_autoptr(RgDiags) unread = rg_diags_new();
	pass_refresh(session, pass, unread);
	if (!rg_pass_check_account(pass, !rg_diags_has_errors(unread), diags))
		return NULL;
	rg_diags_take_all(diags, unread);
	if (!pass->observed)
		return NULL;
	const RgIntent intent = pass_intent(session, pass);
	rg_intent_check_name(&intent, session->state_path, diags);
	return g_steal_pointer(&pass);
}

/* A state without a node may be the wrong one by now: another may have created the cluster
 * since. */
static bool name_is_free(const RgSession *session, RgPass *pass, RgDiags *diags)
{
	g_autoptr(RgDiags) unread = rg_diags_new();
	const RgRefreshInput input = pass_refresh_input(pass);
	rg_resource_set_free(rg_refresh(pass->provider, &input, unread));
	rg_diags_drop(unread, "refresh.unsettled"); /* that concerns ours */
	bool ok = !rg_diags_has_errors(unread);
	rg_diags_take_new(diags, unread);
	const RgIntent intent = pass_intent(session, pass);
	return ok && rg_intent_check_name(&intent, session->state_path, diags);
}

static bool has_nodes(const RgSession *session, const RgPass *pass)
{
	const RgIntent intent = pass_intent(session, pass);
	return rg_intent_has_nodes(&intent);
}

static bool check_leases(const RgSession *session, const RgPlan *plan, RgDiags *diags)
{
	const RgSchema *schema = rg_provider_schema(session->providers, plan->provider, diags);
	return schema && rg_intent_check_leases(plan, schema,
				 json_object_get(plan->facts, "leases"), NULL, false, diags);
}

RgPass *rg_pipeline_open_saved(RgSession *session, const RgPlan *plan, RgDiags *diags)
{
	g_autoptr(RgPass) pass = g_new0(RgPass, 1);
	pass->snapshot = rg_store_load(session->store, plan->cluster, diags);
	const RgIntent intent = pass_intent(session, pass);
	if (!pass->snapshot || !rg_intent_rename(&intent, plan->renames, &pass->moves, diags) ||
		!rg_intent_import_saved(&intent, session->store, plan, &pass->imported, diags) ||
		!rg_plan_check_fresh(
			plan, pass->snapshot->lineage, pass->snapshot->recorded, diags) ||
		!check_leases(session, plan, diags) ||
		!rg_specs_project(plan->spec_file, NULL, NULL, &pass->project, diags) ||
		!pass_check_trust(session, pass, plan->provider, plan->config, diags))
		return NULL;
	if (!pass_open_provider(session, pass, plan->provider, plan->region, plan->config, diags))
		return NULL;
	/* the plan was approved for one account, but may be applied in another: there, resources
	 * that it removes would count as gone */
	const RgRefreshInput input = pass_refresh_input(pass);
	g_autoptr(RgDiags) unread = rg_diags_new();
	rg_pass_ask_account(pass);
	g_autoptr(RgPreflight) preflight = pass_begin_preflight(session, pass, plan);
	bool there = rg_refresh_is_there(pass->provider, &input, unread);
	if (!rg_pass_check_account(pass, there, diags))
		return NULL;
	rg_diags_take_all(diags, unread);
	if (!there ||
		(plan->create && !has_nodes(session, pass) &&
			!name_is_free(session, pass, diags)) ||
		!pass_end_preflight(preflight, pass, diags))
		return NULL;
	return g_steal_pointer(&pass);
}
