/* After apply: waits until the nodes that were made have joined Ray, and records it. One look costs
 * one call, whatever the size of the cluster: the head repeats on its console what its Ray sees
 * (console.h). The console of another node is read only when the head misses it past its usual
 * time. The caller's thread, which holds the cluster's lock. */
#pragma once
#include "provider/provider.h"
#include "ready/view.h"
#include "state/read.h"

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

/* Nodes that run in the cloud, but are not what they should be by now: no members of Ray, or others
 * than planned. */
typedef struct {
	const RgResource *record; /* borrowed */
	char *reason;		  /* completes "ADDRESS": "runs, but ..." */
	bool strangers;		  /* the record is the head: what it sees is not its own fault */
} RgUnjoined;
typedef struct {
	RgProvider *provider;
	const RgSnapshot *snapshot;
	const RgResourceSet *observed;
	const GPtrArray *unmanaged; /* RgResource*: with the cluster's marks, but not recorded */
	const json_t *lifetimes;    /* rg_store_lifetimes: also of nodes that were given up */
	const json_t *timeouts_s;   /* as RgReadyOptions has them */
} RgReadyCheck;
/* RgUnjoined*; nothing about Ray when the head says nothing, which is not a finding. Of several
 * about one node the first counts, and `strangers` beside it. Two reading calls: that of "health"
 * and one console. `seen`, a new reference: {"at_s": when the head listed its members,
 * "ray_version" (both null: not known), "demand": {"at_s", "requests": tasks and actors that wait,
 * "groups": placement groups that wait, "shapes": [{"count", "resources"}] of the most frequent
 * requests} or null, "pools":
 * [{"pool", "running": nodes that the cloud shows, "gpus": that the recorded ones should have,
 * "joined": of those that run members of Ray, "gpus_in_ray" (both null: not known), "drivers":
 * [text]}]}, in the order of the records; later lists of an old head are as good as none. May be
 * NULL. */
GPtrArray *rg_ready_check(const RgReadyCheck *check, json_t **seen, RgDiags *diags);
/* What the cloud's groups have launched for elastic pools (rg_provider_members), a new reference;
 * empty if the module does not report them. What can't be asked is a note. */
json_t *rg_ready_groups(const RgReadyCheck *check, RgDiags *diags);
/* If the cloud refuses what the group lacks: why, which completes "ADDRESS", g_free; else NULL. */
char *rg_ready_short_group(const json_t *group);
