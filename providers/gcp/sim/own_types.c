#include <string.h>
#include "gcp/sim/gce.h"

/* Machine types that a scenario adds to those of data/machine_types.json, in the same form. */

/* As declared; texts and lists are borrowed, these may be NULL. */
typedef struct {
	int vcpus, gpu_count;
	double memory_gib;
	const char *arch, *gpu_name;
	json_t *regions; /* NULL: all */
} Declared;

static bool unpack(const json_t *value, Declared *declared, char **problem)
{
	json_t *gpus = NULL;
	json_error_t error;
	*declared = (Declared){.arch = "x86_64"};
	int failed =
		json_unpack_ex(rg_json_unconst(value), &error, 0, "{s:i, s:F, s?s, s?o, s?o !}",
			"vcpus", &declared->vcpus, "memory_gib", &declared->memory_gib, "arch",
			&declared->arch, "gpus", &gpus, "regions", &declared->regions);
	if (!failed && gpus)
		failed = json_unpack_ex(gpus, &error, 0, "{s:s, s:i !}", "name",
			&declared->gpu_name, "count", &declared->gpu_count);
	if (failed)
		*problem = g_strdup(error.text);
	return !failed;
}

static bool check_figures(const Declared *declared, char **problem)
{
	bool good =
		declared->vcpus >= 1 && declared->vcpus <= 10000 && declared->memory_gib >= 0.5 &&
		declared->memory_gib <= 1e6 &&
		(!declared->gpu_name || (declared->gpu_count >= 1 && declared->gpu_count <= 999));
	if (!good)
		*problem = g_strdup("vcpus is from 1 to 10000, memory_gib from 0.5 to 1000000, "
				    "gpus.count from 1 to 999");
	else if (!g_str_equal(declared->arch, "x86_64") && !g_str_equal(declared->arch, "arm64"))
		*problem = g_strdup("arch is x86_64 or arm64");
	return !*problem;
}

static bool check_regions(const GceData *data, const Declared *declared, char **problem)
{
	if (declared->regions &&
		(!json_is_array(declared->regions) || !json_array_size(declared->regions)))
		*problem = g_strdup("regions is a list of region names");
	for (size_t i = 0; !*problem && i < json_array_size(declared->regions); i++) {
		const char *region = json_string_value(json_array_get(declared->regions, i));
		if (!region || !json_object_get(data->regions, region))
			*problem =
				g_strdup_printf("there is no region \"%s\"", region ? region : "");
	}
	return !*problem;
}

bool gce_own_type_check(const void *given, const char *name, const json_t *value, char **problem)
{
	const GceData *data = given;
	Declared declared;
	if (!g_regex_match_simple("^[a-z](-?[a-z0-9])*$", name, G_REGEX_DOLLAR_ENDONLY, 0) ||
		!strchr(name, '-') || strlen(name) > 63)
		*problem = g_strdup("a name is like x9-highgpu-8g");
	else if (gce_type_facts(data, name) && !json_object_get(data->own, name))
		*problem = g_strdup("already exists");
	return !*problem && unpack(value, &declared, problem) &&
	       check_figures(&declared, problem) && check_regions(data, &declared, problem);
}

static json_t *facts_of(const Declared *declared)
{
	json_t *facts = json_pack("{s:i, s:I, s:s, s:O*}", "guestCpus", declared->vcpus, "memoryMb",
		(json_int_t)(declared->memory_gib * 1024), "architecture",
		g_str_equal(declared->arch, "arm64") ? "ARM64" : "X86_64", "regions",
		declared->regions);
	if (declared->gpu_name)
		json_object_set_new(facts, "accelerators",
			json_pack("[{s:s, s:i}]", "guestAcceleratorType", declared->gpu_name,
				"guestAcceleratorCount", declared->gpu_count));
	return facts;
}

void gce_own_type_add(void *given, const char *name, const json_t *value)
{
	GceData *data = given;
	Declared declared;
	g_autofree char *unused = NULL;
	if (!name) {
		rg_json_foreach_member (own, unused_value, data->own)
			json_object_del(data->types, own);
		json_object_clear(data->own);
	} else if (unpack(value, &declared, &unused)) { /* already checked */
		json_object_set_new(data->types, name, facts_of(&declared));
		json_object_set_new(data->own, name, json_true());
	}
}
