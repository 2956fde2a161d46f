/* What Ray's libraries are called with, so that workloads run where they were placed: a
 * ScalingConfig of Ray Train, the options of a Ray Serve deployment. After rg_fit_workloads, from
 * its report. Only options that the cluster's version of Ray has (catalog/data/ray_options.csv).
 * Pure. */
#pragma once
#include "fit/fit.h"

typedef enum { RG_EMIT_TRAIN, RG_EMIT_SERVE } RgEmit;

/* A new reference: {"cluster", "ray", "workloads": [{"workload", "entries": [{"pools", "replicas",
 * "arguments": {NAME: value}}]}]}, an entry for each form that a replica takes; `replicas` counts
 * training runs, or a deployment's replicas. What the library
 * cannot express is a warning, fit.not-expressible. */
json_t *rg_fit_emit(const RgCluster *cluster, const RgShapes *shapes, const json_t *report,
	RgEmit form, RgDiags *diags);
