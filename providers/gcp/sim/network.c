#include <arpa/inet.h>
#include <string.h>
#include "gcp/sim/gce.h"

/* Networks, subnetworks, routers and firewall rules; resource policies. Each is
 * kept as it was given, after the checks that Compute Engine is known to make. */

#define DEFAULT_NETWORK "global/networks/default"

/* ---- what every project has (cloud.google.com/vpc/docs/vpc, "Default network") */

static json_t *seed_doc(RgSimPlace *place, const char *scope, const char *resource,
	const char *singular, const char *name)
{
	g_autofree char *key = g_strjoin("/", scope, resource, name, NULL);
	g_autofree char *kind = g_strconcat("compute#", singular, NULL);
	g_autofree char *id = gce_fixed_number(place->name, key);
	g_autofree char *self = gce_link(place, key);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", GCE_KEY, key, "kind", kind, "id", id,
		"creationTimestamp", "2024-01-15T06:54:09.000-08:00", "name", name, "selfLink",
		self);
}

static void seed_subnetworks(RgSimPlace *place, const char *network, json_t *links)
{
	unsigned block = 128;
	unsigned part = 0;
	rg_json_foreach_member (region, unused, gce_data(place)->regions) {
		g_autofree char *scope = g_strconcat("regions/", region, NULL);
		g_autofree char *range =
			g_strdup_printf("10.%u.%u.0/20", block + part / 16, part % 16 * 16);
		g_autofree char *gateway =
			g_strdup_printf("10.%u.%u.1", block + part / 16, part % 16 * 16);
		g_autofree char *link = gce_link(place, scope);
		json_t *doc = seed_doc(place, scope, "subnetworks", "subnetwork", "default");
		json_auto_t *more = json_pack("{s:s, s:s, s:s, s:s, s:b, s:s, s:s}", "network",
			network, "ipCidrRange", range, "gatewayAddress", gateway, "region", link,
			"privateIpGoogleAccess", 0, "purpose", "PRIVATE", "stackType", "IPV4_ONLY");
		json_object_update(doc, more);
		json_array_append(links, json_object_get(doc, "selfLink"));
		rg_sim_put(place, GCE_SUBNETWORK, doc);
		part++;
	}
}

static void seed_firewall(RgSimPlace *place, const char *network, const char *name,
	const char *range, json_t *allowed)
{
	json_t *doc = seed_doc(place, "global", "firewalls", "firewall", name);
	json_auto_t *more = json_pack("{s:s, s:i, s:[s], s:o, s:s, s:{s:b}, s:b}", "network",
		network, "priority", 65534, "sourceRanges", range, "allowed", allowed, "direction",
		"INGRESS", "logConfig", "enable", 0, "disabled", 0);
	json_object_update(doc, more);
	rg_sim_put(place, GCE_FIREWALL, doc);
}

void gce_network_seed(RgSimPlace *place)
{
	unsigned at = 0;
	if (rg_sim_next(place, GCE_NETWORK, &at))
		return;
	g_autofree char *link = gce_link(place, DEFAULT_NETWORK);
	json_t *network = seed_doc(place, "global", "networks", "network", "default");
	json_auto_t *subnetworks = json_array();
	seed_subnetworks(place, link, subnetworks);
	json_auto_t *more = json_pack("{s:s, s:b, s:O, s:{s:s}}", "description",
		"Default network for the project", "autoCreateSubnetworks", 1, "subnetworks",
		subnetworks, "routingConfig", "routingMode", "REGIONAL");
	json_object_update(network, more);
	rg_sim_put(place, GCE_NETWORK, network);
	seed_firewall(place, link, "default-allow-icmp", "0.0.0.0/0",
		json_pack("[{s:s}]", "IPProtocol", "icmp"));
	seed_firewall(place, link, "default-allow-internal", "10.128.0.0/9",
		json_pack("[{s:s, s:[s]}, {s:s, s:[s]}, {s:s}]", "IPProtocol", "tcp", "ports",
			"0-65535", "IPProtocol", "udp", "ports", "0-65535", "IPProtocol", "icmp"));
	seed_firewall(place, link, "default-allow-rdp", "0.0.0.0/0",
		json_pack("[{s:s, s:[s]}]", "IPProtocol", "tcp", "ports", "3389"));
	seed_firewall(place, link, "default-allow-ssh", "0.0.0.0/0",
		json_pack("[{s:s, s:[s]}]", "IPProtocol", "tcp", "ports", "22"));
}

/* ---- creating and deleting in general */

bool gce_insert_with(RgSimCall *call, unsigned kind, json_t *more)
{
	g_autofree char *scope = gce_scope(call);
	json_auto_t *on_top = more;
	json_t *doc = gce_new(call, kind, scope, NULL);
	json_object_update_missing(doc, rg_json_unconst(call_body(call)));
	json_object_update(doc, on_top);
	return gce_insert_doc(call, kind, doc);
}

bool gce_insert_doc(RgSimCall *call, unsigned kind, json_t *doc)
{
	rg_sim_put(call->place, kind, doc);
	return gce_operate_on(call, "insert", doc, gce_effect_show(NULL, kind, doc),
		gce_effect_remove(NULL, kind, doc));
}

bool gce_name_is_good(RgSimCall *call, unsigned kind)
{
	g_autofree char *scope = gce_scope(call);
	return gce_name_check(call, kind, scope, rg_json_str(call_body(call), "name", NULL));
}

bool gce_delete(RgSimCall *call, unsigned kind, const json_t *doc)
{
	return gce_operate_on(call, "delete", doc, gce_effect_remove(NULL, kind, doc), NULL);
}

bool gce_delete_plain(RgSimCall *call)
{
	unsigned kind = gce_kind_of(call);
	const json_t *doc = gce_target(call, kind);
	return doc && gce_delete(call, kind, doc);
}

bool gce_delete_unused(RgSimCall *call)
{
	unsigned kind = gce_kind_of(call);
	const json_t *doc = gce_target(call, kind);
	if (!doc)
		return false;
	const char *user = json_string_value(json_array_get(json_object_get(doc, "users"), 0));
	g_autofree char *project = NULL;
	g_autofree char *key = user ? gce_key_of(user, &project) : NULL;
	return key ? gce_fail_in_use(call, doc_str(doc, GCE_KEY), key)
		   : gce_delete(call, kind, doc);
}

/* The first document of a kind whose member, or first network interface's, is this link. */
static const json_t *user_of(
	const RgSimPlace *place, unsigned kind, const char *member, const char *link)
{
	rg_sim_foreach (doc, place, kind) {
		const json_t *holder =
			kind == GCE_INSTANCE
				? json_array_get(json_object_get(doc, "networkInterfaces"), 0)
				: doc;
		if (rg_json_has_text(json_object_get(holder, member), link) ||
			rg_json_has_text(json_object_get(doc, member), link))
			return doc;
	}
	return NULL;
}

/* Fails while something refers to it. */
static bool delete_unused(RgSimCall *call, unsigned kind, const char *member, const unsigned *users)
{
	const json_t *doc = gce_target(call, kind);
	if (!doc)
		return false;
	for (; *users != GCE_KINDS; users++) {
		const json_t *user = user_of(call->place, *users, member, doc_str(doc, "selfLink"));
		if (user)
			return gce_fail_in_use(call, doc_str(doc, GCE_KEY), doc_str(user, GCE_KEY));
	}
	return gce_delete(call, kind, doc);
}

/* ---- networks and subnetworks */

static bool network_insert(RgSimCall *call)
{
	if (!gce_name_is_good(call, GCE_NETWORK))
		return false;
	const json_t *own = json_object_get(call_body(call), "autoCreateSubnetworks");
	if (!json_is_false(own))
		return rg_sim_fail(call, 501, "notImplemented",
			"raygpu-sim simulates new networks with autoCreateSubnetworks false only");
	return gce_insert_with(call, GCE_NETWORK,
		json_pack("{s:{s:s}}", "routingConfig", "routingMode", "REGIONAL"));
}

static bool network_delete(RgSimCall *call)
{
	static const unsigned users[] = {GCE_SUBNETWORK, GCE_FIREWALL, GCE_ROUTER, GCE_KINDS};
	return delete_unused(call, GCE_NETWORK, "network", users);
}

static bool is_range(const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, "/", 2);
	struct in_addr address;
	guint64 bits;
	return g_strv_length(parts) == 2 && inet_pton(AF_INET, parts[0], &address) == 1 &&
	       g_ascii_string_to_unsigned(parts[1], 10, 0, 32, &bits, NULL);
}

static bool subnetwork_insert(RgSimCall *call)
{
	const json_t *body = call_body(call);
	const char *range = doc_str(body, "ipCidrRange"),
		   *link = rg_json_str(body, "network", NULL);
	if (!gce_name_is_good(call, GCE_SUBNETWORK))
		return false;
	if (!link)
		return gce_fail_required(call, "resource.network");
	if (!is_range(range))
		return gce_fail_invalid(call, "resource.ipCidrRange", range,
			"Must be an IPv4 range in CIDR notation.");
	const json_t *network = gce_refer(call, GCE_NETWORK, "resource.network", link);
	return network &&
	       gce_insert_with(call, GCE_SUBNETWORK,
		       json_pack("{s:O, s:s, s:s}", "network", json_object_get(network, "selfLink"),
			       "purpose", "PRIVATE", "stackType", "IPV4_ONLY"));
}

static bool subnetwork_delete(RgSimCall *call)
{
	static const unsigned users[] = {GCE_INSTANCE, GCE_ADDRESS, GCE_KINDS};
	return delete_unused(call, GCE_SUBNETWORK, "subnetwork", users);
}

static bool router_insert(RgSimCall *call)
{
	const char *link = rg_json_str(call_body(call), "network", NULL);
	if (!gce_name_is_good(call, GCE_ROUTER))
		return false;
	if (!link)
		return gce_fail_required(call, "resource.network");
	const json_t *network = gce_refer(call, GCE_NETWORK, "resource.network", link);
	return network &&
	       gce_insert_with(call, GCE_ROUTER,
		       json_pack("{s:O}", "network", json_object_get(network, "selfLink")));
}

/* ---- firewall rules */

static bool check_rules(RgSimCall *call, const char *member)
{
	const json_t *list = json_object_get(call_body(call), member);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *rule = json_array_get(list, i);
		const char *protocol = doc_str(rule, "IPProtocol");
		bool ports = g_str_equal(protocol, "tcp") || g_str_equal(protocol, "udp") ||
			     g_str_equal(protocol, "sctp");
		g_autofree char *field = g_strdup_printf("resource.%s[%zu].IPProtocol", member, i);
		if (!*protocol)
			return gce_fail_required(call, field);
		if (json_array_size(json_object_get(rule, "ports")) && !ports)
			return gce_fail_invalid(call, field, protocol,
				"Ports may only be specified on rules whose protocol is one of "
				"[TCP, UDP, SCTP].");
	}
	return true;
}

static bool check_firewall(RgSimCall *call, const json_t *whole)
{
	bool allowed = json_array_size(json_object_get(whole, "allowed")) > 0;
	bool denied = json_array_size(json_object_get(whole, "denied")) > 0;
	bool egress = g_str_equal(doc_str(whole, "direction"), "EGRESS");
	gint64 priority = rg_json_int(whole, "priority", 1000);
	if (allowed == denied)
		return gce_fail_invalid(call, "resource.allowed", "",
			"Exactly one of allowed and denied must be given.");
	if (priority < 0 || priority > 65535)
		return gce_fail_invalid(call, "resource.priority", "", "Must be from 0 to 65535.");
	if (egress &&
		(json_object_get(whole, "sourceTags") || json_object_get(whole, "sourceRanges")))
		return gce_fail_invalid(call, "resource.sourceRanges", "",
			"Sources are for rules of direction INGRESS.");
	rg_json_foreach (
		range, json_object_get(whole, egress ? "destinationRanges" : "sourceRanges")) {
		if (!is_range(json_string_value(range)))
			return gce_fail_invalid(call, "resource.sourceRanges",
				json_string_value(range), "Must be a range in CIDR notation.");
	}
	return check_rules(call, "allowed") && check_rules(call, "denied");
}

static bool firewall_insert(RgSimCall *call)
{
	const json_t *body = call_body(call);
	g_autofree char *otherwise = gce_link(call->place, DEFAULT_NETWORK);
	if (!gce_name_is_good(call, GCE_FIREWALL) || !check_firewall(call, body))
		return false;
	const json_t *network = gce_refer(
		call, GCE_NETWORK, "resource.network", rg_json_str(body, "network", otherwise));
	if (!network)
		return false;
	json_t *more = json_pack("{s:O, s:s, s:I, s:{s:b}, s:b}", "network",
		json_object_get(network, "selfLink"), "direction",
		rg_json_str(body, "direction", "INGRESS"), "priority",
		(json_int_t)rg_json_int(body, "priority", 1000), "logConfig", "enable", 0,
		"disabled", rg_json_bool(body, "disabled", false));
	bool sources = json_object_get(body, "sourceRanges") ||
		       json_object_get(body, "sourceTags") ||
		       json_object_get(body, "sourceServiceAccounts");
	if (!sources && !g_str_equal(doc_str(body, "direction"), "EGRESS"))
		json_object_set_new(more, "sourceRanges", json_pack("[s]", "0.0.0.0/0"));
	return gce_insert_with(call, GCE_FIREWALL, more);
}

/* PATCH changes the given members; PUT replaces the rule, and what it leaves out is gone or as for
 * a new rule. */
static bool firewall_change(RgSimCall *call, bool whole)
{
	const json_t *body = call_body(call), *doc = gce_target(call, GCE_FIREWALL);
	static const char *const members[] = {"allowed", "denied", "description", "disabled",
		"priority", "sourceRanges", "sourceTags", "targetTags", "destinationRanges"};
	if (!doc)
		return false;
	json_auto_t *fresh = json_pack("{s:i, s:b}", "priority", 1000, "disabled", 0);
	json_auto_t *changed = json_copy(rg_json_unconst(doc)), *before = json_object();
	for (gsize i = 0; i < G_N_ELEMENTS(members); i++) {
		json_t *old = json_object_get(doc, members[i]);
		json_t *given = json_object_get(body, members[i]);
		if (!given && whole)
			given = json_object_get(fresh, members[i]);
		json_object_set(before, members[i], old ? old : json_null());
		if (given)
			json_object_set(changed, members[i], given);
		else if (whole)
			json_object_del(changed, members[i]);
	}
	if (!check_firewall(call, changed))
		return false;
	rg_sim_put(call->place, GCE_FIREWALL, json_incref(changed));
	return gce_operate_on(call, whole ? "update" : "patch", changed, NULL,
		gce_effect_set(NULL, GCE_FIREWALL, changed, json_incref(before)));
}

static bool firewall_patch(RgSimCall *call)
{
	return firewall_change(call, false);
}

static bool firewall_update(RgSimCall *call)
{
	return firewall_change(call, true);
}

/* ---- resource policies */

static bool policy_insert(RgSimCall *call)
{
	if (!gce_name_is_good(call, GCE_POLICY))
		return false;
	if (!json_object_get(call_body(call), "groupPlacementPolicy"))
		return rg_sim_fail(call, 501, "notImplemented",
			"raygpu-sim simulates resource policies with groupPlacementPolicy only");
	return gce_insert_with(call, GCE_POLICY, json_pack("{s:s}", "status", "READY"));
}

static bool policy_delete(RgSimCall *call)
{
	static const unsigned users[] = {GCE_INSTANCE, GCE_KINDS};
	return delete_unused(call, GCE_POLICY, "resourcePolicies", users);
}

#define FIREWALL_MEMBERS                                                                           \
	"requestId .name .description .network .priority .direction .disabled .allowed .denied "   \
	".sourceRanges .sourceTags .targetTags .destinationRanges"

const RgSimAction gce_network_actions[] = {
	{"firewalls.delete", gce_delete_plain, true, "requestId"},
	{"firewalls.get", gce_get, false, ""},
	{"firewalls.insert", firewall_insert, true, FIREWALL_MEMBERS},
	{"firewalls.list", gce_list, false, GCE_LISTED},
	{"firewalls.patch", firewall_patch, true, FIREWALL_MEMBERS},
	{"firewalls.update", firewall_update, true, FIREWALL_MEMBERS},
	{"networks.delete", network_delete, true, "requestId"},
	{"networks.get", gce_get, false, ""},
	{"networks.insert", network_insert, true,
		"requestId .name .description .autoCreateSubnetworks .routingConfig .mtu"},
	{"networks.list", gce_list, false, GCE_LISTED},
	{"resourcePolicies.aggregatedList", gce_aggregate, false, GCE_AGGREGATED},
	{"resourcePolicies.delete", policy_delete, true, "requestId"},
	{"resourcePolicies.get", gce_get, false, ""},
	{"resourcePolicies.insert", policy_insert, true,
		"requestId .name .description .groupPlacementPolicy.collocation "
		".groupPlacementPolicy.vmCount .groupPlacementPolicy.availabilityDomainCount"},
	{"resourcePolicies.list", gce_list, false, GCE_LISTED},
	{"routers.aggregatedList", gce_aggregate, false, GCE_AGGREGATED},
	{"routers.delete", gce_delete_plain, true, "requestId"},
	{"routers.get", gce_get, false, ""},
	{"routers.insert", router_insert, true, "requestId .name .description .network .nats .bgp"},
	{"routers.list", gce_list, false, GCE_LISTED},
	{"subnetworks.aggregatedList", gce_aggregate, false, GCE_AGGREGATED},
	{"subnetworks.delete", subnetwork_delete, true, "requestId"},
	{"subnetworks.get", gce_get, false, ""},
	{"subnetworks.insert", subnetwork_insert, true,
		"requestId .name .description .network .ipCidrRange .region .privateIpGoogleAccess "
		".purpose .stackType"},
	{"subnetworks.list", gce_list, false, GCE_LISTED},
	{NULL},
};
