/* Moving all clusters of one store to another (`state migrate`). At every moment at most one of the
 * two copies of a cluster can be used:
 *
 *   1. it is copied in one transaction, and marked there as not complete;
 *   2. both are read again and compared;
 *   3. the old one is marked as moved;
 *   4. the new one is completed.
 *
 * Killed before 3, the old one is used as before; between 3 and 4, neither. The same move, run
 * again, continues. One thread; both stores are opened with rg_store_open_moved and hold the lock
 * of the cluster. Other folders: only commands need this. */
#pragma once
#include "state/read.h"

/* What is to be moved, by name: [{"cluster", "lineage", "serial", "records", "open" (creations of
 * unknown outcome), "runs", "step": "copy" | "complete" (of an interrupted move) | "done"}]. Reads
 * only. NULL and state.migrate-refused (the target has another cluster of the name, or a usable
 * copy of this one), state.migrated, state.half-moved, state.no-such-cluster. */
json_t *rg_transfer_look(RgStore *from, RgStore *to, RgDiags *diags);
/* Step 1; nothing if an interrupted move has already copied the same. */
bool rg_transfer_copy(RgStore *from, RgStore *to, const char *cluster, RgDiags *diags);
/* Step 2. `seen` was opened for reading after the copy. Writes the digest of all rows, 64 hex
 * digits (g_free); state.corrupt if they differ. */
bool rg_transfer_compare(
	RgStore *from, RgStore *seen, const char *cluster, char **digest, RgDiags *diags);
/* Steps 3 and 4. */
bool rg_transfer_finish(RgStore *from, RgStore *to, const char *cluster, RgDiags *diags);
/* After all clusters: the old store is refused as a whole. state.locked if another run has created
 * a cluster there. */
bool rg_transfer_end(RgStore *from, RgStore *to, RgDiags *diags);
