/* whole: what a cluster, or a pool of it, costs and emits at the chosen place, from the catalog
 * alone: used to rank places, and for the cost of elastic pools at their minimum and maximum. After
 * shapes; asks no cloud. Pure; borrows from the shapes' catalog. */
#pragma once
#include "catalog/carbon.h"
#include "fit/fit.h"
#include "fit/rank.h"

typedef struct {
	RgMerit merit;
	unsigned gpus;			       /* of all nodes */
	unsigned nodes, unpriced, uncounted;   /* of them without a price, without carbon figures */
	int64_t microusd_hour, carbon_mg_hour; /* of the others */
	const char *price_date, *oldest_date;  /* of the newest and oldest price; NULL: none */
	unsigned derived;		       /* nodes whose price is derived from others */
	const char *unpriced_type;	       /* an instance type without a price; NULL: none */
	bool unpriced_spot;		       /* it lacks that of spot */
} RgWhole;

/* Elastic pools count with their maximum, or else with their minimum. `carbon` may be NULL. */
RgWhole rg_fit_whole(
	const RgCluster *cluster, const RgShapes *shapes, const RgCarbon *carbon, bool most);
/* For one pool, including "head". */
RgWhole rg_fit_whole_of(const RgCluster *cluster, const RgShapes *shapes, const RgCarbon *carbon,
	const char *pool, bool most);
/* Why the place lacks what the shapes require, as far as the catalog knows: "p4d.24xlarge (pool
 * train) is not offered in west-1". g_free; NULL: nothing is known to be missing. */
char *rg_fit_whole_lacks(const RgCluster *cluster, const RgShapes *shapes);

/* The best of n merits, where admitted[i] is true; of equals the first. n: none is admitted. */
guint rg_fit_best(RgOptimize optimize, const RgMerit *merits, const bool *admitted, guint n);
