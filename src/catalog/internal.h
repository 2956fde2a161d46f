/* Inside of a catalog: filled by load.c, read by catalog.c and offer.c. */
#pragma once
#include "catalog/catalog.h"
#include "base/embedded.h"
#include "catalog/table.h"

/* The files of data/, made at build time. */
extern const struct rg_embedded rg_catalog_data[];

struct RgCatalog {
	char *provider;
	GStringChunk *texts;
	RgGpus *gpus;
	GPtrArray *types;	  /* RgInstanceType*, by name */
	GPtrArray *regions;	  /* char*, by name, NULL-ended for rg_nearest_word */
	GHashTable *type_of_name; /* char* -> RgInstanceType*, borrowed */
	GHashTable *region_known; /* char* -> GINT_TO_POINTER(offers_known) */
};

/* What the loaders share: a text that lives as long as the catalog, and a table of the source. */
const char *rg_catalog_keep(RgCatalog *catalog, const char *text);
RgTable *rg_catalog_read_table(const RgCatalogSource *source, const char *name,
	const char *const *columns, RgDiags *diags);
bool rg_catalog_load(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags);
/* prices.c; after the types. */
bool rg_catalog_load_prices(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags);
/* refusals.c; after the types. */
bool rg_catalog_load_refusals(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags);
