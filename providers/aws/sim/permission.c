#include <arpa/inet.h>
#include "aws/sim/resources.h"

typedef struct {
	RgSimCall *call;
	const json_t *group;
	bool egress;
	const char *protocol;
	gint64 from;
	gint64 to;
	json_t *rules;
} Reading;

static const char *protocol_name(const char *given)
{
	static const struct {
		const char *number;
		const char *name;
	} known[] = {{"6", "tcp"}, {"17", "udp"}, {"1", "icmp"}, {"58", "icmpv6"}, {"all", "-1"},
		{"-1", "-1"}};
	for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
		if (g_str_equal(known[i].number, given) ||
			g_ascii_strcasecmp(known[i].name, given) == 0)
			return known[i].name;
	}
	guint64 number;
	return g_ascii_string_to_unsigned(given, 10, 0, 255, &number, NULL) ? given : NULL;
}

static void mask_address(unsigned char *bytes, size_t length, unsigned bits)
{
	for (size_t i = 0; i < length; i++) {
		unsigned kept = bits > i * 8 ? MIN(8, bits - (unsigned)i * 8) : 0;
		bytes[i] &= (unsigned char)(0xff00 >> kept);
	}
}

/* The block with its host bits cleared, as EC2 stores it; NULL if it is not one. */
static char *normal_cidr(const char *text, int family)
{
	g_auto(GStrv) parts = g_strsplit(text, "/", 2);
	unsigned char bytes[16];
	size_t length = family == AF_INET ? 4 : 16;
	guint64 bits;
	if (g_strv_length(parts) != 2 || inet_pton(family, parts[0], bytes) != 1 ||
		!g_ascii_string_to_unsigned(parts[1], 10, 0, length * 8, &bits, NULL))
		return NULL;
	mask_address(bytes, length, (unsigned)bits);
	char out[INET6_ADDRSTRLEN];
	inet_ntop(family, bytes, out, sizeof(out));
	return g_strdup_printf("%s/%u", out, (unsigned)bits);
}

static json_t *rule_new(
	const char *group_id, bool egress, const char *protocol, gint64 from, gint64 to)
{
	return json_pack("{s:s, s:s, s:b, s:s, s:I, s:I}", "groupId", group_id, "groupOwnerId",
		EC2_ACCOUNT, "isEgress", egress, "ipProtocol", protocol, "fromPort",
		(json_int_t)from, "toPort", (json_int_t)to);
}

json_t *ec2_permission_all(const char *group_id, bool egress, json_t *peer)
{
	json_t *rule = rule_new(group_id, egress, "-1", -1, -1);
	json_object_update(rule, peer);
	json_decref(peer);
	json_object_set_new(rule, "tagSet", json_array());
	return rule;
}

static void add_rule(Reading *reading, const char *peer, json_t *value, const json_t *entry)
{
	const char *id = doc_str(reading->group, "groupId");
	json_t *rule = rule_new(id, reading->egress, reading->protocol, reading->from, reading->to);
	json_object_set_new(rule, peer, value);
	const char *description = ec2_param_str(entry, "Description");
	if (description)
		json_object_set_new(rule, "description", json_string(description));
	json_object_set_new(rule, "tagSet", json_array());
	json_array_append_new(reading->rules, rule);
}

static bool read_cidr(Reading *reading, const char *text, int family, const json_t *entry)
{
	g_autofree char *cidr = text ? normal_cidr(text, family) : NULL;
	if (!cidr)
		return rg_sim_fail(reading->call, 400, "InvalidParameterValue",
			"CIDR block %s is malformed", text ? text : "");
	add_rule(reading, family == AF_INET ? "cidrIpv4" : "cidrIpv6", json_string(cidr), entry);
	return true;
}

static bool read_ranges(Reading *reading, const json_t *permission)
{
	g_autoptr(GPtrArray) v4 = ec2_param_list(permission, "IpRanges");
	g_autoptr(GPtrArray) v6 = ec2_param_list(permission, "Ipv6Ranges");
	rg_ptr_foreach (const json_t, entry, v4) {
		if (!read_cidr(reading, ec2_param_str(entry, "CidrIp"), AF_INET, entry))
			return false;
	}
	rg_ptr_foreach (const json_t, entry, v6) {
		if (!read_cidr(reading, ec2_param_str(entry, "CidrIpv6"), AF_INET6, entry))
			return false;
	}
	return true;
}

static bool read_group(Reading *reading, const json_t *entry)
{
	const char *owner = ec2_param_str(entry, "UserId");
	const json_t *peer = ec2_group_of_params(
		reading->call, ec2_param_str(entry, "GroupId"), ec2_param_str(entry, "GroupName"));
	if (!peer)
		return false;
	const char *id = doc_str(peer, "groupId");
	if ((owner && !g_str_equal(owner, EC2_ACCOUNT)) ||
		!g_str_equal(doc_str(peer, "vpcId"), doc_str(reading->group, "vpcId")))
		return rg_sim_fail(reading->call, 400, "InvalidGroup.NotFound",
			"You have specified two resources that belong to different networks.");
	add_rule(reading, "referencedGroupInfo",
		json_pack("{s:s, s:s, s:s}", "groupId", id, "userId", EC2_ACCOUNT, "vpcId",
			doc_str(peer, "vpcId")),
		entry);
	return true;
}

static bool read_ports(Reading *reading, const json_t *permission)
{
	const char *given = ec2_param_str(permission, "IpProtocol");
	if (!given)
		return ec2_fail_missing(reading->call, "ipProtocol");
	reading->protocol = protocol_name(given);
	if (!reading->protocol)
		return rg_sim_fail(reading->call, 400, "InvalidParameterValue",
			"Invalid value '%s' for IP protocol. Unknown protocol.", given);
	bool ported =
		g_str_equal(reading->protocol, "tcp") || g_str_equal(reading->protocol, "udp");
	bool icmp = g_str_has_prefix(reading->protocol, "icmp");
	reading->from = ported || icmp ? ec2_param_int(permission, "FromPort", -1) : -1;
	reading->to = ported || icmp ? ec2_param_int(permission, "ToPort", -1) : -1;
	if (ported && (reading->from < 0 || reading->to < 0))
		return rg_sim_fail(reading->call, 400, "InvalidParameterValue",
			"Invalid value 'Must specify both from and to ports with TCP/UDP.' for "
			"portRange.");
	if (reading->from > 65535 || reading->to > 65535 || (ported && reading->from > reading->to))
		return rg_sim_fail(reading->call, 400, "InvalidParameterValue",
			"Invalid value '%" G_GINT64_FORMAT "-%" G_GINT64_FORMAT "' for portRange.",
			reading->from, reading->to);
	return true;
}

static bool read_permission(Reading *reading, const json_t *permission)
{
	size_t before = json_array_size(reading->rules);
	g_autoptr(GPtrArray) groups = ec2_param_list(permission, "Groups");
	if (!read_ports(reading, permission) || !read_ranges(reading, permission))
		return false;
	for (unsigned i = 0; i < groups->len; i++) {
		if (!read_group(reading, g_ptr_array_index(groups, i)))
			return false;
	}
	if (ec2_param_at(permission, "PrefixListIds"))
		return rg_sim_fail(reading->call, 400, "InvalidPrefixListId.NotFound",
			"There are no prefix lists here.");
	if (json_array_size(reading->rules) == before)
		return rg_sim_fail(reading->call, 400, "InvalidParameterValue",
			"Must specify at least one range or group in a permission");
	return true;
}

json_t *ec2_permissions_read(RgSimCall *call, const json_t *group, bool egress)
{
	json_auto_t *rules = json_array();
	Reading reading = {.call = call, .group = group, .egress = egress, .rules = rules};
	g_autoptr(GPtrArray) list = call_list(call, "IpPermissions");
	for (unsigned i = 0; i < list->len; i++) {
		if (!read_permission(&reading, g_ptr_array_index(list, i)))
			return NULL;
	}
	/* The older form has a single permission in the request itself. */
	if (call_has(call, "CidrIp")) {
		const char *cidr = call_str(call, "CidrIp");
		if (!read_ports(&reading, call->params) ||
			!read_cidr(&reading, cidr, AF_INET, NULL))
			return NULL;
	}
	if (json_array_size(rules) == 0) {
		ec2_fail_missing(call, "ipPermissions");
		return NULL;
	}
	return g_steal_pointer(&rules);
}

static const char *peer_of(const json_t *rule)
{
	const char *v4 = doc_str(rule, "cidrIpv4");
	const char *v6 = doc_str(rule, "cidrIpv6");
	const char *group = doc_str(json_object_get(rule, "referencedGroupInfo"), "groupId");
	return *v4 ? v4 : *v6 ? v6 : group;
}

static gint64 port_of(const json_t *rule, const char *member)
{
	return doc_int(rule, member);
}

char *ec2_permission_key(const json_t *rule)
{
	return g_strdup_printf("%d/%s/%" G_GINT64_FORMAT "/%" G_GINT64_FORMAT "/%s",
		doc_is(rule, "isEgress"), doc_str(rule, "ipProtocol"), port_of(rule, "fromPort"),
		port_of(rule, "toPort"), peer_of(rule));
}

char *ec2_permission_text(const json_t *rule)
{
	const char *protocol = doc_str(rule, "ipProtocol");
	if (g_str_equal(protocol, "-1"))
		return g_strdup_printf("peer: %s, ALL, ALLOW", peer_of(rule));
	g_autofree char *upper = g_ascii_strup(protocol, -1);
	return g_strdup_printf("peer: %s, %s, from port: %" G_GINT64_FORMAT
			       ", to port: %" G_GINT64_FORMAT ", ALLOW",
		peer_of(rule), upper, port_of(rule, "fromPort"), port_of(rule, "toPort"));
}
