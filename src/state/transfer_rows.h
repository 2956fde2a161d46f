/* All rows of a cluster, whatever their ids. Private to transfer.c and transfer_rows.c. */
#pragma once
#include "state/internal.h"

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
