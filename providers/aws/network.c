/* The network for resolve: the spec's VPC, subnets and security groups, or the default VPC. The
 * user's own network is read here and named in requests; nothing in this module creates, changes or
 * deletes it. */
#include "aws/form.h"
#include "aws/resolve.h"
#include <string.h>

static const AwsShape vpc_members[] = {{"vpcId"}, {0}};
static const AwsShape vpc_set[] = {{"item", vpc_members, AWS_RECORD}, {0}};
static const AwsShape vpcs_members[] = {{"vpcSet", vpc_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_vpcs = {"DescribeVpcsResponse", vpcs_members};

static const AwsShape subnet_members[] = {
	{"subnetId"}, {"vpcId"}, {"availabilityZone"}, {"availabilityZoneId"}, {0}};
static const AwsShape subnet_set[] = {{"item", subnet_members, AWS_RECORD}, {0}};
static const AwsShape subnets_members[] = {{"subnetSet", subnet_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_subnets = {"DescribeSubnetsResponse", subnets_members};

static const AwsShape group_members[] = {{"groupId"}, {"vpcId"}, {0}};
static const AwsShape group_set[] = {{"item", group_members, AWS_RECORD}, {0}};
static const AwsShape groups_members[] = {
	{"securityGroupInfo", group_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_groups = {"DescribeSecurityGroupsResponse", groups_members};

/* With filters, unlike id parameters, EC2 returns the ids that it knows, so that all unknown ones
 * are reported at once. */
static AwsQuestion *ask_filtered(GPtrArray *questions, const char *action, const AwsShape *shape,
	const char *filter, const char *const *values, size_t count)
{
	json_t *params = json_object();
	aws_form_filter(params, filter, values, count);
	return aws_ask(questions, action, shape, params, NULL);
}

static const json_t *find_record(const json_t *records, const char *key, const char *id)
{
	mod_foreach (record, records)
		if (g_str_equal(mod_str(record, key), id))
			return record;
	return NULL;
}

static rgp_status default_network(
	const AwsCall *call, const AwsNetwork *network, char **vpc_id, json_t *zones)
{
	*vpc_id = g_strdup(mod_str(json_array_get(network->vpcs->records, 0), "vpcId"));
	if (!**vpc_id)
		return mod_refuse(call, "/provider",
			"use your own with provider.vpc and provider.subnets, or create a default "
			"one: "
			"`aws ec2 create-default-vpc --region REGION`",
			"region %s has no default VPC", call->inst->region);
	mod_foreach (subnet, network->subnets->records)
		if (g_str_equal(mod_str(subnet, "vpcId"), *vpc_id))
			json_object_set(zones, mod_str(subnet, "availabilityZone"),
				json_object_get(subnet, "subnetId"));
	if (json_object_size(zones))
		return RGP_OK;
	return mod_refuse(call, "/provider",
		"create one per zone: `aws ec2 create-default-subnet --availability-zone ZONE`",
		"the default VPC %s has no default subnets", *vpc_id);
}

/* A VPC without named subnets: unambiguous only if no zone has two. */
static rgp_status subnets_of_vpc(
	const AwsCall *call, const char *vpc_id, const json_t *subnets, json_t *zones)
{
	mod_foreach (subnet, subnets) {
		const char *zone = mod_str(subnet, "availabilityZone");
		const char *id = mod_str(subnet, "subnetId");
		const char *other = mod_str(zones, zone);
		if (*other)
			return mod_refuse(call, "/provider/vpc",
				"select one: subnets: {ZONE: ID, ...}",
				"VPC %s has several subnets in %s, including %s and %s", vpc_id,
				zone, strcmp(other, id) < 0 ? other : id,
				strcmp(other, id) < 0 ? id : other);
		json_object_set(zones, zone, json_object_get(subnet, "subnetId"));
	}
	if (!json_object_size(zones))
		return mod_refuse(call, "/provider/vpc",
			"create a subnet in it, or use another VPC", "VPC %s has no subnets",
			vpc_id);
	return RGP_OK;
}

static char *origin_of(const char *parent, const char *zone)
{
	return g_strconcat(parent, "/", zone, NULL); /* zone names contain neither ~ nor / */
}

/* One named subnet: it must exist, in its zone and in the VPC; the first sets *vpc_id if the spec
 * names none. */
static rgp_status check_subnet(
	const AwsCall *call, const char *zone, const char *id, const json_t *record, char **vpc_id)
{
	g_autofree char *origin = origin_of("/provider/subnets", zone);
	const char *vpc = mod_str(record, "vpcId"), *is_in = mod_str(record, "availabilityZone");
	if (!record)
		return mod_refuse(call, origin, "ids differ between regions and accounts",
			"there is no subnet %s in %s", id, call->inst->region);
	if (!*vpc_id)
		*vpc_id = g_strdup(vpc);
	if (strcmp(is_in, zone))
		return mod_refuse(call, origin, "list each subnet under its own zone",
			"subnet %s is in %s, not in %s", id, is_in, zone);
	if (strcmp(vpc, *vpc_id))
		return mod_refuse(call, origin, "all nodes are in one VPC",
			"subnet %s is in %s, not in %s", id, vpc, *vpc_id);
	return RGP_OK;
}

static rgp_status own_network(
	const AwsCall *call, const AwsNetwork *network, char **vpc_id, json_t *zones)
{
	const char *vpc = mod_str(call->inst->config, "vpc");
	const json_t *subnets = json_object_get(call->inst->config, "subnets");
	if (*vpc && !json_array_size(network->vpcs->records))
		return mod_refuse(call, "/provider/vpc", "ids differ between regions and accounts",
			"there is no VPC %s in %s", vpc, call->inst->region);
	if (*vpc)
		*vpc_id = g_strdup(vpc);
	if (!json_object_size(subnets))
		return subnets_of_vpc(call, vpc, network->subnets->records, zones);
	json_object_update(zones, mod_unconst(subnets));
	rgp_status status = RGP_OK;
	mod_foreach_member (zone, id, subnets) {
		const char *text = json_string_value(id);
		rgp_status here = check_subnet(call, zone, text,
			find_record(network->subnets->records, "subnetId", text), vpc_id);
		if (here != RGP_OK)
			status = here;
	}
	return status;
}

static rgp_status check_groups(const AwsCall *call, const AwsNetwork *network, const char *vpc_id)
{
	const json_t *wanted = json_object_get(call->inst->config, "security_groups"), *id;
	rgp_status status = RGP_OK;
	size_t i;
	json_array_foreach (wanted, i, id) {
		g_autofree char *origin = g_strdup_printf("/provider/security_groups/%zu", i);
		const char *group = json_string_value(id);
		const json_t *record = find_record(network->groups->records, "groupId", group);
		if (!record)
			status = mod_refuse(call, origin, "ids differ between regions and accounts",
				"there is no security group %s in %s", group, call->inst->region);
		else if (g_strcmp0(mod_str(record, "vpcId"), vpc_id))
			status = mod_refuse(call, origin, "a group works only in its own VPC",
				"security group %s is in %s, not in %s", group,
				mod_str(record, "vpcId"), vpc_id);
	}
	return status;
}

static bool is_own(const json_t *config)
{
	return json_object_get(config, "vpc") ||
	       json_object_size(json_object_get(config, "subnets"));
}

/* `ids`: an object or a list of texts. */
static AwsQuestion *ask_ids(GPtrArray *questions, const char *action, const AwsShape *shape,
	const char *filter, const json_t *ids)
{
	g_autoptr(GPtrArray) texts = g_ptr_array_new();
	mod_foreach_member (zone, id, ids)
		g_ptr_array_add(texts, (char *)(uintptr_t)json_string_value(id));
	mod_foreach (id, ids)
		g_ptr_array_add(texts, (char *)(uintptr_t)json_string_value(id));
	return texts->len ? ask_filtered(questions, action, shape, filter,
				    (const char *const *)texts->pdata, texts->len)
			  : NULL;
}

void aws_network_ask(const AwsCall *call, GPtrArray *questions, AwsNetwork *network)
{
	const json_t *config = call->inst->config;
	const char *yes = "true", *vpc = mod_str(config, "vpc");
	if (!is_own(config)) {
		/* default subnets are only those of the default VPC */
		network->vpcs = ask_filtered(
			questions, "DescribeVpcs", &describe_vpcs, "is-default", &yes, 1);
		network->subnets = ask_filtered(
			questions, "DescribeSubnets", &describe_subnets, "default-for-az", &yes, 1);
	} else {
		if (*vpc)
			network->vpcs = ask_filtered(
				questions, "DescribeVpcs", &describe_vpcs, "vpc-id", &vpc, 1);
		network->subnets = ask_ids(questions, "DescribeSubnets", &describe_subnets,
			"subnet-id", json_object_get(config, "subnets"));
		if (!network->subnets)
			network->subnets = ask_filtered(
				questions, "DescribeSubnets", &describe_subnets, "vpc-id", &vpc, 1);
	}
	network->groups = ask_ids(questions, "DescribeSecurityGroups", &describe_groups, "group-id",
		json_object_get(config, "security_groups"));
}

/* {"us-east-1a": "use1-az6"}: each account has zone names of its own, prices are by zone id
 * (docs.aws.amazon.com/global-infrastructure, "AZ IDs"; the Subnet type of the EC2 API). */
static json_t *zone_ids(const json_t *subnets, const json_t *zones)
{
	json_t *ids = json_object();
	mod_foreach (subnet, subnets) {
		const char *zone = mod_str(subnet, "availabilityZone");
		const char *id = mod_str(subnet, "availabilityZoneId");
		if (*id && json_object_get(zones, zone))
			json_object_set_new(ids, zone, json_string(id));
	}
	return ids;
}

rgp_status aws_network_take(const AwsCall *call, const AwsNetwork *network, json_t *facts)
{
	g_autofree char *vpc_id = NULL;
	json_auto_t *zones = json_object();
	rgp_status status = is_own(call->inst->config)
				    ? own_network(call, network, &vpc_id, zones)
				    : default_network(call, network, &vpc_id, zones);
	if (status == RGP_OK)
		status = check_groups(call, network, vpc_id);
	if (status != RGP_OK)
		return status;
	json_t *names = json_array();
	mod_foreach_member (zone, subnet, zones)
		json_array_append_new(names, json_string(zone));
	json_object_set_new(facts, "zones", names);
	json_auto_t *ids = zone_ids(network->subnets->records, zones);
	if (json_object_size(ids))
		json_object_set(facts, "zone_ids", ids);
	json_object_set_new(
		facts, "module", json_pack("{s:s, s:O}", "vpc_id", vpc_id, "subnets", zones));
	return RGP_OK;
}
