/* What happens to the simulated clouds over time: knobs, faults and reclaims at given instants
 * after the start. Read once and checked whole (raygpu-scenario(5)); carried out by rg_sim_enter,
 * so that each request finds everything done that was due before it. Owned by RgSim, under its
 * lock. */
#pragma once
#include "sim/core/sim.h"

/* Spot machines that the market takes back; borrows from the JSON that it was read from. */
typedef struct {
	const json_t *ids; /* NULL: any */
	const char *type;  /* these, too */
	const char *zone;
	json_int_t left;      /* how many it may still hit */
	json_int_t notice_ms; /* negative: the cloud's own */
} RgSimReclaim;

/* Announces the end of spot machines, {instance_ids, type, zone, count, notice_ms}. The ids of
 * those it hit, in every place of every cloud; NULL and *problem (g_free) when the rule is not one.
 */
json_t *rg_sim_reclaim(RgSim *sim, const json_t *rule, char **problem);

/* From YAML or JSON text. NULL and *problem (g_free) when it is not a scenario: a line for each
 * finding, with file, line and column; `file` is how it calls the text. */
RgSimScenario *rg_sim_scenario_read(
	const RgSim *sim, const char *file, const char *text, size_t len, char **problem);
void rg_sim_scenario_free(RgSimScenario *scenario);
/* From the beginning, which is now: applies what holds at the start. */
void rg_sim_scenario_start(RgSimScenario *scenario, RgSim *sim);
/* Carries out the steps that are due. */
void rg_sim_scenario_run(RgSimScenario *scenario, RgSim *sim);
/* {started, elapsed_s, done, steps}; the caller owns it. */
json_t *rg_sim_scenario_json(const RgSimScenario *scenario, gint64 now_ms);
