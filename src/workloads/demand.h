/* The workloads of a cluster as a placement problem (place.h), and why a pool cannot run one.
 * Inside workloads: demand.c translates, workloads.c evaluates, remedy.c searches for what would
 * help. */
#pragma once
#include "fit/shape.h"
#include "pack/place.h"

/* Indexes of RgPlaceProblem's amounts; custom resources follow. Memory is in MiB. */
enum { RG_AMOUNT_CPU, RG_AMOUNT_MEMORY, RG_AMOUNT_CUSTOM };

typedef struct {
	const RgCluster *cluster;
	const RgShapes *shapes; /* one per pool of the problem, the head first */
	const RgShape *extra;	/* the problem's last pool, which the cluster does not have; NULL */
	RgPlaceProblem problem; /* elastic pools at their max; one task per workload, one part per
				   bundle */
	GPtrArray *amounts;	/* char*: their names */
	char **why; /* [(part of the problem) * n_pools + pool]: why it cannot run there; NULL: it
		       can */
	GPtrArray *owned;
} RgDemand;

RgDemand *rg_demand_new(const RgCluster *cluster, const RgShapes *shapes, const RgShape *extra);
void rg_demand_free(RgDemand *demand);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgDemand, rg_demand_free)

const RgShape *rg_demand_shape(const RgDemand *demand, unsigned pool);
const RgWorkload *rg_demand_workload(const RgDemand *demand, unsigned task);
const RgBundle *rg_demand_bundle(const RgDemand *demand, unsigned task, unsigned part);
/* Why no bundle of the workload can run on the pool; NULL: at least one can. */
const char *rg_demand_why(const RgDemand *demand, unsigned task, unsigned pool);
/* All that a node of the pool lacks for one bundle: [{"what": field, "why": text}]. */
json_t *rg_demand_lacks(const RgDemand *demand, unsigned task, unsigned part, unsigned pool);
/* What limits the bundles on an empty node of the pool: "GPU", "CPU", "memory" or a custom
 * resource; NULL: nothing does. g_free the result. */
char *rg_demand_binds(const RgDemand *demand, unsigned task, unsigned part, unsigned pool);
/* Bundles for which its GPUs are enough; 0: none, or it needs none. */
uint64_t rg_demand_gpu_room(const RgDemand *demand, unsigned task, unsigned part, unsigned pool);
/* Replicas that run at once if nothing else does; *sure is false if more may. */
uint64_t rg_demand_alone(
	const RgPlaceProblem *problem, const RgWorkload *workload, unsigned task, bool *sure);
/* A gang of single tasks: its replicas are the bundles of one unit. */
bool rg_demand_is_packed(const RgWorkload *workload);
/* Of one resource, as Ray counts it. */
int64_t rg_demand_steps(double amount);
/* demand_check.c: why the bundle cannot run on the pool (NULL: it can; g_free), and what it needs
 * of a node's GPUs there. */
char *rg_demand_judge(RgDemand *demand, const RgWorkload *workload, const RgBundle *bundle,
	unsigned pool, RgPlaceNeed *need);
/* Whether a label has what a selector requires; `value` NULL: the node does not have it. */
bool rg_demand_selects(const char *selector, const char *value);

typedef struct RgStart RgStart; /* start.h */

/* remedy.c: what is asked about. */
typedef struct {
	const RgDemand *demand;
	const RgPlaced *placed;
	const RgLimits *limits;
	size_t n_limits;
	unsigned task;
	const RgStart *start; /* of what is placed */
} RgFitAsk;

/* The change with the lowest hourly cost after which the workload fits beside all that fit now:
 * `remedy` of schemas/fit.schema.json. Found by trying it on the model. NULL: none with a known
 * price is within the limits. A new reference. */
json_t *rg_fit_remedy(const RgFitAsk *ask);
/* As a hint; g_free the result. */
char *rg_fit_remedy_text(const json_t *remedy);

/* options.c: Ray's options of a workload, as it was placed; if nothing of it was placed, as it
 * could be (`replicas` 0). A new reference:
 *   [{"pools": [names], "replicas": how many the entry is for,
 *     "options": for .options() of a task or actor,
 *     "groups": number of placement groups, "placement_group": both only for groups:
 *       {"strategy": text,
 *        "bundles": [{"count": equal ones in a row, "pools": [names], "resources": of one bundle,
 *                     "label_selector": absent before Ray 2.49,
 *                     "options": of the task or actor in it}]}}]
 * A replica of a group has one group to itself; a packed gang is one group. Before Ray 2.49 there
 * are no label selectors. */
typedef struct {
	bool pins;  /* each bundle and task selects the one pool where it was placed, not several */
	bool apart; /* single replicas that share a node are a placement group */
} RgOptionForm;

json_t *rg_fit_options(
	const RgDemand *demand, const RgPlaced *placed, unsigned task, RgOptionForm form);
