/* plan -> clouds; the state is written as each batch ends. One thread (the caller's) uses the
 * store; worker threads make the provider's calls. Prints nothing: emits events, from the caller's
 * thread only. These rules hold at any time and under kill -9:
 * 1. The journal row of a create (token, members, all inputs) is durable before its first request.
 *    Intents of batches that are ready together share one transaction.
 * 2. The outcome and the attributes are written in one transaction as each batch ends, with those
 *    of other batches that have ended by then.
 * 3. The next run sends open rows again, with the same token and inputs, and records the result
 *    or deletes it: no orphan, no duplicate.
 * 4. Only one thread uses the store. A failed change blocks only its dependents.
 * 5. After a signal nothing new starts. Requests in flight may end, for 4.5 s; the rest is left to
 *    the journal. A second signal stops immediately. Pending operations are left as they are:
 *    their records say that they were started, and the next run makes the call again.
 * 6. A gang pool gets all of its nodes or none. No other pool gives up a node for it.
 * 7. What the cloud has no capacity for is requested elsewhere only after its refusal is recorded,
 *    and only as the plan says (RgPlan.capacity). */
#pragma once
#include "plan/event.h"
#include "plan/plan.h"
#include "provider/provider.h"
#include "state/read.h"

typedef struct {
	unsigned parallelism; /* concurrent batches; 0 = 10 */
	/* how long nodes that the cloud has no capacity for are requested again; 0: each candidate
	 * once */
	int64_t capacity_ms;
	/* 0 = continue, 1 = start nothing new and let requests in flight end, 2 = stop now.
	 * Polled. */
	int (*interrupted)(void *data);
	void *interrupted_data;
	void (*event)(void *data, const RgEvent *event);
	void *event_data;
	const char *run; /* id of rg_store_begin_run */
	const char *lineage, *commit;
	/* set of addresses: only these, each removed and created again, whatever the plan does with
	 * it; NULL: the plan's changes */
	GHashTable *again;
	/* set of addresses (rg_address_former): only these old nodes, each removed; NULL: the
	 * plan's changes, and with max_surge no old node is removed */
	GHashTable *formers;
	/* sets of addresses: of the plan's changes only these; all but these. NULL: all */
	GHashTable *only, *later;
	/* set of ids, filled by recovery: what a repeated request returned beyond its open row.
	 * What of these the plan does not know is removed. NULL: it stays, recorded */
	GHashTable *extras;
	const json_t *labels; /* the cluster's labels, for the marks; may be NULL */
	bool force;	      /* updates take over what others own (raygpu/provider.h, update) */
	bool no_wait;	      /* not for nodes to start (raygpu/provider.h, ready) */
} RgApplyOptions;

/* Only the open creations that the plan completes, before it renames pools: their rows have the old
 * addresses. `snapshot` too; `renamed`: char* old address -> char* the plan's. true if none is left
 * open. For rg_apply, which follows, they are records. */
bool rg_apply_recover(RgProvider *provider, RgStore *store, const RgSnapshot *snapshot,
	const RgPlan *plan, const RgApplyOptions *options, GHashTable *renamed,
	RgApplyResult *result, RgDiags *diags);
/* true if all changes of the plan were made. Diagnostics have addresses and the spec's lines. */
bool rg_apply(RgProvider *provider, RgStore *store, const RgSnapshot *snapshot, const RgPlan *plan,
	const RgApplyOptions *options, RgApplyResult *result, RgDiags *diags);
