/* The calls of the host, for any kind; provider.c looks them up. */
#pragma once
#include "kubernetes/objects.h"

rgp_status kube_account(const KubeCall *call, const json_t *input);
rgp_status kube_resolve(const KubeCall *call, const json_t *input);
rgp_status kube_list(const KubeCall *call, const json_t *input);
rgp_status kube_find(const KubeCall *call, const json_t *input);
rgp_status kube_create(const KubeCall *call, const json_t *input);
rgp_status kube_update(const KubeCall *call, const json_t *input);
rgp_status kube_remove(const KubeCall *call, const json_t *input);
rgp_status kube_console(const KubeCall *call, const json_t *input);
rgp_status kube_ready(const KubeCall *call, const json_t *input);
rgp_status kube_reveal(const KubeCall *call, const json_t *input);
rgp_status kube_preflight(const KubeCall *call, const json_t *input);
rgp_status kube_health(const KubeCall *call, const json_t *input);
rgp_status kube_permissions(const KubeCall *call, const json_t *input);

/* ---- between their files */

/* ready_pods.c: whether the pods of a group are ready, for an item of `ready`. */
rgp_status kube_ready_pods(const KubeCall *call, const json_t *item, const json_t *cluster,
	const json_t *pods, const char *group);
/* The item waits for what the text says. */
rgp_status kube_ready_pending(const KubeCall *call, const json_t *item, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
/* Of an object's status, borrowed; NULL: none. */
const json_t *kube_condition(const json_t *object, const char *type);
bool kube_is_true(const json_t *condition);
/* What a RayCluster in a queue of Kueue waits for; g_free. One list. NULL: Kueue has not looked at
 * it yet, or is just starting it. */
char *kube_queued_where(const KubeCall *call, const json_t *cluster);

/* The items of a call: all worker groups in one call (`groups` NULL: not these), others one by one
 * until a call of the host fails. */
typedef rgp_status (*KubeGroupsFn)(const KubeCall *call, const json_t *items);
typedef rgp_status (*KubeOneFn)(
	const KubeCall *call, const json_t *input, const char *kind, const json_t *item);
rgp_status kube_each(const KubeCall *call, const json_t *input, KubeGroupsFn groups, KubeOneFn one);

/* Worker groups (groups.c): items of one kind of call, which belong to RayClusters. */
rgp_status kube_groups_create(const KubeCall *call, const json_t *input);
rgp_status kube_groups_update(const KubeCall *call, const json_t *items);
rgp_status kube_groups_remove(const KubeCall *call, const json_t *items);

/* rolling.c: deletes pods that run an old template: those that are not ready, and so many others
 * that `unavailable` of the group are missing. *done: none is left. A fault is in `failure`, with
 * RGP_OK. */
rgp_status kube_roll(const KubeCall *call, const json_t *cluster, const json_t *pods,
	const char *group, int64_t unavailable, bool *done, ModFailure *failure);
