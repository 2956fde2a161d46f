#include "workloads/asks.h"
#include <string.h>

#define MIB (1 << 20)
#define ACCELERATOR "accelerator_type:"

static void *keep_for_asks(RgAsks *asks, void *memory)
{
	g_ptr_array_add(asks->owned, memory);
	return memory;
}

static bool has_gpu(const RgShape *shape, const char *ray_type)
{
	return shape->type->gpu && g_str_equal(shape->type->gpu->ray_type, ray_type);
}

/* Without a selector, Ray takes any node with the GPU that the resources name. */
static void set_pools(const RgAsks *asks, const json_t *said, const json_t *pools, bool *admitted)
{
	const char *gpu = NULL;
	bool selects = json_object_size(json_object_get(said, "label_selector")) > 0;
	rg_json_foreach_member (name, amount, json_object_get(said, "resources")) {
		if (g_str_has_prefix(name, ACCELERATOR))
			gpu = name + strlen(ACCELERATOR);
	}
	for (unsigned p = 0; p < asks->problem->n_pools; p++) {
		const RgShape *shape = rg_demand_shape(asks->demand, p);
		admitted[p] = selects ? rg_json_has_text(pools, shape->pool->name)
				      : !gpu || has_gpu(shape, gpu);
	}
}

/* `said`: a bundle, or the options of a task. */
static RgRayBundle read_bundle(RgAsks *asks, const json_t *said, const json_t *pools)
{
	const RgPlaceProblem *problem = asks->problem;
	bool is_task = json_object_get(said, "num_cpus") != NULL;
	const json_t *resources = json_object_get(said, "resources");
	const json_t *plain = is_task ? said : resources;
	RgRayBundle bundle = {.pools = keep_for_asks(asks, g_new0(bool, problem->n_pools + 1)),
		.amounts = keep_for_asks(asks, g_new0(int64_t, problem->n_amounts + 1))};
	set_pools(asks, said, pools, bundle.pools);
	bundle.gpus = (unsigned)rg_demand_steps(
		json_number_value(json_object_get(plain, is_task ? "num_gpus" : "GPU")));
	bundle.amounts[RG_AMOUNT_CPU] = rg_demand_steps(
		json_number_value(json_object_get(plain, is_task ? "num_cpus" : "CPU")));
	bundle.amounts[RG_AMOUNT_MEMORY] = rg_json_int(plain, "memory", 0) / MIB;
	for (unsigned a = RG_AMOUNT_CUSTOM; a < problem->n_amounts; a++)
		bundle.amounts[a] = rg_demand_steps(json_number_value(
			json_object_get(resources, asks->demand->amounts->pdata[a])));
	return bundle;
}

/* As Ray sorts bundles: GPUs first, then custom resources, memory, CPUs. */
static int by_size(gconstpointer x, gconstpointer y, gpointer n_amounts)
{
	const RgRayBundle *a = x, *b = y;
	if (a->gpus != b->gpus)
		return a->gpus > b->gpus ? -1 : 1;
	for (unsigned i = GPOINTER_TO_UINT(n_amounts); i-- > 0;) {
		if (a->amounts[i] != b->amounts[i])
			return a->amounts[i] > b->amounts[i] ? -1 : 1;
	}
	return 0;
}

static void read_group(RgAsks *asks, const json_t *group, RgRayAsk *ask)
{
	static const RgPlaceStrategy strategies[] = {[RG_STRATEGY_PACK] = RG_PLACE_PACK,
		[RG_STRATEGY_SPREAD] = RG_PLACE_SPREAD,
		[RG_STRATEGY_STRICT_PACK] = RG_PLACE_STRICT_PACK,
		[RG_STRATEGY_STRICT_SPREAD] = RG_PLACE_STRICT_SPREAD};
	const char *word = rg_json_str(group, "strategy", "");
	GArray *bundles = g_array_new(FALSE, FALSE, sizeof(RgRayBundle));
	for (size_t s = 0; s < G_N_ELEMENTS(strategies); s++) {
		if (g_str_equal(word, rg_strategy_word((RgStrategy)s)))
			ask->strategy = strategies[s];
	}
	rg_json_foreach (said, json_object_get(group, "bundles")) {
		RgRayBundle bundle = read_bundle(asks, said, json_object_get(said, "pools"));
		for (int64_t k = 0; k < rg_json_int(said, "count", 1); k++)
			g_array_append_val(bundles, bundle);
	}
	g_array_sort_with_data(bundles, by_size, GUINT_TO_POINTER(asks->problem->n_amounts));
	ask->is_group = true;
	ask->n_bundles = bundles->len;
	ask->bundles = keep_for_asks(asks, g_array_free(bundles, FALSE));
}

static void read_options(RgAsks *asks, unsigned task, const json_t *entries)
{
	rg_json_foreach (entry, entries) {
		const json_t *group = json_object_get(entry, "placement_group");
		RgRayAsk ask = {.task = task,
			.units = (unsigned)rg_json_int(entry, group ? "groups" : "replicas", 0)};
		if (ask.units == 0)
			continue;
		if (group) {
			read_group(asks, group, &ask);
		} else {
			ask.bundles = keep_for_asks(asks, g_new0(RgRayBundle, 1));
			ask.bundles[0] = read_bundle(asks, json_object_get(entry, "options"),
				json_object_get(entry, "pools"));
			ask.n_bundles = 1;
		}
		g_array_append_val(asks->asks, ask);
	}
}

void rg_asks_init(
	RgAsks *asks, const RgDemand *demand, const json_t *options, unsigned from, unsigned to)
{
	*asks = (RgAsks){.demand = demand, .problem = &demand->problem};
	asks->asks = g_array_new(FALSE, FALSE, sizeof(RgRayAsk));
	asks->owned = g_ptr_array_new_with_free_func(g_free);
	for (unsigned t = from; t < to; t++)
		read_options(asks, t, json_array_get(options, t));
	asks->some = g_new0(unsigned, asks->asks->len + 1);
	asks->order = g_new0(unsigned, asks->asks->len + 1);
}

void rg_asks_clear(RgAsks *asks)
{
	g_array_unref(asks->asks);
	g_ptr_array_unref(asks->owned);
	g_free(asks->some);
	g_free(asks->order);
}

const RgRayAsk *rg_asks_at(const RgAsks *asks, unsigned i)
{
	return &g_array_index(asks->asks, RgRayAsk, i);
}
