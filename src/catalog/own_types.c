/* Instance types of the project file: new ones, and changed figures of those in the table. */
#include <string.h>
#include "catalog/internal.h"

/* The model that a name means; NULL with a finding if it means none, or several. */
static const RgGpuModel *find_model(const RgCatalog *catalog, const RgOwnRow *row, const char *word)
{
	const RgGpuModel *model = rg_gpus_find(catalog->gpus, word);
	const GPtrArray *models = rg_gpus_named(catalog->gpus, word);
	if (model || (models && models->len == 1))
		return model ? model : models->pdata[0];
	RgSource source = rg_own_source(row, "accelerators");
	if (!rg_catalog_check_accelerator(catalog, word, source, row->diags))
		return NULL;
	g_autoptr(GString) names = g_string_new(NULL);
	for (guint i = 0; models && i < models->len; i++)
		g_string_append_printf(names, "%s%s", i > 0 ? ", " : "",
			((const RgGpuModel *)models->pdata[i])->name);
	RgDiag *diag = rg_own_complain(row, "accelerators",
		g_strdup_printf("\"%s\" may be any of several GPU models", word));
	rg_diag_hint(diag, "name the one that the type has: %s", names->str);
	return NULL;
}

/* "H900:8" */
static bool put_gpus(const RgCatalog *catalog, const RgOwnRow *row, RgInstanceType *type)
{
	const char *text = rg_json_str(row->row, "accelerators", NULL);
	if (!text)
		return true;
	g_auto(GStrv) parts = g_strsplit(text, ":", 2);
	type->gpu = find_model(catalog, row, parts[0]);
	if (!type->gpu)
		return false;
	type->gpus = parts[1] ? (unsigned)g_ascii_strtoull(parts[1], NULL, 10) : 1;
	type->gpu_fraction = 1;
	type->gpu_memory_mib = type->gpu->memory_mib;
	return true;
}

static void put_figures(RgCatalog *catalog, const RgOwnRow *row, RgInstanceType *type)
{
	double memory = rg_own_size(row, "memory");
	const json_t *vcpus = json_object_get(row->row, "vcpus");
	if (memory > 0)
		type->memory_gib = memory;
	if (vcpus)
		type->vcpus = (unsigned)json_integer_value(vcpus);
	if (json_object_get(row->row, "network_gbps")) {
		rg_own_amount(row, "network_gbps", &type->network_gbps);
		type->network_peak_gbps = MAX(type->network_peak_gbps, type->network_gbps);
	}
	const char *arch = rg_json_str(row->row, "arch", type->arch);
	type->arch = rg_catalog_keep(catalog, arch);
	type->rdma_adapters = (unsigned)rg_json_int(row->row, "rdma_adapters", type->rdma_adapters);
	if (json_object_get(row->row, "placement"))
		type->refuses_placement = !rg_json_bool(row->row, "placement", true);
}

/* If the new type has prices, they determine where it is offered. */
static bool has_price(const RgCatalogSource *source, const char *type)
{
	const json_t *prices = rg_own_prices(source);
	rg_json_foreach (row, prices) {
		if (json_object_get(row, "hourly_usd") &&
			g_str_equal(rg_json_str(row, "instance_type", ""), type))
			return true;
	}
	return false;
}

static RgInstanceType *add_type(
	RgCatalog *catalog, const RgCatalogSource *source, const RgOwnRow *row, const char *name)
{
	static const char *const needed[] = {"vcpus", "memory", NULL};
	if (!rg_own_has_all(row, needed, "instance type", name))
		return NULL;
	RgInstanceType *type = g_new0(RgInstanceType, 1);
	g_ptr_array_add(catalog->types, type);
	type->name = rg_catalog_keep(catalog, name);
	type->prices = g_ptr_array_new_with_free_func(g_free);
	type->family = "";
	type->arch = "x86_64";
	type->markets = RG_SOLD(RG_PRICE_ON_DEMAND) | RG_SOLD(RG_PRICE_SPOT);
	type->lowest_microusd_hour = RG_MONEY_UNKNOWN;
	type->offers_known = has_price(source, name);
	g_hash_table_insert(catalog->type_of_name, (void *)(uintptr_t)type->name, type);
	return type;
}

static bool read_type(
	RgCatalog *catalog, const RgCatalogSource *source, const RgOwnRow *row, const char *name)
{
	RgInstanceType *type = g_hash_table_lookup(catalog->type_of_name, name);
	if (!type && !(type = add_type(catalog, source, row, name)))
		return false;
	g_autofree char *place = rg_own_place(row);
	type->own = rg_catalog_keep(catalog, place);
	put_figures(catalog, row, type);
	return put_gpus(catalog, row, type);
}

bool rg_own_add_types(RgCatalog *catalog, const RgCatalogSource *source, RgDiags *diags)
{
	json_t *providers =
		source->own ? json_object_get(source->own->rows, "instance_types") : NULL;
	json_t *types = json_object_get(providers, source->provider);
	g_autofree char *folder = rg_json_pointer_add("/instance_types", source->provider);
	bool good = true;
	rg_json_foreach_member (name, value, types) {
		g_autofree char *pointer = rg_json_pointer_add(folder, name);
		RgOwnRow row = {source->own, value, pointer, diags};
		good &= read_type(catalog, source, &row, name);
	}
	return good;
}
