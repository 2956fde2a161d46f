#include "aws/sim/groups.h"
#include <string.h>
#include "aws/sim/describe.h"
#include "aws/sim/network.h"
#include "aws/sim/rules.h"
#include "aws/sim/tags.h"
#include "aws/sim/xml.h"

#define MAX_NAME 255
/* Quota L-2AFB9258 of a new account. */
#define MAX_GROUPS_PER_INTERFACE 5

typedef struct {
	const char *vpc_id;
	const char *name;
	const char *description;
} Form;

static json_t *group_new(RgSimWorld *world, const RgSimRegion *region, const char *id,
	const Form *form, json_t *tags)
{
	g_autofree char *arn = g_strdup_printf(
		"arn:aws:ec2:%s:" RG_SIM_ACCOUNT ":security-group/%s", region->name, id);
	json_t *group = json_pack("{s:s, s:[], s:o, s:s, s:s, s:s, s:s, s:s}", "groupId", id,
		"ipPermissionsEgress", "tagSet", tags, "vpcId", form->vpc_id, "securityGroupArn",
		arn, "ownerId", RG_SIM_ACCOUNT, "groupName", form->name, "groupDescription",
		form->description);
	rg_sim_rules_set(group, json_pack("[o]", rg_sim_rule_allow_all_out(world, id)));
	return group;
}

void rg_sim_groups_seed(RgSimWorld *world, RgSimRegion *region, const char *vpc_id)
{
	Form form = {vpc_id, "default", "default VPC security group"};
	g_autofree char *id = rg_sim_world_fixed_id("sg-", region->name, "default");
	json_t *group = group_new(world, region, id, &form, json_array());
	json_t *rules = json_copy(json_object_get(group, "_rules"));
	json_array_append_new(rules, rg_sim_rule_allow_itself(world, id, vpc_id));
	rg_sim_rules_set(group, rules);
	rg_sim_world_put(world, region, RG_SIM_GROUP, group);
}

static json_t *find_by_name(const RgSimRegion *region, const char *vpc_id, const char *name)
{
	g_autoptr(GPtrArray) all = rg_sim_world_all(region, RG_SIM_GROUP);
	for (unsigned i = 0; i < all->len; i++) {
		json_t *group = g_ptr_array_index(all, i);
		if (g_str_equal(rg_sim_doc_str(group, "vpcId"), vpc_id) &&
			g_str_equal(rg_sim_doc_str(group, "groupName"), name))
			return group;
	}
	return NULL;
}

static const char *default_vpc_id(const RgSimRegion *region)
{
	return rg_sim_doc_str(rg_sim_network_default_vpc(region), "vpcId");
}

json_t *rg_sim_group_of_params(RgSimCall *call, const char *id, const char *name)
{
	if (id)
		return rg_sim_call_find(call, RG_SIM_GROUP, id);
	if (!name) {
		rg_sim_fail_missing(call, "GroupId");
		return NULL;
	}
	json_t *group = find_by_name(call->region, default_vpc_id(call->region), name);
	if (!group)
		rg_sim_fail(call, 400, "InvalidGroup.NotFound",
			"The security group '%s' does not exist in default VPC '%s'", name,
			default_vpc_id(call->region));
	return group;
}

json_t *rg_sim_group_set(RgSimCall *call, const GPtrArray *ids, const char *vpc_id)
{
	json_auto_t *set = json_array();
	if (ids->len > MAX_GROUPS_PER_INTERFACE) {
		rg_sim_fail(call, 400, "SecurityGroupsPerInterfaceLimitExceeded",
			"The maximum number of security groups per interface has been reached.");
		return NULL;
	}
	for (unsigned i = 0; i < MAX(ids->len, 1); i++) {
		const json_t *group =
			ids->len ? rg_sim_call_find(call, RG_SIM_GROUP, g_ptr_array_index(ids, i))
				 : find_by_name(call->region, vpc_id, "default");
		if (!group)
			return NULL;
		if (!g_str_equal(rg_sim_doc_str(group, "vpcId"), vpc_id)) {
			rg_sim_fail(call, 400, "InvalidParameter",
				"Security group %s and the subnet belong to different networks.",
				rg_sim_doc_str(group, "groupId"));
			return NULL;
		}
		json_array_append_new(
			set, json_pack("{s:s, s:s}", "groupId", rg_sim_doc_str(group, "groupId"),
				     "groupName", rg_sim_doc_str(group, "groupName")));
	}
	return g_steal_pointer(&set);
}

/* Characters that EC2 allows in the names and descriptions of groups in a VPC. */
static bool check_text(RgSimCall *call, const char *parameter, const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789 ._-:/()#,@[]+=&;{}!$*";
	if (!*text)
		return rg_sim_fail_missing(call, parameter);
	if (strlen(text) > MAX_NAME || strspn(text, allowed) != strlen(text))
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Value (%s) for parameter %s is invalid. Up to %d of the characters "
			"a-z, A-Z, 0-9, spaces and ._-:/()#,@[]+=&;{}!$* are allowed.",
			text, parameter, MAX_NAME);
	return true;
}

bool rg_sim_create_group(RgSimCall *call)
{
	Form form = {rg_sim_param_str(call->params, "VpcId"),
		rg_sim_param_str(call->params, "GroupName"),
		rg_sim_param_str(call->params, "GroupDescription")};
	if (!check_text(call, "GroupName", form.name) ||
		!check_text(call, "GroupDescription", form.description))
		return false;
	if (g_str_has_prefix(form.name, "sg-"))
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Value (%s) for parameter GroupName is invalid. Group names may not be in "
			"the format sg-*.",
			form.name);
	if (!form.vpc_id)
		form.vpc_id = default_vpc_id(call->region);
	json_auto_t *tags = rg_sim_tags_of_request(call, "security-group", "security-group");
	if (!tags || !rg_sim_call_find(call, RG_SIM_VPC, form.vpc_id))
		return false;
	if (find_by_name(call->region, form.vpc_id, form.name))
		return rg_sim_fail(call, 400, "InvalidGroup.Duplicate",
			"The security group '%s' already exists for VPC '%s'", form.name,
			form.vpc_id);
	if (!rg_sim_go(call))
		return false;
	g_autofree char *id = rg_sim_world_id(call->world, "sg-");
	json_t *group = group_new(call->world, call->region, id, &form, json_incref(tags));
	rg_sim_xml_text(call->body, "return", "true");
	rg_sim_xml_text(call->body, "groupId", id);
	rg_sim_xml_value(call->body, "tagSet", tags);
	rg_sim_xml_text(call->body, "securityGroupArn", rg_sim_doc_str(group, "securityGroupArn"));
	rg_sim_world_put(call->world, call->region, RG_SIM_GROUP, group);
	return true;
}

/* An interface holds the group (an instance that is not terminated holds interfaces), or a rule of
 * another group names it. */
static bool is_used(const RgSimRegion *region, const char *id)
{
	g_autoptr(GPtrArray) interfaces = rg_sim_world_all(region, RG_SIM_INTERFACE);
	for (unsigned i = 0; i < interfaces->len; i++) {
		const json_t *set = json_object_get(g_ptr_array_index(interfaces, i), "groupSet");
		for (size_t at = 0; at < json_array_size(set); at++) {
			if (g_str_equal(rg_sim_doc_str(json_array_get(set, at), "groupId"), id))
				return true;
		}
	}
	g_autoptr(GPtrArray) groups = rg_sim_world_all(region, RG_SIM_GROUP);
	for (unsigned i = 0; i < groups->len; i++) {
		const json_t *group = g_ptr_array_index(groups, i);
		if (!g_str_equal(rg_sim_doc_str(group, "groupId"), id) &&
			rg_sim_rules_refer_to(group, id))
			return true;
	}
	return false;
}

bool rg_sim_delete_group(RgSimCall *call)
{
	const json_t *group =
		rg_sim_group_of_params(call, rg_sim_param_str(call->params, "GroupId"),
			rg_sim_param_str(call->params, "GroupName"));
	if (!group)
		return false;
	g_autofree char *id = g_strdup(rg_sim_doc_str(group, "groupId"));
	if (g_str_equal(rg_sim_doc_str(group, "groupName"), "default"))
		return rg_sim_fail(call, 400, "CannotDelete",
			"the specified group: \"%s\" name: \"default\" cannot be deleted by a user",
			id);
	if (is_used(call->region, id))
		return rg_sim_fail(
			call, 400, "DependencyViolation", "resource %s has a dependent object", id);
	if (!rg_sim_go(call))
		return false;
	rg_sim_world_remove(call->world, call->region, RG_SIM_GROUP, id);
	rg_sim_xml_text(call->body, "return", "true");
	rg_sim_xml_text(call->body, "groupId", id);
	return true;
}

/* GroupName.N names groups of the default VPC. */
static bool name_wanted(const RgSimCall *call, const json_t *group)
{
	g_autoptr(GPtrArray) names = rg_sim_param_texts(call->params, "GroupName");
	if (names->len == 0)
		return true;
	return g_str_equal(rg_sim_doc_str(group, "vpcId"), default_vpc_id(call->region)) &&
	       g_ptr_array_find_with_equal_func(
		       names, rg_sim_doc_str(group, "groupName"), g_str_equal, NULL);
}

/* A name that exists, but not yet for this reader, is as good as none. */
static bool is_visible(RgSimCall *call, const json_t *group)
{
	const RgSimItem *item = rg_sim_table_item(
		call->region->tables[RG_SIM_GROUP], rg_sim_doc_str(group, "groupId"));
	if (rg_sim_item_view(item, call->view_ms))
		return true;
	return rg_sim_fail(call, 400, "InvalidGroup.NotFound",
		"The security group '%s' does not exist", rg_sim_doc_str(group, "groupName"));
}

bool rg_sim_describe_groups(RgSimCall *call)
{
	static const RgSimFilterName filters[] = {{"group-id", "groupId"},
		{"group-name", "groupName"}, {"vpc-id", "vpcId"}, {"owner-id", "ownerId"},
		{"description", "groupDescription"},
		{"ip-permission.cidr", "ipPermissions.ipRanges.cidrIp"},
		{"ip-permission.ipv6-cidr", "ipPermissions.ipv6Ranges.cidrIpv6"},
		{"ip-permission.group-id", "ipPermissions.groups.groupId"},
		{"ip-permission.protocol", "ipPermissions.ipProtocol"},
		{"ip-permission.from-port", "ipPermissions.fromPort"},
		{"ip-permission.to-port", "ipPermissions.toPort"},
		{"egress.ip-permission.cidr", "ipPermissionsEgress.ipRanges.cidrIp"},
		{"egress.ip-permission.group-id", "ipPermissionsEgress.groups.groupId"},
		{"egress.ip-permission.protocol", "ipPermissionsEgress.ipProtocol"}, {NULL, NULL}};
	static const RgSimListing listing = {.set = "securityGroupInfo",
		.kind = RG_SIM_GROUP,
		.ids = "GroupId",
		.filters = filters,
		.min_results = 5,
		.max_results = 1000,
		.wanted = name_wanted};
	g_autoptr(GPtrArray) names = rg_sim_param_texts(call->params, "GroupName");
	for (unsigned i = 0; i < names->len; i++) {
		const json_t *group =
			rg_sim_group_of_params(call, NULL, g_ptr_array_index(names, i));
		if (!group || !is_visible(call, group))
			return false;
	}
	return rg_sim_describe(call, &listing);
}
