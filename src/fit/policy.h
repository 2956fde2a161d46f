/* policy: what a spec and the project file allow, applied to the cluster and the instance types
 * that it resolves to. After shapes, before the cloud is asked: `validate` reports it too. Each
 * finding (policy.*, exit code 9) has the spec's line and the policy's. All policies apply, so none
 * loosens another. Pure. */
#pragma once
#include "fit/fit.h"
#include "spec/project.h"

/* false if anything is not allowed. */
bool rg_fit_check_policy(const RgCluster *cluster, const RgShapes *shapes, const RgLimits *limits,
	size_t n, RgDiags *diags);

/* How many nodes may be added to the cluster, at most `most`. */
uint64_t rg_fit_policy_room(
	const RgCluster *cluster, const RgLimits *limits, size_t n, uint64_t most);
