#include "catalog/catalog.h"
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
	catalog->tables = g_ptr_array_new_with_free_func((GDestroyNotify)rg_table_free);
	catalog->texts = g_string_chunk_new(8192);
	catalog->words = source->words ? *source->words : rg_words_of(NULL);
	catalog->no_regions = source->no_regions;
	catalog->gpus =
		source->gpus ? rg_gpus_ref(source->gpus) : rg_gpus_open_with(source->own, diags);
	catalog->types = g_ptr_array_new_with_free_func(free_type);
	catalog->retired = g_ptr_array_new_with_free_func(g_free);
	catalog->price_sources = g_ptr_array_new_with_free_func(g_free);
	catalog->derived = rg_derived_new();
	catalog->described = rg_described_new();
	catalog->asks_types = source->asks_types;
	catalog->discounts = g_ptr_array_new_with_free_func(g_free);
	catalog->replaced = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
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
	rg_described_free(catalog->described);
	rg_derived_free(catalog->derived);
	g_ptr_array_unref(catalog->discounts);
	g_hash_table_unref(catalog->replaced);
	g_ptr_array_unref(catalog->types);
	g_ptr_array_unref(catalog->retired);
	g_ptr_array_unref(catalog->price_sources);
	rg_gpus_unref(catalog->gpus);
	g_string_chunk_free(catalog->texts);
	g_ptr_array_unref(catalog->tables);
	g_free(catalog->provider);
	g_free(catalog);
}
