/* Inside the packer: node.c says what one node holds, search.c fills the nodes, ask.c and solve.c
 * say with what, alone.c and place.c decide what has to be placed. */
#pragma once
#include "pack/place.h"

/* What is placed one by one. A unit of STRICT_PACK is one item; of any other task each part is, for
 * each kind of GPU if its units are alike. The bundles of STRICT_SPREAD units can be shared out so
 * that none has two on a node if no node has more of them than there are units (de Werra's
 * equitable edge colourings of bipartite graphs): `most` for all items with the same number in
 * `sharing`. */
typedef struct {
	unsigned task, part; /* the part's index in its task */
	unsigned kind;	     /* only pools of this kind; 0: any */
	bool is_unit;	     /* all parts at once */
	unsigned demand;     /* how many have to be placed */
	unsigned most;	     /* on one node; 0: any number */
	unsigned sharing;
	bool dealt;	   /* the search decides how many units run on which kind */
	unsigned per_unit; /* items of one unit */
} RgItem;

typedef struct {
	const RgPlaceProblem *problem;
	const RgItem *items;
	unsigned n_items;
	/* for rg_node_holds */
	int64_t *amounts;
	unsigned *sizes, *counts, *free;
	GHashTable *known; /* GBytes of fractions -> whether GPUs hold them */
	bool sure;	   /* false: not every way to divide the GPUs of a node was tried */
} RgNodeCheck;

void rg_node_check_init(
	RgNodeCheck *check, const RgPlaceProblem *problem, const RgItem *items, unsigned n_items);
void rg_node_check_clear(RgNodeCheck *check);
/* Every part of every task by itself, in the order of RgPlacedNodes.bundles. g_free the result. */
RgItem *rg_place_all_parts(const RgPlaceProblem *problem);
bool rg_item_is_admitted(const RgPlaceProblem *problem, const RgItem *item, unsigned pool);
/* Whether one node of the pool holds `n[i]` of each item. */
bool rg_node_holds(RgNodeCheck *check, unsigned pool, const unsigned *n);
/* The most of item `i` beside the others of `n`, whose own number is ignored, up to `limit`. */
unsigned rg_node_most(RgNodeCheck *check, unsigned pool, unsigned *n, unsigned i, unsigned limit);

/* problem.c */
bool rg_part_needs_gpus(const RgPlaceProblem *problem, const RgPlacePart *part);
/* Without GPUs nothing has to be alike. */
RgPlaceAlike rg_place_alike(const RgPlaceProblem *problem, unsigned task);
unsigned rg_place_last_kind(const RgPlaceProblem *problem);
unsigned rg_place_nodes(const RgPlaceProblem *problem); /* of all pools */

/* Tries ways to divide the units of groups over the kinds of GPU, until one fits. */
typedef struct RgQuestion RgQuestion;
typedef bool (*RgDivide)(RgQuestion *question);
/* ask.c: RgPlacedNodes* by part, with `units` of each task; NULL: not found. `divide` NULL: there
 * is nothing to divide. */
GPtrArray *rg_place_ask_all(
	const RgPlaceProblem *problem, const unsigned *units, RgDivide divide, bool *sure);
/* part.c: the same, on all nodes or on some of them. */
GPtrArray *rg_place_on_parts(
	const RgPlaceProblem *problem, const unsigned *units, RgDivide divide, bool *sure);
/* alone.c: units of a task alone, by trying, up to `most`. */
uint64_t rg_place_search_alone(const RgPlaceProblem *problem, const RgPlaceTask *wish,
	uint64_t most, RgDivide divide, bool *sure);
/* Units of the task that run at once on GPUs of that kind; *sure becomes false if more may. */
uint64_t rg_place_alone_on(const RgPlaceProblem *problem, unsigned task, unsigned kind, bool *sure);
/* solve.c: divides all groups that the search does not. */
bool rg_place_divide_units(RgQuestion *question);
/* rg_place_on_parts with it. */
GPtrArray *rg_place_solve(const RgPlaceProblem *problem, const unsigned *units, bool *sure);

/* tried.c: states that failed, `width` unsigned each, then the position. A state in which
 * something is at most what it is in another can only be easier. */
typedef struct {
	GHashTable *states; /* GBytes */
	GPtrArray **latest; /* of each position */
	unsigned width, positions;
} RgTried;

void rg_tried_init(RgTried *tried, unsigned width, unsigned positions);
void rg_tried_clear(RgTried *tried);
/* Whether it failed, or one that cannot be harder. */
bool rg_tried_has(const RgTried *tried, unsigned at, GBytes *state);
void rg_tried_add(RgTried *tried, unsigned at, GBytes *state);

/* price.c */
typedef struct {
	RgNodeCheck check;
	unsigned dimensions, *room, *order;
	double *size, *density;
	unsigned tried; /* for all answers so far */
} RgPricing;

void rg_pricing_init(
	RgPricing *pricing, const RgPlaceProblem *problem, const RgItem *items, unsigned n_items);
void rg_pricing_clear(RgPricing *pricing);
#define RG_PRICING_UNKNOWN INT64_MAX
/* No node of the pool holds items of more weight than this; `best` is the heaviest pattern that was
 * found in so many tries. */
int64_t rg_pricing_most(
	RgPricing *pricing, const int64_t *weight, unsigned pool, guint16 *best, unsigned tries);

/* glpk.c: runs `work`, which calls GLPK and keeps nothing that needs to be freed. False: GLPK
 * failed; until rg_bounds_release nothing of it may be called. */
bool rg_glpk_try(void (*work)(gpointer data), gpointer data);

/* count.c: whether the sums of what so many units need are more than the pools that admit
 * them have, by a proof. */
bool rg_place_refute_sums(const RgPlaceProblem *problem, const unsigned *units);

/* bound.c: proofs that items have no place. */
typedef struct RgBounds RgBounds;
/* What has to be placed: so many of each item, on so many nodes of each pool. */
typedef struct {
	const unsigned *need, *nodes;
	const unsigned *low, *high; /* [item * n_pools + pool]: at least, at most */
} RgRest;

RgBounds *rg_bounds_new(const RgPlaceProblem *problem, const RgItem *items, unsigned n_items);
void rg_bounds_free(RgBounds *bounds);
void rg_bounds_release(void); /* what the library keeps, when all bounds are freed */
/* Whether it has no place, by a proof that is known; then by one that is looked for. `steps`: what
 * is left of them. `on`, NULL or filled if it is not refuted: how many of each item are on each
 * pool if nodes are divided into fractions. */
bool rg_bounds_refute_again(const RgBounds *bounds, RgRest rest);
bool rg_bounds_refute(RgBounds *bounds, RgRest rest, double *on, unsigned *steps);
/* Whether the library could not solve the last program: then it was not refuted, and `on` says
 * nothing. */
bool rg_bounds_failed(const RgBounds *bounds);
/* After that: one of the patterns in use, by item, and its pool; on so many nodes. 0: none. */
double rg_bounds_pattern(RgBounds *bounds, GRand *rand, unsigned *pattern, unsigned *pool);

/* divide.c: how many of each item are on each pool ([item * n_pools + pool]) if nodes are
 * divided into fractions. False: it is proved that not all have a place. */
bool rg_place_divide(const RgPlaceProblem *problem, const RgItem *items, unsigned n_items,
	double *on, unsigned *steps);

/* dive.c: RgPlacedNodes* by item, or NULL if none were found. */
GPtrArray *rg_place_dive(
	const RgPlaceProblem *problem, const RgItem *items, unsigned n_items, unsigned *steps);

/* branch.c */
/* RgPlacedNodes* by item, or NULL; *sure is false if not everything was tried. */
GPtrArray *rg_place_branch(const RgPlaceProblem *problem, const RgItem *items, unsigned n_items,
	unsigned *steps, bool *sure);

/* halves.c: the nodes of one pool as two pools, 0 and 1. */
typedef struct {
	RgPlaceProblem problem;
	RgPlacePool pools[2];
	RgPlaceTask *tasks;
	RgPlacePart *parts;
	RgPlaceNeed *needs; /* two of each part */
} RgHalves;

void rg_halves_init(RgHalves *halves, const RgPlaceProblem *problem, unsigned pool);
void rg_halves_clear(RgHalves *halves);

/* search.c */
/* RgPlacedNodes* by item, or NULL; *sure is false if not everything was tried. `steps`: how many
 * may be taken; what is left of them. */
GPtrArray *rg_place_search(const RgPlaceProblem *problem, const RgItem *items, unsigned n_items,
	unsigned *steps, bool *sure);

/* Puts up to `units` more units of the task beside what `nodes` (RgPlacedNodes* by part, replaced)
 * hold; returns how many. `alike` of the task, 0 without GPUs; `kinds`: the last kind. */
unsigned rg_place_first_fit(const RgPlaceProblem *problem, GPtrArray **nodes, unsigned task,
	unsigned units, RgPlaceAlike alike, unsigned kinds);
