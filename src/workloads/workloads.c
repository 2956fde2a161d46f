#include "workloads/workloads.h"
#include <math.h>
#include <string.h>
#include "workloads/judge.h"

static json_t *gpus_json(uint64_t steps)
{
	return steps % RG_PLACE_ONE == 0 ? json_integer((json_int_t)(steps / RG_PLACE_ONE))
					 : json_real((double)steps / RG_PLACE_ONE);
}

static json_t *pool_json(const RgJudge *judge, unsigned p)
{
	const RgShape *shape = rg_demand_shape(judge->demand, p);
	const RgPlaceUse *use = &judge->placed->use[p];
	const RgGpuModel *gpu = shape->type->gpu;
	g_autofree char *slice = rg_fit_slice_word(shape);
	json_t *pool = json_object();
	rg_json_set_str(pool, "pool", shape->pool->name);
	rg_json_set_str(pool, "instance_type", shape->type->name);
	json_object_set_new(pool, "nodes", json_integer(shape->pool->nodes_max));
	json_object_set_new(pool, "nodes_min", json_integer(shape->pool->nodes));
	if (shape->pool->is_disabled)
		json_object_set_new(pool, "disabled", json_true());
	rg_json_set_str(pool, "accelerator", gpu ? gpu->name : NULL);
	rg_json_set_str(pool, "slice", slice);
	json_object_set_new(pool, "time_slices", json_integer(shape->pool->share.time_slices));
	json_object_set_new(pool, "gpus_per_node", json_integer(rg_fit_ray_gpus(shape)));
	json_object_set_new(pool, "gpu_memory_gb", json_integer(rg_fit_gpu_memory_gb(shape)));
	json_object_set_new(pool, "gpus", gpus_json(use->total));
	json_object_set_new(pool, "gpus_used", gpus_json(use->used));
	json_object_set_new(pool, "gpus_stranded", gpus_json(use->stranded));
	return pool;
}

static json_t *on_pool_json(const RgJudge *judge, unsigned task, unsigned p)
{
	const RgPlaceProblem *problem = judge->problem;
	const RgPlaceTask *wish = &problem->tasks[task];
	json_t *item =
		json_pack("{s:s, s:s?}", "pool", rg_demand_shape(judge->demand, p)->pool->name,
			"why", rg_demand_why(judge->demand, task, p));
	unsigned part = 0;
	if (!rg_judge_can_take(judge, task, p))
		return item;
	while (!wish->parts[part].on[p].admitted)
		part++;
	const RgPlaceNeed *need = &wish->parts[part].on[p];
	g_autofree char *binds = rg_demand_binds(judge->demand, task, part, p);
	json_object_set_new(item, "per_node",
		json_integer((json_int_t)rg_place_per_node(problem, task, part, p)));
	json_object_set_new(
		item, "num_gpus", gpus_json((uint64_t)need->whole * RG_PLACE_ONE + need->part));
	rg_json_set_str(item, "binds", binds);
	json_object_set_new(item, "placed",
		json_integer((json_int_t)judge->placed->bundles[task * problem->n_pools + p]));
	return item;
}

static double workload_gpus(const RgWorkload *workload)
{
	double gpus = 0;
	rg_ptr_foreach (const RgBundle, bundle, workload->bundles)
		gpus += bundle->gpus * bundle->count;
	return gpus;
}

static json_t *workload_json(const RgJudge *judge, unsigned task)
{
	const RgWorkload *workload = rg_demand_workload(judge->demand, task);
	bool sure, sure_of_min;
	uint64_t alone = rg_demand_alone(judge->problem, workload, task, &sure);
	uint64_t together = rg_judge_together(judge, task);
	RgFitAsk ask = {
		judge->demand, judge->placed, judge->limits, judge->n_limits, task, judge->start};
	json_t *remedy =
		judge->limits && together < workload->replicas ? rg_fit_remedy(&ask) : NULL;
	const char *verdict = rg_judge_verdict(judge, task, (RgAlone){alone, sure}, remedy);
	const char *strategy = rg_strategy_word(workload->strategy);
	json_t *json = json_object(), *pools = json_array();
	rg_judge_mixed(judge, task);
	rg_judge_nvlink(judge, task);
	rg_judge_strays(judge, task);
	rg_json_set_str(json, "workload", workload->name);
	rg_json_set_str(json, "verdict", verdict);
	json_object_set_new(
		json, "gpus", gpus_json((uint64_t)llround(workload_gpus(workload) * RG_PLACE_ONE)));
	json_object_set_new(json, "replicas", json_integer(workload->replicas));
	json_object_set_new(json, "nodes", json_integer(workload->nodes));
	json_object_set_new(json, "gang", json_boolean(workload->gang));
	rg_json_set_str(json, "strategy", rg_workload_is_group(workload) ? strategy : NULL);
	json_object_set_new(json, "at_once", json_integer((json_int_t)alone));
	json_object_set_new(json, "at_once_min",
		json_integer(
			(json_int_t)rg_demand_alone(&judge->least, workload, task, &sure_of_min)));
	json_object_set_new(json, "together", json_integer((json_int_t)together));
	for (unsigned p = 0; p < judge->problem->n_pools; p++)
		json_array_append_new(pools, on_pool_json(judge, task, p));
	json_object_set_new(json, "pools", pools);
	json_object_set_new(json, "remedy", remedy ? remedy : json_null());
	json_object_set(json, "ray", json_array_get(judge->start->options, task));
	return json;
}

static json_t *order_json(const RgJudge *judge)
{
	json_t *order = json_array();
	bool given = judge->start->how == RG_START_IN_ORDER;
	for (unsigned i = 0; given && i < judge->problem->n_tasks; i++)
		json_array_append_new(order,
			json_string(
				rg_demand_workload(judge->demand, judge->start->order[i])->name));
	return order;
}

static json_t *report_json(const RgJudge *judge)
{
	json_t *pools = json_array(), *workloads = json_array();
	uint64_t total = 0, used = 0, stranded = 0;
	for (unsigned p = 0; p < judge->problem->n_pools; p++) {
		json_array_append_new(pools, pool_json(judge, p));
		total += judge->placed->use[p].total;
		used += judge->placed->use[p].used;
		stranded += judge->placed->use[p].stranded;
	}
	for (unsigned t = 0; t < judge->problem->n_tasks; t++) {
		if (rg_judge_reports(judge, t))
			json_array_append_new(workloads, workload_json(judge, t));
	}
	json_t *gpus = json_pack("{s:o, s:o, s:o}", "total", gpus_json(total), "used",
		gpus_json(used), "stranded", gpus_json(stranded));
	return json_pack("{s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:s, s:o, s:o, s:o, s:o, s:o}",
		"format_version", "1.0", "cluster", judge->demand->cluster->name, "ray",
		judge->demand->cluster->ray.version, "elastic", judge->elastic, "all_fit",
		judge->placed->all, "exact", judge->placed->exact, "leans_on_packing",
		judge->start->form.apart, "start", rg_start_word(judge->start->how), "start_order",
		order_json(judge), "gpus", gpus, "fragmentation",
		json_real(total > 0 ? round((double)stranded / (double)total * 10000) / 10000 : 0),
		"pools", pools, "workloads", workloads);
}

json_t *rg_fit_workloads(const RgCluster *cluster, const RgShapes *shapes, const RgLimits *limits,
	size_t n_limits, const char *only, RgDiags *diags)
{
	if (cluster->workloads->len == 0)
		return NULL;
	g_autoptr(RgDemand) demand = rg_demand_new(cluster, shapes, NULL);
	g_autoptr(RgPlaced) placed = rg_place_together(&demand->problem);
	g_autoptr(RgStart) start = rg_start_new(demand, placed);
	RgJudge judge = {.demand = demand,
		.problem = &demand->problem,
		.least = demand->problem,
		.placed = placed,
		.limits = limits,
		.n_limits = n_limits,
		.only = only,
		.start = start,
		.diags = diags};
	g_autofree RgPlacePool *least =
		g_memdup2(demand->problem.pools, demand->problem.n_pools * sizeof *least);
	for (unsigned p = 0; p < demand->problem.n_pools; p++) {
		least[p].nodes = rg_demand_shape(demand, p)->pool->nodes;
		judge.elastic |= rg_demand_shape(demand, p)->pool->is_elastic;
	}
	judge.least.pools = least;
	json_t *report = report_json(&judge);
	rg_judge_gangs(&judge);
	return report;
}
