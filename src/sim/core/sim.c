#include "sim/core/sim.h"
#include "aws/sim/lifecycle.h"
#include "aws/sim/own_types.h"

static void start_over(RgSim *sim)
{
	rg_sim_world_free(sim->world);
	sim->world = rg_sim_world_new(sim->data, sim->seed);
	rg_sim_knobs_clear(&sim->knobs);
	rg_sim_knobs_copy(&sim->knobs, &sim->first_knobs);
	rg_sim_faults_clear(sim->faults);
	rg_sim_counters_reset(sim->counters);
	rg_sim_throttle_clear(sim->throttle);
	g_rand_set_seed(sim->random, (guint32)sim->seed);
	rg_sim_own_types_forget(sim->data);
	if (sim->scenario)
		rg_sim_scenario_start(sim->scenario, sim);
}

static void sim_free(RgSim *sim)
{
	rg_sim_world_free(sim->world);
	rg_sim_knobs_clear(&sim->knobs);
	rg_sim_knobs_clear(&sim->first_knobs);
	rg_sim_faults_free(sim->faults);
	rg_sim_counters_free(sim->counters);
	rg_sim_throttle_free(sim->throttle);
	rg_sim_scenario_free(sim->scenario);
	g_rand_free(sim->random);
	pthread_mutex_destroy(&sim->lock);
	rg_sim_data_free(sim->data);
	g_free(sim);
}

RgSim *rg_sim_new(guint64 seed, const RgSimKnobs *knobs, const char *world_path, char **problem)
{
	RgSim *sim = g_new0(RgSim, 1);
	sim->data = rg_sim_data_new();
	sim->seed = seed;
	pthread_mutex_init(&sim->lock, NULL);
	rg_sim_knobs_copy(&sim->first_knobs, knobs);
	sim->faults = rg_sim_faults_new();
	sim->counters = rg_sim_counters_new();
	sim->throttle = rg_sim_throttle_new();
	sim->random = g_rand_new_with_seed((guint32)seed);
	start_over(sim);
	if (world_path && !rg_sim_worldfile_load(sim->world, world_path, problem)) {
		sim_free(sim);
		return NULL;
	}
	if (!world_path)
		return sim;
	sim->saver = rg_sim_saver_start(sim, world_path);
	if (rg_sim_saver_flush(sim->saver, problem))
		return sim;
	rg_sim_saver_stop(sim->saver, NULL);
	sim_free(sim);
	return NULL;
}

bool rg_sim_close(RgSim *sim, char **problem)
{
	bool saved = !sim->saver || rg_sim_saver_stop(sim->saver, problem);
	sim_free(sim);
	return saved;
}

void rg_sim_enter(RgSim *sim)
{
	pthread_mutex_lock(&sim->lock);
	rg_sim_world_enter(sim->world, sim->knobs.consistency_ms);
	if (sim->scenario)
		rg_sim_scenario_run(sim->scenario, sim);
	rg_sim_lifecycle_run(sim->world);
}

void rg_sim_leave(RgSim *sim)
{
	guint64 changes = sim->world->changes;
	pthread_mutex_unlock(&sim->lock);
	if (sim->saver)
		rg_sim_saver_wake(sim->saver, changes);
}

void rg_sim_play(RgSim *sim, RgSimScenario *scenario)
{
	rg_sim_enter(sim);
	rg_sim_scenario_free(sim->scenario);
	sim->scenario = scenario;
	if (scenario)
		rg_sim_scenario_start(scenario, sim);
	rg_sim_leave(sim);
}

void rg_sim_reset(RgSim *sim)
{
	rg_sim_enter(sim);
	guint64 changes = sim->world->changes;
	start_over(sim);
	sim->world->changes = changes + 1;
	rg_sim_leave(sim);
}
