/* rank: which of several alternatives is best, by one rule for instance types of a pool (offers.c)
 * and for places of a whole cluster (whole.h). Pure figures; owns nothing. */
#pragma once
#include "spec/cluster.h"

/* What an alternative is ranked by, in this order; an unknown figure is INT64_MAX and so the
 * worst. */
typedef struct {
	unsigned preference; /* which of the requested accelerators it has: 0, the first */
	int sureness; /* 0 priced in its market, 1 known to exist, 2 the cloud must be asked */
	int64_t microusd_hour, carbon_mg_hour;
	unsigned guessed; /* nodes whose price is another place's; between equals, fewer are better
			   */
} RgMerit;

/* An empty alternative: the start of a sum. */
RgMerit rg_merit_none(void);
/* The lowest of each figure, for the balance; `least` starts as rg_merit_worst. */
RgMerit rg_merit_worst(void);
void rg_merit_note_least(RgMerit *least, const RgMerit *merit);
/* Adds `n` such nodes; an unknown figure stays unknown, and the worst certainty counts. */
void rg_merit_add(RgMerit *sum, const RgMerit *each, unsigned n);
/* < 0: a is better. `least`: of those with the same preference. Equal figures compare as 0: then
 * the caller's own order decides. */
int rg_merit_compare(RgOptimize optimize, const RgMerit *least, const RgMerit *a, const RgMerit *b);
/* "cheapest", "least carbon", "best balance of price and carbon". */
const char *rg_merit_word(RgOptimize optimize);
