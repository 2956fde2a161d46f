/* RunInstances. */
#pragma once
#include "sim/call.h"

bool rg_sim_run_instances(RgSimCall *call);
