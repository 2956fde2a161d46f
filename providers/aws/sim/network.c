#include "aws/sim/network.h"
#include "aws/sim/describe.h"
#include "aws/sim/groups.h"
#include "aws/sim/xml.h"

/* A /20 less the five addresses that AWS keeps: network, router, DNS, reserve, broadcast. */
#define SUBNET_ADDRESSES 4091

static json_t *subnet_new(
	const RgSimRegion *region, const char *vpc_id, const json_t *zone, size_t index)
{
	const char *name = rg_sim_doc_str(zone, "name");
	g_autofree char *id = rg_sim_world_fixed_id("subnet-", region->name, name);
	g_autofree char *cidr = g_strdup_printf("172.31.%zu.0/20", index * 16);
	g_autofree char *arn =
		g_strdup_printf("arn:aws:ec2:%s:" RG_SIM_ACCOUNT ":subnet/%s", region->name, id);
	json_t *subnet = json_pack(
		"{s:s, s:s, s:b, s:[], s:[], s:s, s:b, s:s, s:s, s:s, s:s, s:i, s:s, s:b, s:b}",
		"availabilityZoneId", rg_sim_doc_str(zone, "id"), "ownerId", RG_SIM_ACCOUNT,
		"assignIpv6AddressOnCreation", 0, "ipv6CidrBlockAssociationSet", "tagSet",
		"subnetArn", arn, "ipv6Native", 0, "subnetId", id, "state", "available", "vpcId",
		vpc_id, "cidrBlock", cidr, "availableIpAddressCount", SUBNET_ADDRESSES,
		"availabilityZone", name, "defaultForAz", 1, "mapPublicIpOnLaunch", 1);
	json_object_set_new(subnet, "privateDnsNameOptionsOnLaunch",
		json_pack("{s:s, s:b, s:b}", "hostnameType", "ip-name",
			"enableResourceNameDnsARecord", 0, "enableResourceNameDnsAAAARecord", 0));
	return subnet;
}

void rg_sim_network_seed(RgSimWorld *world, RgSimRegion *region)
{
	g_autofree char *vpc_id = rg_sim_world_fixed_id("vpc-", region->name, "default");
	g_autofree char *cidr_id =
		rg_sim_world_fixed_id("vpc-cidr-assoc-", region->name, "default");
	g_autofree char *dhcp_id = rg_sim_world_fixed_id("dopt-", region->name, "default");
	json_t *vpc = json_pack(
		"{s:s, s:s, s:[{s:s, s:s, s:{s:s}}], s:b, s:[], s:s, s:s, s:s, s:s}", "ownerId",
		RG_SIM_ACCOUNT, "instanceTenancy", "default", "cidrBlockAssociationSet",
		"associationId", cidr_id, "cidrBlock", "172.31.0.0/16", "cidrBlockState", "state",
		"associated", "isDefault", 1, "tagSet", "vpcId", vpc_id, "state", "available",
		"cidrBlock", "172.31.0.0/16", "dhcpOptionsId", dhcp_id);
	rg_sim_world_put(world, region, RG_SIM_VPC, vpc);
	size_t i;
	json_t *zone;
	json_array_foreach (json_object_get(region->entry, "zones"), i, zone)
		rg_sim_world_put(world, region, RG_SIM_SUBNET, subnet_new(region, vpc_id, zone, i));
	rg_sim_groups_seed(world, region, vpc_id);
}

json_t *rg_sim_network_default_vpc(const RgSimRegion *region)
{
	g_autoptr(GPtrArray) all = rg_sim_world_all(region, RG_SIM_VPC);
	for (unsigned i = 0; i < all->len; i++) {
		json_t *vpc = g_ptr_array_index(all, i);
		if (json_is_true(json_object_get(vpc, "isDefault")))
			return vpc;
	}
	return NULL;
}

json_t *rg_sim_network_default_subnet(const RgSimRegion *region, const char *zone)
{
	g_autoptr(GPtrArray) all = rg_sim_world_all(region, RG_SIM_SUBNET);
	for (unsigned i = 0; i < all->len; i++) {
		json_t *subnet = g_ptr_array_index(all, i);
		if (json_is_true(json_object_get(subnet, "defaultForAz")) &&
			g_str_equal(rg_sim_doc_str(subnet, "availabilityZone"), zone))
			return subnet;
	}
	return NULL;
}

bool rg_sim_describe_vpcs(RgSimCall *call)
{
	static const RgSimFilterName filters[] = {{"vpc-id", "vpcId"}, {"is-default", "isDefault"},
		{"isDefault", "isDefault"}, {"cidr", "cidrBlock"}, {"cidr-block", "cidrBlock"},
		{"state", "state"}, {"owner-id", "ownerId"}, {"dhcp-options-id", "dhcpOptionsId"},
		{NULL, NULL}};
	static const RgSimListing listing = {.set = "vpcSet",
		.kind = RG_SIM_VPC,
		.ids = "VpcId",
		.filters = filters,
		.min_results = 5,
		.max_results = 1000};
	return rg_sim_describe(call, &listing);
}

/* Free addresses are counted here, not kept in the subnet: launches would rewrite it each time. */
static void write_subnets(RgSimCall *call, const GPtrArray *page)
{
	g_autoptr(GHashTable) used = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GPtrArray) interfaces = rg_sim_world_all(call->region, RG_SIM_INTERFACE);
	for (unsigned i = 0; i < interfaces->len; i++) {
		const json_t *interface = g_ptr_array_index(interfaces, i);
		const char *subnet = rg_sim_doc_str(interface, "subnetId");
		if (!*rg_sim_doc_str(interface, "privateIpAddress"))
			continue; /* EFA-only */
		int count = GPOINTER_TO_INT(g_hash_table_lookup(used, subnet));
		g_hash_table_insert(used, (void *)(guintptr)subnet, GINT_TO_POINTER(count + 1));
	}
	rg_sim_xml_open(call->body, "subnetSet");
	for (unsigned i = 0; i < page->len; i++) {
		json_auto_t *doc = json_copy(g_ptr_array_index(page, i));
		int count =
			GPOINTER_TO_INT(g_hash_table_lookup(used, rg_sim_doc_str(doc, "subnetId")));
		json_object_set_new(
			doc, "availableIpAddressCount", json_integer(SUBNET_ADDRESSES - count));
		rg_sim_xml_value(call->body, "item", doc);
	}
	rg_sim_xml_close(call->body, "subnetSet");
}

bool rg_sim_describe_subnets(RgSimCall *call)
{
	static const RgSimFilterName filters[] = {{"subnet-id", "subnetId"}, {"vpc-id", "vpcId"},
		{"availability-zone", "availabilityZone"}, {"availabilityZone", "availabilityZone"},
		{"availability-zone-id", "availabilityZoneId"}, {"default-for-az", "defaultForAz"},
		{"defaultForAz", "defaultForAz"}, {"state", "state"}, {"cidr-block", "cidrBlock"},
		{"cidrBlock", "cidrBlock"}, {"map-public-ip-on-launch", "mapPublicIpOnLaunch"},
		{"owner-id", "ownerId"}, {NULL, NULL}};
	static const RgSimListing listing = {.set = "subnetSet",
		.kind = RG_SIM_SUBNET,
		.ids = "SubnetId",
		.filters = filters,
		.min_results = 5,
		.max_results = 1000,
		.write = write_subnets};
	return rg_sim_describe(call, &listing);
}

static void decref(void *doc)
{
	json_decref(doc);
}

static bool is_asked(RgSimCall *call, const char *parameter, const char *word)
{
	g_autoptr(GPtrArray) words = rg_sim_param_texts(call->params, parameter);
	for (unsigned i = 0; i < words->len; i++) {
		if (g_str_equal(g_ptr_array_index(words, i), word))
			return true;
	}
	return words->len == 0;
}

static bool zones_exist(RgSimCall *call)
{
	g_autoptr(GPtrArray) names = rg_sim_param_texts(call->params, "ZoneName");
	for (unsigned i = 0; i < names->len; i++) {
		const char *name = g_ptr_array_index(names, i);
		if (!rg_sim_data_zone(call->world->data, call->region->name, name))
			return rg_sim_fail(call, 400, "InvalidParameterValue",
				"Invalid availability zone: [%s]", name);
	}
	return true;
}

bool rg_sim_describe_zones(RgSimCall *call)
{
	static const RgSimFilterName filters[] = {{"zone-name", "zoneName"}, {"zone-id", "zoneId"},
		{"state", "zoneState"}, {"region-name", "regionName"}, {"zone-type", "zoneType"},
		{"group-name", "groupName"}, {"opt-in-status", "optInStatus"}, {NULL, NULL}};
	static const RgSimListing listing = {.set = "availabilityZoneInfo", .filters = filters};
	if (!zones_exist(call))
		return false;
	const char *region = call->region->name;
	g_autoptr(GPtrArray) docs = g_ptr_array_new_with_free_func(decref);
	size_t i;
	json_t *zone;
	json_array_foreach (json_object_get(call->region->entry, "zones"), i, zone) {
		const char *name = rg_sim_doc_str(zone, "name");
		const char *id = rg_sim_doc_str(zone, "id");
		if (!is_asked(call, "ZoneName", name) || !is_asked(call, "ZoneId", id))
			continue;
		g_autofree char *group = g_strconcat(region, "-zg-1", NULL);
		g_ptr_array_add(
			docs, json_pack("{s:s, s:[], s:s, s:s, s:s, s:s, s:s, s:s, s:s}",
				      "optInStatus", "opt-in-not-required", "messageSet",
				      "regionName", region, "zoneName", name, "zoneId", id,
				      "groupName", group, "networkBorderGroup", region, "zoneType",
				      "availability-zone", "zoneState", "available"));
	}
	return rg_sim_describe_docs(call, &listing, docs);
}

static bool regions_exist(RgSimCall *call)
{
	g_autoptr(GPtrArray) names = rg_sim_param_texts(call->params, "RegionName");
	for (unsigned i = 0; i < names->len; i++) {
		const char *name = g_ptr_array_index(names, i);
		if (!rg_sim_data_region(call->world->data, name))
			return rg_sim_fail(
				call, 400, "InvalidParameterValue", "Invalid region: [%s]", name);
	}
	return true;
}

bool rg_sim_describe_regions(RgSimCall *call)
{
	static const RgSimFilterName filters[] = {{"region-name", "regionName"},
		{"endpoint", "regionEndpoint"}, {"opt-in-status", "optInStatus"}, {NULL, NULL}};
	static const RgSimListing listing = {.set = "regionInfo", .filters = filters};
	if (!regions_exist(call))
		return false;
	g_autoptr(GPtrArray) docs = g_ptr_array_new_with_free_func(decref);
	size_t i;
	json_t *region;
	json_array_foreach (call->world->data->regions, i, region) {
		const char *name = rg_sim_doc_str(region, "name");
		g_autofree char *endpoint = g_strdup_printf("ec2.%s.amazonaws.com", name);
		if (is_asked(call, "RegionName", name))
			g_ptr_array_add(
				docs, json_pack("{s:s, s:s, s:s}", "optInStatus",
					      rg_sim_doc_str(region, "opt_in"), "regionName", name,
					      "regionEndpoint", endpoint));
	}
	return rg_sim_describe_docs(call, &listing, docs);
}
