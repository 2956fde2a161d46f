#include "spec/workload.h"
#include <string.h>
#include "spec/build.h"
#include "spec/check.h"
#include "spec/disk.h"
#include "spec/words.h"

/* Ray's own default for a task. */
#define DEFAULT_CPUS 1

/* ">=8.0" and "8.0" to 80. */
static unsigned capability_of(const char *text)
{
	const char *number = text ? text + strcspn(text, "0123456789") : NULL;
	return number ? (unsigned)(g_ascii_strtod(number, NULL) * 10 + 0.5) : 0;
}

static unsigned count_of(const json_t *value, const char *key, unsigned otherwise)
{
	const json_t *count = json_object_get(value, key);
	return count ? (unsigned)json_number_value(count) : otherwise;
}

static json_t *ref_object(const json_t *value, const char *key)
{
	json_t *object = json_object_get(value, key);
	return object ? json_incref(object) : json_object();
}

static const char *const strategies[] = {[RG_STRATEGY_PACK] = "PACK",
	[RG_STRATEGY_SPREAD] = "SPREAD",
	[RG_STRATEGY_STRICT_PACK] = "STRICT_PACK",
	[RG_STRATEGY_STRICT_SPREAD] = "STRICT_SPREAD"};

const char *rg_strategy_word(RgStrategy strategy)
{
	return strategies[strategy];
}

static RgStrategy strategy_of(const char *word, RgStrategy otherwise)
{
	for (size_t i = 0; word && i < G_N_ELEMENTS(strategies); i++) {
		if (g_str_equal(word, strategies[i]))
			return (RgStrategy)i;
	}
	return otherwise;
}

bool rg_workload_is_group(const RgWorkload *workload)
{
	return workload->has_bundles || workload->nodes > 0 || workload->gang;
}

/* 16, "16GB", "2.5 GiB". */
static void set_gpu_memory(RgBundle *bundle, const json_t *value)
{
	const char *text = json_string_value(value);
	double size = text ? g_ascii_strtod(text, NULL) : json_number_value(value);
	if (text && g_str_has_suffix(text, "GiB"))
		bundle->gpu_memory_gib = size;
	else
		bundle->gpu_memory_gb = size;
}

static RgBundle *build_bundle(
	const RgDocument *document, const char *pointer, const json_t *value, unsigned count)
{
	RgBundle *bundle = g_new0(RgBundle, 1);
	g_autofree char *gpus = rg_json_pointer_add(pointer, "gpus");
	g_autofree char *gpu_memory = rg_json_pointer_add(pointer, "gpu_memory");
	const json_t *cpus = json_object_get(value, "cpus"),
		     *memory = json_object_get(value, "memory");
	bundle->count = count;
	bundle->gpus = json_number_value(json_object_get(value, "gpus"));
	bundle->gpus_source = rg_document_source(document, gpus);
	set_gpu_memory(bundle, json_object_get(value, "gpu_memory"));
	bundle->gpu_memory_source = rg_document_source(document, gpu_memory);
	bundle->resources = ref_object(value, "resources");
	bundle->cpus = cpus ? json_number_value(cpus) : DEFAULT_CPUS;
	bundle->memory_gib = memory ? rg_disk_gib(memory) : 0;
	return bundle;
}

static void free_bundle(gpointer data)
{
	RgBundle *bundle = data;
	json_decref(bundle->resources);
	g_free(bundle);
}

static void build_bundles(
	RgWorkload *workload, const RgDocument *document, const char *pointer, const json_t *value)
{
	const json_t *list = json_object_get(value, "bundles");
	workload->bundles = g_ptr_array_new_with_free_func(free_bundle);
	workload->has_bundles = list != NULL;
	for (size_t i = 0; i < json_array_size(list); i++) {
		g_autofree char *at = g_strdup_printf("%s/bundles/%zu", pointer, i);
		const json_t *item = json_array_get(list, i);
		g_ptr_array_add(workload->bundles,
			build_bundle(document, at, item, count_of(item, "count", 1)));
	}
	if (!list)
		g_ptr_array_add(workload->bundles,
			build_bundle(document, pointer, value, MAX(workload->nodes, 1)));
}

RgWorkload *rg_workload_build(
	const RgDocument *document, const char *name, const char *pointer, const json_t *value)
{
	RgWorkload *workload = g_new0(RgWorkload, 1);
	g_autofree char *same_gpu = rg_json_pointer_add(pointer, "same_gpu");
	workload->name = g_strdup(name);
	workload->origin = g_strdup(pointer);
	workload->source = rg_document_key_source(document, pointer);
	workload->nodes = count_of(value, "nodes", 0);
	workload->replicas = count_of(value, "replicas", 1);
	workload->gang = json_is_true(json_object_get(value, "gang"));
	workload->strategy = strategy_of(rg_json_str(value, "strategy", NULL),
		workload->nodes > 0 ? RG_STRATEGY_STRICT_SPREAD : RG_STRATEGY_PACK);
	workload->same_gpu = rg_json_bool(value, "same_gpu", true);
	workload->same_gpu_source = rg_document_source(document, same_gpu);
	workload->capability = capability_of(rg_json_str(value, "compute_capability", NULL));
	workload->models = rg_json_texts(json_object_get(value, "accelerators"));
	workload->pools = rg_json_texts(json_object_get(value, "pool"));
	workload->labels = ref_object(value, "labels");
	build_bundles(workload, document, pointer, value);
	return workload;
}

void rg_workload_free(gpointer data)
{
	RgWorkload *workload = data;
	if (!workload)
		return;
	g_free(workload->name);
	g_free(workload->origin);
	g_strfreev(workload->models);
	g_strfreev(workload->pools);
	json_decref(workload->labels);
	g_ptr_array_unref(workload->bundles);
	g_free(workload);
}

void rg_share_build(
	RgShare *share, const RgDocument *document, const char *pool_pointer, const json_t *value)
{
	g_autofree char *pointer = rg_json_pointer_add(pool_pointer, "share");
	g_autofree char *mig = rg_json_pointer_add(pointer, "mig");
	g_autofree char *slices = rg_json_pointer_add(pointer, "time_slices");
	const json_t *profiles = json_object_get(value, "mig");
	share->mig = rg_json_texts(profiles);
	share->mig_is_list = json_is_array(profiles);
	share->time_slices = count_of(value, "time_slices", 0);
	share->of = g_intern_string(json_is_string(value) ? json_string_value(value) : "");
	share->source = rg_document_source(document, *share->of ? pointer
						     : profiles ? mig
								: slices);
}
