/* Which candidate of provider.any_of is chosen for the whole cluster, and why: after the spec and
 * the state are read, before anything needs the provider and region. Reads data files, no cloud.
 * One document has the choice, for plan, state (in the facts of the last run) and `offers`:
 *   {"provider", "region", "reason": text, "microusd_hour": of priced nodes, "unpriced": nodes,
 *    "estimate_microusd_hour": with the lowest price known anywhere for these, or null,
 *    "carbon_mg_hour", "uncounted", "price_date": text or null,
 *    "candidates": [{"provider", "region", "microusd_hour", ... and "rejected": text or null}]}
 * A spec without any_of has none. Main thread only. */
#pragma once
#include "pipeline/tables.h"

bool rg_place_is_open(const RgCluster *cluster);

typedef struct {
	RgTables *tables;    /* the policy of their project file applies too */
	const json_t *avoid; /* RgSession.avoid; may be NULL */
	int kept;	     /* the candidate that wins if figures are equal; -1: the first */
	bool override;	     /* the budget may be exceeded */
	bool compare; /* it is not an error if none qualifies: `raygpu offers`, which makes no plan
		       */
} RgPlacing;

/* Tries every candidate and places the cluster at the best one that qualifies, of those within the
 * budgets if there is one: a budget of which all are above is for the plan to judge. If none does,
 * returns all results with fit.no-place. A wrong setting of any candidate is still an error. A new
 * reference, without "provider" if none qualifies; NULL: the spec or the data are wrong. Only for a
 * cluster that rg_place_is_open. */
json_t *rg_place_choose(const RgPlacing *placing, RgCluster *cluster, RgDiags *diags);
