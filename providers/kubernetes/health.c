/* health: nodes that pods of a group run on, and whose labels are not what the pods need: driver,
 * MIG, and the labels by which they were chosen, which count only when a pod is scheduled. The
 * labels are of NVIDIA's GPU feature discovery. */
#include <stdlib.h>
#include <string.h>
#include "kubernetes/calls.h"
#include "kubernetes/gpu_nodes.h"
#include "kubernetes/pods.h"

/* "cu121" in an image's tag is CUDA 12.1; 0: it has none. */
static int cuda_of_image(const char *image)
{
	const char *tag = strrchr(image, ':');
	bool is_tag = tag && !strchr(tag, '/'); /* else the registry's port */
	const char *found = is_tag ? strstr(tag, "-cu") : NULL;
	int number = found ? (int)strtol(found + 3, NULL, 10) : 0;
	return number >= 100 ? number / 10 : 0;
}

/* The major version of CUDA that the node's driver supports; 0: unknown. Newer versions of GPU
 * feature discovery have the first label. */
static int cuda_of_node(const json_t *labels)
{
	const char *full = mod_str(labels, "nvidia.com/cuda.runtime-version.full");
	const char *major = mod_str(labels, "nvidia.com/cuda.runtime.major");
	return (int)strtol(*full ? full : major, NULL, 10);
}

static char *driver_of(const json_t *labels)
{
	const char *full = mod_str(labels, "nvidia.com/cuda.driver-version.full");
	const char *major = mod_str(labels, "nvidia.com/cuda.driver.major");
	if (*full || !*major)
		return g_strdup(*full ? full : "unknown");
	return g_strdup_printf("%s.%s", major, mod_str(labels, "nvidia.com/cuda.driver.minor"));
}

/* Drivers run newer minor versions of their CUDA version, but no newer major version
 * (docs.nvidia.com/deploy/cuda-compatibility). */
static char *driver_fault(const json_t *labels, const json_t *container)
{
	int needs = cuda_of_image(mod_str(container, "image")), has = cuda_of_node(labels);
	if (!needs || !has || has >= needs)
		return NULL;
	g_autofree char *driver = driver_of(labels);
	return g_strdup_printf(
		"has the NVIDIA driver %s, which supports CUDA %d, and the image needs "
		"CUDA %d",
		driver, has, needs);
}

static char *mig_fault(const json_t *labels)
{
	const char *state = mod_str(labels, KUBE_MIG_STATE);
	if (!*mod_str(labels, KUBE_MIG_CONFIG) || !*state || g_str_equal(state, "success"))
		return NULL;
	return g_strdup_printf("has " KUBE_MIG_STATE ": %s", state);
}

static char *label_fault(const json_t *labels, const json_t *selector)
{
	mod_foreach_member (key, value, selector) {
		const char *there = mod_str(labels, key);
		if (strcmp(there, json_string_value(value)))
			return g_strdup_printf("has the label %s: %s, and the pool needs %s", key,
				*there ? there : "none", json_string_value(value));
	}
	return NULL;
}

char *kube_node_fault(const json_t *node, const json_t *pod_template)
{
	const json_t *labels = mod_at(node, "/metadata/labels");
	const json_t *container = mod_at(pod_template, "/spec/containers/0");
	char *fault = label_fault(labels, mod_at(pod_template, "/spec/nodeSelector"));
	if (!fault)
		fault = mig_fault(labels);
	return fault ? fault : driver_fault(labels, container);
}

/* ---- items */

typedef struct {
	const KubeCall *call;
	KubeApi api;
	json_t *nodes; /* by name */
	ModFailure failure;
} Checking;

static rgp_status on_nodes(void *data, const json_t *items)
{
	json_t *nodes = data;
	mod_foreach (node, items)
		json_object_set(nodes, kube_name_of(node), node);
	return RGP_OK;
}

static const json_t *template_of(const json_t *seen, const char *group)
{
	size_t index;
	const json_t *cluster = json_object_get(seen, "cluster");
	return json_object_get(kube_group_find(cluster, group, &index), "template");
}

/* What is wrong with the nodes of a group, g_free; NULL: nothing. */
static char *faults_of(const Checking *checking, const json_t *seen, const char *group)
{
	const json_t *pods = json_object_get(json_object_get(seen, "pods"), group);
	const json_t *pod_template = template_of(seen, group);
	g_autoptr(GString) text = g_string_new(NULL);
	mod_foreach_member (name, count, json_object_get(pods, "nodes")) {
		const json_t *node = json_object_get(checking->nodes, name);
		g_autofree char *fault = node ? kube_node_fault(node, pod_template) : NULL;
		if (fault)
			g_string_append_printf(text, "%sruns on the node %s, which %s",
				text->len ? "; " : "", name, fault);
	}
	return text->len ? g_strdup(text->str) : NULL;
}

static rgp_status check_item(const Checking *checking, const json_t *item)
{
	const char *id = mod_str(item, "id");
	g_auto(KubeId) parsed = kube_id_parse(&checking->api, id);
	g_autofree char *name =
		g_strconcat(parsed.space ? parsed.space : "", "/", parsed.name, NULL);
	json_auto_t *seen = kube_seen_get(checking->call, name);
	g_autofree char *text = parsed.group ? faults_of(checking, seen, parsed.group) : NULL;
	if (!text)
		return RGP_OK;
	return mod_give(&checking->call->talk, "item",
		json_pack("{s:s, s:s, s:s}", "address", mod_str(item, "address"), "outcome", "done",
			"text", text));
}

/* The pods are those that the list of this run showed. */
rgp_status kube_health(const KubeCall *call, const json_t *input)
{
	const char *kind = mod_str(input, "kind");
	json_auto_t *nodes = json_object();
	Checking checking = {.call = call, .nodes = nodes};
	/* heads run on nodes without GPUs */
	if (!g_str_equal(kind, KUBE_WORKER_GROUP))
		return RGP_OK;
	if (kube_api_of(call, kind, &checking.api) != RGP_OK)
		return RGP_FAIL;
	g_autofree char *url = kube_url(call, &kube_nodes, NULL, NULL, "resourceVersion=0");
	rgp_status status =
		kube_pages(call, "Node.list", url, false, on_nodes, nodes, &checking.failure);
	/* who may not list nodes sees nothing of them */
	bool read = status == RGP_OK && checking.failure.class_ == RGP_CLASS_OK;
	mod_foreach (item, json_object_get(input, "items"))
		if (read && status == RGP_OK)
			status = check_item(&checking, item);
	mod_failure_clear(&checking.failure);
	return status;
}
