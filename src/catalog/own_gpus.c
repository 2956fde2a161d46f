/* GPU models of the project file: new ones, and changed figures of those in the table. */
#include <string.h>
#include "catalog/internal.h"
#include "catalog/mig.h"

static const char *keep(RgGpus *gpus, const char *text)
{
	return g_string_chunk_insert_const(gpus->texts, text);
}

static char *list_names(const GPtrArray *models)
{
	g_autoptr(GString) text = g_string_new(NULL);
	for (guint i = 0; i < models->len; i++)
		g_string_append_printf(text, "%s%s", i > 0 ? ", " : "",
			((const RgGpuModel *)models->pdata[i])->name);
	return g_strdup(text->str);
}

/* A new model's name is its own word; a word of other models would mean all of them. */
static bool is_free(const RgGpus *gpus, const RgOwnRow *row, const char *name)
{
	const GPtrArray *others = rg_gpus_named(gpus, name);
	if (!others)
		return true;
	g_autofree char *names = list_names(others);
	RgDiag *diag = rg_own_complain(
		row, NULL, g_strdup_printf("\"%s\" is a name of built-in GPU models", name));
	rg_diag_hint(
		diag, "to change one, use its own name: %s; a new model needs a new name", names);
	return false;
}

static RgGpuModel *add_model(RgGpus *gpus, const RgOwnRow *row, const char *name)
{
	static const char *const needed[] = {"memory", "compute_capability", NULL};
	if (!is_free(gpus, row, name) || !rg_own_has_all(row, needed, "GPU model", name))
		return NULL;
	RgGpuModel *model = g_new0(RgGpuModel, 1);
	g_ptr_array_add(gpus->models, model);
	model->name = model->ray_type = keep(gpus, name);
	model->vendor = "NVIDIA";
	model->architecture = model->form = model->ray_memory_type = model->precisions = "";
	model->mig_min_driver = model->min_driver = model->min_cuda = "";
	g_hash_table_insert(gpus->model_of_name, (void *)(uintptr_t)model->name, model);
	rg_gpus_add_word(gpus, name, model);
	return model;
}

static void put_texts(RgGpus *gpus, const RgOwnRow *row, RgGpuModel *model)
{
	const struct {
		const char *key, **text;
	} texts[] = {{"architecture", &model->architecture}, {"ray_type", &model->ray_type},
		{"min_driver", &model->min_driver}, {"min_cuda", &model->min_cuda}};
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		const char *text = rg_json_str(row->row, texts[i].key, NULL);
		if (text)
			*texts[i].text = keep(gpus, text);
	}
	const json_t *precisions = json_object_get(row->row, "precisions");
	g_autoptr(GString) joined = g_string_new(NULL);
	for (size_t i = 0; i < json_array_size(precisions); i++)
		g_string_append_printf(joined, "%s%s", i > 0 ? "|" : "",
			json_string_value(json_array_get(precisions, i)));
	if (precisions)
		model->precisions = keep(gpus, joined->str);
	const json_t *names = json_object_get(row->row, "names");
	for (size_t i = 0; i < json_array_size(names); i++)
		rg_gpus_add_word(gpus, json_string_value(json_array_get(names, i)), model);
}

/* Twice or half as much is a mistake in one of the two. */
static bool put_memory(const RgOwnRow *row, RgGpuModel *model)
{
	double memory = rg_own_size(row, "memory");
	unsigned mib = (unsigned)rg_json_int(row->row, "memory_mib", 0);
	if (memory > 0) {
		model->memory_gb = (unsigned)memory;
		model->memory_mib = (unsigned)(memory * 1e9 / (1 << 20));
	}
	if (mib == 0)
		return true;
	if (mib > model->memory_gb * 1024 || mib < model->memory_gb * 512) {
		RgDiag *diag = rg_own_complain(row, "memory_mib",
			g_strdup_printf("%u MiB is not the memory of a GPU that is sold with %u GB",
				mib, model->memory_gb));
		rg_diag_hint(diag, "nvidia-smi --query-gpu=memory.total --format=csv shows it");
		return false;
	}
	model->memory_mib = mib;
	return true;
}

static void put_figures(const RgOwnRow *row, RgGpuModel *model)
{
	const char *capability = rg_json_str(row->row, "compute_capability", NULL);
	if (capability)
		rg_gpu_parse_capability(capability, &model->compute_capability);
	rg_own_amount(row, "bandwidth_gb_s", &model->bandwidth_gb_s);
	rg_own_amount(row, "fp16_tflops", &model->fp16_tflops);
	rg_own_amount(row, "fp8_tflops", &model->fp8_tflops);
	rg_own_amount(row, "nvlink_gb_s", &model->nvlink_gb_s);
	rg_own_amount(row, "power_w", &model->power_w);
	model->own_power = json_object_get(row->row, "power_w") != NULL;
}

/* NULL if the profile may be as it is written; else what is wrong with it. */
static char *mig_fault(const RgMig *mig, const RgGpuModel *model, const char *name, json_t *value)
{
	const RgMigProfile *known = mig ? rg_mig_find(mig, model->name, name) : NULL;
	unsigned gigabytes = (unsigned)g_ascii_strtoull(strchr(name, '.') + 1, NULL, 10);
	unsigned mib = rg_own_mig_memory(value);
	if (mig && !known)
		return g_strdup_printf(
			"the MIG profiles of %s are built in, and %s is not one of them",
			model->name, name);
	if (known && rg_own_mig_count(value) > 0)
		return g_strdup_printf("how many slices of %s fit on %s is built in; only their "
				       "memory_mib can be changed",
			name, model->name);
	if (!known && rg_own_mig_count(value) == 0)
		return g_strdup_printf("the new MIG profile %s has no \"count\"", name);
	if (mib > gigabytes * 1024 || (mib > 0 && mib < gigabytes * 512))
		return g_strdup_printf("%u MiB is not the memory of a slice %s", mib, name);
	return NULL;
}

static bool put_mig(const RgOwnRow *row, RgGpuModel *model)
{
	json_t *wish = json_object_get(row->row, "mig");
	g_autofree char *pointer = rg_json_pointer_add(row->pointer, "mig");
	const RgOwnRow all = {row->own, wish, pointer, row->diags};
	g_autoptr(RgMig) mig =
		wish && model->mig_instances > 0 ? rg_mig_open(NULL, row->diags) : NULL;
	unsigned most = model->mig_instances;
	rg_json_foreach_member (name, value, wish) {
		char *fault = mig_fault(mig, model, name, value);
		if (fault) {
			rg_own_complain(&all, name, fault);
			return false;
		}
		most = MAX(most, rg_own_mig_count(value));
	}
	model->mig_instances = most;
	model->own_mig = json_incref(wish);
	return true;
}

static bool read_model(RgGpus *gpus, const RgOwnRow *row, const char *name)
{
	RgGpuModel *model = g_hash_table_lookup(gpus->model_of_name, name);
	if (!model && !(model = add_model(gpus, row, name)))
		return false;
	g_autofree char *place = rg_own_place(row);
	model->own = keep(gpus, place);
	put_texts(gpus, row, model);
	put_figures(row, model);
	return put_memory(row, model) && put_mig(row, model);
}

bool rg_own_add_gpus(RgGpus *gpus, const RgOwnRows *own, RgDiags *diags)
{
	json_t *all = own ? json_object_get(own->rows, "gpus") : NULL;
	bool good = true;
	rg_json_foreach_member (name, value, all) {
		g_autofree char *pointer = rg_json_pointer_add("/gpus", name);
		RgOwnRow row = {own, value, pointer, diags};
		good &= read_model(gpus, &row, name);
	}
	return good;
}
