/* The simulator as a whole, without HTTP: the world of each cloud, knobs, faults, counters, and the
 * world file. One lock guards all of it; requests are short, so they take turns. Created by
 * cmd/raygpu-sim, served by server.h, used through call.h and control.h. */
#pragma once
#include <pthread.h>
#include "sim/core/faults.h"
#include "sim/core/table.h"

typedef struct RgSimCloud RgSimCloud;
typedef struct RgSimSaver RgSimSaver;
typedef struct RgSimScenario RgSimScenario;

typedef struct RgSim {
	const RgSimCloud *const *clouds; /* ends with NULL */
	gint stopping; /* atomic: requests in flight skip the rest of their latency */
	guint64 first_seed;
	json_t *first_knobs;  /* what a reset restores */
	pthread_mutex_t lock; /* guards everything below */
	json_t *knobs;	      /* {name: value}, never changed in place */
	RgSimFaults faults;
	json_t *counters;	 /* as GET /_sim/counters shows them */
	GHashTable *buckets;	 /* of rg_sim_take_tokens */
	RgSimScenario *scenario; /* NULL: none */
	GRand *random;
	guint64 requests;  /* numbers the request ids */
	RgSimSaver *saver; /* NULL without a world file */

	/* The world. */
	GPtrArray *realms; /* of RgSimRealm, one per cloud */
	guint64 seed;
	guint64 counter;   /* part of every generated id */
	gint64 now_ms;	   /* Unix time of the current request; never runs backwards */
	gint64 skipped_ms; /* part of it: how far it is ahead of its clients' time */
	gint64 keep_since_ms;
	GSequence *due;	 /* world.c's */
	guint64 changes; /* increases with each change; the saver compares it */
} RgSim;

/* A cloud in this simulator: its facts and its places. */
typedef struct {
	const RgSimCloud *cloud;
	RgSim *sim;
	void *data;
	GHashTable *places; /* name -> RgSimPlace */
} RgSimRealm;

/* A region, project or namespace of a cloud. Documents have the spelling of the cloud's answers;
 * members that begin with "_" are the simulator's and never leave through the API. */
typedef struct {
	RgSimRealm *realm;
	RgSim *sim;
	char *name;
	RgSimTable **tables; /* one for each kind of the cloud */
	void *own;	     /* the cloud's, such as an index over its documents */
} RgSimPlace;

/* Takes the knobs (NULL: the initial ones). `world_path` may be NULL; an existing file is loaded.
 * NULL and *problem (g_free) if that fails. */
RgSim *rg_sim_new(const RgSimCloud *const *clouds, guint64 seed, json_t *knobs,
	const char *world_path, char **problem);
/* Writes the world one last time. False and *problem if that fails. */
bool rg_sim_close(RgSim *sim, char **problem);

/* The time of the clients, of whose clocks POST /_sim/skip knows nothing; Unix seconds. */
static inline gint64 rg_sim_client_s(const RgSim *sim)
{
	return (sim->now_ms - sim->skipped_ms) / 1000;
}
/* Locks and advances the world to the present; unlocks and wakes the saver if something changed. */
void rg_sim_enter(RgSim *sim);
void rg_sim_leave(RgSim *sim);
/* Under the lock: takes the scenario (NULL: removes it) and starts it. */
void rg_sim_play(RgSim *sim, RgSimScenario *scenario);
/* Under the lock: an empty world, initial knobs, no faults, counters at 0; a scenario starts
 * over. */
void rg_sim_reset(RgSim *sim);
json_t *rg_sim_counters_new(void);
