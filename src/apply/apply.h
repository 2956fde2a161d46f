/* plan -> clouds, with the state written as each batch ends. One thread (the caller's) touches the
 * store; worker threads make the provider's calls. Prints nothing: emits events, from the caller's
 * thread only. These rules hold at every instant and under kill -9:
 * 1. The journal row of a create (token, members, all inputs) is durable before its first request.
 * 2. The outcome and the attributes are written in one transaction as each batch ends.
 * 3. The next run sends open rows again, with the same token and inputs, and records what it gets
 *    or deletes it: no orphan, no duplicate.
 * 4. Only one thread touches the store. A failed change blocks its dependents only.
 * 5. After a signal nothing new starts. Requests in flight may end, for 4.5 s; what has not
 *    answered by then is left to its journal row. A second signal stops at once. What is pending is
 *    left as it is: its record says that it was begun, and the next run makes the call again.
 * 6. A gang pool gets all of its nodes or none. No other pool gives up a node for it. */
#pragma once
#include "plan/event.h"
#include "plan/plan.h"
#include "provider/provider.h"
#include "state/store.h"

typedef struct {
	unsigned parallelism; /* batches at a time; 0 = 10 */
	/* 0 = go on, 1 = start nothing new and let requests in flight end, 2 = stop now. Polled. */
	int (*interrupted)(void *data);
	void *interrupted_data;
	void (*event)(void *data, const RgEvent *event);
	void *event_data;
	const char *run; /* id of rg_store_begin_run */
	const char *lineage, *commit;
	const json_t *labels; /* the cluster's labels, for the marks; may be NULL */
} RgApplyOptions;

/* true when all changes of the plan were done. Diagnostics carry addresses and the spec's lines. */
bool rg_apply(RgProvider *provider, RgStore *store, const RgSnapshot *snapshot, const RgPlan *plan,
	const RgApplyOptions *options, RgApplyResult *result, RgDiags *diags);
