/* Records at other addresses, because a pool got another name: by `state mv`, or by `renamed_from`
 * of the spec. Pure; rg_store_move writes it. */
#pragma once
#include "state/read.h"

/* What changes in records: other addresses, and references of other records to them. */
typedef struct {
	GArray *moves;	   /* RgMove; addresses and names are interned */
	GArray *edits;	   /* RgMoveEdit; addresses are interned, the rest borrows from `values` */
	GPtrArray *values; /* json_t* */
	bool renames;	   /* nodes get another pool */
} RgMoves;
void rg_moves_free(RgMoves *moves);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgMoves, rg_moves_free)
/* One record, or all nodes of a pool and its other resources (`from` without index). NULL and
 * diagnostics. */
RgMoves *rg_readdress(const RgSnapshot *snapshot, const char *from, const char *to, RgDiags *diags);
/* The snapshot as it will be loaded after that, and when open creations were recovered, which stay
 * pending here. false and state.moved if there is a record at a new address. */
bool rg_readdress_snapshot(RgSnapshot *snapshot, const RgMoves *moves, RgDiags *diags);
