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

static json_t *with_head(const ModLowering *lowering, const json_t *value)
{
	size_t i;
	json_t *member;
	const char *key;
	json_t *copy;
	if (json_is_array(value)) {
		copy = json_array();
		json_array_foreach (value, i, member)
			json_array_append_new(copy, with_head(lowering, member));
		return copy;
	}
	if (!json_is_object(value))
		return json_incref(mod_unconst(value));
	copy = json_object();
	json_object_foreach (mod_unconst(value), key, member)
		json_object_set_new(copy, key, with_head(lowering, member));
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
			with_head(lowering, user_data));
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
	size_t i;
	json_t *member;
	const char *key;
	json_array_foreach (value, i, member)
		collect_refs(member, addresses);
	add_dependency(addresses, mod_str(value, "$ref"));
	json_object_foreach (mod_unconst(value), key, member)
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

void mod_lower_add(ModLowering *lowering, const ModWanted *wanted)
{
	json_auto_t *attributes = wanted->attributes;
	bool is_node = g_str_equal(wanted->kind, lowering->node_kind);
	g_autofree char *address = g_strdup_printf("%s.%s", wanted->kind, wanted->name);
	if (wanted->indexes && !json_array_size(wanted->indexes))
		return;
	json_t *resource = json_pack("{s:s, s:s, s:s, s:n, s:s?, s:s, s:O, s:o}", "address",
		address, "kind", wanted->kind, "name", wanted->name, "index", "group",
		wanted->group, "origin", wanted->origin, "attributes", attributes, "depends_on",
		depends_on(attributes, is_node ? lowering->first : NULL));
	if (wanted->indexes)
		json_object_set(resource, "indexes", wanted->indexes);
	if (is_node)
		json_object_set_new(resource, "nodes",
			json_pack("[{s:s, s:s, s:i}]", "pool", wanted->group, "role",
				wanted->indexes ? "worker" : "head", "count", 1));
	if (!lowering->resources)
		lowering->resources = json_array();
	json_array_append_new(lowering->resources, resource);
}

bool mod_lower_has(const ModLowering *lowering, const char *address)
{
	const json_t *resource;
	size_t i;
	json_array_foreach (lowering->resources, i, resource)
		if (g_str_equal(mod_str(resource, "address"), address))
			return true;
	return false;
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
