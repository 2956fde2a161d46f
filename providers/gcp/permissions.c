/* permissions: a custom role for `gcloud iam roles create --file`, which reads YAML, and so JSON.
 * The names are in permissions.json. Pure. */
#include <string.h>
#include "gcp/data.h"
#include "gcp/kinds.h"
#include "gcp/machine.h"

static bool any_node(const json_t *spec, bool (*has)(const json_t *node))
{
	if (has(json_object_get(spec, "head")))
		return true;
	mod_foreach_member (name, pool, json_object_get(spec, "pools"))
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

/* By its name, or that of the reservation, which nothing has asked about. */
static bool may_have_custom_type(const json_t *node)
{
	g_auto(GcpMachine) machine = {0};
	gcp_machine_parse(mod_str(node, "instance_type"), &machine);
	return gcp_machine_is_custom(&machine) || has_reservation(node);
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
	if (g_str_equal(when, "custom_type"))
		return any_node(spec, may_have_custom_type);
	if (g_str_equal(when, "own_images"))
		return any_node(spec, has_image);
	return true;
}

static void add_all(GPtrArray *names, const json_t *permissions)
{
	mod_foreach (name, permissions)
		if (!g_ptr_array_find_with_equal_func(
			    names, json_string_value(name), g_str_equal, NULL))
			g_ptr_array_add(names, (char *)(uintptr_t)json_string_value(name));
}

json_t *gcp_permissions_needed(const json_t *input)
{
	const struct rg_embedded *file = gcp_data_find("permissions.json");
	json_auto_t *all = json_loadb(file->data, file->len, 0, NULL);
	json_t *needed = json_array();
	mod_foreach (entry, all)
		if (mod_has_text(json_object_get(entry, "for"), mod_str(input, "for")) &&
			is_needed(input, mod_str(entry, "when")))
			json_array_append(needed, entry);
	return needed;
}

rgp_status gcp_permissions(const GcpCall *call, const json_t *input)
{
	json_auto_t *entries = gcp_permissions_needed(input);
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	const char *task = mod_str(input, "for");
	mod_foreach_member (option, value, json_object_get(input, "with"))
		return mod_refuse(call, NULL, "leave it out", "unknown --with \"%s\"", option);
	mod_foreach (entry, entries)
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
