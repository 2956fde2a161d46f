/* Whether all items have a place, by a complete search.
 *
 * Pools are filled one after the other, those of one kind of GPU in a row; equal nodes are counted,
 * not tried one by one. Of all placements only the one is looked for that is lexicographically
 * largest, each pool's nodes in descending order of what they run. Hence without loss
 *   - a node runs no more than the one before it in its pool (equal nodes are not permuted);
 *   - each node takes all that fits beside what it has, because a bundle could move there from a
 *     later node, which makes the placement larger.
 * A state (pool, its empty nodes, what is left) that failed needs no second look, whatever the
 * node before it runs: a placement of the rest with a larger node would, sorted, come earlier in
 * the search, where it would have been found. Nor does a state that has more left
 * (tried.c).
 * Groups on GPUs of one kind are dealt out kind by kind: when the first pool of a kind is entered,
 * it is decided how many units of each such task run on that kind. So all divisions share what was
 * learned, and one budget.
 * What cannot fit is cut off early: capacity of nodes, GPUs and other resources, counted for all
 * items that compete for the same pools. */
#include <string.h>
#include "pack/search.h"

static bool place_rest(RgSearch *search, unsigned at, unsigned nodes, const unsigned *last);

static bool search_is_done(const RgSearch *search)
{
	for (unsigned i = 0; i < search->n; i++) {
		if (search->left[i] > 0 || rg_search_later(search, i) > 0)
			return false;
	}
	return true;
}

/* ---- what was tried */

/* A state in which something is at most what it is in another cannot be harder: what is left, and
 * the complements of nodes and of bundles that a node may have. */
static void set_state(RgSearch *search, unsigned nodes)
{
	unsigned *state = search->state;
	*state++ = UINT_MAX - nodes;
	for (unsigned i = 0; i < search->n; i++) {
		const RgItem *item = &search->items[i];
		*state++ = search->left[i];
		*state++ = item->dealt && search->left[i] > 0 ? UINT_MAX - item->most : 0;
	}
	memcpy(state, search->units, search->problem->n_tasks * sizeof *state);
}

static GBytes *key_of(RgSearch *search, unsigned at, unsigned nodes)
{
	set_state(search, nodes);
	search->state[search->width] = at;
	return g_bytes_new(search->state, (search->width + 1) * sizeof search->state[0]);
}

/* ---- the nodes of one pool */

/* `count` of the nodes run `n`; then the rest. */
static bool take(RgSearch *search, unsigned at, unsigned nodes, const unsigned *n, unsigned count)
{
	RgPlacedNodes *placed = g_malloc0(sizeof *placed + search->n * sizeof placed->bundles[0]);
	placed->pool = search->order[at];
	placed->nodes = count;
	memcpy(placed->bundles, n, search->n * sizeof n[0]);
	g_ptr_array_add(search->found, placed);
	for (unsigned i = 0; i < search->n; i++)
		search->left[i] -= count * n[i];
	if (place_rest(search, at, nodes - count, placed->bundles))
		return true;
	for (unsigned i = 0; i < search->n; i++)
		search->left[i] += count * n[i];
	g_ptr_array_set_size(search->found, (gint)search->found->len - 1);
	return false;
}

/* Whether another item that is left fits beside `n`. */
static bool has_room(RgSearch *search, unsigned pool, unsigned *n)
{
	for (unsigned i = 0; i < search->n; i++) {
		if (n[i] >= search->left[i] || rg_search_room_on(search, i, pool) <= n[i])
			continue;
		n[i]++;
		bool holds = rg_node_holds(&search->check, pool, n);
		n[i]--;
		if (holds)
			return true;
	}
	return false;
}

static bool take_some(RgSearch *search, unsigned at, unsigned nodes, unsigned *n)
{
	unsigned most = nodes;
	bool none = true;
	for (unsigned i = 0; i < search->n; i++) {
		none &= n[i] == 0;
		if (n[i] > 0)
			most = MIN(most, search->left[i] / n[i]);
	}
	if (none || has_room(search, search->order[at], n))
		return false;
	for (unsigned count = most; count > 0 && search->steps > 0; count--) {
		if (take(search, at, nodes, n, count))
			return true;
	}
	return false;
}

/* Numbers of the items from `i` on, large ones first, below those of `last`. `tied`: so far they
 * are equal to them. */
static bool try_node(RgSearch *search, unsigned at, unsigned nodes, const unsigned *last,
	unsigned *n, unsigned i, bool tied)
{
	unsigned pool = search->order[at];
	while (i < search->n && (search->left[i] == 0 || rg_search_room_on(search, i, pool) == 0)) {
		if (tied && last[i] > 0)
			tied = false;
		i++;
	}
	if (search->steps == 0)
		return false;
	search->steps--;
	if (i == search->n)
		return !tied && take_some(search, at, nodes, n);
	unsigned limit = MIN(search->left[i], rg_search_room_on(search, i, pool));
	unsigned most = rg_node_most(&search->check, pool, n, i, limit);
	if (tied)
		most = MIN(most, last[i]);
	for (unsigned take = most + 1; take-- > 0;) {
		n[i] = take;
		bool good = try_node(search, at, nodes, last, n, i + 1, tied && take == last[i]);
		n[i] = 0;
		if (good)
			return true;
	}
	return false;
}

static bool takes_any(const RgSearch *search, unsigned pool)
{
	for (unsigned i = 0; i < search->n; i++) {
		if (search->left[i] > 0 && rg_search_room_on(search, i, pool) > 0)
			return true;
	}
	return false;
}

/* `last`: what the node before runs, of the same pool. */
static bool fill_pool(RgSearch *search, unsigned at, unsigned nodes, const unsigned *last)
{
	if (!rg_search_is_possible(search, at, nodes))
		return false;
	if (search->steps == 0) {
		search->sure = false;
		return false;
	}
	search->steps--;
	g_autoptr(GBytes) key = key_of(search, at, nodes);
	if (rg_tried_has(&search->tried, at, key))
		return false;
	g_autofree unsigned *n = g_new0(unsigned, search->n);
	if (try_node(search, at, nodes, last, n, 0, last != NULL))
		return true;
	if (search->steps > 0)
		rg_tried_add(&search->tried, at, key);
	else
		search->sure = false;
	return false;
}

/* ---- kind by kind */

/* Units of the task that the pools of this kind have room for. */
static unsigned most_units(const RgSearch *search, unsigned at, unsigned task)
{
	const RgPlaceProblem *problem = search->problem;
	uint64_t most = search->units[task];
	for (unsigned i = 0; i < search->n; i++) {
		const RgItem *item = &search->items[i];
		uint64_t room = 0;
		if (item->task != task || !item->dealt)
			continue;
		for (unsigned k = at; k < problem->n_pools; k++) {
			unsigned p = search->order[k];
			if (problem->pools[p].kind == rg_search_kind_at(search, at))
				room += (uint64_t)problem->pools[p].nodes *
					search->room[i * problem->n_pools + p];
		}
		most = MIN(most, room / item->per_unit);
	}
	return (unsigned)most;
}

/* Moves units from those that follow to this kind. `most` of them on one node, if they spread;
 * returns what it was. */
static unsigned set_units(
	RgSearch *search, unsigned task, unsigned left, unsigned here, unsigned most)
{
	unsigned before = 0;
	search->units[task] = left;
	for (unsigned i = 0; i < search->n; i++) {
		RgItem *item = &search->items[i];
		if (item->task != task || !item->dealt)
			continue;
		search->left[i] = here * item->per_unit;
		before = item->most;
		if (item->most > 0)
			item->most = MAX(most, 1);
	}
	return before;
}

/* Kinds are preferred in the order of their numbers. */
static bool better_follows(const RgSearch *search, unsigned at)
{
	for (unsigned k = at + 1; k < search->problem->n_pools; k++) {
		unsigned kind = rg_search_kind_at(search, k);
		if (kind > 0 && kind < rg_search_kind_at(search, at) &&
			search->problem->pools[search->order[k]].nodes > 0)
			return true;
	}
	return false;
}

static bool deal_out(RgSearch *search, unsigned at, unsigned task)
{
	const RgPlaceProblem *problem = search->problem;
	unsigned nodes = problem->pools[search->order[at]].nodes;
	while (task < problem->n_tasks && search->units[task] == 0)
		task++;
	if (task == problem->n_tasks)
		return rg_search_is_possible(search, at, nodes) &&
		       place_rest(search, at, nodes, NULL);
	unsigned units = search->units[task], most = most_units(search, at, task);
	bool whole = problem->tasks[task].alike == RG_PLACE_ALL_ALIKE;
	bool few_first = better_follows(search, at);
	for (unsigned k = 0; k <= most; k++) {
		unsigned now = few_first ? k : most - k;
		if (whole && now > 0 && now < units)
			continue;
		if (search->steps == 0) {
			search->sure = false;
			return false;
		}
		search->steps--;
		unsigned before = set_units(search, task, units - now, now, now);
		if (deal_out(search, at, task + 1))
			return true;
		set_units(search, task, units, 0, before);
	}
	return false;
}

/* The first pool of a kind. */
static bool enter_kind(RgSearch *search, unsigned at)
{
	unsigned nodes = search->problem->pools[search->order[at]].nodes;
	unsigned where = search->problem->n_pools + at;
	for (unsigned i = 0; i < search->n; i++) {
		if (search->items[i].dealt && search->left[i] > 0)
			return false;
	}
	if (rg_search_kind_at(search, at) == 0)
		return place_rest(search, at, nodes, NULL);
	g_autoptr(GBytes) key = key_of(search, where, nodes);
	if (rg_tried_has(&search->tried, where, key))
		return false;
	if (deal_out(search, at, 0))
		return true;
	if (search->steps > 0)
		rg_tried_add(&search->tried, where, key);
	return false;
}

static bool place_rest(RgSearch *search, unsigned at, unsigned nodes, const unsigned *last)
{
	if (search_is_done(search))
		return true;
	while (nodes == 0 || !takes_any(search, search->order[at])) {
		at++;
		last = NULL;
		if (at == search->problem->n_pools)
			return false;
		if (rg_search_kind_at(search, at) != rg_search_kind_at(search, at - 1))
			return enter_kind(search, at);
		nodes = search->problem->pools[search->order[at]].nodes;
	}
	return fill_pool(search, at, nodes, last);
}

static GPtrArray *search_all(RgSearch *search, unsigned *steps, bool *sure)
{
	rg_search_begin(search);
	bool good = search_is_done(search);
	if (!good && search->problem->n_pools > 0)
		good = enter_kind(search, 0);
	*sure = search->sure && search->check.sure;
	*steps = search->steps;
	if (!good)
		g_clear_pointer(&search->found, g_ptr_array_unref);
	rg_search_end(search);
	return search->found;
}

GPtrArray *rg_place_search(const RgPlaceProblem *problem, const RgItem *items, unsigned n_items,
	unsigned *steps, bool *sure)
{
	RgSearch search = {
		.problem = problem, .given = items, .n = n_items, .steps = *steps, .sure = true};
	return search_all(&search, steps, sure);
}
