/* What the cluster's nodes have: GPU models by their labels (gpu_node_labels.csv), GPUs that pods
 * can get. */
#pragma once
#include "kubernetes/objects.h"

/* {"models": {model: most GPUs of one node}, "labels": {node label: nodes that have it}, "nodes":
 * number}. A new reference; NULL with RGP_OK: `failure`. */
rgp_status kube_nodes_read(const KubeCall *call, json_t **facts, ModFailure *failure);
/* Pure: counts one node; `rows` of gpu_node_labels.csv. */
void kube_nodes_count(json_t *facts, const GPtrArray *rows, const json_t *node);
