#include "pipeline/internal.h"
#include "boot/boot.h"
#include "fit/compat.h"
#include "fit/topology.h"
#include "base/clock.h"
#include "resource/expr.h"

/* ---- module and transport */

bool pass_open_provider(RgSession *session, RgPass *pass, const char *name, const char *region,
	const json_t *config, RgDiags *diags)
{
	if (pass->cluster && !pass_check_trust(session, pass, name, config, diags))
		return false;
	pass->provider =
		rg_provider_open(session->providers, name, region, config, &session->http, diags);
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
	json_t *settings = json_object_get(rg_schema_config(schema), "properties"), *rule;
	const char *name;
	bool same = true;
	json_object_foreach (settings, name, rule) {
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

/* ---- cluster -> desired */

RgShapes *pass_make_shapes(RgSession *session, RgPass *pass, RgDiags *diags)
{
	g_clear_pointer(&pass->fit, json_decref); /* of an earlier fit */
	g_clear_pointer(&pass->fitted, json_decref);
	g_clear_pointer(&pass->facts, json_decref);
	g_clear_pointer(&pass->desired, rg_resource_set_free);
	json_t *pins = rg_pass_pins(pass);
	if (session->reoptimize)
		json_object_set_new(pins, "reoptimize", json_true());
	if (session->renew_images)
		json_object_set_new(pins, "renew_images", json_true());
	if (!pass_ask_reservations(session, pass, pins, diags))
		return NULL;
	g_autoptr(RgShapes) shapes =
		pass_fit_shapes(pass_tables(session, pass), pass->cluster, pins, diags);
	if (!shapes || !pass_check_policy(pass->cluster, shapes, pass->project, diags))
		return NULL;
	return g_steal_pointer(&shapes);
}

bool pass_fit_facts(RgSession *session, RgPass *pass, const RgShapes *shapes, const json_t *facts,
	RgDiags *diags)
{
	json_t *pins = rg_pass_pins(pass);
	RgTables *tables = pass_tables(session, pass);
	pass->fit = pass_fit_workloads(pass->cluster, shapes, pass->project, NULL, diags);
	pass->fitted = rg_fit(pass->cluster, shapes, facts, pins, pass->snapshot->lineage, diags);
	pass_choose_disks(rg_provider_get_schema(pass->provider), pass->fitted);
	pass_set_expiries(pass, pass->fitted);
	pass->facts = pass_facts(pass, pass->fitted);
	const RgProviderRef *place = &pass->cluster->provider;
	const RgCatalog *catalog = rg_tables_catalog(tables, place->name, place->region, diags);
	if (pass->fitted && catalog)
		rg_fit_check_topology(pass->cluster, catalog, pass->fitted, pass->fit, diags);
	return pass->fitted && rg_fit_check_compat(pass->cluster, shapes, pass->facts, diags) &&
	       pass_boot(session, pass, pass->fitted, diags);
}

static bool fit_shapes(RgSession *session, RgPass *pass, const RgShapes *shapes, RgDiags *diags)
{
	const json_t *request = rg_fit_request(shapes);
	json_auto_t *facts = NULL;
	if (request &&
		!(facts = pass_resolve(session, pass, request, "images, network and zones", diags)))
		return false;
	if (!pass_fit_facts(session, pass, shapes, facts, diags))
		return false;
	pass->desired = rg_provider_lower(pass->provider, pass->fitted, diags);
	pass_locate(pass->cluster, diags);
	return pass->desired != NULL;
}

/* `read`: while the cloud is read; the two are independent. */
static bool fit_pass(RgSession *session, RgPass *pass, bool read, RgDiags *diags)
{
	g_clear_pointer(&pass->shapes, rg_fit_shapes_free);
	pass->shapes = pass_make_shapes(session, pass, diags);
	if (pass->shapes && read)
		pass_begin_refresh(session, pass);
	bool ok = pass->shapes && fit_shapes(session, pass, pass->shapes, diags);
	if (!ok && read) /* otherwise it would keep reporting progress */
		rg_refresh_drop(g_steal_pointer(&pass->reading));
	return ok;
}

bool rg_pass_fit(RgSession *session, RgPass *pass, RgDiags *diags)
{
	return fit_pass(session, pass, false, diags);
}

/* ---- three sets -> plan */

/* {pool: seconds}; a new reference, NULL: none states one. */
static json_t *ready_timeouts(const RgCluster *cluster)
{
	json_auto_t *timeouts = json_object();
	for (guint i = 0; cluster && i <= cluster->pools->len; i++) {
		const RgPool *pool = i ? cluster->pools->pdata[i - 1] : cluster->head;
		if (pool->ready_timeout_s)
			json_object_set_new(
				timeouts, pool->name, json_integer(pool->ready_timeout_s));
	}
	return json_object_size(timeouts) ? json_incref(timeouts) : NULL;
}

static GPtrArray *pool_order(const RgCluster *cluster)
{
	GPtrArray *names = g_ptr_array_new();
	if (cluster)
		g_ptr_array_add(names, cluster->head->name);
	for (guint i = 0; cluster && i < cluster->pools->len; i++)
		g_ptr_array_add(names, ((RgPool *)cluster->pools->pdata[i])->name);
	return names;
}

/* Reads and decides; discards what was read before. */
static bool pass_look(RgSession *session, RgPass *pass, RgDiags *diags)
{
	g_autoptr(RgDiags) unread = rg_diags_new(), undecided = rg_diags_new();
	g_clear_pointer(&pass->diff, rg_diff_free);
	g_clear_pointer(&pass->observed, rg_resource_set_free);
	pass_refresh(session, pass, unread);
	if (!rg_pass_check_account(pass, !rg_diags_has_errors(unread), diags))
		return false; /* what it shows, or refuses, says nothing about this cluster */
	if (!pass->observed) {
		rg_diags_take_all(diags, unread);
		return false;
	}
	g_autoptr(GPtrArray) order = pool_order(pass->cluster);
	json_auto_t *ignored = pass_ignored_tags(pass->cluster, pass->project);
	RgDiffOptions options = session->diff;
	g_autoptr(GHashTable) awaited = pass_awaited(session, pass);
	options.pools = order;
	options.ignored = ignored;
	options.same = rg_boot_is_same_node;
	options.awaited = awaited;
	g_autoptr(GArray) releases = pass_releases(pass);
	options.releases = (const RgRelease *)(gconstpointer)releases->data;
	options.n_releases = releases->len;
	pass->diff = rg_diff(rg_provider_get_schema(pass->provider), pass->desired,
		pass->snapshot->recorded, pass->observed, &options, undecided);
	if (rg_diags_has_errors(unread))
		rg_diags_drop(undecided, "diff.unknown"); /* the read has already reported why */
	rg_diags_take_new(diags, unread);
	rg_diags_take_new(diags, undecided);
	return pass->diff != NULL;
}

/* Seconds until the cloud must show the result of an update that blocks a decision (decide.md row
 * 15); 0: there is none. */
static int64_t doubtful_for_s(const RgPass *pass)
{
	const RgSchema *schema = rg_provider_get_schema(pass->provider);
	int64_t longest_s = 0, now_s = rg_clock_now_s();
	for (guint i = 0; i < pass->diff->changes->len; i++) {
		const RgChange *change = pass->diff->changes->pdata[i];
		if (change->action != RG_ACTION_STOP || !change->recorded || !change->observed ||
			!change->observed->doubtful)
			continue;
		const RgKind *kind = rg_schema_kind(schema, change->recorded->kind);
		int64_t pending_s = change->recorded->updating ? kind->unseen_update_s : 0;
		int64_t window_s = kind->consistency_s + pending_s;
		int64_t changed_s = MAX(change->recorded->created_s, change->recorded->updated_s);
		longest_s = MAX(longest_s, MIN(changed_s + window_s - now_s, window_s));
	}
	return longest_s;
}

/* Two consecutive views may be old ones, so only the cloud's own period is long enough. */
static bool look_until_sure(RgSession *session, RgPass *pass, RgDiags *diags)
{
	g_autoptr(RgDiags) first = rg_diags_new();
	bool ok = pass_look(session, pass, first);
	int64_t wait_s = ok && session->settle_ms ? doubtful_for_s(pass) : 0;
	if (wait_s <= 0) {
		rg_diags_take_new(diags, first);
		return ok;
	}
	pass_tell(session, "waiting", "for the cloud to show an interrupted update", 0, false);
	if (rg_provider_sleep(pass->provider, (unsigned)(wait_s + 1) * 1000))
		return pass_look(session, pass, diags);
	rg_diags_error(
		diags, "provider.canceled", "waiting for an update to become visible was canceled");
	return false;
}

bool rg_pass_make_plan(RgSession *session, RgPass *pass, RgDiags *diags)
{
	const RgSchema *schema = rg_provider_get_schema(pass->provider);
	const RgSnapshot *snapshot = pass->snapshot;
	const RgCluster *cluster = pass->cluster;
	const RgProviderRef place = pass_place(pass);
	if (!look_until_sure(session, pass, diags) || !pass_check_name(session, pass, diags))
		return false;
	bool looking = session->diff.looking; /* none of it is carried out, so nothing is refused */
	if (!looking)
		pass_check_protection(session, pass, diags);
	json_auto_t *protection = NULL;
	json_auto_t *protect = pass_protected_pools(session, pass, &protection);
	g_autoptr(GPtrArray) order = pool_order(cluster);
	g_autoptr(GArray) rules = pass_rules(pass, session->diff.destroy);
	g_autoptr(GPtrArray) limits =
		session->diff.destroy || looking ? NULL : pass_limits(cluster, pass->project);
	json_auto_t *ignored = pass_ignored_tags(cluster, pass->project);
	json_auto_t *timeouts = ready_timeouts(cluster);
	json_auto_t *leases = cluster && !session->diff.destroy ? pass_lease_changes(pass) : NULL;
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
	pass->plan = rg_plan_new(pass->diff, schema, &input, diags);
	if (!pass->plan)
		return false;
	pass->plan->acting = g_strdup(pass->acting);
	pass_notice(session, pass, diags);
	bool in_time = session->diff.destroy ||
		       pass_check_leases(pass->plan, schema, pass->leases, cluster, looking, diags);
	if (!pass_check_reservations(session, pass, diags) || !in_time)
		pass->plan->errored = true;
	return true;
}

/* Anyone who can read the repository could join the Ray cluster; and a clone has a copy that
 * becomes stale. */
static void warn_of_tracked_state(
	const RgSession *session, const RgProvenance *provenance, RgDiags *diags)
{
	if (!provenance->in_repository || !rg_git_tracks(session->state_path))
		return;
	RgDiag *diag = rg_diags_warning(diags, "state.in-git",
		"the state \"%s\" is tracked by git, and it contains the Ray token",
		session->state_path);
	rg_diag_hint(diag,
		"remove it with `git rm --cached -f %s`, and treat the token as public if it was "
		"pushed",
		session->state_path);
}

RgPass *rg_pipeline_load(const char *spec_path, const char *ref, RgDiags *diags)
{
	g_autoptr(RgPass) pass = g_new0(RgPass, 1);
	pass->cluster = rg_specs_load(spec_path, ref, &pass->provenance, diags);
	bool loaded = pass->cluster &&
		      rg_specs_project(spec_path, ref, pass->provenance, &pass->project, diags);
	return loaded ? g_steal_pointer(&pass) : NULL;
}

bool rg_pass_settle(RgSession *session, RgPass *pass, RgDiags *diags)
{
	pass->snapshot = rg_store_load(session->store, pass->cluster->name, diags);
	return pass->snapshot && pass_settle(session, pass, diags) &&
	       rg_pass_check_settings(session->providers, pass->cluster, diags) &&
	       same_place(session->providers, pass->cluster, pass->snapshot, diags) &&
	       (session->diff.looking || pass_check_removed(session, pass, diags)) &&
	       (session->diff.destroy ||
		       (pass_rename_pools(pass, diags) && pass_settle_leases(pass, diags) &&
			       pass_find_imports(session, pass, diags)));
}

static bool plan_pass(RgSession *session, RgPass *pass, RgDiags *diags)
{
	bool destroy = session->diff.destroy;
	if (!rg_pass_settle(session, pass, diags) ||
		(!destroy && (!pass_check_elastic(session->providers, pass->cluster, diags) ||
				     !pass_check_jobs(session->providers, pass->cluster, diags))))
		return false;
	warn_of_tracked_state(session, pass->provenance, diags);
	if (!rg_pass_open(session, pass, diags))
		return false;
	rg_pass_ask_account(pass);
	bool imports = pass->importing && !session->diff.looking;
	if (destroy)
		pass->desired = rg_resource_set_new();
	else if (imports ? !session->import(session, pass, diags)
			 : !fit_pass(session, pass, true, diags))
		return false;
	pass_describe_imports(pass);
	g_autoptr(RgPreflight) preflight = pass_begin_first_preflight(session, pass);
	if (!rg_pass_make_plan(session, pass, diags))
		return false;
	pass_preflight(session, pass, preflight, diags);
	return true;
}

bool rg_pipeline_plan(RgSession *session, RgPass *pass, RgDiags *diags)
{
	bool planned = plan_pass(session, pass, diags);
	pass_explain_place(pass, diags);
	return planned;
}
