/* Whether a cluster's Ray, Python, container image, node images, drivers and GPUs get on. Between
 * fit and boot; pure. What must fail on the node is an error, what may is a warning. */
#pragma once
#include "fit/fit.h"

/* compat.* findings under the spec's lines; false when one is an error. `facts`: of the fitted
 * document, whose image names give drivers; NULL when the cloud wasn't asked (validate). */
bool rg_fit_check_compat(
	const RgCluster *cluster, const RgShapes *shapes, const json_t *facts, RgDiags *diags);
