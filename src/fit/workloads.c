#include "fit/workloads.h"
#include <math.h>
#include <string.h>
#include "fit/demand.h"

/* Shared by all steps of one evaluation. */
typedef struct {
	RgDemand *demand;
	const RgPlaceProblem *problem;
	RgPlaceProblem least; /* elastic pools at their min */
	RgPlaced *placed;
	bool elastic;
	RgDiags *diags;
} Judge;

static const RgWorkload *workload_of(const Judge *judge, unsigned task)
{
	return judge->demand->cluster->workloads->pdata[task];
}

static const char *pool_name(const Judge *judge, unsigned pool)
{
	return rg_demand_shape(judge->demand, pool)->pool->name;
}

/* Units of a group that is placed whole count as one; people count replicas. */
static uint64_t placed_replicas(const Judge *judge, unsigned task)
{
	const RgWorkload *workload = workload_of(judge, task);
	bool packed = workload->gang && workload->nodes == 0;
	return judge->placed->units[task] * (packed ? workload->replicas : 1);
}

/* ---- texts of findings */

static bool can_take(const Judge *judge, unsigned task, unsigned pool)
{
	return judge->problem->tasks[task].on[pool].admitted &&
	       judge->problem->pools[pool].nodes > 0;
}

static char *why_not(const Judge *judge, unsigned task)
{
	g_autoptr(GString) text = g_string_new(NULL);
	for (unsigned p = 0; p < judge->problem->n_pools; p++) {
		const char *why = judge->demand->why[task * judge->problem->n_pools + p];
		if (why && !g_str_equal(why, "not named by pool"))
			g_string_append_printf(text, "%s%s: %s", text->len > 0 ? "\n" : "",
				pool_name(judge, p), why);
	}
	return g_strdup(text->str);
}

static RgDiag *report_never(const Judge *judge, unsigned task)
{
	const RgWorkload *workload = workload_of(judge, task);
	/* If no GPU of the cluster has the memory, that is the only reason to show. */
	const RgShape *largest = NULL;
	for (unsigned p = 0; p < judge->problem->n_pools; p++) {
		const RgShape *shape = rg_demand_shape(judge->demand, p);
		if (shape->type->gpu &&
			(!largest || rg_fit_gpu_memory_gb(shape) > rg_fit_gpu_memory_gb(largest)))
			largest = shape;
	}
	RgDiag *diag;
	if (workload->gpu_memory_gb > 0 && largest &&
		workload->gpu_memory_gb > rg_fit_gpu_memory_gb(largest)) {
		diag = rg_diags_error(judge->diags, "fit.never",
			"workload %s needs %g GB on one GPU; the largest in the cluster is %u GB "
			"(%s, pool %s)",
			workload->name, workload->gpu_memory_gb, rg_fit_gpu_memory_gb(largest),
			largest->type->gpu->name, largest->pool->name);
		return rg_diag_at(diag, workload->gpu_memory_source);
	}
	g_autofree char *why = why_not(judge, task);
	diag = rg_diags_error(judge->diags, "fit.never", "workload %s cannot run on any %s",
		workload->name, workload->pools ? "pool that it names" : "pool");
	rg_diag_at(diag, workload->source);
	if (*why != '\0')
		rg_diag_detail(diag, "%s", why);
	return diag;
}

static uint64_t nodes_that_take(const Judge *judge, unsigned task)
{
	uint64_t nodes = 0;
	for (unsigned p = 0; p < judge->problem->n_pools; p++) {
		if (can_take(judge, task, p))
			nodes += judge->problem->pools[p].nodes;
	}
	return nodes;
}

static RgDiag *report_gang(const Judge *judge, unsigned task, uint64_t alone)
{
	const RgWorkload *workload = workload_of(judge, task);
	RgDiag *diag;
	if (alone == 0)
		diag = rg_diags_error(judge->diags, "fit.gang-too-large",
			"workload %s spans %u nodes at once; at most %" G_GUINT64_FORMAT " fit",
			workload->name, workload->nodes, nodes_that_take(judge, task));
	else
		diag = rg_diags_error(judge->diags, "fit.gang-too-large",
			"workload %s needs all of its %u replicas at once; at most "
			"%" G_GUINT64_FORMAT " fit",
			workload->name, workload->replicas, alone);
	return rg_diag_at(diag, workload->source);
}

static void hint_remedy(RgDiag *diag, const json_t *remedy)
{
	const char *pool = rg_json_str(remedy, "pool", NULL);
	const char *type = rg_json_str(remedy, "instance_type", "");
	int64_t nodes = rg_json_int(remedy, "nodes", 0);
	g_autofree char *cost = rg_money_format(rg_json_int(remedy, "microusd_hour", 0));
	const char *plural = nodes == 1 ? "" : "s";
	if (!remedy)
		return;
	if (pool)
		rg_diag_hint(diag,
			"cheapest: %" G_GINT64_FORMAT " more node%s of pool %s (%s), %s per hour",
			nodes, plural, pool, type, cost);
	else
		rg_diag_hint(diag,
			"cheapest: a pool of %" G_GINT64_FORMAT
			" node%s of %s (%s x %" G_GINT64_FORMAT "), %s per hour",
			nodes, plural, type, rg_json_str(remedy, "accelerator", ""),
			rg_json_int(remedy, "gpus", 0), cost);
}

static const char *workload_report(
	const Judge *judge, unsigned task, uint64_t alone, const json_t *remedy)
{
	const RgWorkload *workload = workload_of(judge, task);
	uint64_t together = placed_replicas(judge, task);
	RgDiag *diag = NULL;
	const char *verdict = "fits";
	if (alone == 0 && nodes_that_take(judge, task) == 0) {
		verdict = "never";
		diag = report_never(judge, task);
	} else if (alone == 0 || (workload->gang && alone < workload->replicas)) {
		verdict = "never";
		diag = report_gang(judge, task, alone);
	} else if (alone < workload->replicas) {
		verdict = "short";
		diag = rg_diags_warning(judge->diags, "fit.short",
			"workload %s: %" G_GUINT64_FORMAT " of %u replicas fit at once",
			workload->name, alone, workload->replicas);
		rg_diag_at(diag, workload->source);
	} else if (together < workload->replicas) {
		verdict = "contended";
		diag = rg_diags_warning(judge->diags, "fit.contended",
			"workload %s fits alone, but only %" G_GUINT64_FORMAT
			" of %u replicas beside the other workloads",
			workload->name, together, workload->replicas);
		rg_diag_at(diag, workload->source);
		if (!judge->placed->exact)
			rg_diag_detail(diag, "found by a search that may miss a better placement");
	}
	if (diag)
		hint_remedy(diag, remedy);
	return verdict;
}

/* ---- gangs that wait for each other */

static void report_deadlock(const Judge *judge, unsigned a, unsigned b, const unsigned *held)
{
	const RgWorkload *x = workload_of(judge, a), *y = workload_of(judge, b);
	RgDiag *diag = rg_diags_error(judge->diags, "fit.deadlock",
		"gangs %s and %s fit alone, but not together", x->name, y->name);
	rg_diag_at(diag, y->source);
	if (held)
		rg_diag_detail(diag,
			"%s can hold %u of its %u replicas and %s %u of its %u: each waits for "
			"resources of the other, and neither can proceed",
			x->name, held[0], x->replicas, y->name, held[1], y->replicas);
	else
		rg_diag_detail(diag, "one of them waits while the other runs");
	rg_diag_hint(diag, "add nodes, or remove `gang` from the one that can wait");
}

/* Two tasks by themselves: whether both fit completely, certainly do not, and which holds what. */
static void check_pair(const Judge *judge, unsigned a, unsigned b)
{
	RgPlaceTask pair[] = {judge->problem->tasks[a], judge->problem->tasks[b]};
	RgPlaceProblem problem = *judge->problem;
	problem.tasks = pair;
	problem.n_tasks = 2;
	static const unsigned both[] = {0, 1};
	unsigned held[2];
	g_autoptr(RgPlaced) placed = rg_place_together(&problem);
	if (placed->all)
		return;
	bool stuck = rg_place_deadlock(&problem, both, 2, held);
	if (stuck || placed->exact)
		report_deadlock(judge, a, b, stuck ? held : NULL);
}

static void check_gangs(const Judge *judge)
{
	if (judge->placed->all)
		return;
	for (unsigned b = 1; b < judge->problem->n_tasks; b++) {
		for (unsigned a = 0; a < b; a++) {
			const RgWorkload *x = workload_of(judge, a), *y = workload_of(judge, b);
			if (x->gang && y->gang &&
				rg_demand_alone(judge->problem, x, a) >= x->replicas &&
				rg_demand_alone(judge->problem, y, b) >= y->replicas)
				check_pair(judge, a, b);
		}
	}
}

/* ---- the report */

static json_t *gpus_json(uint64_t steps)
{
	return steps % RG_PLACE_ONE == 0 ? json_integer((json_int_t)(steps / RG_PLACE_ONE))
					 : json_real((double)steps / RG_PLACE_ONE);
}

static json_t *pool_json(const Judge *judge, unsigned p)
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

static json_t *on_pools_json(const Judge *judge, unsigned task)
{
	unsigned n = judge->problem->n_pools;
	json_t *list = json_array();
	for (unsigned p = 0; p < n; p++) {
		const RgPlaceNeed *need = &judge->problem->tasks[task].on[p];
		json_t *item = json_pack("{s:s, s:s?}", "pool", pool_name(judge, p), "why",
			judge->demand->why[task * n + p]);
		if (can_take(judge, task, p)) {
			uint64_t room = rg_place_per_node(judge->problem, task, p);
			json_object_set_new(item, "per_node", json_integer((json_int_t)room));
			json_object_set_new(item, "num_gpus",
				gpus_json((uint64_t)need->whole * RG_PLACE_ONE + need->part));
			json_object_set_new(item, "placed",
				json_integer((json_int_t)judge->placed->bundles[task * n + p]));
		}
		json_array_append_new(list, item);
	}
	return list;
}

static json_t *workload_json(const Judge *judge, unsigned task)
{
	const RgWorkload *workload = workload_of(judge, task);
	uint64_t alone = rg_demand_alone(judge->problem, workload, task);
	uint64_t together = placed_replicas(judge, task);
	json_t *remedy = alone < workload->replicas
				 ? rg_fit_remedy(judge->demand, task, workload->replicas)
				 : NULL;
	const char *verdict = workload_report(judge, task, alone, remedy);
	json_t *json = json_object();
	rg_json_set_str(json, "workload", workload->name);
	rg_json_set_str(json, "verdict", verdict);
	json_object_set_new(json, "replicas", json_integer(workload->replicas));
	json_object_set_new(json, "nodes", json_integer(workload->nodes));
	json_object_set_new(json, "gang", json_boolean(workload->gang));
	json_object_set_new(json, "at_once", json_integer((json_int_t)alone));
	json_object_set_new(json, "at_once_min",
		json_integer((json_int_t)rg_demand_alone(&judge->least, workload, task)));
	json_object_set_new(json, "together", json_integer((json_int_t)together));
	json_object_set_new(json, "pools", on_pools_json(judge, task));
	json_object_set_new(json, "remedy", remedy ? remedy : json_null());
	/* Where it was placed, or, if nothing of it was placed, where it could be. */
	unsigned n = judge->problem->n_pools;
	g_autofree bool *use = g_new0(bool, MAX(n, 1));
	bool any = judge->placed->units[task] > 0;
	for (unsigned p = 0; p < n; p++)
		use[p] = any ? judge->placed->bundles[task * n + p] > 0 : can_take(judge, task, p);
	json_object_set_new(json, "ray", rg_fit_options(judge->demand, task, use));
	return json;
}

static json_t *report_json(const Judge *judge)
{
	json_t *pools = json_array(), *workloads = json_array();
	uint64_t total = 0, used = 0, stranded = 0;
	for (unsigned p = 0; p < judge->problem->n_pools; p++) {
		json_array_append_new(pools, pool_json(judge, p));
		total += judge->placed->use[p].total;
		used += judge->placed->use[p].used;
		stranded += judge->placed->use[p].stranded;
	}
	for (unsigned t = 0; t < judge->problem->n_tasks; t++)
		json_array_append_new(workloads, workload_json(judge, t));
	json_t *gpus = json_pack("{s:o, s:o, s:o}", "total", gpus_json(total), "used",
		gpus_json(used), "stranded", gpus_json(stranded));
	return json_pack("{s:s, s:s, s:s, s:b, s:b, s:b, s:o, s:o, s:o, s:o}", "format_version",
		"1.0", "cluster", judge->demand->cluster->name, "ray",
		judge->demand->cluster->ray.version, "elastic", judge->elastic, "all_fit",
		judge->placed->all, "exact", judge->placed->exact, "gpus", gpus, "fragmentation",
		json_real(total > 0 ? round((double)stranded / (double)total * 10000) / 10000 : 0),
		"pools", pools, "workloads", workloads);
}

json_t *rg_fit_workloads(const RgCluster *cluster, const RgShapes *shapes, RgDiags *diags)
{
	if (cluster->workloads->len == 0)
		return NULL;
	g_autoptr(RgDemand) demand = rg_demand_new(cluster, shapes);
	g_autoptr(RgPlaced) placed = rg_place_together(&demand->problem);
	Judge judge = {demand, &demand->problem, demand->problem, placed, false, diags};
	g_autofree RgPlacePool *least =
		g_memdup2(demand->problem.pools, demand->problem.n_pools * sizeof *least);
	for (unsigned p = 0; p < demand->problem.n_pools; p++) {
		least[p].nodes = rg_demand_shape(demand, p)->pool->nodes;
		judge.elastic |= rg_demand_shape(demand, p)->pool->is_elastic;
	}
	judge.least.pools = least;
	json_t *report = report_json(&judge);
	check_gangs(&judge);
	return report;
}
