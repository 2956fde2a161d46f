#include "aws/sim/types.h"
#include "aws/sim/describe.h"

json_t *rg_sim_type_find(const RgSimData *data, const char *type)
{
	json_t *found = json_object_get(data->type_by_name, type);
	return found ? found : json_object_get(data->own_types, type);
}

/* Entries of all types, borrowed. */
static GPtrArray *all_types(const RgSimData *data)
{
	GPtrArray *all = g_ptr_array_new();
	size_t i;
	const char *name;
	json_t *type;
	json_array_foreach (data->types, i, type)
		g_ptr_array_add(all, type);
	json_object_foreach (data->own_types, name, type)
		g_ptr_array_add(all, type);
	return all;
}

const char *rg_sim_type_arch(const json_t *type)
{
	const json_t *list =
		json_object_get(json_object_get(type, "processorInfo"), "supportedArchitectures");
	/* Some types list i386 first. */
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *arch = json_string_value(json_array_get(list, i));
		if (!g_str_equal(arch, "i386"))
			return arch;
	}
	return "x86_64";
}

gint64 rg_sim_type_max_interfaces(const json_t *type)
{
	const json_t *network = json_object_get(type, "networkInfo");
	return json_integer_value(json_object_get(network, "maximumNetworkInterfaces"));
}

gint64 rg_sim_type_vcpus(const json_t *type)
{
	return json_integer_value(
		json_object_get(json_object_get(type, "vCpuInfo"), "defaultVCpus"));
}

static bool offered_in_region(const RgSimCall *call, const char *type)
{
	size_t i;
	json_t *zone;
	json_array_foreach (json_object_get(call->region->entry, "zones"), i, zone) {
		if (rg_sim_data_offered(call->world->data, type, call->region->name,
			    rg_sim_doc_str(zone, "id")))
			return true;
	}
	return false;
}

static bool types_exist(RgSimCall *call, const GPtrArray *names)
{
	for (unsigned i = 0; i < names->len; i++) {
		const char *name = g_ptr_array_index(names, i);
		if (!rg_sim_type_find(call->world->data, name) || !offered_in_region(call, name))
			return rg_sim_fail(call, 400, "InvalidInstanceType",
				"The following supplied instance types do not exist: [%s]", name);
	}
	return true;
}

bool rg_sim_describe_types(RgSimCall *call)
{
	static const RgSimFilterName filters[] = {{"instance-type", "instanceType"},
		{"current-generation", "currentGeneration"}, {"bare-metal", "bareMetal"},
		{"hypervisor", "hypervisor"},
		{"processor-info.supported-architecture", "processorInfo.supportedArchitectures"},
		{"vcpu-info.default-vcpus", "vCpuInfo.defaultVCpus"},
		{"memory-info.size-in-mib", "memoryInfo.sizeInMiB"},
		{"supported-usage-class", "supportedUsageClasses"},
		{"network-info.efa-supported", "networkInfo.efaSupported"},
		{"instance-storage-supported", "instanceStorageSupported"}, {NULL, NULL}};
	static const RgSimListing listing = {
		.set = "instanceTypeSet", .filters = filters, .min_results = 5, .max_results = 100};
	g_autoptr(GPtrArray) names = rg_sim_param_texts(call->params, "InstanceType");
	if (!types_exist(call, names))
		return false;
	if (names->len && rg_sim_param_str(call->params, "MaxResults"))
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The parameter instanceTypes cannot be used with the parameter maxResults");
	g_autoptr(GPtrArray) docs = g_ptr_array_new();
	g_autoptr(GPtrArray) all = all_types(call->world->data);
	for (guint i = 0; i < all->len; i++) {
		json_t *type = all->pdata[i];
		const char *name = rg_sim_doc_str(type, "instanceType");
		if (names->len ? g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL)
			       : offered_in_region(call, name))
			g_ptr_array_add(docs, type);
	}
	return rg_sim_describe_docs(call, &listing, docs);
}

static void decref(void *doc)
{
	json_decref(doc);
}

static void add_offering(
	GPtrArray *docs, const char *type, const char *location_type, const char *location)
{
	g_ptr_array_add(docs, json_pack("{s:s, s:s, s:s}", "instanceType", type, "locationType",
				      location_type, "location", location));
}

static void add_zones(
	const RgSimCall *call, GPtrArray *docs, const char *type, const char *location_type)
{
	bool by_name = g_str_equal(location_type, "availability-zone");
	size_t i;
	json_t *zone;
	json_array_foreach (json_object_get(call->region->entry, "zones"), i, zone) {
		const char *id = rg_sim_doc_str(zone, "id");
		if (rg_sim_data_offered(call->world->data, type, call->region->name, id))
			add_offering(docs, type, location_type,
				by_name ? rg_sim_doc_str(zone, "name") : id);
	}
}

bool rg_sim_describe_offerings(RgSimCall *call)
{
	static const RgSimFilterName filters[] = {
		{"instance-type", "instanceType"}, {"location", "location"}, {NULL, NULL}};
	static const RgSimListing listing = {.set = "instanceTypeOfferingSet",
		.filters = filters,
		.min_results = 5,
		.max_results = 1000};
	const char *location_type = rg_sim_param_str(call->params, "LocationType");
	if (!location_type)
		location_type = "region";
	g_autoptr(GPtrArray) docs = g_ptr_array_new_with_free_func(decref);
	g_autoptr(GPtrArray) all = all_types(call->world->data);
	for (guint i = 0; i < all->len; i++) {
		const char *type = rg_sim_doc_str(all->pdata[i], "instanceType");
		if (!g_str_equal(location_type, "region"))
			add_zones(call, docs, type, location_type);
		else if (offered_in_region(call, type))
			add_offering(docs, type, location_type, call->region->name);
	}
	return rg_sim_describe_docs(call, &listing, docs);
}
