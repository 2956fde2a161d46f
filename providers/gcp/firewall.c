/* The kind gcp.firewall: rules of the VPC network for the tag of our nodes. They have no labels, so
 * the marks are in the description. Fields: compute.v1, schema Firewall. */
#include <string.h>
#include "gcp/kinds.h"

#define FIELDS                                                                                     \
	"id,name,description,network,direction,priority,allowed,denied,sourceRanges,"              \
	"destinationRanges,sourceTags,targetTags,sourceServiceAccounts,targetServiceAccounts,"     \
	"disabled"

static json_t *list_or_empty(const json_t *record, const char *key)
{
	json_t *list = json_object_get(record, key);
	return list ? json_incref(list) : json_array();
}

/* {"IPProtocol": "tcp", "ports": ["22"]} -> "tcp:22" */
static json_t *protocols_read(const json_t *entries)
{
	json_t *list = json_array();
	size_t p;
	const json_t *port;
	mod_foreach (entry, entries) {
		const json_t *ports = json_object_get(entry, "ports");
		g_autoptr(GString) text = g_string_new(mod_str(entry, "IPProtocol"));
		json_array_foreach (ports, p, port)
			g_string_append_printf(
				text, "%s%s", p ? "," : ":", json_string_value(port));
		json_array_append_new(list, json_string(text->str));
	}
	return list;
}

static json_t *protocols_write(const json_t *protocols)
{
	json_t *list = json_array();
	mod_foreach (protocol, protocols) {
		g_auto(GStrv) parts = g_strsplit(json_string_value(protocol), ":", 2);
		json_t *entry = json_pack("{s:s}", "IPProtocol", parts[0]);
		if (parts[1]) {
			g_auto(GStrv) ports = g_strsplit(parts[1], ",", -1);
			json_t *values = json_array();
			for (char **port = ports; *port; port++)
				json_array_append_new(values, json_string(*port));
			json_object_set_new(entry, "ports", values);
		}
		json_array_append_new(list, entry);
	}
	return list;
}

/* What raygpu's rules never have. */
static json_t *others_of(const json_t *record)
{
	static const char *const keys[] = {
		"destinationRanges", "sourceServiceAccounts", "targetServiceAccounts"};
	json_t *list = json_array();
	for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
		json_array_extend(list, json_object_get(record, keys[i]));
	return list;
}

static void firewall_read(const json_t *record, GcpSeen *seen)
{
	const json_t *allowed = json_object_get(record, "allowed");
	const json_t *denied = json_object_get(record, "denied");
	const char *lineage = seen->marks.lineage ? seen->marks.lineage : "";
	seen->attributes = json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:b, s:s}",
		"network", gcp_path_of(mod_str(record, "network")), "direction",
		mod_str(record, "direction"), "action", allowed ? "allow" : "deny", "priority",
		(json_int_t)mod_int(record, "priority"), "protocols",
		protocols_read(allowed ? allowed : denied), "source_ranges",
		list_or_empty(record, "sourceRanges"), "source_tags",
		gcp_tags_read(json_object_get(record, "sourceTags"), lineage), "target_tags",
		gcp_tags_read(json_object_get(record, "targetTags"), lineage), "others",
		others_of(record), "disabled", json_is_true(json_object_get(record, "disabled")),
		"rule_name", mod_str(record, "name"));
	if (seen->marks.lineage) {
		g_autofree char *tag = gcp_node_tag(seen->marks.lineage);
		json_object_set_new(seen->attributes, "node_tag", json_string(tag));
	}
}

/* The members that insert and patch have in common. */
static void set_rules(json_t *body, const json_t *attributes, const char *lineage)
{
	static const char *const lists[][2] = {{"sourceRanges", "source_ranges"},
		{"sourceTags", "source_tags"}, {"targetTags", "target_tags"}};
	bool allows = g_str_equal(mod_str(attributes, "action"), "allow");
	json_object_set(body, "priority", json_object_get(attributes, "priority"));
	json_object_set_new(body, allows ? "allowed" : "denied",
		protocols_write(json_object_get(attributes, "protocols")));
	json_object_set_new(body, "disabled",
		json_boolean(json_is_true(json_object_get(attributes, "disabled"))));
	for (size_t i = 0; i < G_N_ELEMENTS(lists); i++)
		json_object_set_new(body, lists[i][0],
			gcp_tags_write(json_object_get(attributes, lists[i][1]), lineage));
}

static json_t *firewall_body(const GcpCall *call, const json_t *input, const char *name)
{
	const json_t *attributes = json_object_get(input, "attributes");
	g_autofree char *text = gcp_marks_text(input, call->inst->region);
	const char *lineage = mod_str(json_object_get(input, "marks"), "lineage");
	json_t *body = json_pack("{s:s, s:s, s:s, s:s}", "name", name, "description", text,
		"network", mod_str(attributes, "network"), "direction",
		mod_str(attributes, "direction"));
	set_rules(body, attributes, lineage);
	return body;
}

/* What the API leaves out of a record is empty or false. */
static bool is_same(const json_t *wanted, const json_t *there)
{
	return json_equal(wanted, there) ||
	       (!there && !json_array_size(wanted) && !json_is_true(wanted) &&
		       !json_is_string(wanted));
}

static json_t *firewall_change(const json_t *item, const json_t *record)
{
	if (mod_is_release(item))
		return *mod_str(record, "description") ? json_pack("{s:s}", "description", "")
						       : NULL;
	json_auto_t *body = json_object();
	g_auto(ModMarks) marks = {0};
	const char *lineage = mod_str(json_object_get(item, "marks"), "lineage");
	const char *description = mod_str(record, "description");
	gcp_marks_parse(description, &marks);
	set_rules(body, json_object_get(item, "attributes"),
		*lineage	? lineage
		: marks.lineage ? marks.lineage
				: "");
	if (mod_is_changed(item, "others"))
		json_object_update_new(
			body, json_pack("{s:[], s:[], s:[]}", "destinationRanges",
				      "sourceServiceAccounts", "targetServiceAccounts"));
	if (mod_is_changed(item, "marks")) {
		g_autofree char *text = gcp_marks_renew_text(GCP_FIREWALL, item, description);
		json_object_set_new(body, "description", json_string(text));
	}
	mod_foreach_member (key, value, body)
		if (!is_same(value, json_object_get(record, key)))
			return json_incref(body);
	return NULL;
}

static const char *const changeable[] = {"priority", "protocols", "source_ranges", "source_tags",
	"target_tags", "others", "disabled", "marks", NULL};

const GcpKind gcp_firewall_kind = {
	.kind = {GCP_FIREWALL, changeable},
	GCP_NAMED,
	.methods = "firewalls",
	.fields = FIELDS,
	.global = true,
	.described = true,
	.read = firewall_read,
	.body = firewall_body,
	.change = firewall_change,
	.change_verb = "patch",
};
