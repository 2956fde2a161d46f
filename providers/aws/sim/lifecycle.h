/* What happens by itself: pending -> running, stopping -> stopped, shutting-down -> terminated ->
 * gone, and a spot instance that the market takes. An instance's document says in "_due" what comes
 * next and when, so a world file carries it; the queue is only the index over that. */
#pragma once
#include "sim/core/world.h"

GSequence *rg_sim_lifecycle_queue_new(void);
/* Brings the world up to its `now_ms`. */
void rg_sim_lifecycle_run(RgSimWorld *world);
/* The instant of the next event; G_MAXINT64 when nothing is due. */
gint64 rg_sim_lifecycle_next(const RgSimWorld *world);
/* Fills the queue after loading a region, from "_due". */
void rg_sim_lifecycle_restore(RgSimWorld *world, RgSimRegion *region);

/* On a document being edited: its state from now on, and what follows after a time (NULL: nothing).
 * The caller puts it into the world. */
void rg_sim_instance_set_state(json_t *instance, const char *state);
void rg_sim_instance_plan(RgSimWorld *world, const RgSimRegion *region, json_t *instance,
	gint64 at_ms, const char *state);
json_t *rg_sim_state_json(const char *state);
const char *rg_sim_instance_state(const json_t *instance);
