/* rank: which of several ways to get something is best, by one rule for instance types of a pool
 * (offers.c) and for places of a whole cluster (whole.h). Pure figures, nothing is owned. */
#pragma once
#include "spec/cluster.h"

/* What one way is ranked by, in this order; what is unknown is INT64_MAX and so the worst. */
typedef struct {
	unsigned preference; /* which of the accelerators asked for it has: 0, the first */
	int sureness; /* 0 priced in its market, 1 known to be there, 2 the cloud has to be asked */
	int64_t microusd_hour, carbon_mg_hour;
	unsigned guessed; /* nodes whose price is another place's; fewer are better between equals
			   */
} RgMerit;

/* A way without anything: what sums begin with. */
RgMerit rg_merit_none(void);
/* The least figures of each, for the balance; `least` begins as rg_merit_worst. */
RgMerit rg_merit_worst(void);
void rg_merit_note_least(RgMerit *least, const RgMerit *merit);
/* Of `n` such nodes more; unknown stays unknown, and of the sureness the worst counts. */
void rg_merit_add(RgMerit *sum, const RgMerit *each, unsigned n);
/* < 0: a is better. `least`: of those with the same preference. Equal figures compare as 0: the
 * caller's own order decides. */
int rg_merit_compare(RgOptimize optimize, const RgMerit *least, const RgMerit *a, const RgMerit *b);
/* "cheapest", "least carbon", "best balance of price and carbon". */
const char *rg_merit_word(RgOptimize optimize);
