/* A pool as two pools with half of its nodes each: then the linear program of branch.c
 * proposes what is on which half, and so on down to single nodes. */
#include "pack/internal.h"

static const unsigned both[] = {0, 1};

void rg_halves_init(RgHalves *halves, const RgPlaceProblem *problem, unsigned pool)
{
	unsigned parts = rg_place_first_part(problem, problem->n_tasks), k = 0;
	halves->tasks = g_memdup2(problem->tasks, problem->n_tasks * sizeof *halves->tasks);
	halves->parts = g_new0(RgPlacePart, parts + 1);
	halves->needs = g_new0(RgPlaceNeed, 2 * (size_t)parts + 1);
	for (unsigned t = 0; t < problem->n_tasks; t++) {
		halves->tasks[t].parts = &halves->parts[k];
		for (unsigned i = 0; i < problem->tasks[t].n_parts; i++, k++) {
			halves->parts[k] = problem->tasks[t].parts[i];
			halves->needs[2 * k] = halves->needs[2 * k + 1] = halves->parts[k].on[pool];
			halves->parts[k].on = &halves->needs[2 * k];
		}
	}
	for (unsigned p = 0; p < 2; p++) {
		halves->pools[p] = problem->pools[pool];
		halves->pools[p].nodes = (problem->pools[pool].nodes + p) / 2;
	}
	halves->problem = *problem;
	halves->problem.pools = halves->pools;
	halves->problem.tasks = halves->tasks;
	halves->problem.order = both;
	halves->problem.n_pools = 2;
}

void rg_halves_clear(RgHalves *halves)
{
	g_free(halves->tasks);
	g_free(halves->parts);
	g_free(halves->needs);
}
