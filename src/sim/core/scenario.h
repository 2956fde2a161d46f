/* What happens to the simulated cloud over time: knobs, faults and reclaims at given instants after
 * the start. Read once and checked whole (raygpu-scenario(5)); carried out by rg_sim_enter, so that
 * each request finds everything done that was due before it. Owned by RgSim, under its lock. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include "aws/sim/data.h"

typedef struct RgSimScenario RgSimScenario;
struct RgSim;

/* NULL and *problem (g_free), with the member's path, when the document is not a scenario; *pointer
 * (g_free; `pointer` may be NULL) is the JSON pointer of that member. Reads only what never changes
 * of `data`. */
RgSimScenario *rg_sim_scenario_new(
	const RgSimData *data, const json_t *document, char **problem, char **pointer);
/* The same from YAML or JSON text. *problem has a line for each finding, with file, line and
 * column; `file` is how it calls the text. scenario_file.c */
RgSimScenario *rg_sim_scenario_read(
	const RgSimData *data, const char *file, const char *text, size_t len, char **problem);
void rg_sim_scenario_free(RgSimScenario *scenario);
/* From the beginning, which is now: applies what holds at the start. */
void rg_sim_scenario_start(RgSimScenario *scenario, struct RgSim *sim);
/* Carries out the steps that are due. */
void rg_sim_scenario_run(RgSimScenario *scenario, struct RgSim *sim);
/* {started, elapsed_s, done, steps}; the caller owns it. */
json_t *rg_sim_scenario_json(const RgSimScenario *scenario, gint64 now_ms);
