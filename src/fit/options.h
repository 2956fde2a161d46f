/* The Ray options of a workload that was placed. Inside of fit. */
#pragma once
#include "fit/demand.h"

/* [{"pools", "options", "placement_group"?}], one a set of pools on which the same is taken, of
 * those with use[pool]. A new reference. */
json_t *rg_fit_options(const RgDemand *demand, unsigned task, const bool *use);
