/* Whether the nodes that work together stand near enough and talk fast enough for their GPUs.
 * After fit, pure: warnings only, each with its figure. */
#pragma once
#include "fit/fit.h"

/* topology.* warnings under the spec's lines. `fitted`: the fitted document, whose zones and types
 * count. `report`: of rg_fit_workloads, which says what works together where; NULL: nothing. */
void rg_fit_check_topology(const RgCluster *cluster, const RgCatalog *catalog, const json_t *fitted,
	const json_t *report, RgDiags *diags);
