/* policy: what a spec and the project file admit, held against the cluster and the instance types
 * that it resolves to. After shapes, before the cloud is asked: `validate` reports it too. Each
 * finding (policy.*, exit code 9) has the spec's line and the policy's. Several policies hold side
 * by side, so none loosens another. Pure. */
#pragma once
#include "fit/fit.h"
#include "spec/project.h"

/* false when anything is not admitted. */
bool rg_fit_check_policy(const RgCluster *cluster, const RgShapes *shapes, const RgLimits *limits,
	size_t n, RgDiags *diags);
