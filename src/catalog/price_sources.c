/* price_sources.csv: where prices are from, for `raygpu catalog`. A module without the file names
 * no sources. */
#include "base/price.h"
#include "catalog/internal.h"

static bool read_source(void *self, const RgTable *table, size_t row, RgDiags *diags)
{
	enum { KIND, QUALITY, DATE, SOURCE };
	RgCatalog *catalog = self;
	RgPriceSource *source = g_new0(RgPriceSource, 1);
	g_ptr_array_add(catalog->price_sources, source);
	source->kind = rg_catalog_keep(catalog, rg_table_cell(table, row, KIND));
	source->quality = rg_catalog_keep(catalog, rg_table_cell(table, row, QUALITY));
	source->date = rg_catalog_keep(catalog, rg_table_cell(table, row, DATE));
	source->source = rg_catalog_keep(catalog, rg_table_cell(table, row, SOURCE));
	if (rg_date_is_valid(source->date))
		return true;
	rg_table_complain(table, row, DATE, "a date like 2026-07-20", diags);
	return false;
}

bool rg_catalog_load_price_sources(
	RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags)
{
	static const RgDataFile file = {
		"price_sources.csv", {"kind", "quality", "date", "source"}, read_source};
	size_t len;
	return !source->text(source->data, file.name, &len) ||
	       rg_catalog_read_files(&file, 1, source, catalog, diags);
}

const GPtrArray *rg_catalog_get_price_sources(const RgCatalog *catalog)
{
	return catalog->price_sources;
}
