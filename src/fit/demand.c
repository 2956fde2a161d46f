#include "fit/demand.h"
#include <math.h>
#include <string.h>

/* Ray reserves 30 % of a node's memory for its object store and offers the rest (its default,
 * ray_constants.py). */
#define MEMORY_SHARE 0.7
#define NOT_KNOWN (INT64_MAX / 2) /* an unknown amount never rejects a task */
enum { CPU, MEMORY, CUSTOM };

const RgShape *rg_demand_shape(const RgDemand *demand, unsigned pool)
{
	return demand->shapes->shapes->pdata[pool];
}

static void *keep(RgDemand *demand, void *memory)
{
	g_ptr_array_add(demand->owned, memory);
	return memory;
}

static int64_t steps(double amount)
{
	return (int64_t)ceil(amount * RG_PLACE_ONE - 1e-6);
}

/* ---- does it run there */

static bool names_model(const RgShapes *shapes, const RgWorkload *workload, const RgGpuModel *gpu)
{
	for (size_t i = 0; workload->models[i] != NULL; i++) {
		if (rg_gpus_is_model(
			    rg_catalog_get_gpus(shapes->catalog), workload->models[i], gpu))
			return true;
	}
	return false;
}

/* "value", "!value", "in(a,b)", "!in(a,b)"; a missing label has no value. */
static bool selects(const char *selector, const char *value)
{
	bool negated = selector[0] == '!', found = false;
	const char *wish = selector + negated;
	if (!g_str_has_prefix(wish, "in(") || !g_str_has_suffix(wish, ")"))
		return (g_strcmp0(wish, value) == 0) != negated;
	g_autofree char *inside = g_strndup(wish + 3, strlen(wish) - 4);
	g_auto(GStrv) words = g_strsplit(inside, ",", -1);
	for (size_t i = 0; words[i] != NULL; i++)
		found |= g_strcmp0(g_strstrip(words[i]), value) == 0;
	return found != negated;
}

static char *judge_labels(const RgWorkload *workload, json_t *labels)
{
	const char *key;
	json_t *selector;
	json_object_foreach (workload->labels, key, selector) {
		const char *value = rg_json_str(labels, key, NULL);
		if (!selects(json_string_value(selector), value))
			return g_strdup_printf("label %s is %s, not %s", key,
				value ? value : "not there", json_string_value(selector));
	}
	return NULL;
}

static char *judge_gpu(
	const RgWorkload *workload, const RgGpuModel *gpu, unsigned memory_gb, const RgShape *shape)
{
	if (!gpu)
		return g_strdup("has no GPU");
	if (gpu->compute_capability < workload->capability)
		return g_strdup_printf("needs compute capability %u.%u; %s has %u.%u",
			workload->capability / 10, workload->capability % 10, gpu->name,
			gpu->compute_capability / 10, gpu->compute_capability % 10);
	if (workload->gpu_memory_gb > memory_gb)
		return g_strdup_printf("needs %g GB on one GPU; %s%s has %u GB",
			workload->gpu_memory_gb, shape && shape->slices ? "a slice of " : "",
			gpu->name, memory_gb);
	if (shape && shape->slices && workload->gpus > 1)
		return g_strdup("a program can use one MIG slice only");
	return NULL;
}

/* Of one GPU: what is requested, but not less than its share of the memory or of the turns. */
static void set_part(
	const RgWorkload *workload, unsigned memory_gb, unsigned time_slices, RgPlaceNeed *need)
{
	int64_t part = steps(workload->gpus);
	if (memory_gb > 0)
		part = MAX(part, steps(workload->gpu_memory_gb / memory_gb));
	if (time_slices > 0)
		part = MAX(part, RG_PLACE_ONE / time_slices);
	need->whole = part >= RG_PLACE_ONE;
	need->part = need->whole > 0 ? 0 : (unsigned)part;
}

char *rg_demand_need(const RgWorkload *workload, const RgInstanceType *type, unsigned gpus,
	unsigned memory_gb, const RgShape *shape, RgPlaceNeed *need)
{
	*need = (RgPlaceNeed){0};
	char *why = workload->gpus > 0 ? judge_gpu(workload, type->gpu, memory_gb, shape) : NULL;
	if (why)
		return why;
	if (workload->gpus >= 1)
		need->whole = (unsigned)workload->gpus;
	else if (workload->gpus > 0)
		set_part(workload, memory_gb, shape ? shape->pool->share.time_slices : 0, need);
	if (need->whole > gpus)
		return g_strdup_printf(
			"needs %u GPUs on one node; %s has %u", need->whole, type->name, gpus);
	if (type->vcpus && workload->cpus > type->vcpus)
		return g_strdup_printf("needs %g CPUs on one node; %s has %u", workload->cpus,
			type->name, type->vcpus);
	if (type->memory_gib > 0 && (double)workload->memory_gib > type->memory_gib * MEMORY_SHARE)
		return g_strdup_printf("needs %" G_GINT64_FORMAT
				       " GiB of memory on one node; Ray offers %.0f of %s",
			workload->memory_gib, floor(type->memory_gib * MEMORY_SHARE), type->name);
	need->admitted = true;
	return NULL;
}

static char *judge_resources(
	const RgDemand *demand, const RgWorkload *workload, const RgPlacePool *pool)
{
	for (guint i = CUSTOM; i < demand->amounts->len; i++) {
		const char *name = demand->amounts->pdata[i];
		const json_t *wish = json_object_get(workload->resources, name);
		if (wish && steps(json_number_value(wish)) > pool->amounts[i])
			return g_strdup_printf("needs %g of resource %s on one node; it has %g",
				json_number_value(wish), name,
				(double)pool->amounts[i] / RG_PLACE_ONE);
	}
	return NULL;
}

static char *judge(RgDemand *demand, const RgWorkload *workload, unsigned p, RgPlaceNeed *need)
{
	const RgShape *shape = rg_demand_shape(demand, p);
	json_auto_t *labels = rg_fit_labels(demand->cluster, shape, NULL);
	const RgGpuModel *gpu = shape->type->gpu;
	char *why = NULL;
	if (workload->pools &&
		!g_strv_contains((const char *const *)workload->pools, shape->pool->name))
		return g_strdup("not named by pool");
	if ((why = judge_labels(workload, labels)))
		return why;
	if (workload->models && gpu && !names_model(demand->shapes, workload, gpu))
		return g_strdup_printf("its GPU is %s", gpu->name);
	why = rg_demand_need(workload, shape->type, rg_fit_ray_gpus(shape),
		rg_fit_gpu_memory_gb(shape), shape, need);
	if (!why)
		why = judge_resources(demand, workload, &demand->problem.pools[p]);
	need->admitted = !why;
	/* it would run there if the pool had any */
	if (!why && shape->pool->nodes_max == 0)
		why = g_strdup("has no nodes");
	return why;
}

/* ---- the problem */

static void name_amounts(RgDemand *demand)
{
	static const char *const own[] = {"CPU", "memory"};
	for (size_t i = 0; i < G_N_ELEMENTS(own); i++)
		g_ptr_array_add(demand->amounts, g_strdup(own[i]));
	const GPtrArray *workloads = demand->cluster->workloads;
	for (guint w = 0; w < workloads->len; w++) {
		const RgWorkload *workload = workloads->pdata[w];
		const char *name;
		json_t *value;
		json_object_foreach (workload->resources, name, value) {
			if (!g_ptr_array_find_with_equal_func(
				    demand->amounts, name, g_str_equal, NULL))
				g_ptr_array_add(demand->amounts, g_strdup(name));
		}
	}
}

static void make_pools(RgDemand *demand)
{
	RgPlaceProblem *problem = &demand->problem;
	problem->n_pools = demand->shapes->shapes->len;
	problem->n_amounts = demand->amounts->len;
	RgPlacePool *pools = keep(demand, g_new0(RgPlacePool, problem->n_pools));
	for (unsigned p = 0; p < problem->n_pools; p++) {
		const RgShape *shape = rg_demand_shape(demand, p);
		json_auto_t *resources = rg_fit_resources(shape);
		int64_t *has = keep(demand, g_new0(int64_t, problem->n_amounts));
		const RgInstanceType *type = shape->type;
		has[CPU] = type->vcpus ? (int64_t)type->vcpus * RG_PLACE_ONE : NOT_KNOWN;
		has[MEMORY] = type->memory_gib > 0
				      ? (int64_t)(type->memory_gib * MEMORY_SHARE * RG_PLACE_ONE)
				      : NOT_KNOWN;
		for (unsigned i = CUSTOM; i < problem->n_amounts; i++) {
			const char *name = demand->amounts->pdata[i];
			has[i] = steps(json_number_value(json_object_get(resources, name)));
		}
		pools[p] = (RgPlacePool){shape->pool->nodes_max, rg_fit_ray_gpus(shape), has};
	}
	problem->pools = pools;
}

/* Which pool is better for a GPU task: the one with smaller and fewer GPUs, which leaves the large
 * ones for tasks that need them; for CPU work, one without GPUs. */
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
	unsigned *order = keep(demand, g_new0(unsigned, n));
	for (unsigned p = 0; p < n; p++) {
		unsigned at = p;
		for (; at > 0 && is_modest(demand, p, order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = p;
	}
	return order;
}

static void make_task(RgDemand *demand, unsigned t, RgPlaceTask *task, const unsigned *order)
{
	const RgPlaceProblem *problem = &demand->problem;
	const RgWorkload *workload = demand->cluster->workloads->pdata[t];
	RgPlaceNeed *needs = keep(demand, g_new0(RgPlaceNeed, problem->n_pools));
	int64_t *takes = keep(demand, g_new0(int64_t, problem->n_amounts));
	for (unsigned p = 0; p < problem->n_pools; p++)
		demand->why[t * problem->n_pools + p] = judge(demand, workload, p, &needs[p]);
	takes[CPU] = steps(workload->cpus);
	takes[MEMORY] = workload->memory_gib * RG_PLACE_ONE;
	for (unsigned i = CUSTOM; i < problem->n_amounts; i++)
		takes[i] = steps(json_number_value(
			json_object_get(workload->resources, demand->amounts->pdata[i])));
	bool packed = workload->gang && workload->nodes == 0;
	*task = (RgPlaceTask){.units = packed ? 1 : workload->replicas,
		.bundles = packed ? workload->replicas : MAX(workload->nodes, 1),
		.spread = workload->nodes > 0,
		.on = needs,
		.amounts = takes,
		.order = order};
}

RgDemand *rg_demand_new(const RgCluster *cluster, const RgShapes *shapes)
{
	RgDemand *demand = g_new0(RgDemand, 1);
	demand->cluster = cluster;
	demand->shapes = shapes;
	demand->amounts = g_ptr_array_new_with_free_func(g_free);
	demand->owned = g_ptr_array_new_with_free_func(g_free);
	name_amounts(demand);
	make_pools(demand);
	RgPlaceProblem *problem = &demand->problem;
	problem->n_tasks = cluster->workloads->len;
	demand->why = g_new0(char *, (size_t)problem->n_tasks * problem->n_pools + 1);
	RgPlaceTask *tasks = keep(demand, g_new0(RgPlaceTask, MAX(problem->n_tasks, 1)));
	const unsigned *order = order_pools(demand);
	for (unsigned t = 0; t < problem->n_tasks; t++)
		make_task(demand, t, &tasks[t], order);
	problem->tasks = tasks;
	return demand;
}

void rg_demand_free(RgDemand *demand)
{
	if (!demand)
		return;
	for (size_t i = 0; i < (size_t)demand->problem.n_tasks * demand->problem.n_pools; i++)
		g_free(demand->why[i]);
	g_free(demand->why);
	g_ptr_array_unref(demand->amounts);
	g_ptr_array_unref(demand->owned);
	g_free(demand);
}

uint64_t rg_demand_alone(const RgPlaceProblem *problem, const RgWorkload *workload, unsigned task)
{
	if (!workload->gang || workload->nodes > 0)
		return rg_place_alone(problem, task);
	/* a group that may share nodes counts as that many single ones */
	RgPlaceTask single = problem->tasks[task];
	single.bundles = 1;
	RgPlaceProblem one = *problem;
	one.tasks = &single;
	one.n_tasks = 1;
	return rg_place_alone(&one, 0);
}
