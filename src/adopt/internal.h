/* Private to the rebuilding of a lost state: the data of one run. Main thread only. */
#pragma once
#include "adopt/adopt.h"
#include "pipeline/pass.h"
#include "provider/provider.h"

typedef struct {
	RgSession *session;
	RgPass *pass;  /* its snapshot: what was found */
	RgFound found; /* of that snapshot */
	RgDiags *diags;
} Rebuild;

/* place.c: determines where the cluster is, opens the provider and reads marked resources. `asked`:
 * the requested lineage, or NULL */
bool rebuild_find_place(Rebuild *rebuild, const char *asked, GPtrArray *marked);
