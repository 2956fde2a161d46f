/* Ray's options that let a workload run where it was placed: num_gpus, label_selector, resources,
 * placement groups. Names as in Ray 2.49 (docs.ray.io, "Use labels to control scheduling";
 * ray.util.placement_group). */
#include <string.h>
#include "fit/demand.h"

#define POOL_LABEL "ray.io/node-group"

/* Shared by all steps for one workload. */
typedef struct {
	const RgDemand *demand;
	const RgWorkload *workload;
	const RgPlaceTask *task;
	unsigned index, n_pools;
	uint64_t *placed; /* [part * n_pools + pool]: bundles */
	unsigned *form; /* [part * n_pools + pool]: of one unit, at the first pool of each class */
	json_t *list;
	GHashTable *known; /* form as text -> its entry, borrowed */
} Options;

static bool has_selectors(const RgDemand *demand)
{
	return rg_compat_has_option(
		demand->shapes->compat, "task", "label_selector", demand->cluster->ray.version);
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

/* ---- which pools need the same */

static const RgPlaceNeed *need_on(const Options *options, unsigned part, unsigned pool)
{
	return &options->task->parts[part].on[pool];
}

static bool is_like(const Options *options, unsigned part, unsigned a, unsigned b)
{
	const RgPlaceNeed *x = need_on(options, part, a), *y = need_on(options, part, b);
	const RgPlacePool *pools = options->demand->problem.pools;
	bool alike = options->task->alike != RG_PLACE_ANY && (x->whole > 0 || x->part > 0);
	return x->whole == y->whole && x->part == y->part &&
	       (!alike || pools[a].kind == pools[b].kind);
}

static bool is_used(const Options *options, unsigned part, unsigned pool)
{
	return options->placed[part * options->n_pools + pool] > 0;
}

/* The first used pool with the same needs. */
static unsigned class_of(const Options *options, unsigned part, unsigned pool)
{
	unsigned p = 0;
	while (!is_used(options, part, p) || !is_like(options, part, p, pool))
		p++;
	return p;
}

static json_t *pools_of(const Options *options, unsigned part, unsigned class)
{
	json_t *pools = json_array();
	for (unsigned p = 0; p < options->n_pools; p++) {
		if (is_used(options, part, p) && is_like(options, part, p, class))
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

static json_t *selector_of(const Options *options, const json_t *pools)
{
	const RgDemand *demand = options->demand;
	json_t *selector = json_object(), *wish;
	const char *key;
	if (!has_selectors(demand))
		return selector;
	g_autoptr(GString) names = g_string_new(NULL);
	for (size_t i = 0; i < json_array_size(pools); i++)
		g_string_append_printf(names, "%s%s", i > 0 ? "," : "",
			json_string_value(json_array_get(pools, i)));
	g_autofree char *several = g_strdup_printf("in(%s)", names->str);
	rg_json_set_str(selector, POOL_LABEL, json_array_size(pools) > 1 ? several : names->str);
	json_object_foreach (options->workload->labels, key, wish) {
		g_autofree char *text = without_spaces(json_string_value(wish));
		/* the pools are those of its selector already */
		if (!g_str_equal(key, POOL_LABEL))
			rg_json_set_str(selector, key, text);
	}
	return selector;
}

/* Custom resources; before label selectors also a tiny amount of a resource that only nodes with
 * the GPU have. */
static json_t *resources_of(const Options *options, unsigned part, unsigned pool)
{
	const RgBundle *bundle = rg_demand_bundle(options->demand, options->index, part);
	const RgGpuModel *gpu = rg_demand_shape(options->demand, pool)->type->gpu;
	json_t *resources = json_copy(bundle->resources);
	if (!has_selectors(options->demand) && gpu) {
		g_autofree char *name = g_strconcat("accelerator_type:", gpu->ray_type, NULL);
		if (!json_object_get(resources, name))
			json_object_set_new(resources, name, json_real(0.001));
	}
	return resources;
}

/* For .options(); of a task in a placement group its bundle selects the node. */
static json_t *options_of(
	const Options *options, unsigned part, unsigned pool, const json_t *selector)
{
	const RgBundle *bundle = rg_demand_bundle(options->demand, options->index, part);
	json_auto_t *resources = resources_of(options, part, pool);
	json_t *made = json_object();
	json_object_set_new(made, "num_cpus", number(bundle->cpus));
	json_object_set_new(made, "num_gpus", gpus_of(need_on(options, part, pool)));
	if (bundle->memory_gib > 0)
		json_object_set_new(made, "memory", json_integer(bundle->memory_gib << 30));
	if (json_object_size(resources) > 0)
		json_object_set(made, "resources", resources);
	if (json_object_size(selector) > 0)
		json_object_set(made, "label_selector", rg_json_unconst(selector));
	return made;
}

static json_t *bundles_of(const Options *options, unsigned part, unsigned class, unsigned count)
{
	const RgBundle *bundle = rg_demand_bundle(options->demand, options->index, part);
	json_t *pools = pools_of(options, part, class);
	json_auto_t *selector = selector_of(options, pools);
	json_t *resources = json_object();
	if (bundle->cpus > 0)
		json_object_set_new(resources, "CPU", number(bundle->cpus));
	if (bundle->gpus > 0)
		json_object_set_new(resources, "GPU", gpus_of(need_on(options, part, class)));
	if (bundle->memory_gib > 0)
		json_object_set_new(resources, "memory", json_integer(bundle->memory_gib << 30));
	json_auto_t *custom = resources_of(options, part, class);
	json_object_update(resources, custom);
	json_t *made = json_pack(
		"{s:i, s:o, s:o}", "count", (int)count, "pools", pools, "resources", resources);
	if (json_object_size(selector) > 0)
		json_object_set(made, "label_selector", selector);
	json_object_set_new(made, "options", options_of(options, part, class, NULL));
	return made;
}

/* ---- entries */

static void add_pools(json_t *all, const json_t *pools)
{
	for (size_t i = 0; i < json_array_size(pools); i++) {
		json_t *name = json_array_get(pools, i);
		if (!rg_json_has_text(all, json_string_value(name)))
			json_array_append(all, name);
	}
}

static json_t *group_entry(const Options *options, RgStrategy strategy)
{
	json_t *bundles = json_array(), *pools = json_array();
	for (unsigned i = 0; i < options->task->n_parts; i++) {
		for (unsigned p = 0; p < options->n_pools; p++) {
			unsigned count = options->form[i * options->n_pools + p];
			if (count == 0)
				continue;
			json_t *made = bundles_of(options, i, p, count);
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

/* The unit in `form`, `groups` times. */
static void add_form(Options *options, RgStrategy strategy, uint64_t groups, uint64_t replicas)
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

/* Tasks or actors of their own. */
static void add_single(Options *options, unsigned class, uint64_t replicas)
{
	json_t *pools = pools_of(options, 0, class);
	json_auto_t *selector = selector_of(options, pools);
	json_t *entry = json_pack("{s:o, s:i, s:o}", "pools", pools, "replicas", 0, "options",
		options_of(options, 0, class, selector));
	json_array_append_new(options->list, entry);
	count_entry(entry, 0, replicas);
}

static void add_singles(Options *options, const uint64_t *counts)
{
	for (unsigned class = 0; class < options->n_pools; class ++) {
		uint64_t replicas = 0;
		if (!is_used(options, 0, class) || class_of(options, 0, class) != class)
			continue;
		for (unsigned p = 0; p < options->n_pools; p++)
			replicas += is_like(options, 0, p, class) ? counts[p] : 0;
		if (replicas > 0)
			add_single(options, class, replicas);
	}
}

/* Those on one node as a group, so that they stay on one. */
static void add_apart(Options *options, const RgPlaced *placed, unsigned part)
{
	g_autofree uint64_t *alone = g_new0(uint64_t, options->n_pools + 1);
	bool any = false;
	for (guint i = 0; i < placed->nodes->len; i++) {
		const RgPlacedNodes *nodes = placed->nodes->pdata[i];
		unsigned here = nodes->bundles[part];
		if (here == 1) {
			alone[nodes->pool] += nodes->nodes;
			any = true;
		} else if (here > 1) {
			options->form[class_of(options, 0, nodes->pool)] = here;
			add_form(options, RG_STRATEGY_STRICT_PACK, nodes->nodes,
				(uint64_t)here * nodes->nodes);
		}
	}
	for (unsigned p = 0; any && p < options->n_pools; p++) {
		uint64_t replicas = 0;
		if (!is_used(options, 0, p) || class_of(options, 0, p) != p)
			continue;
		for (unsigned q = p; q < options->n_pools; q++)
			replicas += is_like(options, 0, q, p) ? alone[q] : 0;
		if (replicas > 0)
			add_single(options, p, replicas);
	}
}

/* Each unit is on one node. */
static void add_whole(Options *options, const RgPlaced *placed, unsigned first, uint64_t each)
{
	for (guint i = 0; i < placed->nodes->len; i++) {
		const RgPlacedNodes *nodes = placed->nodes->pdata[i];
		uint64_t units = nodes->bundles[first] / options->task->parts[0].count;
		if (units == 0)
			continue;
		for (unsigned k = 0; k < options->task->n_parts; k++)
			options->form[k * options->n_pools + class_of(options, k, nodes->pool)] =
				options->task->parts[k].count;
		add_form(options, options->workload->strategy, units * nodes->nodes,
			units * nodes->nodes * each);
	}
}

/* Units whose bundles are dealt out together: all, or those on one kind of GPU. */
typedef struct {
	uint64_t before, units;
} Segment;

/* How many of the bundles [from, to) of a part unit `unit` of the segment gets, of `count` in all:
 * those in a row, or every so many-th where no node may have two of a unit. */
static uint64_t share_of(const Segment *segment, uint64_t unit, uint64_t count, uint64_t from,
	uint64_t to, bool spread)
{
	uint64_t start = segment->before * count, end = start + segment->units * count;
	from = CLAMP(from, start, end) - start;
	to = CLAMP(to, start, end) - start;
	uint64_t n = segment->units;
	if (spread)
		return (to + n - 1 - unit) / n - (from + n - 1 - unit) / n;
	uint64_t first = MAX(from, unit * count), last = MIN(to, (unit + 1) * count);
	return last > first ? last - first : 0;
}

static void form_unit(Options *options, const Segment *segment, uint64_t unit)
{
	const RgPlacePool *pools = options->demand->problem.pools;
	bool spread = options->workload->strategy == RG_STRATEGY_STRICT_SPREAD;
	unsigned last = 0;
	for (unsigned p = 0; p < options->n_pools; p++)
		last = MAX(last, pools[p].kind);
	for (unsigned i = 0; i < options->task->n_parts; i++) {
		uint64_t from = 0;
		for (unsigned kind = 0; kind <= last; kind++) {
			for (unsigned p = 0; p < options->n_pools; p++) {
				uint64_t here = options->placed[i * options->n_pools + p];
				if (pools[p].kind != kind || here == 0)
					continue;
				options->form[i * options->n_pools + class_of(options, i, p)] +=
					(unsigned)share_of(segment, unit,
						options->task->parts[i].count, from, from + here,
						spread);
				from += here;
			}
		}
	}
}

/* The part of which each unit has GPUs of one kind. */
static unsigned kind_part(const Options *options)
{
	for (unsigned i = 0; i < options->task->n_parts; i++) {
		if (rg_demand_bundle(options->demand, options->index, i)->gpus > 0)
			return i;
	}
	return 0;
}

static void add_units(Options *options, uint64_t units, uint64_t each)
{
	const RgPlacePool *pools = options->demand->problem.pools;
	unsigned part = kind_part(options), last = 0;
	Segment segment = {0, units};
	bool alike = options->task->alike != RG_PLACE_ANY;
	for (unsigned p = 0; p < options->n_pools; p++)
		last = MAX(last, pools[p].kind);
	for (unsigned kind = 0; kind <= (alike ? last : 0); kind++) {
		uint64_t bundles = 0;
		for (unsigned p = 0; p < options->n_pools; p++)
			bundles += pools[p].kind == kind
					   ? options->placed[part * options->n_pools + p]
					   : 0;
		if (alike)
			segment.units = bundles / options->task->parts[part].count;
		for (uint64_t unit = 0; unit < segment.units; unit++) {
			form_unit(options, &segment, unit);
			add_form(options, options->workload->strategy, 1, each);
		}
		segment.before += segment.units;
	}
}

/* As if one unit were on each class of pools; what it could be if it were placed. */
static void add_possible(Options *options)
{
	const RgPlaceProblem *problem = &options->demand->problem;
	for (unsigned i = 0; i < options->task->n_parts; i++) {
		for (unsigned p = 0; p < options->n_pools; p++)
			options->placed[i * options->n_pools + p] =
				need_on(options, i, p)->admitted && problem->pools[p].nodes > 0;
	}
	for (unsigned class = 0; class < options->n_pools; class ++) {
		if (!is_used(options, 0, class) || class_of(options, 0, class) != class)
			continue;
		if (rg_place_bundles(options->task) == 1) {
			add_single(options, class, 0);
			continue;
		}
		bool whole = true;
		for (unsigned i = 0; i < options->task->n_parts; i++) {
			unsigned p = class;
			while (i > 0 && p < options->n_pools && !is_used(options, i, p))
				p++;
			for (unsigned q = 0; i > 0 && p == options->n_pools && q < options->n_pools;
				q++)
				p = is_used(options, i, q) ? q : p;
			whole &= p < options->n_pools;
			if (p < options->n_pools)
				options->form[i * options->n_pools + class_of(options, i, p)] =
					options->task->parts[i].count;
		}
		if (whole)
			add_form(options, options->workload->strategy, 0, 0);
	}
}

json_t *rg_fit_options(const RgDemand *demand, const RgPlaced *placed, unsigned task, bool apart)
{
	const RgPlaceProblem *problem = &demand->problem;
	const RgWorkload *workload = rg_demand_workload(demand, task);
	Options options = {.demand = demand,
		.workload = workload,
		.task = &problem->tasks[task],
		.index = task,
		.n_pools = problem->n_pools,
		.list = json_array()};
	unsigned first = rg_place_first_part(problem, task);
	size_t cells = (size_t)options.task->n_parts * problem->n_pools;
	uint64_t each = rg_demand_is_packed(workload) ? workload->replicas : 1;
	options.placed = g_new0(uint64_t, cells + 1);
	options.form = g_new0(unsigned, cells + 1);
	options.known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (guint i = 0; i < placed->nodes->len; i++) {
		const RgPlacedNodes *nodes = placed->nodes->pdata[i];
		for (unsigned k = 0; k < options.task->n_parts; k++)
			options.placed[k * problem->n_pools + nodes->pool] +=
				(uint64_t)nodes->nodes * nodes->bundles[first + k];
	}
	if (placed->units[task] == 0)
		add_possible(&options);
	else if (rg_place_bundles(options.task) == 1 && apart)
		add_apart(&options, placed, first);
	else if (rg_place_bundles(options.task) == 1)
		add_singles(&options, options.placed);
	else if (workload->strategy == RG_STRATEGY_STRICT_PACK)
		add_whole(&options, placed, first, each);
	else
		add_units(&options, placed->units[task], each);
	g_free(options.placed);
	g_free(options.form);
	g_hash_table_unref(options.known);
	return options.list;
}
