/* Types that no table has, as the cloud describes them. Like the derived ones, they exist only for
 * a spec that names them, and are never chosen. */
#include <math.h>
#include <string.h>
#include "catalog/internal.h"

/* The memory that a cloud states differs from what nvidia-smi shows: 16384 MiB for a T4's 15360. */
#define MEMORY_TOLERANCE 0.15
#define MOST 1000000000 /* of every figure */

/* Why a described type cannot be used. */
typedef struct {
	const char *code;
	char *summary, *hint; /* hint: may be NULL */
} Refusal;

struct RgDescribed {
	GHashTable *awaited; /* char* -> RgInstanceType*: with prices of the project file only */
	GHashTable *refused; /* char* -> Refusal*; NULL: the cloud has none of this name */
};

static void refusal_free(gpointer data)
{
	Refusal *refusal = data;
	if (!refusal)
		return;
	g_free(refusal->summary);
	g_free(refusal->hint);
	g_free(refusal);
}

static Refusal *refusal_new(const char *code, char *summary, const char *hint)
{
	Refusal *refusal = g_new(Refusal, 1);
	*refusal = (Refusal){code, summary, g_strdup(hint)};
	return refusal;
}

RgDescribed *rg_described_new(void)
{
	RgDescribed *described = g_new(RgDescribed, 1);
	described->awaited =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, rg_derived_type_free);
	described->refused = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, refusal_free);
	return described;
}

void rg_described_free(RgDescribed *described)
{
	g_hash_table_unref(described->awaited);
	g_hash_table_unref(described->refused);
	g_free(described);
}

/* HOST+ACCELERATOR:GPUS is a name of raygpu's own. */
bool rg_catalog_may_ask(const RgCatalog *catalog, const char *name)
{
	g_autofree char *why = NULL, *unsupported = NULL;
	return catalog->asks_types && *name && !strchr(name, '+') &&
	       !rg_catalog_derive(catalog, name, &why) && !why &&
	       !rg_catalog_find_retired(catalog, name) &&
	       !(unsupported = rg_catalog_unsupported(name));
}

RgInstanceType *rg_catalog_await(RgCatalog *catalog, const char *name)
{
	RgInstanceType *type = g_hash_table_lookup(catalog->described->awaited, name);
	if (type)
		return type;
	type = rg_derived_type_new("", "", 0, 0);
	type->name = g_strdup(name);
	g_hash_table_insert(catalog->described->awaited, (void *)(uintptr_t)type->name, type);
	return type;
}

GPtrArray *rg_catalog_get_undescribed(const RgCatalog *catalog)
{
	GPtrArray *types = g_ptr_array_new();
	rg_hash_values (RgInstanceType, type, catalog->described->awaited)
		if (type->prices->len > 0)
			g_ptr_array_add(types, type);
	return types;
}

/* ---- one description */

/* Of the models that the word means, or that Ray calls so, the one whose memory is nearest. */
static const RgGpuModel *find_model(const RgGpus *gpus, const char *word, double mib)
{
	const GPtrArray *all = rg_gpus_get_all(gpus);
	const RgGpuModel *best = NULL;
	double least = mib > 0 ? MEMORY_TOLERANCE * mib : 1;
	rg_ptr_foreach (const RgGpuModel, model, all) {
		double off = mib > 0 ? fabs(model->memory_mib - mib) : 0;
		if (off < least && (rg_gpus_is_model(gpus, word, model) ||
					   g_ascii_strcasecmp(model->ray_type, word) == 0)) {
			best = model;
			least = off;
		}
	}
	return best;
}

static Refusal *refuse_gpu(const char *name, const json_t *gpu, bool several)
{
	const char *vendor = rg_json_str(gpu, "vendor", ""), *model = rg_json_str(gpu, "name", "");
	int64_t count = rg_json_int(gpu, "count", 0), mib = rg_json_int(gpu, "memory_mib", 0);
	bool supported = g_str_equal(vendor, "NVIDIA") && !several;
	g_autofree char *size =
		mib > 0 ? g_strdup_printf(" of %" G_GINT64_FORMAT " MiB", mib) : g_strdup("");
	g_autofree char *what = g_strdup_printf("\"%s\" has %" G_GINT64_FORMAT " %s \"%s\"%s%s",
		name, count, vendor, model, size, several ? " and other accelerators" : "");
	return supported ? refusal_new("catalog.unknown-accelerator",
				   g_strconcat(what, ", which is not in raygpu's catalog of GPUs",
					   NULL),
				   "add the GPU to `catalog` of raygpu.yaml (raygpu-spec(5))")
			 : refusal_new("catalog.unsupported-accelerator",
				   g_strconcat(what, ", on which raygpu cannot run Ray", NULL),
				   "choose a type with NVIDIA GPUs; `raygpu offers` lists them");
}

/* The host has checked the module's answer, but a row may also come from a state that was edited.
 */
static unsigned count_of(const json_t *row, const char *key)
{
	return (unsigned)CLAMP(rg_json_int(row, key, 0), 0, MOST);
}

static Refusal *put_gpus(
	const RgCatalog *catalog, const char *name, const json_t *row, RgInstanceType *type)
{
	const json_t *gpus = json_object_get(row, "gpus"), *gpu = json_array_get(gpus, 0);
	if (!gpu)
		return NULL;
	double fraction = json_number_value(json_object_get(gpu, "fraction"));
	type->gpu_fraction = fraction > 0 ? fraction : 1;
	type->gpus = count_of(gpu, "count");
	bool several = json_array_size(gpus) > 1;
	if (!several && g_str_equal(rg_json_str(gpu, "vendor", ""), "NVIDIA"))
		type->gpu = find_model(catalog->gpus, rg_json_str(gpu, "name", ""),
			(double)rg_json_int(gpu, "memory_mib", 0) / type->gpu_fraction);
	if (!type->gpu)
		return refuse_gpu(name, gpu, several);
	type->gpu_memory_mib = (unsigned)(type->gpu->memory_mib * type->gpu_fraction);
	return NULL;
}

static Refusal *put_arch(const char *name, const json_t *row, RgInstanceType *type)
{
	static const char *const known[] = {"x86_64", "arm64"};
	const char *arch = rg_json_str(row, "arch", known[0]);
	for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
		if (g_str_equal(arch, known[i]))
			type->arch = known[i];
	if (*type->arch)
		return NULL;
	return refusal_new("catalog.unknown-type",
		g_strdup_printf("\"%s\" is an %s host, on which raygpu cannot run Ray", name, arch),
		NULL);
}

static void put_figures(const json_t *row, RgInstanceType *type)
{
	type->vcpus = count_of(row, "vcpus");
	type->memory_gib = (double)count_of(row, "memory_mib") / 1024;
	type->network_gbps = json_number_value(json_object_get(row, "network_gbps"));
	type->network_peak_gbps = json_number_value(json_object_get(row, "network_peak_gbps"));
	type->rdma_adapters = count_of(row, "rdma_adapters");
	type->refuses_placement = !rg_json_bool(row, "placement", true);
	const json_t *sold = json_object_get(row, "markets");
	if (json_array_size(sold))
		type->markets = 0;
	rg_json_foreach (word, sold)
		if (json_is_string(word))
			type->markets |= rg_catalog_market(json_string_value(word));
	for (guint i = 0; i < type->prices->len; i++)
		type->markets |= RG_SOLD(((const RgPrice *)type->prices->pdata[i])->kind);
}

/* The prices of the project file, if it has some, are in the type that awaits its description. */
static RgInstanceType *take_awaited(RgDescribed *described, const char *name)
{
	void *key, *type;
	if (g_hash_table_steal_extended(described->awaited, name, &key, &type))
		return type;
	type = rg_derived_type_new("", "", 0, 0);
	((RgInstanceType *)type)->name = g_strdup(name);
	return type;
}

static void describe(RgCatalog *catalog, const char *name, const json_t *row)
{
	RgInstanceType *type = take_awaited(catalog->described, name);
	type->described = true;
	put_figures(row, type);
	Refusal *refusal = put_arch(name, row, type);
	if (!refusal)
		refusal = put_gpus(catalog, name, row, type);
	if (!refusal) {
		rg_derived_add(catalog, type);
		return;
	}
	g_hash_table_insert(catalog->described->refused, g_strdup(name), refusal);
	g_free((char *)(uintptr_t)type->name);
	rg_derived_type_free(type);
}

void rg_catalog_describe(RgCatalog *catalog, const json_t *types)
{
	rg_json_foreach_member (name, row, types) {
		if (g_hash_table_contains(catalog->described->refused, name) ||
			!rg_catalog_may_ask(catalog, name))
			continue;
		if (json_is_object(row))
			describe(catalog, name, row);
		else
			g_hash_table_insert(catalog->described->refused, g_strdup(name), NULL);
	}
}

RgDiag *rg_catalog_report_described(const RgCatalog *catalog, const char *name, RgDiags *diags)
{
	const Refusal *refusal = g_hash_table_lookup(catalog->described->refused, name);
	if (!refusal)
		return NULL;
	RgDiag *diag = rg_diags_error(diags, refusal->code, "%s", refusal->summary);
	if (refusal->hint)
		rg_diag_hint(diag, "%s", refusal->hint);
	return diag;
}

bool rg_catalog_was_asked(const RgCatalog *catalog, const char *name)
{
	return g_hash_table_contains(catalog->described->refused, name);
}
