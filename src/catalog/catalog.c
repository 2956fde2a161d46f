#include "catalog/catalog.h"
#include <string.h>
#include "base/embedded.h"
#include "base/log.h"
#include "catalog/internal.h"

static void free_type(void *data)
{
	RgInstanceType *type = data;
	g_ptr_array_unref((GPtrArray *)(uintptr_t)type->prices);
	g_free(type);
}

RgCatalog *rg_catalog_open_from(const RgCatalogSource *source, RgDiags *diags)
{
	g_autoptr(RgCatalog) catalog = g_new0(RgCatalog, 1);
	rg_log(RG_LOG_DEBUG, "opens the catalog of %s, %s", source->provider,
		source->region ? source->region : "all regions");
	catalog->provider = g_strdup(source->provider);
	catalog->texts = g_string_chunk_new(8192);
	catalog->words = source->words ? *source->words : rg_words_of(NULL);
	catalog->no_regions = source->no_regions;
	catalog->gpus =
		source->gpus ? rg_gpus_ref(source->gpus) : rg_gpus_open_with(source->own, diags);
	catalog->types = g_ptr_array_new_with_free_func(free_type);
	catalog->retired = g_ptr_array_new_with_free_func(g_free);
	catalog->price_sources = g_ptr_array_new_with_free_func(g_free);
	catalog->regions = g_ptr_array_new();
	catalog->type_of_name = g_hash_table_new(g_str_hash, g_str_equal);
	catalog->region_known = g_hash_table_new(g_str_hash, g_str_equal);
	if (!catalog->gpus || !rg_catalog_load(catalog, source, diags))
		return NULL;
	return g_steal_pointer(&catalog);
}

RgCatalog *rg_catalog_open(const char *provider, RgCatalogText text, void *data, RgDiags *diags)
{
	RgCatalogSource source = {.provider = provider, .text = text, .data = data};
	return rg_catalog_open_from(&source, diags);
}

void rg_catalog_free(RgCatalog *catalog)
{
	if (!catalog)
		return;
	g_hash_table_unref(catalog->region_known);
	g_hash_table_unref(catalog->type_of_name);
	g_ptr_array_unref(catalog->regions);
	g_ptr_array_unref(catalog->types);
	g_ptr_array_unref(catalog->retired);
	g_ptr_array_unref(catalog->price_sources);
	rg_gpus_unref(catalog->gpus);
	g_string_chunk_free(catalog->texts);
	g_free(catalog->provider);
	g_free(catalog);
}

const char *rg_catalog_embedded_text(void *table, const char *name, size_t *len)
{
	for (const struct rg_embedded *file = table; file->name != NULL; file++) {
		if (!g_str_equal(file->name, name))
			continue;
		*len = file->len;
		return file->data;
	}
	return NULL;
}

bool rg_catalog_has_region(const RgCatalog *catalog, const char *region)
{
	return catalog->has_shapes || g_hash_table_contains(catalog->region_known, region);
}

const RgInstanceType *rg_catalog_find_type(const RgCatalog *catalog, const char *name)
{
	return g_hash_table_lookup(catalog->type_of_name, name);
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
	for (guint i = 0; i < type->prices->len; i++) {
		const RgPrice *price = type->prices->pdata[i];
		if (price->kind == kind && g_str_equal(price->region, region) &&
			is_cheaper(price, best))
			best = price;
	}
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
