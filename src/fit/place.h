/* The arithmetic of placement: tasks on nodes of pools, as Ray counts resources (in steps of
 * 1/10000, its FixedPoint) and assigns GPUs: whole ones, or a fraction of one, which never spans
 * two. Independent of specs and catalogs; workloads.c translates. Pure: same input, same answer. */
#pragma once
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define RG_PLACE_ONE 10000 /* one GPU, one CPU, one of any resource */

/* Nodes that are equal while nothing runs on them. */
typedef struct {
	unsigned nodes, gpus;
	const int64_t *amounts; /* what a node has of each other resource; n_amounts of them */
} RgPlacePool;

/* What one bundle needs of a node's GPUs: `whole` of them, or `part` (1..9999) of one, or none. */
typedef struct {
	bool admitted;
	unsigned whole, part;
} RgPlaceNeed;

/* `units` times `bundles`, all bundles of a unit at once or none; `spread`: each of them on a
 * different node. */
typedef struct {
	unsigned units, bundles;
	bool spread;
	const RgPlaceNeed *on;	/* for each pool */
	const int64_t *amounts; /* of a bundle, n_amounts of them */
	const unsigned *order;	/* pools in order of preference; n_pools of them */
} RgPlaceTask;

typedef struct {
	const RgPlacePool *pools;
	const RgPlaceTask *tasks;
	unsigned n_pools, n_amounts, n_tasks;
} RgPlaceProblem;

/* GPUs of one pool after placing, in steps of 1/RG_PLACE_ONE. */
typedef struct {
	uint64_t total, used;
	uint64_t stranded; /* free, but on nodes where no bundle of any task fits any more */
} RgPlaceUse;

typedef struct {
	unsigned *units;   /* placed units of each task */
	uint64_t *bundles; /* of task t on pool p: [t * n_pools + p] */
	RgPlaceUse *use;   /* of each pool */
	bool all;	   /* every unit is placed */
	bool exact;	   /* `all` is certain; else a placement may exist that was not found */
} RgPlaced;

/* Bundles of a task that fit on an empty node of a pool. */
uint64_t rg_place_per_node(const RgPlaceProblem *problem, unsigned task, unsigned pool);
/* Units of one task that run at once if nothing else does; exact. */
uint64_t rg_place_alone(const RgPlaceProblem *problem, unsigned task);
/* All tasks at once: large and restricted ones first, each on the nodes where it leaves the least
 * (if they spread over nodes: where the most is left). If that does not place everything and the
 * problem is small (RG_PLACE_SMALL nodes and units), all placements are tried. */
#define RG_PLACE_SMALL 32
RgPlaced *rg_place_together(const RgPlaceProblem *problem);
/* Whether gangs (tasks of several units that are useful only if all run) can reach a state in which
 * each has some units and none has all: each in turn gets one, but never its last. `gangs`: indexes
 * of tasks. held[i] (of n) is how many units each then holds. A deadlock that is found is a real
 * one. */
bool rg_place_deadlock(
	const RgPlaceProblem *problem, const unsigned *gangs, size_t n, unsigned *held);

RgPlaced *rg_placed_new(const RgPlaceProblem *problem);
void rg_placed_free(RgPlaced *placed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgPlaced, rg_placed_free)
