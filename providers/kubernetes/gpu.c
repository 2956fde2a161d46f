/* GPUs of pods: the resources that they request, and the nodes that have them. */
#include <string.h>
#include "kubernetes/data.h"
#include "kubernetes/lower.h"

#define GPU "nvidia.com/gpu"
/* NVIDIA's GPU feature discovery; Google Kubernetes Engine sets the other one, and presents MIG
 * slices as nvidia.com/gpu (docs.cloud.google.com/kubernetes-engine/docs/how-to/gpus-multi). */
#define PRODUCT_LABEL "nvidia.com/gpu.product"
#define GKE_LABEL "cloud.google.com/gke-accelerator"

enum { MODEL, PRODUCT, GKE, SOURCE, FIELDS };

char *kube_lower_model(const json_t *node)
{
	const char *shape = mod_str(json_object_get(node, "offer"), "instance_type");
	const char *colon = strrchr(shape, ':');
	return colon ? g_strndup(shape, (gsize)(colon - shape)) : g_strdup(shape);
}

const char *kube_lower_gpu_label(const KubeLowering *lowering)
{
	const char *chosen = json_string_value(kube_lower_setting(lowering, "gpu_label"));
	return chosen ? chosen : PRODUCT_LABEL;
}

static bool is_gke(const KubeLowering *lowering)
{
	return g_str_equal(kube_lower_gpu_label(lowering), GKE_LABEL);
}

const json_t *kube_lower_slices(const json_t *node)
{
	return json_object_get(json_object_get(node, "share"), "mig");
}

/* Every slice is an nvidia.com/gpu. */
static bool is_single(const KubeLowering *lowering)
{
	const char *strategy = json_string_value(kube_lower_setting(lowering, "mig_strategy"));
	return is_gke(lowering) || (strategy && g_str_equal(strategy, "single"));
}

/* The profile that all slices have; NULL: there are several. */
static const char *only_profile(const json_t *node)
{
	const char *first = mod_str(json_array_get(kube_lower_slices(node), 0), "profile");
	mod_foreach (slice, kube_lower_slices(node))
		if (!g_str_equal(mod_str(slice, "profile"), first))
			return NULL;
	return first;
}

/* The row of a model; NULL: it has none. g_strfreev. */
static GStrv row_of(const char *model)
{
	g_autoptr(GPtrArray) rows =
		mod_rows(kube_data_find("gpu_node_labels.csv")->data, FIELDS, FIELDS);
	mod_ptr_foreach (ModField, row, rows)
		if (g_str_equal(row[MODEL], model))
			return g_strdupv(row);
	return NULL;
}

GStrv kube_lower_gpu_values(const KubeLowering *lowering, const json_t *node)
{
	g_autofree char *model = kube_lower_model(node);
	g_auto(GStrv) row = row_of(model);
	bool by_product = g_str_equal(kube_lower_gpu_label(lowering), PRODUCT_LABEL);
	const char *list = !row ? "" : is_gke(lowering) ? row[GKE] : by_product ? row[PRODUCT] : "";
	if (!*list)
		return NULL;
	GStrv values = g_strsplit(list, "|", -1);
	const char *profile = kube_lower_slices(node) ? only_profile(node) : NULL;
	/* as GPU feature discovery writes it with the strategy single */
	for (char **value = values; by_product && profile && is_single(lowering) && *value;
		value++) {
		char *whole = g_strconcat(*value, "-MIG-", profile, NULL);
		g_free(*value);
		*value = whole;
	}
	return values;
}

static void add(json_t *requests, const char *name, json_int_t count)
{
	json_int_t before = json_integer_value(json_object_get(requests, name));
	json_object_set_new(requests, name, json_integer(before + count));
}

/* nvidia.com/mig-1g.5gb, nvidia.com/mig-1g.5gb.me: the device plug-in's names. */
static void add_slices(json_t *requests, const json_t *node, json_int_t gpus)
{
	mod_foreach (slice, kube_lower_slices(node)) {
		g_autofree char *name =
			g_strconcat("nvidia.com/mig-", mod_str(slice, "profile"), NULL);
		add(requests, g_strdelimit(name, "+", '.'), gpus);
	}
}

json_t *kube_lower_gpus(KubeLowering *lowering, const json_t *node)
{
	const char *own = mod_str(kube_lower_pod_settings(lowering, node), "gpu_resource");
	json_int_t gpus = mod_int(json_object_get(node, "offer"), "gpus");
	size_t per_gpu = json_array_size(kube_lower_slices(node));
	json_t *requests = json_object();
	if (gpus == 0)
		return requests;
	if (per_gpu && is_single(lowering) && !only_profile(node))
		kube_lower_refuse_field(lowering, node, "/share/mig", "use slices of one profile",
			"with the MIG strategy single, all slices of a node have one profile");
	if (per_gpu && *own)
		kube_lower_refuse_field(lowering, node, "/share/mig", "remove gpu_resource",
			"the resources of MIG slices follow from provider.mig_strategy");
	if (per_gpu && !is_single(lowering))
		add_slices(requests, node, gpus);
	else
		add(requests, *own ? own : GPU, gpus * (json_int_t)MAX(per_gpu, 1));
	return requests;
}
