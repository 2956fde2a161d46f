/* What `raygpu offers` asks: wishes of a query or of a spec's pools, over the catalogs of all
 * providers. Beside the path of data: reads data files, no state, no cloud, loads no module. */
#pragma once
#include "fit/offers.h"
#include "provider/provider.h"

/* Opened catalogs with the offers that borrow from them. */
typedef struct {
	GPtrArray *catalogs; /* RgCatalog* */
	GArray *places;	     /* RgPlace */
	RgGpus *gpus;
	RgCarbon *carbon;
	GStrv names;	 /* of the providers, by which the places go */
	GStrv installed; /* those of which there is a module */
} RgMarketplace;

/* All providers, or the named one; all regions, or the named one; with the rows of the project file
 * that holds for `spec_path` (NULL: for the working folder). NULL and catalog.*, spec.* or
 * provider.not-found. */
RgMarketplace *rg_marketplace_open(RgProviderHost *providers, const char *spec_path,
	const char *provider, const char *region, RgDiags *diags);
void rg_marketplace_free(RgMarketplace *market);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgMarketplace, rg_marketplace_free)

/* Best first; the wish's carbon is filled in. The caller frees; borrows from the marketplace. */
GPtrArray *rg_marketplace_find(const RgMarketplace *market, const RgWish *wish);
bool rg_marketplace_is_installed(const RgMarketplace *market, const char *provider);
