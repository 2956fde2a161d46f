/* Tables of a source, for all loaders. */
#include "catalog/internal.h"
#include "catalog/table.h"

const char *rg_catalog_keep(RgCatalog *catalog, const char *text)
{
	return g_string_chunk_insert_const(catalog->texts, text);
}

RgTable *rg_catalog_read_table(
	const RgCatalogSource *source, const char *name, const char *const *columns, RgDiags *diags)
{
	size_t len = 0;
	const char *bytes = source->text(source->data, name, &len);
	if (bytes)
		return rg_table_read(name, bytes, len, columns, diags);
	rg_diags_error(diags, "catalog.bad-data", "the catalog file \"%s\" is missing", name);
	return NULL;
}

bool rg_catalog_read_files(const RgDataFile *files, size_t n, const RgCatalogSource *source,
	void *self, RgDiags *diags)
{
	bool good = true;
	for (size_t i = 0; i < n; i++) {
		g_autoptr(RgTable) table =
			rg_catalog_read_table(source, files[i].name, files[i].columns, diags);
		good = good && table;
		for (size_t row = 0; table && row < rg_table_rows(table); row++)
			good = files[i].read(self, table, row, diags) && good;
	}
	return good;
}

const char *rg_catalog_embedded_text(void *table, const char *name, size_t *len)
{
	const struct rg_embedded *file = rg_embedded_find(table, name);
	if (!file)
		return NULL;
	*len = file->len;
	return file->data;
}

static const char *const markets[] = {"on_demand", "spot", "reserved"};

char *rg_catalog_list_markets(const RgInstanceType *type)
{
	GString *list = g_string_new(NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(markets); i++) {
		if (type->markets & 1u << i)
			g_string_append_printf(list, "%s%s", list->len > 0 ? ", " : "", markets[i]);
	}
	return g_string_free(list, FALSE);
}

unsigned rg_catalog_market(const char *word)
{
	for (size_t i = 0; i < G_N_ELEMENTS(markets); i++)
		if (g_str_equal(word, markets[i]))
			return 1u << i;
	return 0;
}
