/* Whether a cluster's workloads can run on it, where, how many at once, what stays unused, and
 * which options make Ray place them there. After rg_fit_shapes, independent of rg_fit: asks no
 * cloud, and its report (schemas/fit.schema.json) changes no node. Pure; same input, same bytes. */
#pragma once
#include "fit/fit.h"

/* A new reference, NULL if the spec has no workloads. fit.never, fit.gang-too-large and
 * fit.deadlock are errors, fit.short and fit.contended warnings, each at the workload's line. */
json_t *rg_fit_workloads(const RgCluster *cluster, const RgShapes *shapes, RgDiags *diags);
