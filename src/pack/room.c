/* What items take, what pools have, and what therefore has no place: before a search, and where it
 * is. */
#include <string.h>
#include "pack/search.h"

unsigned rg_search_kind_at(const RgSearch *search, unsigned at)
{
	return search->problem->pools[search->order[at]].kind;
}

static unsigned pool_nodes_left(const RgSearch *search, unsigned at, unsigned nodes, unsigned k)
{
	return k == at ? nodes : search->problem->pools[search->order[k]].nodes;
}

/* Of an item on kinds that follow. */
unsigned rg_search_later(const RgSearch *search, unsigned i)
{
	const RgItem *item = &search->items[i];
	return item->dealt ? search->units[item->task] * item->per_unit : 0;
}

unsigned rg_search_room_on(const RgSearch *search, unsigned i, unsigned pool)
{
	unsigned room = search->room[i * search->problem->n_pools + pool];
	const RgItem *item = &search->items[i];
	return item->dealt && item->most > 0 ? MIN(room, item->most) : room;
}

/* ---- what cannot fit */

/* What a fraction counts. A function for which fractions that share a GPU never count more than
 * one (Fekete and Schepers, 2001): (n + 1) times the fraction, without what is left of the last
 * GPU, divided by n; so with n = 2 everything above a third counts a half, and above two thirds
 * one. With n = 0 the fraction itself. */
static unsigned counted(unsigned part, unsigned n)
{
	uint64_t times = (uint64_t)part * (n + 1);
	if (n == 0 || times % RG_PLACE_ONE == 0)
		return part;
	return (unsigned)(times / RG_PLACE_ONE * RG_PLACE_ONE / n);
}

static bool has_gpus(const uint64_t *need, uint64_t have)
{
	for (unsigned k = 0; k < RG_SEARCH_SIZES; k++) {
		if (need[k] > have)
			return false;
	}
	return true;
}

/* Whether the pools from `at` on have enough GPUs, enough nodes for what fills more than half of
 * one, and enough of each other resource, for the items that can only go where item `of` can. */
static bool has_capacity(const RgSearch *search, unsigned at, unsigned nodes, unsigned of)
{
	const RgPlaceProblem *problem = search->problem;
	const bool *where = &search->uses[of * problem->n_pools];
	uint64_t need[RG_SEARCH_SIZES] = {0}, have = 0, have_nodes = 0, need_nodes = 0, largest = 0;
	double *amounts = search->amounts;
	memset(amounts, 0, problem->n_amounts * sizeof *amounts);
	for (unsigned k = at; k < problem->n_pools; k++) {
		const RgPlacePool *pool = &problem->pools[search->order[k]];
		if (!where[search->order[k]])
			continue;
		uint64_t gpus = (uint64_t)pool->gpus * RG_PLACE_ONE;
		unsigned count = pool_nodes_left(search, at, nodes, k);
		have += count * gpus;
		have_nodes += count;
		largest = MAX(largest, gpus);
		for (unsigned a = 0; a < problem->n_amounts; a++)
			amounts[a] += count * (double)pool->amounts[a];
	}
	for (unsigned i = 0; i < search->n; i++) {
		uint64_t count = search->left[i] + rg_search_later(search, i);
		bool inside = count > 0;
		for (unsigned p = 0; p < problem->n_pools && inside; p++)
			inside = where[p] || !search->uses[i * problem->n_pools + p];
		if (!inside)
			continue;
		const uint64_t *size = &search->size[i * RG_SEARCH_SIZES];
		for (unsigned k = 0; k < RG_SEARCH_SIZES; k++)
			need[k] += count * size[k];
		need_nodes += 2 * size[0] > largest ? count : 0;
		for (unsigned a = 0; a < problem->n_amounts; a++) {
			amounts[a] -= (double)count * search->takes[i * problem->n_amounts + a];
			if (amounts[a] < 0)
				return false;
		}
	}
	return has_gpus(need, have) && need_nodes <= have_nodes;
}

/* Whether what is left of the item has room, on this kind and on those that follow. */
static bool has_room_for(const RgSearch *search, unsigned at, unsigned nodes, unsigned i)
{
	uint64_t here = 0, after = 0;
	unsigned k = at, kind = rg_search_kind_at(search, at);
	for (; k < search->problem->n_pools && rg_search_kind_at(search, k) == kind; k++)
		here += (uint64_t)pool_nodes_left(search, at, nodes, k) *
			rg_search_room_on(search, i, search->order[k]);
	for (; k < search->problem->n_pools; k++)
		after += (uint64_t)search->problem->pools[search->order[k]].nodes *
			 search->room[i * search->problem->n_pools + search->order[k]];
	if (search->items[i].dealt)
		return search->left[i] <= here && rg_search_later(search, i) <= after;
	return search->left[i] <= here + after;
}

bool rg_search_is_possible(RgSearch *search, unsigned at, unsigned nodes)
{
	for (unsigned i = 0; i < search->n; i++) {
		if (!has_room_for(search, at, nodes, i))
			return false;
	}
	for (unsigned i = 0; i < search->n; i++) {
		if (search->left[i] + rg_search_later(search, i) > 0 &&
			!has_capacity(search, at, nodes, i))
			return false;
	}
	return true;
}

/* ---- before the search */

static void measure_on(RgSearch *search, unsigned i, unsigned p)
{
	const RgPlaceProblem *problem = search->problem;
	const RgItem *item = &search->items[i];
	const RgPlaceTask *task = &problem->tasks[item->task];
	unsigned at = i * problem->n_pools + p;
	if (problem->pools[p].nodes == 0)
		return;
	g_autofree unsigned *n = g_new0(unsigned, search->n);
	search->room[at] = rg_node_most(&search->check, p, n, i, item->demand);
	search->uses[at] = search->room[at] > 0;
	if (!search->uses[at])
		return;
	for (unsigned s = 0; s < RG_SEARCH_SIZES; s++) {
		uint64_t size = 0, *least = &search->size[i * RG_SEARCH_SIZES + s];
		for (unsigned k = 0; k < task->n_parts; k++) {
			const RgPlaceNeed *need = &task->parts[k].on[p];
			uint64_t one =
				(uint64_t)need->whole * RG_PLACE_ONE + counted(need->part, s);
			if (item->is_unit || k == item->part)
				size += one * (item->is_unit ? task->parts[k].count : 1);
		}
		*least = MIN(*least, size);
	}
}

static void measure(RgSearch *search)
{
	const RgPlaceProblem *problem = search->problem;
	for (unsigned i = 0; i < search->n; i++) {
		const RgItem *item = &search->items[i];
		const RgPlaceTask *task = &problem->tasks[item->task];
		uint64_t *size = &search->size[i * RG_SEARCH_SIZES];
		for (unsigned s = 0; s < RG_SEARCH_SIZES; s++)
			size[s] = G_MAXUINT64;
		for (unsigned p = 0; p < problem->n_pools; p++)
			measure_on(search, i, p);
		for (unsigned s = 0; s < RG_SEARCH_SIZES && size[s] == G_MAXUINT64; s++)
			size[s] = 0;
		for (unsigned k = 0; k < task->n_parts; k++) {
			bool counts = item->is_unit || k == item->part;
			unsigned times = item->is_unit ? task->parts[k].count : 1;
			for (unsigned a = 0; counts && a < problem->n_amounts; a++)
				search->takes[i * problem->n_amounts + a] +=
					(double)task->parts[k].amounts[a] * times;
		}
		search->left[i] = item->dealt ? 0 : item->demand;
		if (item->dealt)
			search->units[item->task] = item->demand / item->per_unit;
	}
}

/* In the given order, but those of one kind in a row. */
static void order_pools(RgSearch *search)
{
	const RgPlaceProblem *problem = search->problem;
	unsigned n = 0;
	for (unsigned k = 0; k < problem->n_pools; k++) {
		unsigned kind = problem->pools[problem->order[k]].kind;
		bool first = true;
		for (unsigned j = 0; j < k; j++)
			first &= problem->pools[problem->order[j]].kind != kind;
		for (unsigned j = k; first && j < problem->n_pools; j++) {
			if (problem->pools[problem->order[j]].kind == kind)
				search->order[n++] = problem->order[j];
		}
	}
}

static void begin_measures(RgSearch *search)
{
	const RgPlaceProblem *problem = search->problem;
	size_t cells = (size_t)search->n * problem->n_pools + 1;
	search->room = g_new0(unsigned, cells);
	search->uses = g_new0(bool, cells);
	search->size = g_new0(uint64_t, (size_t)search->n * RG_SEARCH_SIZES + 1);
	search->takes = g_new0(double, (size_t)search->n * problem->n_amounts + 1);
	search->amounts = g_new0(double, problem->n_amounts + 1);
	measure(search);
}

static void begin_state(RgSearch *search)
{
	const RgPlaceProblem *problem = search->problem;
	search->width = 1 + 2 * search->n + problem->n_tasks;
	search->state = g_new0(unsigned, search->width + 1);
	search->left = g_new0(unsigned, search->n + 1);
	search->units = g_new0(unsigned, problem->n_tasks + 1);
}

void rg_search_begin(RgSearch *search)
{
	const RgPlaceProblem *problem = search->problem;
	search->items = g_memdup2(search->given, search->n * sizeof *search->items);
	rg_node_check_init(&search->check, problem, search->items, search->n);
	search->order = g_new0(unsigned, problem->n_pools + 1);
	search->found = g_ptr_array_new_with_free_func(g_free);
	begin_state(search);
	rg_tried_init(&search->tried, search->width, 2 * problem->n_pools);
	begin_measures(search);
	order_pools(search);
}

void rg_search_end(RgSearch *search)
{
	rg_tried_clear(&search->tried);
	rg_node_check_clear(&search->check);
	g_free(search->items);
	g_free(search->order);
	g_free(search->left);
	g_free(search->units);
	g_free(search->room);
	g_free(search->uses);
	g_free(search->size);
	g_free(search->takes);
	g_free(search->amounts);
	g_free(search->state);
}
