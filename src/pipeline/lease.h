/* Leases as the state records them (lease.c). Pure; any thread. */
#pragma once
#include "base/json.h"
#include "state/store.h"

/* Of the last apply, borrowed; NULL: none. */
const json_t *rg_snapshot_leases(const RgSnapshot *snapshot);
/* The end of the pool's own lease, or (`pool` NULL) of the cluster's; Unix time, 0: it has none. */
int64_t rg_lease_end(const json_t *leases, const char *pool);
/* The end of the pool's nodes: of its own lease, else of the cluster's. */
int64_t rg_lease_end_of(const json_t *leases, const char *pool);
