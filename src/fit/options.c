/* Ray's options that let a workload run where it was placed: num_gpus, label_selector, resources,
 * placement groups. Names as in Ray 2.49 (docs.ray.io, "Use labels to control scheduling";
 * ray.util.placement_group). */
#include <string.h>
#include "fit/demand.h"

#define POOL_LABEL "ray.io/node-group"

/* 2.49 introduced label_selector and the bundle_label_selector of placement groups. */
static bool has_selectors(const RgCluster *cluster)
{
	char *rest = NULL;
	guint64 major = g_ascii_strtoull(cluster->ray.version, &rest, 10);
	guint64 minor = *rest == '.' ? g_ascii_strtoull(rest + 1, NULL, 10) : 0;
	return major > 2 || (major == 2 && minor >= 49);
}

static json_t *number(double value)
{
	return value == (double)(json_int_t)value ? json_integer((json_int_t)value)
						  : json_real(value);
}

/* Fractions are whole steps of 1/10000: 3333 is written 0.3333. */
static json_t *gpus_of(const RgPlaceNeed *need)
{
	return need->whole > 0 || need->part == 0 ? json_integer(need->whole)
						  : json_real((double)need->part / RG_PLACE_ONE);
}

static bool same_need(const RgPlaceNeed *a, const RgPlaceNeed *b)
{
	return a->whole == b->whole && a->part == b->part;
}

/* Pools from `from` on that need the same options; marks them in `done`. */
static json_t *alike(
	const RgDemand *demand, unsigned task, const bool *use, bool *done, unsigned from)
{
	const RgPlaceNeed *on = demand->problem.tasks[task].on;
	json_t *pools = json_array();
	for (unsigned p = from; p < demand->problem.n_pools; p++) {
		if (!use[p] || done[p] || !same_need(&on[p], &on[from]))
			continue;
		done[p] = true;
		json_array_append_new(pools, json_string(rg_demand_shape(demand, p)->pool->name));
	}
	return pools;
}

static json_t *selector_of(
	const RgCluster *cluster, const RgWorkload *workload, const json_t *pools)
{
	json_t *selector = json_object();
	g_autoptr(GString) names = g_string_new(NULL);
	for (size_t i = 0; i < json_array_size(pools); i++)
		g_string_append_printf(names, "%s%s", i > 0 ? "," : "",
			json_string_value(json_array_get(pools, i)));
	g_autofree char *several = g_strdup_printf("in(%s)", names->str);
	rg_json_set_str(selector, POOL_LABEL, json_array_size(pools) > 1 ? several : names->str);
	json_object_update(selector, workload->labels);
	if (!has_selectors(cluster))
		json_object_clear(selector);
	return selector;
}

/* Before label selectors: a tiny amount of a resource that only nodes with the GPU have. */
static void add_trace(const RgDemand *demand, unsigned pool, json_t *resources)
{
	const RgGpuModel *gpu = rg_demand_shape(demand, pool)->type->gpu;
	if (has_selectors(demand->cluster) || !gpu)
		return;
	g_autofree char *name = g_strconcat("accelerator_type:", gpu->ray_type, NULL);
	json_object_set_new(resources, name, json_real(0.001));
}

static json_t *group_options(const RgWorkload *workload, const RgPlaceTask *task,
	const RgPlaceNeed *need, const json_t *selector, const json_t *resources)
{
	json_t *bundle = json_object();
	if (workload->cpus > 0)
		json_object_set_new(bundle, "CPU", number(workload->cpus));
	if (need->whole > 0 || need->part > 0)
		json_object_set_new(bundle, "GPU", gpus_of(need));
	if (workload->memory_gib > 0)
		json_object_set_new(bundle, "memory", json_integer(workload->memory_gib << 30));
	json_object_update(bundle, rg_json_unconst(resources));
	json_t *group = json_pack("{s:i, s:o, s:s}", "count", (int)task->bundles, "bundle", bundle,
		"strategy", task->spread ? "STRICT_SPREAD" : "PACK");
	if (json_object_size(selector) > 0)
		json_object_set(group, "label_selector", rg_json_unconst(selector));
	return group;
}

json_t *rg_fit_options(const RgDemand *demand, unsigned task, const bool *use)
{
	const RgWorkload *workload = demand->cluster->workloads->pdata[task];
	const RgPlaceTask *place = &demand->problem.tasks[task];
	g_autofree bool *done = g_new0(bool, MAX(demand->problem.n_pools, 1));
	json_t *list = json_array();
	for (unsigned p = 0; p < demand->problem.n_pools; p++) {
		if (!use[p] || done[p])
			continue;
		json_t *pools = alike(demand, task, use, done, p);
		json_auto_t *selector = selector_of(demand->cluster, workload, pools);
		json_auto_t *resources = json_copy(workload->resources);
		add_trace(demand, p, resources);
		json_t *options = json_object();
		json_object_set_new(options, "num_cpus", number(workload->cpus));
		json_object_set_new(options, "num_gpus", gpus_of(&place->on[p]));
		if (workload->memory_gib > 0)
			json_object_set_new(
				options, "memory", json_integer(workload->memory_gib << 30));
		if (json_object_size(resources) > 0)
			json_object_set(options, "resources", rg_json_unconst(resources));
		if (json_object_size(selector) > 0)
			json_object_set(options, "label_selector", rg_json_unconst(selector));
		json_t *group = place->bundles > 1 ? group_options(workload, place, &place->on[p],
							     selector, resources)
						   : NULL;
		json_array_append_new(list, json_pack("{s:o, s:o, s:o*}", "pools", pools, "options",
						    options, "placement_group", group));
	}
	return list;
}
