#include "catalog/gpus.h"
#include "catalog/internal.h"
#include "catalog/table.h"

static void clear(void *data)
{
	RgGpus *gpus = data;
	g_hash_table_unref(gpus->models_of_word);
	g_hash_table_unref(gpus->model_of_name);
	g_ptr_array_unref(gpus->models);
	g_string_chunk_free(gpus->texts);
}

enum {
	NAME,
	VENDOR,
	ARCHITECTURE,
	FORM,
	MEMORY,
	MEMORY_MIB,
	BANDWIDTH,
	CAPABILITY,
	PRECISIONS,
	FP16,
	FP8,
	POWER,
	NVLINK,
	MIG,
	MIG_DRIVER,
	DRIVER,
	CUDA,
	LAST_CUDA,
	RAY_TYPE,
	RAY_MEMORY_TYPE,
	NAMES
};

static const char *const columns[] = {"gpu_model", "vendor", "architecture", "form", "memory_gb",
	"memory_mib", "bandwidth_gb_s", "compute_capability", "precisions", "fp16_tflops",
	"fp8_tflops", "power_w", "nvlink_gb_s", "mig_instances", "mig_min_driver", "min_driver",
	"min_cuda", "last_cuda_major", "ray_type", "ray_memory_type", "names", NULL};

static void read_texts(RgGpus *gpus, const RgTable *table, size_t row, RgGpuModel *model)
{
	const struct {
		size_t column;
		const char **text;
	} texts[] = {{NAME, &model->name}, {VENDOR, &model->vendor},
		{ARCHITECTURE, &model->architecture}, {FORM, &model->form},
		{PRECISIONS, &model->precisions}, {MIG_DRIVER, &model->mig_min_driver},
		{DRIVER, &model->min_driver}, {CUDA, &model->min_cuda},
		{RAY_TYPE, &model->ray_type}, {RAY_MEMORY_TYPE, &model->ray_memory_type}};
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
		*texts[i].text = g_string_chunk_insert_const(
			gpus->texts, rg_table_cell(table, row, texts[i].column));
}

/* Both sizes; a card reports 86 % (V710) to 102 % of the size that it is sold as, so that GiB or
 * KiB in the column of MiB are noticed. */
static bool read_memory(const RgTable *table, size_t row, RgGpuModel *model, RgDiags *diags)
{
	if (!rg_table_count(table, row, MEMORY, &model->memory_gb, diags) ||
		!rg_table_count(table, row, MEMORY_MIB, &model->memory_mib, diags))
		return false;
	double part = model->memory_mib / 1024.0 / MAX(model->memory_gb, 1);
	if (part >= 0.8 && part <= 1.1)
		return true;
	rg_table_complain(table, row, MEMORY_MIB, "MiB, 80 % to 110 % of memory_gb", diags);
	return false;
}

static bool read_figures(const RgTable *table, size_t row, RgGpuModel *model, RgDiags *diags)
{
	const struct {
		size_t column;
		double *amount;
	} amounts[] = {{BANDWIDTH, &model->bandwidth_gb_s}, {FP16, &model->fp16_tflops},
		{FP8, &model->fp8_tflops}, {POWER, &model->power_w}, {NVLINK, &model->nvlink_gb_s}};
	bool good = read_memory(table, row, model, diags);
	for (size_t i = 0; i < G_N_ELEMENTS(amounts); i++)
		good &= rg_table_amount(
			table, row, amounts[i].column, true, amounts[i].amount, diags);
	good &= rg_table_count_or_none(table, row, MIG, &model->mig_instances, diags);
	good &= rg_table_count_or_none(table, row, LAST_CUDA, &model->last_cuda_major, diags);
	const char *capability = rg_table_cell(table, row, CAPABILITY);
	if (capability[0] != '\0' &&
		!rg_gpu_parse_capability(capability, &model->compute_capability)) {
		rg_table_complain(table, row, CAPABILITY, "a number like 8.0", diags);
		good = false;
	}
	return good;
}

static bool read_model(RgGpus *gpus, const RgTable *table, size_t row, RgDiags *diags)
{
	RgGpuModel *model = g_new0(RgGpuModel, 1);
	g_ptr_array_add(gpus->models, model);
	read_texts(gpus, table, row, model);
	if (model->name[0] == '\0' ||
		!g_hash_table_insert(gpus->model_of_name, (void *)(uintptr_t)model->name, model)) {
		rg_table_complain(table, row, NAME, "a unique name", diags);
		return false;
	}
	if (!read_figures(table, row, model, diags))
		return false;
	g_auto(GStrv) words = g_strsplit(rg_table_cell(table, row, NAMES), "|", -1);
	for (size_t i = 0; words[i]; i++) {
		if (words[i][0] != '\0')
			rg_gpus_add_word(gpus, words[i], model);
	}
	return true;
}

static void free_model(void *data)
{
	RgGpuModel *model = data;
	json_decref(rg_json_unconst(model->own_mig));
	g_free(model);
}

RgGpus *rg_gpus_open_text(RgCatalogText text, void *data, const RgOwnRows *own, RgDiags *diags)
{
	const RgCatalogSource source = {.text = text, .data = data};
	g_autoptr(RgTable) table = rg_catalog_read_table(&source, "gpu_models.csv", columns, diags);
	if (!table)
		return NULL;
	g_autoptr(RgGpus) gpus = g_atomic_rc_box_new0(RgGpus);
	gpus->texts = g_string_chunk_new(4096);
	gpus->models = g_ptr_array_new_with_free_func(free_model);
	gpus->model_of_name = g_hash_table_new(g_str_hash, g_str_equal);
	gpus->models_of_word = g_hash_table_new_full(
		g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
	bool good = true;
	for (size_t row = 0; row < rg_table_rows(table); row++)
		good &= read_model(gpus, table, row, diags);
	good = good && rg_own_add_gpus(gpus, own, diags);
	return good ? g_steal_pointer(&gpus) : NULL;
}

RgGpus *rg_gpus_open_with(const RgOwnRows *own, RgDiags *diags)
{
	return rg_gpus_open_text(
		rg_catalog_embedded_text, (void *)(uintptr_t)rg_catalog_data, own, diags);
}

RgGpus *rg_gpus_open(RgDiags *diags)
{
	return rg_gpus_open_with(NULL, diags);
}

RgGpus *rg_gpus_ref(RgGpus *gpus)
{
	return g_atomic_rc_box_acquire(gpus);
}

void rg_gpus_unref(RgGpus *gpus)
{
	if (gpus)
		g_atomic_rc_box_release_full(gpus, clear);
}
