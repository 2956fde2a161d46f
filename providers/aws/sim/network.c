#include "aws/sim/describe.h"
#include "aws/sim/resources.h"

/* A /20 minus the five addresses that AWS reserves: network, router, DNS, reserve, broadcast. */
#define SUBNET_ADDRESSES 4091

static json_t *subnet_new(
	const RgSimPlace *region, const char *vpc_id, const json_t *zone, size_t index)
{
	const char *name = doc_str(zone, "name");
	g_autofree char *id = rg_sim_fixed_id("subnet-", region->name, name);
	g_autofree char *cidr = g_strdup_printf("172.31.%zu.0/20", index * 16);
	g_autofree char *arn =
		g_strdup_printf("arn:aws:ec2:%s:" EC2_ACCOUNT ":subnet/%s", region->name, id);
	json_t *subnet = json_pack(
		"{s:s, s:s, s:b, s:[], s:[], s:s, s:b, s:s, s:s, s:s, s:s, s:i, s:s, s:b, s:b}",
		"availabilityZoneId", doc_str(zone, "id"), "ownerId", EC2_ACCOUNT,
		"assignIpv6AddressOnCreation", 0, "ipv6CidrBlockAssociationSet", "tagSet",
		"subnetArn", arn, "ipv6Native", 0, "subnetId", id, "state", "available", "vpcId",
		vpc_id, "cidrBlock", cidr, "availableIpAddressCount", SUBNET_ADDRESSES,
		"availabilityZone", name, "defaultForAz", 1, "mapPublicIpOnLaunch", 1);
	json_object_set_new(subnet, "privateDnsNameOptionsOnLaunch",
		json_pack("{s:s, s:b, s:b}", "hostnameType", "ip-name",
			"enableResourceNameDnsARecord", 0, "enableResourceNameDnsAAAARecord", 0));
	return subnet;
}

void ec2_network_seed(RgSimPlace *region)
{
	g_autofree char *vpc_id = rg_sim_fixed_id("vpc-", region->name, "default");
	g_autofree char *cidr_id = rg_sim_fixed_id("vpc-cidr-assoc-", region->name, "default");
	g_autofree char *dhcp_id = rg_sim_fixed_id("dopt-", region->name, "default");
	json_t *vpc = json_pack(
		"{s:s, s:s, s:[{s:s, s:s, s:{s:s}}], s:b, s:[], s:s, s:s, s:s, s:s}", "ownerId",
		EC2_ACCOUNT, "instanceTenancy", "default", "cidrBlockAssociationSet",
		"associationId", cidr_id, "cidrBlock", "172.31.0.0/16", "cidrBlockState", "state",
		"associated", "isDefault", 1, "tagSet", "vpcId", vpc_id, "state", "available",
		"cidrBlock", "172.31.0.0/16", "dhcpOptionsId", dhcp_id);
	rg_sim_put(region, EC2_VPC, vpc);
	size_t i;
	json_t *zone;
	json_array_foreach (ec2_zones(region), i, zone)
		rg_sim_put(region, EC2_SUBNET, subnet_new(region, vpc_id, zone, i));
	ec2_groups_seed(region, vpc_id);
}

json_t *ec2_default_vpc(const RgSimPlace *region)
{
	rg_sim_foreach (vpc, region, EC2_VPC) {
		if (doc_is(vpc, "isDefault"))
			return vpc;
	}
	return NULL;
}

json_t *ec2_default_subnet(const RgSimPlace *region, const char *zone)
{
	rg_sim_foreach (subnet, region, EC2_SUBNET) {
		if (doc_is(subnet, "defaultForAz") &&
			g_str_equal(doc_str(subnet, "availabilityZone"), zone))
			return subnet;
	}
	return NULL;
}

static bool describe_vpcs(RgSimCall *call)
{
	static const Ec2Filter filters[] = {{"vpc-id", "vpcId"}, {"is-default", "isDefault"},
		{"isDefault", "isDefault"}, {"cidr", "cidrBlock"}, {"cidr-block", "cidrBlock"},
		{"state", "state"}, {"owner-id", "ownerId"}, {"dhcp-options-id", "dhcpOptionsId"},
		{NULL}};
	static const Ec2Listing listing = {"vpcSet", EC2_VPC, "VpcId", filters};
	return ec2_describe(call, &listing);
}

/* Free addresses are counted here, not stored in the subnet: launches would rewrite it each
 * time. */
static void write_subnets(RgSimCall *call, const GPtrArray *page)
{
	g_autoptr(GHashTable) used = g_hash_table_new(g_str_hash, g_str_equal);
	rg_sim_foreach (interface, call->place, EC2_INTERFACE) {
		const char *subnet = doc_str(interface, "subnetId");
		if (!*doc_str(interface, "privateIpAddress"))
			continue; /* EFA-only */
		int count = GPOINTER_TO_INT(g_hash_table_lookup(used, subnet));
		g_hash_table_insert(used, (void *)(guintptr)subnet, GINT_TO_POINTER(count + 1));
	}
	ec2_xml_open(call->body, "subnetSet");
	for (unsigned i = 0; i < page->len; i++) {
		json_auto_t *doc = json_copy(g_ptr_array_index(page, i));
		int count = GPOINTER_TO_INT(g_hash_table_lookup(used, doc_str(doc, "subnetId")));
		json_object_set_new(
			doc, "availableIpAddressCount", json_integer(SUBNET_ADDRESSES - count));
		ec2_xml_value(call->body, "item", doc);
	}
	ec2_xml_close(call->body, "subnetSet");
}

static bool describe_subnets(RgSimCall *call)
{
	static const Ec2Filter filters[] = {{"subnet-id", "subnetId"}, {"vpc-id", "vpcId"},
		{"availability-zone", "availabilityZone"}, {"availabilityZone", "availabilityZone"},
		{"availability-zone-id", "availabilityZoneId"}, {"default-for-az", "defaultForAz"},
		{"defaultForAz", "defaultForAz"}, {"state", "state"}, {"cidr-block", "cidrBlock"},
		{"cidrBlock", "cidrBlock"}, {"map-public-ip-on-launch", "mapPublicIpOnLaunch"},
		{"owner-id", "ownerId"}, {NULL}};
	static const Ec2Listing listing = {
		"subnetSet", EC2_SUBNET, "SubnetId", filters, .write = write_subnets};
	return ec2_describe(call, &listing);
}

static bool zones_exist(RgSimCall *call)
{
	g_autoptr(GPtrArray) names = call_texts(call, "ZoneName");
	for (unsigned i = 0; i < names->len; i++) {
		if (!ec2_zone(call->place, names->pdata[i]))
			return rg_sim_fail(call, 400, "InvalidParameterValue",
				"Invalid availability zone: [%s]", (char *)names->pdata[i]);
	}
	return true;
}

static bool describe_zones(RgSimCall *call)
{
	static const Ec2Filter filters[] = {{"zone-name", "zoneName"}, {"zone-id", "zoneId"},
		{"state", "zoneState"}, {"region-name", "regionName"}, {"zone-type", "zoneType"},
		{"group-name", "groupName"}, {"opt-in-status", "optInStatus"}, {NULL}};
	static const Ec2Listing listing = {.set = "availabilityZoneInfo", .filters = filters};
	if (!zones_exist(call))
		return false;
	const char *region = call->place->name;
	g_autoptr(GPtrArray) docs = g_ptr_array_new_with_free_func(rg_json_unref);
	rg_json_foreach (zone, ec2_zones(call->place)) {
		const char *name = doc_str(zone, "name");
		const char *id = doc_str(zone, "id");
		if (!ec2_is_asked(call, "ZoneName", name) || !ec2_is_asked(call, "ZoneId", id))
			continue;
		g_autofree char *group = g_strconcat(region, "-zg-1", NULL);
		g_ptr_array_add(
			docs, json_pack("{s:s, s:[], s:s, s:s, s:s, s:s, s:s, s:s, s:s}",
				      "optInStatus", "opt-in-not-required", "messageSet",
				      "regionName", region, "zoneName", name, "zoneId", id,
				      "groupName", group, "networkBorderGroup", region, "zoneType",
				      "availability-zone", "zoneState", "available"));
	}
	return ec2_describe_docs(call, &listing, docs);
}

static bool regions_exist(RgSimCall *call)
{
	g_autoptr(GPtrArray) names = call_texts(call, "RegionName");
	rg_ptr_foreach (const char, name, names) {
		if (!ec2_has_region(call->realm->data, name))
			return rg_sim_fail(
				call, 400, "InvalidParameterValue", "Invalid region: [%s]", name);
	}
	return true;
}

static bool describe_regions(RgSimCall *call)
{
	static const Ec2Filter filters[] = {{"region-name", "regionName"},
		{"endpoint", "regionEndpoint"}, {"opt-in-status", "optInStatus"}, {NULL}};
	static const Ec2Listing listing = {.set = "regionInfo", .filters = filters};
	if (!regions_exist(call))
		return false;
	g_autoptr(GPtrArray) docs = g_ptr_array_new_with_free_func(rg_json_unref);
	rg_json_foreach_member (name, region, ec2_data(call->place)->regions) {
		g_autofree char *endpoint = g_strdup_printf("ec2.%s.amazonaws.com", name);
		if (ec2_is_asked(call, "RegionName", name))
			g_ptr_array_add(docs, json_pack("{s:s, s:s, s:s}", "optInStatus",
						      doc_str(region, "opt_in"), "regionName", name,
						      "regionEndpoint", endpoint));
	}
	return ec2_describe_docs(call, &listing, docs);
}

const RgSimAction ec2_network_actions[] = {
	{"DescribeAvailabilityZones", describe_zones, false,
		"AllAvailabilityZones DryRun Filter ZoneId ZoneName"},
	{"DescribeRegions", describe_regions, false, "AllRegions DryRun Filter RegionName"},
	{"DescribeSubnets", describe_subnets, false, "SubnetId" PAGED},
	{"DescribeVpcs", describe_vpcs, false, "VpcId" PAGED},
	{NULL},
};
