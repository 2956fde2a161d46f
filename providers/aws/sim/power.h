/* Stopping, starting, rebooting and ending instances. */
#pragma once
#include "sim/core/call.h"

bool rg_sim_terminate_instances(RgSimCall *call);
bool rg_sim_stop_instances(RgSimCall *call);
bool rg_sim_start_instances(RgSimCall *call);
bool rg_sim_reboot_instances(RgSimCall *call);
