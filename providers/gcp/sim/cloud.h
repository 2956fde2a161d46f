/* Google's Compute Engine and the token services beside it, simulated: a row in cmd/raygpu-sim's
 * table. */
#pragma once
#include "sim/core/cloud.h"

extern const RgSimCloud gcp_sim_cloud;
