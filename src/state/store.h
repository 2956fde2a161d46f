/* The state store: a SQLite file that several clusters may share. Small transactions, one thread.
 * Rules 1 to 5 of apply/apply.h depend on it. Read-only handles never write, lock or migrate the
 * file. Times are Unix seconds. */
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

/* `place`: see above. READ: a missing file is an empty state, an older schema is migrated in
 * memory. WRITE: creates folder and file (0600), migrates in the file (after copying it to
 * PATH.vN.bak). NULL and state.* diagnostics. */
RgStore *rg_store_open(const char *place, RgStoreMode mode, RgDiags *diags);
/* The same, also for the URLs of stores of objects. */
RgStore *rg_store_open_in(
	const RgObjectStores *stores, const char *place, RgStoreMode mode, RgDiags *diags);
void rg_store_close(RgStore *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgStore, rg_store_close)
/* Creates the folder of the state at `path` if it is missing, 0700 whatever the umask, with a
 * .gitignore that excludes it from git; errno on false. Opening for writing does this too. */
bool rg_store_make_folder(const char *path);
/* Ends the lock with this id, of a run that is dead: it can write nothing more. *cluster: whose it
 * was (g_free). */
bool rg_store_unlock(RgStore *store, const char *id, char **cluster, RgDiags *diags);
/* Borrowed, and NULL without this: secrets are sealed with the first one, and read with any. */
void rg_store_set_keys(RgStore *store, const RgKeys *keys);
/* Polled while rg_lock_take waits: true ends the waiting as if the time were up. */
void rg_store_set_canceled(RgStore *store, bool (*canceled)(void *data), void *data);
/* Called once by each rg_lock_take that has to wait; `holder`: who has the lock, as in the details
 * of state.locked, or NULL if that is unknown. */
void rg_store_set_waiting(RgStore *store,
	void (*waiting)(void *data, const char *cluster, const char *holder), void *data);

/* The lock of one cluster: an OS lock on PATH.CLUSTER.lock ends with its holder; the row only
 * describes the holder. Waits up to timeout_ms (0 = once). NULL and state.locked with host, pid,
 * user, command and time of the holder. */
typedef struct RgLock RgLock;
RgLock *rg_lock_take(RgStore *store, const char *cluster, const char *command, unsigned timeout_ms,
	RgDiags *diags);
void rg_lock_release(RgLock *lock);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgLock, rg_lock_release)

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
			  *   "depends_on"}]: future content of `resources` */
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
	GHashTable *tombstones;	 /* char* id -> itself: removed less than an hour ago */
	/* GPUs that failed in the last RG_HARDWARE_DAYS days, the first one first: [{"gpu": its
	 * UUID, "id": of the machine, "address", "serial", "instance_type", "zone", "code": exit
	 * status of its script, "run" (each of these may be null), "reason", "failed_s"}]; a GPU
	 * that came back on another machine has a row for each */
	json_t *hardware;
	/* the fingerprint of a key that was not given: values of secrets are objects that only say
	 * that there is one, and inputs of open creations are empty; NULL: everything is here */
	char *sealed;
} RgSnapshot;
void rg_snapshot_free(RgSnapshot *snapshot);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgSnapshot, rg_snapshot_free)

/* Never NULL unless the file is broken; an unknown cluster gives an empty snapshot. */
RgSnapshot *rg_store_load(RgStore *store, const char *cluster, RgDiags *diags);
/* Whether secrets of it are sealed: then an error says that `what` needs them. */
bool rg_snapshot_refuse_sealed(const RgSnapshot *snapshot, const char *what, RgDiags *diags);
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

/* ---- writing; all need the lock; each is one durable transaction; false = nothing was changed */

/* The changes between the two are one transaction, durable when _end returns true: one commit, one
 * round trip. Each of them can fail on its own, with its diagnostics; then, and when _end returns
 * false, none of them was made. */
void rg_store_group_begin(RgStore *store);
bool rg_store_group_end(RgStore *store, RgDiags *diags);

/* The data at the start of a run; NULL keeps the recorded config and facts. meta: {"command",
 * "user", "host", "commit", "author", "dirty", "spec", "digest", "labels" (the spec's, which
 * lifetimes have from now on), ...} */
typedef struct {
	const char *cluster, *provider, *region;
	const json_t *config, *facts, *meta;
	const char *account; /* of the credentials; NULL keeps what is recorded */
} RgRunBegin;
/* Makes sure the cluster's row exists; generates the lineage the first time. */
bool rg_store_begin_run(
	RgStore *store, const RgRunBegin *begin, char **run_id, char **lineage, RgDiags *diags);
bool rg_store_end_run(RgStore *store, const char *run_id,
	const char *outcome
	/* "done", "partial", "failed", "interrupted" */,
	RgDiags *diags);

/* Generation and attempt of an address for its next create: {generation, attempt}. */
bool rg_store_identity(RgStore *store, const char *cluster, const char *address,
	int64_t *generation, int64_t *attempt, RgDiags *diags);
/* The same for n addresses in one reading transaction; outputs are set only if true. */
bool rg_store_identities(RgStore *store, const char *cluster, const char *const *addresses,
	size_t n, int64_t *generations, int64_t *attempts, RgDiags *diags);

/* Rule 1: durable before the first request. Returns the row's id. `row->id` is ignored. */
bool rg_store_journal_open(RgStore *store, const char *cluster, const RgJournalRow *row,
	int64_t *row_id, RgDiags *diags);

/* The result for one member when its batch ended. */
typedef struct {
	const char *address;
	bool created;	/* false: it certainly was not created: its attempt advances */
	const char *id; /* when created */
	const json_t *outputs;
} RgMemberOutcome;
/* Rule 2: outcome and attributes in one transaction. Named members are settled; the row is closed
 * when all are. Members with an unknown outcome are left out and keep the row open. */
bool rg_store_journal_settle(RgStore *store, const char *cluster, int64_t row_id,
	const RgMemberOutcome *outcomes, size_t n, RgDiags *diags);

/* A resource was updated in the cloud, or the state learns its values: attrs and outputs (NULL =
 * leave), updated_s = now. */
bool rg_store_record(RgStore *store, const char *cluster, const char *address, const json_t *attrs,
	const json_t *outputs, const json_t *pin, RgDiags *diags);
/* The same for many in one transaction. Only those with attrs are changes: outputs alone are
 * information for the state, without a log line of the run. */
typedef struct {
	const char *address;
	const json_t *attrs, *outputs, *pin;
} RgRecordNews;
bool rg_store_record_many(
	RgStore *store, const char *cluster, const RgRecordNews *news, size_t n, RgDiags *diags);
/* An observed resource without a record gets one (adopt, recovered by find). */
bool rg_store_adopt(
	RgStore *store, const char *cluster, const RgResource *resource, RgDiags *diags);
/* Before the first request that removes them (and, with false, if it was definitely refused): a
 * cloud may still show removed resources for a while, so after a crash neither presence nor absence
 * in a list can be trusted. One transaction; unknown addresses are skipped. */
bool rg_store_leaving(RgStore *store, const char *cluster, const char *const *addresses, size_t n,
	bool leaving, RgDiags *diags);
/* The same before the first request that changes them in place: until the cloud must show the last
 * reported values, a view that equals the record may be old. rg_store_record clears it. */
bool rg_store_updating(RgStore *store, const char *cluster, const char *const *addresses, size_t n,
	bool updating, RgDiags *diags);
/* These nodes joined Ray, as in RgResource.joined; this is not a change of the resource. Their
 * machines have no bad GPU any more. */
typedef struct {
	const char *address;
	const json_t *what;
} RgJoined;
bool rg_store_joined(
	RgStore *store, const char *cluster, const RgJoined *joined, size_t n, RgDiags *diags);
/* GPUs failed on machines: rows of RgSnapshot.hardware without run and time. */
bool rg_store_hardware_failed(
	RgStore *store, const char *cluster, const json_t *rows, RgDiags *diags);
/* Forgets a GPU, by its UUID or serial number. */
bool rg_store_hardware_forget(RgStore *store, const char *cluster, const char *gpu, RgDiags *diags);
/* The resources are gone: rows deleted, ids kept as tombstones, generation advances. */
bool rg_store_removed(RgStore *store, const char *cluster, const char *const *addresses, size_t n,
	RgDiags *diags);
/* The same for resources that were found missing: when they disappeared is unknown. */
bool rg_store_gone(RgStore *store, const char *cluster, const char *const *addresses, size_t n,
	RgDiags *diags);
/* A core resource (raygpu.secret) with its desired attributes: the value is kept in outputs. */
bool rg_store_put_secret(RgStore *store, const char *cluster, const char *address,
	const json_t *attrs, const char *value, RgDiags *diags);
/* All secrets of the cluster are sealed with the current key, in one transaction; `open`: none is
 * sealed any more. *n: of how many values that was not so. */
bool rg_store_rekey(RgStore *store, const char *cluster, bool open, size_t *n, RgDiags *diags);
/* `state rm`: forgets the record, does not touch the cloud. */
bool rg_store_forget(RgStore *store, const char *cluster, const char *address, RgDiags *diags);

/* The address and cluster under which the file records this resource ("cloud.node.a[0] of cluster
 * c"), g_free it; NULL: none, or diagnostics. Reads only. */
char *rg_store_find_holder(RgStore *store, const char *provider, const char *region,
	const char *kind, const char *id, RgDiags *diags);
/* `import`: existing resources (RgResource*, borrowed) become records, all or none, with ownership
 * "adopted"; state.moved if an address is taken. */
bool rg_store_import(RgStore *store, const char *cluster, const GPtrArray *records, RgDiags *diags);
/* `state mv`: records get other addresses of the same kind, all or none; the marks in the cloud are
 * left to the next apply. state.moved if an address is taken, or one's creation or removal is
 * open. */
typedef struct {
	const char *from, *to;
	const char *group;  /* the new one, or NULL */
	const char *origin; /* into the spec, or NULL */
	const json_t *pin;  /* NULL: unchanged */
} RgMove;
/* References in a record to others and to its pool, with the addresses after the moves; this is not
 * an update of the resource. NULL: unchanged. */
typedef struct {
	const char *address;
	const json_t *attrs, *depends_on;
} RgMoveEdit;
bool rg_store_move(RgStore *store, const char *cluster, const RgMove *moves, size_t n,
	const RgMoveEdit *edits, size_t n_edits, RgDiags *diags);
/* From now on exactly these pools (array of names) are protected. Writes nothing if that is already
 * so. */
bool rg_store_protect(RgStore *store, const char *cluster, const json_t *pools, RgDiags *diags);

/* `state rebuild`: a cluster that the state does not have, from the cloud's marks. All borrowed. */
typedef struct {
	const char *cluster, *lineage, *provider, *region, *account;
	const json_t *config, *facts;
	const json_t *labels;		/* the spec's, for `raygpu cost --by label:KEY` */
	const RgResourceSet *resources; /* future records, including secrets */
	const RgResourceSet *desired;	/* that may be created: no old token comes back */
} RgRebuilt;
bool rg_store_rebuild(RgStore *store, const RgRebuilt *rebuilt, RgDiags *diags);

/* 32 hex digits: SHA-256 of lineage, addresses in order, generations, attempts, cut to 128 bits. */
char *rg_token(const char *lineage, const char *const *addresses, const int64_t *generations,
	const int64_t *attempts, size_t n);
