/* Private to src/state: the handle, prepared statements, transactions, and the functions that the
 * files of this folder share. The only header that includes sqlite3.h. A store, its statements and
 * its locks belong to the thread that opened it. */
#pragma once
#include "state/store.h"
#include <pthread.h>
#define SQLITE_ENABLE_PREUPDATE_HOOK /* Debian's has it; meson.build asks */
#include <sqlite3.h>

#define STATE_APPLICATION_ID 0x52475055 /* "RGPU" */
#define STATE_BUSY_MS 10000		/* other clusters of the file commit within milliseconds */
#define HASH_BYTES 32			/* SHA-256 */
#define TOMBSTONE_S 3600

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
	bool moves; /* opened to move its clusters (transfer.h) */
	const RgMigration *migrations;
	unsigned version;	/* this program's: number of migrations */
	GHashTable *statements; /* const char* (the literal) -> sqlite3_stmt* */
	GHashTable *locked;	/* char* cluster names whose lock this handle holds */
	int64_t run;		/* the run that begin_run opened, 0 = none */
	int64_t run_cluster;
	Group group;
	bool (*canceled)(void *data);
	void *canceled_data;
	void (*waiting)(void *data, const char *cluster, const char *holder);
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
/* The same, and the handle writes and holds the lock of the cluster. */
void store_check_writer(const RgStore *store, const char *cluster);

/* job.c: the URL of the CI job that this process belongs to, g_free; NULL: it is in none. */
char *job_url(void);

/* open.c: rg_store_open with the caller's migration list (tests of the machinery). */
RgStore *store_open_with(const char *path, RgStoreMode mode, const RgMigration *migrations,
	unsigned migrations_len, RgDiags *diags);
/* Its absolute path, or its URL without credentials. */
const char *store_place(const RgStore *store);

/* runs.c: tombstones that nobody needs any more: old ones, and those that a wrong clock dated in
 * the future. */
bool purge_tombstones(RgStore *store, int64_t cluster, RgDiags *diags);

/* Writes the bytes of a database, e.g. of an empty state in memory, to a file (create.c). */
bool store_publish(
	const RgStore *store, sqlite3 *db, const char *path, bool replace, RgDiags *diags);
/* Reads from `copy` (takes ownership, in memory) from now on, migrated to this program's
 * version. */
bool store_use_copy(RgStore *store, sqlite3 *copy, RgDiags *diags);

/* sql.c: one run of a statement.
 *   Sql q = sql_with(store, "SELECT ... WHERE cluster = ?1 AND name = ?2", diags, INT(cluster),
 *           TEXT(name));
 *   while (sql_next(&q)) ...            ends by itself; sql_end() when left early
 *   return sql_ok(&q);
 * `text` must be a string literal: it is the key of the prepared statement. */
typedef struct {
	RgStore *store;
	sqlite3_stmt *statement;
	int bound, rc;
	RgDiags *diags;
	GPtrArray *texts; /* bound JSON texts, owned until the statement ends */
} Sql;

/* The values of its parameters, in order; NULL text, JSON and hash bind NULL. */
typedef struct {
	enum { SQL_END, SQL_INT, SQL_TEXT, SQL_JSON, SQL_HASH } type;
	union {
		int64_t number;
		const char *text;
		const json_t *json;
		const unsigned char *hash;
	};
} SqlValue;
#define INT(value)                                                                                 \
	{                                                                                          \
		.type = SQL_INT, .number = (value)                                                 \
	}
#define TEXT(value)                                                                                \
	{                                                                                          \
		.type = SQL_TEXT, .text = (value)                                                  \
	}
#define JSON(value)                                                                                \
	{                                                                                          \
		.type = SQL_JSON, .json = (value)                                                  \
	}
#define HASH(value)                                                                                \
	{                                                                                          \
		.type = SQL_HASH, .hash = (value)                                                  \
	}

/* Of a new row: chosen by SQLite, or, for a store elsewhere, out of what is ours. */
SqlValue new_row_id(RgStore *store);
Sql sql_new(RgStore *store, const char *text, RgDiags *diags); /* without parameters */
Sql sql_bound(RgStore *store, const char *text, RgDiags *diags, const SqlValue *values);
#define sql_with(store, text, diags, ...)                                                          \
	sql_bound(store, text, diags, (const SqlValue[]){__VA_ARGS__, {.type = SQL_END}})
void sql_bind(Sql *q, const SqlValue *value); /* one more */
/* Runs it to the end, for its effect only; false: an error, in the diagnostics. */
bool sql_do_bound(RgStore *store, const char *text, RgDiags *diags, const SqlValue *values);
#define sql_do(store, text, diags, ...)                                                            \
	sql_do_bound(store, text, diags, (const SqlValue[]){__VA_ARGS__, {.type = SQL_END}})
bool sql_next(Sql *q);
void sql_end(Sql *q);
bool sql_ok(Sql *q);  /* ends it; false: an error, in the diagnostics */
bool sql_run(Sql *q); /* steps to the end */
/* The same; stores the first column of the first row in *value, which is unchanged without a
 * row. */
bool sql_first_int(Sql q, int64_t *value);
/* Columns of the current row; borrowed until the next sql_next. */
const char *sql_column_text(Sql *q, int column);
int64_t sql_column_int(Sql *q, int column);
json_t *sql_column_number(Sql *q, int column);		       /* or null */
void sql_column_hash(Sql *q, int column, unsigned char *hash); /* zeros if it is none */
/* New reference, NULL if the column is; false and state.corrupt if it is not JSON. */
bool sql_column_json(Sql *q, int column, json_t **value);

/* SQLite accepts it, but it is not a state; returns false. */
bool sql_corrupt(const RgStore *store, const char *what, RgDiags *diags);
/* Reports SQLite's last error of the handle, under the code that fits. */
void sql_error(RgStore *store, int rc, RgDiags *diags);
void sql_forget_statements(RgStore *store);

/* tx.c. A writing transaction is durable when tx_end returns true, or, in a group, with the
 * group's; after false, nothing of it was written. Both kinds refuse a file that a newer raygpu has
 * migrated in the meantime. */
bool tx_begin_read(RgStore *store, RgDiags *diags);
void tx_end_read(RgStore *store);
bool tx_begin(RgStore *store, RgDiags *diags);
bool tx_end(RgStore *store, bool ok, RgDiags *diags);
/* tx_begin for one cluster, whose live rows are there: its row's id, with its serial increased;
 * state.no-such-cluster. */
bool tx_begin_cluster(RgStore *store, const char *cluster, int64_t *id, RgDiags *diags);

/* copy.c. Nothing for a file, which always has everything. */
bool copy_open(RgStore *store, const char *url, const RgObjectStores *stores, RgDiags *diags);
void copy_close(RgCopy *copy);
/* Before a transaction that reads: these parts (RgPart, remote.h) of a cluster, NULL: of all, as
 * the store has them now. */
#define COPY_LIVE 1u
#define COPY_ALL 3u
bool copy_need(RgStore *store, const char *cluster, unsigned parts, RgDiags *diags);
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
bool schema_read_version(sqlite3 *db, int64_t *application, int64_t *version, bool *empty);
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

/* blobs.c: attribute objects, each stored once */
bool blob_put(RgStore *store, const json_t *value, unsigned char *hash, RgDiags *diags);
/* What is stored under this name, a new reference; state.corrupt if it is not what was stored. */
bool blob_get(RgStore *store, const unsigned char *hash, json_t **value, RgDiags *diags);
/* All of them are. */
bool blobs_check(RgStore *store, RgDiags *diags);
/* Removes it if nothing refers to it any more. */
bool blob_drop(RgStore *store, const unsigned char *hash, RgDiags *diags);

/* Removes all that nothing refers to. */
bool blobs_purge(RgStore *store, RgDiags *diags);

/* moved.c: inside the caller's transaction; false: refused, or an error. */
#define MOVED_VERSION 10 /* the first with marks */
bool moved_check(RgStore *store, const char *cluster, RgDiags *diags);
/* What is written at the cluster: a new reference, NULL: nothing. */
bool moved_read(RgStore *store, const char *cluster, json_t **mark, RgDiags *diags);
/* Both return false. `cluster` NULL: the whole store. */
bool moved_tell(const RgStore *store, const char *cluster, const json_t *mark, RgDiags *diags);
bool moved_refuse_to(const RgStore *store, const char *cluster, const char *to, RgDiags *diags);
/* Of a file, outside a transaction: all its clusters were moved. */
bool moved_check_file(RgStore *store, RgDiags *diags);

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

/* sealed.c: what is written instead of outputs of a record, or of the input of an open creation: a
 * new reference, NULL if there is nothing. state.sealed if it would be a secret in clear text
 * beside sealed ones. */
bool seal_outputs(RgStore *store, int64_t cluster, const char *address, const json_t *outputs,
	json_t **written, RgDiags *diags);
bool seal_input(RgStore *store, int64_t cluster, const char *token, const json_t *input,
	json_t **written, RgDiags *diags);

/* resources.c: inside the caller's transaction */
/* Deletes the record if there is one: its id becomes a tombstone (unless forgotten: then the
 * resource still exists), the identity advances past its generation, its lifetime ends. */
bool resource_delete(RgStore *store, int64_t cluster, const char *address, LifetimeEnd end,
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
bool resource_renew(
	RgStore *store, int64_t cluster, const RgResource *news, bool *found, RgDiags *diags);
/* state.moved while a creation at the address is open. */
bool resource_check_settled(RgStore *store, int64_t cluster, const char *address, RgDiags *diags);

/* identity.c: the pair that the next create of an address will use; never used before */
bool identity_read(RgStore *store, int64_t cluster, const char *address, int64_t *generation,
	int64_t *attempt, RgDiags *diags);
/* Moves it forward to at least this pair. */
bool identity_raise(RgStore *store, int64_t cluster, const char *address, int64_t generation,
	int64_t attempt, RgDiags *diags);

/* runs.c: inside the caller's transaction: a finished run, and the current one for run_note until
 * store->run is set to 0 again */
bool run_insert_done(RgStore *store, int64_t cluster, const json_t *meta, RgDiags *diags);
/* A log line of the current run; nothing if no run is open */
bool run_note(RgStore *store, int64_t cluster, const char *address, const char *action,
	const char *outcome, RgDiags *diags);
/* The same of a create, with what the node is (its pin; NULL: it is none). */
bool run_note_node(RgStore *store, int64_t cluster, const char *address, const char *action,
	const char *outcome, const json_t *pin, RgDiags *diags);
