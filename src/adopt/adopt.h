/* Taking in what exists: the records of a cluster that a state lost (rebuild), of resources that
 * were made without raygpu (import), and under other addresses (moves). Beside the path of data,
 * and on top of it: what is found is fitted with its spec as a plan would be. Only reading calls go
 * to clouds. */
#pragma once
#include "pipeline/pipeline.h"
#include "state/store.h"

/* Enters a cluster that the state lost, from the marks of what runs, into the store (lock held), of
 * a pass that was loaded; `lineage` may be NULL, and so may `ray_token`, which is then read from
 * the nodes' user data where the provider reveals it. The pass's snapshot has what was found. */
bool rg_adopt_rebuild(RgSession *session, RgPass *pass, const char *lineage, const char *ray_token,
	RgDiags *diags);

/* What `import` names: something that exists, and what of the spec it is. */
typedef struct {
	const char *address, *id;
} RgImport;
/* The plan as it would be with records of these things, which are `records` (RgResource*, borrowed
 * from the pass's snapshot; the caller frees the array; NULL: an error), of a pass that was loaded.
 * Writes nothing. `keep`: what no cloud reports (user data, disks) is taken to be as the spec says,
 * so that no node is replaced for its sake. */
GPtrArray *rg_adopt_import(RgSession *session, RgPass *pass, const RgImport *imports, size_t n,
	bool keep, RgDiags *diags);

/* What a move does to records: other addresses, and what others say of these. */
typedef struct {
	GArray *moves;	   /* RgMove */
	GArray *edits;	   /* RgMoveEdit, which borrow from the snapshot and from `values` */
	GPtrArray *values; /* json_t* */
	bool renames;	   /* nodes get another pool */
} RgMoves;
void rg_moves_free(RgMoves *moves);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgMoves, rg_moves_free)
/* One record, or all nodes of a pool and what stands beside them (`from` without index). Pure;
 * rg_store_move writes it. NULL and diagnostics. */
RgMoves *rg_adopt_move(
	const RgSnapshot *snapshot, const char *from, const char *to, RgDiags *diags);
