#include "convert/internal.h"

#include <string.h>
#include "base/caps.h"

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
	g_autofree char *head_at = NULL;
	if (head) {
		g_autofree char *types_at = rg_json_pointer_add("", "available_node_types");
		head_at = rg_json_pointer_add(types_at, head);
	}
	convert_node_new(convert, "head", true, head ? json_object_get(types, head) : NULL,
		head_at ? head_at : "");
	rg_json_foreach_member (name, type, types) {
		g_autofree char *pointer = rg_json_pointer_add("/available_node_types", name);
		bool is_head = g_strcmp0(name, head) == 0;
		if (!json_is_object(type))
			convert_key(
				convert, pointer, CONVERT_UNKNOWN, NULL, "it should be a mapping");
		else if ((!is_head || has_workers(type)) && !convert_is_full(convert, pointer))
			add_pool(convert, name, type, pointer);
	}
}

/* Files of before Ray 1.3 have the machines of the head and of the workers in one mapping each; Ray
 * made types of them, with the cluster's min_workers and max_workers. */
static bool is_legacy(const json_t *root)
{
	return !json_object_get(root, "available_node_types") &&
	       (json_object_get(root, "head_node") || json_object_get(root, "worker_nodes"));
}

static void add_legacy(Convert *convert, const char *key, bool is_head)
{
	json_t *root = convert->document->value;
	json_t *value = json_object_get(root, key);
	g_autofree char *pointer = rg_json_pointer_add("", key);
	ConvertNode *node =
		convert_node_new(convert, is_head ? "head" : "workers", is_head, value, pointer);
	if (value && !json_is_object(value))
		convert_key(convert, pointer, CONVERT_UNKNOWN, NULL, "it should be a mapping");
	if (is_head)
		return;
	g_hash_table_add(convert->names, g_strdup(node->name));
	static const struct {
		const char *key, *which;
	} counts[] = {{"min_workers", "min"}, {"max_workers", "max"}};
	for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
		const json_t *given = json_object_get(root, counts[i].key);
		g_autofree char *at = rg_json_pointer_add("", counts[i].key);
		const ConvertAt count = {at, "", rg_json_unconst(given), node, NULL};
		if (given)
			convert_count(convert, &count, given, counts[i].which);
	}
}

static void walk_legacy(Convert *convert, json_t *root)
{
	static const char *const mine[] = {
		"cluster_name", "head_node", "worker_nodes", "min_workers", "max_workers", NULL};
	add_legacy(convert, "head_node", true);
	if (json_object_get(root, "worker_nodes"))
		add_legacy(convert, "worker_nodes", false);
	const ConvertAt at = {"", "", root, NULL, NULL};
	convert_walk(convert, &at, mine);
	rg_ptr_foreach (ConvertNode, node, convert->nodes) {
		const ConvertAt machine = {
			node->pointer, "node/node_config", node->value, node, NULL};
		if (json_is_object(node->value))
			convert_visit(convert, &machine);
	}
}

/* Machines that are there, by their addresses or by a server that hands them out, and without types
 * of nodes. The file does not say what they have. */
static bool has_machines(const json_t *root)
{
	const json_t *provider = json_object_get(root, "provider");
	return (json_object_get(provider, "worker_ips") ||
		       json_object_get(provider, "coordinator_address")) &&
	       !json_object_size(json_object_get(root, "available_node_types")) &&
	       !json_object_size(json_object_get(root, "head_node")) &&
	       !json_object_size(json_object_get(root, "worker_nodes"));
}

static json_int_t count_texts(const json_t *list)
{
	json_int_t n = 0;
	rg_json_foreach (item, list) {
		g_autofree char *text = convert_scalar(item);
		n += text != NULL;
	}
	return n;
}

/* The file's number, or `otherwise`, but at most `most`, which is returned. */
static json_int_t count_machines(Convert *convert, ConvertNode *workers, const char *which,
	json_int_t otherwise, json_int_t most)
{
	g_autofree char *key = g_strconcat(which, "_workers", NULL);
	g_autofree char *pointer = rg_json_pointer_add("", key);
	json_t *given = json_object_get(convert->document->value, key);
	json_int_t number = json_is_integer(given) ? json_integer_value(given) : otherwise;
	json_auto_t *capped = json_integer(MIN(number, most));
	if (given && number > most)
		convert_key(convert, pointer, CONVERT_CHANGED, "nodes",
			"Ray starts at most one worker on each address, and max_workers of them");
	const ConvertAt at = {given ? pointer : workers->pointer, "", NULL, workers, NULL};
	convert_count(convert, &at, !given || json_is_integer(given) ? capped : given, which);
	return json_integer_value(capped);
}

/* How many workers: python/ray/autoscaler/_private/local/config.py, prepare_manual and
 * prepare_coordinator. */
static void walk_machines(Convert *convert, json_t *root)
{
	static const char *const mine[] = {"cluster_name", "min_workers", "max_workers", NULL};
	const json_t *provider = json_object_get(root, "provider");
	bool served = json_object_get(provider, "coordinator_address") != NULL;
	json_int_t n = served ? RG_CAP_NODES : count_texts(json_object_get(provider, "worker_ips"));
	convert_node_new(convert, "head", true, NULL, "");
	if (n > 0) {
		g_hash_table_add(convert->names, g_strdup("workers"));
		ConvertNode *workers = convert_node_new(convert, "workers", false, NULL,
			served ? "/provider/coordinator_address" : "/provider/worker_ips");
		json_int_t most = count_machines(convert, workers, "max", n, n);
		count_machines(convert, workers, "min", served ? 0 : n, most);
	}
	convert_key(convert, "/provider", CONVERT_LOST, NULL,
		"the file does not say which GPUs the machines have, and Ray finds them; a spec "
		"says which");
	const ConvertAt at = {"", "", root, NULL, NULL};
	convert_walk(convert, &at, mine);
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
			head && json_object_get(types, head) ? CONVERT_DONE : CONVERT_LOST, "head",
			head && json_object_get(types, head)
				? NULL
				: "available_node_types does not have this type");
	else if (!head && json_object_size(types))
		convert_key(convert, "/available_node_types", CONVERT_LOST, NULL,
			"the file does not say which type is the head's: it has no head_node_type");
	return head && json_object_get(types, head) ? head : NULL;
}

static void walk_types(Convert *convert, json_t *root)
{
	static const char *const mine[] = {
		"cluster_name", "head_node_type", "available_node_types", NULL};
	json_t *types = json_object_get(root, "available_node_types");
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
}

bool convert_launcher(Convert *convert)
{
	json_t *root = convert->document->value;
	put_name(convert);
	convert->autoscales = true;
	json_object_set_new(convert->spec, "provider",
		json_pack("{s:s}", "name", convert->module ? convert->module : convert->form));
	convert_say(convert, "/provider/name", convert_comment(convert, "/provider/type"));
	convert_key(convert, "/provider/type", CONVERT_DONE, "provider.name", NULL);
	if (has_machines(root))
		walk_machines(convert, root);
	else if (is_legacy(root))
		walk_legacy(convert, root);
	else
		walk_types(convert, root);
	return true;
}
