/* The workloads of a cluster as a problem of placing (place.h), and why a pool can't take one.
 * Inside of fit: demand.c translates, workloads.c judges, remedy.c looks for what would help. */
#pragma once
#include "fit/internal.h"
#include "fit/place.h"

typedef struct {
	const RgCluster *cluster;
	const RgShapes *shapes; /* one a pool of the problem, the head first */
	RgPlaceProblem problem; /* elastic pools at their max; one task a workload */
	GPtrArray *amounts; /* char*: names of the amounts: CPU, memory, then custom resources */
	char **why;	    /* [task * n_pools + pool]: why it can't run there; NULL: it can */
	GPtrArray *owned;
} RgDemand;

RgDemand *rg_demand_new(const RgCluster *cluster, const RgShapes *shapes);
void rg_demand_free(RgDemand *demand);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgDemand, rg_demand_free)

const RgShape *rg_demand_shape(const RgDemand *demand, unsigned pool);
/* What one bundle takes of a GPU node of this type: NULL and `need` filled, or why it can't run
 * there whatever its labels; g_free the result. `gpus` and `memory_gb` are per node and per GPU as
 * Ray sees them. */
char *rg_demand_need(const RgWorkload *workload, const RgInstanceType *type, unsigned gpus,
	unsigned memory_gb, const RgShape *shape, RgPlaceNeed *need);
/* Replicas that run at once when nothing else does. */
uint64_t rg_demand_alone(const RgPlaceProblem *problem, const RgWorkload *workload, unsigned task);

/* The cheapest way to let `missing` more replicas run: {"pool" or "instance_type", "nodes",
 * "microusd_hour"}, or NULL when none with a known price is found. A new reference. */
json_t *rg_fit_remedy(const RgDemand *demand, unsigned task, uint64_t wanted);

/* options.c: the Ray options of a workload that was placed: [{"pools", "options",
 * "placement_group"?}], one a set of pools on which the same is taken, of those with use[pool]. A
 * new reference. */
json_t *rg_fit_options(const RgDemand *demand, unsigned task, const bool *use);
