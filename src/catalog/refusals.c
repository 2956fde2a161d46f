/* refusals.csv: what an instance type can't be asked for. A module without the file has none. */
#include <string.h>
#include "catalog/internal.h"
#include "catalog/table.h"

enum { R_TYPE, R_WISH };

static bool read_refusal(RgCatalog *catalog, const RgTable *table, size_t row, RgDiags *diags)
{
	RgInstanceType *type =
		g_hash_table_lookup(catalog->type_of_name, rg_table_cell(table, row, R_TYPE));
	if (!type) {
		rg_table_complain(table, row, R_TYPE, "a type of instance_types.csv", diags);
		return false;
	}
	if (!g_str_equal(rg_table_cell(table, row, R_WISH), "placement")) {
		rg_table_complain(table, row, R_WISH, "\"placement\"", diags);
		return false;
	}
	if (type->refuses_placement) {
		rg_table_complain(table, row, R_TYPE, "a unique type", diags);
		return false;
	}
	type->refuses_placement = true;
	return true;
}

bool rg_catalog_load_refusals(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags)
{
	static const char *const columns[] = {"instance_type", "wish", NULL};
	size_t len = 0;
	const char *bytes = source->text(source->data, "refusals.csv", &len);
	if (!bytes)
		return true;
	g_autoptr(RgTable) table = rg_table_read("refusals.csv", bytes, len, columns, diags);
	bool good = table != NULL;
	for (size_t row = 0; table && row < rg_table_rows(table); row++)
		good &= read_refusal(catalog, table, row, diags);
	return good;
}
