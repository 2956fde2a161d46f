#include "common/lower.h"

const json_t *mod_lower_setting(const ModLowering *lowering, const char *name)
{
	const json_t *scope = json_object_get(lowering->fitted, "scope");
	return json_object_get(json_object_get(scope, "config"), name);
}

const json_t *mod_lower_facts(const ModLowering *lowering)
{
	return json_object_get(json_object_get(lowering->fitted, "facts"), "module");
}

json_t *mod_lower_labels(const ModLowering *lowering)
{
	json_t *labels = json_copy(json_object_get(lowering->fitted, "labels"));
	return labels ? labels : json_object();
}

json_t *mod_lower_ref(const char *address, const char *attribute)
{
	return json_pack("{s:s, s:s}", "$ref", address, "attr", attribute);
}

json_t *mod_lower_with_head(const ModLowering *lowering, const json_t *value)
{
	json_t *copy;
	if (json_is_array(value)) {
		copy = json_array();
		mod_foreach (member, value)
			json_array_append_new(copy, mod_lower_with_head(lowering, member));
		return copy;
	}
	if (!json_is_object(value))
		return json_incref(mod_unconst(value));
	copy = json_object();
	mod_foreach_member (key, member, value)
		json_object_set_new(copy, key, mod_lower_with_head(lowering, member));
	if (g_str_equal(mod_str(copy, "$ref"), "@head"))
		json_object_update_new(
			copy, mod_lower_ref(lowering->head, lowering->head_attribute));
	return copy;
}

void mod_lower_user_data(const ModLowering *lowering, const json_t *node, json_t *attributes)
{
	const json_t *user_data = json_object_get(json_object_get(node, "boot"), "user_data");
	bool compressed = json_object_get(user_data, "$gzip_base64") != NULL;
	if (user_data)
		json_object_set_new(attributes, compressed ? "user_data_base64" : "user_data",
			mod_lower_with_head(lowering, user_data));
}

void mod_lower_disk(const json_t *node, json_t *attributes)
{
	const json_t *disk = json_object_get(node, "disk");
	if (mod_int(disk, "size_gb"))
		json_object_set(attributes, "disk_size_gb", json_object_get(disk, "size_gb"));
	if (*mod_str(disk, "type"))
		json_object_set(attributes, "disk_type", json_object_get(disk, "type"));
}

static void add_dependency(GPtrArray *addresses, const char *address)
{
	if (*address && !g_ptr_array_find_with_equal_func(addresses, address, g_str_equal, NULL))
		g_ptr_array_add(addresses, (char *)(uintptr_t)address);
}

static void collect_refs(const json_t *value, GPtrArray *addresses)
{
	mod_foreach (member, value)
		collect_refs(member, addresses);
	add_dependency(addresses, mod_str(value, "$ref"));
	mod_foreach_member (key, member, value)
		collect_refs(member, addresses);
}

static json_t *depends_on(const json_t *attributes, const char *const *first)
{
	g_autoptr(GPtrArray) addresses = g_ptr_array_new();
	collect_refs(attributes, addresses);
	for (; first && *first; first++)
		add_dependency(addresses, *first);
	g_ptr_array_sort(addresses, mod_compare_texts);
	json_t *list = json_array();
	for (guint i = 0; i < addresses->len; i++)
		json_array_append_new(list, json_string(addresses->pdata[i]));
	return list;
}

static json_t *resource_new(const ModLowering *lowering, const char *kind, const char *name,
	const char *origin, json_t *attributes)
{
	g_autofree char *address = g_strdup_printf("%s.%s", kind, name);
	bool is_node = g_str_equal(kind, lowering->node_kind);
	json_t *needs = depends_on(attributes, is_node ? lowering->first : NULL);
	return json_pack("{s:s, s:s, s:s, s:n, s:n, s:s, s:o, s:o}", "address", address, "kind",
		kind, "name", name, "index", "group", "origin", origin, "attributes", attributes,
		"depends_on", needs);
}

static void add(ModLowering *lowering, json_t *resource)
{
	if (!lowering->resources)
		lowering->resources = json_array();
	json_array_append_new(lowering->resources, resource);
}

void mod_lower_add(ModLowering *lowering, const char *kind, const char *name, const char *origin,
	json_t *attributes)
{
	add(lowering, resource_new(lowering, kind, name, origin, attributes));
}

void mod_lower_add_node(ModLowering *lowering, const json_t *node, json_t *attributes)
{
	const char *pool = mod_str(node, "pool");
	bool is_head = g_str_equal(mod_str(node, "role"), "head");
	json_t *resource = resource_new(
		lowering, lowering->node_kind, pool, mod_str(node, "origin"), attributes);
	json_object_set_new(resource, "group", json_string(pool));
	if (!is_head)
		json_object_set(resource, "indexes", json_object_get(node, "indexes"));
	json_object_set_new(resource, "nodes",
		json_pack("[{s:s, s:s, s:i}]", "pool", pool, "role", mod_str(node, "role"), "count",
			1));
	if (is_head || json_array_size(json_object_get(node, "indexes")))
		add(lowering, resource);
	else
		json_decref(resource);
}

static bool has(const ModLowering *lowering, const char *address)
{
	mod_foreach (resource, lowering->resources)
		if (g_str_equal(mod_str(resource, "address"), address))
			return true;
	return false;
}

void mod_lower_place(ModLowering *lowering, const json_t *node, json_t *attributes,
	const ModPlacement *placement)
{
	json_auto_t *own = placement->own;
	const char *pool = mod_str(node, "pool");
	g_autofree char *address = g_strdup_printf("%s.%s", placement->kind, pool);
	g_autofree char *origin = g_strconcat(mod_str(node, "origin"), "/network", NULL);
	if (!*mod_str(json_object_get(node, "network"), "placement"))
		return;
	json_object_set_new(
		attributes, placement->attribute, mod_lower_ref(address, placement->name));
	if (!has(lowering, address))
		mod_lower_add(lowering, placement->kind, pool, origin, g_steal_pointer(&own));
}

void mod_lower_refuse(ModLowering *lowering, const json_t *node, const char *field,
	const char *hint, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *summary = g_strdup_vprintf(format, args);
	va_end(args);
	g_autofree char *origin = g_strconcat(mod_str(node, "origin"), field, NULL);
	mod_report_origin(lowering->talk, RGP_CLASS_INVALID, origin, summary, hint);
	lowering->status = RGP_FAIL;
}

rgp_status mod_lower_give(ModLowering *lowering)
{
	json_t *resources = lowering->resources ? lowering->resources : json_array();
	lowering->resources = NULL;
	if (lowering->status == RGP_OK)
		return mod_give(lowering->talk, "resources", resources);
	json_decref(resources);
	return lowering->status;
}
