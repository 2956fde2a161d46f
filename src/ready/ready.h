/* After apply: waits until the nodes that were made have joined Ray, and records it. One look costs
 * one call, whatever the size of the cluster: the head repeats on its console what its Ray sees
 * (console.h). The console of another node is read only when the head misses it past its usual
 * time. The caller's thread, which holds the cluster's lock. */
#pragma once
#include "provider/provider.h"
#include "ready/view.h"
#include "state/store.h"

/* Of a pool without `ready_timeout`: a large image on a machine with eight GPUs takes ten minutes.
 */
#define RG_READY_TIMEOUT_S 1200

typedef struct {
	const json_t *timeouts_s;	/* {pool: seconds}, of those that have one; may be NULL */
	unsigned max_replacements;	/* nodes that a run may replace because they do not join */
	GHashTable *failed;		/* addresses that are not awaited; may be NULL */
	int (*interrupted)(void *data); /* as RgApplyOptions has it; may be NULL */
	void *interrupted_data;
	void (*event)(void *data, const RgReadyEvent *event); /* may be NULL */
	void *event_data;
} RgReadyOptions;

/* Nodes of this provider report on their consoles what they do: they boot by cloud_init, and the
 * module can read consoles. */
bool rg_ready_reports(const RgProvider *provider);

/* The nodes of the cluster that no apply saw join yet (RgResource.joined), each until its time is
 * over, counted from its creation: a kill -9 loses nothing, and an apply after that time looks
 * once. false when one failed, with ready.* diagnostics, or the state can't be written. Without the
 * nodes' reports (rg_ready_reports) nothing is awaited. Fills `result`; clear it. */
bool rg_ready_wait(RgProvider *provider, RgStore *store, const char *cluster,
	const RgReadyOptions *options, RgReadyResult *result, RgDiags *diags);

/* Nodes that run in the cloud, and should be members of Ray by now, but are not. */
typedef struct {
	const RgResource *record; /* borrowed */
	char *reason;		  /* completes "ADDRESS": "runs, but ..." */
} RgUnjoined;
typedef struct {
	RgProvider *provider;
	const RgResourceSet *recorded, *observed;
	const json_t *timeouts_s; /* as RgReadyOptions has them */
	const json_t *hardware;	  /* RgSnapshot.hardware */
} RgReadyCheck;
/* RgUnjoined*; nothing about Ray when the head says nothing, which is not a finding. Of several
 * about one node the first counts. Two reading calls: that of "health" and one console. */
GPtrArray *rg_ready_check(const RgReadyCheck *check, RgDiags *diags);
