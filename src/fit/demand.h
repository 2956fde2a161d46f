/* The workloads of a cluster as a placement problem (place.h), and why a pool cannot run one.
 * Inside fit: demand.c translates, workloads.c evaluates, remedy.c searches for what would help. */
#pragma once
#include "fit/internal.h"
#include "fit/place.h"

typedef struct {
	const RgCluster *cluster;
	const RgShapes *shapes; /* one per pool of the problem, the head first */
	RgPlaceProblem problem; /* elastic pools at their max; one task per workload */
	GPtrArray *amounts; /* char*: names of the amounts: CPU, memory, then custom resources */
	char **why;	    /* [task * n_pools + pool]: why it cannot run there; NULL: it can */
	GPtrArray *owned;
} RgDemand;

RgDemand *rg_demand_new(const RgCluster *cluster, const RgShapes *shapes);
void rg_demand_free(RgDemand *demand);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgDemand, rg_demand_free)

const RgShape *rg_demand_shape(const RgDemand *demand, unsigned pool);
/* What one bundle needs of a GPU node of this type: NULL and `need` filled, or why it cannot run
 * there whatever its labels; g_free the result. `gpus` and `memory_gb` are per node and per GPU as
 * Ray sees them. */
char *rg_demand_need(const RgWorkload *workload, const RgInstanceType *type, unsigned gpus,
	unsigned memory_gb, const RgShape *shape, RgPlaceNeed *need);
/* Replicas that run at once if nothing else does. */
uint64_t rg_demand_alone(const RgPlaceProblem *problem, const RgWorkload *workload, unsigned task);

/* The cheapest way to let `missing` more replicas run: {"pool" or "instance_type", "nodes",
 * "microusd_hour"}, or NULL if none with a known price is found. A new reference. */
json_t *rg_fit_remedy(const RgDemand *demand, unsigned task, uint64_t wanted);

/* options.c: the Ray options of a workload that was placed: [{"pools", "options",
 * "placement_group"?}], one per set of pools that need the same options, among those with
 * use[pool]. A new reference. */
json_t *rg_fit_options(const RgDemand *demand, unsigned task, const bool *use);
