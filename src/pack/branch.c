/* Decides how many of each item are on each pool, by branch and bound: a linear program
 * (bound.c) proposes numbers and proves where none are possible. Where a number is a
 * fraction, it is at most the integer below or at least the one above. When all are integers, each
 * pool is searched by itself (search.c), and where that takes long, as two pools with half of
 * its nodes each; if one cannot hold its share, at least one of its numbers is less, which is
 * branched on. So nothing is left out, and the answer is certain unless the steps or a pool's
 * search ran out. */
#include <math.h>
#include <string.h>
#include "pack/internal.h"

#define QUICK_STEPS 1500 /* for one pool, without proofs */
#define STEPS_OF_BEGINNING 50
#define LESS_STEPS 300 /* to find out whether less has no place either */
#define EPSILON 1e-6

typedef enum { FITS, FITS_NOT, NOT_KNOWN } Answer;

typedef struct {
	Answer answer;
	GPtrArray *nodes; /* RgPlacedNodes* if it fits */
} Held;

typedef struct {
	const RgPlaceProblem *problem;
	const RgItem *items;
	unsigned n, n_pools, cells, steps;
	RgNodeCheck check;
	RgBounds *bounds;
	unsigned *need, *nodes;
	GPtrArray **failed; /* of each pool: unsigned[n] of what it cannot hold */
	GHashTable *known;  /* GBytes of unsigned[n + 1], what and where -> Held */
	GPtrArray *found;
	bool sure;
} Branch;

static void held_free(gpointer data)
{
	Held *held = data;
	if (held->nodes)
		g_ptr_array_unref(held->nodes);
	g_free(held);
}

/* ---- one pool */

/* One node holds it or not. */
static Answer ask_node(Branch *branch, unsigned pool, const unsigned *counts, GPtrArray **nodes)
{
	gsize bytes = sizeof(RgPlacedNodes) + branch->n * sizeof *counts;
	branch->check.sure = true;
	if (!rg_node_holds(&branch->check, pool, counts))
		return branch->check.sure ? FITS_NOT : NOT_KNOWN;
	RgPlacedNodes *placed = g_malloc0(bytes);
	placed->pool = pool;
	placed->nodes = 1;
	memcpy(placed->bundles, counts, branch->n * sizeof *counts);
	*nodes = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(*nodes, placed);
	return FITS;
}

static GPtrArray *search_pool(
	const Branch *branch, unsigned pool, const RgItem *items, unsigned *steps, bool *sure)
{
	RgPlaceProblem problem = *branch->problem;
	g_autofree RgPlacePool *pools = g_memdup2(problem.pools, problem.n_pools * sizeof *pools);
	for (unsigned p = 0; p < problem.n_pools; p++)
		pools[p].nodes = p == pool ? pools[p].nodes : 0;
	problem.pools = pools;
	return rg_place_search(&problem, items, branch->n, steps, sure);
}

static GPtrArray *search_halves(
	const Branch *branch, unsigned pool, const RgItem *items, unsigned *steps, bool *sure)
{
	RgHalves halves;
	rg_halves_init(&halves, branch->problem, pool);
	GPtrArray *found = rg_place_branch(&halves.problem, items, branch->n, steps, sure);
	for (guint k = 0; found && k < found->len; k++)
		((RgPlacedNodes *)found->pdata[k])->pool = pool;
	rg_halves_clear(&halves);
	return found;
}

/* Whether the nodes of the pool hold so many of each item, in at most so many steps: by a search,
 * or half by half. */
static Answer ask_pool(Branch *branch, unsigned pool, const unsigned *counts, bool by_halves,
	unsigned steps, GPtrArray **nodes)
{
	unsigned left = MIN(steps, branch->steps), before = left;
	bool sure;
	if (branch->nodes[pool] == 1)
		return ask_node(branch, pool, counts, nodes);
	g_autofree RgItem *items = g_memdup2(branch->items, branch->n * sizeof *items);
	for (unsigned i = 0; i < branch->n; i++)
		items[i].demand = counts[i];
	*nodes = by_halves ? search_halves(branch, pool, items, &left, &sure)
			   : search_pool(branch, pool, items, &left, &sure);
	branch->steps -= before - left;
	return *nodes ? FITS : sure ? FITS_NOT : NOT_KNOWN;
}

/* What the pool cannot hold, with as little of each item as that is found to be true for. */
static void remember_failed(Branch *branch, unsigned pool, const unsigned *counts)
{
	unsigned *less = g_memdup2(counts, (branch->n + 1) * sizeof *less);
	for (unsigned i = branch->n; i-- > 0;) {
		unsigned low = 0, high = less[i];
		while (low < high) {
			GPtrArray *nodes = NULL;
			less[i] = low + (high - low) / 2;
			if (ask_pool(branch, pool, less, false, LESS_STEPS, &nodes) == FITS_NOT)
				high = less[i];
			else
				low = less[i] + 1;
			if (nodes)
				g_ptr_array_unref(nodes);
		}
		less[i] = high;
	}
	g_ptr_array_add(branch->failed[pool], less);
}

static const Held *hold(Branch *branch, unsigned pool, const unsigned *counts)
{
	g_autofree unsigned *key = g_new0(unsigned, branch->n + 1);
	memcpy(key, counts, branch->n * sizeof *key);
	key[branch->n] = pool;
	g_autoptr(GBytes) bytes = g_bytes_new(key, (branch->n + 1) * sizeof *key);
	Held *held = g_hash_table_lookup(branch->known, bytes);
	if (held)
		return held;
	held = g_new0(Held, 1);
	held->answer = ask_pool(branch, pool, counts, false, QUICK_STEPS, &held->nodes);
	if (held->answer == NOT_KNOWN)
		held->answer =
			ask_pool(branch, pool, counts, true, branch->steps / 4, &held->nodes);
	if (held->answer == FITS_NOT)
		remember_failed(branch, pool, key);
	g_hash_table_insert(branch->known, g_steal_pointer(&bytes), held);
	return held;
}

/* ---- what the numbers imply for each other */

/* Some pools hold the rest of an item. False: they cannot. */
static bool narrow_item(const Branch *branch, unsigned i, unsigned *low, unsigned *high, bool *any)
{
	uint64_t least = 0, most = 0;
	unsigned need = branch->need[i];
	low += i * branch->n_pools;
	high += i * branch->n_pools;
	for (unsigned p = 0; p < branch->n_pools; p++) {
		least += low[p];
		most += high[p];
		if (low[p] > high[p])
			return false;
	}
	if (least > need || most < need)
		return false;
	for (unsigned p = 0; p < branch->n_pools; p++) {
		uint64_t others_most = most - high[p], others_least = least - low[p];
		if (others_most < need && low[p] < need - others_most) {
			least += need - others_most - low[p];
			low[p] = (unsigned)(need - others_most);
			*any = true;
		}
		if (high[p] > need - others_least) {
			most -= high[p] - (need - others_least);
			high[p] = (unsigned)(need - others_least);
			*any = true;
		}
	}
	return true;
}

/* What a pool cannot hold: if all but one item are there, that one has to be less. */
static bool narrow_failed(const Branch *branch, unsigned pool, const unsigned *failed,
	const unsigned *low, unsigned *high, bool *any)
{
	unsigned open = 0, last = 0;
	for (unsigned i = 0; i < branch->n && open < 2; i++) {
		if (low[i * branch->n_pools + pool] < failed[i]) {
			last = i;
			open++;
		}
	}
	if (open == 0)
		return false;
	unsigned at = last * branch->n_pools + pool;
	if (open == 1 && high[at] >= failed[last]) {
		high[at] = failed[last] - 1;
		*any = true;
	}
	return true;
}

/* False: there are no such numbers. */
static bool narrow(const Branch *branch, unsigned *low, unsigned *high)
{
	bool any = true;
	while (any) {
		any = false;
		for (unsigned i = 0; i < branch->n; i++) {
			if (!narrow_item(branch, i, low, high, &any))
				return false;
		}
		for (unsigned p = 0; p < branch->n_pools; p++) {
			const GPtrArray *failed = branch->failed[p];
			for (guint k = 0; k < failed->len; k++) {
				if (!narrow_failed(branch, p, failed->pdata[k], low, high, &any))
					return false;
			}
		}
	}
	return true;
}

/* ---- branches */

static bool explore(Branch *branch, const unsigned *low, const unsigned *high);

/* With another limit for one number. */
static bool explore_with(Branch *branch, const unsigned *low, const unsigned *high, unsigned at,
	unsigned least, unsigned most)
{
	g_autofree unsigned *from = g_memdup2(low, branch->cells * sizeof *low);
	g_autofree unsigned *to = g_memdup2(high, branch->cells * sizeof *high);
	from[at] = MAX(from[at], least);
	to[at] = MIN(to[at], most);
	return from[at] <= to[at] && explore(branch, from, to);
}

/* The number that is farthest from an integer; -1: none is. */
static int fraction_of(const Branch *branch, const double *on)
{
	int best = -1;
	double most = EPSILON;
	for (unsigned k = 0; k < branch->cells; k++) {
		double far = fabs(on[k] - nearbyint(on[k]));
		if (far > most) {
			most = far + EPSILON;
			best = (int)k;
		}
	}
	return best;
}

static void keep(Branch *branch, const Held **held)
{
	branch->found = g_ptr_array_new_with_free_func(g_free);
	for (unsigned k = 0; k < branch->n_pools; k++) {
		const Held *one = held[branch->problem->order[k]];
		for (guint i = 0; one && i < one->nodes->len; i++) {
			const RgPlacedNodes *nodes = one->nodes->pdata[i];
			gsize bytes = sizeof *nodes + branch->n * sizeof nodes->bundles[0];
			g_ptr_array_add(branch->found, g_memdup2(nodes, bytes));
		}
	}
}

/* The pool cannot hold `counts`: in the branches, one number after the other is less, those before
 * it not. */
static bool explore_less(Branch *branch, const unsigned *low, const unsigned *high, unsigned pool,
	const unsigned *counts)
{
	g_autofree unsigned *from = g_memdup2(low, branch->cells * sizeof *low);
	g_autofree unsigned *to = g_memdup2(high, branch->cells * sizeof *high);
	for (unsigned i = 0; i < branch->n; i++) {
		unsigned at = i * branch->n_pools + pool;
		if (counts[i] == 0 || from[at] >= counts[i])
			continue;
		if (explore_with(branch, from, to, at, 0, counts[i] - 1))
			return true;
		from[at] = MAX(from[at], counts[i]);
		if (from[at] > to[at])
			return false;
	}
	return false;
}

/* All numbers are integers. */
static bool explore_pools(
	Branch *branch, const unsigned *low, const unsigned *high, const double *on)
{
	g_autofree const Held **held = g_new0(const Held *, branch->n_pools + 1);
	g_autofree unsigned *counts = g_new0(unsigned, branch->n + 1);
	int stuck = -1;
	for (unsigned p = 0; p < branch->n_pools; p++) {
		unsigned sum = 0;
		for (unsigned i = 0; i < branch->n; i++)
			sum += counts[i] = (unsigned)llround(on[i * branch->n_pools + p]);
		if (sum == 0)
			continue;
		held[p] = hold(branch, p, counts);
		if (held[p]->answer == FITS_NOT) {
			const GPtrArray *failed = branch->failed[p];
			return explore_less(branch, low, high, p, failed->pdata[failed->len - 1]);
		}
		if (held[p]->answer == NOT_KNOWN)
			stuck = (int)p;
	}
	if (stuck < 0) {
		keep(branch, held);
		return true;
	}
	branch->sure = false;
	for (unsigned i = 0; i < branch->n; i++)
		counts[i] = (unsigned)llround(on[i * branch->n_pools + (unsigned)stuck]);
	return explore_less(branch, low, high, (unsigned)stuck, counts);
}

static bool explore(Branch *branch, const unsigned *low, const unsigned *high)
{
	g_autofree unsigned *from = g_memdup2(low, branch->cells * sizeof *low);
	g_autofree unsigned *to = g_memdup2(high, branch->cells * sizeof *high);
	g_autofree double *on = g_new0(double, branch->cells);
	RgRest rest = {branch->need, branch->nodes, from, to};
	if (branch->steps == 0) {
		branch->sure = false;
		return false;
	}
	branch->steps--;
	if (!narrow(branch, from, to) || rg_bounds_refute_again(branch->bounds, rest) ||
		rg_bounds_refute(branch->bounds, rest, on, &branch->steps))
		return false;
	if (rg_bounds_failed(branch->bounds)) {
		branch->sure = false;
		return false;
	}
	int at = fraction_of(branch, on);
	if (at < 0)
		return explore_pools(branch, from, to, on);
	unsigned below = (unsigned)floor(on[at]);
	bool up = on[at] - below > 0.5;
	for (unsigned side = 0; side < 2; side++) {
		if (explore_with(branch, from, to, (unsigned)at, up ? below + 1 : 0,
			    up ? UINT_MAX : below))
			return true;
		up = !up;
	}
	return false;
}

static bool explore_all(Branch *branch)
{
	g_autofree unsigned *low = g_new0(unsigned, branch->cells + 1);
	g_autofree unsigned *high = g_new0(unsigned, branch->cells + 1);
	g_autofree unsigned *n = g_new0(unsigned, branch->n + 1);
	for (unsigned i = 0; i < branch->n; i++) {
		for (unsigned p = 0; p < branch->n_pools; p++) {
			uint64_t room = rg_node_most(&branch->check, p, n, i, branch->need[i]);
			high[i * branch->n_pools + p] =
				(unsigned)MIN(room * branch->nodes[p], branch->need[i]);
		}
	}
	return explore(branch, low, high);
}

GPtrArray *rg_place_branch(const RgPlaceProblem *problem, const RgItem *items, unsigned n_items,
	unsigned *steps, bool *sure)
{
	Branch branch = {.problem = problem,
		.items = items,
		.n = n_items,
		.n_pools = problem->n_pools,
		.cells = n_items * problem->n_pools,
		.steps = *steps,
		.sure = true};
	rg_node_check_init(&branch.check, problem, items, n_items);
	branch.bounds = rg_bounds_new(problem, items, n_items);
	branch.need = g_new0(unsigned, n_items + 1);
	branch.nodes = g_new0(unsigned, problem->n_pools + 1);
	branch.failed = g_new0(GPtrArray *, problem->n_pools + 1);
	branch.known = g_hash_table_new_full(
		g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, held_free);
	for (unsigned i = 0; i < n_items; i++)
		branch.need[i] = items[i].demand;
	for (unsigned p = 0; p < problem->n_pools; p++) {
		branch.nodes[p] = problem->pools[p].nodes;
		branch.failed[p] = g_ptr_array_new_with_free_func(g_free);
	}
	branch.steps -= MIN(branch.steps, STEPS_OF_BEGINNING);
	explore_all(&branch);
	*steps = branch.steps;
	*sure = branch.sure;
	for (unsigned p = 0; p < problem->n_pools; p++)
		g_ptr_array_unref(branch.failed[p]);
	g_free(branch.failed);
	g_hash_table_unref(branch.known);
	rg_node_check_clear(&branch.check);
	g_free(branch.need);
	g_free(branch.nodes);
	rg_bounds_free(branch.bounds);
	return branch.found;
}
