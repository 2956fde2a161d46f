/* whole: what a cluster, or a pool of it, comes to at the place that holds, by the catalog alone:
 * what places are ranked by, and what elastic pools cost at their least and at their most. After
 * shapes; asks no cloud. Pure; borrows from the shapes' catalog. */
#pragma once
#include "catalog/carbon.h"
#include "fit/fit.h"
#include "fit/rank.h"

typedef struct {
	RgMerit merit;
	unsigned nodes, unpriced, uncounted;   /* of them without a price, without carbon */
	int64_t microusd_hour, carbon_mg_hour; /* of the others */
	const char *price_date;		       /* the newest; NULL: none */
	const char *unpriced_type;	       /* an instance type without a price; NULL: none */
} RgWhole;

/* Pools with a range count with their most nodes, or else with their least. `carbon` may be NULL.
 */
RgWhole rg_fit_whole(
	const RgCluster *cluster, const RgShapes *shapes, const RgCarbon *carbon, bool most);
/* Of one pool, "head" too. */
RgWhole rg_fit_whole_of(const RgCluster *cluster, const RgShapes *shapes, const RgCarbon *carbon,
	const char *pool, bool most);
/* Why the place lacks what the shapes require, as far as the catalog knows: "p4d.24xlarge (pool
 * train) is not offered in west-1". g_free; NULL: nothing is known to lack. */
char *rg_fit_whole_lacks(const RgCluster *cluster, const RgShapes *shapes);

/* The best of n merits, where admitted[i] holds; of equals the first. n: none is admitted. */
guint rg_fit_best(RgOptimize optimize, const RgMerit *merits, const bool *admitted, guint n);
