/* The account's vCPU quotas, per instance family and market, as the knob `quotas` sets them.
 * Families and codes: Service Quotas, service "ec2" (contracts/gpu/quotas.csv names where they were
 * seen). */
#pragma once
#include "sim/core/call.h"

/* "L-417A185B"; NULL for families without a quota here. */
const char *rg_sim_quota_code(const char *type, bool spot);
bool rg_sim_quota_is_code(const char *word);
/* vCPUs that are left under the code; G_MAXINT64 when nothing limits it. Pending, running and
 * ending instances count. */
gint64 rg_sim_quota_left(const RgSimCall *call, const char *code);
bool rg_sim_quota_fail(RgSimCall *call, const char *code);
