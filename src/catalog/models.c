/* The models of GPUs by their names. */
#include <string.h>
#include "catalog/gpus.h"
#include "catalog/internal.h"

void rg_gpus_add_word(RgGpus *gpus, const char *name, RgGpuModel *model)
{
	g_autofree char *word = g_ascii_strdown(name, -1);
	GPtrArray *models = g_hash_table_lookup(gpus->models_of_word, word);
	if (!models) {
		models = g_ptr_array_new();
		g_hash_table_insert(gpus->models_of_word, g_steal_pointer(&word), models);
	}
	if (!g_ptr_array_find(models, model, NULL))
		g_ptr_array_add(models, model);
}

bool rg_gpu_parse_capability(const char *text, unsigned *tenths)
{
	const char *point = strchr(text, '.');
	if (!point || !g_ascii_isdigit(point[1]) || point[2] != '\0')
		return false;
	g_autofree char *major = g_strndup(text, (gsize)(point - text));
	guint64 number = 0;
	if (!g_ascii_string_to_unsigned(major, 10, 0, 999, &number, NULL))
		return false;
	*tenths = (unsigned)number * 10 + (unsigned)(point[1] - '0');
	return true;
}

const GPtrArray *rg_gpus_get_all(const RgGpus *gpus)
{
	return gpus->models;
}

const RgGpuModel *rg_gpus_find(const RgGpus *gpus, const char *name)
{
	return g_hash_table_lookup(gpus->model_of_name, name);
}

const GPtrArray *rg_gpus_named(const RgGpus *gpus, const char *word)
{
	g_autofree char *lower = g_ascii_strdown(word, -1);
	return g_hash_table_lookup(gpus->models_of_word, lower);
}

bool rg_gpus_is_model(const RgGpus *gpus, const char *word, const RgGpuModel *model)
{
	const GPtrArray *models = rg_gpus_named(gpus, word);
	return models && g_ptr_array_find((GPtrArray *)(uintptr_t)models, model, NULL);
}

bool rg_gpus_are_sisters(const RgGpuModel *model, const RgGpuModel *other)
{
	return model != other && *model->ray_type && g_str_equal(model->ray_type, other->ray_type);
}

bool rg_gpu_has_precision(const RgGpuModel *model, const char *precision)
{
	g_auto(GStrv) all = g_strsplit(model->precisions, "|", -1);
	return g_strv_contains((const char *const *)all, precision);
}
