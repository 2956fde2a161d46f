/* catalog: which instance types a provider has, which GPUs they carry, what they cost where.
 * Read by fit. Does no I/O: texts come through a callback (embedded tables, or files the caller
 * read). A catalog owns all it hands out, never changes once opened, and may be read by any
 * thread at once. Opening parses the CSV files (milliseconds), so open it only when a command
 * needs it, and for one region where that will do. */
#pragma once
#include "base/diag.h"
#include "base/money.h"
#include "base/words.h"
#include "catalog/gpus.h"

typedef struct RgCatalog RgCatalog;

typedef enum {
	RG_PRICE_ON_DEMAND,
	RG_PRICE_SPOT,
} RgPriceKind;

/* RgInstanceType.markets: how it is sold. */
#define RG_SOLD(kind) (1u << (kind))
#define RG_SOLD_RESERVED (1u << 2)

typedef struct {
	const char *region;
	const char *zone; /* the cloud's own word for it, such as the zone's id; empty: all zones */
	RgPriceKind kind;
	int64_t microusd_hour; /* RG_MONEY_UNKNOWN: offered there, price not known */
	const char *quality;   /* "list", "derived", "observed", "negotiated", "unknown" */
	const char *date;      /* "2026-07-20", "2026-05", "2026"; NULL: an own one without date */
	const char *own; /* "raygpu.yaml:7", where the project file sets it; NULL: it doesn't */
} RgPrice;

typedef struct {
	const char *name, *family, *arch; /* arch: "x86_64" or "arm64" */
	unsigned vcpus;			  /* 0: not known */
	double memory_gib;		  /* 0: not known */
	const RgGpuModel *gpu;		  /* NULL on CPU types */
	unsigned gpus;
	double gpu_fraction;   /* 1 = whole GPUs; 0 on CPU types */
	double gpu_memory_gib; /* of each, as the cloud's API says */
	/* sustained, and at its best; 0: not known */
	double network_gbps, network_peak_gbps;
	unsigned rdma_adapters; /* that a node can have */
	unsigned markets;	/* RG_SOLD(kind), RG_SOLD_RESERVED */
	bool refuses_placement; /* cannot be placed in a cluster placement group */
	bool offers_known;	/* a region without a price row doesn't offer it */
	/* on-demand, where it is cheapest; RG_MONEY_UNKNOWN: no price is known anywhere */
	int64_t lowest_microusd_hour;
	const GPtrArray *prices; /* RgPrice*, by region, kind and zone */
	const char *own;	 /* "raygpu.yaml:5", where the project file says it; NULL: not */
} RgInstanceType;

/* How sure we are that a region has a type, best first. */
typedef enum {
	RG_OFFER_PRICED,
	RG_OFFER_UNPRICED,
	RG_OFFER_UNSEEN, /* the data say nothing about this pair: the cloud has to be asked */
	RG_OFFER_NONE,
} RgOfferState;

/* Where a catalog's rows come from. */
typedef struct {
	const char *provider; /* for messages, as are its words */
	const RgWords *words; /* NULL: the usual ones */
	bool no_regions;      /* prices and specs name none: its only region is "" */
	const char *region;   /* prices of this region only, which is several times as fast; NULL:
				 all */
	RgCatalogText text;
	void *data;
	RgGpus *gpus;	      /* shared with other catalogs, a reference is taken; NULL: its own */
	const RgOwnRows *own; /* NULL: none; with `gpus`, those were opened with it */
} RgCatalogSource;

/* Reads instance_types.csv (without it, nodes are shapes: shapes.c), prices.csv and, when there is
 * one, regions.csv (else the regions are those of the prices). NULL and catalog.bad-data
 * diagnostics with file and line when anything in them is wrong. */
RgCatalog *rg_catalog_open_from(const RgCatalogSource *source, RgDiags *diags);
/* The same with all regions and GPU models of its own. */
RgCatalog *rg_catalog_open(const char *provider, RgCatalogText text, void *data, RgDiags *diags);
void rg_catalog_free(RgCatalog *catalog);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgCatalog, rg_catalog_free)
/* RgCatalogText over a `const struct rg_embedded[]` given as data. */
const char *rg_catalog_embedded_text(void *table, const char *name, size_t *len);

/* The provider's words, for messages about it. */
const RgWords *rg_catalog_words(const RgCatalog *catalog);
/* The GPU models that its types carry; borrowed. */
const RgGpus *rg_catalog_get_gpus(const RgCatalog *catalog);
bool rg_catalog_has_region(const RgCatalog *catalog, const char *region);
/* By name; NULL when not known. */
const RgInstanceType *rg_catalog_find_type(const RgCatalog *catalog, const char *name);
/* All types, ordered by name; RgInstanceType*. */
const GPtrArray *rg_catalog_get_types(const RgCatalog *catalog);
/* The on-demand row of a type in a region; NULL when there is none. */
const RgPrice *rg_catalog_find_price(const RgInstanceType *type, const char *region);
/* Of several zones the cheapest, the first of them by name; NULL when there is none. */
const RgPrice *rg_catalog_find_price_of(
	const RgInstanceType *type, const char *region, RgPriceKind kind);
RgOfferState rg_catalog_offer_state(
	const RgCatalog *catalog, const RgInstanceType *type, const char *region);
/* "spot, reserved": g_free the result. */
char *rg_catalog_list_markets(const RgInstanceType *type);
/* Whether a spec's word for an accelerator ("A100", any case) means this model. */
bool rg_catalog_is_model(const RgCatalog *catalog, const char *word, const RgGpuModel *model);

/* The four below put their finding under `source`. */
bool rg_catalog_check_region(
	const RgCatalog *catalog, const char *region, RgSource source, RgDiags *diags);
const RgInstanceType *rg_catalog_get_type(
	const RgCatalog *catalog, const char *name, RgSource source, RgDiags *diags);
/* Whether anything is called so: false with catalog.unknown-accelerator. */
bool rg_catalog_check_accelerator(
	const RgCatalog *catalog, const char *word, RgSource source, RgDiags *diags);
/* The cheapest x86_64 type of the region with exactly `count` whole GPUs that `word` means: priced
 * ones first, by price; then unpriced, then unseen, by their lowest price anywhere; ties by name.
 * NULL with catalog.unknown-accelerator or catalog.no-offer, which names what exists. */
const RgInstanceType *rg_catalog_offer(const RgCatalog *catalog, const char *region,
	const char *word, unsigned count, RgSource source, RgDiags *diags);
