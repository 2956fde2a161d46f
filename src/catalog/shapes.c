/* A provider without a table of instance types: nodes are shapes named by their GPUs, "cpu",
 * "T4:1", "A100-80GB:8". Their CPUs and memory are unknown. */
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

int rg_instance_type_compare(const RgInstanceType *a, const RgInstanceType *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return strcmp(a->name, b->name);
}
