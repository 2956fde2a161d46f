/* Adopting what exists: the records of a cluster that a state lost (rebuild), of resources that
 * were created without raygpu (import), and under other addresses (moves). Above the pipeline: what
 * is found is fitted with its spec as for a plan. Only reading calls go to clouds. */
#pragma once
#include "pipeline/pipeline.h"
#include "state/store.h"

/* Records a cluster that the state lost, from the marks of running resources, in the store (lock
 * held). The pass has been loaded; `lineage` may be NULL, and so may `ray_token`, which is then
 * read from the nodes' user data if the provider reveals it. The pass's snapshot has what was
 * found. */
bool rg_adopt_rebuild(RgSession *session, RgPass *pass, const char *lineage, const char *ray_token,
	RgDiags *diags);

/* What `import` names: an existing resource, and its address in the spec. */
typedef struct {
	const char *address, *id;
} RgImport;
/* The plan as it would be with records of these resources, in `records` (RgResource*, borrowed from
 * the pass's snapshot; the caller frees the array; NULL: an error). The pass has been loaded.
 * Writes nothing. `keep`: what no cloud reports (user data, disks) is assumed to be as in the spec,
 * so that no node is replaced because of it. */
GPtrArray *rg_adopt_import(RgSession *session, RgPass *pass, const RgImport *imports, size_t n,
	bool keep, RgDiags *diags);

/* What a move changes in records: other addresses, and references of other records to them. */
typedef struct {
	GArray *moves;	   /* RgMove */
	GArray *edits;	   /* RgMoveEdit, which borrow from the snapshot and from `values` */
	GPtrArray *values; /* json_t* */
	bool renames;	   /* nodes get another pool */
} RgMoves;
void rg_moves_free(RgMoves *moves);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgMoves, rg_moves_free)
/* One record, or all nodes of a pool and its other resources (`from` without index). Pure;
 * rg_store_move writes it. NULL and diagnostics. */
RgMoves *rg_adopt_move(
	const RgSnapshot *snapshot, const char *from, const char *to, RgDiags *diags);
