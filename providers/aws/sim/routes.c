#include "aws/sim/describe.h"
#include "aws/sim/resources.h"

/* Route tables of the default VPC, made for each call from the knob `egress`: the main table, whose
 * default route goes to the internet gateway that a default VPC comes with, and a table of its own
 * for each zone that the knob names. */

static const struct {
	const char *word;
	const char *member; /* of a route; NULL: there is no default route */
	const char *prefix;
	const char *state;
} ways[] = {
	{"internet_gateway", "gatewayId", "igw-", "active"},
	{"nat_gateway", "natGatewayId", "nat-", "active"},
	{"deleted_nat_gateway", "natGatewayId", "nat-", "blackhole"},
	{"transit_gateway", "transitGatewayId", "tgw-", "active"},
	{"none", NULL, NULL, NULL},
};

static size_t find_way(const char *word)
{
	size_t i = 0;
	while (i < G_N_ELEMENTS(ways) && g_strcmp0(ways[i].word, word))
		i++;
	return i;
}

bool ec2_is_egress(const json_t *value)
{
	rg_json_foreach_member (zone, word, value) {
		if (find_way(json_string_value(word)) == G_N_ELEMENTS(ways))
			return false;
	}
	return json_is_object(value) && json_object_get(value, "*");
}

static json_t *routes_of(const RgSimPlace *region, const char *word)
{
	size_t way = find_way(word);
	json_t *routes =
		json_pack("[{s:s, s:s, s:s, s:s}]", "destinationCidrBlock", "172.31.0.0/16",
			"gatewayId", "local", "origin", "CreateRouteTable", "state", "active");
	if (!ways[way].member)
		return routes;
	g_autofree char *target = rg_sim_fixed_id(ways[way].prefix, region->name, "default");
	json_array_append_new(routes, json_pack("{s:s, s:s, s:s, s:s}", "destinationCidrBlock",
					      "0.0.0.0/0", ways[way].member, target, "origin",
					      "CreateRoute", "state", ways[way].state));
	return routes;
}

/* `subnet` NULL: the main table. */
static json_t *table_new(const RgSimPlace *region, const char *word, const json_t *subnet)
{
	const char *name = subnet ? doc_str(subnet, "availabilityZone") : "main";
	const json_t *vpc = ec2_default_vpc(region);
	g_autofree char *id = rg_sim_fixed_id("rtb-", region->name, name);
	g_autofree char *association_id = rg_sim_fixed_id("rtbassoc-", region->name, name);
	json_t *association = json_pack("{s:s, s:s, s:b, s:{s:s}}", "routeTableAssociationId",
		association_id, "routeTableId", id, "main", !subnet, "associationState", "state",
		"associated");
	if (subnet)
		json_object_set(association, "subnetId", json_object_get(subnet, "subnetId"));
	return json_pack("{s:s, s:O, s:s, s:[o], s:[], s:[], s:o}", "routeTableId", id, "vpcId",
		json_object_get(vpc, "vpcId"), "ownerId", EC2_ACCOUNT, "associationSet",
		association, "propagatingVgwSet", "tagSet", "routeSet", routes_of(region, word));
}

static GPtrArray *tables_of(const RgSimCall *call)
{
	GPtrArray *tables = g_ptr_array_new_with_free_func(rg_json_unref);
	json_t *egress = json_object_get(call->sim->knobs, "egress");
	g_ptr_array_add(tables, table_new(call->place, doc_str(egress, "*"), NULL));
	rg_json_foreach_member (zone, word, egress) {
		const json_t *subnet = ec2_default_subnet(call->place, zone);
		if (subnet)
			g_ptr_array_add(
				tables, table_new(call->place, json_string_value(word), subnet));
	}
	return tables;
}

static bool describe_route_tables(RgSimCall *call)
{
	static const Ec2Filter filters[] = {{"route-table-id", "routeTableId"}, {"vpc-id", "vpcId"},
		{"owner-id", "ownerId"}, {"association.main", "associationSet.main"},
		{"association.route-table-id", "associationSet.routeTableId"},
		{"association.route-table-association-id",
			"associationSet.routeTableAssociationId"},
		{"association.subnet-id", "associationSet.subnetId"},
		{"route.destination-cidr-block", "routeSet.destinationCidrBlock"},
		{"route.gateway-id", "routeSet.gatewayId"},
		{"route.nat-gateway-id", "routeSet.natGatewayId"},
		{"route.transit-gateway-id", "routeSet.transitGatewayId"},
		{"route.origin", "routeSet.origin"}, {"route.state", "routeSet.state"}, {NULL}};
	static const Ec2Listing listing = {.set = "routeTableSet", .filters = filters, .most = 100};
	g_autoptr(GPtrArray) tables = tables_of(call), asked = g_ptr_array_new();
	g_autoptr(GPtrArray) ids = call_texts(call, "RouteTableId");
	for (guint i = 0; i < tables->len; i++) {
		if (ec2_is_asked(call, "RouteTableId", doc_str(tables->pdata[i], "routeTableId")))
			g_ptr_array_add(asked, tables->pdata[i]);
	}
	if (asked->len < ids->len)
		return rg_sim_fail(call, 400, "InvalidRouteTableID.NotFound",
			"The routeTable ID '%s' does not exist", (char *)ids->pdata[0]);
	return ec2_describe_docs(call, &listing, asked);
}

/* Those of the default VPC, which the knob vpc_endpoints names: "ecr.api". */
static bool describe_vpc_endpoints(RgSimCall *call)
{
	static const Ec2Filter filters[] = {{"service-name", "serviceName"}, {"vpc-id", "vpcId"},
		{"vpc-endpoint-id", "vpcEndpointId"}, {"vpc-endpoint-state", "state"},
		{"vpc-endpoint-type", "vpcEndpointType"}, {NULL}};
	static const Ec2Listing listing = {
		.set = "vpcEndpointSet", .filters = filters, .least = 1, .most = 1000};
	g_autoptr(GPtrArray) endpoints = g_ptr_array_new_with_free_func(rg_json_unref);
	const char *vpc = doc_str(ec2_default_vpc(call->place), "vpcId");
	rg_json_foreach (service, json_object_get(call->sim->knobs, "vpc_endpoints")) {
		g_autofree char *name = g_strdup_printf(
			"com.amazonaws.%s.%s", call->place->name, json_string_value(service));
		g_autofree char *id = rg_sim_fixed_id("vpce-", "", name);
		g_ptr_array_add(endpoints,
			json_pack("{s:s, s:s, s:s, s:s, s:s}", "vpcEndpointId", id,
				"vpcEndpointType",
				g_str_equal(json_string_value(service), "s3") ? "Gateway"
									      : "Interface",
				"vpcId", vpc, "serviceName", name, "state", "available"));
	}
	return ec2_describe_docs(call, &listing, endpoints);
}

const RgSimAction ec2_route_actions[] = {
	{"DescribeVpcEndpoints", describe_vpc_endpoints, false,
		"DryRun Filter MaxResults NextToken"},
	{"DescribeRouteTables", describe_route_tables, false, "RouteTableId" PAGED},
	{NULL},
};
