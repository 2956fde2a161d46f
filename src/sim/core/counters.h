/* How many requests came in, for tests that assert "no mutating call". Used under RgSim's lock. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include "sim/core/call.h"

typedef struct RgSimCounters RgSimCounters;

typedef enum {
	RG_SIM_COUNT_OK,
	RG_SIM_COUNT_ERROR,
	RG_SIM_COUNT_INJECTED, /* an injected fault answered */
} RgSimOutcome;

RgSimCounters *rg_sim_counters_new(void);
void rg_sim_counters_free(RgSimCounters *counters);
void rg_sim_counters_reset(RgSimCounters *counters);
/* `action` is NULL for a request that was refused before it had one (unknown, not signed). */
void rg_sim_counters_add(
	RgSimCounters *counters, const RgSimAction *action, bool dry_run, RgSimOutcome outcome);
json_t *rg_sim_counters_json(const RgSimCounters *counters);
