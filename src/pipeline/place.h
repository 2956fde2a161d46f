/* Which candidate of provider.any_of holds for the whole cluster, and why: after the spec and the
 * state are read, before anything asks which provider and region it is. Reads data files, no cloud.
 * One document has the choice, to plan, state (in the facts of the last run) and `offers`:
 *   {"provider", "region", "reason": text, "microusd_hour": of priced nodes, "unpriced": nodes,
 *    "estimate_microusd_hour": with the lowest price known anywhere for these, or null,
 *    "carbon_mg_hour", "uncounted", "price_date": text or null,
 *    "candidates": [{"provider", "region", "microusd_hour", ... and "rejected": text or null}]}
 * A spec without any_of has none. Main thread only. */
#pragma once
#include "pipeline/tables.h"

bool rg_place_is_open(const RgCluster *cluster);

typedef struct {
	RgTables *tables; /* the policy of their project file holds too */
	int kept;	  /* the candidate that wins where figures are equal; -1: the first */
	bool compare;	  /* that none is admitted is no error: `raygpu offers`, which is no plan */
} RgPlacing;

/* Tries every candidate and settles the cluster on the best admitted one; where none is, with all
 * that was found and fit.no-place. A wrong setting of any candidate is still an error. A new
 * reference, without "provider" when none is admitted; NULL: the spec or the data are wrong. Only
 * for a cluster that rg_place_is_open. */
json_t *rg_place_choose(const RgPlacing *placing, RgCluster *cluster, RgDiags *diags);
