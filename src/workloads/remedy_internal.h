/* Inside remedies. */
#pragma once
#include "workloads/demand.h"

/* What may be added to the hourly cost within all budgets; `pool` NULL: in a pool that no budget
 * names. 0: nothing. Nodes without a known price count as nothing, elastic pools at their max. */
int64_t rg_fit_budget_room(const RgShapes *shapes, const RgCluster *cluster, const RgLimits *limits,
	size_t n, const char *pool);

/* Shared by all steps of one search. */
typedef struct {
	const RgFitAsk *ask;
	const RgCluster *cluster;
	const RgWorkload *workload;
	RgShapes shapes;    /* the given ones, with tables of their own */
	uint64_t max_nodes; /* that the policy allows to add */
	unsigned steps;	    /* of placement that are left; without any the best so far counts */
	unsigned simulated; /* changed clusters */
	json_t *apart;	    /* names of workloads that leave NVLink on the last of them */
	json_t *best;
	int64_t best_cost, best_over; /* the latter: above the budgets */
	bool unpriced; /* only pools without a known price; the cost is the number of nodes */
} RgRemedy;

/* A changed cluster. */
typedef struct {
	RgCluster cluster;
	RgShapes shapes;
	RgShape *extra; /* a new pool; NULL: none */
	unsigned grows; /* the pool that gets more nodes */
	unsigned least; /* how many more at least; 0: any number */
	int64_t price;	/* of one of them */
} RgTrial;

/* remedy_count.c: keeps the change if it costs less than the best so far; takes it. */
void rg_remedy_offer(RgRemedy *remedy, const RgTrial *trial, json_t *change);

/* remedy_trial.c; `pool` NULL: a new one. */
json_t *rg_remedy_change(const RgShape *shape, const char *pool);
bool rg_remedy_admits(const RgRemedy *remedy, const RgShape *shape);
/* Of one node an hour; RG_MONEY_UNKNOWN. */
int64_t rg_remedy_price(const RgRemedy *remedy, const RgInstanceType *type, bool is_spot);
RgTrial rg_remedy_trial(const RgRemedy *remedy);
/* RgMigProfile* of the type's GPU; NULL: none. */
const GPtrArray *rg_remedy_profiles(RgRemedy *remedy, const RgInstanceType *type);
/* More nodes of each pool; `mark`, NULL or what is added to the change. */
void rg_remedy_try_pools(RgRemedy *remedy, const RgTrial *given,
	json_t *(*mark)(json_t *change, const void *data), const void *data);

/* remedy_share.c */
void rg_remedy_try_sharing(RgRemedy *remedy);
/* remedy_new.c */
void rg_remedy_try_types(RgRemedy *remedy);
