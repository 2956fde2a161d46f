/* Shares nothing with the code under test. */
#include "place_brute.h"
#include <string.h>

typedef struct {
	const RgPlaceProblem *problem;
	unsigned n_nodes, pool_of[BRUTE_NODES];
	int64_t gpu[BRUTE_NODES][BRUTE_GPUS], left[BRUTE_NODES][BRUTE_AMOUNTS];
} World;

/* Where in the sequence of bundles; `nodes`: bit set of those that the unit is on. */
typedef struct {
	unsigned task, unit, part, bundle, nodes, from, kind;
} At;

static void make_world(World *w, const RgPlaceProblem *problem)
{
	memset(w, 0, sizeof *w);
	w->problem = problem;
	for (unsigned p = 0; p < problem->n_pools; p++) {
		for (unsigned n = 0; n < problem->pools[p].nodes; n++) {
			for (unsigned a = 0; a < problem->n_amounts; a++)
				w->left[w->n_nodes][a] = problem->pools[p].amounts[a];
			w->pool_of[w->n_nodes++] = p;
		}
	}
}

/* A bundle on node n, GPU d first; false: it does not fit. */
static bool put(World *w, const RgPlacePart *part, unsigned n, unsigned d)
{
	const RgPlaceNeed *need = &part->on[w->pool_of[n]];
	unsigned gpus = w->problem->pools[w->pool_of[n]].gpus, found = 0;
	if (!need->admitted)
		return false;
	for (unsigned a = 0; a < w->problem->n_amounts; a++) {
		w->left[n][a] -= part->amounts[a];
		if (w->left[n][a] < 0)
			return false;
	}
	if (need->part > 0) {
		if (d >= gpus)
			return false;
		w->gpu[n][d] += need->part;
		return w->gpu[n][d] <= RG_PLACE_ONE;
	}
	for (unsigned k = 0; k < gpus && found < need->whole; k++) {
		if (w->gpu[n][k] == 0) {
			w->gpu[n][k] = RG_PLACE_ONE;
			found++;
		}
	}
	return found == need->whole;
}

static bool place_rest(const World *w, At at);

static bool needs_gpus(const RgPlaceProblem *problem, const RgPlacePart *part)
{
	for (unsigned p = 0; p < problem->n_pools; p++) {
		if (part->on[p].whole > 0 || part->on[p].part > 0)
			return true;
	}
	return false;
}

static bool may_be_on(const World *w, const RgPlaceTask *task, const At *at, unsigned n)
{
	bool first = at->nodes == 0, here = at->nodes & (1u << n);
	unsigned kind = w->problem->pools[w->pool_of[n]].kind;
	if (task->strategy == RG_PLACE_STRICT_SPREAD && here)
		return false;
	if (task->strategy == RG_PLACE_STRICT_PACK && !first && !here)
		return false;
	return task->alike == RG_PLACE_ANY || !needs_gpus(w->problem, &task->parts[at->part]) ||
	       (kind > 0 && (at->kind == 0 || at->kind == kind));
}

static bool place_bundle(const World *w, const At *at)
{
	const RgPlaceTask *task = &w->problem->tasks[at->task];
	const RgPlacePart *part = &task->parts[at->part];
	/* equal bundles in the order of the nodes: swapping them makes no difference */
	for (unsigned n = at->from; n < w->n_nodes; n++) {
		for (unsigned d = 0; d < BRUTE_GPUS && may_be_on(w, task, at, n); d++) {
			World next = *w;
			At after = *at;
			if (d > 0 && w->gpu[n][d] == w->gpu[n][d - 1])
				continue;
			after.bundle++;
			after.from = n;
			after.nodes |= 1u << n;
			if (task->alike != RG_PLACE_ANY && needs_gpus(w->problem, part))
				after.kind = w->problem->pools[w->pool_of[n]].kind;
			if (put(&next, part, n, d) && place_rest(&next, after))
				return true;
		}
	}
	return false;
}

static bool place_rest(const World *w, At at)
{
	const RgPlaceProblem *problem = w->problem;
	if (at.task == problem->n_tasks)
		return true;
	const RgPlaceTask *task = &problem->tasks[at.task];
	if (at.unit == task->units)
		return place_rest(w, (At){.task = at.task + 1});
	if (at.part == task->n_parts)
		return place_rest(
			w, (At){.task = at.task,
				   .unit = at.unit + 1,
				   .kind = task->alike == RG_PLACE_ALL_ALIKE ? at.kind : 0});
	if (at.bundle == task->parts[at.part].count) {
		at.part++;
		at.bundle = at.from = 0;
		return place_rest(w, at);
	}
	return place_bundle(w, &at);
}

bool brute_fits(const RgPlaceProblem *problem)
{
	World w;
	make_world(&w, problem);
	return place_rest(&w, (At){0});
}
