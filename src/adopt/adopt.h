/* A cluster that a state lost is recorded again. Above the pipeline: what is found is fitted with
 * its spec as for a plan. Only reading calls go to clouds. */
#pragma once
#include "pipeline/pipeline.h"
#include "state/read.h"

/* Records a cluster that the state lost, from the marks of running resources, in the store (lock
 * held). The pass has been loaded; `lineage` may be NULL, and so may `ray_token`, which is then
 * read from the nodes' user data if the provider reveals it. The pass's snapshot has what was
 * found. */
bool rg_adopt_rebuild(RgSession *session, RgPass *pass, const char *lineage, const char *ray_token,
	RgDiags *diags);
