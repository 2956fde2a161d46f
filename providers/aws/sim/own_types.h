/* Instance types that a scenario invents (`instance_types`, raygpu-scenario(5)), beside those of
 * data/: what DescribeInstanceTypes reports of them is made from the few figures that are given.
 * Checked with the scenario, entered at its start, forgotten by a reset. */
#pragma once
#include "aws/sim/data.h"

/* False and *problem (g_free), with the type's name, when a declaration can't be used. `types` may
 * be NULL. Reads only what never changes of `data`. */
bool rg_sim_own_types_check(const RgSimData *data, const json_t *types, char **problem);
/* Of a checked object, under RgSim's lock. A type of an earlier scenario is replaced. */
void rg_sim_own_types_add(RgSimData *data, const json_t *types);
void rg_sim_own_types_forget(RgSimData *data);
