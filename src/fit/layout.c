#include <string.h>
#include "fit/place_internal.h"

size_t rg_state_width(const RgPlaceProblem *problem, unsigned pool)
{
	return problem->pools[pool].gpus + problem->n_amounts;
}

static RgNodes *new_nodes(
	const RgPlaceProblem *problem, unsigned pool, unsigned count, const int64_t *state)
{
	size_t width = rg_state_width(problem, pool);
	RgNodes *nodes = g_malloc0(sizeof *nodes + width * sizeof nodes->state[0]);
	nodes->pool = pool;
	nodes->count = count;
	if (state)
		memcpy(nodes->state, state, width * sizeof nodes->state[0]);
	return nodes;
}

static RgLayout *empty(const RgPlaceProblem *problem)
{
	RgLayout *layout = g_new0(RgLayout, 1);
	layout->problem = problem;
	layout->groups = g_ptr_array_new_with_free_func(g_free);
	return layout;
}

RgLayout *rg_layout_new(const RgPlaceProblem *problem)
{
	RgLayout *layout = empty(problem);
	for (unsigned p = 0; p < problem->n_pools; p++) {
		const RgPlacePool *pool = &problem->pools[p];
		RgNodes *nodes = new_nodes(problem, p, pool->nodes, NULL);
		for (unsigned i = 0; i < problem->n_amounts; i++)
			nodes->state[pool->gpus + i] = pool->amounts[i];
		if (pool->nodes > 0)
			g_ptr_array_add(layout->groups, nodes);
		else
			g_free(nodes);
	}
	return layout;
}

RgLayout *rg_layout_copy(const RgLayout *layout)
{
	RgLayout *copy = empty(layout->problem);
	for (guint i = 0; i < layout->groups->len; i++) {
		const RgNodes *nodes = layout->groups->pdata[i];
		g_ptr_array_add(copy->groups,
			new_nodes(layout->problem, nodes->pool, nodes->count, nodes->state));
	}
	return copy;
}

void rg_layout_free(RgLayout *layout)
{
	if (!layout)
		return;
	g_ptr_array_unref(layout->groups);
	g_free(layout);
}

/* Raises one GPU's use and keeps the order, fuller ones first. */
static void fill_gpu(int64_t *gpus, unsigned device, int64_t part)
{
	int64_t used = gpus[device] + part;
	for (; device > 0 && gpus[device - 1] < used; device--)
		gpus[device] = gpus[device - 1];
	gpus[device] = used;
}

static bool add_gpus(int64_t *gpus, unsigned n, const RgPlaceNeed *need, int device)
{
	if (need->part > 0) {
		unsigned d = device >= 0 ? (unsigned)device : 0;
		while (device < 0 && d < n && gpus[d] + need->part > RG_PLACE_ONE)
			d++;
		if (d >= n || gpus[d] + need->part > RG_PLACE_ONE)
			return false;
		fill_gpu(gpus, d, need->part);
		return true;
	}
	unsigned idle = 0;
	while (idle < n && gpus[n - 1 - idle] == 0)
		idle++;
	if (idle < need->whole)
		return false;
	/* idle ones are last; full ones belong first */
	for (unsigned i = 0; i < need->whole; i++)
		fill_gpu(gpus, n - 1, RG_PLACE_ONE);
	return true;
}

bool rg_state_add(const RgLayout *layout, unsigned pool, unsigned task, int device, int64_t *state)
{
	const RgPlaceProblem *problem = layout->problem;
	const RgPlaceTask *wish = &problem->tasks[task];
	unsigned gpus = problem->pools[pool].gpus;
	if (!wish->on[pool].admitted)
		return false;
	for (unsigned i = 0; i < problem->n_amounts; i++) {
		if (state[gpus + i] < wish->amounts[i])
			return false;
	}
	if (!add_gpus(state, gpus, &wish->on[pool], device))
		return false;
	for (unsigned i = 0; i < problem->n_amounts; i++)
		state[gpus + i] -= wish->amounts[i];
	return true;
}

uint64_t rg_nodes_room(const RgLayout *layout, const RgNodes *nodes, unsigned task)
{
	const RgPlaceProblem *problem = layout->problem;
	const RgPlaceTask *wish = &problem->tasks[task];
	const RgPlaceNeed *need = &wish->on[nodes->pool];
	unsigned gpus = problem->pools[nodes->pool].gpus;
	uint64_t room = G_MAXUINT32, fit = 0;
	if (!need->admitted)
		return 0;
	for (unsigned i = 0; i < problem->n_amounts; i++) {
		if (wish->amounts[i] > 0)
			room = MIN(room, (uint64_t)(nodes->state[gpus + i] / wish->amounts[i]));
	}
	if (need->part == 0 && need->whole == 0)
		return room;
	for (unsigned d = 0; d < gpus; d++) {
		if (need->part > 0)
			fit += (uint64_t)(RG_PLACE_ONE - nodes->state[d]) / need->part;
		else
			fit += nodes->state[d] == 0;
	}
	return MIN(room, need->part > 0 ? fit : fit / need->whole);
}

static RgNodes *layout_find(RgLayout *layout, unsigned pool, const int64_t *state)
{
	size_t bytes = rg_state_width(layout->problem, pool) * sizeof *state;
	for (guint i = 0; i < layout->groups->len; i++) {
		RgNodes *nodes = layout->groups->pdata[i];
		if (nodes->pool == pool && memcmp(nodes->state, state, bytes) == 0)
			return nodes;
	}
	return NULL;
}

static void move(RgLayout *layout, RgNodes *nodes, unsigned count, const int64_t *state)
{
	RgNodes *there = layout_find(layout, nodes->pool, state);
	if (there)
		there->count += count;
	else
		g_ptr_array_add(
			layout->groups, new_nodes(layout->problem, nodes->pool, count, state));
	nodes->count -= count;
	if (nodes->count == 0)
		g_ptr_array_remove(layout->groups, nodes);
}

void rg_layout_set(RgLayout *layout, RgNodes *nodes, const int64_t *state)
{
	move(layout, nodes, 1, state);
}

void rg_layout_add(
	RgLayout *layout, RgNodes *nodes, unsigned count, unsigned task, uint64_t bundles)
{
	size_t bytes = rg_state_width(layout->problem, nodes->pool) * sizeof(int64_t);
	g_autofree int64_t *state = g_memdup2(nodes->state, MAX(bytes, 1));
	for (uint64_t i = 0; i < bundles; i++) {
		if (!rg_state_add(layout, nodes->pool, task, -1, state))
			g_assert_not_reached();
	}
	if (bundles > 0 && count > 0 && memcmp(state, nodes->state, bytes) != 0)
		move(layout, nodes, count, state);
}

uint64_t rg_nodes_used(const RgLayout *layout, const RgNodes *nodes)
{
	uint64_t used = 0;
	for (unsigned d = 0; d < layout->problem->pools[nodes->pool].gpus; d++)
		used += (uint64_t)nodes->state[d];
	return used;
}
