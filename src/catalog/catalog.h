/* catalog: which instance types a provider has, their GPUs, and what they cost where. Read by fit.
 * Does no I/O: texts come through a callback (embedded tables, or files that the caller read). A
 * catalog owns everything it returns, is immutable once opened, and may be read by any thread at
 * once. Opening parses the CSV files (milliseconds), so open it only when a command needs it, and
 * for one region if that is enough. */
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
	const char *zone; /* the cloud's own name for it, such as the zone's id; empty: all zones */
	RgPriceKind kind;
	int64_t microusd_hour;	   /* RG_MONEY_UNKNOWN: offered there, price unknown */
	int64_t discount_microusd; /* which the project file's discount took off; 0: none */
	const char *quality;	   /* "list", "derived", "observed", "negotiated", "unknown" */
	const char *date;	   /* "2026-07-20", "2026"; NULL: own, without date */
	const char *own;	   /* "raygpu.yaml:7", if the project file sets it; else NULL */
	bool is_current; /* an inventory's: what it says now is also the price of existing nodes */
} RgPrice;

typedef struct {
	const char *name, *family, *arch; /* arch: "x86_64" or "arm64" */
	unsigned vcpus;			  /* 0: unknown */
	double memory_gib;		  /* 0: unknown */
	const RgGpuModel *gpu;		  /* NULL for CPU types */
	unsigned gpus;
	double gpu_fraction;	 /* 1 = whole GPUs; 0 for CPU types */
	unsigned gpu_memory_mib; /* of each GPU or slice, from its model: the same in all clouds */
	/* sustained, and peak; 0: unknown */
	double network_gbps, network_peak_gbps;
	unsigned rdma_adapters; /* that a node can have */
	unsigned markets;	/* RG_SOLD(kind), RG_SOLD_RESERVED */
	bool refuses_placement; /* cannot be placed in a cluster placement group */
	bool described;		/* by the cloud: no table has it */
	bool offers_known;	/* a region without a price row does not offer it */
	/* on-demand, where it is cheapest; RG_MONEY_UNKNOWN: no price is known anywhere */
	int64_t lowest_microusd_hour;
	const GPtrArray *prices; /* RgPrice*, by region, kind and zone */
	const char *own;	 /* "raygpu.yaml:5", if the project file defines it; else NULL */
	unsigned rank; /* of shapes: their models' order in gpu_models.csv, then their GPUs; else 0
			*/
} RgInstanceType;
/* Among equally good ones: by rank, then by name. */
int rg_instance_type_compare(const RgInstanceType *a, const RgInstanceType *b);

/* A type that the cloud no longer sells; it is not among the catalog's types. */
typedef struct {
	const char *name;
	const RgGpuModel *gpu;	     /* NULL: none, or one that the catalog does not have */
	const char *since, *gone_by; /* the day, or the month by which it was gone; or empty */
	const char *replaced_by;     /* types, separated by bars */
} RgRetiredType;

/* Where the prices of that kind, quality and date are from; texts as in prices.csv. */
typedef struct {
	const char *kind, *quality, *date, *source;
} RgPriceSource;

/* How certain it is that a region has a type, best first. */
typedef enum {
	RG_OFFER_PRICED,
	RG_OFFER_UNPRICED,
	RG_OFFER_UNSEEN, /* the data have nothing about this pair: the cloud must be asked */
	RG_OFFER_NONE,
} RgOfferState;

/* Where a catalog's rows come from. */
typedef struct {
	const char *provider; /* for messages, together with its words */
	const RgWords *words; /* NULL: the usual ones */
	bool no_regions;      /* prices and specs name no region: its only one is "" */
	bool asks_types;      /* the cloud can describe types that no table has */
	const char *region;   /* prices of this region only, which loads several times faster; NULL:
				 all */
	RgCatalogText text;
	void *data;
	RgGpus *gpus; /* shared with other catalogs, which takes a reference; NULL: its own */
	const RgOwnRows *own; /* NULL: none; with `gpus`, these must have been opened with it */
} RgCatalogSource;

/* Reads instance_types.csv (without it, nodes are shapes: shapes.c), prices.csv and, if it exists,
 * regions.csv (else the regions are those of the prices). NULL and catalog.bad-data diagnostics
 * with file and line if anything in them is wrong. */
RgCatalog *rg_catalog_open_from(const RgCatalogSource *source, RgDiags *diags);
/* The same with all regions and its own GPU models. */
RgCatalog *rg_catalog_open(const char *provider, RgCatalogText text, void *data, RgDiags *diags);
void rg_catalog_free(RgCatalog *catalog);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgCatalog, rg_catalog_free)
/* RgCatalogText for a `const struct rg_embedded[]` passed as data. */
const char *rg_catalog_embedded_text(void *table, const char *name, size_t *len);

/* The provider's words, for messages about it. */
const RgWords *rg_catalog_words(const RgCatalog *catalog);
/* The GPU models of its types; borrowed. */
const RgGpus *rg_catalog_get_gpus(const RgCatalog *catalog);
bool rg_catalog_has_region(const RgCatalog *catalog, const char *region);
/* By name; NULL if unknown. Also types that are not listed, because their name gives their size; of
 * two names of such a type, the result has the one that the cloud uses. */
const RgInstanceType *rg_catalog_find_type(const RgCatalog *catalog, const char *name);
/* Whether it is worth asking the cloud about this name: no table has it, or rules it out. */
bool rg_catalog_may_ask(const RgCatalog *catalog, const char *name);
/* Adds what the cloud has answered (`types` of the facts, schemas/calls.schema.json); what is known
 * already stays as it is. Only rg_catalog_find_type and rg_catalog_get_type return such types.
 * Before other threads read the catalog. */
void rg_catalog_describe(RgCatalog *catalog, const json_t *types);
/* Gives shapes the CPUs, memory and prices of an inventory (`shapes` of the facts), and takes away
 * those of an earlier one. A price of the inventory replaces the project file's; where some nodes
 * of a shape have none, the dearer of both counts, and none is known if the project file has none.
 * Before other threads read the catalog. */
void rg_catalog_describe_shapes(RgCatalog *catalog, const json_t *shapes);
/* The nearest known name, or where to define the type. */
void rg_catalog_hint_type(const RgCatalog *catalog, const char *name, RgDiag *diag);
/* RgInstanceType*, in any order: those that have a price of the project file in this region, but no
 * description yet. */
GPtrArray *rg_catalog_get_undescribed(const RgCatalog *catalog);
/* All listed types, ordered by name; RgInstanceType*. */
const GPtrArray *rg_catalog_get_types(const RgCatalog *catalog);
/* RgRetiredType*, ordered as in the file. */
const GPtrArray *rg_catalog_get_retired(const RgCatalog *catalog);
const RgRetiredType *rg_catalog_find_retired(const RgCatalog *catalog, const char *name);
/* RgPriceSource*, ordered as in price_sources.csv; empty without that file. */
const GPtrArray *rg_catalog_get_price_sources(const RgCatalog *catalog);
size_t rg_catalog_count_regions(const RgCatalog *catalog);
/* The on-demand row of a type in a region; NULL if there is none. */
const RgPrice *rg_catalog_find_price(const RgInstanceType *type, const char *region);
/* The cheapest of several zones, of equal ones the first by name; NULL if there is none. */
const RgPrice *rg_catalog_find_price_of(
	const RgInstanceType *type, const char *region, RgPriceKind kind);
RgOfferState rg_catalog_offer_state(
	const RgCatalog *catalog, const RgInstanceType *type, const char *region);
/* "spot, reserved": g_free the result. */
char *rg_catalog_list_markets(const RgInstanceType *type);
/* Whether a spec's name for an accelerator ("A100", any case) means this model. */
bool rg_catalog_is_model(const RgCatalog *catalog, const char *word, const RgGpuModel *model);

/* catalog.doubtful-row for each row of the project file that is valid but probably wrong: a price
 * far from the built-in ones, or old; a type without a price. `today`: "2026-11-22". */
void rg_catalog_judge(
	const RgCatalog *catalog, const RgOwnRows *own, const char *today, RgDiags *diags);
/* The same for its GPU models. */
void rg_gpus_judge(const RgGpus *gpus, const RgOwnRows *own, RgDiags *diags);

/* The next four put their finding at `source`. */
bool rg_catalog_check_region(
	const RgCatalog *catalog, const char *region, RgSource source, RgDiags *diags);
const RgInstanceType *rg_catalog_get_type(
	const RgCatalog *catalog, const char *name, RgSource source, RgDiags *diags);
/* Whether any model has this name: false with catalog.unknown-accelerator. */
bool rg_catalog_check_accelerator(
	const RgCatalog *catalog, const char *word, RgSource source, RgDiags *diags);
/* The cheapest x86_64 type of the region with exactly `count` whole GPUs that `word` means: priced
 * types first, by price; then unpriced, then unseen ones, by their lowest price anywhere; ties by
 * name. NULL with catalog.unknown-accelerator or catalog.no-offer, which lists what exists. */
const RgInstanceType *rg_catalog_offer(const RgCatalog *catalog, const char *region,
	const char *word, unsigned count, RgSource source, RgDiags *diags);
