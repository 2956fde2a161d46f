/* The documents of all clouds: found, changed and planned by place and kind, under RgSim's lock. A
 * planned change is a member of the document, "_due": {at, state}, so that a world file contains
 * it; the queue is only an index over these. */
#pragma once
#include "base/json.h"
#include "sim/core/sim.h"

void rg_sim_world_init(RgSim *sim);
/* No places, counter at 0. */
void rg_sim_world_clear(RgSim *sim);
void rg_sim_world_free(RgSim *sim);
/* Takes the time and drops what no reader can see any more. */
void rg_sim_world_enter(RgSim *sim);
/* Carries out what is due by sim->now_ms, each at its own time. */
void rg_sim_world_run(RgSim *sim);

/* The place with its initial documents, created on first use; NULL for an unknown name. */
RgSimPlace *rg_sim_place(RgSimRealm *realm, const char *name);
/* The same without the initial documents, for loading. */
RgSimPlace *rg_sim_place_bare(RgSimRealm *realm, const char *name);

/* The prefix plus 17 hex digits: the n-th id of a seed is always the same. g_free it. */
char *rg_sim_id(RgSim *sim, const char *prefix);
/* An id that depends only on the words, for what every world has (networks, images). g_free it. */
char *rg_sim_fixed_id(const char *prefix, const char *place, const char *word);

/* The current document, borrowed; NULL if absent. */
json_t *rg_sim_find(const RgSimPlace *place, unsigned kind, const char *id);
/* The first one whose member has this text. */
json_t *rg_sim_find_by(
	const RgSimPlace *place, unsigned kind, const char *member, const char *text);
/* The current documents in order of creation: *at starts at 0. NULL at the end. Changes during the
 * iteration are allowed. */
json_t *rg_sim_next(const RgSimPlace *place, unsigned kind, unsigned *at);
/* rg_sim_foreach (instance, place, KIND): the same as a loop. */
#define rg_sim_foreach(doc, place, kind)                                                           \
	for (unsigned doc##_at = 0, doc##_ends = 0; !doc##_ends; doc##_ends = 1)                   \
		for (json_t * doc; (doc = rg_sim_next(place, kind, &doc##_at));)
/* How many have this value as this member. */
gint64 rg_sim_count(
	const RgSimPlace *place, unsigned kind, const char *member, const json_t *value);
/* Creates or changes the document under its own id; takes it. */
void rg_sim_put(RgSimPlace *place, unsigned kind, json_t *doc);
void rg_sim_remove(RgSimPlace *place, unsigned kind, const char *id);
/* A copy to change and put back: members are shared, so replace them, never change them. */
json_t *rg_sim_edit(const RgSimPlace *place, unsigned kind, const char *id);
/* On a document being edited: what happens to it, and when; replaces an earlier plan. */
void rg_sim_plan(RgSimPlace *place, unsigned kind, json_t *doc, gint64 at_ms, const char *state);

/* For a loaded document: adds its planned change to the queue. */
void rg_sim_plan_known(RgSimPlace *place, unsigned kind, const json_t *doc);

/* Members of documents, knobs and rules. */
static inline const char *doc_str(const json_t *doc, const char *member)
{
	return rg_json_str(doc, member, "");
}
static inline gint64 doc_int(const json_t *doc, const char *member)
{
	return json_integer_value(json_object_get(doc, member));
}
/* The entry of a list whose member has this text; NULL: none. Borrowed. */
json_t *rg_sim_entry(const json_t *list, const char *member, const char *text);
static inline bool doc_is(const json_t *doc, const char *member)
{
	return json_is_true(json_object_get(doc, member));
}
