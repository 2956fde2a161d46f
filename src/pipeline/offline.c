/* What can be said about a spec without a cloud and without a state: whether it is valid, and what
 * runs on it. */
#include <string.h>
#include "fit/compat.h"
#include "workloads/workloads.h"
#include "pipeline/internal.h"

/* Without a commit nobody needs the provenance, so libgit2 is not loaded. */
static RgCluster *offline_load(
	const char *spec_path, const char *ref, RgProvenance **provenance, RgDiags *diags)
{
	return ref ? rg_specs_load(spec_path, ref, provenance, diags)
		   : rg_spec_load_file(spec_path, diags);
}

bool pass_open_offline(RgProviderHost *providers, RgPass *pass, RgDiags *diags)
{
	const RgProviderRef *place = &pass->cluster->provider;
	pass->provider =
		rg_provider_open(providers, place->name, place->region, place->config, NULL, diags);
	return pass->provider != NULL;
}

/* What the module makes of the nodes, where that needs no answer from its cloud. */
static bool lower_new(
	RgProviderHost *providers, RgPass *pass, const RgShapes *shapes, RgDiags *diags)
{
	RgSession session = {.providers = providers};
	const RgSchema *schema = rg_provider_schema(providers, pass->cluster->provider.name, diags);
	const json_t *request = rg_fit_request(shapes);
	if (!schema || !rg_schema_has_no_zones(schema) || !request)
		return schema != NULL;
	json_auto_t *facts = rg_provider_known_facts(schema, request);
	if (!pass_open_offline(providers, pass, diags) ||
		!pass_fit_facts(&session, pass, shapes, facts, NULL, diags))
		return false;
	pass->desired = rg_provider_lower(pass->provider, pass->fitted, diags);
	pass_locate(pass->cluster, diags);
	return pass->desired != NULL;
}

/* For a cluster of which nothing is recorded; `project` and `tables` are borrowed. */
static bool lower_offline(RgProviderHost *providers, RgCluster *cluster, RgProject *project,
	RgTables *tables, const RgShapes *shapes, RgDiags *diags)
{
	RgPass *pass = g_new0(RgPass, 1);
	pass->cluster = cluster;
	pass->project = project;
	pass->tables = tables;
	pass->snapshot = rg_snapshot_new(cluster->name);
	g_autoptr(RgDiags) found = rg_diags_new(); /* some of it again */
	bool good = lower_new(providers, pass, shapes, found);
	rg_diags_take_new(diags, found);
	pass->cluster = NULL;
	pass->project = NULL;
	pass->tables = NULL;
	rg_pass_free(pass);
	return good;
}

static bool validate(RgProviderHost *providers, RgCluster *cluster, RgProject *project,
	bool readable, RgDiags *diags)
{
	g_autoptr(RgTables) tables = rg_tables_new(providers, project);
	if (cluster && readable && !pass_settle_offline(tables, cluster, diags))
		return false;
	bool ok = cluster && rg_pass_check_settings(providers, cluster, diags);
	g_autoptr(RgDiags) found = rg_diags_new();
	json_auto_t *pins = json_pack("{s:b}", "types_later", true);
	g_autoptr(RgShapes) shapes =
		cluster && readable ? pass_fit_shapes(tables, cluster, pins, found) : NULL;
	bool later = cluster && readable && !shapes && !rg_diags_has_errors(found);
	rg_diags_take_all(diags, found);
	ok = (later || (shapes && rg_fit_check_compat(cluster, shapes, NULL, diags))) && ok;
	ok = (later || (shapes && pass_check_policy(cluster, shapes, project, diags))) && ok;
	ok = cluster && pass_check_elastic(providers, cluster, diags) &&
	     pass_check_jobs(providers, cluster, diags) && ok; /* as in a plan */
	return ok && (later || lower_offline(providers, cluster, project, tables, shapes, diags));
}

RgCluster *rg_pipeline_validate(RgProviderHost *providers, const char *spec_path, const char *ref,
	const RgTrusted *trusted, RgDiags *diags)
{
	g_autoptr(RgProvenance) provenance = NULL;
	g_autoptr(RgCluster) cluster = offline_load(spec_path, ref, &provenance, diags);
	g_autoptr(RgProject) project = NULL;
	/* if the spec could not be read, the work tree's project file is used */
	bool readable =
		rg_specs_project(spec_path, cluster ? ref : NULL, provenance, &project, diags);
	if (readable && cluster && trusted)
		readable = rg_trusted_join(trusted, cluster, &project, diags);
	bool ok = validate(providers, cluster, project, readable, diags);
	return ok ? g_steal_pointer(&cluster) : NULL;
}

RgCluster *rg_pipeline_validate_text(
	RgProviderHost *providers, const char *path, const char *text, RgDiags *diags)
{
	g_autoptr(RgCluster) cluster = rg_spec_load(path, text, strlen(text), diags);
	g_autoptr(RgProject) project = NULL;
	bool readable = rg_specs_project(path, NULL, NULL, &project, diags);
	bool ok = validate(providers, cluster, project, readable, diags);
	return ok ? g_steal_pointer(&cluster) : NULL;
}

json_t *rg_pipeline_fit(RgProviderHost *providers, const char *spec_path, const char *ref,
	const RgTrusted *trusted, const RgEmit *form, const char *explain, RgDiags *diags)
{
	g_autoptr(RgProvenance) provenance = NULL;
	g_autoptr(RgCluster) cluster = offline_load(spec_path, ref, &provenance, diags);
	g_autoptr(RgProject) project = NULL;
	if (!cluster || !rg_specs_project(spec_path, ref, provenance, &project, diags) ||
		(trusted && !rg_trusted_join(trusted, cluster, &project, diags)))
		return NULL;
	g_autoptr(RgTables) tables = rg_tables_new(providers, project);
	if (!pass_settle_offline(tables, cluster, diags) ||
		!rg_pass_check_settings(providers, cluster, diags))
		return NULL;
	g_autoptr(RgShapes) shapes = pass_fit_shapes(tables, cluster, NULL, diags);
	if (!shapes)
		return NULL;
	json_auto_t *explained = explain ? rg_fit_explain(cluster, shapes, explain, diags) : NULL;
	if (explain && !explained)
		return NULL;
	rg_fit_check_compat(cluster, shapes, NULL, diags);
	json_auto_t *cost = pass_range(cluster, tables, shapes, diags);
	json_t *fit = pass_fit_workloads(cluster, shapes, project, explain, diags);
	if (!fit)
		fit = json_pack("{s:s, s:s, s:s, s:n}", "format_version", "1.0", "cluster",
			cluster->name, "ray", cluster->ray.version, "workloads");
	if (cost)
		json_object_set(fit, "cost", cost);
	if (form)
		json_object_set_new(
			fit, "emitted", rg_fit_emit(cluster, shapes, fit, *form, diags));
	if (explained)
		json_object_set(fit, "explained", explained);
	return fit;
}
