/* What each pool has, and lacks, for the bundles of one workload. */
#include "workloads/demand.h"
#include "workloads/workloads.h"

static const char *nearest_name(const RgCluster *cluster, const char *name)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	for (guint i = 0; i < cluster->workloads->len; i++)
		g_ptr_array_add(names, ((const RgWorkload *)cluster->workloads->pdata[i])->name);
	g_ptr_array_add(names, NULL);
	return rg_nearest_word(name, (const char *const *)names->pdata);
}

static bool find_task(const RgCluster *cluster, const char *name, unsigned *task, RgDiags *diags)
{
	for (*task = 0; *task < cluster->workloads->len; (*task)++) {
		if (g_str_equal(((const RgWorkload *)cluster->workloads->pdata[*task])->name, name))
			return true;
	}
	RgDiag *diag = rg_diags_error(
		diags, "fit.unknown-workload", "the spec has no workload \"%s\"", name);
	const char *near = nearest_name(cluster, name);
	rg_diag_at(diag, rg_cluster_source(cluster, "/workloads"));
	if (near)
		rg_diag_hint(diag, "did you mean `%s`?", near);
	return false;
}

/* What a node of the pool has for the workload. */
static json_t *node_json(const RgShape *shape)
{
	const RgInstanceType *type = shape->type;
	g_autofree char *slice = rg_fit_slice_word(shape);
	json_t *node = json_object();
	rg_json_set_str(node, "accelerator", type->gpu ? type->gpu->name : NULL);
	rg_json_set_str(node, "slice", slice);
	json_object_set_new(node, "gpus", json_integer(rg_fit_ray_gpus(shape)));
	json_object_set_new(node, "gpu_memory_gb", json_integer(rg_fit_gpu_memory_gb(shape)));
	json_object_set_new(node, "gpu_memory_mib",
		json_integer((json_int_t)(rg_fit_gpu_memory_gib(shape) * 1024)));
	unsigned cpus = 0;
	rg_fit_ray_cpus(shape, &cpus);
	json_object_set_new(node, "cpus", json_integer(cpus));
	json_object_set_new(node, "memory_mib", json_integer(rg_fit_ray_memory_mib(shape)));
	return node;
}

static json_t *row_json(const RgDemand *demand, unsigned task, unsigned part, unsigned pool)
{
	const RgShape *shape = rg_demand_shape(demand, pool);
	const RgPlaceTask *wish = &demand->problem.tasks[task];
	bool admitted = wish->parts[part].on[pool].admitted;
	g_autofree char *binds = admitted ? rg_demand_binds(demand, task, part, pool) : NULL;
	/* of the bundle by itself, whatever the strategy of its group */
	RgPlaceTask one = *wish;
	RgPlaceProblem problem = demand->problem;
	one.strategy = RG_PLACE_PACK;
	problem.tasks = &one;
	problem.n_tasks = 1;
	uint64_t room = admitted ? rg_place_per_node(&problem, 0, part, pool) : 0;
	json_t *row = json_object();
	rg_json_set_str(row, "pool", shape->pool->name);
	rg_json_set_str(row, "instance_type", shape->type->name);
	json_object_set_new(row, "nodes", json_integer(shape->pool->nodes_max));
	json_object_set_new(row, "bundle", json_integer(part));
	json_object_set_new(row, "node", node_json(shape));
	json_object_set_new(row, "per_node", json_integer((json_int_t)room));
	rg_json_set_str(row, "binds", binds);
	json_object_set_new(row, "lacks", rg_demand_lacks(demand, task, part, pool));
	return row;
}

static json_t *bundle_json(const RgBundle *bundle)
{
	json_t *json = json_object();
	json_object_set_new(json, "count", json_integer(bundle->count));
	json_object_set_new(json, "gpus", json_real(bundle->gpus));
	json_object_set_new(json, "gpu_memory_gb", json_real(bundle->gpu_memory_gb));
	json_object_set_new(json, "gpu_memory_gib", json_real(bundle->gpu_memory_gib));
	json_object_set_new(json, "cpus", json_real(bundle->cpus));
	json_object_set_new(json, "memory_gib", json_integer(bundle->memory_gib));
	json_object_set(json, "resources", bundle->resources);
	return json;
}

json_t *rg_fit_explain(
	const RgCluster *cluster, const RgShapes *shapes, const char *workload, RgDiags *diags)
{
	unsigned task = 0;
	if (!find_task(cluster, workload, &task, diags))
		return NULL;
	g_autoptr(RgDemand) demand = rg_demand_new(cluster, shapes, NULL);
	const RgWorkload *found = rg_demand_workload(demand, task);
	const char *strategy =
		rg_workload_is_group(found) ? rg_strategy_word(found->strategy) : NULL;
	json_t *bundles = json_array(), *rows = json_array();
	for (unsigned i = 0; i < demand->problem.tasks[task].n_parts; i++) {
		json_array_append_new(bundles, bundle_json(found->bundles->pdata[i]));
		for (unsigned p = 0; p < demand->problem.n_pools; p++)
			json_array_append_new(rows, row_json(demand, task, i, p));
	}
	return json_pack("{s:s, s:i, s:i, s:s?, s:o, s:o}", "workload", found->name, "replicas",
		(int)found->replicas, "nodes", (int)found->nodes, "strategy", strategy, "bundles",
		bundles, "rows", rows);
}
