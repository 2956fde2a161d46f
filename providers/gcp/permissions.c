/* permissions: a custom role for `gcloud iam roles create --file`, which reads YAML, and so JSON.
 * The names are in permissions.json. Pure. */
#include <string.h>
#include "gcp/data.h"
#include "gcp/kinds.h"

static bool any_node(const json_t *spec, bool (*has)(const json_t *node))
{
	const json_t *pool;
	const char *name;
	if (has(json_object_get(spec, "head")))
		return true;
	json_object_foreach (json_object_get(spec, "pools"), name, pool)
		if (has(pool))
			return true;
	return false;
}

static bool has_public_ip(const json_t *node)
{
	return json_is_true(json_object_get(node, "public_ip"));
}

static bool has_placement(const json_t *node)
{
	return *mod_str(json_object_get(node, "network"), "placement") != '\0';
}

static bool has_image(const json_t *node)
{
	return *mod_str(node, "image") != '\0';
}

static bool has_reservation(const json_t *node)
{
	return *mod_str(json_object_get(node, "market"), "reservation") != '\0';
}

static bool is_needed(const json_t *input, const char *when)
{
	const json_t *spec = json_object_get(input, "spec");
	const json_t *config = json_object_get(input, "config");
	if (g_str_equal(when, "firewall"))
		return !json_is_false(json_object_get(config, "firewall"));
	if (g_str_equal(when, "service_account"))
		return *mod_str(config, "service_account") != '\0';
	if (g_str_equal(when, "public_ip"))
		return any_node(spec, has_public_ip);
	if (g_str_equal(when, "placement"))
		return any_node(spec, has_placement);
	if (g_str_equal(when, "reservation"))
		return any_node(spec, has_reservation);
	if (g_str_equal(when, "own_images"))
		return any_node(spec, has_image);
	return true;
}

static void add_all(GPtrArray *names, const json_t *permissions)
{
	size_t i;
	const json_t *name;
	json_array_foreach (permissions, i, name)
		if (!g_ptr_array_find_with_equal_func(
			    names, json_string_value(name), g_str_equal, NULL))
			g_ptr_array_add(names, (char *)(uintptr_t)json_string_value(name));
}

json_t *gcp_permissions_needed(const json_t *input)
{
	const struct rg_embedded *file = gcp_data_find("permissions.json");
	json_auto_t *all = json_loadb(file->data, file->len, 0, NULL);
	json_t *needed = json_array(), *entry;
	size_t i;
	json_array_foreach (all, i, entry)
		if (mod_has_text(json_object_get(entry, "for"), mod_str(input, "for")) &&
			is_needed(input, mod_str(entry, "when")))
			json_array_append(needed, entry);
	return needed;
}

rgp_status gcp_permissions(const GcpCall *call, const json_t *input)
{
	json_auto_t *entries = gcp_permissions_needed(input);
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	const char *task = mod_str(input, "for"), *option;
	json_t *value;
	size_t i;
	const json_t *entry;
	json_object_foreach (json_object_get(input, "with"), option, value)
		return mod_refuse(call, NULL, "leave it out", "unknown --with \"%s\"", option);
	json_array_foreach (entries, i, entry)
		add_all(names, json_object_get(entry, "permissions"));
	if (!names->len)
		return mod_refuse(call, NULL,
			"known: plan, apply, import, rebuild, state, state-read",
			"unknown --for \"%s\"", task);
	g_ptr_array_sort(names, mod_compare_texts);
	json_t *list = json_array();
	for (guint n = 0; n < names->len; n++)
		json_array_append_new(list, json_string(names->pdata[n]));
	return mod_give(&call->talk, "document",
		json_pack("{s:o, s:s, s:s, s:o}", "title", json_sprintf("raygpu %s", task),
			"description", "what raygpu needs for this cluster", "stage", "GA",
			"includedPermissions", list));
}
