/* What a spec states beside its nodes: `renamed_from`, `imports`, `removed`, `protect`, `expires`,
 * `enabled`; and names that are taken. Each is one file: what it changes in the snapshot that is
 * planned from, what it finds in the finished diff, and what the run writes. No step of the
 * pipeline is called from here. */
#pragma once
#include "diff/drift.h"
#include "intent/lease.h"
#include "intent/readdress.h"
#include "plan/plan.h"
#include "provider/provider.h"
#include "spec/cluster.h"

/* RgSnapshot.lineage of a cluster that the state does not have yet, once resources are imported:
 * nothing carries it, so the cloud is read only by known ids. No plan contains it. */
#define RG_NO_LINEAGE "00000000000000000000000000000000"

/* What they look at. Borrowed; NULL: none, or not known yet. */
typedef struct {
	RgCluster *cluster; /* NULL: only the state */
	RgSnapshot *snapshot;
	RgProvider *provider;
	const RgResourceSet *desired, *observed;
	const RgDiff *diff;
	const RgPlan *plan;
	/* what the verbs have returned */
	const json_t *renames, *leases;
	GPtrArray *moves, *importing, *imported;
	GPtrArray *strangers;  /* RgResource*: with the cluster's name, created by another state */
	bool destroy, looking; /* RgDiffOptions */
} RgIntent;

/* rename.c. Renames pools in the snapshot, as the spec requests it: *renames is [{"from", "to"}],
 * *moves are the RgMoves* (NULL: there are none). False with plan.bad-rename or state.moved. */
bool rg_intent_rename_pools(
	const RgIntent *intent, json_t **renames, GPtrArray **moves, RgDiags *diags);
/* The same as a plan says. */
bool rg_intent_rename(
	const RgIntent *intent, const json_t *renames, GPtrArray **moves, RgDiags *diags);
/* char* former address -> char* the new one, of all `moves`; borrowed texts. */
GHashTable *rg_intent_renamed(const GPtrArray *moves);
/* false: the plan excludes a creation that must end before the renames; plan.bad-rename. */
bool rg_intent_check_renamed(const RgIntent *intent, RgDiags *diags);
/* Writes it to the state, in a run, when no creation of the pools is open any more. */
bool rg_intent_store_renames(const RgIntent *intent, RgStore *store, RgDiags *diags);

/* once.c. Whether the spec has lines that act once: `renamed_from`, `imports`, `removed`. */
bool rg_intent_acts_once(const RgCluster *cluster);
/* A note for each of them that has done its work in the cluster as recorded. Pure. */
void rg_intent_tell_spent(const RgCluster *cluster, const RgSnapshot *snapshot, RgDiags *diags);

/* removed.c. The entry of a pool that is forgotten; NULL: it is none. */
const RgSpecRemoved *rg_intent_find_removed(const RgCluster *cluster, const char *pool);
/* RgRelease of all of them. */
GArray *rg_intent_releases(const RgCluster *cluster);
/* False with plan.bad-removed if one of them cannot be forgotten. */
bool rg_intent_check_removed(const RgIntent *intent, RgProviderHost *providers, RgDiags *diags);
/* plan.forgotten and plan.still-used, for a finished diff. */
void rg_intent_notice_removed(const RgIntent *intent, RgDiags *diags);

/* imports.c. The entries of `imports` (const RgSpecImport*) that are not recorded yet, NULL without
 * any; a note for each other one. */
GPtrArray *rg_intent_find_imports(const RgIntent *intent, RgDiags *diags);
/* For a run that only looks: "kind id" of those, which are then not unmanaged; a new set or NULL.
 */
GHashTable *rg_intent_awaited(const RgIntent *intent);
/* The imported records for the plan (RgPlanInput.imports); a new reference, NULL without any. */
json_t *rg_intent_describe_imports(const RgIntent *intent);
/* Adds the records that a saved plan imports to the snapshot, and to *imported; false with
 * plan.stale and others. */
bool rg_intent_import_saved(const RgIntent *intent, RgStore *store, const RgPlan *plan,
	GPtrArray **imported, RgDiags *diags);
/* Writes them to the state, in a run. */
bool rg_intent_store_imports(const RgIntent *intent, RgStore *store, RgDiags *diags);

/* kept.c. What the state keeps of pools that are or were disabled (fit.h); a new reference. */
json_t *rg_intent_kept(const RgCluster *cluster, const RgSnapshot *snapshot);
/* What it must keep after the plan, from the pins; a new reference, NULL: nothing. */
json_t *rg_intent_keep(const RgCluster *cluster, const json_t *pins);

/* taken.c. Recorded ones: the cluster is this state's. */
bool rg_intent_has_nodes(const RgIntent *intent);
/* plan.name-taken if there are strangers: false if a cluster without a node would be created in
 * addition to them (assumed without a diff), or one without any record be removed, else a warning.
 * `state`: its path. */
bool rg_intent_check_name(const RgIntent *intent, const char *state, RgDiags *diags);

/* protect.c. plan.protected for each pool that the diff would remove nodes from, despite its
 * protection. */
void rg_intent_check_protection(const RgIntent *intent, RgDiags *diags);
/* The pools that the state must protect; NULL if there are and were none. *changes: the differences
 * from the current state (RgPlan.protection), or NULL. */
json_t *rg_intent_protected_pools(const RgIntent *intent, json_t **changes);

/* lease.c. The ends of the spec's leases, as the facts record them; *leases is NULL without any.
 * False with spec.conflict. Needs the snapshot and the renames. */
bool rg_intent_settle_leases(const RgIntent *intent, json_t **leases, RgDiags *diags);
/* Disables the pools whose own lease has ended; not protected ones, which outlive it. */
void rg_intent_end_pools(const RgIntent *intent);
/* RgPlan.leases; a new reference, NULL: none. */
json_t *rg_intent_lease_changes(const RgIntent *intent);
/* Into the nodes of the fitted document. */
void rg_intent_set_expiries(const RgIntent *intent, json_t *fitted);
/* lease_check.c. plan.lease-ends and plan.lease-ended; false: the plan must not be carried out.
 * `cluster`: for the lines, may be NULL; `looking`: nothing is refused. */
bool rg_intent_check_leases(const RgPlan *plan, const RgSchema *schema, const json_t *leases,
	const RgCluster *cluster, bool looking, RgDiags *diags);
/* For `drift`: drops the nodes that are gone, off or do not work because their lease has ended. */
void rg_intent_leave_ended(
	const RgSnapshot *snapshot, const json_t *leases, const RgSchema *schema, RgDrift *drift);
