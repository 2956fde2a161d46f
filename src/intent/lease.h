/* Leases as the state records them (lease.c). Pure; any thread. */
#pragma once
#include "plan/plan.h"
#include "spec/cluster.h"
#include "state/read.h"

/* Of the last apply, borrowed; NULL: none. */
const json_t *rg_snapshot_leases(const RgSnapshot *snapshot);
/* The end of the pool's own lease, or (`pool` NULL) of the cluster's; Unix time, 0: it has none. */
int64_t rg_lease_end(const json_t *leases, const char *pool);
/* The end of the pool's nodes: of its own lease, else of the cluster's. */
int64_t rg_lease_end_of(const json_t *leases, const char *pool);

/* What `raygpu reap` removes of a cluster. */
typedef struct {
	bool whole;	      /* all of it */
	bool cluster;	      /* the cluster's own lease has ended */
	GPtrArray *addresses; /* char*: otherwise these records */
	GHashTable *pools;    /* char*: of these pools */
	GHashTable *held;     /* char*: pools that are protected */
} RgEnded;
void rg_ended_free(RgEnded *ended);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgEnded, rg_ended_free)
/* NULL: nothing. `cluster`: its spec, which may extend a lease that is not applied yet; NULL: it
 * has none. Reports reap.extended, and reap.protected and reap.shared as errors. */
RgEnded *rg_leases_ended(const RgSnapshot *snapshot, const RgCluster *cluster, RgDiags *diags);
/* Whether the plan changes nothing else; otherwise reap.shared. */
bool rg_ended_covers(const RgEnded *ended, const RgPlan *plan, RgDiags *diags);
