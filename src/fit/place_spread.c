/* Whether a placement survives a scheduler that spreads. Ray starts a task or actor on the first
 * node that is at most half used, else on the one that is used least (hybrid_scheduling_policy.cc);
 * a placement group goes to the nodes that it fills best (bundle_scheduling_policy.cc). */
#include <string.h>
#include "fit/place_internal.h"

typedef struct {
	const RgPlaceProblem *problem;
	const RgPlaced *placed;
	RgNodeCheck check;
	GPtrArray *nodes; /* RgPlacedNodes* of all nodes, no two alike */
	unsigned n_parts;
} Spread;

/* Used share of what a node has most of in use. */
static double use_of(const Spread *spread, const RgPlacedNodes *nodes)
{
	const RgPlaceProblem *problem = spread->problem;
	const RgPlacePool *pool = &problem->pools[nodes->pool];
	double gpus = 0, most = 0;
	for (unsigned a = 0; a < problem->n_amounts; a++) {
		double used = 0;
		for (unsigned i = 0; i < spread->n_parts; i++) {
			const RgItem *item = &spread->check.items[i];
			const RgPlacePart *part = &problem->tasks[item->task].parts[item->part];
			used += nodes->bundles[i] * (double)part->amounts[a];
		}
		if (pool->amounts[a] > 0)
			most = MAX(most, used / (double)pool->amounts[a]);
	}
	for (unsigned i = 0; i < spread->n_parts; i++) {
		const RgItem *item = &spread->check.items[i];
		const RgPlaceNeed *need =
			&problem->tasks[item->task].parts[item->part].on[nodes->pool];
		gpus += nodes->bundles[i] * ((double)need->whole * RG_PLACE_ONE + need->part);
	}
	if (pool->gpus > 0)
		most = MAX(most, gpus / ((double)pool->gpus * RG_PLACE_ONE));
	return most;
}

static bool takes(Spread *spread, RgPlacedNodes *nodes, unsigned part)
{
	nodes->bundles[part]++;
	bool holds = rg_node_holds(&spread->check, nodes->pool, nodes->bundles);
	nodes->bundles[part]--;
	return holds;
}

/* The nodes of the printed pools that have room: the least used ones, or the fullest. */
static RgPlacedNodes *pick(Spread *spread, unsigned part, bool fullest)
{
	const RgPlaceProblem *problem = spread->problem;
	unsigned task = spread->check.items[part].task;
	RgPlacedNodes *best = NULL;
	double best_use = 0;
	for (guint i = 0; i < spread->nodes->len; i++) {
		RgPlacedNodes *nodes = spread->nodes->pdata[i];
		if (spread->placed->bundles[task * problem->n_pools + nodes->pool] == 0 ||
			!takes(spread, nodes, part))
			continue;
		double use = use_of(spread, nodes);
		if (!best || (fullest ? use > best_use : use < best_use)) {
			best = nodes;
			best_use = use;
		}
	}
	return best;
}

static void add_one(Spread *spread, RgPlacedNodes *nodes, unsigned part, unsigned count)
{
	gsize bytes = sizeof *nodes + spread->n_parts * sizeof nodes->bundles[0];
	RgPlacedNodes *more = g_memdup2(nodes, bytes);
	more->nodes = count;
	more->bundles[part]++;
	nodes->nodes -= count;
	if (nodes->nodes == 0)
		g_ptr_array_remove(spread->nodes, nodes);
	for (guint i = 0; i < spread->nodes->len; i++) {
		RgPlacedNodes *other = spread->nodes->pdata[i];
		if (other->pool != more->pool ||
			memcmp(other->bundles, more->bundles,
				spread->n_parts * sizeof more->bundles[0]) != 0)
			continue;
		other->nodes += count;
		g_free(more);
		return;
	}
	g_ptr_array_add(spread->nodes, more);
}

static bool start_task(Spread *spread, unsigned task)
{
	const RgPlaceTask *wish = &spread->problem->tasks[task];
	unsigned first = rg_place_first_part(spread->problem, task);
	bool group = rg_place_bundles(wish) > 1;
	for (unsigned i = 0; i < wish->n_parts; i++) {
		uint64_t left = (uint64_t)spread->placed->units[task] * wish->parts[i].count;
		while (left > 0) {
			RgPlacedNodes *nodes = pick(spread, first + i, group);
			if (!nodes)
				return false;
			unsigned count = (unsigned)MIN(left, nodes->nodes);
			add_one(spread, nodes, first + i, count);
			left -= count;
		}
	}
	return true;
}

static bool start_all(Spread *spread, const unsigned *order)
{
	const RgPlaceProblem *problem = spread->problem;
	bool good = true;
	spread->nodes = g_ptr_array_new_with_free_func(g_free);
	for (unsigned p = 0; p < problem->n_pools; p++) {
		RgPlacedNodes *nodes =
			g_malloc0(sizeof *nodes + (spread->n_parts + 1) * sizeof nodes->bundles[0]);
		nodes->pool = p;
		nodes->nodes = problem->pools[p].nodes;
		if (nodes->nodes > 0)
			g_ptr_array_add(spread->nodes, nodes);
		else
			g_free(nodes);
	}
	for (unsigned i = 0; good && i < problem->n_tasks; i++)
		good = start_task(spread, order[i]);
	g_ptr_array_unref(spread->nodes);
	return good;
}

static uint64_t size_of(const RgPlaceProblem *problem, unsigned task)
{
	uint64_t size = 0;
	for (unsigned p = 0; p < problem->n_pools; p++) {
		const RgPlaceNeed *need = &problem->tasks[task].parts[0].on[p];
		if (need->admitted)
			size = MAX(size, (uint64_t)need->whole * RG_PLACE_ONE + need->part);
	}
	return size;
}

bool rg_place_survives_spreading(const RgPlaceProblem *problem, const RgPlaced *placed)
{
	Spread spread = {.problem = problem, .placed = placed};
	spread.n_parts = rg_place_first_part(problem, problem->n_tasks);
	g_autofree RgItem *items = rg_place_all_parts(problem);
	g_autofree unsigned *order = g_new0(unsigned, problem->n_tasks + 1);
	rg_node_check_init(&spread.check, problem, items, spread.n_parts);
	for (unsigned t = 0; t < problem->n_tasks; t++)
		order[t] = t;
	bool good = start_all(&spread, order);
	/* small ones first leave the least room for the large ones */
	for (unsigned t = 1; t < problem->n_tasks; t++) {
		unsigned at = t, task = order[t];
		for (; at > 0 && size_of(problem, task) < size_of(problem, order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = task;
	}
	good = good && start_all(&spread, order);
	for (unsigned t = 0; t < problem->n_tasks; t++)
		order[t] = problem->n_tasks - 1 - t;
	good = good && start_all(&spread, order);
	rg_node_check_clear(&spread.check);
	return good;
}
