/* Systems Manager's parameters: the public ones under /aws/service, which name a Region's newest
 * images, and those that the knob `parameters` adds. */
#pragma once
#include "sim/core/call.h"

bool rg_sim_get_parameter(RgSimCall *call);
bool rg_sim_get_parameters(RgSimCall *call);
