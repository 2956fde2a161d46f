/* The one table of the API's actions. */
#pragma once
#include "sim/core/call.h"

/* NULL when the service has no such action in the version; SSM's have none. */
const RgSimAction *rg_sim_action_find(const char *name, const char *version, RgSimService service);
