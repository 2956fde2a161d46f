/* Whether a cluster's Ray, Python, container image, node images, drivers and GPUs are compatible.
 * Between fit and boot; pure. What certainly fails on the node is an error; what may fail is a
 * warning. */
#pragma once
#include "fit/fit.h"

/* compat.* findings at the spec's lines; false if one is an error. `facts`: of the fitted document,
 * whose image names imply drivers; NULL if the cloud was not asked (validate). */
bool rg_fit_check_compat(
	const RgCluster *cluster, const RgShapes *shapes, const json_t *facts, RgDiags *diags);
