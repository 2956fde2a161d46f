/* Inside placement: layout.c tracks what runs on which nodes, place.c fills it greedily,
 * place_search.c tries everything. */
#pragma once
#include "fit/place.h"

/* Nodes of a pool that run the same. state: used fractions of each GPU, descending (GPUs of a node
 * are identical), then what is left of each amount. */
typedef struct {
	unsigned pool, count;
	int64_t state[];
} RgNodes;

typedef struct {
	const RgPlaceProblem *problem;
	GPtrArray *groups; /* RgNodes*, no two with equal pool and state, none empty */
} RgLayout;

RgLayout *rg_layout_new(const RgPlaceProblem *problem);
RgLayout *rg_layout_copy(const RgLayout *layout);
void rg_layout_free(RgLayout *layout);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgLayout, rg_layout_free)

/* A state with one more bundle, for a fraction on the GPU `device` (-1: the fullest that has room).
 * False if it does not fit; `state` is then unchanged. */
bool rg_state_add(const RgLayout *layout, unsigned pool, unsigned task, int device, int64_t *state);
/* How many more bundles of the task fit on a node of the group. */
uint64_t rg_nodes_room(const RgLayout *layout, const RgNodes *nodes, unsigned task);
/* Moves `count` nodes of the group to the state with `bundles` more of the task. The group may no
 * longer exist afterwards. */
void rg_layout_add(
	RgLayout *layout, RgNodes *nodes, unsigned count, unsigned task, uint64_t bundles);
/* Moves one node of the group to a given state. */
void rg_layout_set(RgLayout *layout, RgNodes *nodes, const int64_t *state);
size_t rg_state_width(const RgPlaceProblem *problem, unsigned pool);
/* Used fractions of a node's GPUs. */
uint64_t rg_nodes_used(const RgLayout *layout, const RgNodes *nodes);

/* Tasks in placement order. g_free the result. */
unsigned *rg_place_order(const RgPlaceProblem *problem);
/* Every unit of every task placed, or NULL; *sure is false if not everything was tried. */
RgLayout *rg_place_search(const RgPlaceProblem *problem, RgPlaced *placed, bool *sure);
