/* The tables of a cluster as lists of objects, in the same form for both directions. Private to
 * pull.c and push.c. */
#pragma once
#include "state/rows.h"

typedef enum {
	COLUMN_END,
	COLUMN_TEXT,
	COLUMN_INT,
	COLUMN_FLAG,
	COLUMN_JSON,
	COLUMN_VALUES, /* JSON object of a kind's attributes: may contain secrets and long values */
	COLUMN_BLOB,   /* the same, in the table of blobs; never null */
} ColumnType;

typedef struct {
	ColumnType type;
	const char *key;
} Column;

/* `select` returns the columns in their order; ?1 is the row that they belong to. `insert` takes ?1
 * and then the columns. Both are string literals (internal.h, Sql). */
typedef struct {
	const char *key; /* of the list in the owner's object */
	const char *select, *insert;
	const Column *columns;
	bool has_id; /* insert: new_row_id is the last parameter */
} Table;

extern const Table table_resources; /* insert: kind, name and index (-1: none) follow */
extern const Table table_identities, table_tombstones, table_lifetimes, table_hardware;
extern const Table table_runs;	  /* select: its row follows */
extern const Table table_changes; /* of a run */

/* All of one cluster in the caller's transaction; NULL and no diagnostic if the state does not have
 * it. Nothing redacted, nothing packed. */
json_t *pull_cluster(RgStore *store, const char *name, RgDiags *diags);
