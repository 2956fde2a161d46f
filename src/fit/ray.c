/* What Ray sees of a node: its GPUs or slices, labels and resources. */
#include <math.h>
#include <string.h>
#include "fit/internal.h"

unsigned rg_fit_ray_gpus(const RgShape *shape)
{
	return shape->type->gpus * (shape->slices ? shape->slices->len : 1);
}

/* A machine has two threads on each core, or one: with one wished, at least half of its CPUs. What
 * a setting gives in full is rounded up, as a whole CPU is the least that Ray counts. 0: not
 * known. */
static unsigned machine_cpus(const RgShape *shape)
{
	const json_t *per_core = json_object_get(shape->cpus, "per_core");
	const json_t *value = json_object_get(shape->cpus, "value");
	const char *text = json_string_value(value);
	if (json_is_integer(per_core) && json_integer_value(per_core) == 1)
		return shape->type->vcpus > 1 ? shape->type->vcpus / 2 : shape->type->vcpus;
	if (!value)
		return shape->type->vcpus;
	char *rest = NULL;
	double count = text ? g_ascii_strtod(text, &rest) : json_number_value(value);
	if (text && g_str_equal(rest, "m"))
		count /= 1000;
	else if (text && *rest)
		return 0;
	return (unsigned)CLAMP(ceil(count), 0, G_MAXINT);
}

bool rg_fit_ray_cpus(const RgShape *shape, unsigned *cpus)
{
	bool said = shape->pool->num_cpus >= 0;
	*cpus = said ? (unsigned)shape->pool->num_cpus : machine_cpus(shape);
	return said || *cpus;
}

unsigned rg_fit_gpu_memory_gb(const RgShape *shape)
{
	if (!shape->slices)
		return shape->type->gpu ? shape->type->gpu->memory_gb : 0;
	unsigned least = G_MAXUINT;
	for (guint i = 0; i < shape->slices->len; i++)
		least = MIN(least, ((const RgMigProfile *)shape->slices->pdata[i])->memory_gb);
	return least;
}

double rg_fit_gpu_memory_gib(const RgShape *shape)
{
	const RgGpuModel *gpu = shape->type->gpu;
	unsigned mib = gpu ? gpu->memory_mib : 0;
	for (guint i = 0; shape->slices && i < shape->slices->len; i++)
		mib = MIN(mib, ((const RgMigProfile *)shape->slices->pdata[i])->memory_mib);
	return mib / 1024.0;
}

/* Ray's arithmetic (python/ray/_private/resource_and_label_spec.py, _resolve_memory_resources;
 * before Ray 2.50 resource_spec.py): the object store gets 30 % of the available memory, at most
 * 200e9 bytes and at most 95 % of /dev/shm, if that is more than 10e9 bytes; tasks get the rest.
 * start-ray makes /dev/shm 30 % of the node's memory (src/boot/conf.c). Available is what the
 * kernel shows, less what the container itself uses. The last two are estimates: on Linux, 64 bytes
 * a page of 4 KiB (1.6 %), firmware and the kernel take about 2.5 %; Ray's own processes 0.75 GiB,
 * with the head's 1 GiB more. The spec may say both. */
int64_t rg_fit_ray_memory_mib(const RgShape *shape)
{
	const double mib = 1024 * 1024;
	const json_t *said = shape->pool->ray_start;
	if (json_object_get(said, "memory"))
		return rg_json_int(said, "memory", 0) >> 20;
	double nominal = shape->type->memory_gib * 1024;
	double available = nominal * 0.975 - (shape->pool->is_head ? 1792 : 768);
	double shm = MAX(10e9 / mib, ceil(nominal * 0.3) * 0.95);
	double store = MIN(MIN(available * 0.3, 200e9 / mib), shm);
	if (json_object_get(said, "object_store_memory"))
		store = (double)(rg_json_int(said, "object_store_memory", 0) >> 20);
	return MAX((int64_t)(available - store), 0);
}

/* "1g.5gb+me" in the form that Ray's labels and resources, and Kubernetes, allow: "1g.5gb.me". */
static char *plain_name(const RgMigProfile *profile)
{
	return g_strdelimit(g_strdup(profile->name), "+", '.');
}

char *rg_fit_slice_word(const RgShape *shape)
{
	if (!shape->slices)
		return NULL;
	for (guint i = 1; i < shape->slices->len; i++) {
		if (shape->slices->pdata[i] != shape->slices->pdata[0])
			return g_strdup("mixed");
	}
	return plain_name(shape->slices->pdata[0]);
}

json_t *rg_fit_labels(const RgCluster *cluster, const RgShape *shape, const char *zone)
{
	json_t *labels = json_object();
	const char *name;
	json_t *of_setting;
	json_object_foreach (rg_json_unconst(shape->labels), name, of_setting)
		json_object_update(labels, of_setting);
	json_object_update(labels, shape->pool->labels);
	if (shape->type->gpu)
		rg_json_set_str(labels, "ray.io/accelerator-type", shape->type->gpu->ray_type);
	rg_json_set_str(labels, "ray.io/market-type", rg_market_word(shape->is_spot));
	if (zone && *zone)
		rg_json_set_str(labels, "ray.io/availability-zone", zone);
	if (*cluster->provider.region)
		rg_json_set_str(labels, "ray.io/availability-region", cluster->provider.region);
	rg_json_set_str(labels, "ray.io/node-group", shape->pool->name);
	rg_json_set_str(labels, "raygpu.io/cluster", cluster->name);
	g_autofree char *word = rg_fit_slice_word(shape);
	unsigned tasks = shape->pool->share.time_slices;
	g_autofree char *count = g_strdup_printf("%u", tasks);
	if (word)
		rg_json_set_str(labels, "raygpu.io/mig", word);
	if (tasks > 0)
		rg_json_set_str(labels, "raygpu.io/time-slices", count);
	return labels;
}

/* The number of slices of each profile on a node: "mig-1g.5gb": 56. */
static void add_slices(json_t *resources, const RgShape *shape)
{
	for (guint i = 0; shape->slices && i < shape->slices->len; i++) {
		g_autofree char *word = plain_name(shape->slices->pdata[i]);
		g_autofree char *name = g_strconcat("mig-", word, NULL);
		json_int_t before = json_integer_value(json_object_get(resources, name));
		json_object_set_new(resources, name, json_integer(before + shape->type->gpus));
	}
}

json_t *rg_fit_resources(const RgShape *shape)
{
	const RgGpuModel *gpu = shape->type->gpu;
	json_t *resources = json_object();
	json_object_update(resources, shape->pool->resources);
	const char *types[] = {gpu ? gpu->ray_type : "", gpu ? gpu->ray_memory_type : ""};
	for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
		g_autofree char *name = g_strconcat("accelerator_type:", types[i], NULL);
		if (types[i][0] != '\0')
			json_object_set_new(resources, name, json_integer(1));
	}
	add_slices(resources, shape);
	return resources;
}

/* The slices of one GPU, each with its place on the chip if different profiles share it; a list of
 * one profile finds its places by itself. */
static json_t *slices_json(const RgShape *shape)
{
	json_t *list = json_array();
	g_autofree char *word = rg_fit_slice_word(shape);
	for (guint i = 0; i < shape->slices->len; i++) {
		const RgMigProfile *profile = shape->slices->pdata[i];
		json_t *start =
			g_str_equal(word, "mixed") ? json_integer(shape->starts[i]) : json_null();
		json_array_append_new(
			list, json_pack("{s:s, s:o}", "profile", profile->name, "start", start));
	}
	return list;
}

json_t *rg_fit_share_json(const RgShape *shape)
{
	const RgShare *share = &shape->pool->share;
	if (shape->slices)
		return json_pack("{s:o, s:i}", "mig", slices_json(shape), "ray_gpus",
			(int)rg_fit_ray_gpus(shape));
	if (share->time_slices > 0)
		return json_pack("{s:i}", "time_slices", (int)share->time_slices);
	if (share->of && *share->of)
		return json_pack("{s:s}", "of", share->of);
	return NULL;
}
