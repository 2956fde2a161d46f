/* A new pool, of any type that may run the workload, whole or in slices. */
#include <string.h>
#include "workloads/remedy_internal.h"

#define MANY_TIMES 100000 /* a bundle that nothing limits */
#define MARKET_LABEL "ray.io/market-type"
#define OWN_LABELS "ray.io/"
#define RAYGPU_LABELS "raygpu.io/"

/* A value that a selector accepts, for the pool's label; NULL: it must not have one. g_free. */
static char *value_for(const char *selector)
{
	if (selector[0] == '!')
		return NULL;
	if (!g_str_has_prefix(selector, "in("))
		return g_strdup(selector);
	g_autofree char *inside = g_strndup(selector + 3, strlen(selector) - 4);
	g_auto(GStrv) words = g_strsplit(inside, ",", 2);
	return g_strdup(g_strstrip(words[0]));
}

static json_t *labels_for(const RgWorkload *workload)
{
	json_t *labels = json_object();
	rg_json_foreach_member (key, selector, workload->labels) {
		g_autofree char *value = value_for(json_string_value(selector));
		if (value && !g_str_has_prefix(key, OWN_LABELS) &&
			!g_str_has_prefix(key, RAYGPU_LABELS))
			rg_json_set_str(labels, key, value);
	}
	return labels;
}

/* Those that its nodes do not have by themselves, such as accelerator_type:T4 or mig-1g.5gb, as
 * many as its GPUs, CPUs and memory have use for. */
static json_t *resources_for(const RgRemedy *remedy, const RgTrial *trial)
{
	json_t *resources = json_object();
	json_auto_t *own = rg_fit_resources(trial->extra);
	rg_ptr_foreach (const RgBundle, bundle, remedy->workload->bundles) {
		unsigned cpus = 0;
		rg_fit_ray_cpus(trial->extra, &cpus);
		double room = bundle->cpus > 0 ? cpus / bundle->cpus : MANY_TIMES;
		if (bundle->gpus > 0)
			room = MIN(room, rg_fit_ray_gpus(trial->extra) / bundle->gpus);
		if (bundle->memory_gib > 0)
			room = MIN(room, (double)rg_fit_ray_memory_mib(trial->extra) / 1024 /
						 (double)bundle->memory_gib);
		rg_json_foreach_member (name, wish, bundle->resources) {
			double had = json_number_value(json_object_get(resources, name));
			double amount = json_number_value(wish) * MAX((int)room, 1);
			if (!json_object_get(own, name) && !g_str_has_prefix(name, "mig-") &&
				!g_str_has_prefix(name, "accelerator_type:"))
				json_object_set_new(resources, name, json_real(MAX(had, amount)));
		}
	}
	return resources;
}

static bool is_runnable(const RgRemedy *remedy, const RgInstanceType *type)
{
	const char *region = remedy->cluster->provider.region;
	bool gpus = false;
	for (guint i = 0; i < remedy->workload->bundles->len; i++)
		gpus |= ((const RgBundle *)remedy->workload->bundles->pdata[i])->gpus > 0;
	if (!g_str_equal(type->arch, "x86_64") ||
		rg_catalog_offer_state(remedy->shapes.catalog, type, region) == RG_OFFER_NONE)
		return false;
	/* GPUs are not bought for work without any */
	if (!type->gpu || !gpus)
		return !type->gpu && !gpus;
	return type->gpu_fraction == 1 && g_str_equal(type->gpu->vendor, "NVIDIA");
}

/* `profile` NULL: whole GPUs. */
static void try_new(
	RgRemedy *remedy, const RgInstanceType *type, bool is_spot, const RgMigProfile *profile)
{
	static const char name[] = "new";
	const char *mig[] = {profile ? profile->name : NULL, NULL};
	g_autoptr(RgDiags) ignored = rg_diags_new();
	RgPool pool = {.num_cpus = -1,
		.name = (char *)(uintptr_t)name,
		.origin = (char *)(uintptr_t) "",
		.nodes = 1,
		.nodes_max = 1,
		.max_unavailable = 1,
		.market = {.is_spot = is_spot}};
	RgShape shape = {.pool = &pool, .type = type, .is_spot = is_spot};
	RgTrial trial = rg_remedy_trial(remedy);
	json_auto_t *labels = labels_for(remedy->workload), *resources = json_object();
	pool.labels = labels;
	pool.resources = resources;
	pool.share.mig = profile ? (char **)(uintptr_t)mig : NULL;
	rg_fit_choose_images(&remedy->shapes, &shape);
	if (rg_fit_share(&remedy->shapes, &shape, ignored) && rg_remedy_admits(remedy, &shape)) {
		trial.extra = &shape;
		trial.grows = remedy->shapes.shapes->len;
		trial.price = rg_remedy_price(remedy, type, is_spot);
		json_auto_t *more = resources_for(remedy, &trial);
		json_object_update(resources, more);
		pool.nodes = pool.nodes_max = 0;
		json_t *change = rg_remedy_change(&shape, NULL);
		rg_json_set_str(change, "mig", mig[0]);
		json_object_set(change, "labels", labels);
		json_object_set(change, "resources", resources);
		rg_remedy_offer(remedy, &trial, change);
	}
	if (shape.slices)
		g_ptr_array_unref(shape.slices);
	g_free(shape.ray_image);
}

/* Whole GPUs first: slices are only better if they cost less. */
static void try_type(RgRemedy *remedy, const RgInstanceType *type, bool is_spot)
{
	const RgBundle *bundle = remedy->workload->bundles->pdata[0];
	try_new(remedy, type, is_spot, NULL);
	if (!type->gpu || bundle->gpus == 0 || bundle->gpus > 1)
		return;
	const GPtrArray *profiles = rg_remedy_profiles(remedy, type);
	for (guint i = 0; profiles && i < profiles->len; i++) {
		const RgMigProfile *profile = profiles->pdata[i];
		if (profile->memory_gb >= bundle->gpu_memory_gb)
			try_new(remedy, type, is_spot, profile);
	}
}

typedef struct {
	const RgInstanceType *type;
	int64_t price;
	bool is_spot;
} Priced;

static int by_price(gconstpointer a, gconstpointer b)
{
	const Priced *x = a, *y = b;
	if (x->price != y->price)
		return x->price < y->price ? -1 : 1;
	return rg_instance_type_compare(x->type, y->type);
}

static void add_priced(
	const RgRemedy *remedy, GArray *list, const RgInstanceType *type, bool is_spot)
{
	int64_t price = rg_remedy_price(remedy, type, is_spot);
	unsigned sold = RG_SOLD(is_spot ? RG_PRICE_SPOT : RG_PRICE_ON_DEMAND);
	Priced one = {type, price, is_spot};
	if (price != RG_MONEY_UNKNOWN && (type->markets & sold))
		g_array_append_val(list, one);
}

/* A workload that runs on spot nodes only gets these; others get nodes on demand, unless the policy
 * rules them out. */
void rg_remedy_try_types(RgRemedy *remedy)
{
	const GPtrArray *types = rg_catalog_get_types(remedy->shapes.catalog);
	const char *market = rg_json_str(remedy->workload->labels, MARKET_LABEL, NULL);
	g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(Priced));
	for (guint i = 0; i < types->len; i++) {
		if (!is_runnable(remedy, types->pdata[i]))
			continue;
		bool spot = market && rg_demand_selects(market, "spot") &&
			    !rg_demand_selects(market, "on-demand");
		add_priced(remedy, list, types->pdata[i], spot);
	}
	g_array_sort(list, by_price);
	for (guint i = 0; i < list->len && remedy->steps > 0; i++) {
		const Priced *one = &g_array_index(list, Priced, i);
		if (remedy->best && remedy->best_over == 0 && one->price >= remedy->best_cost)
			break;
		try_type(remedy, one->type, one->is_spot);
	}
}
