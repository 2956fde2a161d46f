#include "convert/internal.h"

#include <string.h>

/* The file of `ray up`: settings, and available_node_types of which one is the head's. */

static void put_name(Convert *convert)
{
	const char *name = rg_json_str(convert->document->value, "cluster_name", "default");
	g_autofree char *plain = convert_cluster_name(name);
	const ConvertAt at = {"/cluster_name", "", NULL, NULL, NULL};
	bool same = g_str_equal(plain, name);
	if (json_object_get(convert->document->value, "cluster_name"))
		convert_put(convert, "cluster", json_string(plain), &at,
			same ? NULL : "names have lower-case letters, digits and hyphens");
	else
		json_object_set_new(convert->spec, "cluster", json_string(plain));
}

static void visit_type(Convert *convert, ConvertNode *node)
{
	if (!node->value)
		return;
	const ConvertAt at = {node->pointer, "node", node->value, node, NULL};
	convert_walk(convert, &at, NULL);
}

static void add_pool(Convert *convert, const char *name, json_t *value, const char *pointer)
{
	g_autofree char *plain = convert_name(convert, name, "pool");
	convert_node_new(convert, plain, false, value, pointer);
	if (!g_str_equal(plain, name) && value) {
		g_autofree char *at = g_strconcat("/pools/", plain, NULL);
		convert_say(convert, at, convert_comment(convert, pointer));
	}
}

/* A type of the head with workers is a pool too. */
static bool has_workers(const json_t *type)
{
	return rg_json_int(type, "min_workers", 0) > 0 || rg_json_int(type, "max_workers", 0) > 0;
}

static void add_types(Convert *convert, json_t *types, const char *head)
{
	const char *name;
	json_t *type;
	g_autofree char *head_at = NULL;
	if (head) {
		g_autofree char *types_at = rg_json_pointer_add("", "available_node_types");
		head_at = rg_json_pointer_add(types_at, head);
	}
	convert_node_new(convert, "head", true, head ? json_object_get(types, head) : NULL,
		head_at ? head_at : "");
	json_object_foreach (types, name, type) {
		g_autofree char *pointer = rg_json_pointer_add("/available_node_types", name);
		bool is_head = g_strcmp0(name, head) == 0;
		if (!json_is_object(type))
			convert_key(
				convert, pointer, CONVERT_UNKNOWN, NULL, "it should be a mapping");
		else if ((!is_head || has_workers(type)) && !convert_is_full(convert, pointer))
			add_pool(convert, name, type, pointer);
	}
}

/* The type of the head; without one, the only type is it. */
static const char *head_of(Convert *convert, json_t *types)
{
	json_t *root = convert->document->value;
	const char *head = rg_json_str(root, "head_node_type", NULL);
	if (!head && json_object_size(types) == 1)
		head = json_object_iter_key(json_object_iter(types));
	if (json_object_get(root, "head_node_type"))
		convert_key(convert, "/head_node_type",
			head && json_object_get(types, head) ? CONVERT_DONE : CONVERT_NONE, "head",
			head && json_object_get(types, head)
				? NULL
				: "available_node_types does not have this type");
	return head && json_object_get(types, head) ? head : NULL;
}

bool convert_launcher(Convert *convert)
{
	static const char *const mine[] = {
		"cluster_name", "head_node_type", "available_node_types", NULL};
	json_t *root = convert->document->value;
	json_t *types = json_object_get(root, "available_node_types");
	put_name(convert);
	convert->autoscales = true;
	json_object_set_new(convert->spec, "provider",
		json_pack("{s:s}", "name", convert->module ? convert->module : convert->form));
	convert_say(convert, "/provider/name", convert_comment(convert, "/provider/type"));
	convert_key(convert, "/provider/type", CONVERT_DONE, "provider.name", NULL);
	if (types && !json_is_object(types))
		convert_key(convert, "/available_node_types", CONVERT_UNKNOWN, NULL,
			"it should be a mapping");
	if (json_is_object(types) && !json_object_size(types))
		convert_key(convert, "/available_node_types", CONVERT_SAME, NULL, "it is empty");
	const char *head = head_of(convert, types);
	add_types(convert, types, head);
	const ConvertAt at = {"", "", root, NULL, NULL};
	convert_walk(convert, &at, mine);
	for (guint i = 0; i < convert->nodes->len; i++)
		visit_type(convert, convert->nodes->pdata[i]);
	return true;
}
