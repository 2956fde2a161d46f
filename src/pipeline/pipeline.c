#include "pipeline/internal.h"
#include "boot/boot.h"
#include "pipeline/place.h"

/* ---- module and transport */

bool pass_open_provider(RgSession *session, RgPass *pass, const char *name, const char *region,
	const json_t *config, RgDiags *diags)
{
	if (pass->cluster && !pass_check_trust(session, pass, name, config, diags))
		return false;
	pass->provider =
		rg_provider_open(session->providers, name, region, config, &session->http, diags);
	pass_locate(pass->cluster, diags);
	return pass->provider != NULL;
}

bool rg_pass_open(RgSession *session, RgPass *pass, RgDiags *diags)
{
	const RgProviderRef *place = &pass->cluster->provider;
	return pass_open_provider(session, pass, place->name, place->region, place->config, diags);
}

static void refuse_move(const RgCluster *cluster, const char *pointer, const char *recorded,
	const char *said, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "plan.wrong-state",
		"cluster %s is recorded in %s, but the spec says %s", cluster->name, recorded,
		said);
	rg_diag_at(diag, rg_cluster_source(cluster, pointer));
	rg_diag_hint(diag,
		"a cluster cannot move: run `raygpu destroy --cluster %s` first, or rename the new "
		"cluster",
		cluster->name);
}

/* Settings marked with x-raygpu-place in the module's schema: with another value, the cluster would
 * be somewhere else. */
static bool same_settings(const RgSchema *schema, const RgCluster *cluster,
	const RgSnapshot *snapshot, RgDiags *diags)
{
	json_t *settings = json_object_get(rg_schema_config(schema), "properties");
	bool same = true;
	rg_json_foreach_member (name, rule, settings) {
		if (!json_is_true(json_object_get(rule, "x-raygpu-place")))
			continue;
		json_t *was = json_object_get(snapshot->config, name),
		       *is = json_object_get(cluster->provider.config, name);
		if (was == is || json_equal(was, is))
			continue;
		g_autofree char *pointer = rg_json_pointer_add("/provider", name);
		g_autofree char *before = was ? rg_json_canonical(was) : g_strdup("(none)");
		g_autofree char *recorded = g_strdup_printf("%s %s", name, before);
		g_autofree char *now = is ? rg_json_canonical(is) : g_strdup("none");
		refuse_move(cluster, pointer, recorded, now, diags);
		same = false;
	}
	return same;
}

static bool same_place(RgProviderHost *providers, const RgCluster *cluster,
	const RgSnapshot *snapshot, RgDiags *diags)
{
	const RgProviderRef *place = &cluster->provider;
	if (!rg_resource_set_size(snapshot->recorded))
		return true;
	if (g_str_equal(place->name, snapshot->provider) &&
		g_str_equal(place->region, snapshot->region)) {
		const RgSchema *schema = rg_provider_schema(providers, place->name, diags);
		return schema && same_settings(schema, cluster, snapshot, diags);
	}
	g_autofree char *recorded = rg_place_text(snapshot->provider, snapshot->region);
	g_autofree char *said = rg_place_text(place->name, place->region);
	refuse_move(
		cluster, *place->region ? "/provider/region" : "/provider", recorded, said, diags);
	return false;
}

/* ---- three sets -> plan */

/* {pool: seconds}; a new reference, NULL: none states one. */
static json_t *ready_timeouts(const RgCluster *cluster)
{
	json_auto_t *timeouts = json_object();
	const RgPool *pool;
	for (guint i = 0; cluster && (pool = rg_cluster_pool(cluster, i)) != NULL; i++) {
		if (pool->ready_timeout_s)
			json_object_set_new(
				timeouts, pool->name, json_integer(pool->ready_timeout_s));
	}
	return json_object_size(timeouts) ? json_incref(timeouts) : NULL;
}

bool rg_pass_make_plan(RgSession *session, RgPass *pass, RgDiags *diags)
{
	const RgSchema *schema = rg_provider_get_schema(pass->provider);
	const RgSnapshot *snapshot = pass->snapshot;
	const RgCluster *cluster = pass->cluster;
	const RgProviderRef place = pass_place(pass);
	if (!pass_look_until_sure(session, pass, diags))
		return false;
	const RgIntent intent = pass_intent(session, pass);
	if (!rg_intent_check_name(&intent, session->state_path, diags))
		return false;
	bool looking = session->diff.looking; /* none of it is carried out, so nothing is refused */
	if (!looking)
		rg_intent_check_protection(&intent, diags);
	json_auto_t *protection = NULL;
	json_auto_t *protect = rg_intent_protected_pools(&intent, &protection);
	g_autoptr(GPtrArray) order = pass_pool_order(cluster);
	g_autoptr(GArray) rules = pass_rules(pass, session->diff.destroy);
	g_autoptr(GPtrArray) limits =
		session->diff.destroy || looking ? NULL : pass_limits(cluster, pass->project);
	json_auto_t *ignored = pass_ignored_tags(cluster, pass->project);
	json_auto_t *timeouts = ready_timeouts(cluster);
	json_auto_t *leases =
		cluster && !session->diff.destroy ? rg_intent_lease_changes(&intent) : NULL;
	json_auto_t *carbon = pass_carbon(session, pass, diags);
	if (!carbon)
		return false;
	json_auto_t *candidates =
		session->diff.destroy || looking ? NULL : pass_candidates(session, pass);
	const char *spec_file = pass->provenance && pass->provenance->path ? pass->provenance->path
				: cluster				   ? cluster->file
									   : NULL;
	json_auto_t *files = pass_files(cluster, spec_file);
	RgPlanInput input = {.command = session->diff.destroy ? "destroy" : "plan",
		.refresh_only = session->diff.refresh_only,
		.lineage = g_strcmp0(snapshot->lineage, RG_NO_LINEAGE) ? snapshot->lineage : NULL,
		.serial = snapshot->serial,
		.state = session->state_path,
		.commit = pass->provenance ? pass->provenance->commit : NULL,
		.in_git = pass->provenance && pass->provenance->in_repository,
		.dirty = pass->provenance && pass->provenance->dirty,
		.fitted = session->diff.destroy ? NULL : pass->fitted,
		.cluster = snapshot->cluster,
		.provider = place.name,
		.region = place.region,
		.config = place.config,
		.fit = pass->fit,
		.ignore_tags = ignored,
		.ready_timeouts = timeouts,
		.facts = pass->facts ? pass->facts : snapshot->facts,
		.protect = protect,
		.protection = protection,
		.renames = pass->renames,
		.leases = leases,
		.imports = pass->imports,
		.spec_file = spec_file,
		.files = files,
		.spec_digest = cluster ? cluster->digest : NULL,
		.source = pass_source,
		.source_data = cluster,
		.explain = rg_boot_explain,
		.pool_order = order,
		.rules = (const RgPlanRule *)(gconstpointer)rules->data,
		.n_rules = rules->len,
		.candidates = candidates,
		.limits = limits,
		.override = session->override,
		.carbon = carbon};
	if (!looking && !rg_intent_check_renamed(&intent, diags))
		return false;
	pass->plan = rg_plan_new(pass->diff, schema, &input, diags);
	if (!pass->plan)
		return false;
	pass->plan->acting = g_strdup(pass->acting);
	pass_notice(session, pass, diags);
	bool in_time = session->diff.destroy || rg_intent_check_leases(pass->plan, schema,
							pass->leases, cluster, looking, diags);
	if (!pass_check_reservations(session, pass, diags) || !in_time)
		pass->plan->errored = true;
	return true;
}

RgPass *rg_pipeline_load(
	const char *spec_path, const char *ref, const RgTrusted *trusted, RgDiags *diags)
{
	g_autoptr(RgPass) pass = g_new0(RgPass, 1);
	pass->cluster = rg_specs_load(spec_path, ref, &pass->provenance, diags);
	bool loaded = pass->cluster &&
		      rg_specs_project(spec_path, ref, pass->provenance, &pass->project, diags) &&
		      (!trusted || rg_trusted_join(trusted, pass->cluster, &pass->project, diags));
	return loaded ? g_steal_pointer(&pass) : NULL;
}

/* What the spec states beside its nodes: into the snapshot and the pass. */
static bool settle_intent(RgSession *session, RgPass *pass, RgDiags *diags)
{
	RgIntent intent = pass_intent(session, pass);
	if (!intent.looking && !rg_intent_check_removed(&intent, session->providers, diags))
		return false;
	if (intent.destroy)
		return true;
	if (!rg_intent_rename_pools(&intent, &pass->renames, &pass->moves, diags))
		return false;
	intent.renames = pass->renames;
	if (!rg_intent_settle_leases(&intent, &pass->leases, diags))
		return false;
	intent.leases = pass->leases;
	if (!intent.looking)
		rg_intent_end_pools(&intent);
	pass->importing = rg_intent_find_imports(&intent, diags);
	return true;
}

bool rg_pass_settle(RgSession *session, RgPass *pass, RgDiags *diags)
{
	pass->snapshot = rg_store_load(session->store, pass->cluster->name, diags);
	if (!pass->snapshot || !pass_settle(session, pass, diags) ||
		!rg_pass_check_settings(session->providers, pass->cluster, diags) ||
		!same_place(session->providers, pass->cluster, pass->snapshot, diags))
		return false;
	return settle_intent(session, pass, diags);
}

bool pass_plan_here(RgSession *session, RgPass *pass, RgDiags *diags)
{
	bool destroy = session->diff.destroy;
	if (!rg_pass_settle(session, pass, diags) ||
		(!destroy && (!pass_check_elastic(session->providers, pass->cluster, diags) ||
				     !pass_check_jobs(session->providers, pass->cluster, diags))))
		return false;
	if (!rg_pass_open(session, pass, diags))
		return false;
	rg_pass_ask_account(pass);
	bool imports = pass->importing && !session->diff.looking;
	if (destroy)
		pass->desired = rg_resource_set_new();
	else if (imports ? !pass_import(session, pass, diags)
			 : !pass_fit_read(session, pass, true, diags))
		return false;
	const RgIntent intent = pass_intent(session, pass);
	json_decref(pass->imports);
	pass->imports = rg_intent_describe_imports(&intent);
	g_autoptr(RgPreflight) preflight = pass_begin_first_preflight(session, pass);
	if (!rg_pass_make_plan(session, pass, diags))
		return false;
	pass_preflight(session, pass, preflight, diags);
	return true;
}

GPtrArray *rg_pipeline_import(
	RgSession *session, RgPass *pass, const RgImport *imports, size_t n, RgDiags *diags)
{
	if (!rg_pass_settle(session, pass, diags) || !rg_pass_open(session, pass, diags) ||
		rg_snapshot_refuse_secrets(pass->snapshot, "the import", diags))
		return NULL;
	rg_pass_ask_account(pass);
	g_autoptr(GPtrArray) records = pass_find_records(session, pass, imports, n, diags);
	return records && rg_pass_make_plan(session, pass, diags) ? g_steal_pointer(&records)
								  : NULL;
}
