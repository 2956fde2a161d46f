/* What a demand says about a pool, a workload, or a bundle on a pool. */
#include <math.h>
#include "workloads/demand.h"

const RgShape *rg_demand_shape(const RgDemand *demand, unsigned pool)
{
	return pool < demand->shapes->shapes->len ? demand->shapes->shapes->pdata[pool]
						  : demand->extra;
}

const RgWorkload *rg_demand_workload(const RgDemand *demand, unsigned task)
{
	return demand->cluster->workloads->pdata[task];
}

const RgBundle *rg_demand_bundle(const RgDemand *demand, unsigned task, unsigned part)
{
	return rg_demand_workload(demand, task)->bundles->pdata[part];
}

const char *rg_demand_why(const RgDemand *demand, unsigned task, unsigned pool)
{
	const RgPlaceProblem *problem = &demand->problem;
	unsigned first = rg_place_first_part(problem, task);
	for (unsigned i = 1; i < problem->tasks[task].n_parts; i++) {
		if (problem->tasks[task].parts[i].on[pool].admitted)
			return demand->why[(first + i) * problem->n_pools + pool];
	}
	return demand->why[first * problem->n_pools + pool];
}

bool rg_demand_is_packed(const RgWorkload *workload)
{
	return workload->gang && workload->nodes == 0 && !workload->has_bundles;
}

int64_t rg_demand_steps(double amount)
{
	return (int64_t)ceil(amount * RG_PLACE_ONE - 1e-6);
}

uint64_t rg_demand_gpu_room(const RgDemand *demand, unsigned task, unsigned part, unsigned pool)
{
	const RgPlaceNeed *need = &demand->problem.tasks[task].parts[part].on[pool];
	unsigned gpus = demand->problem.pools[pool].gpus;
	if (need->part > 0)
		return (uint64_t)gpus * (RG_PLACE_ONE / need->part);
	return need->whole > 0 ? gpus / need->whole : 0;
}

char *rg_demand_binds(const RgDemand *demand, unsigned task, unsigned part, unsigned pool)
{
	const RgPlacePart *bundle = &demand->problem.tasks[task].parts[part];
	const RgPlaceNeed *need = &bundle->on[pool];
	bool gpus = need->whole > 0 || need->part > 0;
	uint64_t least = gpus ? rg_demand_gpu_room(demand, task, part, pool) : G_MAXUINT64;
	const char *name = gpus ? "GPU" : NULL;
	for (unsigned i = 0; i < demand->problem.n_amounts; i++) {
		if (bundle->amounts[i] == 0)
			continue;
		uint64_t room =
			(uint64_t)(demand->problem.pools[pool].amounts[i] / bundle->amounts[i]);
		if (room < least) {
			least = room;
			name = demand->amounts->pdata[i];
		}
	}
	return g_strdup(name);
}
