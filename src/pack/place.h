/* The arithmetic of placement: tasks on nodes of pools, as Ray counts resources (in steps of
 * 1/10000, its FixedPoint) and assigns GPUs: whole ones, or a fraction of one, which never spans
 * two. Independent of specs and catalogs; workloads/demand.c translates. Pure: same input, same
 * answer.
 */
#pragma once
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define RG_PLACE_ONE 10000 /* one GPU, one CPU, one of any resource */

/* Nodes that are equal while nothing runs on them. */
typedef struct {
	unsigned nodes, gpus;
	unsigned kind;		/* of its GPUs: equal numbers, equal GPUs; 0: it has none */
	const int64_t *amounts; /* what a node has of each other resource; n_amounts of them */
} RgPlacePool;

/* What one bundle needs of a node's GPUs: `whole` of them, or `part` (1..9999) of one, or none. */
typedef struct {
	bool admitted;
	unsigned whole, part;
} RgPlaceNeed;

/* Equal bundles of a unit. */
typedef struct {
	unsigned count;
	const RgPlaceNeed *on;	/* for each pool */
	const int64_t *amounts; /* of one bundle, n_amounts of them */
} RgPlacePart;

/* Where the bundles of a unit go, under Ray's names: on any nodes, each on another node, all on
 * one. SPREAD is a preference: what fits is the same as with PACK. */
typedef enum {
	RG_PLACE_PACK,
	RG_PLACE_SPREAD,
	RG_PLACE_STRICT_PACK,
	RG_PLACE_STRICT_SPREAD,
} RgPlaceStrategy;

/* Which bundles with GPUs must be on pools of one kind. */
typedef enum {
	RG_PLACE_ANY,
	RG_PLACE_UNIT_ALIKE, /* those of each unit */
	RG_PLACE_ALL_ALIKE,  /* those of all units */
} RgPlaceAlike;

/* All bundles of a unit run at once or none. */
typedef struct {
	unsigned units, n_parts;
	const RgPlacePart *parts;
	RgPlaceStrategy strategy;
	RgPlaceAlike alike;
} RgPlaceTask;

typedef struct {
	const RgPlacePool *pools;
	const RgPlaceTask *tasks; /* the first has precedence where not all fit */
	const unsigned *order;	  /* the pools in the order in which they are filled */
	unsigned n_pools, n_amounts, n_tasks;
	unsigned *steps; /* that all questions together may take; NULL: each has as many */
	bool trial;	 /* no verdict depends on the answer: a quick one is enough */
} RgPlaceProblem;

/* What one question may take: about a second for clusters of so many nodes, which is enough to
 * answer it, and less for larger ones. */
#define RG_PLACE_EXACT_NODES 32
#define RG_PLACE_EXACT_STEPS 200000
#define RG_PLACE_STEPS 40000
#define RG_PLACE_TRIAL_STEPS 8000 /* of a question whose answer no verdict depends on */

/* GPUs of one pool after placing, in steps of 1/RG_PLACE_ONE. */
typedef struct {
	uint64_t total, used;
	uint64_t stranded; /* free, but on nodes where no bundle with GPUs fits any more */
} RgPlaceUse;

/* Nodes of a pool that run the same. */
typedef struct {
	unsigned pool, nodes;
	unsigned bundles[]; /* on each node, of each part: those of task 0, of task 1, ... */
} RgPlacedNodes;

typedef struct {
	unsigned *units;   /* placed units of each task */
	bool *sure;	   /* of each task: whether all its units fit was decided */
	GPtrArray *nodes;  /* RgPlacedNodes* with bundles, in the order of filling */
	uint64_t *bundles; /* of task t on pool p: [t * n_pools + p] */
	RgPlaceUse *use;   /* of each pool */
	bool all;	   /* every unit is placed */
	bool exact;	   /* `all` is certain; else a placement may exist that was not found */
} RgPlaced;

/* Where the parts of a task begin in RgPlacedNodes.bundles; of n_tasks: how many there are. */
unsigned rg_place_first_part(const RgPlaceProblem *problem, unsigned task);
unsigned rg_place_bundles(const RgPlaceTask *task); /* of one unit */
/* Bundles of a part (index in its task) that fit on an empty node of a pool; of a STRICT_PACK task:
 * those of all its parts, in whole units. */
uint64_t rg_place_per_node(
	const RgPlaceProblem *problem, unsigned task, unsigned part, unsigned pool);
/* Units of one task that run at once if nothing else does. Exact if its bundles are equal; else the
 * most that the search finds. */
uint64_t rg_place_alone(const RgPlaceProblem *problem, unsigned task);
/* *sure is false if more units may fit than were found. */
uint64_t rg_place_alone_surely(const RgPlaceProblem *problem, unsigned task, bool *sure);
/* All tasks at once. If not all fit: those that fit completely, in their order; then of the others
 * as many units as fit, in their order. With more nodes the first task whose units change gets
 * more of them; later tasks may get fewer. */
RgPlaced *rg_place_together(const RgPlaceProblem *problem);
/* Whether `units` of each task fit at once. *sure is false if that was not found and not everything
 * was tried. */
bool rg_place_fits(const RgPlaceProblem *problem, const unsigned *units, bool *sure);
/* Whether gangs (tasks of several units that are useful only if all run) can reach a state in which
 * each has some units and none has all: each in turn gets one, but never its last. `gangs`: indexes
 * of tasks. held[i] (of n) is how many units each then holds. A deadlock that is found is a real
 * one. */
bool rg_place_deadlock(
	const RgPlaceProblem *problem, const unsigned *gangs, size_t n, unsigned *held);

void rg_placed_free(RgPlaced *placed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgPlaced, rg_placed_free)
