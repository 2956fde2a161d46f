/* The pods of a RayCluster: how many run, which run an old template, and why others do not. */
#pragma once
#include "kubernetes/objects.h"

#define KUBE_HEAD_GROUP "headgroup" /* KubeRay's name of the head's group */

#define KUBE_SCHEDULING_S 300 /* until a pod without a node is reported, by default */

/* {group: {"total", "running", "ready", "leaving": numbers, "outdated": [{"name", "uid", "ready"}],
 * "names": [...], "nodes": {name: pods of it}, "why": {"class": RGP_CLASS_*, "code", "message",
 * "pod", "since": a time stamp, "patience_s": after which waiting does not help, -1: it may,
 * "final": it is 0}, if a pod has a fault}}. One list, 500 pods a page. A new reference; NULL with
 * RGP_OK: `failure`. */
rgp_status kube_pods_read(
	const KubeCall *call, const json_t *cluster, json_t **groups, ModFailure *failure);
/* A number of a group; 0 if it has no pods. */
int64_t kube_pods_count(const json_t *groups, const char *group, const char *name);
/* Borrowed. */
const json_t *kube_pods_outdated(const json_t *groups, const char *group);
/* "3 of 8 pods run the old template", or KUBE_ROLLED; g_free. */
#define KUBE_ROLLED "complete"
char *kube_pods_rollout(const json_t *groups, const char *group);
/* seen.c: what list read of a RayCluster ("NAMESPACE/NAME"), {"cluster", "pods"}, or create made of
 * it, without pods; get: a new reference, NULL: nothing. */
void kube_seen_put(const KubeCall *call, const json_t *cluster, const json_t *pods);
json_t *kube_seen_get(const KubeCall *call, const char *name);
void kube_seen_forget(const KubeCall *call, const KubeId *id);
/* health.c, pure: which of a node's labels is not what the pods of a template need, g_free; NULL:
 * none. */
char *kube_node_fault(const json_t *node, const json_t *pod_template);
/* The code of a pod with nothing wrong in its status: events may say what is. */
#define KUBE_CREATING "ContainerCreating"
#define KUBE_CONFIG_PATIENCE_S 60 /* for what is missing in the namespace, such as a secret */
/* pod_fault.c, pure: why a pod is not ready, as `why`, a new reference; NULL: nothing is known to
 * be wrong. */
json_t *kube_pod_fault(const json_t *pod);
