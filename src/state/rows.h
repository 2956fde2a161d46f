/* Rows of a state: for the files of this folder, and for src/transfer, which carries whole states.
 * No other folder: their changes are those of write.h and move.h. A store belongs to the thread
 * that opened it. */
#pragma once
#include "state/move.h"
#include "state/write.h"

#define HASH_BYTES 32 /* SHA-256 */
#define TOMBSTONE_S 3600

typedef struct sqlite3_stmt sqlite3_stmt;

/* open.c: as the user named it. */
const char *store_shown(const RgStore *store);
/* Its absolute path, or its URL without credentials. */
const char *store_place(const RgStore *store);
/* It is not a file. */
bool store_is_elsewhere(const RgStore *store);
/* Copies the file beside itself before it is replaced: *backup (g_free), which stays NULL if there
 * is nothing to keep, and of a store elsewhere, whose server has backups of its own. In the
 * caller's transaction. */
bool store_keep_copy(RgStore *store, char **backup, RgDiags *diags);
/* Only the thread that opened the store may use it; it writes and holds the lock of the cluster. */
void store_check_writer(const RgStore *store, const char *cluster);

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
bool sql_column_is_null(Sql *q, int column);
const char *sql_column_text(Sql *q, int column);
int64_t sql_column_int(Sql *q, int column);
json_t *sql_column_number(Sql *q, int column);		       /* or null */
void sql_column_hash(Sql *q, int column, unsigned char *hash); /* zeros if it is none */
/* New reference, NULL if the column is; false and state.corrupt if it is not JSON. */
bool sql_column_json(Sql *q, int column, json_t **value);
/* The id of the row that was inserted last. */
int64_t sql_last_id(const RgStore *store);
/* SQLite accepts it, but it is not a state; returns false. */
bool sql_corrupt(const RgStore *store, const char *what, RgDiags *diags);

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
/* Before a transaction that reads: these parts (RgPart, remote.h) of a cluster, NULL: of all, as
 * the store has them now. */
#define COPY_LIVE 1u
#define COPY_ALL 3u
bool copy_need(RgStore *store, const char *cluster, unsigned parts, RgDiags *diags);
/* Where a store elsewhere was moved to as a whole; NULL: it was not. */
const char *copy_moved_to(const RgStore *store);
/* From now on it is refused; `to` NULL: takes the mark away. */
bool copy_mark_moved(RgStore *store, const char *to, RgDiags *diags);
/* Of a new row: chosen by SQLite, or, for a store elsewhere, out of what is ours. */
SqlValue new_row_id(RgStore *store);

/* sums.c, blobs.c: state.corrupt if the rows, or the attribute objects, are not what was written.
 * In the caller's transaction. */
bool sums_check_all(RgStore *store, RgDiags *diags);
bool blobs_check(RgStore *store, RgDiags *diags);

/* blobs.c: attribute objects, each stored once */
bool blob_put(RgStore *store, const json_t *value, unsigned char *hash, RgDiags *diags);
/* Removes all that nothing refers to. */
bool blobs_purge(RgStore *store, RgDiags *diags);

/* moved.c: inside the caller's transaction; false: refused, or an error. */
bool moved_check(RgStore *store, const char *cluster, RgDiags *diags);
/* What is written at the cluster: a new reference, NULL: nothing. */
bool moved_read(RgStore *store, const char *cluster, json_t **mark, RgDiags *diags);
/* Returns false. */
bool moved_tell(const RgStore *store, const char *cluster, const json_t *mark, RgDiags *diags);

/* sealed.c: what is written instead of outputs of a record, or of the input of an open creation: a
 * new reference, NULL if there is nothing. state.sealed if it would be a secret in clear text
 * beside sealed ones. */
bool seal_outputs(RgStore *store, int64_t cluster, const char *address, const json_t *outputs,
	json_t **written, RgDiags *diags);
/* Whether outputs of this address are secrets. */
bool sealed_is_secret(const char *address);
/* sealed_rows.c: whether the secrets of a document's cluster may be written. */
bool sealed_check_document(RgStore *store, const json_t *cluster, RgDiags *diags);

/* runs.c: tombstones that nobody needs any more: old ones, and those that a wrong clock dated in
 * the future. */
bool purge_tombstones(RgStore *store, int64_t cluster, RgDiags *diags);
/* Inside the caller's transaction: a finished run, and the current one for run_note until
 * run_leave */
bool run_insert_done(RgStore *store, int64_t cluster, const json_t *meta, RgDiags *diags);
/* A log line of the current run; nothing if no run is open */
bool run_note(RgStore *store, int64_t cluster, const char *address, const char *action,
	const char *outcome, RgDiags *diags);
void run_leave(RgStore *store);

/* rows.c: all rows of a cluster, whatever their ids */
/* SHA-256 of all rows and attribute objects, in the caller's transaction: the same in every store,
 * so without the row's ids, its serial and its mark. g_free it; NULL and diagnostics. */
char *rows_digest(RgStore *store, int64_t cluster, RgDiags *diags);
/* Deletes them, with the row of the cluster. */
bool rows_clear(RgStore *store, int64_t cluster, RgDiags *diags);
/* Copies them; the new row of the cluster gets this id (0: a new one), serial and mark. Each store
 * is in a transaction. */
typedef struct {
	int64_t id, serial;
	const json_t *mark;
} RowsTarget;
bool rows_copy(
	RgStore *from, int64_t cluster, RgStore *to, const RowsTarget *target, RgDiags *diags);
