#include "fit/place.h"
#include <stdlib.h>
#include <string.h>
#include "fit/place_internal.h"

RgPlaced *rg_placed_new(const RgPlaceProblem *problem)
{
	RgPlaced *placed = g_new0(RgPlaced, 1);
	placed->units = g_new0(unsigned, MAX(problem->n_tasks, 1));
	placed->bundles = g_new0(uint64_t, MAX((size_t)problem->n_tasks * problem->n_pools, 1));
	placed->use = g_new0(RgPlaceUse, MAX(problem->n_pools, 1));
	return placed;
}

void rg_placed_free(RgPlaced *placed)
{
	if (!placed)
		return;
	g_free(placed->units);
	g_free(placed->bundles);
	g_free(placed->use);
	g_free(placed);
}

/* ---- one task alone */

uint64_t rg_place_per_node(const RgPlaceProblem *problem, unsigned task, unsigned pool)
{
	g_autofree RgPlacePool *pools = g_memdup2(problem->pools, problem->n_pools * sizeof *pools);
	for (unsigned p = 0; p < problem->n_pools; p++)
		pools[p].nodes = p == pool;
	RgPlaceProblem small = *problem;
	small.pools = pools;
	g_autoptr(RgLayout) layout = rg_layout_new(&small);
	return rg_nodes_room(layout, layout->groups->pdata[0], task);
}

/* U units that spread fit if the nodes, each with at most U bundles and none with two of one unit,
 * hold all their bundles: sum of min(room, U) over the nodes >= U * bundles (Gale and Ryser). */
static uint64_t spread_units(const RgPlaceProblem *problem, const uint64_t *room, unsigned bundles)
{
	uint64_t all = 0;
	for (unsigned p = 0; p < problem->n_pools; p++)
		all += room[p] * problem->pools[p].nodes;
	uint64_t low = 0, high = all / bundles;
	while (low < high) {
		uint64_t units = low + (high - low + 1) / 2, held = 0;
		for (unsigned p = 0; p < problem->n_pools; p++)
			held += MIN(room[p], units) * problem->pools[p].nodes;
		if (held >= units * bundles)
			low = units;
		else
			high = units - 1;
	}
	return low;
}

uint64_t rg_place_alone(const RgPlaceProblem *problem, unsigned task)
{
	const RgPlaceTask *wish = &problem->tasks[task];
	g_autofree uint64_t *room = g_new0(uint64_t, MAX(problem->n_pools, 1));
	uint64_t all = 0;
	for (unsigned p = 0; p < problem->n_pools; p++) {
		if (problem->pools[p].nodes > 0)
			room[p] = rg_place_per_node(problem, task, p);
		all += room[p] * problem->pools[p].nodes;
	}
	return wish->spread ? spread_units(problem, room, wish->bundles) : all / wish->bundles;
}

/* ---- all together */

/* The most that a bundle needs of any pool's GPUs. */
static unsigned size_of(const RgPlaceProblem *problem, unsigned task)
{
	unsigned size = 0;
	for (unsigned p = 0; p < problem->n_pools; p++) {
		const RgPlaceNeed *need = &problem->tasks[task].on[p];
		if (need->admitted)
			size = MAX(size, need->whole * RG_PLACE_ONE + need->part);
	}
	return size;
}

static unsigned choices_of(const RgPlaceProblem *problem, unsigned task)
{
	unsigned choices = 0;
	for (unsigned p = 0; p < problem->n_pools; p++)
		choices += problem->tasks[task].on[p].admitted;
	return choices;
}

/* Groups before single tasks, large before small, restricted before unrestricted. */
static bool goes_before(const RgPlaceProblem *problem, unsigned a, unsigned b)
{
	const RgPlaceTask *x = &problem->tasks[a], *y = &problem->tasks[b];
	bool x_group = x->bundles > 1, y_group = y->bundles > 1;
	unsigned x_size = size_of(problem, a), y_size = size_of(problem, b);
	unsigned x_choices = choices_of(problem, a), y_choices = choices_of(problem, b);
	if (x_group != y_group)
		return x_group;
	if (x_size != y_size)
		return x_size > y_size;
	if (x_choices != y_choices)
		return x_choices < y_choices;
	return x->bundles > y->bundles;
}

unsigned *rg_place_order(const RgPlaceProblem *problem)
{
	unsigned *order = g_new0(unsigned, MAX(problem->n_tasks, 1));
	for (unsigned t = 0; t < problem->n_tasks; t++) {
		unsigned at = t;
		for (; at > 0 && goes_before(problem, t, order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = t;
	}
	return order;
}

/* The group to use next: of the pool, the one with the least left that still has room for the
 * task. */
static RgNodes *fullest(const RgLayout *layout, unsigned pool, unsigned task)
{
	RgNodes *best = NULL;
	for (guint i = 0; i < layout->groups->len; i++) {
		RgNodes *nodes = layout->groups->pdata[i];
		if (nodes->pool != pool || rg_nodes_room(layout, nodes, task) == 0)
			continue;
		if (!best || rg_nodes_used(layout, nodes) > rg_nodes_used(layout, best))
			best = nodes;
	}
	return best;
}

/* Up to `wanted` bundles anywhere; returns how many were placed. */
static uint64_t fill(RgLayout *layout, unsigned task, uint64_t wanted, uint64_t *on_pool)
{
	const RgPlaceProblem *problem = layout->problem;
	uint64_t left = wanted;
	for (unsigned i = 0; i < problem->n_pools && left > 0; i++) {
		unsigned pool = problem->tasks[task].order[i];
		RgNodes *nodes;
		while (left > 0 && (nodes = fullest(layout, pool, task))) {
			uint64_t each = MIN(rg_nodes_room(layout, nodes, task), left);
			uint64_t count = MIN(nodes->count, left / each);
			rg_layout_add(layout, nodes, (unsigned)count, task, each);
			left -= count * each;
			on_pool[pool] += count * each;
		}
	}
	return wanted - left;
}

/* The group with the most room among those with less than `below`, pools in order of preference. */
static RgNodes *roomiest(const RgLayout *layout, unsigned task, const GHashTable *taken)
{
	const RgPlaceProblem *problem = layout->problem;
	RgNodes *best = NULL;
	uint64_t best_room = 0;
	for (unsigned k = 0; k < problem->n_pools; k++) {
		for (guint i = 0; i < layout->groups->len; i++) {
			RgNodes *nodes = layout->groups->pdata[i];
			if (nodes->pool != problem->tasks[task].order[k] ||
				g_hash_table_contains((GHashTable *)(uintptr_t)taken, nodes))
				continue;
			uint64_t room = rg_nodes_room(layout, nodes, task);
			if (room > best_room) {
				best = nodes;
				best_room = room;
			}
		}
	}
	return best;
}

/* One unit over distinct nodes: where the most room is, so that later units also find nodes. */
static bool spread_unit(RgLayout *layout, unsigned task, uint64_t *on_pool)
{
	unsigned left = layout->problem->tasks[task].bundles;
	g_autoptr(GHashTable) taken = g_hash_table_new(g_direct_hash, g_direct_equal);
	g_autoptr(GPtrArray) picks = g_ptr_array_new();
	while (left > 0) {
		RgNodes *nodes = roomiest(layout, task, taken);
		if (!nodes)
			return false;
		unsigned count = MIN(nodes->count, left);
		g_hash_table_add(taken, nodes);
		g_ptr_array_add(picks, nodes);
		g_ptr_array_add(picks, GUINT_TO_POINTER(count));
		left -= count;
	}
	/* nodes that change may join a group that is also picked here; the counts keep them
	 * apart */
	for (guint i = 0; i < picks->len; i += 2) {
		RgNodes *nodes = picks->pdata[i];
		unsigned count = GPOINTER_TO_UINT(picks->pdata[i + 1]);
		on_pool[nodes->pool] += count;
		rg_layout_add(layout, nodes, count, task, 1);
	}
	return true;
}

/* Up to `wanted` units; returns how many were placed. */
static unsigned add_units(RgLayout **layout, unsigned task, unsigned wanted, uint64_t *on_pool)
{
	const RgPlaceProblem *problem = (*layout)->problem;
	const RgPlaceTask *wish = &problem->tasks[task];
	if (wish->bundles == 1)
		return (unsigned)fill(*layout, task, wanted, on_pool);
	for (unsigned u = 0; u < wanted; u++) {
		if (wish->spread && !spread_unit(*layout, task, on_pool))
			return u;
		if (wish->spread)
			continue;
		g_autoptr(RgLayout) trial = rg_layout_copy(*layout);
		g_autofree uint64_t *trial_on =
			g_memdup2(on_pool, problem->n_pools * sizeof *on_pool);
		if (fill(trial, task, wish->bundles, trial_on) < wish->bundles)
			return u;
		memcpy(on_pool, trial_on, problem->n_pools * sizeof *on_pool);
		rg_layout_free(*layout);
		*layout = g_steal_pointer(&trial);
	}
	return wanted;
}

static bool place_greedily(RgLayout **layout, RgPlaced *placed)
{
	const RgPlaceProblem *problem = (*layout)->problem;
	g_autofree unsigned *order = rg_place_order(problem);
	bool all = true;
	for (unsigned i = 0; i < problem->n_tasks; i++) {
		unsigned t = order[i];
		placed->units[t] = add_units(layout, t, problem->tasks[t].units,
			placed->bundles + (size_t)t * problem->n_pools);
		all &= placed->units[t] == problem->tasks[t].units;
	}
	return all;
}

static bool any_fits(const RgLayout *layout, const RgNodes *nodes)
{
	for (unsigned t = 0; t < layout->problem->n_tasks; t++) {
		const RgPlaceNeed *need = &layout->problem->tasks[t].on[nodes->pool];
		if ((need->whole > 0 || need->part > 0) && rg_nodes_room(layout, nodes, t) > 0)
			return true;
	}
	return false;
}

static bool is_small(const RgPlaceProblem *problem)
{
	uint64_t nodes = 0, units = 0;
	for (unsigned p = 0; p < problem->n_pools; p++)
		nodes += problem->pools[p].nodes;
	for (unsigned t = 0; t < problem->n_tasks; t++)
		units += (uint64_t)problem->tasks[t].units * problem->tasks[t].bundles;
	return nodes <= RG_PLACE_SMALL && units <= RG_PLACE_SMALL;
}

/* A task that cannot even run alone decides the question. */
static bool is_hopeless(const RgPlaceProblem *problem)
{
	for (unsigned t = 0; t < problem->n_tasks; t++) {
		if (rg_place_alone(problem, t) < problem->tasks[t].units)
			return true;
	}
	return false;
}

RgPlaced *rg_place_together(const RgPlaceProblem *problem)
{
	g_autoptr(RgPlaced) placed = rg_placed_new(problem);
	g_autoptr(RgLayout) layout = rg_layout_new(problem);
	placed->all = place_greedily(&layout, placed);
	placed->exact = placed->all || is_hopeless(problem);
	if (!placed->exact && is_small(problem)) {
		g_autoptr(RgPlaced) better = rg_placed_new(problem);
		bool sure = true;
		RgLayout *found = rg_place_search(problem, better, &sure);
		placed->exact = found || sure;
		if (found) {
			better->all = better->exact = true;
			rg_placed_free(placed);
			placed = g_steal_pointer(&better);
			rg_layout_free(layout);
			layout = found;
		}
	}
	for (guint i = 0; i < layout->groups->len; i++) {
		const RgNodes *nodes = layout->groups->pdata[i];
		uint64_t total = (uint64_t)layout->problem->pools[nodes->pool].gpus * RG_PLACE_ONE;
		uint64_t used = rg_nodes_used(layout, nodes);
		placed->use[nodes->pool].total += total * nodes->count;
		placed->use[nodes->pool].used += used * nodes->count;
		if (used < total && !any_fits(layout, nodes))
			placed->use[nodes->pool].stranded += (total - used) * nodes->count;
	}
	return g_steal_pointer(&placed);
}

bool rg_place_deadlock(
	const RgPlaceProblem *problem, const unsigned *gangs, size_t n, unsigned *held)
{
	g_autoptr(RgLayout) layout = rg_layout_new(problem);
	g_autofree uint64_t *ignored = g_new0(uint64_t, MAX(problem->n_pools, 1));
	bool moved = true;
	memset(held, 0, n * sizeof *held);
	while (moved) {
		moved = false;
		for (size_t i = 0; i < n; i++) {
			if (held[i] + 1 >= problem->tasks[gangs[i]].units)
				continue;
			unsigned got = add_units(&layout, gangs[i], 1, ignored);
			held[i] += got;
			moved |= got > 0;
		}
	}
	unsigned holders = 0;
	for (size_t i = 0; i < n; i++) {
		holders += held[i] > 0;
		if (add_units(&layout, gangs[i], 1, ignored) > 0)
			return false;
	}
	return holders > 1;
}
