/* retired.csv: types that the cloud no longer sells. They are never chosen; naming one is an error
 * that says what replaces it. A module without the file has none. */
#include "base/price.h"
#include "catalog/internal.h"

enum { R_NAME, R_GPU, R_SINCE, R_GONE_BY, R_REPLACED_BY };

static bool read_retired(void *self, const RgTable *table, size_t row, RgDiags *diags)
{
	RgCatalog *catalog = self;
	const char *name = rg_table_cell(table, row, R_NAME);
	const char *gpu = rg_table_cell(table, row, R_GPU);
	const RgInstanceType *type = rg_catalog_find_type(catalog, name);
	if (*name == '\0' || (type && !type->own) || rg_catalog_find_retired(catalog, name)) {
		rg_table_complain(
			table, row, R_NAME, "a unique type that instance_types.csv lacks", diags);
		return false;
	}
	RgRetiredType *retired = g_new0(RgRetiredType, 1);
	g_ptr_array_add(catalog->retired, retired);
	retired->name = rg_catalog_keep(catalog, name);
	retired->gpu = *gpu ? rg_gpus_find(catalog->gpus, gpu) : NULL;
	retired->since = rg_catalog_keep(catalog, rg_table_cell(table, row, R_SINCE));
	retired->gone_by = rg_catalog_keep(catalog, rg_table_cell(table, row, R_GONE_BY));
	retired->replaced_by = rg_catalog_keep(catalog, rg_table_cell(table, row, R_REPLACED_BY));
	if (*gpu && !retired->gpu) {
		rg_table_complain(
			table, row, R_GPU, "a model of gpu_models.csv, or nothing", diags);
		return false;
	}
	const char *date = *retired->since ? retired->since : retired->gone_by;
	if (!rg_date_is_valid(date)) {
		rg_table_complain(table, row, R_SINCE, "a date, here or in gone_by", diags);
		return false;
	}
	return true;
}

bool rg_catalog_load_retired(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags)
{
	static const RgDataFile file = {"retired.csv",
		{"instance_type", "gpu_model", "since", "gone_by", "replaced_by"}, read_retired};
	size_t len;
	return !source->text(source->data, file.name, &len) ||
	       rg_catalog_read_files(&file, 1, source, catalog, diags);
}

const GPtrArray *rg_catalog_get_retired(const RgCatalog *catalog)
{
	return catalog->retired;
}

const RgRetiredType *rg_catalog_find_retired(const RgCatalog *catalog, const char *name)
{
	rg_ptr_foreach (const RgRetiredType, retired, catalog->retired) {
		if (g_str_equal(retired->name, name))
			return retired;
	}
	return NULL;
}

RgDiag *rg_catalog_report_retired(
	const RgCatalog *catalog, const RgRetiredType *retired, RgDiags *diags)
{
	bool exact = *retired->since != '\0';
	RgDiag *diag = rg_diags_error(diags, "catalog.retired-type",
		"%s no longer sells %s: retired %s %s", catalog->provider, retired->name,
		exact ? "on" : "in or before", exact ? retired->since : retired->gone_by);
	g_auto(GStrv) names = g_strsplit(retired->replaced_by, "|", 0);
	g_autofree char *instead = g_strjoinv(" or ", names);
	if (*instead)
		rg_diag_hint(diag,
			"use %s; where the cloud still sells %s, define it in `catalog` of "
			"raygpu.yaml (raygpu-spec(5))",
			instead, retired->name);
	return diag;
}
