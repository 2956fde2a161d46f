#include "aws/sim/describe.h"
#include "aws/sim/resources.h"
#include "base/embedded.h"

extern const struct rg_embedded aws_sim_data[];

/* ---- the facts */

static json_t *data_load(const char *name)
{
	const struct rg_embedded *file = rg_embedded_find(aws_sim_data, name);
	if (!file)
		g_error("no embedded file %s", name);
	json_error_t where;
	json_t *value = json_loadb(file->data, file->len, JSON_REJECT_DUPLICATES, &where);
	if (!value)
		g_error("embedded %s, line %d: %s", name, where.line, where.text);
	return value;
}

/* The list's entries by the text of a member. */
static json_t *data_load_by(const char *name, const char *member)
{
	json_auto_t *list = data_load(name);
	json_t *entries = json_object();
	rg_json_foreach (entry, list)
		json_object_set(entries, doc_str(entry, member), entry);
	return entries;
}

void *ec2_data_new(void)
{
	Ec2Data *data = g_new0(Ec2Data, 1);
	*data = (Ec2Data){.requests = data_load("requests.json"),
		.types = data_load_by("instance_types.json", "instanceType"),
		.offerings = data_load("offerings.json"),
		.regions = data_load_by("regions.json", "name"),
		.images = data_load("images.json"),
		.parameters = data_load("parameters.json"),
		.own_types = json_object(),
		.own_offerings = json_object()};
	return data;
}

void ec2_data_free(void *given)
{
	Ec2Data *data = given;
	json_decref(data->requests);
	json_decref(data->types);
	json_decref(data->own_types);
	json_decref(data->own_offerings);
	json_decref(data->offerings);
	json_decref(data->regions);
	json_decref(data->images);
	json_decref(data->parameters);
	g_free(data);
}

bool ec2_has_region(const void *data, const char *name)
{
	return json_object_get(((const Ec2Data *)data)->regions, name) != NULL;
}

const json_t *ec2_zones(const RgSimPlace *region)
{
	return json_object_get(json_object_get(ec2_data(region)->regions, region->name), "zones");
}

const json_t *ec2_zone(const RgSimPlace *region, const char *name)
{
	return rg_sim_entry(ec2_zones(region), "name", name);
}

/* ---- types */

json_t *ec2_type_find(const RgSimPlace *region, const char *type)
{
	json_t *found = json_object_get(ec2_data(region)->types, type);
	return found ? found : json_object_get(ec2_data(region)->own_types, type);
}

bool ec2_type_offered(const RgSimPlace *region, const char *type, const char *zone_id)
{
	const json_t *places = json_object_get(ec2_data(region)->offerings, type);
	if (!places)
		places = json_object_get(ec2_data(region)->own_offerings, type);
	return !places || rg_json_has_text(json_object_get(places, region->name), zone_id);
}

/* Entries of all types, borrowed. */
static GPtrArray *all_types(const Ec2Data *data)
{
	GPtrArray *all = g_ptr_array_new();
	rg_json_foreach_member (name, type, data->types)
		g_ptr_array_add(all, type);
	rg_json_foreach_member (name, type, data->own_types)
		g_ptr_array_add(all, type);
	return all;
}

const char *ec2_type_arch(const json_t *type)
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

gint64 ec2_type_max_interfaces(const json_t *type)
{
	const json_t *network = json_object_get(type, "networkInfo");
	return doc_int(network, "maximumNetworkInterfaces");
}

gint64 ec2_type_vcpus(const json_t *type)
{
	return json_integer_value(
		json_object_get(json_object_get(type, "vCpuInfo"), "defaultVCpus"));
}

static bool offered_in_region(const RgSimPlace *region, const char *type)
{
	rg_json_foreach (zone, ec2_zones(region)) {
		if (ec2_type_offered(region, type, doc_str(zone, "id")))
			return true;
	}
	return false;
}

static bool types_exist(RgSimCall *call, const GPtrArray *names)
{
	rg_ptr_foreach (const char, name, names) {
		if (!ec2_type_find(call->place, name) || !offered_in_region(call->place, name))
			return rg_sim_fail(call, 400, "InvalidInstanceType",
				"The following supplied instance types do not exist: [%s]", name);
	}
	return true;
}

static bool describe_types(RgSimCall *call)
{
	static const Ec2Filter filters[] = {{"instance-type", "instanceType"},
		{"current-generation", "currentGeneration"}, {"bare-metal", "bareMetal"},
		{"hypervisor", "hypervisor"},
		{"processor-info.supported-architecture", "processorInfo.supportedArchitectures"},
		{"vcpu-info.default-vcpus", "vCpuInfo.defaultVCpus"},
		{"memory-info.size-in-mib", "memoryInfo.sizeInMiB"},
		{"supported-usage-class", "supportedUsageClasses"},
		{"network-info.efa-supported", "networkInfo.efaSupported"},
		{"instance-storage-supported", "instanceStorageSupported"}, {NULL}};
	static const Ec2Listing listing = {
		.set = "instanceTypeSet", .filters = filters, .most = 100};
	g_autoptr(GPtrArray) names = call_texts(call, "InstanceType");
	if (!types_exist(call, names))
		return false;
	if (names->len && call_str(call, "MaxResults"))
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The parameter instanceTypes cannot be used with the parameter maxResults");
	g_autoptr(GPtrArray) docs = g_ptr_array_new();
	g_autoptr(GPtrArray) all = all_types(ec2_data(call->place));
	rg_ptr_foreach (json_t, type, all) {
		const char *name = doc_str(type, "instanceType");
		if (names->len ? g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL)
			       : offered_in_region(call->place, name))
			g_ptr_array_add(docs, type);
	}
	return ec2_describe_docs(call, &listing, docs);
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
	rg_json_foreach (zone, ec2_zones(call->place)) {
		const char *id = doc_str(zone, "id");
		if (ec2_type_offered(call->place, type, id))
			add_offering(
				docs, type, location_type, by_name ? doc_str(zone, "name") : id);
	}
}

static bool describe_offerings(RgSimCall *call)
{
	static const Ec2Filter filters[] = {
		{"instance-type", "instanceType"}, {"location", "location"}, {NULL}};
	static const Ec2Listing listing = {.set = "instanceTypeOfferingSet", .filters = filters};
	const char *location_type = call_str(call, "LocationType");
	if (!location_type)
		location_type = "region";
	g_autoptr(GPtrArray) docs = g_ptr_array_new_with_free_func(rg_json_unref);
	g_autoptr(GPtrArray) all = all_types(ec2_data(call->place));
	for (guint i = 0; i < all->len; i++) {
		const char *type = doc_str(all->pdata[i], "instanceType");
		if (!g_str_equal(location_type, "region"))
			add_zones(call, docs, type, location_type);
		else if (offered_in_region(call->place, type))
			add_offering(docs, type, location_type, call->place->name);
	}
	return ec2_describe_docs(call, &listing, docs);
}

const RgSimAction ec2_type_actions[] = {
	{"DescribeInstanceTypeOfferings", describe_offerings, false, "LocationType" PAGED},
	{"DescribeInstanceTypes", describe_types, false, "InstanceType" PAGED},
	{NULL},
};
