/* GPUs that are there, used in another way: in slices, or several replicas on one. */
#include "workloads/remedy_internal.h"

/* ---- a fraction of a GPU */

static json_t *mark_fraction(json_t *change, const void *data)
{
	json_object_set_new(change, "workload_gpus", json_real(*(const double *)data));
	return change;
}

/* Replicas that need less memory than a GPU has can share it; the memory is not kept apart. */
static void try_fraction(RgRemedy *remedy, unsigned pool)
{
	const RgShape *shape = rg_demand_shape(remedy->ask->demand, pool);
	const RgBundle *first = remedy->workload->bundles->pdata[0];
	double share = rg_fit_gpu_memory_gb(shape) > 0
			       ? first->gpu_memory_gb / rg_fit_gpu_memory_gb(shape)
			       : 0;
	if (first->gpu_memory_gib > 0 && rg_fit_gpu_memory_gib(shape) > 0)
		share = first->gpu_memory_gib / rg_fit_gpu_memory_gib(shape);
	if (share <= 0 || share > 0.5 || shape->slices)
		return;
	double each = 1.0 / (unsigned)(1 / share);
	double rounded = (double)(int)(each * RG_PLACE_ONE) / RG_PLACE_ONE;
	RgBundle bundle = *first;
	RgWorkload workload = *remedy->workload;
	bundle.gpus = MAX(rounded, share);
	g_autoptr(GPtrArray) bundles = g_ptr_array_new();
	g_autoptr(GPtrArray) all = g_ptr_array_copy(remedy->cluster->workloads, NULL, NULL);
	g_ptr_array_add(bundles, &bundle);
	workload.bundles = bundles;
	g_ptr_array_set_free_func(all, NULL);
	all->pdata[remedy->ask->task] = &workload;
	RgTrial trial = rg_remedy_trial(remedy);
	trial.cluster.workloads = all;
	rg_remedy_try_pools(remedy, &trial, mark_fraction, &bundle.gpus);
}

static bool may_share(const RgRemedy *remedy)
{
	const RgWorkload *workload = remedy->workload;
	const RgBundle *bundle = workload->bundles->pdata[0];
	return !rg_workload_is_group(workload) && bundle->gpus == 1 &&
	       (bundle->gpu_memory_gb > 0 || bundle->gpu_memory_gib > 0);
}

/* ---- slices of a pool's GPUs */

/* The pool with all its GPUs in slices; other workloads must still fit. */
static void try_slice(RgRemedy *remedy, unsigned pool, const RgMigProfile *profile)
{
	const RgShape *whole = rg_demand_shape(remedy->ask->demand, pool);
	const char *mig[] = {profile->name, NULL};
	g_autoptr(RgDiags) ignored = rg_diags_new();
	g_autoptr(GPtrArray) shapes = g_ptr_array_copy(remedy->shapes.shapes, NULL, NULL);
	RgPool sliced = *whole->pool;
	RgShape shape = *whole;
	RgTrial trial = rg_remedy_trial(remedy);
	g_ptr_array_set_free_func(shapes, NULL);
	sliced.share.mig = (char **)(uintptr_t)mig;
	shape.pool = &sliced;
	trial.shapes.shapes = shapes;
	trial.grows = pool;
	trial.price = rg_remedy_price(remedy, shape.type, shape.is_spot);
	if (rg_fit_share(&remedy->shapes, &shape, ignored) && rg_remedy_admits(remedy, &shape)) {
		shapes->pdata[pool] = &shape;
		json_t *change = rg_remedy_change(&shape, sliced.name);
		rg_json_set_str(change, "mig", profile->name);
		rg_remedy_offer(remedy, &trial, change);
	}
	if (shape.slices)
		g_ptr_array_unref(shape.slices);
}

static void try_slices(RgRemedy *remedy, unsigned pool)
{
	const RgShape *shape = rg_demand_shape(remedy->ask->demand, pool);
	const RgBundle *bundle = remedy->workload->bundles->pdata[0];
	if (!shape->type->gpu || shape->slices || shape->pool->share.time_slices > 0 ||
		shape->pool->market.reservation || shape->pool->nodes_max == 0 ||
		bundle->gpus <= 0 || bundle->gpus > 1 ||
		rg_remedy_price(remedy, shape->type, shape->is_spot) == RG_MONEY_UNKNOWN)
		return;
	const GPtrArray *profiles = rg_remedy_profiles(remedy, shape->type);
	for (guint i = 0; profiles && i < profiles->len; i++) {
		const RgMigProfile *profile = profiles->pdata[i];
		if (profile->memory_gb >= bundle->gpu_memory_gb && remedy->steps > 0)
			try_slice(remedy, pool, profile);
	}
}

/* The nodes of the cluster, used in another way: what costs nothing is tried first. */
void rg_remedy_try_sharing(RgRemedy *remedy)
{
	for (unsigned p = 1; p < remedy->ask->demand->problem.n_pools; p++) {
		if (may_share(remedy))
			try_fraction(remedy, p);
		if (!remedy->best || remedy->best_cost > 0)
			try_slices(remedy, p);
	}
}
