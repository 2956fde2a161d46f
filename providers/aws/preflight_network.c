/* Subnets: addresses that are free, and whether nodes reach what they load their container image
 * from. */
#include "aws/form.h"
#include "aws/kinds.h"
#include "aws/preflight.h"
#include <string.h>

static const AwsShape subnet_members[] = {
	{"subnetId"}, {"vpcId"}, {"availabilityZone"}, {"availableIpAddressCount"}, {0}};
static const AwsShape subnet_set[] = {{"item", subnet_members, AWS_RECORD}, {0}};
static const AwsShape subnets_members[] = {{"subnetSet", subnet_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_subnets = {"DescribeSubnetsResponse", subnets_members};

static const AwsShape association_members[] = {{"subnetId"}, {"main"}, {0}};
static const AwsShape association_set[] = {{"item", association_members}, {0}};
static const AwsShape route_members[] = {{"destinationCidrBlock"}, {"gatewayId"}, {"state"}, {0}};
static const AwsShape route_set[] = {{"item", route_members}, {0}};
static const AwsShape table_members[] = {{"routeTableId"}, {"vpcId"},
	{"associationSet", association_set}, {"routeSet", route_set}, {0}};
static const AwsShape table_set[] = {{"item", table_members, AWS_RECORD}, {0}};
static const AwsShape tables_members[] = {
	{"routeTableSet", table_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_tables = {"DescribeRouteTablesResponse", tables_members};

static const AwsShape endpoint_members[] = {{"vpcId"}, {"serviceName"}, {"state"}, {0}};
static const AwsShape endpoint_set[] = {{"item", endpoint_members, AWS_RECORD}, {0}};
static const AwsShape endpoints_members[] = {
	{"vpcEndpointSet", endpoint_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_endpoints = {"DescribeVpcEndpointsResponse", endpoints_members};

/* Of nodes that take an interface along, the interface is what has the address. */
static bool takes_address(const json_t *create)
{
	const char *kind = mod_str(create, "kind");
	return g_str_equal(kind, AWS_INTERFACE) ||
	       (g_str_equal(kind, AWS_INSTANCE) &&
		       !json_object_get(
			       json_object_get(create, "attributes"), "network_interface"));
}

static GPtrArray *subnets_of(const AwsPreflight *preflight)
{
	GPtrArray *ids = g_ptr_array_new();
	mod_foreach (create, preflight->creates) {
		const char *id = aws_attribute_of(create, "subnet_id");
		if (*id && takes_address(create) &&
			!g_ptr_array_find_with_equal_func(ids, id, g_str_equal, NULL))
			g_ptr_array_add(ids, (char *)(uintptr_t)id);
	}
	return ids;
}

static bool is_egress_checked(const AwsPreflight *preflight)
{
	return !json_is_false(json_object_get(preflight->call->inst->config, "egress_check"));
}

/* The tables of the subnets, and all main tables: which VPC the subnets are of, the answer beside
 * it says. */
void aws_ask_ways(AwsPreflight *preflight)
{
	const char *yes = "true";
	g_autoptr(GPtrArray) ids = subnets_of(preflight);
	const char *const *subnets = (const char *const *)ids->pdata;
	if (!ids->len)
		return;
	json_t *params = json_object();
	aws_form_filter(params, "subnet-id", subnets, ids->len);
	preflight->subnets =
		aws_probe(preflight, "DescribeSubnets", &describe_subnets, params, "subnets");
	if (!is_egress_checked(preflight))
		return;
	params = json_object();
	aws_form_filter(params, "association.subnet-id", subnets, ids->len);
	preflight->tables = aws_probe(preflight, "DescribeRouteTables", &describe_tables, params,
		"the way to the internet");
	if (aws_pulls_from_ecr(preflight, preflight->call->inst->region))
		preflight->endpoints =
			aws_probe(preflight, "DescribeVpcEndpoints", &describe_endpoints,
				json_pack("{s:i}", "MaxResults", 1000), "VPC endpoints");
	params = json_object();
	aws_form_filter(params, "association.main", &yes, 1);
	preflight->main_tables =
		aws_probe(preflight, "DescribeRouteTables", &describe_tables, params, NULL);
}

/* ---- addresses */

static int64_t addresses_wanted(
	const AwsPreflight *preflight, const char *subnet, const json_t **of)
{
	int64_t count = 0, most = 0;
	mod_foreach (create, preflight->creates) {
		json_int_t here = mod_int(create, "count");
		if (!takes_address(create) || json_is_true(json_object_get(create, "replaces")) ||
			strcmp(aws_attribute_of(create, "subnet_id"), subnet))
			continue;
		count += here;
		if (here > most)
			*of = create;
		most = MAX(most, here);
	}
	return count;
}

static void check_addresses(AwsPreflight *preflight, const json_t *subnet)
{
	const json_t *create = NULL;
	const char *id = mod_str(subnet, "subnetId"), *zone = mod_str(subnet, "availabilityZone");
	const char *text = mod_str(subnet, "availableIpAddressCount");
	int64_t wanted = addresses_wanted(preflight, id, &create);
	int64_t free = g_ascii_strtoll(text, NULL, 10);
	if (!*text || wanted <= free)
		return;
	const ModFinding finding = {.severity = "error",
		.class_ = RGP_CLASS_CAPACITY,
		.create = create,
		.attribute = "subnet_id",
		.hint = "use another zone, or a larger subnet with provider.subnets"};
	mod_find_out(&preflight->findings, &finding,
		"subnet %s (%s) has %" G_GINT64_FORMAT
		" free addresses, and the plan needs %" G_GINT64_FORMAT,
		id, zone, free, wanted);
}

/* ---- the way out */

typedef enum { WAY_FREE, WAY_INTERNET_GATEWAY, WAY_BROKEN, WAY_NONE, WAYS } Way;

/* 0.0.0.0/0 or a half of it. */
static bool is_default(const char *destination)
{
	return g_str_has_suffix(destination, ".0.0.0/0") ||
	       g_str_has_suffix(destination, ".0.0.0/1");
}

/* NAT gateways and instances lead out, and so may transit gateways, firewalls and private gateways:
 * no route table says what is behind them. */
static Way way_of(const json_t *table)
{
	Way way = WAY_NONE;
	mod_foreach (route, json_object_get(table, "routeSet")) {
		if (!is_default(mod_str(route, "destinationCidrBlock")))
			continue;
		bool broken = g_str_equal(mod_str(route, "state"), "blackhole");
		bool gateway = g_str_has_prefix(mod_str(route, "gatewayId"), "igw-");
		Way here = broken ? WAY_BROKEN : gateway ? WAY_INTERNET_GATEWAY : WAY_FREE;
		way = MIN(way, here);
	}
	return way;
}

static const json_t *table_of(const AwsPreflight *preflight, const char *subnet)
{
	mod_foreach (table, preflight->tables->records)
		mod_foreach (association, json_object_get(table, "associationSet"))
			if (g_str_equal(mod_str(association, "subnetId"), subnet))
				return table;
	const json_t *record = aws_probe_record(preflight->subnets, "subnetId", subnet);
	return aws_probe_record(preflight->main_tables, "vpcId", mod_str(record, "vpcId"));
}

static bool has_endpoint(const AwsPreflight *preflight, const char *vpc, const char *service)
{
	mod_foreach (endpoint, preflight->endpoints->records) {
		if (g_str_equal(mod_str(endpoint, "vpcId"), vpc) &&
			g_ascii_strcasecmp(mod_str(endpoint, "state"), "available") == 0 &&
			g_str_has_suffix(mod_str(endpoint, "serviceName"), service))
			return true;
	}
	return false;
}

/* Amazon ECR user guide, "Amazon ECR interface VPC endpoints": the layers are in S3. */
static bool reaches_registry(const AwsPreflight *preflight, const char *subnet)
{
	const json_t *record = aws_probe_record(preflight->subnets, "subnetId", subnet);
	const char *vpc = mod_str(record, "vpcId");
	return aws_probe_ok(preflight->endpoints) && has_endpoint(preflight, vpc, ".ecr.api") &&
	       has_endpoint(preflight, vpc, ".ecr.dkr") && has_endpoint(preflight, vpc, ".s3");
}

/* Those that a reason keeps inside. */
typedef struct {
	const json_t *create; /* the first */
	const json_t *table;
	GString *pools;
	unsigned count;
} Inside;

static void add_inside(Inside *inside, const json_t *create, const json_t *table)
{
	if (!inside->count++) {
		inside->create = create;
		inside->table = table;
		inside->pools = g_string_new(NULL);
	}
	g_string_append_printf(
		inside->pools, "%s%s", inside->pools->len ? ", " : "", mod_pool_of(create));
}

static void report_inside(AwsPreflight *preflight, Way way, const Inside *inside)
{
	static const char *const reasons[WAYS] = {
		[WAY_INTERNET_GATEWAY] = "goes out by an internet gateway, and they have no public "
					 "address",
		[WAY_BROKEN] = "leads to something that was deleted",
		[WAY_NONE] = "has no default route"};
	const ModFinding finding = {.severity = "error",
		.class_ = RGP_CLASS_INVALID,
		.create = inside->create,
		.attribute = way == WAY_INTERNET_GATEWAY ? "public_ip" : "subnet_id",
		.hint = way == WAY_INTERNET_GATEWAY
				? "set `public_ip: true` for them (nothing is let in from "
				  "outside), or "
				  "use subnets behind a NAT gateway; if they reach the image "
				  "another "
				  "way, set `egress_check: false` in provider"
				: "use subnets behind a NAT gateway; if the nodes reach the image "
				  "another way, set `egress_check: false` in provider"};
	g_autofree char *subnet = g_strdup(aws_attribute_of(inside->create, "subnet_id"));
	mod_find_out(&preflight->findings, &finding,
		"the nodes of %s cannot load their container image: route table %s of subnet %s %s",
		inside->pools->str, mod_str(inside->table, "routeTableId"), subnet, reasons[way]);
}

static void check_egress(AwsPreflight *preflight)
{
	Inside inside[WAYS] = {{0}};
	mod_foreach (create, preflight->creates) {
		const char *subnet = aws_attribute_of(create, "subnet_id");
		const json_t *attributes = json_object_get(create, "attributes");
		bool public = json_is_true(json_object_get(attributes, "public_ip"));
		const json_t *table = takes_address(create) ? table_of(preflight, subnet) : NULL;
		Way way = table ? way_of(table) : WAY_FREE;
		if (way != WAY_FREE && !(way == WAY_INTERNET_GATEWAY && public) &&
			!reaches_registry(preflight, subnet))
			add_inside(&inside[way], create, table);
	}
	for (Way way = 0; way < WAYS; way++) {
		if (!inside[way].count)
			continue;
		report_inside(preflight, way, &inside[way]);
		g_string_free(inside[way].pools, TRUE);
	}
}

void aws_check_ways(AwsPreflight *preflight)
{
	if (!aws_probe_ok(preflight->subnets))
		return;
	mod_foreach (subnet, preflight->subnets->records)
		check_addresses(preflight, subnet);
	if (aws_probe_ok(preflight->tables) && aws_probe_ok(preflight->main_tables))
		check_egress(preflight);
}
