/* JSON Patch (RFC 6902) of a RayCluster's worker groups. The list is one atomic value of the
 * server's, which an autoscaler writes too: so only members of its elements are replaced, after a
 * test that the element is still the group. Pure. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

/* Appends the operations that give a group the item's changed attributes. False: the cluster has no
 * such group. */
bool kube_patch_update(json_t *ops, const json_t *cluster, const char *name, const json_t *item);
/* Appends the group. */
void kube_patch_add(json_t *ops, const json_t *cluster, const json_t *group);
/* Appends what takes all pods from the groups with these names (a list of texts): KubeRay leaves
 * the pods of a group that is gone from the list (ray-project/kuberay#1739). */
void kube_patch_empty(json_t *ops, const json_t *cluster, const json_t *names);
/* Appends the removal of these groups, those that are there. */
void kube_patch_remove(json_t *ops, const json_t *cluster, const json_t *names);
