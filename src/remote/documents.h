/* A store of documents: each cluster is a snapshot (compressed JSON) and the changes since. Private
 * to this folder; README.md has the objects and the rules. */
#pragma once
#include "remote/common.h"
#include "remote/objects.h"
#include <pthread.h>

#define DOC_FORMAT 1
#define DOC_SNAPSHOT "snapshot"
#define DOC_CHANGE "change"
#define DOC_HISTORY "history"
#define DOC_PENDING_MAX 128 /* changes without a snapshot, then a run makes one on its way */
#define DOC_FENCES_MAX 100
#define DOC_CHUNKS_MAX 16 /* parts of the history, then they become one */

/* ---- documents_rows.c: rows as JSON */

typedef struct DocModel DocModel; /* rows of a cluster by table and key */
DocModel *doc_model_new(void);
void doc_model_free(DocModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DocModel, doc_model_free)
/* Applies what a snapshot or a change has. *strange: it changes a row that the model lacks. False:
 * it is not what raygpu writes. */
bool doc_model_apply(DocModel *model, const json_t *document, bool *strange);
/* The member "rows" of a change; those of one cluster. */
json_t *doc_rows_of_commit(const RgCommit *commit, const RgGuard *guard);
/* The member "rows" with the rows of one part. */
json_t *doc_rows_of_model(const DocModel *model, RgPart part);
bool doc_model_has(const DocModel *model, RgPart part);
/* Passes rows on; false: `row` refused one. */
bool doc_model_emit(const DocModel *model, const RgShape *const *shapes, size_t n, unsigned parts,
	RgRemoteRow row, void *data);
/* A cell of the only row of table "clusters", as JSON; NULL: none. */
const json_t *doc_model_cluster(const DocModel *model, const char *column);

/* ---- a cluster as it is kept */

typedef struct {
	char *name;
	int64_t id, serial;  /* 0: nothing was ever written */
	uint64_t base, last; /* numbers of the snapshot and of the newest change; 0: none */
	json_t *snapshot;    /* parsed, until end; NULL: there is none, or `bytes` has it */
	GBytes *bytes;	     /* compressed */
	GPtrArray *changes;  /* GBytes*, compressed, base+1 .. last */
	json_t *fences;	     /* numbers: see doc_fence */
	int64_t ids;	     /* greater than all row ids */
} DocCluster;

/* documents_lease.c: keeps a lock ours. */
typedef struct DocLease DocLease;

struct RgRemote {
	RgObjects *objects;
	char *shown;
	bool writes, probed;
	int64_t tables; /* their version, if they are still to be written; else 0 */
	bool (*canceled)(void *data);
	void *data;
	GHashTable *clusters; /* char* -> DocCluster* */
	GHashTable *leases;   /* char* cluster -> DocLease* */
	int64_t ids;	      /* the end of the last block that doc_ids gave */
	GPtrArray *names;     /* all objects, if the listing is fresh; else NULL */
	json_t *held;	      /* the lock that was not free */
	int64_t held_age_s;
};

/* documents_cluster.c */
GHashTable *doc_clusters_new(void);			     /* char* -> DocCluster* */
DocCluster *doc_cluster(RgRemote *remote, const char *name); /* creates it */
bool doc_corrupt(const RgRemote *remote, const char *object, RgDiags *diags);

/* documents_tables.c */
bool doc_tables(RgRemote *remote, int64_t *version, char **moved_to, RgDiags *diags);
bool doc_migrate(RgRemote *remote, int64_t version, RgDiags *diags);
bool doc_mark_moved(RgRemote *remote, const char *to, RgDiags *diags);
/* Writes the version of its tables unless it is there. */
bool doc_write_tables(RgRemote *remote, RgDiags *diags);

/* documents_names.c: g_free. */
char *doc_folder(const char *cluster);
char *doc_name(const char *cluster, const char *what, uint64_t number);
char *doc_lock_name(const char *cluster);
/* Of an object's name: the cluster (g_free), and number and kind, NULL for the lock; NULL: it is
 * none of ours. */
char *doc_parse_name(const char *object, uint64_t *number, const char **what);

/* documents_fetch.c */
/* NULL and *absent, or diagnostics. */
json_t *doc_get(RgRemote *remote, const char *name, GBytes **bytes, bool *absent, RgDiags *diags);
json_t *doc_parse(const RgRemote *remote, const char *name, GBytes *bytes, RgDiags *diags);
GBytes *doc_pack(json_t *document); /* steals it */
bool doc_list(RgRemote *remote, const char *prefix, GPtrArray **names, RgDiags *diags);
/* What is newest, of one cluster, or all (NULL). */
bool doc_refresh(RgRemote *remote, const char *cluster, RgDiags *diags);
/* The numbers of a cluster's snapshot and newest change in a listing. */
void doc_newest(const GPtrArray *names, const char *cluster, uint64_t *base, uint64_t *last);
/* All rows; `history`: also those in the parts of the history. NULL with *absent or
 * diagnostics. */
DocModel *doc_build(RgRemote *remote, DocCluster *cluster, bool history, bool *strange,
	bool *absent, RgDiags *diags);

/* documents_together.c: each of 0 .. n-1, some at a time, on any thread. */
typedef void (*DocEach)(void *data, guint i);
void doc_together(const RgRemote *remote, guint n, DocEach each, void *data);

/* documents_compact.c: a snapshot of what there is; best effort. */
void doc_compact(RgRemote *remote, DocCluster *cluster);

/* documents_commit.c */
bool doc_ids(RgRemote *remote, int64_t *first, RgDiags *diags);
bool doc_commit(RgRemote *remote, const RgCommit *commit, bool *unknown, RgDiags *diags);
/* A change without rows takes the next number, which a run that has lost its lock would write next:
 * from now on it can write nothing. Never deleted: that run may be stopped, not dead. */
bool doc_fence(RgRemote *remote, const char *cluster, RgDiags *diags);

/* documents_lock.c */
RgLockResult doc_lock(
	RgRemote *remote, const char *cluster, const RgHolder *holder, RgDiags *diags);
void doc_holder(RgRemote *remote, const char *cluster,
	void (*told)(void *data, const RgHolder *holder), void *data);
bool doc_look(RgRemote *remote, const char *cluster, RgHolderSeen seen, void *data, bool *known,
	RgDiags *diags);
void doc_unlock(RgRemote *remote, const char *cluster);
bool doc_break_lock(RgRemote *remote, const char *id, char **cluster, RgDiags *diags);

/* documents_holder.c: the lock as JSON. */
json_t *doc_holder_json(const RgHolder *holder, const char *id, unsigned ttl_s);
json_t *doc_holder_free(void);
bool doc_holder_is_free(const json_t *lock);
bool doc_holder_has_expired(const json_t *lock, int64_t age_s);

/* documents_lease.c: takes over `mine` (a reference), which was written as `version`. */
DocLease *doc_lease_start(RgObjects *objects, const char *name, json_t *mine, const char *version);
/* After this time without a renewal, a lock is nobody's. */
unsigned doc_lease_ttl_s(const RgObjects *objects);
/* Still ours? Renews it if that was long ago. */
bool doc_lease_holds(DocLease *lease);
/* As far as is known, without a request. */
bool doc_lease_is_lost(DocLease *lease);
/* Stops renewing; with `release`, writes that the lock is free. */
void doc_lease_end(DocLease *lease, bool release);
