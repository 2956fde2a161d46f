#include "convert/internal.h"

#include <string.h>

/* A manifest: the module's table says where in it the cluster is ("kind/KIND"), and which members
 * of the cluster are the head and the groups of workers ("role/..."). */

static const char *role(const Convert *convert, const char *name)
{
	g_autofree char *path = g_strconcat("role/", name, NULL);
	const ConvertRule *rule = convert_table_find(convert->own, path);
	return rule ? rule->to : "";
}

static void add_groups(Convert *convert, json_t *cluster, const char *pointer)
{
	const char *head = role(convert, "head"), *workers = role(convert, "workers");
	g_autofree char *head_at = rg_json_pointer_add(pointer, head);
	g_autofree char *workers_at = rg_json_pointer_add(pointer, workers);
	json_t *groups = json_object_get(cluster, workers),
	       *head_value = json_object_get(cluster, head);
	convert_node_new(convert, "head", true, head_value, head_value ? head_at : pointer);
	if (head_value && !json_is_object(head_value))
		convert_key(convert, head_at, CONVERT_UNKNOWN, NULL, "it should be a mapping");
	if (groups && !json_array_size(groups))
		convert_key(convert, workers_at,
			json_is_array(groups) ? CONVERT_SAME : CONVERT_UNKNOWN, NULL,
			json_is_array(groups) ? "it is empty" : "it should be a list");
	rg_json_foreach_at (i, group, groups) {
		g_autofree char *at = g_strdup_printf("%s/%zu", workers_at, i);
		if (convert_is_full(convert, at))
			continue;
		const char *given = rg_json_str(group, role(convert, "name"), "workers");
		g_autofree char *name = convert_name(convert, given, "workers");
		g_autofree char *name_at = rg_json_pointer_add(at, role(convert, "name"));
		if (!json_is_object(group)) {
			convert_key(convert, at, CONVERT_UNKNOWN, NULL, "it should be a mapping");
			continue;
		}
		convert_node_new(convert, name, false, group, at);
		bool same = g_str_equal(name, given);
		if (json_object_get(group, role(convert, "name")))
			convert_key(convert, name_at, same ? CONVERT_DONE : CONVERT_CHANGED,
				"pools",
				same ? NULL : "names have lower-case letters, digits and hyphens");
	}
}

static void walk_node(Convert *convert, ConvertNode *node)
{
	const char *const mine[] = {role(convert, "name"), NULL};
	const ConvertAt at = {node->pointer, "node", node->value, node, NULL};
	if (json_is_object(node->value))
		convert_walk(convert, &at, node->is_head ? NULL : mine);
}

static void walk_cluster(Convert *convert, json_t *cluster, const char *pointer)
{
	const char *const mine[] = {role(convert, "head"), role(convert, "workers"), NULL};
	const ConvertAt at = {pointer, "cluster", cluster, NULL, NULL};
	add_groups(convert, cluster, pointer);
	convert_walk(convert, &at, mine);
	for (guint i = 0; i < convert->nodes->len; i++)
		walk_node(convert, convert->nodes->pdata[i]);
}

static void put_manifest_name(Convert *convert)
{
	json_t *meta = json_object_get(convert->document->value, "metadata");
	const char *name = rg_json_str(meta, "name", NULL);
	g_autofree char *plain = convert_cluster_name(name ? name : convert->form);
	const ConvertAt at = {"/metadata/name", "", NULL, NULL, NULL};
	if (name)
		convert_put(convert, "cluster", json_string(plain), &at,
			g_str_equal(plain, name)
				? NULL
				: "names have lower-case letters, digits and hyphens");
	else
		json_object_set_new(convert->spec, "cluster", json_string(plain));
}

/* Members on the way to the cluster have the kind before their path. */
static void walk_to(Convert *convert, json_t *value, const char *pointer, const char *target)
{
	const char *rest = target + strlen(pointer) + 1;
	g_autofree char *step = g_strndup(rest, strcspn(rest, "/"));
	g_autofree char *inner = rg_json_pointer_add(pointer, step);
	const char *const mine[] = {step, NULL};
	g_autofree char *path = g_strconcat(convert->form, pointer, NULL);
	const ConvertAt at = {pointer, *pointer ? path : "", value, NULL, NULL};
	convert_walk(convert, &at, mine);
	json_t *member = json_object_get(value, step);
	if (!json_is_object(member))
		return;
	if (g_str_equal(inner, target))
		walk_cluster(convert, member, inner);
	else
		walk_to(convert, member, inner, target);
}

bool convert_manifest(Convert *convert)
{
	json_t *root = convert->document->value;
	g_autofree char *path = g_strconcat("kind/", convert->form, NULL);
	const ConvertRule *kind = convert_table_find(convert->own, path);
	put_manifest_name(convert);
	json_object_set_new(convert->spec, "provider", json_pack("{s:s}", "name", convert->module));
	walk_to(convert, root, "", kind->to);
	if (convert->nodes->len)
		return true;
	RgDiag *diag = rg_diags_error(convert->diags, "convert.not-a-cluster",
		"this %s describes no cluster: it has no \"%s\"", convert->form, kind->to + 1);
	rg_diag_at(diag, rg_document_source(convert->document, ""));
	return false;
}
