/* The one table of the API's actions. */
#pragma once
#include "sim/call.h"

/* NULL when there is no such action in the version. */
const RgSimAction *rg_sim_action_find(const char *name, const char *version);
