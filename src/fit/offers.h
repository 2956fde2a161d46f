/* offers: which instance types, where, satisfy a request, ranked; and why the others do not. Used
 * by shapes.c (the plan's types) and `raygpu offers`. Pure; the same input gives the same order.
 * The caller owns the result, which borrows from the catalogs. */
#pragma once
#include "catalog/carbon.h"
#include "catalog/catalog.h"
#include "fit/rank.h"

/* A provider's catalog, and either one of its regions or all that have price rows. */
typedef struct {
	const char *provider;
	const RgCatalog *catalog;
	const char *region; /* NULL: all */
} RgPlace;

typedef struct {
	const GPtrArray *accelerators; /* RgAccelerator*, best first; NULL: any GPU */
	RgPriceKind market;	       /* whose price counts */
	int64_t max_microusd;	       /* on spot, per node and hour; 0: no limit */
	double min_gbps;	       /* sustained; 0: any */
	bool placement;		       /* can be placed as a cluster */
	bool rdma;		       /* has RDMA adapters */
	bool any_arch;		       /* not only x86_64, which the default images are for */
	/* no count means any, not 1; offers are compared by their price and carbon per GPU */
	bool any_count;
	RgOptimize optimize;
	const RgCarbon *carbon; /* NULL: no carbon figures are known */
	bool reserved;		/* in a reservation: on whatever market it is sold */
	bool rejected;		/* list the rejected ones too */
	const char *today;	/* old spot prices come after others; NULL: they do not */
} RgWish;

typedef struct {
	const char *provider, *region;
	const RgInstanceType *type;
	RgOfferState state;
	const RgPrice *on_demand, *spot; /* NULL: no row */
	int64_t price;			 /* of the requested market; RG_MONEY_UNKNOWN */
	RgCarbonHour carbon;
	unsigned preference; /* which of the requested accelerators it satisfies, from 0 */
	char *rejected;	     /* why not; NULL: it satisfies the request */
	unsigned nearness;   /* how close a rejected one came: more is closer */
} RgOffer;

/* RgOffer*: the matching ones, best first, then the rejected ones by price per GPU, provider,
 * region and type. Order: the first requested accelerator; offers with a price in the data, then
 * those with only a row, then the rest (old spot prices after others, with `today`); the
 * request's optimize; then price, provider, region, type. An unknown price counts as the type's
 * lowest anywhere, an unknown carbon figure as the worst. With `any_count`, price and carbon are
 * those of one GPU. */
GPtrArray *rg_offers_find(const RgWish *wish, const RgPlace *places, size_t n);

RgMerit rg_offer_merit(const RgOffer *offer);

/* Why the type does not satisfy the request anywhere; NULL: it does. The caller owns `why`. */
typedef struct {
	char *why;
	unsigned preference, nearness; /* as in RgOffer */
} RgVerdict;
RgVerdict rg_offers_judge(const RgWish *wish, const RgGpus *gpus, const RgInstanceType *type);
/* For a type's network alone: "25 Gbps of network, not >=100"; g_free the result, NULL: it is
 * sufficient. */
char *rg_offers_reject_network(const RgWish *wish, const RgInstanceType *type);

/* "not sold on demand, only on spot"; g_free the result, NULL: it is sold on that market. */
char *rg_offers_reject_market(RgPriceKind market, const RgInstanceType *type);

/* What a pool requests. `carbon` may be NULL. Borrows from all three. */
RgWish rg_wish_of_pool(const RgCluster *cluster, const RgPool *pool, const RgCarbon *carbon);
