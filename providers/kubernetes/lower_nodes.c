/* Nodes whose GPUs raygpu configures by labels: only with manage_nodes, and only those that the
 * spec names, because nobody can use a node's GPUs while they are cut again. */
#include "kubernetes/gpu_nodes.h"
#include "kubernetes/lower.h"

/* "all-1g.5gb" of nvidia-mig-parted's own configurations; with several profiles only the user knows
 * its name. g_free; NULL after a refusal. */
static char *mig_config_of(KubeLowering *lowering, const json_t *node)
{
	const char *own = mod_str(kube_lower_pod_settings(lowering, node), "mig_config");
	const json_t *slices = kube_lower_slices(node);
	const char *first = mod_str(json_array_get(slices, 0), "profile");
	if (*own)
		return g_strdup(own);
	mod_foreach (slice, slices)
		if (!g_str_equal(mod_str(slice, "profile"), first)) {
			kube_lower_refuse_field(lowering, node, "/share/mig",
				"give its name in provider.mig_config of the pool",
				"the MIG manager's configuration of several profiles is not known");
			return NULL;
		}
	return g_strdelimit(g_strconcat("all-", first, NULL), "+", '.');
}

static json_t *labels_of(KubeLowering *lowering, const json_t *node)
{
	const char *plugin =
		mod_str(kube_lower_pod_settings(lowering, node), "device_plugin_config");
	g_autofree char *config = kube_lower_slices(node) ? mig_config_of(lowering, node) : NULL;
	json_t *labels = json_object();
	if (config)
		json_object_set_new(labels, KUBE_MIG_CONFIG, json_string(config));
	if (*plugin)
		json_object_set_new(labels, KUBE_PLUGIN_CONFIG, json_string(plugin));
	return labels;
}

static json_t *selector_of(KubeLowering *lowering, const json_t *node)
{
	json_t *own = json_object_get(kube_lower_pod_settings(lowering, node), "node_selector");
	json_t *selector = json_copy(kube_lower_setting(lowering, "node_selector"));
	if (!own)
		kube_lower_refuse(lowering, "/provider/manage_nodes",
			"give labels of them in provider.node_selector of the pool",
			"raygpu configures the GPUs only of nodes that the spec names, and those "
			"of the pool %s are not",
			mod_str(node, "pool"));
	if (!selector)
		selector = json_object();
	json_object_update(selector, own);
	return selector;
}

static bool is_known(const KubeLowering *lowering, const json_t *selector)
{
	mod_foreach (resource, lowering->resources)
		if (json_equal(json_object_get(json_object_get(resource, "attributes"), "selector"),
			    selector))
			return true;
	return false;
}

static void add_nodes(KubeLowering *lowering, const json_t *node, json_t *depends_on)
{
	const char *pool = mod_str(node, "pool");
	g_autofree char *address = g_strconcat(KUBE_GPU_NODES ".", pool, NULL);
	json_auto_t *labels = labels_of(lowering, node);
	if (!json_object_size(labels))
		return;
	json_auto_t *selector = selector_of(lowering, node);
	if (is_known(lowering, selector))
		kube_lower_refuse_field(lowering, node, "",
			"give each its own labels in provider.node_selector of the pool",
			"the nodes of the pool %s are those of another pool", pool);
	json_array_append_new(depends_on, json_string(address));
	kube_lower_add(lowering, &(KubeWanted){.kind = KUBE_GPU_NODES,
					 .name = pool,
					 .origin = mod_str(node, "origin"),
					 .group = pool,
					 .attributes = json_pack("{s:O, s:O}", "selector", selector,
						 "node_labels", labels)});
}

/* A setting that has no effect is a mistake. */
static void check_unmanaged(KubeLowering *lowering, const json_t *node)
{
	static const char *const names[] = {"mig_config", "device_plugin_config"};
	const json_t *settings = kube_lower_pod_settings(lowering, node);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *origin = kube_lower_pod_origin(node, names[i]);
		if (json_object_get(settings, names[i]))
			kube_lower_refuse(lowering, origin, "set provider.manage_nodes: true",
				"%s is a label of nodes, which raygpu leaves alone without "
				"provider.manage_nodes",
				names[i]);
	}
}

void kube_lower_gpu_nodes(KubeLowering *lowering, json_t *depends_on)
{
	bool managed = json_is_true(kube_lower_setting(lowering, "manage_nodes"));
	if (managed && g_str_has_prefix(kube_lower_gpu_label(lowering), "cloud.google.com/"))
		kube_lower_refuse(lowering, "/provider/manage_nodes", "remove it",
			"Google Kubernetes Engine configures the GPUs of its node pools itself");
	mod_foreach (node, json_object_get(lowering->fitted, "nodes")) {
		if (managed)
			add_nodes(lowering, node, depends_on);
		else
			check_unmanaged(lowering, node);
	}
}
