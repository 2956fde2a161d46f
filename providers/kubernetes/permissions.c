/* permissions: a Role and, where objects are not of a namespace, a ClusterRole, as a List for
 * `kubectl create -f`. The rules are in permissions.json. Pure. */
#include "kubernetes/calls.h"
#include "kubernetes/data.h"

#define RBAC "rbac.authorization.k8s.io/v1"

static bool is_needed(const json_t *input, const json_t *entry)
{
	const char *when = mod_str(entry, "when");
	bool of_spec = g_str_equal(when, "jobs");
	const json_t *holder = json_object_get(input, of_spec ? "spec" : "config");
	if (!mod_has_text(json_object_get(entry, "for"), mod_str(input, "for")))
		return false;
	return !*when || json_object_get(holder, when);
}

/* {"get": ..., "create": ...}: a rule for each group of resources. */
static json_t *rules_of(const json_t *input, const json_t *entries, bool wide)
{
	json_t *rules = json_array();
	mod_foreach (entry, entries)
		if (is_needed(input, entry) && json_is_true(json_object_get(entry, "wide")) == wide)
			json_array_append_new(rules,
				json_pack("{s:[s], s:O, s:O}", "apiGroups", mod_str(entry, "group"),
					"resources", json_object_get(entry, "resources"), "verbs",
					json_object_get(entry, "verbs")));
	return rules;
}

/* Steals the rules. */
static json_t *role_of(const json_t *input, const char *kind, json_t *rules)
{
	const char *space = mod_str(json_object_get(input, "config"), "namespace");
	json_t *metadata =
		json_pack("{s:o}", "name", json_sprintf("raygpu-%s", mod_str(input, "for")));
	if (*space && g_str_equal(kind, "Role"))
		json_object_set_new(metadata, "namespace", json_string(space));
	return json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", RBAC, "kind", kind, "metadata",
		metadata, "rules", rules);
}

rgp_status kube_permissions(const KubeCall *call, const json_t *input)
{
	const struct rg_embedded *file = kube_data_find("permissions.json");
	json_auto_t *entries = json_loadb(file->data, file->len, 0, NULL);
	mod_foreach_member (option, value, json_object_get(input, "with"))
		return mod_refuse(call, NULL, "leave it out", "unknown --with \"%s\"", option);
	json_auto_t *narrow = rules_of(input, entries, false);
	json_auto_t *wide = rules_of(input, entries, true);
	if (!json_array_size(narrow))
		return mod_refuse(call, NULL, "known: plan, apply, import, rebuild",
			"unknown --for \"%s\"", mod_str(input, "for"));
	json_t *roles = json_array();
	json_array_append_new(roles, role_of(input, "Role", json_incref(narrow)));
	json_array_append_new(roles, role_of(input, "ClusterRole", json_incref(wide)));
	return mod_give(&call->talk, "document",
		json_pack("{s:s, s:s, s:o}", "apiVersion", "v1", "kind", "List", "items", roles));
}
