/* More nodes never make it worse: where the search gives up, clusters with fewer nodes are asked,
 * those with one node less first, unless it is certain that they hold less. What fits on some of
 * the nodes fits on all. If F(n) says whether a placement is found on the nodes n or on a part of
 * them that was asked, F(n) implies F(m) for every m that includes n: what fits on n fits on every
 * cluster between them, so none of these is certain to hold too little, and the way from m down to
 * n is open, as far as MOST_PARTS clusters lead: to every cluster with one node less, and further
 * in clusters of few pools. */
#include "pack/internal.h"

#define MOST_PARTS 8 /* of a cluster that are asked; as many as it has pools, if these are more */

/* The cluster without one node of each pool in turn, those that were not asked yet. */
static void add_smaller(
	GPtrArray *queue, GHashTable *seen, const RgPlaceProblem *problem, const unsigned *nodes)
{
	gsize bytes = problem->n_pools * sizeof *nodes;
	for (unsigned p = 0; p < problem->n_pools; p++) {
		g_autofree unsigned *fewer = g_memdup2(nodes, bytes);
		if (nodes[p] == 0)
			continue;
		fewer[p]--;
		GBytes *key = g_bytes_new(fewer, bytes);
		if (g_hash_table_add(seen, g_bytes_ref(key)))
			g_ptr_array_add(queue, g_bytes_ref(key));
		g_bytes_unref(key);
	}
}

/* The same on a part of the nodes, where that is not certain to be too little. */
static GPtrArray *solve_part(const RgPlaceProblem *problem, const unsigned *units, RgDivide divide)
{
	RgPlaceProblem part = *problem;
	g_autofree RgPlacePool *pools = g_memdup2(problem->pools, problem->n_pools * sizeof *pools);
	g_autofree unsigned *all = g_new0(unsigned, problem->n_pools + 1);
	g_autoptr(GPtrArray) queue = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
	g_autoptr(GHashTable) seen = g_hash_table_new_full(
		g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
	GPtrArray *found = NULL;
	part.pools = pools;
	for (unsigned p = 0; p < problem->n_pools; p++)
		all[p] = problem->pools[p].nodes;
	add_smaller(queue, seen, problem, all);
	guint most = MAX(MOST_PARTS, problem->n_pools);
	for (guint k = 0; !found && k < queue->len && k < most; k++) {
		const unsigned *nodes = g_bytes_get_data(queue->pdata[k], NULL);
		bool sure;
		for (unsigned p = 0; p < problem->n_pools; p++)
			pools[p].nodes = nodes[p];
		found = rg_place_ask_all(&part, units, divide, &sure);
		if (!found && !sure)
			add_smaller(queue, seen, problem, nodes);
	}
	return found;
}

GPtrArray *rg_place_on_parts(
	const RgPlaceProblem *problem, const unsigned *units, RgDivide divide, bool *sure)
{
	if (rg_place_refute_sums(problem, units)) {
		*sure = true;
		return NULL;
	}
	GPtrArray *found = rg_place_ask_all(problem, units, divide, sure);
	if (found || *sure || problem->trial)
		return found;
	found = solve_part(problem, units, divide);
	*sure = found != NULL;
	return found;
}
