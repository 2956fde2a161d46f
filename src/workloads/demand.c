#include "workloads/demand.h"

#define NOT_KNOWN (INT64_MAX / 4) /* an unknown amount never rejects a task */
#define MIB_PER_GIB 1024

static void *keep_for_demand(RgDemand *demand, void *memory)
{
	g_ptr_array_add(demand->owned, memory);
	return memory;
}

/* ---- the problem */

static void name_amounts_of(RgDemand *demand, const RgBundle *bundle)
{
	rg_json_foreach_member (name, value, bundle->resources) {
		if (!g_ptr_array_find_with_equal_func(demand->amounts, name, g_str_equal, NULL))
			g_ptr_array_add(demand->amounts, g_strdup(name));
	}
}

static void name_amounts(RgDemand *demand)
{
	static const char *const own[] = {"CPU", "memory"};
	for (size_t i = 0; i < G_N_ELEMENTS(own); i++)
		g_ptr_array_add(demand->amounts, g_strdup(own[i]));
	for (guint w = 0; w < demand->cluster->workloads->len; w++) {
		const GPtrArray *bundles = rg_demand_workload(demand, w)->bundles;
		for (guint i = 0; i < bundles->len; i++)
			name_amounts_of(demand, bundles->pdata[i]);
	}
}

/* Pools with equal GPUs, or equal slices, have the same number. */
static unsigned kind_of(const RgDemand *demand, unsigned pool, const RgPlacePool *pools)
{
	const RgShape *shape = rg_demand_shape(demand, pool);
	g_autofree char *slice = rg_fit_slice_word(shape);
	unsigned last = 0;
	if (!shape->type->gpu)
		return 0;
	for (unsigned p = 0; p < pool; p++) {
		const RgShape *other = rg_demand_shape(demand, p);
		g_autofree char *word = rg_fit_slice_word(other);
		if (other->type->gpu == shape->type->gpu && g_strcmp0(word, slice) == 0)
			return pools[p].kind;
		last = MAX(last, pools[p].kind);
	}
	return last + 1;
}

static void make_pools(RgDemand *demand)
{
	RgPlaceProblem *problem = &demand->problem;
	problem->n_pools = demand->shapes->shapes->len + (demand->extra != NULL);
	problem->n_amounts = demand->amounts->len;
	RgPlacePool *pools = keep_for_demand(demand, g_new0(RgPlacePool, problem->n_pools));
	for (unsigned p = 0; p < problem->n_pools; p++) {
		const RgShape *shape = rg_demand_shape(demand, p);
		json_auto_t *resources = rg_fit_resources(shape);
		int64_t *has = keep_for_demand(demand, g_new0(int64_t, problem->n_amounts));
		const RgInstanceType *type = shape->type;
		unsigned cpus;
		has[RG_AMOUNT_CPU] =
			rg_fit_ray_cpus(shape, &cpus) ? (int64_t)cpus * RG_PLACE_ONE : NOT_KNOWN;
		has[RG_AMOUNT_MEMORY] =
			type->memory_gib > 0 ? rg_fit_ray_memory_mib(shape) : NOT_KNOWN;
		for (unsigned i = RG_AMOUNT_CUSTOM; i < problem->n_amounts; i++) {
			const char *name = demand->amounts->pdata[i];
			has[i] = rg_demand_steps(
				json_number_value(json_object_get(resources, name)));
		}
		pools[p] = (RgPlacePool){.nodes = shape->pool->nodes_max,
			.gpus = rg_fit_ray_gpus(shape),
			.kind = kind_of(demand, p, pools),
			.amounts = has};
	}
	problem->pools = pools;
}

/* Which pool is filled first: the one with smaller and fewer GPUs, which leaves the large ones for
 * workloads that need them; for CPU work, one without GPUs. */
static bool is_modest(const RgDemand *demand, unsigned a, unsigned b)
{
	const RgShape *x = rg_demand_shape(demand, a), *y = rg_demand_shape(demand, b);
	unsigned x_memory = rg_fit_gpu_memory_gb(x), y_memory = rg_fit_gpu_memory_gb(y);
	if (x_memory != y_memory)
		return x_memory < y_memory;
	return rg_fit_ray_gpus(x) < rg_fit_ray_gpus(y);
}

static unsigned *order_pools(RgDemand *demand)
{
	unsigned n = demand->problem.n_pools;
	unsigned *order = keep_for_demand(demand, g_new0(unsigned, n));
	for (unsigned p = 0; p < n; p++) {
		unsigned at = p;
		for (; at > 0 && is_modest(demand, p, order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = p;
	}
	return order;
}

/* `part`: its index among those of all tasks. */
static RgPlacePart make_part(
	RgDemand *demand, const RgWorkload *workload, const RgBundle *bundle, unsigned part)
{
	const RgPlaceProblem *problem = &demand->problem;
	RgPlaceNeed *needs = keep_for_demand(demand, g_new0(RgPlaceNeed, problem->n_pools));
	int64_t *takes = keep_for_demand(demand, g_new0(int64_t, problem->n_amounts));
	for (unsigned p = 0; p < problem->n_pools; p++)
		demand->why[part * problem->n_pools + p] =
			rg_demand_judge(demand, workload, bundle, p, &needs[p]);
	takes[RG_AMOUNT_CPU] = rg_demand_steps(bundle->cpus);
	takes[RG_AMOUNT_MEMORY] = bundle->memory_gib * MIB_PER_GIB;
	for (unsigned i = RG_AMOUNT_CUSTOM; i < problem->n_amounts; i++)
		takes[i] = rg_demand_steps(json_number_value(
			json_object_get(bundle->resources, demand->amounts->pdata[i])));
	return (RgPlacePart){bundle->count, needs, takes};
}

static RgPlaceAlike alike_of(const RgWorkload *workload)
{
	bool gpus = false;
	for (guint i = 0; i < workload->bundles->len; i++)
		gpus |= ((const RgBundle *)workload->bundles->pdata[i])->gpus > 0;
	if (!gpus || !workload->same_gpu || !rg_workload_is_group(workload))
		return RG_PLACE_ANY;
	return workload->gang ? RG_PLACE_ALL_ALIKE : RG_PLACE_UNIT_ALIKE;
}

static void make_task(RgDemand *demand, unsigned t, RgPlaceTask *task, unsigned *part)
{
	static const RgPlaceStrategy strategies[] = {[RG_STRATEGY_PACK] = RG_PLACE_PACK,
		[RG_STRATEGY_SPREAD] = RG_PLACE_SPREAD,
		[RG_STRATEGY_STRICT_PACK] = RG_PLACE_STRICT_PACK,
		[RG_STRATEGY_STRICT_SPREAD] = RG_PLACE_STRICT_SPREAD};
	const RgWorkload *workload = rg_demand_workload(demand, t);
	bool packed = rg_demand_is_packed(workload);
	RgPlacePart *parts = keep_for_demand(demand, g_new0(RgPlacePart, workload->bundles->len));
	for (guint i = 0; i < workload->bundles->len; i++)
		parts[i] = make_part(demand, workload, workload->bundles->pdata[i], (*part)++);
	if (packed)
		parts[0].count = workload->replicas;
	*task = (RgPlaceTask){.units = packed ? 1 : workload->replicas,
		.n_parts = workload->bundles->len,
		.parts = parts,
		.strategy = strategies[workload->strategy],
		.alike = alike_of(workload)};
}

static unsigned count_parts(const RgCluster *cluster)
{
	unsigned parts = 0;
	for (guint i = 0; i < cluster->workloads->len; i++)
		parts += ((const RgWorkload *)cluster->workloads->pdata[i])->bundles->len;
	return parts;
}

RgDemand *rg_demand_new(const RgCluster *cluster, const RgShapes *shapes, const RgShape *extra)
{
	RgDemand *demand = g_new0(RgDemand, 1);
	demand->cluster = cluster;
	demand->shapes = shapes;
	demand->extra = extra;
	demand->amounts = g_ptr_array_new_with_free_func(g_free);
	demand->owned = g_ptr_array_new_with_free_func(g_free);
	name_amounts(demand);
	make_pools(demand);
	RgPlaceProblem *problem = &demand->problem;
	demand->why = g_new0(char *, (size_t)count_parts(cluster) * problem->n_pools + 1);
	RgPlaceTask *tasks =
		keep_for_demand(demand, g_new0(RgPlaceTask, cluster->workloads->len + 1));
	unsigned part = 0;
	for (unsigned t = 0; t < cluster->workloads->len; t++)
		make_task(demand, t, &tasks[t], &part);
	problem->order = order_pools(demand);
	problem->n_tasks = cluster->workloads->len;
	problem->tasks = tasks;
	return demand;
}

void rg_demand_free(RgDemand *demand)
{
	if (!demand)
		return;
	size_t reasons = (size_t)count_parts(demand->cluster) * demand->problem.n_pools;
	for (size_t i = 0; i < reasons; i++)
		g_free(demand->why[i]);
	g_free(demand->why);
	g_ptr_array_unref(demand->amounts);
	g_ptr_array_unref(demand->owned);
	g_free(demand);
}

/* The largest number of replicas that fit as one unit. */
static uint64_t packed_alone(const RgPlaceProblem *problem, unsigned task, bool *sure)
{
	RgPlacePart part = problem->tasks[task].parts[0];
	RgPlaceTask one = problem->tasks[task];
	RgPlaceProblem small = *problem;
	uint64_t most = 0;
	one.parts = &part;
	small.tasks = &one;
	small.n_tasks = 1;
	part.count = 1;
	for (unsigned p = 0; p < problem->n_pools; p++)
		most += problem->pools[p].nodes > 0
				? problem->pools[p].nodes * rg_place_per_node(&small, 0, 0, p)
				: 0;
	unsigned low = 0, high = (unsigned)MIN(most, G_MAXINT);
	while (low < high) {
		bool certain;
		part.count = low + (high - low + 1) / 2;
		if (rg_place_alone_surely(&small, 0, &certain) > 0)
			low = part.count;
		else
			high = part.count - 1;
		*sure &= certain;
	}
	return low;
}

uint64_t rg_demand_alone(
	const RgPlaceProblem *problem, const RgWorkload *workload, unsigned task, bool *sure)
{
	*sure = true;
	return rg_demand_is_packed(workload) ? packed_alone(problem, task, sure)
					     : rg_place_alone_surely(problem, task, sure);
}
