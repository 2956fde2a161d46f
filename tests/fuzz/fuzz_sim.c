/* The input of the simulator's control endpoint and options: knobs and faults, JSON; scenarios,
 * YAML. Changes are all or nothing, and what was accepted can be printed and accepted again. */
#include "aws/sim/cloud.h"
#include "fuzz.h"
#include "gcp/sim/cloud.h"
#include "sim/core/faults.h"
#include "sim/core/knobs.h"
#include "sim/core/scenario.h"

static const RgSimCloud *const clouds[] = {&gcp_sim_cloud, &aws_sim_cloud, NULL};

static void try_knobs(const json_t *given)
{
	g_autofree char *problem = NULL, *unused = NULL;
	json_auto_t *before = rg_sim_knobs_new(clouds), *copy = json_deep_copy(before);
	json_auto_t *after = rg_sim_knobs_change(clouds, before, given, &problem);
	g_assert_true((after != NULL) == !problem);
	g_assert_true(json_equal(before, copy));
	if (!after)
		return;
	json_auto_t *again = rg_sim_knobs_change(clouds, before, after, &unused);
	g_assert_true(json_equal(again, after));
	bool of_market;
	rg_sim_knobs_capacity(after, "p4d.24xlarge", "spot", "us-east-1a", &of_market);
	rg_sim_knobs_lists(json_object_get(after, "reject_access_keys"), "AKIDEXAMPLE");
}

static void try_fault(const json_t *given)
{
	g_autofree char *problem = NULL;
	RgSimFaults faults = {0};
	g_autoptr(GRand) random = g_rand_new_with_seed(1);
	gint64 id = rg_sim_faults_add(&faults, given, &problem);
	g_assert_true((id != 0) == !problem);
	for (int i = 0; i < 3; i++) {
		json_auto_t *fault = rg_sim_faults_take(&faults, "RunInstances", random);
		if (fault)
			rg_sim_fault_replaces(fault);
	}
	rg_sim_faults_clear(&faults);
}

/* A scenario, from YAML or JSON: runs if it is accepted. */
static void try_scenario(const char *text, size_t size)
{
	static RgSim *sim; /* created once: this takes a fifth of a second */
	g_autofree char *problem = NULL;
	if (!sim)
		sim = rg_sim_new(clouds, 1, NULL, NULL, &problem);
	RgSimScenario *scenario = rg_sim_scenario_read(sim, "f", text, size, &problem);
	g_assert_true((scenario != NULL) == !problem);
	rg_sim_enter(sim);
	rg_sim_play(sim, scenario);
	json_decref(rg_sim_scenario_json(scenario, 0));
	rg_sim_play(sim, NULL);
	rg_sim_reset(sim);
	rg_sim_leave(sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_scenario((const char *)data, size);
	json_auto_t *given = json_loadb((const char *)data, size, 0, NULL);
	if (!given)
		return 0;
	try_knobs(given);
	try_fault(given);
	return 0;
}
