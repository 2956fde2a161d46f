#include "aws/group.h"
#include <string.h>

static const AwsShape pair_members[] = {{"groupId"}, {0}};
static const AwsShape pair_set[] = {{"item", pair_members}, {0}};
static const AwsShape range_members[] = {{"cidrIp"}, {0}};
static const AwsShape range_set[] = {{"item", range_members}, {0}};
static const AwsShape range6_members[] = {{"cidrIpv6"}, {0}};
static const AwsShape range6_set[] = {{"item", range6_members}, {0}};
static const AwsShape list_members[] = {{"prefixListId"}, {0}};
static const AwsShape list_set[] = {{"item", list_members}, {0}};
static const AwsShape permission_members[] = {
	{"ipProtocol"},
	{"fromPort"},
	{"toPort"},
	{"groups", pair_set},
	{"ipRanges", range_set},
	{"ipv6Ranges", range6_set},
	{"prefixListIds", list_set},
	{0},
};
const AwsShape aws_ip_permissions[] = {{"item", permission_members}, {0}};

/* The four kinds of source: list and member in answers, list and member in requests. */
static const struct {
	const char *set, *member, *list, *param;
} sources[] = {
	{"groups", "groupId", "Groups", "GroupId"},
	{"ipRanges", "cidrIp", "IpRanges", "CidrIp"},
	{"ipv6Ranges", "cidrIpv6", "Ipv6Ranges", "CidrIpv6"},
	{"prefixListIds", "prefixListId", "PrefixListIds", "PrefixListId"},
};

static void set_port(json_t *rule, const char *name, const char *text)
{
	if (*text)
		json_object_set_new(rule, name, json_integer(g_ascii_strtoll(text, NULL, 10)));
}

static json_t *read_rule(const json_t *permission, const char *source)
{
	const char *protocol = mod_str(permission, "ipProtocol");
	bool all = g_str_equal(protocol, "-1");
	json_t *rule =
		json_pack("{s:s, s:s}", "protocol", all ? "all" : protocol, "source", source);
	if (!all) {
		set_port(rule, "from_port", mod_str(permission, "fromPort"));
		set_port(rule, "to_port", mod_str(permission, "toPort"));
	}
	return rule;
}

static int compare_rules(gconstpointer a, gconstpointer b)
{
	char *x = json_dumps(*(json_t *const *)a, JSON_COMPACT | JSON_SORT_KEYS);
	char *y = json_dumps(*(json_t *const *)b, JSON_COMPACT | JSON_SORT_KEYS);
	int order = strcmp(x, y);
	free(x);
	free(y);
	return order;
}

json_t *aws_rules_read(const json_t *permissions, const char *group_id)
{
	g_autoptr(GPtrArray) rules = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
	mod_foreach (permission, permissions)
		for (size_t s = 0; s < G_N_ELEMENTS(sources); s++)
			mod_foreach (item, json_object_get(permission, sources[s].set)) {
				const char *source = mod_str(item, sources[s].member);
				bool self = *source && g_str_equal(source, group_id);
				g_ptr_array_add(
					rules, read_rule(permission, self ? "self" : source));
			}
	g_ptr_array_sort(rules, compare_rules);
	json_t *list = json_array();
	for (guint r = 0; r < rules->len; r++)
		json_array_append(list, rules->pdata[r]);
	return list;
}

static size_t kind_of_source(const char *source)
{
	if (g_str_has_prefix(source, "sg-"))
		return 0;
	if (g_str_has_prefix(source, "pl-"))
		return 3;
	return strchr(source, ':') ? 2 : 1;
}

json_t *aws_rules_params(const json_t *rules, const char *group_id)
{
	json_t *params = json_array();
	mod_foreach (rule, rules) {
		const char *source = mod_str(rule, "source"), *protocol = mod_str(rule, "protocol");
		if (g_str_equal(source, "self"))
			source = group_id;
		size_t kind = kind_of_source(source);
		json_t *permission =
			json_pack("{s:s}", "IpProtocol", strcmp(protocol, "all") ? protocol : "-1");
		if (json_object_get(rule, "from_port"))
			json_object_set(permission, "FromPort", json_object_get(rule, "from_port"));
		if (json_object_get(rule, "to_port"))
			json_object_set(permission, "ToPort", json_object_get(rule, "to_port"));
		json_object_set_new(permission, sources[kind].list,
			json_pack("[{s:s}]", sources[kind].param, source));
		json_array_append_new(params, permission);
	}
	return params;
}

json_t *aws_rules_without(const json_t *a, const json_t *b)
{
	json_t *rest = json_array();
	mod_foreach (rule, a) {
		bool found = false;
		mod_foreach (other, b)
			found = found || json_equal(rule, other);
		if (!found)
			json_array_append(rest, rule);
	}
	return rest;
}
