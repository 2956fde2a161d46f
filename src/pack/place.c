#include "pack/place.h"
#include <string.h>
#include "pack/internal.h"

/* ---- one task alone */

uint64_t rg_place_alone_surely(const RgPlaceProblem *problem, unsigned task, bool *sure)
{
	const RgPlaceTask *wish = &problem->tasks[task];
	RgPlaceAlike alike = rg_place_alike(problem, task);
	uint64_t most = 0, sum = 0;
	*sure = true;
	if (alike == RG_PLACE_ANY)
		return rg_place_alone_on(problem, task, 0, sure);
	for (unsigned kind = 1; kind <= rg_place_last_kind(problem); kind++) {
		uint64_t here = rg_place_alone_on(problem, task, kind, sure);
		most = MAX(most, here);
		sum += here;
	}
	if (alike == RG_PLACE_ALL_ALIKE)
		return most;
	/* bundles without GPUs compete for the same nodes, whatever the kind of the others */
	return wish->n_parts > 1 && wish->strategy != RG_PLACE_STRICT_PACK
		       ? rg_place_search_alone(problem, wish, sum, rg_place_divide_units, sure)
		       : sum;
}

uint64_t rg_place_alone(const RgPlaceProblem *problem, unsigned task)
{
	bool sure;
	return rg_place_alone_surely(problem, task, &sure);
}

bool rg_place_fits(const RgPlaceProblem *problem, const unsigned *units, bool *sure)
{
	g_autoptr(GPtrArray) nodes = rg_place_solve(problem, units, sure);
	return nodes != NULL;
}

/* ---- all together */

static RgPlaced *placed_new(const RgPlaceProblem *problem)
{
	RgPlaced *placed = g_new0(RgPlaced, 1);
	placed->units = g_new0(unsigned, problem->n_tasks + 1);
	placed->sure = g_new0(bool, problem->n_tasks + 1);
	placed->bundles = g_new0(uint64_t, (size_t)problem->n_tasks * problem->n_pools + 1);
	placed->use = g_new0(RgPlaceUse, problem->n_pools + 1);
	placed->nodes = g_ptr_array_new_with_free_func(g_free);
	return placed;
}

void rg_placed_free(RgPlaced *placed)
{
	if (!placed)
		return;
	g_free(placed->units);
	g_free(placed->sure);
	g_free(placed->bundles);
	g_free(placed->use);
	g_ptr_array_unref(placed->nodes);
	g_free(placed);
}

static void keep_nodes(RgPlaced *placed, GPtrArray *nodes)
{
	g_ptr_array_unref(placed->nodes);
	placed->nodes = nodes;
}

/* Places as many units of the task as possible, up to `most`, beside those that are placed. Where
 * the search gives up, at least what first-fit finds. */
static void add_units(const RgPlaceProblem *problem, RgPlaced *placed, unsigned task, unsigned most)
{
	RgPlaceProblem quick = *problem;
	unsigned low = 0, high = most;
	bool every = true;
	quick.trial = rg_place_nodes(problem) > RG_PLACE_EXACT_NODES;
	while (low < high) {
		bool sure;
		placed->units[task] = low + (high - low + 1) / 2;
		GPtrArray *nodes = rg_place_solve(&quick, placed->units, &sure);
		every &= sure;
		if (nodes) {
			low = placed->units[task];
			keep_nodes(placed, nodes);
		} else {
			high = placed->units[task] - 1;
		}
	}
	if (!every)
		low += rg_place_first_fit(problem, &placed->nodes, task, most - low,
			rg_place_alike(problem, task), rg_place_last_kind(problem));
	placed->units[task] = low;
}

/* The tasks that fit completely, in their order; then as much as possible of the others, which is
 * never all of one: that was answered before, and more nodes must not change it. */
static void place_in_order(const RgPlaceProblem *problem, RgPlaced *placed, const uint64_t *alone)
{
	for (unsigned t = 0; t < problem->n_tasks; t++) {
		if (alone[t] < problem->tasks[t].units)
			continue;
		placed->units[t] = problem->tasks[t].units;
		GPtrArray *nodes = rg_place_solve(problem, placed->units, &placed->sure[t]);
		if (nodes)
			keep_nodes(placed, nodes);
		else
			placed->units[t] = 0;
	}
	for (unsigned t = 0; t < problem->n_tasks; t++) {
		uint64_t most = MIN(alone[t], (uint64_t)problem->tasks[t].units - 1);
		if (placed->units[t] == 0 && problem->tasks[t].units > 0)
			add_units(problem, placed, t, (unsigned)most);
	}
}

static uint64_t used_gpus(const RgNodeCheck *check, unsigned pool, const unsigned *bundles)
{
	uint64_t used = 0;
	for (unsigned i = 0; i < check->n_items; i++) {
		const RgItem *item = &check->items[i];
		const RgPlaceNeed *need =
			&check->problem->tasks[item->task].parts[item->part].on[pool];
		used += bundles[i] * ((uint64_t)need->whole * RG_PLACE_ONE + need->part);
	}
	return used;
}

static bool takes_more_bundles(RgNodeCheck *check, unsigned pool, unsigned *bundles)
{
	for (unsigned i = 0; i < check->n_items; i++) {
		const RgItem *item = &check->items[i];
		const RgPlaceNeed *need =
			&check->problem->tasks[item->task].parts[item->part].on[pool];
		if (!need->admitted || (need->whole == 0 && need->part == 0))
			continue;
		bundles[i]++;
		bool holds = rg_node_holds(check, pool, bundles);
		bundles[i]--;
		if (holds)
			return true;
	}
	return false;
}

/* `wanted`: whether any task needs GPUs; else what is free is not stranded, only idle. */
static void add_use(RgNodeCheck *check, RgPlaceUse *use, RgPlacedNodes *nodes, bool wanted)
{
	uint64_t has = (uint64_t)check->problem->pools[nodes->pool].gpus * RG_PLACE_ONE;
	uint64_t used = used_gpus(check, nodes->pool, nodes->bundles);
	use->total += has * nodes->nodes;
	use->used += used * nodes->nodes;
	if (wanted && used < has && !takes_more_bundles(check, nodes->pool, nodes->bundles))
		use->stranded += (has - used) * nodes->nodes;
}

static void count_use(const RgPlaceProblem *problem, RgPlaced *placed)
{
	g_autofree RgItem *items = rg_place_all_parts(problem);
	RgNodeCheck check;
	unsigned parts = rg_place_first_part(problem, problem->n_tasks);
	rg_node_check_init(&check, problem, items, parts);
	g_autofree unsigned *idle = g_new0(unsigned, problem->n_pools + 1);
	bool wanted = false;
	for (unsigned k = 0; k < parts; k++)
		wanted |= rg_part_needs_gpus(
			problem, &problem->tasks[items[k].task].parts[items[k].part]);
	for (unsigned p = 0; p < problem->n_pools; p++)
		idle[p] = problem->pools[p].nodes;
	for (guint i = 0; i < placed->nodes->len; i++) {
		RgPlacedNodes *nodes = placed->nodes->pdata[i];
		idle[nodes->pool] -= nodes->nodes;
		add_use(&check, &placed->use[nodes->pool], nodes, wanted);
		for (unsigned k = 0; k < parts; k++)
			placed->bundles[items[k].task * problem->n_pools + nodes->pool] +=
				(uint64_t)nodes->nodes * nodes->bundles[k];
	}
	g_autofree RgPlacedNodes *rest =
		g_malloc0(sizeof *rest + (parts + 1) * sizeof rest->bundles[0]);
	for (unsigned p = 0; p < problem->n_pools; p++) {
		rest->pool = p;
		rest->nodes = idle[p];
		add_use(&check, &placed->use[p], rest, wanted);
	}
	rg_node_check_clear(&check);
}

RgPlaced *rg_place_together(const RgPlaceProblem *problem)
{
	RgPlaced *placed = placed_new(problem);
	g_autofree uint64_t *alone = g_new0(uint64_t, problem->n_tasks + 1);
	bool hopeless = false, sure = true;
	for (unsigned t = 0; t < problem->n_tasks; t++) {
		alone[t] = rg_place_alone_surely(problem, t, &placed->sure[t]);
		placed->units[t] = problem->tasks[t].units;
		hopeless |= alone[t] < problem->tasks[t].units;
	}
	GPtrArray *nodes = hopeless ? NULL : rg_place_solve(problem, placed->units, &sure);
	placed->all = nodes != NULL;
	placed->exact = sure;
	if (nodes) {
		g_ptr_array_unref(placed->nodes);
		placed->nodes = nodes;
	} else {
		memset(placed->units, 0, problem->n_tasks * sizeof placed->units[0]);
		place_in_order(problem, placed, alone);
		placed->all = true;
		for (unsigned t = 0; t < problem->n_tasks; t++)
			placed->all &= placed->units[t] == problem->tasks[t].units;
		placed->exact |= placed->all;
	}
	count_use(problem, placed);
	return placed;
}
