/* The simulator as a whole, without HTTP: world, knobs, faults, counters, and the file that keeps
 * the world. One lock guards all of it; requests are short, so they take turns. Made by
 * cmd/raygpu-sim, served by server.h, asked by dispatch.h and control.h. */
#pragma once
#include <pthread.h>
#include "sim/core/counters.h"
#include "sim/core/faults.h"
#include "sim/core/knobs.h"
#include "sim/core/scenario.h"
#include "aws/sim/throttle.h"
#include "sim/core/world.h"
#include "sim/core/worldfile.h"

typedef struct RgSim {
	RgSimData *data;
	gint stopping; /* atomic: requests in flight end without the rest of their latency */
	guint64 seed;
	RgSimKnobs first_knobs; /* what a reset goes back to */
	pthread_mutex_t lock;	/* guards everything below */
	RgSimWorld *world;
	RgSimKnobs knobs;
	RgSimFaults *faults;
	RgSimCounters *counters;
	RgSimThrottle *throttle;
	RgSimScenario *scenario; /* NULL: none */
	GRand *random;
	guint64 requests;  /* numbers the request ids */
	RgSimSaver *saver; /* NULL without a world file */
} RgSim;

/* Takes over the knobs' values. `world_path` may be NULL; an existing file is loaded. NULL and
 * *problem (g_free) when it can't be. */
RgSim *rg_sim_new(guint64 seed, const RgSimKnobs *knobs, const char *world_path, char **problem);
/* Writes the world a last time. False and *problem when that failed. */
bool rg_sim_close(RgSim *sim, char **problem);

/* Locks and brings the world to the present; unlocks and wakes the saver if something changed. */
void rg_sim_enter(RgSim *sim);
void rg_sim_leave(RgSim *sim);
/* Takes the scenario (NULL: none any more) and starts it. Takes the lock. */
void rg_sim_play(RgSim *sim, RgSimScenario *scenario);
/* An empty world, first knobs, no faults, counters at 0; a scenario starts over. Takes the lock. */
void rg_sim_reset(RgSim *sim);
