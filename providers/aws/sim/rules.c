#include "aws/sim/describe.h"
#include "aws/sim/resources.h"

static json_t *with_id(RgSim *sim, json_t *rule)
{
	g_autofree char *id = rg_sim_id(sim, "sgr-");
	json_t *out = json_pack("{s:s}", "securityGroupRuleId", id);
	json_object_update(out, rule);
	json_decref(rule);
	return out;
}

json_t *ec2_rule_allow_all_out(RgSim *sim, const char *group_id)
{
	json_t *peer = json_pack("{s:s}", "cidrIpv4", "0.0.0.0/0");
	return with_id(sim, ec2_permission_all(group_id, true, peer));
}

json_t *ec2_rule_allow_itself(RgSim *sim, const char *group_id, const char *vpc_id)
{
	json_t *peer = json_pack("{s:{s:s, s:s, s:s}}", "referencedGroupInfo", "groupId", group_id,
		"userId", EC2_ACCOUNT, "vpcId", vpc_id);
	return with_id(sim, ec2_permission_all(group_id, false, peer));
}

/* The entry of ipPermissions with the rule's protocol and ports; created if there is none. */
static json_t *permission_for(json_t *permissions, const json_t *rule)
{
	size_t i;
	json_t *entry;
	bool all = g_str_equal(doc_str(rule, "ipProtocol"), "-1");
	json_array_foreach (permissions, i, entry) {
		bool same = json_equal(
			json_object_get(entry, "ipProtocol"), json_object_get(rule, "ipProtocol"));
		if (same && (all || (json_equal(json_object_get(entry, "fromPort"),
					     json_object_get(rule, "fromPort")) &&
					    json_equal(json_object_get(entry, "toPort"),
						    json_object_get(rule, "toPort")))))
			return entry;
	}
	entry = json_object();
	json_object_set(entry, "ipProtocol", json_object_get(rule, "ipProtocol"));
	if (!all) {
		json_object_set(entry, "fromPort", json_object_get(rule, "fromPort"));
		json_object_set(entry, "toPort", json_object_get(rule, "toPort"));
	}
	json_object_set_new(entry, "groups", json_array());
	json_object_set_new(entry, "ipRanges", json_array());
	json_object_set_new(entry, "ipv6Ranges", json_array());
	json_object_set_new(entry, "prefixListIds", json_array());
	json_array_append_new(permissions, entry);
	return entry;
}

static void add_peer(json_t *permission, const json_t *rule)
{
	json_t *v4 = json_object_get(rule, "cidrIpv4");
	json_t *v6 = json_object_get(rule, "cidrIpv6");
	json_t *group = json_object_get(rule, "referencedGroupInfo");
	json_t *entry = json_object();
	if (v4)
		json_object_set(entry, "cidrIp", v4);
	else if (v6)
		json_object_set(entry, "cidrIpv6", v6);
	json_t *description = json_object_get(rule, "description");
	if (description)
		json_object_set(entry, "description", description);
	if (group) {
		json_object_set(entry, "userId", json_object_get(group, "userId"));
		json_object_set(entry, "groupId", json_object_get(group, "groupId"));
	}
	const char *list = group ? "groups" : v6 ? "ipv6Ranges" : "ipRanges";
	json_array_append_new(json_object_get(permission, list), entry);
}

static json_t *permissions_of(const json_t *rules, bool egress)
{
	json_t *out = json_array();
	rg_json_foreach (rule, rules) {
		if (doc_is(rule, "isEgress") == egress)
			add_peer(permission_for(out, rule), rule);
	}
	return out;
}

void ec2_rules_set(json_t *group, json_t *rules)
{
	json_object_set_new(group, "ipPermissionsEgress", permissions_of(rules, true));
	json_object_set_new(group, "ipPermissions", permissions_of(rules, false));
	json_object_set_new(group, "_rules", rules);
}

bool ec2_rules_refer_to(const json_t *group, const char *group_id)
{
	const json_t *rules = json_object_get(group, "_rules");
	for (size_t i = 0; i < json_array_size(rules); i++) {
		const json_t *peer =
			json_object_get(json_array_get(rules, i), "referencedGroupInfo");
		if (g_str_equal(doc_str(peer, "groupId"), group_id))
			return true;
	}
	return false;
}

static int find_rule(const json_t *rules, const json_t *wanted)
{
	g_autofree char *key = ec2_permission_key(wanted);
	for (size_t i = 0; i < json_array_size(rules); i++) {
		g_autofree char *other = ec2_permission_key(json_array_get(rules, i));
		if (g_str_equal(key, other))
			return (int)i;
	}
	return -1;
}

static void store_rules(RgSimCall *call, const json_t *group, json_t *rules)
{
	json_t *doc = rg_sim_edit(call->place, EC2_GROUP, doc_str(group, "groupId"));
	ec2_rules_set(doc, rules);
	rg_sim_put(call->place, EC2_GROUP, doc);
}

/* Both directions are one action except for their names. */
static bool is_egress(const RgSimCall *call)
{
	return g_str_has_suffix(call->action->name, "Egress");
}

static bool authorize_rules(RgSimCall *call)
{
	json_t *group = ec2_group_of_call(call);
	json_auto_t *added = group ? ec2_permissions_read(call, group, is_egress(call)) : NULL;
	json_auto_t *tags = ec2_tags_of_request(call, "security-group-rule", "security-group-rule");
	if (!added || !tags)
		return false;
	json_auto_t *rules = json_copy(json_object_get(group, "_rules"));
	json_auto_t *answer = json_array();
	rg_json_foreach (rule, added) {
		if (find_rule(rules, rule) >= 0) {
			g_autofree char *text = ec2_permission_text(rule);
			return rg_sim_fail(call, 400, "InvalidPermission.Duplicate",
				"the specified rule \"%s\" already exists", text);
		}
		json_object_set(rule, "tagSet", tags);
		json_t *stored = with_id(call->sim, json_incref(rule));
		json_array_append_new(rules, stored);
		json_array_append(answer, stored);
	}
	if (!ec2_go(call))
		return false;
	store_rules(call, group, g_steal_pointer(&rules));
	ec2_xml_text(call->body, "return", "true");
	ec2_xml_value(call->body, "securityGroupRuleSet", answer);
	return true;
}

static int find_rule_id(const json_t *rules, const char *id, bool egress)
{
	for (size_t i = 0; i < json_array_size(rules); i++) {
		const json_t *rule = json_array_get(rules, i);
		if (g_str_equal(doc_str(rule, "securityGroupRuleId"), id) &&
			doc_is(rule, "isEgress") == egress)
			return (int)i;
	}
	return -1;
}

/* Removes the rules that SecurityGroupRuleId.N names. */
static bool drop_by_id(RgSimCall *call, const GPtrArray *ids, json_t *rules)
{
	rg_ptr_foreach (const char, id, ids) {
		int at = find_rule_id(rules, id, is_egress(call));
		if (at < 0)
			return rg_sim_fail(call, 400, "InvalidSecurityGroupRuleId.NotFound",
				"The security group rule ID '%s' does not exist", id);
		json_array_remove(rules, (size_t)at);
	}
	return true;
}

static bool drop_by_permission(RgSimCall *call, const json_t *group, json_t *rules)
{
	json_auto_t *dropped = ec2_permissions_read(call, group, is_egress(call));
	if (!dropped)
		return false;
	rg_json_foreach (rule, dropped) {
		int at = find_rule(rules, rule);
		if (at < 0)
			return rg_sim_fail(call, 400, "InvalidPermission.NotFound",
				"The specified rule does not exist in this security group.");
		json_array_remove(rules, (size_t)at);
	}
	return true;
}

static bool revoke_rules(RgSimCall *call)
{
	json_t *group = ec2_group_of_call(call);
	if (!group)
		return false;
	json_auto_t *rules = json_copy(json_object_get(group, "_rules"));
	g_autoptr(GPtrArray) ids = call_texts(call, "SecurityGroupRuleId");
	bool done =
		ids->len ? drop_by_id(call, ids, rules) : drop_by_permission(call, group, rules);
	if (!done || !ec2_go(call))
		return false;
	store_rules(call, group, g_steal_pointer(&rules));
	return ec2_done(call);
}

static bool rule_wanted(const RgSimCall *call, const json_t *rule)
{
	return ec2_is_asked(call, "SecurityGroupRuleId", doc_str(rule, "securityGroupRuleId"));
}

static bool describe_rules(RgSimCall *call)
{
	static const Ec2Filter filters[] = {
		{"group-id", "groupId"}, {"security-group-rule-id", "securityGroupRuleId"}, {NULL}};
	static const Ec2Listing listing = {
		.set = "securityGroupRuleSet", .filters = filters, .wanted = rule_wanted};
	g_autoptr(GPtrArray) docs = g_ptr_array_new();
	const RgSimTable *table = call->place->tables[EC2_GROUP];
	for (unsigned i = 0; i < table->order->len; i++) {
		const json_t *group =
			rg_sim_item_view(g_ptr_array_index(table->order, i), call->view_ms);
		const json_t *rules = json_object_get(group, "_rules");
		for (size_t at = 0; at < json_array_size(rules); at++)
			g_ptr_array_add(docs, json_array_get(rules, at));
	}
	return ec2_describe_docs(call, &listing, docs);
}

#define PERMISSIONS "DryRun GroupId GroupName IpPermissions CidrIp IpProtocol FromPort ToPort"

const RgSimAction ec2_rule_actions[] = {
	{"AuthorizeSecurityGroupEgress", authorize_rules, true, PERMISSIONS " TagSpecification"},
	{"AuthorizeSecurityGroupIngress", authorize_rules, true, PERMISSIONS " TagSpecification"},
	{"DescribeSecurityGroupRules", describe_rules, false, "SecurityGroupRuleId" PAGED},
	{"RevokeSecurityGroupEgress", revoke_rules, true, PERMISSIONS " SecurityGroupRuleId"},
	{"RevokeSecurityGroupIngress", revoke_rules, true, PERMISSIONS " SecurityGroupRuleId"},
	{NULL},
};
