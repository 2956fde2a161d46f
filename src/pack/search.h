/* The state of one search (search.c), and what has room in it (room.c). */
#pragma once
#include "pack/internal.h"

#define RG_SEARCH_SIZES 4 /* ways to count fractions of GPUs */

typedef struct {
	RgNodeCheck check;
	const RgPlaceProblem *problem;
	RgItem *items; /* `most` of groups that are dealt out changes */
	unsigned n;
	unsigned *order; /* the pools as they are filled */
	unsigned *left;	 /* of each item, in this block of pools or anywhere */
	unsigned *units; /* of each task, on kinds that follow */
	unsigned *room;	 /* [item * n_pools + pool]: on an empty node */
	uint64_t *size;	 /* [item * RG_SEARCH_SIZES + way]: the least that one takes of any
			  * admitted pool's GPUs */
	bool *uses;	 /* [item * n_pools + pool] */
	RgTried tried;
	GPtrArray *found;	/* RgPlacedNodes*, by item */
	double *takes;		/* [item * n_amounts + amount] */
	double *amounts;	/* for has_capacity */
	unsigned *state, width; /* for what was tried */
	const RgItem *given;
	unsigned steps; /* that are left */
	bool sure;
} RgSearch;

void rg_search_begin(RgSearch *search);
void rg_search_end(RgSearch *search);
/* `at`: the position of a pool in the order of filling. */
unsigned rg_search_kind_at(const RgSearch *search, unsigned at);
/* Of an item on kinds that follow. */
unsigned rg_search_later(const RgSearch *search, unsigned i);
unsigned rg_search_room_on(const RgSearch *search, unsigned i, unsigned pool);
/* False: what is left has no place on `nodes` of the pool and on those that follow. */
bool rg_search_is_possible(RgSearch *search, unsigned at, unsigned nodes);
