#include "pack/internal.h"

bool rg_place_divide(const RgPlaceProblem *problem, const RgItem *items, unsigned n_items,
	double *on, unsigned *steps)
{
	unsigned n_pools = problem->n_pools, cells = n_items * n_pools;
	g_autofree unsigned *need = g_new0(unsigned, n_items + 1);
	g_autofree unsigned *nodes = g_new0(unsigned, n_pools + 1);
	g_autofree unsigned *low = g_new0(unsigned, cells + 1);
	g_autofree unsigned *high = g_new0(unsigned, cells + 1);
	for (unsigned i = 0; i < n_items; i++)
		need[i] = items[i].demand;
	for (unsigned p = 0; p < n_pools; p++)
		nodes[p] = problem->pools[p].nodes;
	for (unsigned k = 0; k < cells; k++)
		high[k] = need[k / n_pools];
	RgBounds *bounds = rg_bounds_new(problem, items, n_items);
	bool refuted = rg_bounds_refute(bounds, (RgRest){need, nodes, low, high}, on, steps);
	rg_bounds_free(bounds);
	rg_bounds_release();
	return !refuted;
}
