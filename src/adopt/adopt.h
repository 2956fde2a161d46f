/* Adopting what exists: the records of a cluster that a state lost (rebuild), and of resources that
 * were created without raygpu (import). Above the pipeline: what
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

/* What `import` names: an existing resource, and its address in the spec. `keep`: what no cloud
 * reports (user data, disks) is assumed to be as in the spec, so that the node is not replaced
 * because of it. */
typedef struct {
	const char *address, *id;
	bool keep;
	const char *origin; /* its entry in the spec, "/imports/0"; NULL: none */
} RgImport;
/* The plan as it would be with records of these resources, in `records` (RgResource*, borrowed from
 * the pass's snapshot; the caller frees the array; NULL: an error). The pass has been loaded.
 * Writes nothing. */
GPtrArray *rg_adopt_import(
	RgSession *session, RgPass *pass, const RgImport *imports, size_t n, RgDiags *diags);
/* The same for the spec's `imports`, as the step RgSession.import of a plan: fills pass->desired
 * and pass->imported. */
bool rg_adopt_imports(RgSession *session, RgPass *pass, RgDiags *diags);
