/* How much a remedy may cost: what the budgets of the spec and the project file leave. */
#include <math.h>
#include "base/money.h"
#include "workloads/remedy_internal.h"

#define MICRO 1000000

static int64_t price_of(const RgCluster *cluster, const RgShape *shape, bool is_spot)
{
	const char *region = cluster->provider.region;
	const RgPrice *price = is_spot ? rg_fit_spot_price(shape->type, region, NULL)
				       : rg_catalog_find_price(shape->type, region);
	if (!price || rg_json_bool(shape->reservation, "prepaid", false))
		return 0;
	return price->microusd_hour;
}

static int64_t cost_of(const RgCluster *cluster, const RgShape *shape)
{
	int64_t cost = 0;
	unsigned nodes = MAX(shape->pool->nodes, shape->pool->nodes_max);
	for (unsigned i = 0; i < nodes; i++)
		cost += price_of(cluster, shape, rg_pool_is_spot(shape->pool, i));
	return cost;
}

/* `most`, or what this budget leaves. */
static int64_t left_of(const json_t *budget, int64_t cost, int64_t most)
{
	static const struct {
		const char *name;
		unsigned hours;
	} terms[] = {{"hourly_usd", 1}, {"monthly_usd", RG_MONTH_HOURS}};
	for (size_t i = 0; i < G_N_ELEMENTS(terms); i++) {
		const json_t *usd = json_object_get(budget, terms[i].name);
		if (!json_is_number(usd))
			continue;
		int64_t hour = llround(json_number_value(usd) * MICRO / terms[i].hours);
		most = MIN(most, MAX(hour - cost, 0));
	}
	return most;
}

int64_t rg_fit_budget_room(const RgShapes *shapes, const RgCluster *cluster, const RgLimits *limits,
	size_t n, const char *pool)
{
	int64_t all = 0, own = 0, most = INT64_MAX;
	rg_ptr_foreach (const RgShape, shape, shapes->shapes) {
		int64_t cost = cost_of(cluster, shape);
		all += cost;
		if (pool && g_str_equal(shape->pool->name, pool))
			own = cost;
	}
	for (size_t i = 0; i < n; i++) {
		const json_t *budget = json_object_get(limits[i].view, "budget");
		most = left_of(budget, all, most);
		if (pool)
			most = left_of(
				json_object_get(json_object_get(budget, "pools"), pool), own, most);
	}
	return most;
}
