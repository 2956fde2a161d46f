/* The state store: a SQLite file that several clusters may share. Small transactions, one thread.
 * Rules 1 to 5 of apply/apply.h depend on it. Read-only handles never write, lock or migrate the
 * file. Times are Unix seconds. This header opens and reads; write.h and move.h change, and lint
 * has the folders that may include them. */
#pragma once
#include "resource/resource.h"
#include "seal/seal.h"

typedef struct RgStore RgStore;
typedef struct RgObjectStores RgObjectStores; /* remote/objects.h */

typedef enum { RG_STORE_READ, RG_STORE_WRITE } RgStoreMode;

/* A place is the path of a file, or the URL of a store elsewhere (postgres://...). The name to
 * print, log and plan with, without user, password and options; g_free it. */
char *rg_store_shown(const char *place);
bool rg_store_is_file(const char *place);
/* Whether its URL has one. It is registered with rg_redact_add. */
bool rg_store_has_password(const char *place);
/* A parameter of its URL, g_free it; NULL: there is none. */
char *rg_store_parameter(const char *place, const char *name);
/* "NAME=VALUE" of its URL that only who runs the command may give: TLS without a verified server,
 * unless that is this machine, and files and services that credentials come from; or what makes its
 * host unclear. g_free it. */
char *rg_store_weakness(const char *place);

/* `place`: see above. READ: a missing file is an empty state, an older schema is migrated in
 * memory. WRITE: creates folder and file (0600), migrates in the file (after copying it to
 * PATH.vN.bak). NULL and state.* diagnostics. */
RgStore *rg_store_open(const char *place, RgStoreMode mode, RgDiags *diags);
/* The same, also for the URLs of stores of objects. */
RgStore *rg_store_open_in(
	const RgObjectStores *stores, const char *place, RgStoreMode mode, RgDiags *diags);
void rg_store_close(RgStore *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgStore, rg_store_close)
/* Borrowed, and NULL without this: secrets are sealed with the first one, and read with any. */
void rg_store_set_keys(RgStore *store, const RgKeys *keys);
/* Name and version of the library behind it. */
const char *rg_store_library(void);

/* The lock as it is, without taking it. */
typedef enum {
	RG_LOCK_STATE_FREE,
	RG_LOCK_STATE_HELD,
	RG_LOCK_STATE_LEFT,    /* by a run that died; the next one takes it over */
	RG_LOCK_STATE_UNKNOWN, /* the store does not show it */
} RgLockState;
typedef struct {
	RgLockState state;
	char *holder; /* "user@host, process 12: raygpu apply, since ...", NULL: nobody or unknown
		       */
	char *id;     /* what `state unlock` takes; NULL: the lock has none */
} RgLockView;
void rg_lock_view_clear(RgLockView *view);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RgLockView, rg_lock_view_clear)
/* false and diagnostics: it could not be read. */
bool rg_lock_look(RgStore *store, const char *cluster, RgLockView *view, RgDiags *diags);

/* One open journal row: a create whose outcome is unknown. */
typedef struct {
	int64_t id;
	char *run, *kind, *token;
	json_t *input;	 /* the whole `create` input as sent (provider.h), references resolved:
			    contains secrets, passed only to the provider */
	json_t *members; /* [{"address","index","attempt","generation","attrs" (unresolved),"pin",
			  *   "depends_on"}]: future content of `resources`; for
			  *   rg_store_journal_open also "gone": the recorded id that a read of the
			  *   cloud missed */
	int64_t started_s;
} RgJournalRow;
void rg_journal_row_free(RgJournalRow *row);

/* Clouds repair a machine, or stop using it, within days to weeks. */
#define RG_HARDWARE_DAYS 30

/* Everything about one cluster that a plan needs, read in one transaction. */
typedef struct {
	char *cluster;
	char *lineage;	/* 32 hex digits; NULL before the first apply */
	int64_t serial; /* increases with every change of this cluster's rows; 0 before the first */
	char *provider, *region; /* NULL before the first apply */
	char *account;		 /* the account that owns the resources; NULL: unknown */
	json_t *config;		 /* provider settings of the last apply */
	json_t *facts;		 /* last facts document, or NULL */
	RgResourceSet *recorded; /* READY rows as PRESENT, members of open rows as RG_PENDING */
	GPtrArray *journal;	 /* RgJournalRow* */
	GHashTable *tombstones;	 /* char* id -> int64_t*: when it was removed, in the last hour */
	/* GPUs that failed in the last RG_HARDWARE_DAYS days, the first one first: [{"gpu": its
	 * UUID, "id": of the machine, "address", "serial", "instance_type", "zone", "code": exit
	 * status of its script, "run" (each of these may be null), "reason", "failed_s"}]; a GPU
	 * that came back on another machine has a row for each */
	json_t *hardware;
	/* the fingerprint of a key that was not given: values of secrets are objects that only say
	 * that there is one, and inputs of open creations are empty; NULL: everything is here */
	char *sealed;
	size_t clear; /* values of secrets in clear text, although a key that seals is given */
} RgSnapshot;
void rg_snapshot_free(RgSnapshot *snapshot);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgSnapshot, rg_snapshot_free)

/* Of a cluster of which nothing is recorded. */
RgSnapshot *rg_snapshot_new(const char *cluster);
/* Never NULL unless the file is broken; an unknown cluster gives an empty snapshot. */
RgSnapshot *rg_store_load(RgStore *store, const char *cluster, RgDiags *diags);
/* Whether secrets of it are sealed: then an error says that `what` needs them. */
bool rg_snapshot_refuse_sealed(const RgSnapshot *snapshot, const char *what, RgDiags *diags);
/* The same for a run that sends secrets to a cloud or records them: also if a key is given and some
 * are in clear text, which anyone who can write to the state may have put there. */
bool rg_snapshot_refuse_secrets(const RgSnapshot *snapshot, const char *what, RgDiags *diags);
/* Pins for fit (src/fit/fit.h) from a snapshot: {"facts", "nodes"}; new reference. */
json_t *rg_snapshot_pins(const RgSnapshot *snapshot);
/* Adds the pin of a node that has no record. */
void rg_pins_add(json_t *pins, const RgResource *resource);
GStrv rg_store_clusters(RgStore *store, RgDiags *diags); /* names, sorted; g_strfreev */
/* Of one cluster, or NULL: of all. Newest first: [{"id", "cluster", "started_s", "ended_s",
 * "outcome" (both null while it runs, or if it was killed and none came after it), all of
 * begin_run's meta, "changes": {"create": n, "failed": n}}] */
json_t *rg_store_runs(RgStore *store, const char *cluster, RgDiags *diags);
/* [{"address", "action": "create" | "update" | "delete" | "adopt" | "forget" | "import" | "move",
 * "outcome": "done" | "failed", "at_s",
 * "node" (of a node's create: "instance_type", "zone", "market")}] in the order in which they
 * ended. */
json_t *rg_store_run_changes(RgStore *store, const char *run_id, RgDiags *diags);

/* The costs of each node over time, in the order of their start, for all that existed after
 * `since_s`: [{"cluster", "address", "pool", "id", "pin" (fit.h), "labels" (the spec's, at that
 * time), "began_s", "ended_s" (null: it exists), "ending": null | "removed" | "gone" (found missing
 * then) | "forgotten" (it may still run) | "repriced" | "relabelled" (it continues in another)}] */
json_t *rg_store_lifetimes(RgStore *store, const char *cluster, int64_t since_s, RgDiags *diags);
/* Since when the lifetimes are complete: before, only of what still existed then. 0: always. */
bool rg_store_history_from(RgStore *store, const char *cluster, int64_t *from_s, RgDiags *diags);

/* Generation and attempt of an address for its next create: {generation, attempt}. */
bool rg_store_identity(RgStore *store, const char *cluster, const char *address,
	int64_t *generation, int64_t *attempt, RgDiags *diags);
/* The same for n addresses in one reading transaction; outputs are set only if true. */
bool rg_store_identities(RgStore *store, const char *cluster, const char *const *addresses,
	size_t n, int64_t *generations, int64_t *attempts, RgDiags *diags);

/* The address and cluster under which the file records this resource ("cloud.node.a[0] of cluster
 * c"), g_free it; NULL: none, or diagnostics. Reads only. */
char *rg_store_find_holder(RgStore *store, const char *provider, const char *region,
	const char *kind, const char *id, RgDiags *diags);
