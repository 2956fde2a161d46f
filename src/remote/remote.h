/* A store elsewhere: it keeps rows and gives them back, and knows nothing of their meaning. The
 * handle works on a copy in memory (copy.c), whose transactions it hands over as row changes.
 * src/state/README.md, "Stores", has the rules. One thread. */
#pragma once
#include "base/diag.h"
#include "base/json.h"

typedef enum { RG_CELL_NULL, RG_CELL_INT, RG_CELL_TEXT, RG_CELL_BLOB } RgCellType;

typedef struct {
	RgCellType type;
	int64_t number;
	char *bytes; /* of text and blobs; text also ends with NUL */
	size_t len;
} RgCell;

/* A table as this program knows it. Beyond those of schema.c: "blobs" (cluster, sha256, bytes), an
 * attribute object once a cluster, and "sums" (cluster, name, sum). */
typedef struct {
	const char *name;
	GStrv columns;
	guint n;
	GArray *keys; /* guint: the columns that identify a row */
} RgShape;

/* A transaction changes a row at most once. `before` NULL: it is new; `after` NULL: it is deleted.
 * Otherwise the keys are equal. */
typedef struct {
	const RgShape *shape;
	RgCell *before, *after;
} RgRowChange;

/* All of it becomes durable, or nothing. A guard is a cluster that changes: its serial in the store
 * is `before` (0: the cluster is new), and the store's lock is held; else someone else wrote. */
typedef struct {
	int64_t id, before, after;
	const char *name;
} RgGuard;
typedef struct {
	const GPtrArray *changes; /* RgRowChange* */
	const GArray *guards;	  /* RgGuard */
} RgCommit;

/* Deleted rows stay part of the history: ended lifetimes, finished runs and their changes. */
typedef enum { RG_PART_LIVE = 1, RG_PART_HISTORY = 2 } RgPart;

typedef struct RgObjectStores RgObjectStores; /* objects.h */

typedef struct {
	const char *url;	      /* as the user gave it, with its credentials */
	const char *shown;	      /* without */
	const RgObjectStores *stores; /* NULL: there are none */
	bool writes;
	/* Polled while it waits. */
	bool (*canceled)(void *data);
	/* The server is away for longer than a second; it is looked for again, for `left_s` more.
	 */
	void (*away)(void *data, unsigned left_s);
	void *data;
} RgRemoteOpen;

/* Who holds a lock; for people. Texts are borrowed. `job`: URL of the CI job, or NULL. `id`: of the
 * lock, if break_lock ends it; `expires_s`: from now, if nobody renews it; -1: never. */
typedef struct {
	const char *user, *host, *command, *job, *id;
	int64_t pid, started_s, expires_s;
} RgHolder;
typedef enum { RG_LOCK_TAKEN, RG_LOCK_HELD, RG_LOCK_BROKEN } RgLockResult;
/* `left`: it died, and the next run takes the lock over. */
typedef void (*RgHolderSeen)(void *data, const RgHolder *holder, bool left);

typedef struct RgRemote RgRemote;
typedef void (*RgRemoteSeen)(void *data, int64_t id, const char *name, int64_t serial);
typedef bool (*RgRemoteRow)(void *data, const RgShape *shape, const RgCell *cells);

#define RG_ID_BLOCK (1 << 20)

/* Every function that can fail reports why; `size` and `version` detect a mixed installation. */
typedef struct {
	size_t size;
	const char *version;
	RgRemote *(*open)(const RgRemoteOpen *how, RgDiags *diags);
	void (*close)(RgRemote *remote);
	/* Of its tables: the number of schema.c's migrations that they correspond to, 0: there are
	 * none. *moved_to: the store was moved there (g_free), or NULL. */
	bool (*tables)(RgRemote *remote, int64_t *version, char **moved_to, RgDiags *diags);
	/* To this program's version, from any before; nothing if they already have it. */
	bool (*migrate)(RgRemote *remote, int64_t version, RgDiags *diags);
	/* One consistent view until end: the cluster (NULL: all), then rows, `parts` of RgPart.
	 * What it says of other clusters than the one is optional. */
	bool (*begin)(RgRemote *remote, const char *cluster, RgRemoteSeen seen, void *data,
		RgDiags *diags);
	bool (*load)(RgRemote *remote, int64_t cluster, const RgShape *const *shapes, size_t n,
		unsigned parts, RgRemoteRow row, void *data, RgDiags *diags);
	void (*end)(RgRemote *remote);
	/* The first of RG_ID_BLOCK row ids that nobody else gets. */
	bool (*ids)(RgRemote *remote, int64_t *first, RgDiags *diags);
	/* *unknown: the answer is lost, so it may have been done. */
	bool (*commit)(RgRemote *remote, const RgCommit *commit, bool *unknown, RgDiags *diags);
	/* Tries once. The lock ends with its holder. */
	RgLockResult (*lock)(
		RgRemote *remote, const char *cluster, const RgHolder *holder, RgDiags *diags);
	/* Calls `told` with the last holder if there is one. */
	void (*holder)(RgRemote *remote, const char *cluster,
		void (*told)(void *data, const RgHolder *holder), void *data);
	/* Only looks, without taking it: `seen` is not called for a lock that is free. *known is
	 * false if the store does not show it. */
	bool (*look)(RgRemote *remote, const char *cluster, RgHolderSeen seen, void *data,
		bool *known, RgDiags *diags);
	void (*unlock)(RgRemote *remote, const char *cluster);
	/* Ends the lock of a dead run: its holder writes nothing more. NULL: locks end with their
	 * connection. *cluster (g_free): whose it was; NULL without diagnostics: no lock has this
	 * id. */
	bool (*break_lock)(RgRemote *remote, const char *id, char **cluster, RgDiags *diags);
	/* From now on it is refused, with the place where its clusters are, of which each is marked
	 * as moved; state.locked if one is not. `to` NULL: takes the mark away. */
	bool (*mark_moved)(RgRemote *remote, const char *to, RgDiags *diags);
} RgRemoteModule;

/* Of the document stores (objects.h). */
const RgRemoteModule *rg_documents_module(void);

/* Exported by raygpu-postgres.so. */
#define RG_POSTGRES_SYMBOL "raygpu_postgres_module"
const void *raygpu_postgres_module(void); /* an RgRemoteModule */
