/* offers: which instance types, where, satisfy a wish, ranked; and why the others don't. Between
 * catalogs and whoever chooses: shapes.c (the plan's types) and `raygpu offers`. Pure; the same
 * input gives the same order. The caller owns the result, which borrows from the catalogs. */
#pragma once
#include "catalog/carbon.h"
#include "catalog/catalog.h"
#include "fit/rank.h"

/* A provider's catalog, and of it one region or all that have price rows. */
typedef struct {
	const char *provider;
	const RgCatalog *catalog;
	const char *region; /* NULL: all */
} RgPlace;

typedef struct {
	const GPtrArray *accelerators; /* RgAccelerator*, best first; NULL: any GPU */
	RgPriceKind market;	       /* whose price counts */
	int64_t max_microusd;	       /* on spot, of a node an hour; 0: no limit */
	double min_gbps;	       /* sustained; 0: any */
	bool placement;		       /* can be placed as a cluster */
	bool rdma;		       /* has RDMA adapters */
	bool any_arch;		       /* not for x86_64 alone, which the default images are for */
	RgOptimize optimize;
	const RgCarbon *carbon; /* NULL: no carbon is known */
	bool rejected;		/* list the rejected too */
} RgWish;

typedef struct {
	const char *provider, *region;
	const RgInstanceType *type;
	RgOfferState state;
	const RgPrice *on_demand, *spot; /* NULL: no row */
	int64_t price;			 /* of the wish's market; RG_MONEY_UNKNOWN */
	RgCarbonHour carbon;
	unsigned preference; /* which of the wish's accelerators it satisfies, from 0 */
	char *rejected;	     /* why not; NULL: it satisfies the wish */
	unsigned nearness;   /* how far a rejected one came: more is nearer */
} RgOffer;

/* RgOffer*: the satisfying ones, best first, then the rejected by provider, region and type.
 * Best: the first accelerator of the wish; what the data have a price for, then what they only
 * have a row for, then the rest; by the wish's optimize; then by price, provider, region, type. An
 * unknown price counts as the type's lowest anywhere, an unknown carbon figure as the worst. */
GPtrArray *rg_offers_find(const RgWish *wish, const RgPlace *places, size_t n);

RgMerit rg_offer_merit(const RgOffer *offer);

/* Why the type does not satisfy the wish anywhere, NULL: it does. `why` is the caller's. */
typedef struct {
	char *why;
	unsigned preference, nearness; /* as in RgOffer */
} RgVerdict;
RgVerdict rg_offers_judge(const RgWish *wish, const RgGpus *gpus, const RgInstanceType *type);
/* Of a type's network alone: "25 Gbps of network, not >=100"; g_free the result, NULL: it suffices.
 */
char *rg_offers_reject_network(const RgWish *wish, const RgInstanceType *type);

/* "not sold on demand, only on spot"; g_free the result, NULL: it is sold so. */
char *rg_offers_reject_market(RgPriceKind market, const RgInstanceType *type);

/* What a pool asks for. `carbon` may be NULL. Borrows from all three. */
RgWish rg_wish_of_pool(const RgCluster *cluster, const RgPool *pool, const RgCarbon *carbon);
