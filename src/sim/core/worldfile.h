/* The world as a JSON file: {format, seed, counter, SECTION: {PLACE: {TABLE: [document]}}}, a
 * section for each cloud. A separate thread writes it to a temporary file, syncs and renames it a
 * moment after each change, so a reader always finds a complete world. */
#pragma once
#include "sim/core/sim.h"

/* The text of the file, g_free it. Call under the simulator's lock. */
char *rg_sim_worldfile_text(const RgSim *sim);
/* Fills an empty world; a missing file is an empty world. False and *problem (g_free). */
bool rg_sim_worldfile_load(RgSim *sim, const char *path, char **problem);

/* `sim` outlives the saver. */
RgSimSaver *rg_sim_saver_start(RgSim *sim, const char *path);
/* Reports the current version of the world; cheap, any thread, without the simulator's lock. */
void rg_sim_saver_wake(RgSimSaver *saver, guint64 changes);
/* Writes what has not been written yet, on the calling thread and without the simulator's lock. */
bool rg_sim_saver_flush(RgSimSaver *saver, char **problem);
/* Flushes, ends the thread, frees. */
bool rg_sim_saver_stop(RgSimSaver *saver, char **problem);
