/* The copy in memory of a store elsewhere (remote.h): filled by copy.c, its changes recorded by
 * changes.c. Private to src/state. */
#pragma once
#include "state/internal.h"
#include "remote/remote.h"

/* The tables of SumTable, in its order, then two that exist only in the store. */
enum { COPY_BLOBS = SUM_TABLES, COPY_SUMS, COPY_SHAPES };

struct RgCopy {
	const RgRemoteModule *ops;
	RgRemote *remote;
	char *url;
	int64_t version; /* of the store's tables; 0: it has none */
	char *moved_to;	 /* NULL: it was not */
	RgShape shapes[COPY_SHAPES];
	GHashTable *seen;   /* char* name of a cluster -> Seen* (copy.c) */
	GPtrArray *changes; /* RgRowChange* of the open transaction */
	GHashTable *by_key; /* char* -> one of them, borrowed */
	GHashTable *deltas; /* int64_t* cluster -> uint64_t[SUM_LIFETIMES] */
	bool recording;	    /* false while rows are loaded */
	bool unreadable;    /* a row of the open transaction could not be recorded */
	bool broken;	    /* the fate of a transaction is unknown: nothing more is written */
	int64_t next_id, end_id;
};

/* changes.c */
void changes_begin(RgCopy *copy);
void changes_end(RgCopy *copy);
/* From SQLite's hook: a row of `table` changes, and its sum by `delta`. */
void changes_record(RgStore *store, SumTable table, int operation, uint64_t delta);
/* Hands the open transaction over; false: it must be rolled back. */
bool changes_commit(RgStore *store, RgDiags *diags);
