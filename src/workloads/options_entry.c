/* Ray's options that let a workload run where it was placed: num_gpus, label_selector, resources,
 * placement groups. Names as in Ray 2.49 (docs.ray.io, "Use labels to control scheduling";
 * ray.util.placement_group). */
#include <string.h>
#include "workloads/options_internal.h"

#define POOL_LABEL "ray.io/node-group"

static bool has_option(const RgDemand *demand, const char *api, const char *option)
{
	return rg_compat_has_option(
		demand->shapes->compat, api, option, demand->cluster->ray.version);
}

/* Whether Ray's release heeds the label selectors of a task, or of a group with this strategy. */
static bool has_selectors(const RgDemand *demand, RgStrategy strategy)
{
	return has_option(demand, "task", "label_selector") &&
	       (strategy != RG_STRATEGY_STRICT_PACK ||
		       has_option(demand, "strict_pack", "bundle_label_selector"));
}

static json_t *number(double value)
{
	return value == (double)(json_int_t)value ? json_integer((json_int_t)value)
						  : json_real(value);
}

/* Fractions are whole steps of 1/10000: 3333 is written 0.3333. */
static json_t *gpus_option(const RgPlaceNeed *need)
{
	return need->whole > 0 || need->part == 0 ? json_integer(need->whole)
						  : json_real((double)need->part / RG_PLACE_ONE);
}

/* ---- which pools need the same */

static const RgPlaceNeed *need_on(const RgOptions *options, unsigned part, unsigned pool)
{
	return &options->task->parts[part].on[pool];
}

static const RgGpuModel *gpu_of(const RgOptions *options, unsigned pool)
{
	return rg_demand_shape(options->demand, pool)->type->gpu;
}

/* That of its groups; a single task is in none. */
static RgStrategy strategy_of(const RgOptions *options)
{
	return rg_place_bundles(options->task) > 1 ? options->workload->strategy : RG_STRATEGY_PACK;
}

bool rg_options_is_like(const RgOptions *options, unsigned part, unsigned a, unsigned b)
{
	const RgPlaceNeed *x = need_on(options, part, a), *y = need_on(options, part, b);
	const RgPlacePool *pools = options->demand->problem.pools;
	if (options->pins && a != b)
		return false;
	if (!has_selectors(options->demand, strategy_of(options)) &&
		gpu_of(options, a) != gpu_of(options, b))
		return false;
	bool alike = options->task->alike != RG_PLACE_ANY && (x->whole > 0 || x->part > 0);
	return x->whole == y->whole && x->part == y->part &&
	       (!alike || pools[a].kind == pools[b].kind);
}

bool rg_options_is_used(const RgOptions *options, unsigned part, unsigned pool)
{
	return options->placed[part * options->n_pools + pool] > 0;
}

unsigned rg_options_class(const RgOptions *options, unsigned part, unsigned pool)
{
	unsigned p = 0;
	while (!rg_options_is_used(options, part, p) || !rg_options_is_like(options, part, p, pool))
		p++;
	return p;
}

static json_t *pools_of(const RgOptions *options, unsigned part, unsigned class)
{
	json_t *pools = json_array();
	for (unsigned p = 0; p < options->n_pools; p++) {
		if (rg_options_is_used(options, part, p) &&
			rg_options_is_like(options, part, p, class))
			json_array_append_new(pools,
				json_string(rg_demand_shape(options->demand, p)->pool->name));
	}
	return pools;
}

/* ---- what is printed */

/* Ray's parser keeps spaces as part of a value: "in(a, b)" would never select b. */
static char *without_spaces(const char *selector)
{
	g_auto(GStrv) words = g_strsplit(selector, " ", -1);
	return g_strjoinv("", words);
}

static json_t *pool_selector(const RgOptions *options, RgStrategy strategy, const json_t *pools)
{
	json_t *selector = json_object();
	if (!has_selectors(options->demand, strategy))
		return selector;
	g_autoptr(GString) names = g_string_new(NULL);
	for (size_t i = 0; i < json_array_size(pools); i++)
		g_string_append_printf(names, "%s%s", i > 0 ? "," : "",
			json_string_value(json_array_get(pools, i)));
	g_autofree char *several = g_strdup_printf("in(%s)", names->str);
	rg_json_set_str(selector, POOL_LABEL, json_array_size(pools) > 1 ? several : names->str);
	rg_json_foreach_member (key, wish, options->workload->labels) {
		g_autofree char *text = without_spaces(json_string_value(wish));
		/* the pools are those of its selector already */
		if (!g_str_equal(key, POOL_LABEL))
			rg_json_set_str(selector, key, text);
	}
	return selector;
}

/* Custom resources; without label selectors also a tiny amount of a resource that only nodes with
 * the GPU have. */
static json_t *custom_resources(
	const RgOptions *options, RgStrategy strategy, unsigned part, unsigned pool)
{
	const RgBundle *bundle = rg_demand_bundle(options->demand, options->index, part);
	const RgGpuModel *gpu = gpu_of(options, pool);
	json_t *resources = json_copy(bundle->resources);
	if (!has_selectors(options->demand, strategy) && gpu) {
		g_autofree char *name = g_strconcat("accelerator_type:", gpu->ray_type, NULL);
		if (!json_object_get(resources, name))
			json_object_set_new(resources, name, json_real(0.001));
	}
	return resources;
}

/* For .options(); of a task in a placement group its bundle selects the node. */
static json_t *task_options(const RgOptions *options, RgStrategy strategy, unsigned part,
	unsigned pool, const json_t *selector)
{
	const RgBundle *bundle = rg_demand_bundle(options->demand, options->index, part);
	json_auto_t *resources = custom_resources(options, strategy, part, pool);
	json_t *made = json_object();
	json_object_set_new(made, "num_cpus", number(bundle->cpus));
	json_object_set_new(made, "num_gpus", gpus_option(need_on(options, part, pool)));
	if (bundle->memory_gib > 0)
		json_object_set_new(made, "memory", json_integer(bundle->memory_gib << 30));
	if (json_object_size(resources) > 0)
		json_object_set(made, "resources", resources);
	if (json_object_size(selector) > 0)
		json_object_set(made, "label_selector", rg_json_unconst(selector));
	return made;
}

static json_t *bundles_of(const RgOptions *options, RgStrategy strategy, unsigned part,
	unsigned class, unsigned count)
{
	const RgBundle *bundle = rg_demand_bundle(options->demand, options->index, part);
	json_t *pools = pools_of(options, part, class);
	json_auto_t *selector = pool_selector(options, strategy, pools);
	json_t *resources = json_object();
	if (bundle->cpus > 0)
		json_object_set_new(resources, "CPU", number(bundle->cpus));
	if (bundle->gpus > 0)
		json_object_set_new(resources, "GPU", gpus_option(need_on(options, part, class)));
	if (bundle->memory_gib > 0)
		json_object_set_new(resources, "memory", json_integer(bundle->memory_gib << 30));
	json_auto_t *custom = custom_resources(options, strategy, part, class);
	json_object_update(resources, custom);
	json_t *made = json_pack(
		"{s:i, s:o, s:o}", "count", (int)count, "pools", pools, "resources", resources);
	if (json_object_size(selector) > 0)
		json_object_set(made, "label_selector", selector);
	json_object_set_new(made, "options", task_options(options, strategy, part, class, NULL));
	return made;
}

/* ---- entries */

static void add_pools(json_t *all, const json_t *pools)
{
	rg_json_foreach (name, pools) {
		if (!rg_json_has_text(all, json_string_value(name)))
			json_array_append(all, name);
	}
}

static json_t *group_entry(const RgOptions *options, RgStrategy strategy)
{
	json_t *bundles = json_array(), *pools = json_array();
	for (unsigned i = 0; i < options->task->n_parts; i++) {
		for (unsigned p = 0; p < options->n_pools; p++) {
			unsigned count = options->form[i * options->n_pools + p];
			if (count == 0)
				continue;
			json_t *made = bundles_of(options, strategy, i, p, count);
			add_pools(pools, json_object_get(made, "pools"));
			json_array_append_new(bundles, made);
		}
	}
	json_t *first = json_object_get(json_array_get(bundles, 0), "options");
	return json_pack("{s:o, s:i, s:O, s:i, s:{s:s, s:o}}", "pools", pools, "replicas", 0,
		"options", first, "groups", 0, "placement_group", "strategy",
		rg_strategy_word(strategy), "bundles", bundles);
}

static void count_entry(json_t *entry, uint64_t groups, uint64_t replicas)
{
	json_int_t before = json_integer_value(json_object_get(entry, "replicas"));
	json_object_set_new(entry, "replicas", json_integer(before + (json_int_t)replicas));
	if (!json_object_get(entry, "placement_group"))
		return;
	before = json_integer_value(json_object_get(entry, "groups"));
	json_object_set_new(entry, "groups", json_integer(before + (json_int_t)groups));
}

void rg_options_add_form(
	RgOptions *options, RgStrategy strategy, uint64_t groups, uint64_t replicas)
{
	g_autoptr(GString) key = g_string_new(NULL);
	for (unsigned i = 0; i < options->task->n_parts * options->n_pools; i++)
		g_string_append_printf(key, "%u ", options->form[i]);
	json_t *entry = g_hash_table_lookup(options->known, key->str);
	if (!entry) {
		entry = group_entry(options, strategy);
		json_array_append_new(options->list, entry);
		g_hash_table_insert(options->known, g_strdup(key->str), entry);
	}
	count_entry(entry, groups, replicas);
	memset(options->form, 0,
		options->task->n_parts * options->n_pools * sizeof options->form[0]);
}

void rg_options_add_single(RgOptions *options, unsigned class, uint64_t replicas)
{
	json_t *pools = pools_of(options, 0, class);
	RgStrategy strategy = strategy_of(options);
	json_auto_t *selector = pool_selector(options, strategy, pools);
	json_t *entry = json_pack("{s:o, s:i, s:o}", "pools", pools, "replicas", 0, "options",
		task_options(options, strategy, 0, class, selector));
	json_array_append_new(options->list, entry);
	count_entry(entry, 0, replicas);
}
