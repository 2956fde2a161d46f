/* Who asks: the Authorization header of Signature Version 4. Form, scope, clock, access key,
 * session token and, unless the knob `verify` is 0, the signature over the request as it was sent.
 * Each service names the same refusals differently. */
#pragma once
#include "sim/core/call.h"
#include "sim/core/dispatch.h"

/* Sets *region (g_free) from the credential's scope and call->caller. False and an error on the
 * call otherwise. An action that carries its own proof may come unsigned: no caller then, and the
 * first region. */
bool rg_sim_auth_check(RgSimCall *call, const RgSimRequest *request, char **region);
