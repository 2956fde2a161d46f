/* Whether a bundle can run on an empty node of a pool, and what the node lacks. */
#include <string.h>
#include "workloads/demand.h"

#define MIB_PER_GIB 1024

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
bool rg_demand_selects(const char *selector, const char *value)
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

/* One bundle on a node of one pool. */
typedef struct {
	const RgDemand *demand;
	const RgWorkload *workload;
	const RgBundle *bundle;
	const RgShape *shape;
	const RgPlacePool *pool;
} Look;

/* Each returns what is lacking, or NULL; g_free the result. */

static char *lacks_name(const Look *look)
{
	const char *const *pools = (const char *const *)look->workload->pools;
	return !pools || g_strv_contains(pools, look->shape->pool->name)
		       ? NULL
		       : g_strdup("not named by pool");
}

static char *lacks_label(const Look *look)
{
	json_auto_t *labels = rg_fit_labels(look->demand->cluster, look->shape, NULL);
	rg_json_foreach_member (key, selector, look->workload->labels) {
		const char *value = rg_json_str(labels, key, NULL);
		if (!rg_demand_selects(json_string_value(selector), value))
			return g_strdup_printf("label %s is %s, not %s", key,
				value ? value : "not there", json_string_value(selector));
	}
	return NULL;
}

static char *lacks_gpu(const Look *look)
{
	return look->bundle->gpus > 0 && !look->shape->type->gpu ? g_strdup("has no GPU") : NULL;
}

static bool needs_gpu(const Look *look)
{
	return look->bundle->gpus > 0 && look->shape->type->gpu;
}

static char *lacks_model(const Look *look)
{
	const RgGpuModel *gpu = look->shape->type->gpu;
	if (!needs_gpu(look) || !look->workload->models ||
		names_model(look->demand->shapes, look->workload, gpu))
		return NULL;
	return g_strdup_printf("its GPU is %s", gpu->name);
}

static char *lacks_capability(const Look *look)
{
	const RgGpuModel *gpu = look->shape->type->gpu;
	unsigned least = look->workload->capability;
	if (!needs_gpu(look) || gpu->compute_capability >= least)
		return NULL;
	return g_strdup_printf("needs compute capability %u.%u; %s has %u.%u", least / 10,
		least % 10, gpu->name, gpu->compute_capability / 10, gpu->compute_capability % 10);
}

static char *lacks_gpu_memory(const Look *look)
{
	const RgBundle *bundle = look->bundle;
	unsigned gb = rg_fit_gpu_memory_gb(look->shape);
	double gib = rg_fit_gpu_memory_gib(look->shape);
	if (!needs_gpu(look) || (bundle->gpu_memory_gb <= gb && bundle->gpu_memory_gib <= gib))
		return NULL;
	const char *name = look->shape->type->gpu->name;
	g_autofree char *slice = rg_fit_slice_word(look->shape);
	const char *of = !slice			       ? ""
			 : g_str_equal(slice, "mixed") ? "the smallest slice of "
						       : "a slice of ";
	if (bundle->gpu_memory_gb > gb)
		return g_strdup_printf("needs %g GB on one GPU; %s%s has %u GB",
			bundle->gpu_memory_gb, of, name, gb);
	return g_strdup_printf("needs %g GiB on one GPU; %s%s has %.2f GiB", bundle->gpu_memory_gib,
		of, name, gib);
}

static char *lacks_gpus(const Look *look)
{
	double gpus = look->bundle->gpus;
	if (!needs_gpu(look))
		return NULL;
	if (look->shape->slices && gpus > 1)
		return g_strdup("a program can use one MIG slice only");
	if (gpus <= rg_fit_ray_gpus(look->shape))
		return NULL;
	return g_strdup_printf("needs %g GPUs on one node; %s has %u", gpus,
		look->shape->type->name, rg_fit_ray_gpus(look->shape));
}

static char *lacks_cpus(const Look *look)
{
	unsigned cpus;
	if (!rg_fit_ray_cpus(look->shape, &cpus) || look->bundle->cpus <= cpus)
		return NULL;
	bool said = look->shape->pool->num_cpus >= 0;
	return g_strdup_printf("needs %g CPUs on one node; %s has %s%u", look->bundle->cpus,
		look->shape->type->name, said ? "num_cpus: " : "", cpus);
}

static char *lacks_memory(const Look *look)
{
	const RgInstanceType *type = look->shape->type;
	int64_t mib = rg_fit_ray_memory_mib(look->shape);
	if (type->memory_gib <= 0 || look->bundle->memory_gib * MIB_PER_GIB <= mib)
		return NULL;
	return g_strdup_printf("needs %" G_GINT64_FORMAT
			       " GiB of memory on one node; Ray offers %.1f of %s",
		look->bundle->memory_gib, (double)mib / MIB_PER_GIB, type->name);
}

static char *lacks_resource(const Look *look)
{
	for (guint i = RG_AMOUNT_CUSTOM; i < look->demand->amounts->len; i++) {
		const char *name = look->demand->amounts->pdata[i];
		const json_t *wish = json_object_get(look->bundle->resources, name);
		if (wish && rg_demand_steps(json_number_value(wish)) > look->pool->amounts[i])
			return g_strdup_printf("needs %g of resource %s on one node; it has %g",
				json_number_value(wish), name,
				(double)look->pool->amounts[i] / RG_PLACE_ONE);
	}
	return NULL;
}

static const struct {
	const char *what;
	char *(*lacks)(const Look *look);
} checks[] = {{"pool", lacks_name}, {"labels", lacks_label}, {"gpus", lacks_gpu},
	{"accelerators", lacks_model}, {"compute_capability", lacks_capability},
	{"gpu_memory", lacks_gpu_memory}, {"gpus", lacks_gpus}, {"cpus", lacks_cpus},
	{"memory", lacks_memory}, {"resources", lacks_resource}};

json_t *rg_demand_lacks(const RgDemand *demand, unsigned task, unsigned part, unsigned pool)
{
	Look look = {demand, rg_demand_workload(demand, task), rg_demand_bundle(demand, task, part),
		rg_demand_shape(demand, pool), &demand->problem.pools[pool]};
	json_t *list = json_array();
	for (size_t i = 0; i < G_N_ELEMENTS(checks); i++) {
		g_autofree char *why = checks[i].lacks(&look);
		if (why)
			json_array_append_new(
				list, json_pack("{s:s, s:s}", "what", checks[i].what, "why", why));
	}
	return list;
}

/* Of one GPU: what is requested, but not less than its share of the memory or of the turns. */
static void set_part(const RgBundle *bundle, const RgShape *shape, RgPlaceNeed *need)
{
	unsigned time_slices = shape->pool->share.time_slices;
	double gb = rg_fit_gpu_memory_gb(shape), gib = rg_fit_gpu_memory_gib(shape);
	int64_t part = rg_demand_steps(bundle->gpus);
	if (gb > 0)
		part = MAX(part, rg_demand_steps(bundle->gpu_memory_gb / gb));
	if (gib > 0)
		part = MAX(part, rg_demand_steps(bundle->gpu_memory_gib / gib));
	if (time_slices > 0)
		part = MAX(part, RG_PLACE_ONE / time_slices);
	need->whole = part >= RG_PLACE_ONE;
	need->part = need->whole > 0 ? 0 : (unsigned)part;
}

char *rg_demand_judge(RgDemand *demand, const RgWorkload *workload, const RgBundle *bundle,
	unsigned p, RgPlaceNeed *need)
{
	const RgShape *shape = rg_demand_shape(demand, p);
	Look look = {demand, workload, bundle, shape, &demand->problem.pools[p]};
	g_autofree char *why = NULL;
	for (size_t i = 0; !why && i < G_N_ELEMENTS(checks); i++)
		why = checks[i].lacks(&look);
	if (why)
		return g_steal_pointer(&why);
	need->admitted = true;
	if (bundle->gpus >= 1)
		need->whole = (unsigned)bundle->gpus;
	else if (bundle->gpus > 0)
		set_part(bundle, shape, need);
	/* it would run there if the pool had any */
	if (shape->pool->is_disabled)
		return g_strdup("is disabled");
	return shape->pool->nodes_max == 0 ? g_strdup("has no nodes") : NULL;
}
