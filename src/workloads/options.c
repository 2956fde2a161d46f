/* What was placed of a workload as units that are equal to Ray: single tasks, or placement groups
 * with the same bundles on the same pools. */
#include "workloads/options_internal.h"

static void add_singles(RgOptions *options, const uint64_t *counts)
{
	for (unsigned class = 0; class < options->n_pools; class ++) {
		uint64_t replicas = 0;
		if (!rg_options_is_used(options, 0, class) ||
			rg_options_class(options, 0, class) != class)
			continue;
		for (unsigned p = 0; p < options->n_pools; p++)
			replicas += rg_options_is_like(options, 0, p, class) ? counts[p] : 0;
		if (replicas > 0)
			rg_options_add_single(options, class, replicas);
	}
}

/* Those on one node as a group, so that they stay on one. */
static void add_apart(RgOptions *options, const RgPlaced *placed, unsigned part)
{
	g_autofree uint64_t *alone = g_new0(uint64_t, options->n_pools + 1);
	rg_ptr_foreach (const RgPlacedNodes, nodes, placed->nodes) {
		unsigned here = nodes->bundles[part];
		if (here == 1) {
			alone[nodes->pool] += nodes->nodes;
		} else if (here > 1) {
			options->form[rg_options_class(options, 0, nodes->pool)] = here;
			rg_options_add_form(options, RG_STRATEGY_STRICT_PACK, nodes->nodes,
				(uint64_t)here * nodes->nodes);
		}
	}
	add_singles(options, alone);
}

/* Each unit is on one node. */
static void add_whole(RgOptions *options, const RgPlaced *placed, unsigned first, uint64_t each)
{
	rg_ptr_foreach (const RgPlacedNodes, nodes, placed->nodes) {
		uint64_t units = nodes->bundles[first] / options->task->parts[0].count;
		if (units == 0)
			continue;
		for (unsigned k = 0; k < options->task->n_parts; k++)
			options->form[k * options->n_pools +
				      rg_options_class(options, k, nodes->pool)] =
				options->task->parts[k].count;
		rg_options_add_form(options, options->workload->strategy, units * nodes->nodes,
			units * nodes->nodes * each);
	}
}

/* Units whose bundles are dealt out together: all, or those on one kind of GPU. */
typedef struct {
	uint64_t before, units;
} Segment;

/* How many of the bundles [from, to) of a part unit `unit` of the segment gets, of `count` in all:
 * those in a row, or every so many-th where no node may have two of a unit. */
static uint64_t unit_share(const Segment *segment, uint64_t unit, uint64_t count, uint64_t from,
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

static void form_unit(RgOptions *options, const Segment *segment, uint64_t unit)
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
				options->form[i * options->n_pools +
					      rg_options_class(options, i, p)] +=
					(unsigned)unit_share(segment, unit,
						options->task->parts[i].count, from, from + here,
						spread);
				from += here;
			}
		}
	}
}

/* The part of which each unit has GPUs of one kind. */
static unsigned kind_part(const RgOptions *options)
{
	for (unsigned i = 0; i < options->task->n_parts; i++) {
		if (rg_demand_bundle(options->demand, options->index, i)->gpus > 0)
			return i;
	}
	return 0;
}

static void add_units(RgOptions *options, uint64_t units, uint64_t each)
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
			rg_options_add_form(options, options->workload->strategy, 1, each);
		}
		segment.before += segment.units;
	}
}

/* As if one unit were on each class of pools; what it could be if it were placed. */
static void add_possible(RgOptions *options)
{
	const RgPlaceProblem *problem = &options->demand->problem;
	for (unsigned i = 0; i < options->task->n_parts; i++) {
		for (unsigned p = 0; p < options->n_pools; p++)
			options->placed[i * options->n_pools + p] =
				options->task->parts[i].on[p].admitted &&
				problem->pools[p].nodes > 0;
	}
	for (unsigned class = 0; class < options->n_pools; class ++) {
		if (!rg_options_is_used(options, 0, class) ||
			rg_options_class(options, 0, class) != class)
			continue;
		if (rg_place_bundles(options->task) == 1) {
			rg_options_add_single(options, class, 0);
			continue;
		}
		bool whole = true;
		for (unsigned i = 0; i < options->task->n_parts; i++) {
			unsigned p = class;
			while (i > 0 && p < options->n_pools && !rg_options_is_used(options, i, p))
				p++;
			for (unsigned q = 0; i > 0 && p == options->n_pools && q < options->n_pools;
				q++)
				p = rg_options_is_used(options, i, q) ? q : p;
			whole &= p < options->n_pools;
			if (p < options->n_pools)
				options->form[i * options->n_pools +
					      rg_options_class(options, i, p)] =
					options->task->parts[i].count;
		}
		if (whole)
			rg_options_add_form(options, options->workload->strategy, 0, 0);
	}
}

json_t *rg_fit_options(
	const RgDemand *demand, const RgPlaced *placed, unsigned task, RgOptionForm form)
{
	const RgPlaceProblem *problem = &demand->problem;
	const RgWorkload *workload = rg_demand_workload(demand, task);
	RgOptions options = {.demand = demand,
		.workload = workload,
		.task = &problem->tasks[task],
		.index = task,
		.n_pools = problem->n_pools,
		.pins = form.pins,
		.list = json_array()};
	unsigned first = rg_place_first_part(problem, task);
	size_t cells = (size_t)options.task->n_parts * problem->n_pools;
	uint64_t each = rg_demand_is_packed(workload) ? workload->replicas : 1;
	options.placed = g_new0(uint64_t, cells + 1);
	options.form = g_new0(unsigned, cells + 1);
	options.known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	rg_ptr_foreach (const RgPlacedNodes, nodes, placed->nodes) {
		for (unsigned k = 0; k < options.task->n_parts; k++)
			options.placed[k * problem->n_pools + nodes->pool] +=
				(uint64_t)nodes->nodes * nodes->bundles[first + k];
	}
	if (placed->units[task] == 0)
		add_possible(&options);
	else if (rg_place_bundles(options.task) == 1 && form.apart)
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
