/* Changes of a state by a run; reading is in read.h, moving records in move.h. All need the lock of
 * the cluster; each is one durable transaction; false: nothing was changed. */
#pragma once
#include "state/read.h"

/* The lock of one cluster: an OS lock on PATH.CLUSTER.lock ends with its holder; the row only
 * describes the holder. Waits up to timeout_ms (0 = once). NULL and state.locked with host, pid,
 * user, command and time of the holder. */
typedef struct RgLock RgLock;
RgLock *rg_lock_take(RgStore *store, const char *cluster, const char *command, unsigned timeout_ms,
	RgDiags *diags);
void rg_lock_release(RgLock *lock);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgLock, rg_lock_release)
/* Polled while rg_lock_take waits: true ends the waiting as if the time were up. */
void rg_store_set_canceled(RgStore *store, bool (*canceled)(void *data), void *data);
/* Called by each rg_lock_take that has to wait, and again after each minute; `holder`: who has the
 * lock, as in the details of state.locked, or NULL if that is unknown; `left_s`: how long it will
 * wait at most. Without a cluster: the server of the state is away, and is looked for again. */
void rg_store_set_waiting(RgStore *store,
	void (*waiting)(void *data, const char *cluster, const char *holder, unsigned left_s),
	void *data);
/* Ends the lock with this id, of a run that is dead: it can write nothing more. *cluster: whose it
 * was (g_free). */
bool rg_store_unlock(RgStore *store, const char *id, char **cluster, RgDiags *diags);
/* Creates the folder of the state at `path` if it is missing, 0700 whatever the umask, with a
 * .gitignore that excludes it from git; errno on false. Opening for writing does this too. */
bool rg_store_make_folder(const char *path);

/* The changes between the two are one transaction, durable when _end returns true: one commit, one
 * round trip. Each of them can fail on its own, with its diagnostics; then, and when _end returns
 * false, none of them was made. */
void rg_store_group_begin(RgStore *store);
bool rg_store_group_end(RgStore *store, RgDiags *diags);

/* The data at the start of a run; NULL keeps the recorded config and facts. meta: {"command",
 * "user", "host", "commit", "author", "dirty", "spec", "digest", "labels" (the spec's, which
 * lifetimes have from now on), ...} */
typedef struct RgRunBegin {
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

/* 32 hex digits: SHA-256 of lineage, addresses in order, generations, attempts, cut to 128 bits. */
char *rg_token(const char *lineage, const char *const *addresses, const int64_t *generations,
	const int64_t *attempts, size_t n);
/* Rule 1: durable before the first request. Returns the row's id. `row->id` is ignored. state.moved
 * if a member is recorded with an id that is not its "gone". */
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
 * reported values, a view that equals the record may be old. `updates`: the most attributes that
 * change of one resource, 0: unknown. rg_store_record clears it. */
bool rg_store_updating(RgStore *store, const char *cluster, const char *const *addresses, size_t n,
	guint updates, RgDiags *diags);
/* Their update was refused, or is not made. */
bool rg_store_not_updating(RgStore *store, const char *cluster, const char *const *addresses,
	size_t n, RgDiags *diags);
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
/* The resources, marked by rg_store_leaving, are gone: rows deleted, ids kept as tombstones,
 * generation advances. state.moved if one is not marked: nobody has asked it to leave. */
bool rg_store_removed(RgStore *store, const char *cluster, const char *const *addresses, size_t n,
	RgDiags *diags);
/* The same for resources that a read of the cloud missed: when they disappeared is unknown.
 * state.moved if another id is recorded: that read says nothing about it. */
typedef struct {
	const char *address, *id;
} RgGone;
bool rg_store_gone(
	RgStore *store, const char *cluster, const RgGone *gone, size_t n, RgDiags *diags);
/* A core resource (raygpu.secret) with its desired attributes: the value is kept in outputs. */
bool rg_store_put_secret(RgStore *store, const char *cluster, const char *address,
	const json_t *attrs, const char *value, RgDiags *diags);
/* From now on exactly these pools (array of names) are protected. Writes nothing if that is already
 * so. */
bool rg_store_protect(RgStore *store, const char *cluster, const json_t *pools, RgDiags *diags);
/* All secrets of the cluster are sealed with the current key, in one transaction; `open`: none is
 * sealed any more. *n: of how many values that was not so. */
bool rg_store_rekey(RgStore *store, const char *cluster, bool open, size_t *n, RgDiags *diags);
