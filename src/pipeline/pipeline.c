#include "pipeline/internal.h"
#include "fit/workloads.h"
#include "boot/boot.h"
#include "fit/compat.h"
#include "fit/topology.h"
#include "base/clock.h"
#include "resource/expr.h"

void rg_pass_free(RgPass *pass)
{
	if (!pass)
		return;
	rg_plan_free(pass->plan);
	rg_diff_free(pass->diff);
	rg_resource_set_free(pass->observed);
	rg_resource_set_free(pass->desired);
	json_decref(pass->fitted);
	json_decref(pass->fit);
	json_decref(pass->facts);
	json_decref(pass->place);
	rg_provider_close(pass->provider);
	rg_http_close(pass->http);
	rg_snapshot_free(pass->snapshot);
	rg_provenance_free(pass->provenance);
	rg_project_free(pass->project);
	rg_cluster_free(pass->cluster);
	g_free(pass);
}

static void tell(RgSession *session, const char *stage, const char *what, bool done)
{
	if (session->progress)
		session->progress(session->progress_data, stage, what, 0, done);
}

/* ---- module and transport */

bool pass_open_provider(RgSession *session, RgPass *pass, const char *name, const char *region,
	const json_t *config, RgDiags *diags)
{
	const RgSchema *schema = rg_provider_schema(session->providers, name, diags);
	if (!schema)
		return false;
	session->http.requests_per_s = rg_schema_requests_per_s(schema);
	session->http.burst = rg_schema_burst(schema);
	pass->http = rg_http_open(&session->http, diags);
	if (pass->http)
		pass->provider = rg_provider_open(
			session->providers, name, region, config, pass->http, diags);
	return pass->provider != NULL;
}

bool pass_same_place(const RgCluster *cluster, const RgSnapshot *snapshot, RgDiags *diags)
{
	if (!rg_resource_set_size(snapshot->recorded) ||
		(g_str_equal(cluster->provider.name, snapshot->provider) &&
			g_str_equal(cluster->provider.region, snapshot->region)))
		return true;
	RgDiag *diag = rg_diags_error(diags, "plan.wrong-state",
		"cluster %s is recorded in %s %s, but the spec says %s %s", cluster->name,
		snapshot->provider, snapshot->region, cluster->provider.name,
		cluster->provider.region);
	rg_diag_at(diag, cluster->provider.region_source);
	rg_diag_hint(diag,
		"a cluster doesn't move: `raygpu destroy --cluster %s` first, or give the new "
		"one another name",
		cluster->name);
	return false;
}

/* ---- cluster -> desired */

static RgSource source_of(const void *data, const char *pointer)
{
	return data ? rg_cluster_source(data, pointer) : (RgSource){0};
}

bool pass_fit(RgSession *session, RgPass *pass, RgDiags *diags)
{
	g_autoptr(RgJson) pins = pass_pins(pass);
	if (session->reoptimize)
		json_object_set_new(pins, "reoptimize", json_true());
	g_autoptr(RgCatalog) catalog = NULL;
	g_autoptr(RgShapes) shapes = pass_fit_shapes(
		session->providers, pass->project, pass->cluster, pins, &catalog, diags);
	if (!shapes || !pass_check_policy(pass->cluster, shapes, pass->project, diags))
		return false;
	const json_t *request = rg_fit_request(shapes);
	g_autoptr(RgJson) facts = NULL;
	if (request) {
		tell(session, "resolving", "images, network and zones", false);
		facts = rg_provider_resolve(pass->provider, request, diags);
		rg_diags_locate(diags, source_of, pass->cluster);
		if (!facts)
			return false;
	}
	pass->fit = rg_fit_workloads(pass->cluster, shapes, diags);
	pass->fitted = rg_fit(pass->cluster, shapes, facts, pins, pass->snapshot->lineage, diags);
	pass->facts = pass_facts(pass, pass->fitted);
	int64_t limit = rg_schema_user_data_bytes(rg_provider_get_schema(pass->provider));
	if (pass->fitted)
		rg_fit_check_topology(pass->cluster, catalog, pass->fitted, pass->fit, diags);
	if (!pass->fitted || !rg_fit_check_compat(pass->cluster, shapes, pass->facts, diags) ||
		!rg_boot_render(
			pass->cluster, pass->fitted, (size_t)limit, rg_expr_gzip_size, diags))
		return false;
	pass->desired = rg_provider_lower(pass->provider, pass->fitted, diags);
	rg_diags_locate(diags, source_of, pass->cluster);
	return pass->desired != NULL;
}

/* ---- clouds -> observed */

typedef struct {
	RgSession *session;
} Reading;

static void on_reading(void *data, const char *kind, size_t seen, bool done)
{
	RgSession *session = ((Reading *)data)->session;
	if (session->progress)
		session->progress(session->progress_data, "reading", kind, seen, done);
}

void pass_refresh(RgSession *session, RgPass *pass, RgDiags *diags)
{
	Reading reading = {session};
	RgRefreshInput input = {.cluster = pass->snapshot->cluster,
		.lineage = pass->snapshot->lineage,
		.recorded = pass->snapshot->recorded,
		.desired = pass->desired,
		.tombstones = pass->snapshot->tombstones,
		.now_s = rg_clock_now_s(),
		.settle_ms = session->settle_ms,
		.progress = on_reading,
		.progress_data = &reading};
	pass->observed = rg_refresh(pass->provider, &input, diags);
	tell(session, "reading", "", true);
}

/* ---- three sets -> plan */

static GPtrArray *pool_order(const RgCluster *cluster)
{
	GPtrArray *names = g_ptr_array_new();
	if (cluster)
		g_ptr_array_add(names, cluster->head->name);
	for (guint i = 0; cluster && i < cluster->pools->len; i++)
		g_ptr_array_add(names, ((RgPool *)cluster->pools->pdata[i])->name);
	return names;
}

static GPtrArray *gangs_of(const RgCluster *cluster)
{
	GPtrArray *names = g_ptr_array_new();
	for (guint i = 0; cluster && i < cluster->pools->len; i++) {
		const RgPool *pool = cluster->pools->pdata[i];
		if (pool->gang)
			g_ptr_array_add(names, pool->name);
	}
	return names;
}

bool pass_make_plan(RgSession *session, RgPass *pass, RgDiags *diags)
{
	const RgSchema *schema = rg_provider_get_schema(pass->provider);
	const RgSnapshot *snapshot = pass->snapshot;
	const RgCluster *cluster = pass->cluster;
	g_autoptr(RgDiags) unread = rg_diags_new(), undecided = rg_diags_new();
	pass_refresh(session, pass, unread);
	pass->diff = rg_diff(schema, pass->desired, snapshot->recorded, pass->observed,
		&session->diff, undecided);
	if (rg_diags_has_errors(unread))
		rg_diags_drop(undecided, "diff.unknown"); /* the reading told why already */
	rg_diags_take_new(diags, unread);
	rg_diags_take_new(diags, undecided);
	if (!pass->diff)
		return false;
	bool looking = session->diff.looking; /* nothing of it is done: nothing is refused */
	if (!looking)
		pass_check_protection(session, pass, diags);
	g_autoptr(RgJson) protect = pass_protected_pools(session, pass);
	g_autoptr(GPtrArray) order = pool_order(cluster), gangs = gangs_of(cluster);
	g_autoptr(GPtrArray) limits = session->diff.destroy || looking ? NULL : pass_limits(pass);
	g_autoptr(RgJson) carbon = pass_carbon(session, pass, diags);
	if (!carbon)
		return false;
	RgPlanInput input = {.command = session->diff.destroy ? "destroy" : "plan",
		.lineage = snapshot->lineage,
		.serial = snapshot->serial,
		.state = session->state_path,
		.commit = pass->provenance ? pass->provenance->commit : NULL,
		.in_git = pass->provenance && pass->provenance->in_repository,
		.dirty = pass->provenance && pass->provenance->dirty,
		.fitted = session->diff.destroy ? NULL : pass->fitted,
		.cluster = snapshot->cluster,
		.provider = cluster ? cluster->provider.name : snapshot->provider,
		.region = cluster ? cluster->provider.region : snapshot->region,
		.config = cluster ? cluster->provider.config : snapshot->config,
		.fit = pass->fit,
		.facts = pass->facts ? pass->facts : snapshot->facts,
		.protect = protect,
		.spec_file = pass->provenance && pass->provenance->path ? pass->provenance->path
			     : cluster					? cluster->file
									: NULL,
		.spec_digest = cluster ? cluster->digest : NULL,
		.source = source_of,
		.source_data = cluster,
		.pool_order = order,
		.gangs = gangs,
		.limits = limits,
		.override = session->override,
		.carbon = carbon};
	pass->plan = rg_plan_new(pass->diff, schema, &input, diags);
	return pass->plan != NULL;
}

RgPass *rg_pipeline_plan(RgSession *session, const char *spec_path, RgDiags *diags)
{
	g_autoptr(RgPass) pass = g_new0(RgPass, 1);
	pass->cluster = rg_pipeline_load_spec(spec_path, session->ref, &pass->provenance, diags);
	if (!pass->cluster || !pass_load_project_at(spec_path, session->ref, pass->provenance,
				      &pass->project, diags))
		return NULL;
	pass->snapshot = rg_store_load(session->store, pass->cluster->name, diags);
	if (!pass->provenance || !pass->snapshot || !pass_settle(session, pass, diags) ||
		!pass_check_settings(session->providers, pass->cluster, diags) ||
		!pass_same_place(pass->cluster, pass->snapshot, diags))
		return NULL;
	const RgProviderRef *place = &pass->cluster->provider;
	if (!pass_open_provider(session, pass, place->name, place->region, place->config, diags))
		return NULL;
	if (session->diff.destroy)
		pass->desired = rg_resource_set_new();
	else if (!pass_fit(session, pass, diags))
		return NULL;
	return pass_make_plan(session, pass, diags) ? g_steal_pointer(&pass) : NULL;
}
