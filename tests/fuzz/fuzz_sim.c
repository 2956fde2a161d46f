/* What the simulator's control endpoint and its options take: knobs and faults, JSON; scenarios,
 * YAML. Changes are all or nothing, and what was taken can be told and taken again. */
#include "fuzz.h"
#include "sim/core/faults.h"
#include "sim/core/knobs.h"
#include "aws/sim/own_types.h"
#include "sim/core/scenario.h"

static void try_knobs(const json_t *given)
{
	RgSimKnobs knobs, again;
	g_autofree char *problem = NULL, *unused = NULL;
	rg_sim_knobs_init(&knobs);
	rg_sim_knobs_init(&again);
	json_t *before = rg_sim_knobs_json(&knobs);
	bool taken = rg_sim_knobs_apply(&knobs, given, &problem);
	json_t *after = rg_sim_knobs_json(&knobs);
	g_assert_true(taken == (!problem));
	g_assert_true(taken || json_equal(before, after));
	g_assert_true(rg_sim_knobs_apply(&again, after, &unused));
	rg_sim_knobs_capacity(&knobs, "p4d.24xlarge", "us-east-1a");
	rg_sim_knobs_lists(knobs.reject_access_keys, "AKIDEXAMPLE");
	json_decref(before);
	json_decref(after);
	rg_sim_knobs_clear(&knobs);
	rg_sim_knobs_clear(&again);
}

static void try_fault(const json_t *given)
{
	g_autofree char *problem = NULL;
	RgSimFaults *faults = rg_sim_faults_new();
	g_autoptr(GRand) random = g_rand_new_with_seed(1);
	gint64 id = rg_sim_faults_add(faults, given, &problem);
	g_assert_true((id != 0) == (!problem));
	for (int i = 0; i < 3; i++) {
		g_autoptr(RgSimFault) fault = rg_sim_faults_take(faults, "RunInstances", random);
		if (fault)
			rg_sim_fault_replaces(fault);
	}
	json_t *told = rg_sim_faults_json(faults);
	g_assert_nonnull(told);
	json_decref(told);
	rg_sim_faults_free(faults);
}

static RgSimData *sim_data(void)
{
	static RgSimData *data; /* made once: a fifth of a second */
	if (!data)
		data = rg_sim_data_new();
	return data;
}

static void try_scenario(const json_t *given)
{
	RgSimData *data = sim_data();
	g_autofree char *problem = NULL, *pointer = NULL;
	RgSimScenario *scenario = rg_sim_scenario_new(data, given, &problem, &pointer);
	g_assert_true((scenario != NULL) == (!problem));
	g_assert_true(!scenario || !pointer);
	if (scenario)
		rg_sim_own_types_add(data, json_object_get(given, "instance_types"));
	rg_sim_own_types_forget(data);
	json_decref(rg_sim_scenario_json(scenario, 0));
	rg_sim_scenario_free(scenario);
}

/* The same from text, which may be YAML. */
static void try_file(const char *text, size_t size)
{
	g_autofree char *problem = NULL;
	RgSimScenario *scenario = rg_sim_scenario_read(sim_data(), "f", text, size, &problem);
	g_assert_true((scenario != NULL) == (!problem));
	rg_sim_scenario_free(scenario);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_file((const char *)data, size);
	json_t *given = json_loadb((const char *)data, size, 0, NULL);
	if (!given)
		return 0;
	try_knobs(given);
	try_fault(given);
	try_scenario(given);
	json_decref(given);
	return 0;
}
