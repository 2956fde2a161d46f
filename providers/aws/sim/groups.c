#include <string.h>
#include "aws/sim/describe.h"
#include "aws/sim/resources.h"

#define MAX_NAME 255
/* Quota L-2AFB9258 of a new account. */
#define MAX_GROUPS_PER_INTERFACE 5

typedef struct {
	const char *vpc_id;
	const char *name;
	const char *description;
} Form;

static json_t *group_new(RgSimPlace *region, const char *id, const Form *form, json_t *tags)
{
	g_autofree char *arn = g_strdup_printf(
		"arn:aws:ec2:%s:" EC2_ACCOUNT ":security-group/%s", region->name, id);
	json_t *group = json_pack("{s:s, s:[], s:o, s:s, s:s, s:s, s:s, s:s}", "groupId", id,
		"ipPermissionsEgress", "tagSet", tags, "vpcId", form->vpc_id, "securityGroupArn",
		arn, "ownerId", EC2_ACCOUNT, "groupName", form->name, "groupDescription",
		form->description);
	ec2_rules_set(group, json_pack("[o]", ec2_rule_allow_all_out(region->sim, id)));
	return group;
}

void ec2_groups_seed(RgSimPlace *region, const char *vpc_id)
{
	Form form = {vpc_id, "default", "default VPC security group"};
	g_autofree char *id = rg_sim_fixed_id("sg-", region->name, "default");
	json_t *group = group_new(region, id, &form, json_array());
	json_t *rules = json_copy(json_object_get(group, "_rules"));
	json_array_append_new(rules, ec2_rule_allow_itself(region->sim, id, vpc_id));
	ec2_rules_set(group, rules);
	rg_sim_put(region, EC2_GROUP, group);
}

static json_t *find_by_name(const RgSimPlace *region, const char *vpc_id, const char *name)
{
	rg_sim_foreach (group, region, EC2_GROUP) {
		if (g_str_equal(doc_str(group, "vpcId"), vpc_id) &&
			g_str_equal(doc_str(group, "groupName"), name))
			return group;
	}
	return NULL;
}

static const char *default_vpc_id(const RgSimPlace *region)
{
	return doc_str(ec2_default_vpc(region), "vpcId");
}

json_t *ec2_group_of_params(RgSimCall *call, const char *id, const char *name)
{
	if (id)
		return ec2_find(call, EC2_GROUP, id);
	if (!name) {
		ec2_fail_missing(call, "GroupId");
		return NULL;
	}
	json_t *group = find_by_name(call->place, default_vpc_id(call->place), name);
	if (!group)
		rg_sim_fail(call, 400, "InvalidGroup.NotFound",
			"The security group '%s' does not exist in default VPC '%s'", name,
			default_vpc_id(call->place));
	return group;
}

json_t *ec2_group_of_call(RgSimCall *call)
{
	return ec2_group_of_params(call, call_str(call, "GroupId"), call_str(call, "GroupName"));
}

json_t *ec2_group_set(RgSimCall *call, const GPtrArray *ids, const char *vpc_id)
{
	json_auto_t *set = json_array();
	if (ids->len > MAX_GROUPS_PER_INTERFACE) {
		rg_sim_fail(call, 400, "SecurityGroupsPerInterfaceLimitExceeded",
			"The maximum number of security groups per interface has been reached.");
		return NULL;
	}
	for (unsigned i = 0; i < MAX(ids->len, 1); i++) {
		const json_t *group = ids->len
					      ? ec2_find(call, EC2_GROUP, g_ptr_array_index(ids, i))
					      : find_by_name(call->place, vpc_id, "default");
		if (!group)
			return NULL;
		if (!g_str_equal(doc_str(group, "vpcId"), vpc_id)) {
			rg_sim_fail(call, 400, "InvalidParameter",
				"Security group %s and the subnet belong to different networks.",
				doc_str(group, "groupId"));
			return NULL;
		}
		json_array_append_new(
			set, json_pack("{s:s, s:s}", "groupId", doc_str(group, "groupId"),
				     "groupName", doc_str(group, "groupName")));
	}
	return g_steal_pointer(&set);
}

/* Characters that EC2 allows in the names and descriptions of groups in a VPC. */
static bool check_text(RgSimCall *call, const char *parameter, const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789 ._-:/()#,@[]+=&;{}!$*";
	if (!*text)
		return ec2_fail_missing(call, parameter);
	if (strlen(text) > MAX_NAME || strspn(text, allowed) != strlen(text))
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Value (%s) for parameter %s is invalid. Up to %d of the characters "
			"a-z, A-Z, 0-9, spaces and ._-:/()#,@[]+=&;{}!$* are allowed.",
			text, parameter, MAX_NAME);
	return true;
}

static bool create_group(RgSimCall *call)
{
	Form form = {call_str(call, "VpcId"), call_str(call, "GroupName"),
		call_str(call, "GroupDescription")};
	if (!check_text(call, "GroupName", form.name) ||
		!check_text(call, "GroupDescription", form.description))
		return false;
	if (g_str_has_prefix(form.name, "sg-"))
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Value (%s) for parameter GroupName is invalid. Group names may not be in "
			"the format sg-*.",
			form.name);
	if (!form.vpc_id)
		form.vpc_id = default_vpc_id(call->place);
	json_auto_t *tags = ec2_tags_of_request(call, "security-group", "security-group");
	if (!tags || !ec2_find(call, EC2_VPC, form.vpc_id))
		return false;
	if (find_by_name(call->place, form.vpc_id, form.name))
		return rg_sim_fail(call, 400, "InvalidGroup.Duplicate",
			"The security group '%s' already exists for VPC '%s'", form.name,
			form.vpc_id);
	if (!ec2_go(call))
		return false;
	g_autofree char *id = rg_sim_id(call->sim, "sg-");
	json_t *group = group_new(call->place, id, &form, json_incref(tags));
	ec2_xml_text(call->body, "return", "true");
	ec2_xml_text(call->body, "groupId", id);
	ec2_xml_value(call->body, "tagSet", tags);
	ec2_xml_text(call->body, "securityGroupArn", doc_str(group, "securityGroupArn"));
	rg_sim_put(call->place, EC2_GROUP, group);
	return true;
}

/* The group is in use: by an interface (an instance that is not terminated has interfaces), or in a
 * rule of another group. */
static bool is_used(const RgSimPlace *region, const char *id)
{
	rg_sim_foreach (interface, region, EC2_INTERFACE) {
		if (rg_sim_entry(json_object_get(interface, "groupSet"), "groupId", id))
			return true;
	}
	rg_sim_foreach (group, region, EC2_GROUP) {
		if (!g_str_equal(doc_str(group, "groupId"), id) && ec2_rules_refer_to(group, id))
			return true;
	}
	return false;
}

static bool delete_group(RgSimCall *call)
{
	const json_t *group = ec2_group_of_call(call);
	if (!group)
		return false;
	g_autofree char *id = g_strdup(doc_str(group, "groupId"));
	if (g_str_equal(doc_str(group, "groupName"), "default"))
		return rg_sim_fail(call, 400, "CannotDelete",
			"the specified group: \"%s\" name: \"default\" cannot be deleted by a user",
			id);
	if (is_used(call->place, id))
		return rg_sim_fail(
			call, 400, "DependencyViolation", "resource %s has a dependent object", id);
	if (!ec2_go(call))
		return false;
	rg_sim_remove(call->place, EC2_GROUP, id);
	ec2_xml_text(call->body, "return", "true");
	ec2_xml_text(call->body, "groupId", id);
	return true;
}

/* GroupName.N names groups of the default VPC. */
static bool name_wanted(const RgSimCall *call, const json_t *group)
{
	return ec2_is_asked(call, "GroupName", doc_str(group, "groupName")) &&
	       (!call_has(call, "GroupName") ||
		       g_str_equal(doc_str(group, "vpcId"), default_vpc_id(call->place)));
}

/* A name that exists, but not yet for this reader, counts as missing. */
static bool is_visible(RgSimCall *call, const json_t *group)
{
	const RgSimItem *item =
		rg_sim_table_item(call->place->tables[EC2_GROUP], doc_str(group, "groupId"));
	if (rg_sim_item_view(item, call->view_ms))
		return true;
	return rg_sim_fail(call, 400, "InvalidGroup.NotFound",
		"The security group '%s' does not exist", doc_str(group, "groupName"));
}

static bool describe_groups(RgSimCall *call)
{
	static const Ec2Filter filters[] = {{"group-id", "groupId"}, {"group-name", "groupName"},
		{"vpc-id", "vpcId"}, {"owner-id", "ownerId"}, {"description", "groupDescription"},
		{"ip-permission.cidr", "ipPermissions.ipRanges.cidrIp"},
		{"ip-permission.ipv6-cidr", "ipPermissions.ipv6Ranges.cidrIpv6"},
		{"ip-permission.group-id", "ipPermissions.groups.groupId"},
		{"ip-permission.protocol", "ipPermissions.ipProtocol"},
		{"ip-permission.from-port", "ipPermissions.fromPort"},
		{"ip-permission.to-port", "ipPermissions.toPort"},
		{"egress.ip-permission.cidr", "ipPermissionsEgress.ipRanges.cidrIp"},
		{"egress.ip-permission.group-id", "ipPermissionsEgress.groups.groupId"},
		{"egress.ip-permission.protocol", "ipPermissionsEgress.ipProtocol"}, {NULL}};
	static const Ec2Listing listing = {
		"securityGroupInfo", EC2_GROUP, "GroupId", filters, .wanted = name_wanted};
	g_autoptr(GPtrArray) names = call_texts(call, "GroupName");
	for (unsigned i = 0; i < names->len; i++) {
		const json_t *group = ec2_group_of_params(call, NULL, g_ptr_array_index(names, i));
		if (!group || !is_visible(call, group))
			return false;
	}
	return ec2_describe(call, &listing);
}

const RgSimAction ec2_group_actions[] = {
	{"CreateSecurityGroup", create_group, true,
		"DryRun GroupDescription GroupName TagSpecification VpcId"},
	{"DeleteSecurityGroup", delete_group, true, "DryRun GroupId GroupName"},
	{"DescribeSecurityGroups", describe_groups, false, "GroupId GroupName" PAGED},
	{NULL},
};
