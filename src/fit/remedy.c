/* What would let a workload run at the lowest hourly cost: more nodes of a pool, or a new pool of
 * another instance type of the catalog in this region. */
#include <string.h>
#include "fit/demand.h"

#define MOST_NODES 100000

typedef struct {
	const RgDemand *demand;
	const RgWorkload *workload;
	unsigned task;
	uint64_t wanted; /* replicas at once */
	json_t *best;
	int64_t best_cost;
	const char *best_name;
	bool best_is_pool;
} Remedy;

static int64_t price_of(const Remedy *remedy, const RgInstanceType *type)
{
	const RgPrice *price =
		rg_catalog_find_price(type, remedy->demand->cluster->provider.region);
	return price ? price->microusd_hour : RG_MONEY_UNKNOWN;
}

/* The fewest nodes of pool `p` (of `pools`, temporarily changed) with which enough replicas run; 0:
 * no number. */
static unsigned nodes_needed(
	const Remedy *remedy, RgPlaceProblem *problem, RgPlacePool *pools, unsigned p, unsigned now)
{
	unsigned low = now, high = MOST_NODES;
	pools[p].nodes = high;
	if (rg_demand_alone(problem, remedy->workload, remedy->task) < remedy->wanted)
		return 0;
	while (low < high) {
		pools[p].nodes = low + (high - low) / 2;
		if (rg_demand_alone(problem, remedy->workload, remedy->task) >= remedy->wanted)
			high = pools[p].nodes;
		else
			low = pools[p].nodes + 1;
	}
	return low - now;
}

static void offer(Remedy *remedy, const RgInstanceType *type, const char *pool, unsigned nodes)
{
	int64_t price = price_of(remedy, type);
	const char *name = pool ? pool : type->name;
	if (nodes == 0 || price == RG_MONEY_UNKNOWN)
		return;
	int64_t cost = price * nodes;
	/* at the same cost prefer more nodes of an existing pool, then by name */
	bool as_good = cost == remedy->best_cost;
	bool first = !remedy->best || ((pool != NULL) == remedy->best_is_pool &&
					      strcmp(name, remedy->best_name) < 0);
	if (remedy->best && (cost > remedy->best_cost || (as_good && !first)))
		return;
	json_decref(remedy->best);
	remedy->best_cost = cost;
	remedy->best_name = name;
	remedy->best_is_pool = pool != NULL;
	remedy->best = json_pack("{s:s?, s:s, s:s?, s:i, s:i, s:I}", "pool", pool, "instance_type",
		type->name, "accelerator", type->gpu ? type->gpu->name : NULL, "gpus",
		(int)type->gpus, "nodes", (int)nodes, "microusd_hour", (json_int_t)cost);
}

static void try_pools(Remedy *remedy)
{
	const RgPlaceProblem *given = &remedy->demand->problem;
	for (unsigned p = 0; p < given->n_pools; p++) {
		const RgShape *shape = rg_demand_shape(remedy->demand, p);
		if (shape->pool->is_head || !given->tasks[remedy->task].on[p].admitted)
			continue;
		g_autofree RgPlacePool *pools =
			g_memdup2(given->pools, given->n_pools * sizeof *pools);
		RgPlaceProblem problem = *given;
		problem.pools = pools;
		offer(remedy, shape->type, shape->pool->name,
			nodes_needed(remedy, &problem, pools, p, pools[p].nodes));
	}
}

static bool is_wished(const Remedy *remedy, const RgInstanceType *type)
{
	const RgGpus *gpus = rg_catalog_get_gpus(remedy->demand->shapes->catalog);
	bool named = !remedy->workload->models;
	if (!g_str_equal(type->arch, "x86_64") || type->gpu_fraction != 1 || !type->gpu ||
		!g_str_equal(type->gpu->vendor, "NVIDIA"))
		return false;
	for (size_t i = 0; !named && remedy->workload->models[i]; i++)
		named = rg_gpus_is_model(gpus, remedy->workload->models[i], type->gpu);
	return named;
}

/* An additional pool, whose labels and resources can be chosen to match. */
static void try_type(Remedy *remedy, const RgInstanceType *type)
{
	const RgPlaceProblem *given = &remedy->demand->problem;
	RgPlaceNeed need;
	if (!is_wished(remedy, type) || price_of(remedy, type) == RG_MONEY_UNKNOWN)
		return;
	g_autofree char *why = rg_demand_need(
		remedy->workload, type, type->gpus, type->gpu->memory_gb, NULL, &need);
	if (why)
		return;
	unsigned n = given->n_pools;
	g_autofree int64_t *has = g_new0(int64_t, given->n_amounts);
	for (unsigned i = 0; i < given->n_amounts; i++)
		has[i] = INT64_MAX / 2;
	has[0] = (int64_t)type->vcpus * RG_PLACE_ONE;
	RgPlacePool *pools = g_memdup2(given->pools, n * sizeof *pools);
	RgPlaceNeed *on = g_memdup2(given->tasks[remedy->task].on, n * sizeof *on);
	pools = g_renew(RgPlacePool, pools, n + 1);
	on = g_renew(RgPlaceNeed, on, n + 1);
	pools[n] = (RgPlacePool){0, type->gpus, has};
	on[n] = need;
	RgPlaceTask task = given->tasks[remedy->task];
	task.on = on;
	RgPlaceProblem problem = {pools, &task, n + 1, given->n_amounts, 1};
	unsigned index = remedy->task;
	remedy->task = 0;
	unsigned nodes = nodes_needed(remedy, &problem, pools, n, 0);
	offer(remedy, type, NULL, nodes);
	remedy->task = index;
	g_free(pools);
	g_free(on);
}

json_t *rg_fit_remedy(const RgDemand *demand, unsigned task, uint64_t wanted)
{
	Remedy remedy = {.demand = demand,
		.workload = demand->cluster->workloads->pdata[task],
		.task = task,
		.wanted = wanted};
	try_pools(&remedy);
	if (!remedy.workload->pools && remedy.workload->gpus > 0) {
		const GPtrArray *types = rg_catalog_get_types(demand->shapes->catalog);
		for (guint i = 0; i < types->len; i++)
			try_type(&remedy, types->pdata[i]);
	}
	return remedy.best;
}
