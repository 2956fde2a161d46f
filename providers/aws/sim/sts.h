/* The Security Token Service: who is asking, and temporary credentials. */
#pragma once
#include "sim/core/call.h"

bool rg_sim_caller_identity(RgSimCall *call);
bool rg_sim_assume_role(RgSimCall *call);
bool rg_sim_assume_role_web(RgSimCall *call);
bool rg_sim_session_token(RgSimCall *call);
