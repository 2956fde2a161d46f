#include <string.h>
#include "aws/sim/resources.h"

/* As declared; texts and lists are borrowed, these may be NULL. */
typedef struct {
	int vcpus, efa, gpu_count;
	double memory_gib, gpu_memory_gib, network_gbps;
	const char *arch, *gpu_name;
	json_t *zones; /* names; NULL: all */
	int placement;
} Declared;

static bool own_type_unpack(const json_t *value, Declared *declared, char **problem)
{
	json_t *gpus = NULL;
	json_error_t error;
	*declared = (Declared){.arch = "x86_64", .network_gbps = 10, .placement = 1};
	int failed = json_unpack_ex(rg_json_unconst(value), &error, 0,
		"{s:i, s:F, s?s, s?o, s?F, s?i, s?o, s?b !}", "vcpus", &declared->vcpus,
		"memory_gib", &declared->memory_gib, "arch", &declared->arch, "gpus", &gpus,
		"network_gbps", &declared->network_gbps, "efa", &declared->efa, "zones",
		&declared->zones, "placement", &declared->placement);
	if (!failed && gpus)
		failed = json_unpack_ex(gpus, &error, 0, "{s:s, s:i, s:F !}", "name",
			&declared->gpu_name, "count", &declared->gpu_count, "memory_gib",
			&declared->gpu_memory_gib);
	if (failed)
		*problem = g_strdup(error.text);
	return !failed;
}

static bool between(double value, double least, double most)
{
	return value >= least && value <= most;
}

static bool check_figures(const Declared *declared, char **problem)
{
	bool good = between(declared->vcpus, 1, 10000) && between(declared->memory_gib, 0.5, 1e6) &&
		    between(declared->efa, 0, 64) && between(declared->network_gbps, 0.01, 1e5) &&
		    (!declared->gpu_name || (between(declared->gpu_count, 1, 999) &&
						    between(declared->gpu_memory_gib, 1, 1e5)));
	if (!good)
		*problem = g_strdup("vcpus is from 1 to 10000, memory_gib from 0.5 to 1000000, "
				    "network_gbps from 0.01 to 100000, efa from 0 to 64, "
				    "gpus.count from 1 to 999, gpus.memory_gib from 1 to 100000");
	else if (!g_str_equal(declared->arch, "x86_64") && !g_str_equal(declared->arch, "arm64"))
		*problem = g_strdup("arch is x86_64 or arm64");
	return !*problem;
}

/* The zone's id, and its region's name; NULL for an unknown zone. */
static json_t *find_zone(const Ec2Data *data, const char *name, const char **region)
{
	json_t *entry;
	json_object_foreach (data->regions, *region, entry) {
		const json_t *zone = rg_sim_entry(json_object_get(entry, "zones"), "name", name);
		if (zone)
			return json_object_get(zone, "id");
	}
	return NULL;
}

static bool check_zones(const Ec2Data *data, const Declared *declared, char **problem)
{
	const char *region;
	if (declared->zones &&
		(!json_is_array(declared->zones) || !json_array_size(declared->zones)))
		*problem = g_strdup("zones is a list of zone names");
	for (size_t i = 0; !*problem && i < json_array_size(declared->zones); i++) {
		const char *zone = json_string_value(json_array_get(declared->zones, i));
		if (!zone || !find_zone(data, zone, &region))
			*problem = g_strdup_printf("there is no zone \"%s\"", zone ? zone : "");
	}
	return !*problem;
}

static bool is_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	const char *dot = strchr(name, '.');
	return dot && dot != name && dot[1] && strlen(name) <= 64 &&
	       strspn(name, allowed) == (size_t)(dot - name) &&
	       strspn(dot + 1, allowed) == strlen(dot + 1);
}

bool ec2_own_type_check(const void *given, const char *name, const json_t *value, char **problem)
{
	const Ec2Data *data = given;
	Declared declared;
	if (!is_name(name))
		*problem = g_strdup("a name is like p9.48xlarge");
	else if (json_object_get(data->types, name))
		*problem = g_strdup("already exists");
	return !*problem && own_type_unpack(value, &declared, problem) &&
	       check_figures(&declared, problem) && check_zones(data, &declared, problem);
}

/* ---- their form in the API */

/* One card per EFA interface, two interfaces per card, as on p5.48xlarge. */
static json_t *cards_of(const Declared *declared, int cards, const char *performance)
{
	double each = declared->network_gbps / cards;
	json_t *list = json_array();
	for (int i = 0; i < cards; i++)
		json_array_append_new(
			list, json_pack("{s:i, s:s, s:i, s:f, s:f}", "networkCardIndex", i,
				      "networkPerformance", performance, "maximumNetworkInterfaces",
				      cards > 1 ? 2 : 15, "baselineBandwidthInGbps", each,
				      "peakBandwidthInGbps", each));
	return list;
}

static json_t *network_of(const Declared *declared)
{
	int cards = MAX(declared->efa, 1);
	g_autofree char *word = g_strdup_printf("%g Gigabit", declared->network_gbps);
	g_autofree char *each = g_strdup_printf("%g Gigabit", declared->network_gbps / cards);
	json_t *network = json_pack("{s:s, s:i, s:i, s:i, s:o, s:i, s:i, s:b, s:s, s:b}",
		"networkPerformance", word, "maximumNetworkInterfaces", cards > 1 ? 2 * cards : 15,
		"maximumNetworkCards", cards, "defaultNetworkCardIndex", 0, "networkCards",
		cards_of(declared, cards, each), "ipv4AddressesPerInterface", 50,
		"ipv6AddressesPerInterface", 50, "ipv6Supported", 1, "enaSupport", "required",
		"efaSupported", declared->efa > 0);
	if (declared->efa > 0)
		json_object_set_new(network, "efaInfo",
			json_pack("{s:i}", "maximumEfaInterfaces", declared->efa));
	return network;
}

static json_t *gpus_of(const Declared *declared)
{
	json_int_t each = (json_int_t)(declared->gpu_memory_gib * 1024);
	return json_pack("{s:[{s:s, s:s, s:i, s:{s:I}}], s:I}", "gpus", "name", declared->gpu_name,
		"manufacturer", "NVIDIA", "count", declared->gpu_count, "memoryInfo", "sizeInMiB",
		each, "totalGpuMemoryInMiB", each * declared->gpu_count);
}

static json_t *entry_of(const char *name, const Declared *declared)
{
	int threads = declared->vcpus % 2 ? 1 : 2;
	json_t *entry = json_pack("{s:s, s:b, s:b, s:[s, s], s:[s], s:[s], s:b, s:s}",
		"instanceType", name, "currentGeneration", 1, "freeTierEligible", 0,
		"supportedUsageClasses", "on-demand", "spot", "supportedRootDeviceTypes", "ebs",
		"supportedVirtualizationTypes", "hvm", "bareMetal", 0, "hypervisor", "nitro");
	json_object_set_new(entry, "processorInfo",
		json_pack("{s:[s]}", "supportedArchitectures", declared->arch));
	json_object_set_new(entry, "vCpuInfo",
		json_pack("{s:i, s:i, s:i}", "defaultVCpus", declared->vcpus, "defaultCores",
			declared->vcpus / threads, "defaultThreadsPerCore", threads));
	json_object_set_new(entry, "memoryInfo",
		json_pack("{s:I}", "sizeInMiB", (json_int_t)(declared->memory_gib * 1024)));
	json_object_set_new(entry, "instanceStorageSupported", json_false());
	json_object_set_new(entry, "networkInfo", network_of(declared));
	if (declared->gpu_name)
		json_object_set_new(entry, "gpuInfo", gpus_of(declared));
	json_t *strategies = json_pack("[s, s]", "partition", "spread");
	if (declared->placement)
		json_array_insert_new(strategies, 0, json_string("cluster"));
	json_object_set_new(
		entry, "placementGroupInfo", json_pack("{s:o}", "supportedStrategies", strategies));
	return entry;
}

/* {region: [zone id]}, in the form of data/offerings.json. */
static json_t *places_of(const Ec2Data *data, const Declared *declared)
{
	json_t *places = json_object();
	for (size_t i = 0; i < json_array_size(declared->zones); i++) {
		const char *region = NULL;
		const char *name = json_string_value(json_array_get(declared->zones, i));
		json_t *id = find_zone(data, name, &region);
		if (!json_object_get(places, region))
			json_object_set_new(places, region, json_array());
		json_array_append(json_object_get(places, region), id);
	}
	return places;
}

void ec2_own_type_add(void *given, const char *name, const json_t *value)
{
	Ec2Data *data = given;
	Declared declared;
	g_autofree char *unused = NULL;
	if (!name) {
		json_object_clear(data->own_types);
		json_object_clear(data->own_offerings);
	} else if (own_type_unpack(value, &declared, &unused)) { /* already checked */
		json_object_set_new(data->own_types, name, entry_of(name, &declared));
		json_object_del(data->own_offerings, name);
		if (declared.zones)
			json_object_set_new(data->own_offerings, name, places_of(data, &declared));
	}
}
