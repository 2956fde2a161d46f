/* Who asks: the Authorization header of Signature Version 4. Form, key, scope and clock are checked
 * here; the signature itself is not. */
#pragma once
#include "sim/call.h"

/* Sets *region (g_free) from the credential's scope. False and an error on the call otherwise.
 * `header` and `date` (X-Amz-Date) may be NULL. */
bool rg_sim_auth_check(RgSimCall *call, const char *header, const char *date, char **region);
