/* RunInstances. */
#pragma once
#include "sim/core/call.h"

bool rg_sim_run_instances(RgSimCall *call);
