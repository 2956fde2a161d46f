#include "catalog/internal.h"
#include "catalog/table.h"

enum {
	T_NAME,
	T_FAMILY,
	T_ARCH,
	T_VCPUS,
	T_MEMORY,
	T_GPU,
	T_GPUS,
	T_FRACTION,
	T_KNOWN,
	T_NETWORK,
	T_NETWORK_PEAK,
	T_RDMA_ADAPTERS,
	T_MARKETS,
	T_LOWEST
};

static bool read_gpu(
	RgCatalog *catalog, const RgTable *table, size_t row, RgInstanceType *type, RgDiags *diags)
{
	const char *model = rg_table_cell(table, row, T_GPU);
	bool has_gpu = model[0] != '\0';
	if (!rg_table_count(table, row, T_GPUS, &type->gpus, diags) ||
		!rg_table_amount(table, row, T_FRACTION, !has_gpu, &type->gpu_fraction, diags))
		return false;
	if (has_gpu != (type->gpus > 0)) {
		rg_table_complain(
			table, row, T_GPUS, "0 exactly when there is no gpu_model", diags);
		return false;
	}
	if (type->gpu_fraction > 1) {
		rg_table_complain(table, row, T_FRACTION, "at most 1", diags);
		return false;
	}
	type->gpu = has_gpu ? rg_gpus_find(catalog->gpus, model) : NULL;
	if (has_gpu && !type->gpu) {
		rg_table_complain(table, row, T_GPU, "a model of gpu_models.csv", diags);
		return false;
	}
	if (has_gpu)
		type->gpu_memory_mib = (unsigned)(type->gpu->memory_mib * type->gpu_fraction);
	return true;
}

/* Figures in another unit than the column's, which no plan would reveal: MiB for GiB, Mbps for
 * Gbps. */
static bool check_units(
	const RgTable *table, size_t row, const RgInstanceType *type, RgDiags *diags)
{
	const struct {
		size_t column;
		bool good;
		const char *expected;
	} rules[] = {
		{T_MEMORY, type->memory_gib <= 256.0 * MAX(type->vcpus, 1),
			"GiB, at most 256 per vCPU"},
		{T_NETWORK, type->network_gbps <= 20000, "Gbps, at most 20000"},
		{T_NETWORK_PEAK, type->network_peak_gbps <= 20000, "Gbps, at most 20000"},
	};
	bool good = true;
	for (size_t i = 0; i < G_N_ELEMENTS(rules); i++) {
		if (!rules[i].good)
			rg_table_complain(table, row, rules[i].column, rules[i].expected, diags);
		good &= rules[i].good;
	}
	return good;
}

/* If the row does not say: on demand and spot, like most types. */
static bool read_markets(const RgTable *table, size_t row, RgInstanceType *type, RgDiags *diags)
{
	const char *cell = rg_table_cell(table, row, T_MARKETS);
	if (*cell == '\0') {
		type->markets = RG_SOLD(RG_PRICE_ON_DEMAND) | RG_SOLD(RG_PRICE_SPOT);
		return true;
	}
	g_auto(GStrv) words = g_strsplit(cell, "|", 0);
	for (char **word = words; *word; word++) {
		unsigned sold = rg_catalog_market(*word);
		if (!sold) {
			rg_table_complain(table, row, T_MARKETS,
				"on_demand, spot and reserved, with bars between them", diags);
			return false;
		}
		type->markets |= sold;
	}
	return true;
}

/* Figures that a provider's table may omit. */
static bool read_rest(
	RgCatalog *catalog, const RgTable *table, size_t row, RgInstanceType *type, RgDiags *diags)
{
	const char *lowest = rg_table_cell(table, row, T_LOWEST);
	type->lowest_microusd_hour = RG_MONEY_UNKNOWN;
	if (lowest[0] != '\0' && (!rg_money_parse(lowest, &type->lowest_microusd_hour) ||
					 type->lowest_microusd_hour <= 0)) {
		rg_table_complain(table, row, T_LOWEST, "a price above 0, or nothing", diags);
		return false;
	}
	return rg_table_amount(table, row, T_NETWORK, true, &type->network_gbps, diags) &&
	       rg_table_amount(table, row, T_NETWORK_PEAK, true, &type->network_peak_gbps, diags) &&
	       rg_table_count_or_none(table, row, T_RDMA_ADAPTERS, &type->rdma_adapters, diags) &&
	       read_markets(table, row, type, diags);
}

static bool read_type(RgCatalog *catalog, const RgTable *table, size_t row, RgDiags *diags)
{
	RgInstanceType *type = g_new0(RgInstanceType, 1);
	g_ptr_array_add(catalog->types, type);
	type->name = rg_table_cell(table, row, T_NAME);
	type->family = rg_table_cell(table, row, T_FAMILY);
	type->arch = rg_table_cell(table, row, T_ARCH);
	type->prices = g_ptr_array_new_with_free_func(g_free);
	if (!g_str_equal(type->arch, "x86_64") && !g_str_equal(type->arch, "arm64")) {
		rg_table_complain(table, row, T_ARCH, "\"x86_64\" or \"arm64\"", diags);
		return false;
	}
	if (type->name[0] == '\0' ||
		!g_hash_table_insert(catalog->type_of_name, (void *)(uintptr_t)type->name, type)) {
		rg_table_complain(table, row, T_NAME, "a unique name", diags);
		return false;
	}
	return rg_table_count(table, row, T_VCPUS, &type->vcpus, diags) &&
	       rg_table_amount(table, row, T_MEMORY, false, &type->memory_gib, diags) &&
	       rg_table_yes_no(table, row, T_KNOWN, &type->offers_known, diags) &&
	       read_gpu(catalog, table, row, type, diags) &&
	       read_rest(catalog, table, row, type, diags) && check_units(table, row, type, diags);
}

static int by_type_name(gconstpointer a, gconstpointer b)
{
	const RgInstanceType *left = *(RgInstanceType *const *)a;
	const RgInstanceType *right = *(RgInstanceType *const *)b;
	return strcmp(left->name, right->name);
}

static bool load_types(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags)
{
	static const char *const columns[] = {"instance_type", "family", "arch", "vcpus",
		"memory_gib", "gpu_model", "gpus", "gpu_fraction", "offers_known", "?network_gbps",
		"?network_peak_gbps", "?rdma_adapters", "?markets", "?lowest_usd_per_hour", NULL};
	size_t len;
	if (!source->text(source->data, "instance_types.csv", &len) &&
		source->text(source->data, "schema.json", &len)) {
		rg_catalog_add_shapes(catalog);
		return true;
	}
	RgTable *table = rg_catalog_read_table(source, "instance_types.csv", columns, diags);
	if (!table)
		return false;
	g_ptr_array_add(catalog->tables, table);
	bool good = true;
	for (size_t row = 0; row < rg_table_rows(table); row++)
		good &= read_type(catalog, table, row, diags);
	return good;
}

static bool add_region(RgCatalog *catalog, const char *name, bool offers_known)
{
	const char *kept = rg_catalog_keep(catalog, name);
	return g_hash_table_insert(
		catalog->region_known, (void *)(uintptr_t)kept, GINT_TO_POINTER(offers_known));
}

static void add_priced_regions(RgCatalog *catalog, const json_t *own_prices)
{
	rg_json_foreach (row, own_prices) {
		if (json_object_get(row, "hourly_usd"))
			add_region(catalog, rg_json_str(row, "region", ""), false);
	}
	rg_ptr_foreach (const RgInstanceType, type, catalog->types) {
		for (guint p = 0; p < type->prices->len; p++)
			add_region(catalog, ((RgPrice *)type->prices->pdata[p])->region, false);
	}
}

static bool read_regions(RgCatalog *catalog, const char *bytes, size_t len, RgDiags *diags)
{
	enum { NAME, KNOWN };
	static const char *const columns[] = {"region", "offers_known", NULL};
	g_autoptr(RgTable) table = rg_table_read("regions.csv", bytes, len, columns, diags);
	if (!table)
		return false;
	bool good = true, known = false;
	for (size_t row = 0; row < rg_table_rows(table); row++) {
		const char *name = rg_table_cell(table, row, NAME);
		good &= rg_table_yes_no(table, row, KNOWN, &known, diags);
		if (name[0] != '\0' && add_region(catalog, name, known))
			continue;
		rg_table_complain(table, row, NAME, "a unique region", diags);
		good = false;
	}
	return good;
}

static bool load_regions(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags)
{
	size_t len = 0;
	const char *bytes = source->text(source->data, "regions.csv", &len);
	if (catalog->no_regions)
		add_region(catalog, "", false);
	else if (!bytes)
		add_priced_regions(catalog, rg_own_prices(source));
	else if (!read_regions(catalog, bytes, len, diags))
		return false;
	g_autoptr(GList) names = g_hash_table_get_keys(catalog->region_known);
	names = g_list_sort(names, (GCompareFunc)strcmp);
	for (const GList *name = names; name != NULL; name = name->next)
		g_ptr_array_add(catalog->regions, name->data);
	g_ptr_array_add(catalog->regions, NULL);
	return true;
}

/* refusals.csv: what cannot be requested of an instance type. A module without the file has
 * none. */
enum { R_TYPE, R_WISH };

static bool read_refusal(void *self, const RgTable *table, size_t row, RgDiags *diags)
{
	RgCatalog *catalog = self;
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

static bool load_refusals(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags)
{
	static const RgDataFile file = {"refusals.csv", {"instance_type", "wish"}, read_refusal};
	size_t len;
	return !source->text(source->data, file.name, &len) ||
	       rg_catalog_read_files(&file, 1, source, catalog, diags);
}

bool rg_catalog_load(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags)
{
	if (!load_types(catalog, source, diags) || !rg_own_add_types(catalog, source, diags))
		return false;
	g_ptr_array_sort(catalog->types, by_type_name);
	return rg_catalog_load_prices(catalog, source, diags) &&
	       load_regions(catalog, source, diags) &&
	       rg_catalog_load_derived(catalog, source, diags) &&
	       load_refusals(catalog, source, diags) &&
	       rg_catalog_load_retired(catalog, source, diags) &&
	       rg_catalog_load_price_sources(catalog, source, diags) &&
	       rg_own_add_prices(catalog, source, diags);
}
