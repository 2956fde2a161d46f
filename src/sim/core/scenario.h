/* What happens to the simulated clouds over time: knobs, faults and reclaims at given times after
 * the start. Read once and checked completely (raygpu-scenario(5)); rg_sim_enter carries the steps
 * out, so that each request sees the result of everything that was due before it. Owned by RgSim,
 * under its lock. */
#pragma once
#include "sim/core/sim.h"

/* Spot machines to reclaim; borrows from the JSON that it was read from. */
typedef struct {
	const json_t *ids; /* NULL: any */
	const char *type;  /* these, too */
	const char *zone;
	json_int_t left;      /* how many more it may affect */
	json_int_t notice_ms; /* negative: the cloud's default */
} RgSimReclaim;

/* Announces the end of spot machines, {instance_ids, type, zone, count, notice_ms}. Returns the ids
 * of the affected ones, in every place of every cloud; NULL and *problem (g_free) if the rule is
 * invalid. */
json_t *rg_sim_reclaim(RgSim *sim, const json_t *rule, char **problem);

/* From YAML or JSON text. NULL and *problem (g_free) if it is not a scenario: a line for each
 * finding, with file, line and column; `file` is the name of the text. */
RgSimScenario *rg_sim_scenario_read(
	const RgSim *sim, const char *file, const char *text, size_t len, char **problem);
void rg_sim_scenario_free(RgSimScenario *scenario);
/* Starts now, from the beginning: applies what is set at the start. */
void rg_sim_scenario_start(RgSimScenario *scenario, RgSim *sim);
/* Carries out the steps that are due. */
void rg_sim_scenario_run(RgSimScenario *scenario, RgSim *sim);
/* {started, elapsed_s, done, steps}; the caller owns it. */
json_t *rg_sim_scenario_json(const RgSimScenario *scenario, gint64 now_ms);
