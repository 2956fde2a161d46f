#include "sim/core/sim.h"
#include "sim/core/cloud.h"
#include "sim/core/world.h"
#include "sim/core/worldfile.h"

json_t *rg_sim_counters_new(void)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:{}}", "requests", 0, "reading", 0,
		"mutating", 0, "dry_run", 0, "errors", 0, "injected", 0, "refused", 0, "actions");
}

void rg_sim_reset(RgSim *sim)
{
	rg_sim_world_clear(sim);
	sim->now_ms -= sim->skipped_ms;
	sim->skipped_ms = 0;
	sim->seed = sim->first_seed;
	sim->changes++;
	json_decref(sim->knobs);
	sim->knobs = json_incref(sim->first_knobs);
	rg_sim_faults_clear(&sim->faults);
	json_decref(sim->counters);
	sim->counters = rg_sim_counters_new();
	g_hash_table_remove_all(sim->buckets);
	g_rand_set_seed(sim->random, (guint32)sim->first_seed);
	rg_ptr_foreach (RgSimRealm, realm, sim->realms) {
		if (realm->cloud->type_add)
			realm->cloud->type_add(realm->data, NULL, NULL);
	}
	if (sim->scenario)
		rg_sim_scenario_start(sim->scenario, sim);
}

static void sim_free(RgSim *sim)
{
	rg_sim_world_free(sim);
	json_decref(sim->knobs);
	json_decref(sim->first_knobs);
	rg_sim_faults_clear(&sim->faults);
	json_decref(sim->counters);
	g_hash_table_unref(sim->buckets);
	rg_sim_scenario_free(sim->scenario);
	g_rand_free(sim->random);
	pthread_mutex_destroy(&sim->lock);
	g_free(sim);
}

RgSim *rg_sim_new(const RgSimCloud *const *clouds, guint64 seed, json_t *knobs,
	const char *world_path, char **problem)
{
	json_set_alloc_funcs(g_malloc, g_free); /* so that g_free also frees json_dumps' results */
	RgSim *sim = g_new0(RgSim, 1);
	*sim = (RgSim){.clouds = clouds,
		.first_seed = seed,
		.first_knobs = knobs ? knobs : rg_sim_knobs_new(clouds),
		.buckets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
		.random = g_rand_new()};
	pthread_mutex_init(&sim->lock, NULL);
	rg_sim_world_init(sim);
	rg_sim_reset(sim);
	bool good = !world_path || rg_sim_worldfile_load(sim, world_path, problem);
	if (good && world_path) {
		sim->saver = rg_sim_saver_start(sim, world_path);
		good = rg_sim_saver_flush(sim->saver, problem);
		if (!good)
			rg_sim_saver_stop(sim->saver, NULL);
	}
	if (good)
		return sim;
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
	rg_sim_world_enter(sim);
	if (sim->scenario)
		rg_sim_scenario_run(sim->scenario, sim);
	rg_sim_world_run(sim);
}

void rg_sim_leave(RgSim *sim)
{
	guint64 changes = sim->changes;
	pthread_mutex_unlock(&sim->lock);
	if (sim->saver)
		rg_sim_saver_wake(sim->saver, changes);
}

void rg_sim_play(RgSim *sim, RgSimScenario *scenario)
{
	rg_sim_scenario_free(sim->scenario);
	sim->scenario = scenario;
	if (scenario)
		rg_sim_scenario_start(scenario, sim);
}
