#include "pipeline/internal.h"

/* Passes that start from the state instead of a spec. */

static RgResourceSet *as_recorded(const RgResourceSet *recorded)
{
	RgResourceSet *desired = rg_resource_set_new();
	for (size_t i = 0; i < rg_resource_set_size(recorded); i++) {
		const RgResource *from = rg_resource_set_get(recorded, i);
		RgResource *wanted = rg_resource_new(from->kind, from->name, from->index);
		wanted->group = from->group;
		wanted->origin = from->origin;
		wanted->attrs = json_incref(from->attrs);
		wanted->pin = json_incref(from->pin);
		wanted->depends_on = g_strdupv(from->depends_on);
		rg_resource_set_add(desired, wanted);
	}
	return desired;
}

RgPass *rg_pipeline_open_recorded(RgSession *session, const char *cluster, RgDiags *diags)
{
	g_autoptr(RgPass) pass = g_new0(RgPass, 1);
	pass->snapshot = rg_store_load(session->store, cluster, diags);
	const RgSnapshot *snapshot = pass->snapshot;
	if (!snapshot)
		return NULL;
	if (!snapshot->provider) {
		RgDiag *diag = rg_diags_error(diags, "state.no-such-cluster",
			"the state \"%s\" has no cluster %s", session->state_path, cluster);
		rg_diag_hint(diag, "`raygpu state list` lists its records");
		return NULL;
	}
	if (!pass_open_provider(
		    session, pass, snapshot->provider, snapshot->region, snapshot->config, diags))
		return NULL;
	rg_pass_ask_account(pass);
	return g_steal_pointer(&pass);
}

RgPass *rg_pipeline_plan_recorded(RgSession *session, const char *cluster, RgDiags *diags)
{
	g_autoptr(RgPass) pass = rg_pipeline_open_recorded(session, cluster, diags);
	if (!pass || !rg_specs_project(NULL, NULL, NULL, &pass->project, diags))
		return NULL;
	pass->leases = json_incref(rg_json_unconst(rg_snapshot_leases(pass->snapshot)));
	pass->desired = session->diff.destroy ? rg_resource_set_new()
					      : as_recorded(pass->snapshot->recorded);
	if (!rg_pass_make_plan(session, pass, diags))
		return NULL;
	pass_preflight(session, pass, NULL, diags);
	return g_steal_pointer(&pass);
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
	pass_check_name(session, pass, diags);
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
	return ok && pass_check_name(session, pass, diags);
}

static bool check_leases(const RgSession *session, const RgPlan *plan, RgDiags *diags)
{
	const RgSchema *schema = rg_provider_schema(session->providers, plan->provider, diags);
	return schema && pass_check_leases(plan, schema, json_object_get(plan->facts, "leases"),
				 NULL, false, diags);
}

RgPass *rg_pipeline_open_saved(RgSession *session, const RgPlan *plan, RgDiags *diags)
{
	g_autoptr(RgPass) pass = g_new0(RgPass, 1);
	pass->snapshot = rg_store_load(session->store, plan->cluster, diags);
	if (!pass->snapshot || !pass_rename(pass, plan->renames, diags) ||
		!pass_import_saved(session, pass, plan, diags) ||
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
		(plan->create && !pass_has_nodes(pass) && !name_is_free(session, pass, diags)) ||
		!pass_end_preflight(preflight, pass, diags))
		return NULL;
	return g_steal_pointer(&pass);
}
