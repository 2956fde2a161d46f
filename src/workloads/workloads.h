/* Whether a cluster's workloads can run on it, where, how many at once, what stays unused, and
 * which options make Ray place them there. After rg_fit_shapes, independent of rg_fit: asks no
 * cloud, and its report (schemas/fit.schema.json) changes no node. Pure; same input, same bytes. */
#pragma once
#include "fit/policy.h"

/* A new reference, NULL if the spec has no workloads. fit.never, fit.gang-too-large and
 * fit.deadlock are errors, fit.short, fit.contended, fit.undecided, fit.leaves-nvlink,
 * fit.mixed-gpus and fit.strays warnings, each at the workload's line. What would help is within
 * the limits; with NULL for them it is not looked for, which is much cheaper. `only`: all are
 * placed, but this workload alone is reported, with the findings that concern it; NULL: each is. */
json_t *rg_fit_workloads(const RgCluster *cluster, const RgShapes *shapes, const RgLimits *limits,
	size_t n_limits, const char *only, RgDiags *diags);
/* What each pool lacks for the bundles of one workload (`explained` of the report); NULL and
 * fit.unknown-workload if there is none of that name. A new reference. */
json_t *rg_fit_explain(
	const RgCluster *cluster, const RgShapes *shapes, const char *workload, RgDiags *diags);
