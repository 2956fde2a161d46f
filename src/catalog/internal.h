/* Inside of a catalog: filled by load.c, read by catalog.c and offer.c. */
#pragma once
#include "catalog/catalog.h"
#include "base/embedded.h"

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

bool rg_catalog_load(RgCatalog *catalog, RgCatalogText text, void *data, RgDiags *diags);
