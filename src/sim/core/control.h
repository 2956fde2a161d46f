/* The control endpoint, /_sim/: JSON in and out, unsigned. raygpu-sim(1) lists its paths. */
#pragma once
#include "sim/core/call.h"

void rg_sim_control(RgSim *sim, const RgSimRequest *request, RgSimReply *reply);
