#include "fit/disabled.h"
#include "pipeline/internal.h"
#include <math.h>
#include "base/money.h"
#include "fit/policy.h"
#include "workloads/workloads.h"
#include "resource/nodes.h"

/* The limits of the spec and the project file, and the figures that plans are compared with. */

bool pass_check_policy(
	const RgCluster *cluster, const RgShapes *shapes, const RgProject *project, RgDiags *diags)
{
	RgLimits limits[RG_LIMITS_MAX] = {0};
	size_t n = rg_limits_all(cluster, project, limits);
	return rg_fit_check_policy(cluster, shapes, limits, n, diags);
}

json_t *pass_fit_workloads(const RgCluster *cluster, const RgShapes *shapes,
	const RgProject *project, const char *only, RgDiags *diags)
{
	RgLimits limits[RG_LIMITS_MAX] = {0};
	size_t n = rg_limits_all(cluster, project, limits);
	return rg_fit_workloads(cluster, shapes, limits, n, only, diags);
}

/* ---- budgets */

static void add_limits(GPtrArray *to, const RgLimits *limits, const char *pool, const char *pointer)
{
	static const struct {
		const char *name;
		unsigned hours;
		bool gpus;
	} terms[] = {{"hourly_usd", 1, false}, {"monthly_usd", RG_MONTH_HOURS, false},
		{"daily_gpu_hours", RG_DAY_HOURS, true},
		{"monthly_gpu_hours", RG_MONTH_HOURS, true}};
	const json_t *budget = rg_json_at(limits->view, pointer);
	for (size_t i = 0; i < G_N_ELEMENTS(terms); i++) {
		const json_t *value = json_object_get(budget, terms[i].name);
		g_autofree char *at = rg_json_pointer_add(pointer, terms[i].name);
		const RgPlanLimit limit = {.pool = (char *)(uintptr_t)pool,
			.gpus = terms[i].gpus,
			.hours = terms[i].hours,
			.most = llround(json_number_value(value) * (terms[i].gpus ? 1 : 1000000)),
			.source = rg_limits_source(limits, at)};
		if (json_is_number(value))
			g_ptr_array_add(to, rg_plan_limit_new(&limit));
	}
}

/* A project file's limit of a pool applies to the clusters that have such a pool. */
static void add_budget(GPtrArray *to, const RgLimits *limits)
{
	json_t *pools = rg_json_at(limits->view, "/budget/pools");
	add_limits(to, limits, NULL, "/budget");
	rg_json_foreach_member (name, pool, pools) {
		g_autofree char *pointer = rg_json_pointer_add("/budget/pools", name);
		add_limits(to, limits, name, pointer);
	}
}

GPtrArray *pass_limits(const RgCluster *cluster, const RgProject *project)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(rg_plan_limit_free);
	RgLimits limits[RG_LIMITS_MAX] = {0};
	size_t n = rg_limits_all(cluster, project, limits);
	for (size_t i = 0; i < n; i++)
		add_budget(all, &limits[i]);
	return all;
}

/* ---- carbon */

static void add_type(json_t *types, const RgCarbon *carbon, const RgCatalog *catalog,
	const char *provider, const char *region, const char *name)
{
	const RgInstanceType *type = name ? rg_catalog_find_type(catalog, name) : NULL;
	if (!name || json_object_get(types, name))
		return;
	RgCarbonHour hour = {.mg_hour = RG_CARBON_UNKNOWN};
	if (type)
		hour = rg_carbon_hour(carbon, provider, type, region);
	json_object_set_new(types, name,
		hour.mg_hour == RG_CARBON_UNKNOWN ? json_null() : json_integer(hour.mg_hour));
}

static json_t *basis_of(const RgCarbon *carbon, const char *provider, const char *region)
{
	static const RgInstanceType nothing = {.name = ""};
	RgCarbonHour hour = rg_carbon_hour(carbon, provider, &nothing, region);
	json_t *basis = json_object();
	rg_json_set_str(basis, "region", rg_place_name(provider, region));
	json_object_set_new(
		basis, "utilisation_percent", json_integer(RG_CARBON_UTILISATION_PERCENT));
	if (!hour.source)
		return basis;
	rg_json_set_str(basis, "year", hour.year);
	rg_json_set_str(basis, "source", hour.source);
	json_object_set_new(basis, "g_per_kwh", json_real(hour.g_per_kwh));
	return basis;
}

json_t *pass_carbon(RgSession *session, RgPass *pass, RgDiags *diags)
{
	const RgSnapshot *snapshot = pass->snapshot;
	const RgProviderRef place = pass_place(pass);
	const char *provider = place.name, *region = place.region;
	RgTables *tables = pass_tables(session, pass);
	const RgCatalog *catalog = rg_tables_catalog(tables, provider, region, diags);
	const RgCarbon *carbon = catalog ? rg_tables_carbon(tables, diags) : NULL;
	if (!carbon)
		return NULL;
	json_t *types = json_object();
	rg_json_foreach (node, json_object_get(pass->fitted, "nodes"))
		add_type(types, carbon, catalog, provider, region,
			rg_json_str(json_object_get(node, "offer"), "instance_type", NULL));
	for (size_t i = 0; pass->shapes && i < pass->cluster->pools->len; i++) {
		const RgPool *pool = pass->cluster->pools->pdata[i];
		if (pool->is_disabled)
			add_type(types, carbon, catalog, provider, region,
				rg_fit_disabled(pass->shapes, pool).instance_type);
	}
	rg_resource_foreach (resource, snapshot->recorded) {
		for (size_t n = 0; n < rg_nodes_pools(resource, NULL); n++)
			add_type(types, carbon, catalog, provider, region,
				rg_json_str(rg_nodes_get(resource, n).pin, "instance_type", NULL));
	}
	return json_pack("{s:o, s:o}", "types", types, "basis", basis_of(carbon, provider, region));
}
