/* Checks a request's parameters against the API's published description (data/requests.json):
 * names, types, short enumerations, required ones; and that the simulator acts on each of them. */
#pragma once
#include "sim/core/call.h"

/* False and UnknownParameter, InvalidParameterValue, MissingParameter, or UnsupportedOperation
 * (known to EC2, not simulated) on the call. */
bool rg_sim_model_check(RgSimCall *call);
