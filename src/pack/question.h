/* One question to the search (ask.c), and how units are divided over the kinds of GPU (solve.c). */
#pragma once
#include "pack/internal.h"

struct RgQuestion {
	const RgPlaceProblem *problem;
	const unsigned *units;
	unsigned n_kinds;
	unsigned *split;       /* [task * (n_kinds + 1) + kind]: units on each kind; 0: on any */
	unsigned steps, share; /* that are left; that one division may take */
	bool sure;
	bool deals;	     /* the search divides what it can */
	GHashTable *refuted; /* GBytes: divisions that certainly do not fit */
	RgItem *items;
	unsigned n_items;
	GPtrArray *found;
};

/* Whether the search decides on which kinds the units run. Not if bundles without GPUs spread
 * beside them, on nodes of any kind: then the groups are items of their own. */
bool rg_question_is_dealt(const RgQuestion *question, unsigned task);
/* Items of all tasks; those from `task` on may be on any kind. */
void rg_question_list(RgQuestion *question, unsigned task);
/* Whether all fits as it is divided in `split`. */
bool rg_question_ask(RgQuestion *question);
