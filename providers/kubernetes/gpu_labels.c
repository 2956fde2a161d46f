/* Labels of GPU nodes:
 * docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html and
 * gpu-sharing.html. Pure. */
#include "kubernetes/gpu_nodes.h"

#define SHOWN 8 /* nodes in a text */
#define DONE "success"

static const json_t *labels_of(const json_t *node)
{
	return mod_at(node, "/metadata/labels");
}

char *kube_selector_text(const json_t *map)
{
	g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func(g_free);
	mod_foreach_member (key, value, map)
		g_ptr_array_add(parts, g_strconcat(key, "=", json_string_value(value), NULL));
	g_ptr_array_sort(parts, mod_compare_texts);
	g_ptr_array_add(parts, NULL);
	return g_strjoinv(",", (char **)parts->pdata);
}

json_t *kube_selector_map(const char *text)
{
	json_t *map = json_object();
	g_auto(GStrv) parts = g_strsplit(text, ",", -1);
	for (char **part = parts; *part; part++) {
		g_auto(GStrv) both = g_strsplit(*part, "=", 2);
		if (both[0] && both[1])
			json_object_set_new(map, both[0], json_string(both[1]));
	}
	return map;
}

static const char *value_or_none(const json_t *node, const char *label)
{
	const char *value = mod_str(labels_of(node), label);
	return *value ? value : "none";
}

/* "gpu-1: failed, gpu-2: none" of the nodes whose value is not `but`; g_free. */
static char *by_node(const json_t *nodes, const char *label, const char *but)
{
	g_autoptr(GString) text = g_string_new(NULL);
	size_t shown = 0, more = 0;
	mod_foreach (node, nodes) {
		const char *value = value_or_none(node, label);
		if (but && g_str_equal(value, but))
			continue;
		if (shown++ < SHOWN)
			g_string_append_printf(
				text, "%s%s: %s", text->len ? ", " : "", kube_name_of(node), value);
		else
			more++;
	}
	if (more)
		g_string_append_printf(text, " and %zu more", more);
	return g_strdup(text->str);
}

/* NULL: no node has the label. */
static json_t *shared_value(const json_t *nodes, const char *label)
{
	const char *first = value_or_none(json_array_get(nodes, 0), label);
	mod_foreach (node, nodes)
		if (!g_str_equal(value_or_none(node, label), first)) {
			g_autofree char *each = by_node(nodes, label, NULL);
			return json_string(each);
		}
	return g_str_equal(first, "none") ? NULL : json_string(first);
}

json_t *kube_gpu_labels_of(const json_t *nodes, const char *selector)
{
	static const char *const names[] = {KUBE_MIG_CONFIG, KUBE_PLUGIN_CONFIG};
	json_t *labels = json_object(), *cut = json_array();
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		json_t *value = shared_value(nodes, names[i]);
		if (value)
			json_object_set_new(labels, names[i], value);
	}
	mod_foreach (node, nodes)
		if (*mod_str(labels_of(node), KUBE_MIG_CONFIG))
			json_array_append(cut, node);
	g_autofree char *state = by_node(cut, KUBE_MIG_STATE, DONE);
	json_decref(cut);
	return json_pack("{s:o, s:o, s:s}", "selector", kube_selector_map(selector), "node_labels",
		labels, "mig_state", *state ? state : DONE);
}

char *kube_gpu_labels_wrong(const json_t *node, const json_t *wanted, bool *failed)
{
	const char *state = value_or_none(node, KUBE_MIG_STATE);
	*failed = false;
	mod_foreach_member (label, value, wanted)
		if (!g_str_equal(value_or_none(node, label), json_string_value(value)))
			return g_strdup_printf("%s: the label %s is %s, not %s", kube_name_of(node),
				label, value_or_none(node, label), json_string_value(value));
	if (!json_object_get(wanted, KUBE_MIG_CONFIG) || g_str_equal(state, DONE))
		return NULL;
	*failed = g_str_equal(state, "failed");
	return g_strdup_printf("%s: " KUBE_MIG_STATE " is %s", kube_name_of(node), state);
}

json_t *kube_gpu_labels_patch(const json_t *node, const json_t *wanted)
{
	json_t *patch = json_deep_copy(wanted);
	const char *config = mod_str(wanted, KUBE_MIG_CONFIG);
	if (*config && !g_str_equal(config, mod_str(labels_of(node), KUBE_MIG_CONFIG)))
		json_object_set_new(patch, KUBE_MIG_STATE, json_null());
	return patch;
}
