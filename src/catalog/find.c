/* What an open catalog has. */
#include "catalog/internal.h"

bool rg_catalog_has_region(const RgCatalog *catalog, const char *region)
{
	return catalog->has_shapes || g_hash_table_contains(catalog->region_known, region);
}

const GPtrArray *rg_catalog_get_types(const RgCatalog *catalog)
{
	return catalog->types;
}

static bool is_cheaper(const RgPrice *a, const RgPrice *b)
{
	if (!b || b->microusd_hour == RG_MONEY_UNKNOWN)
		return !b || a->microusd_hour != RG_MONEY_UNKNOWN;
	return a->microusd_hour != RG_MONEY_UNKNOWN && a->microusd_hour < b->microusd_hour;
}

/* At most a few dozen rows per type: a linear search is as fast as an index. */
const RgPrice *rg_catalog_find_price_of(
	const RgInstanceType *type, const char *region, RgPriceKind kind)
{
	const RgPrice *best = NULL;
	rg_ptr_foreach (const RgPrice, price, type->prices)
		if (price->kind == kind && g_str_equal(price->region, region) &&
			is_cheaper(price, best))
			best = price;
	return best;
}

const RgPrice *rg_catalog_find_price(const RgInstanceType *type, const char *region)
{
	return rg_catalog_find_price_of(type, region, RG_PRICE_ON_DEMAND);
}

RgOfferState rg_catalog_offer_state(
	const RgCatalog *catalog, const RgInstanceType *type, const char *region)
{
	const RgPrice *price = rg_catalog_find_price(type, region);
	if (price)
		return price->microusd_hour != RG_MONEY_UNKNOWN ? RG_OFFER_PRICED
								: RG_OFFER_UNPRICED;
	if (rg_catalog_find_price_of(type, region, RG_PRICE_SPOT))
		return RG_OFFER_UNPRICED; /* sold there only on spot */
	bool region_known =
		GPOINTER_TO_INT(g_hash_table_lookup(catalog->region_known, region)) != 0;
	return region_known && type->offers_known ? RG_OFFER_NONE : RG_OFFER_UNSEEN;
}

size_t rg_catalog_count_regions(const RgCatalog *catalog)
{
	return catalog->regions->len - 1;
}

const RgWords *rg_catalog_words(const RgCatalog *catalog)
{
	return &catalog->words;
}

const RgGpus *rg_catalog_get_gpus(const RgCatalog *catalog)
{
	return catalog->gpus;
}

bool rg_catalog_is_model(const RgCatalog *catalog, const char *word, const RgGpuModel *model)
{
	return rg_gpus_is_model(catalog->gpus, word, model);
}
