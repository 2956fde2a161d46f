#include "spec/workload.h"
#include <string.h>
#include "spec/build.h"
#include "spec/check.h"
#include "spec/disk.h"
#include "spec/words.h"

/* Ray's own default for a task. */
#define DEFAULT_CPUS 1

/* 16, "16GB", "2.5 GiB". */
static double gigabytes(const json_t *value)
{
	return json_is_string(value) ? g_ascii_strtod(json_string_value(value), NULL)
				     : json_number_value(value);
}

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

RgWorkload *rg_workload_build(
	const RgDocument *document, const char *name, const char *pointer, const json_t *value)
{
	RgWorkload *workload = g_new0(RgWorkload, 1);
	g_autofree char *gpus = rg_json_pointer_add(pointer, "gpus");
	g_autofree char *gpu_memory = rg_json_pointer_add(pointer, "gpu_memory");
	const json_t *cpus = json_object_get(value, "cpus"),
		     *memory = json_object_get(value, "memory");
	workload->name = g_strdup(name);
	workload->origin = g_strdup(pointer);
	workload->source = rg_document_key_source(document, pointer);
	workload->gpus = json_number_value(json_object_get(value, "gpus"));
	workload->gpus_source = rg_document_source(document, gpus);
	workload->gpu_memory_gb = gigabytes(json_object_get(value, "gpu_memory"));
	workload->gpu_memory_source = rg_document_source(document, gpu_memory);
	workload->nodes = count_of(value, "nodes", 0);
	workload->replicas = count_of(value, "replicas", 1);
	workload->gang = json_is_true(json_object_get(value, "gang"));
	workload->capability = capability_of(rg_json_str(value, "compute_capability", NULL));
	workload->models = rg_json_texts(json_object_get(value, "accelerators"));
	workload->pools = rg_json_texts(json_object_get(value, "pool"));
	workload->labels = ref_object(value, "labels");
	workload->resources = ref_object(value, "resources");
	workload->cpus = cpus ? json_number_value(cpus) : DEFAULT_CPUS;
	workload->memory_gib = memory ? rg_disk_gib(memory) : 0;
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
	json_decref(workload->resources);
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
	share->source = rg_document_source(document, profiles ? mig : slices);
}
