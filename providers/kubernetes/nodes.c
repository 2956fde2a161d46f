#include "kubernetes/nodes.h"
#include <string.h>
#include "kubernetes/data.h"

#define PRODUCT_LABEL "nvidia.com/gpu.product"
#define GKE_LABEL "cloud.google.com/gke-accelerator"

/* Is it one of the values of a field, "A|B"? GPU feature discovery appends what GPUs are shared by:
 * -SHARED, -MIG-1g.5gb. */
static bool field_has(const char *field, const char *value)
{
	g_auto(GStrv) values = g_strsplit(field, "|", -1);
	for (size_t i = 0; values[i]; i++) {
		size_t len = strlen(values[i]);
		if (!len || strncmp(value, values[i], len))
			continue;
		if (!value[len] || g_str_equal(value + len, "-SHARED") ||
			g_str_has_prefix(value + len, "-MIG-"))
			return true;
	}
	return false;
}

/* The model of a node, "" if the table has none. g_free. */
static char *model_of(const GPtrArray *rows, const json_t *labels)
{
	const char *product = mod_str(labels, PRODUCT_LABEL), *gke = mod_str(labels, GKE_LABEL);
	mod_ptr_foreach (ModField, fields, rows)
		if ((*product && field_has(fields[1], product)) ||
			(*gke && field_has(fields[2], gke)))
			return g_strdup(fields[0]);
	return g_strdup("");
}

/* GPUs, or slices of them. */
static int64_t gpus_of(const json_t *node)
{
	int64_t gpus = 0;
	mod_foreach_member (key, value, mod_at(node, "/status/allocatable"))
		if (json_is_string(value) && (g_str_has_prefix(key, "nvidia.com/gpu") ||
						     g_str_has_prefix(key, "nvidia.com/mig-")))
			gpus += g_ascii_strtoll(json_string_value(value), NULL, 10);
	return gpus;
}

static void count_label(json_t *facts, const json_t *labels, const char *label)
{
	json_t *counts = json_object_get(facts, "labels");
	if (*mod_str(labels, label))
		json_object_set_new(counts, label, json_integer(mod_int(counts, label) + 1));
}

void kube_nodes_count(json_t *facts, const GPtrArray *rows, const json_t *node)
{
	const json_t *labels = mod_at(node, "/metadata/labels");
	json_t *models = json_object_get(facts, "models");
	g_autofree char *model = model_of(rows, labels);
	json_object_set_new(facts, "nodes", json_integer(mod_int(facts, "nodes") + 1));
	count_label(facts, labels, PRODUCT_LABEL);
	count_label(facts, labels, GKE_LABEL);
	if (*model)
		json_object_set_new(
			models, model, json_integer(MAX(mod_int(models, model), gpus_of(node))));
}

static json_t *nothing(void)
{
	return json_pack("{s:{}, s:{}, s:i}", "models", "labels", "nodes", 0);
}

static rgp_status on_nodes(void *data, const json_t *items)
{
	json_t *facts = data;
	g_autoptr(GPtrArray) rows = mod_rows(kube_data_find("gpu_node_labels.csv")->data, 3, 4);
	json_auto_t *empty = nothing();
	if (!items)
		json_object_update(facts, empty);
	mod_foreach (node, items)
		kube_nodes_count(facts, rows, node);
	return RGP_OK;
}

rgp_status kube_nodes_read(const KubeCall *call, json_t **facts, ModFailure *failure)
{
	json_auto_t *read = nothing();
	g_autofree char *url = kube_url(call, &kube_nodes, NULL, NULL, "resourceVersion=0");
	rgp_status status = kube_pages(call, "Node.list", url, false, on_nodes, read, failure);
	*facts = status == RGP_OK && failure->class_ == RGP_CLASS_OK ? json_incref(read) : NULL;
	return status;
}
