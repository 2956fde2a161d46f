/* kubernetes.gpu_nodes: the nodes with some labels, and the labels by which the GPU Operator
 * configures their GPUs. Not an object of the API: its id is the selector, "a=b,c=d". */
#pragma once
#include "kubernetes/objects.h"

#define KUBE_MIG_CONFIG "nvidia.com/mig.config"
#define KUBE_MIG_STATE "nvidia.com/mig.config.state"
#define KUBE_PLUGIN_CONFIG "nvidia.com/device-plugin.config"

rgp_status kube_gpu_nodes_list(const KubeCall *call, const json_t *input);
rgp_status kube_gpu_nodes_find(const KubeCall *call, const json_t *input);
rgp_status kube_gpu_nodes_create(const KubeCall *call, const json_t *input);
rgp_status kube_gpu_nodes_update(const KubeCall *call, const json_t *item);
rgp_status kube_gpu_nodes_remove(const KubeCall *call, const json_t *item);
rgp_status kube_gpu_nodes_ready(const KubeCall *call, const json_t *item);
/* The nodes with these labels, a new reference; NULL with RGP_OK: `failure`. */
rgp_status kube_gpu_nodes_read(
	const KubeCall *call, const char *selector, json_t **nodes, ModFailure *failure);

/* Pure (gpu_labels.c). "a=b,c=d" of a map, sorted, g_free; and back, a new reference. */
char *kube_selector_text(const json_t *map);
json_t *kube_selector_map(const char *text);
/* What the nodes show, as attributes: a value that all share, or those of each node. A new
 * reference. */
json_t *kube_gpu_labels_of(const json_t *nodes, const char *selector);
/* Why a node is not configured as requested, g_free; NULL: it is. *failed: the operator gave up. */
char *kube_gpu_labels_wrong(const json_t *node, const json_t *wanted, bool *failed);
/* The labels of a node that a patch sets to configure it. If its MIG configuration changes, also
 * the operator's state, which would otherwise still be that of the old one. A new reference. */
json_t *kube_gpu_labels_patch(const json_t *node, const json_t *wanted);
