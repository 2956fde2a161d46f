/* Inside of a catalog: filled by load.c, read by catalog.c and offer.c. */
#pragma once
#include "catalog/catalog.h"

struct RgCatalog {
	char *provider;
	GStringChunk *texts;
	GPtrArray *models;	    /* RgGpuModel*, in the order of the file */
	GPtrArray *types;	    /* RgInstanceType*, by name */
	GPtrArray *regions;	    /* char*, by name, NULL-ended for rg_nearest_word */
	GHashTable *type_of_name;   /* char* -> RgInstanceType*, borrowed */
	GHashTable *region_known;   /* char* -> GINT_TO_POINTER(offers_known) */
	GHashTable *models_of_word; /* lower-case char* -> GPtrArray of RgGpuModel*, borrowed */
};

bool rg_catalog_load(RgCatalog *catalog, RgCatalogText text, void *data, RgDiags *diags);
