/* The inside of a catalog: catalog.c opens it, load.c and then own_*.c fill it; read by find.c and
 * offer.c. */
#pragma once
#include "catalog/catalog.h"
#include "base/embedded.h"
#include "catalog/table.h"

/* The files of data/, generated at build time. */
extern const struct rg_embedded rg_catalog_data[];

struct RgGpus {
	GStringChunk *texts;
	GPtrArray *models;	    /* RgGpuModel* */
	GHashTable *model_of_name;  /* char* -> RgGpuModel*, borrowed */
	GHashTable *models_of_word; /* lower-case char* -> GPtrArray of RgGpuModel*, borrowed */
};

/* models.c: adds another name for the model, in any case. */
void rg_gpus_add_word(RgGpus *gpus, const char *word, RgGpuModel *model);

/* derived.c, described.c */
typedef struct RgDerived RgDerived;
typedef struct RgDescribed RgDescribed;

/* A discount of the project file; texts belong to the catalog. */
typedef struct {
	const char *type, *region; /* patterns */
	RgPriceKind kind;
	double percent;
	const char *place;
} RgDiscount;

struct RgCatalog {
	char *provider;
	GPtrArray *tables; /* RgTable*, the large ones: types and prices borrow their cells */
	GStringChunk *texts;
	RgGpus *gpus;
	GPtrArray *types;	  /* RgInstanceType*, by name */
	GPtrArray *retired;	  /* RgRetiredType* */
	GPtrArray *price_sources; /* RgPriceSource* */
	RgWords words;
	bool no_regions;
	GPtrArray *regions;	  /* char*, by name, NULL-ended for rg_nearest_word */
	GHashTable *type_of_name; /* char* -> RgInstanceType*, borrowed */
	GHashTable *region_known; /* char* -> GINT_TO_POINTER(offers_known) */
	RgDerived *derived;
	RgDescribed *described;
	bool asks_types;
	GPtrArray *discounts; /* RgDiscount*, the last one of the project file first */
	bool has_shapes;      /* instead of instance types; any region is possible */
	/* RgInstanceType* -> RgPrice* of the project file, while an inventory's counts */
	GHashTable *replaced;
};

/* read.c, shared by the loaders: a text that lives as long as the catalog, and a table of the
 * source. */
const char *rg_catalog_keep(RgCatalog *catalog, const char *text);
RgTable *rg_catalog_read_table(const RgCatalogSource *source, const char *name,
	const char *const *columns, RgDiags *diags);
/* "a TPU: Ray counts it as ...": an accelerator that raygpu cannot use, and the reason. NULL: the
 * name is unknown. g_free. */
char *rg_catalog_unsupported(const char *word);
/* A file of rows, each of which `read` takes; `self` is what they go into. */
typedef struct {
	const char *name;
	const char *columns[12]; /* as for rg_table_read */
	bool (*read)(void *self, const RgTable *table, size_t row, RgDiags *diags);
} RgDataFile;
/* Of the source, only the text is used. False with findings about each row that is wrong. */
bool rg_catalog_read_files(const RgDataFile *files, size_t n, const RgCatalogSource *source,
	void *self, RgDiags *diags);
bool rg_catalog_load(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags);
/* shapes.c: instead of a table of types. */
void rg_catalog_add_shapes(RgCatalog *catalog);
/* derived.c: types that are not listed. */
RgDerived *rg_derived_new(void);
void rg_derived_free(RgDerived *derived);
bool rg_catalog_load_derived(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags);
/* By name, also a listed one. NULL: there is none; *why says which rule the name breaks, or is
 * NULL. g_free it. */
const RgInstanceType *rg_catalog_derive(const RgCatalog *catalog, const char *name, char **why);
/* Once hosts have the prices of the project file; types that are found later get theirs then. */
void rg_catalog_price_derived(RgCatalog *catalog);
/* A type without figures; free it with rg_derived_type_free, which leaves its name. */
RgInstanceType *rg_derived_type_new(
	const char *family, const char *arch, unsigned vcpus, double memory_gib);
void rg_derived_type_free(gpointer type);
/* Takes the type and its name, which is not known yet. */
void rg_derived_add(RgCatalog *catalog, RgInstanceType *type);
/* described.c: types that the cloud describes. */
RgDescribed *rg_described_new(void);
void rg_described_free(RgDescribed *described);
/* A type that has only what the project file says of it until the cloud describes it; borrowed. */
RgInstanceType *rg_catalog_await(RgCatalog *catalog, const char *name);
/* Why a described type cannot be used, without its source; NULL: it can, or is none. */
RgDiag *rg_catalog_report_described(const RgCatalog *catalog, const char *name, RgDiags *diags);
/* Whether the cloud was asked about a type that is not in the catalog. */
bool rg_catalog_was_asked(const RgCatalog *catalog, const char *name);
/* read.c: the RG_SOLD flag of "spot"; 0: there is no such market. */
unsigned rg_catalog_market(const char *word);
/* retired.c; after the types. */
bool rg_catalog_load_retired(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags);
/* catalog.retired-type, without its source. */
RgDiag *rg_catalog_report_retired(
	const RgCatalog *catalog, const RgRetiredType *retired, RgDiags *diags);
/* price_sources.c */
bool rg_catalog_load_price_sources(
	RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags);
/* prices.c; after the types. */
bool rg_catalog_load_prices(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags);
/* After its prices are loaded: sorts them, and fills in what the table of types omits. */
void rg_catalog_finish_type(RgInstanceType *type);
/* Is the price an hourly_usd of the project file, and not a built-in one less a discount? */
bool rg_price_is_own(const RgPrice *price);
/* Applies the discount of the project file that matches, if any. */
void rg_catalog_discount(const RgCatalog *catalog, const RgInstanceType *type, RgPrice *price);

/* One row of the project file, with its source for findings. */
typedef struct {
	const RgOwnRows *own;
	const json_t *row;
	char *pointer; /* into own->rows */
	RgDiags *diags;
} RgOwnRow;
/* Source of its member, or of the row if `key` is NULL. */
RgSource rg_own_source(const RgOwnRow *row, const char *key);
/* catalog.bad-own-row. */
RgDiag *rg_own_complain(const RgOwnRow *row, const char *key, char *what);
/* Whether a new row has the members (NULL-ended); `what`: "GPU model". */
bool rg_own_has_all(
	const RgOwnRow *row, const char *const *needed, const char *what, const char *name);
/* "raygpu.yaml:4"; g_free the result. */
char *rg_own_place(const RgOwnRow *row);
/* Its size in GB or GiB, "288GB", "2TiB"; 0 if there is none. */
double rg_own_size(const RgOwnRow *row, const char *key);
/* Stores its number in `amount`, if there is one. */
void rg_own_amount(const RgOwnRow *row, const char *key, double *amount);
/* own_gpus.c, own_types.c, own_prices.c: after the built-in rows. `own` may be NULL. */
/* Of a value of a model's own_mig; 0: not given. */
unsigned rg_own_mig_count(const json_t *value);
unsigned rg_own_mig_memory(const json_t *value);
bool rg_own_add_gpus(RgGpus *gpus, const RgOwnRows *own, RgDiags *diags);
bool rg_own_add_types(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags);
/* The provider's list; NULL without one. */
const json_t *rg_own_prices(const RgCatalogSource *source);
bool rg_own_add_prices(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags);
