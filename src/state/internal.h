/* Private to src/state: the handle, and the functions that only the files of this folder share. The
 * only header that includes sqlite3.h. */
#pragma once
#include "state/rows.h"
#include <pthread.h>
#define SQLITE_ENABLE_PREUPDATE_HOOK /* Debian's has it; meson.build asks */
#include <sqlite3.h>

#define STATE_APPLICATION_ID 0x52475055 /* "RGPU" */
#define STATE_BUSY_MS 10000		/* other clusters of the file commit within milliseconds */

/* Migrates a file from version `i` to `i + 1`, where `i` is the position in the list. */
typedef struct {
	const char *sql;
} RgMigration;

extern const RgMigration rg_state_migrations[];
extern const unsigned rg_state_migrations_len;

/* sums.c: the tables whose rows are summed. blobs are named by their content; locks are for
 * people. */
typedef enum {
	SUM_CLUSTERS,
	SUM_RESOURCES,
	SUM_IDENTITIES,
	SUM_TOMBSTONES,
	SUM_HARDWARE,
	SUM_JOURNAL,
	SUM_MEMBERS,
	SUM_LIFETIMES,
	SUM_RUNS,
	SUM_CHANGES,
	SUM_TABLES,
} SumTable;
#define SUMS_VERSION 5 /* the first with sums */
#define SUMS_OF_CLUSTER ((1u << SUM_LIFETIMES) - 1)
#define SUMS_OF_COST ((1u << SUM_CLUSTERS) | (1u << SUM_RESOURCES) | (1u << SUM_LIFETIMES))
#define SUMS_OF_HISTORY ((1u << SUM_CLUSTERS) | (1u << SUM_RUNS) | (1u << SUM_CHANGES))
#define SUMS_ALL ((1u << SUM_TABLES) - 1)

/* copy.h: the database is a copy in memory of a store elsewhere. */
typedef struct RgCopy RgCopy;

/* rg_store_group_begin: its transaction begins with the first change. */
typedef enum { GROUP_NONE, GROUP_EMPTY, GROUP_BEGUN, GROUP_FAILED } Group;

struct RgStore {
	sqlite3 *db;
	RgCopy *copy; /* NULL: it is the file */
	char *path;   /* absolute, for SQLite and the locks */
	char *shown;  /* as the user named it */
	RgStoreMode mode;
	bool moves; /* opened to move its clusters (rg_store_open_moved) */
	const RgMigration *migrations;
	unsigned version;	/* this program's: number of migrations */
	GHashTable *statements; /* const char* (the literal) -> sqlite3_stmt* */
	GHashTable *locked;	/* char* cluster names whose lock this handle holds */
	int64_t run;		/* the run that begin_run opened, 0 = none */
	int64_t run_cluster;
	Group group;
	bool (*canceled)(void *data);
	void *canceled_data;
	void (*waiting)(void *data, const char *cluster, const char *holder, unsigned left_s);
	void *waiting_data;
	const RgKeys *keys;	   /* NULL: none */
	GHashTable *told;	   /* char* clusters whose sealed secrets were reported; or NULL */
	uint64_t sums[SUM_TABLES]; /* what the open transaction adds to them */
	bool sums_failed;	   /* a row could not be read: compute the sum again */
	unsigned checked;	   /* 1 << SumTable: verified, as of checked_at */
	int64_t checked_at;
#ifndef NDEBUG
	pthread_t owner;
#endif
};

/* Only the thread that opened the store may use it (rule 4). */
void store_check_thread(const RgStore *store);
/* job.c: the URL of the CI job that this process belongs to, g_free; NULL: it is in none. */
char *job_url(void);

/* open.c: rg_store_open with the caller's migration list (tests of the machinery). */
RgStore *store_open_with(const char *path, RgStoreMode mode, const RgMigration *migrations,
	unsigned migrations_len, RgDiags *diags);
/* Writes the bytes of a database, e.g. of an empty state in memory, to a file (create.c). */

/* Reports SQLite's last error of the handle, under the code that fits. */
void sql_error(RgStore *store, int rc, RgDiags *diags);
void sql_forget_statements(RgStore *store);

/* copy.c */
bool copy_open(RgStore *store, const char *url, const RgObjectStores *stores, RgDiags *diags);
void copy_close(RgCopy *copy);
/* Its rows may have changed until now. */
void copy_locked(RgStore *store, const char *cluster);
/* At the begin of a writing transaction. */
bool copy_begin(RgStore *store, RgDiags *diags);
/* For more rows than new_row_id provides for; 0: SQLite chooses. */
bool copy_take_id(RgStore *store, int64_t *id, RgDiags *diags);

/* sums.c */
const char *sums_table_name(SumTable table);
void sums_watch(RgStore *store); /* a writing handle, once connected */
void sums_begin(RgStore *store);
bool sums_write(RgStore *store, RgDiags *diags); /* before the commit */
bool sums_renew(RgStore *store, RgDiags *diags); /* all, after a migration, in its transaction */
unsigned sums_of_version(unsigned version);	 /* SUMS_ALL of a file of that version */
/* state.corrupt if the rows of one of these tables (1 << SumTable) are not what was written. In the
 * caller's transaction. A table without a sum is trusted: a person deleted it to edit. */
bool sums_check(RgStore *store, unsigned tables, RgDiags *diags);

/* schema.c */
/* Of the connected database; -1 and diagnostics: it is not a state that this program can read. */
int64_t schema_find_version(RgStore *store, RgDiags *diags);
bool schema_configure(RgStore *store, RgDiags *diags);
bool schema_migrate(RgStore *store, unsigned from, RgDiags *diags);
void schema_newer_error(const RgStore *store, int64_t found, RgDiags *diags);

/* create.c: files that appear completely or not at all */
/* `replace`: rename over the existing file; otherwise an existing file is unchanged (and true is
 * returned). */
bool create_file(const char *path, const void *data, size_t len, bool replace);

/* recover.c: a private copy, in memory and rolled back, of a file whose writer was killed. */
sqlite3 *recover_copy(RgStore *store, RgDiags *diags);
sqlite3 *memory_copy(sqlite3 *from, int *rc);
/* Reads from `copy` (takes ownership, in memory) from now on, migrated to this program's
 * version. */
bool store_use_copy(RgStore *store, sqlite3 *copy, RgDiags *diags);

/* blobs.c
 * What is stored under this name, a new reference; state.corrupt if it is not what was stored. */
bool blob_get(RgStore *store, const unsigned char *hash, json_t **value, RgDiags *diags);
/* Removes it if nothing refers to it any more. */
bool blob_drop(RgStore *store, const unsigned char *hash, RgDiags *diags);

/* moved.c */
#define MOVED_VERSION 10 /* the first with marks */
/* Returns false. `cluster` NULL: the whole store. */
bool moved_refuse_to(const RgStore *store, const char *cluster, const char *to, RgDiags *diags);

/* lifetimes.c: inside the caller's transaction; `row` is the record's resources.id */
typedef enum {
	END_REMOVED,   /* by us, at that time */
	END_GONE,      /* found missing then; it disappeared some time before */
	END_FORGOTTEN, /* removed from the state; it may still run */
	END_REPRICED,  /* continues in the next lifetime, as do those with new labels */
	END_RELABELLED,
} LifetimeEnd;
bool lifetime_begin(
	RgStore *store, int64_t cluster, int64_t row, const RgResource *resource, RgDiags *diags);
bool lifetime_end(RgStore *store, int64_t row, LifetimeEnd end, RgDiags *diags);
/* Splits the lifetime of the record if the pin has another price, type or market. */
bool lifetime_reprice(
	RgStore *store, int64_t cluster, const char *address, const json_t *pin, RgDiags *diags);
/* Splits those with other labels; `labels` NULL: unknown, leave them. */
bool lifetimes_relabel(RgStore *store, int64_t cluster, const json_t *labels, RgDiags *diags);

/* hardware.c: inside the caller's transaction */
/* The machine at this address works after all. */
bool hardware_clear(RgStore *store, int64_t cluster, const char *address, RgDiags *diags);
/* What RgSnapshot.hardware has. */
bool hardware_load(RgStore *store, int64_t cluster, json_t *rows, RgDiags *diags);

/* sealed.c: as seal_outputs */
bool seal_input(RgStore *store, int64_t cluster, const char *token, const json_t *input,
	json_t **written, RgDiags *diags);

/* resources.c: inside the caller's transaction */
/* Deletes the record if there is one: its id becomes a tombstone (unless forgotten: then the
 * resource still exists), the identity advances past its generation, its lifetime ends. */
/* The same of a resource that a read of the cloud missed under that id; state.moved if another id
 * is recorded. */
bool resource_gone(RgStore *store, int64_t cluster, const char *address, const char *id,
	bool *found, RgDiags *diags);
bool resource_insert(RgStore *store, int64_t cluster, const RgResource *resource,
	const unsigned char *attrs, const char *ownership, RgDiags *diags);
/* false in *found: no record; id may be NULL. g_free it. */
bool resource_find_id(RgStore *store, int64_t cluster, const char *address, bool *found, char **id,
	RgDiags *diags);

/* The hash of the recorded attributes, before they are replaced. */
bool resource_find_attrs(RgStore *store, int64_t cluster, const char *address, unsigned char *hash,
	bool *found, RgDiags *diags);
/* One without a record and without an open creation; or one that is already recorded like this. */
bool resource_adopt(RgStore *store, int64_t cluster, const RgResource *resource, RgDiags *diags);
/* Takes the attributes, outputs and pin of `news` that are not NULL. */
/* state.moved while a creation at the address is open. */
bool resource_check_settled(RgStore *store, int64_t cluster, const char *address, RgDiags *diags);

/* identity.c: the pair that the next create of an address will use; never used before */
bool identity_read(RgStore *store, int64_t cluster, const char *address, int64_t *generation,
	int64_t *attempt, RgDiags *diags);
/* Moves it forward to at least this pair. */
bool identity_raise(RgStore *store, int64_t cluster, const char *address, int64_t generation,
	int64_t attempt, RgDiags *diags);

/* runs.c: run_note of a create, with what the node is (its pin; NULL: it is none). */
bool run_note_node(RgStore *store, int64_t cluster, const char *address, const char *action,
	const char *outcome, const json_t *pin, RgDiags *diags);
