/* Whether nodes that work together are close enough and have enough bandwidth for their GPUs. After
 * fit, pure: only warnings, each with its figure. */
#pragma once
#include "fit/fit.h"

/* topology.* warnings at the spec's lines. `fitted`: the fitted document, whose zones and types
 * count. `report`: from rg_fit_workloads, which has what works together where; NULL: nothing. */
void rg_fit_check_topology(const RgCluster *cluster, const RgCatalog *catalog, const json_t *fitted,
	const json_t *report, RgDiags *diags);
