/* Looks for a placement under the lead of a linear program (bound.c): nodes with the pattern
 * that it uses most are filled for good, and it is solved again for the rest, until few nodes are
 * left, which are searched completely. If the rest turns out to have no place, another dive begins,
 * with other choices. It proves nothing; what it finds is a placement. */
#include <math.h>
#include <string.h>
#include "pack/internal.h"

#define SEED 29
#define FEW_NODES 5	  /* are searched completely */
#define STEPS_OF_END 2000 /* of that search */
#define ENDS 3		  /* searches in a dive: with that many nodes, then with one less */

typedef struct {
	const RgPlaceProblem *problem;
	RgItem *items; /* `demand`: what is left */
	unsigned n, *nodes, steps;
	RgNodeCheck check;
	RgBounds *bounds;
	GRand *rand;
	unsigned *need, *low, *high, *pattern;
	GPtrArray *found; /* RgPlacedNodes*, by item */
	bool failed;	  /* the programs cannot be solved */
} Dive;

static void begin(Dive *dive, const RgItem *items)
{
	for (unsigned p = 0; p < dive->problem->n_pools; p++)
		dive->nodes[p] = dive->problem->pools[p].nodes;
	for (unsigned i = 0; i < dive->n; i++)
		dive->need[i] = items[i].demand;
	g_ptr_array_set_size(dive->found, 0);
}

static unsigned dive_nodes_left(const Dive *dive)
{
	unsigned sum = 0;
	for (unsigned p = 0; p < dive->problem->n_pools; p++)
		sum += dive->nodes[p];
	return sum;
}

/* Searches all nodes that are left. */
static bool end(Dive *dive)
{
	RgPlaceProblem rest = *dive->problem;
	g_autofree RgPlacePool *pools = g_memdup2(rest.pools, rest.n_pools * sizeof *pools);
	unsigned steps = MIN(dive->steps, STEPS_OF_END), before = steps;
	bool sure;
	for (unsigned p = 0; p < rest.n_pools; p++)
		pools[p].nodes = dive->nodes[p];
	for (unsigned i = 0; i < dive->n; i++)
		dive->items[i].demand = dive->need[i];
	rest.pools = pools;
	GPtrArray *found = rg_place_search(&rest, dive->items, dive->n, &steps, &sure);
	dive->steps -= before - steps;
	if (!found)
		return false;
	g_ptr_array_extend_and_steal(dive->found, found);
	return true;
}

/* No more of the pattern than is left, and what fits beside it, in the order of the items. */
static void complete(Dive *dive, unsigned pool)
{
	for (unsigned i = 0; i < dive->n; i++)
		dive->pattern[i] = MIN(dive->pattern[i], dive->need[i]);
	for (unsigned i = 0; i < dive->n; i++)
		dive->pattern[i] =
			rg_node_most(&dive->check, pool, dive->pattern, i, dive->need[i]);
}

/* On up to `most` nodes; false: it has nothing. */
static bool fix(Dive *dive, unsigned pool, unsigned most)
{
	unsigned count = most;
	bool none = true;
	for (unsigned i = 0; i < dive->n; i++) {
		if (dive->pattern[i] == 0)
			continue;
		none = false;
		count = MIN(count, dive->need[i] / dive->pattern[i]);
	}
	if (none || !rg_node_holds(&dive->check, pool, dive->pattern))
		return false;
	gsize bytes = dive->n * sizeof dive->pattern[0];
	RgPlacedNodes *placed = g_malloc0(sizeof *placed + bytes);
	placed->pool = pool;
	placed->nodes = count;
	memcpy(placed->bundles, dive->pattern, bytes);
	g_ptr_array_add(dive->found, placed);
	dive->nodes[pool] -= count;
	for (unsigned i = 0; i < dive->n; i++)
		dive->need[i] -= count * dive->pattern[i];
	return true;
}

/* One step down; false: no way on. */
static bool descend(Dive *dive)
{
	RgRest rest = {dive->need, dive->nodes, dive->low, dive->high};
	unsigned pool, n_pools = dive->problem->n_pools;
	for (unsigned k = 0; k < dive->n * n_pools; k++)
		dive->high[k] = dive->need[k / n_pools];
	if (rg_bounds_refute_again(dive->bounds, rest) ||
		rg_bounds_refute(dive->bounds, rest, NULL, &dive->steps))
		return false;
	dive->failed = rg_bounds_failed(dive->bounds);
	if (dive->failed)
		return false;
	double value = rg_bounds_pattern(dive->bounds, dive->rand, dive->pattern, &pool);
	if (value <= 0 || dive->nodes[pool] == 0)
		return false;
	complete(dive, pool);
	return fix(dive, pool, CLAMP((unsigned)floor(value), 1, dive->nodes[pool]));
}

static bool dive_is_done(const Dive *dive)
{
	for (unsigned i = 0; i < dive->n; i++) {
		if (dive->need[i] > 0)
			return false;
	}
	return true;
}

static bool go_down(Dive *dive)
{
	unsigned ends = 0;
	while (dive->steps > 0) {
		if (dive_is_done(dive))
			return true;
		if (dive_nodes_left(dive) <= FEW_NODES && (end(dive) || ++ends == ENDS))
			return ends < ENDS;
		if (!descend(dive))
			return false;
	}
	return false;
}

GPtrArray *rg_place_dive(
	const RgPlaceProblem *problem, const RgItem *items, unsigned n_items, unsigned *steps)
{
	unsigned cells = n_items * problem->n_pools;
	Dive dive = {.problem = problem, .n = n_items, .steps = *steps};
	dive.items = g_memdup2(items, n_items * sizeof *items);
	dive.nodes = g_new0(unsigned, problem->n_pools + 1);
	dive.need = g_new0(unsigned, n_items + 1);
	dive.pattern = g_new0(unsigned, n_items + 1);
	dive.low = g_new0(unsigned, cells + 1);
	dive.high = g_new0(unsigned, cells + 1);
	dive.rand = g_rand_new_with_seed(SEED);
	dive.bounds = rg_bounds_new(problem, items, n_items);
	dive.found = g_ptr_array_new_with_free_func(g_free);
	rg_node_check_init(&dive.check, problem, items, n_items);
	bool good = false;
	while (!good && !dive.failed && dive.steps > 0) {
		begin(&dive, items);
		good = go_down(&dive);
		dive.steps -= MIN(dive.steps, 1);
	}
	*steps = dive.steps;
	rg_node_check_clear(&dive.check);
	rg_bounds_free(dive.bounds);
	g_rand_free(dive.rand);
	g_free(dive.items);
	g_free(dive.nodes);
	g_free(dive.need);
	g_free(dive.pattern);
	g_free(dive.low);
	g_free(dive.high);
	if (!good)
		g_clear_pointer(&dive.found, g_ptr_array_unref);
	return dive.found;
}
