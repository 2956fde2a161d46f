/* A provider without a table of instance types: nodes are shapes named by their GPUs, "cpu",
 * "T4:1", "A100-80GB:8". Their CPUs, memory and prices are unknown unless an inventory has them. */
#include <string.h>
#include "catalog/internal.h"

#define MOST_GPUS 16

static void add_shape(
	RgCatalog *catalog, const char *name, const RgGpuModel *gpu, unsigned gpus, unsigned rank)
{
	RgInstanceType *type = g_new0(RgInstanceType, 1);
	*type = (RgInstanceType){.name = rg_catalog_keep(catalog, name),
		.family = "",
		.arch = "x86_64",
		.gpu = gpu,
		.gpus = gpus,
		.gpu_fraction = gpu ? 1 : 0,
		.gpu_memory_mib = gpu ? gpu->memory_mib : 0,
		.markets = RG_SOLD(RG_PRICE_ON_DEMAND) | RG_SOLD(RG_PRICE_SPOT),
		.lowest_microusd_hour = RG_MONEY_UNKNOWN,
		.rank = rank,
		.prices = g_ptr_array_new_with_free_func(g_free)};
	g_ptr_array_add(catalog->types, type);
	g_hash_table_insert(catalog->type_of_name, (void *)(uintptr_t)type->name, type);
}

void rg_catalog_add_shapes(RgCatalog *catalog)
{
	const GPtrArray *models = rg_gpus_get_all(catalog->gpus);
	catalog->has_shapes = true;
	add_shape(catalog, "cpu", NULL, 0, 1);
	for (guint i = 0; i < models->len; i++) {
		const RgGpuModel *gpu = models->pdata[i];
		for (unsigned n = 1; gpu->ray_type[0] != '\0' && n <= MOST_GPUS; n++) {
			g_autofree char *name = g_strdup_printf("%s:%u", gpu->name, n);
			add_shape(catalog, name, gpu, n, 1 + i * MOST_GPUS + n);
		}
	}
}

/* ---- what an inventory says of them */

static GPtrArray *prices_of(const RgInstanceType *type)
{
	return (GPtrArray *)(uintptr_t)type->prices;
}

/* Takes the price out of the type, without freeing it; NULL: it has none on demand. */
static RgPrice *take_price(const RgInstanceType *type)
{
	for (guint i = 0; i < type->prices->len; i++)
		if (((const RgPrice *)type->prices->pdata[i])->kind == RG_PRICE_ON_DEMAND)
			return g_ptr_array_steal_index(prices_of(type), i);
	return NULL;
}

static void shape_rank(RgInstanceType *type)
{
	type->lowest_microusd_hour = RG_MONEY_UNKNOWN;
	rg_catalog_finish_type(type);
}

/* Back to what the project file says. */
static void shape_restore(RgCatalog *catalog, RgInstanceType *type)
{
	gpointer key, own = NULL;
	type->vcpus = 0;
	type->memory_gib = 0;
	if (!g_hash_table_steal_extended(catalog->replaced, type, &key, &own))
		return;
	g_free(take_price(type));
	if (own)
		g_ptr_array_add(prices_of(type), own);
	shape_rank(type);
}

static void shape_price(RgCatalog *catalog, RgInstanceType *type, const json_t *row)
{
	const json_t *said = json_object_get(row, "microusd_hour");
	if (!said)
		return;
	RgPrice *own = take_price(type), *price = g_new0(RgPrice, 1);
	int64_t most = own ? own->microusd_hour : RG_MONEY_UNKNOWN;
	*price = (RgPrice){.region = "",
		.zone = "",
		.kind = RG_PRICE_ON_DEMAND,
		.microusd_hour = json_integer_value(said),
		.quality = "negotiated",
		.own = "the inventory",
		.is_current = true};
	if (rg_json_bool(row, "partly_priced", false))
		price->microusd_hour =
			most == RG_MONEY_UNKNOWN ? most : MAX(most, price->microusd_hour);
	if (price->microusd_hour == RG_MONEY_UNKNOWN)
		price->quality = "unknown";
	g_hash_table_insert(catalog->replaced, type, own);
	g_ptr_array_add(prices_of(type), price);
	shape_rank(type);
}

void rg_catalog_describe_shapes(RgCatalog *catalog, const json_t *shapes)
{
	for (guint i = 0; catalog->has_shapes && i < catalog->types->len; i++) {
		RgInstanceType *type = catalog->types->pdata[i];
		const json_t *row = json_object_get(shapes, type->name);
		shape_restore(catalog, type);
		type->vcpus = (unsigned)rg_json_int(row, "vcpus", 0);
		type->memory_gib = (double)rg_json_int(row, "memory_mib", 0) / 1024;
		shape_price(catalog, type, row);
	}
}

int rg_instance_type_compare(const RgInstanceType *a, const RgInstanceType *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return strcmp(a->name, b->name);
}
