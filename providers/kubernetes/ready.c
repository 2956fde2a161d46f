/* ready: a pool is done when its pods are ready (ready_pods.c), or when its cluster waits in a
 * queue. */
#include <string.h>
#include "kubernetes/calls.h"
#include "kubernetes/gpu_nodes.h"
#include "kubernetes/pods.h"

/* Groups are of their cluster, which says what it waits for. */
static rgp_status give_queued(
	const KubeCall *call, const json_t *item, const json_t *cluster, bool head)
{
	const char *address = mod_str(item, "address");
	if (!head)
		return mod_give_item(&call->talk, address, "done", mod_str(item, "id"), NULL);
	g_autofree char *where = kube_queued_where(call, cluster);
	if (!where)
		return kube_ready_pending(call, item, "Kueue has not decided yet in the queue %s",
			mod_str(mod_at(cluster, "/metadata/labels"), KUBE_QUEUE_LABEL));
	return mod_give(&call->talk, "item",
		json_pack("{s:s, s:s, s:s, s:s}", "address", address, "outcome", "queued", "id",
			mod_str(item, "id"), "message", where));
}

/* ---- items */

typedef struct {
	char *name; /* "NAMESPACE/NAME" */
	json_t *cluster, *pods;
} Look;

static void look_clear(Look *look)
{
	g_free(look->name);
	json_decref(look->cluster);
	json_decref(look->pods);
	*look = (Look){0};
}

/* Reads a RayCluster and its pods, unless the last item was of the same. */
static rgp_status look_at(
	const KubeCall *call, const KubeApi *api, const KubeId *id, Look *look, ModFailure *failure)
{
	g_autofree char *name = g_strconcat(id->space ? id->space : "", "/", id->name, NULL);
	if (!g_strcmp0(look->name, name))
		return RGP_OK;
	look_clear(look);
	rgp_status status = kube_get(call, KUBE_RAY_CLUSTER, api, id, &look->cluster, failure);
	if (status == RGP_OK && !look->cluster && failure->class_ == RGP_CLASS_OK)
		mod_failure_set(failure, RGP_CLASS_GONE, NULL, "there is no RayCluster %s", name);
	if (status == RGP_OK && look->cluster)
		status = kube_pods_read(call, look->cluster, &look->pods, failure);
	if (status == RGP_OK && failure->class_ == RGP_CLASS_OK)
		look->name = g_steal_pointer(&name);
	return status;
}

static rgp_status ready_one(
	const KubeCall *call, const char *kind, const KubeApi *api, const json_t *item, Look *look)
{
	g_auto(KubeId) id = kube_id_parse(api, mod_str(item, "id"));
	bool head = g_str_equal(kind, KUBE_RAY_CLUSTER);
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = look_at(call, api, &id, look, &answer.failure);
	if (status != RGP_OK)
		return status;
	if (answer.failure.class_ != RGP_CLASS_OK)
		return mod_give_failed(
			&call->talk, mod_str(item, "address"), NULL, &answer.failure);
	if (kube_is_queued(look->cluster))
		return give_queued(call, item, look->cluster, head);
	return kube_ready_pods(
		call, item, look->cluster, look->pods, head ? KUBE_HEAD_GROUP : id.group);
}

rgp_status kube_ready(const KubeCall *call, const json_t *input)
{
	const char *kind = mod_str(input, "kind");
	bool pods = g_str_equal(kind, KUBE_RAY_CLUSTER) || g_str_equal(kind, KUBE_WORKER_GROUP);
	bool waits = pods && !json_is_true(json_object_get(input, "no_wait"));
	KubeApi api;
	Look look = {0};
	bool labels = g_str_equal(kind, KUBE_GPU_NODES);
	rgp_status status = labels ? RGP_OK : kube_api_of(call, kind, &api);
	mod_foreach (item, json_object_get(input, "items")) {
		if (status == RGP_OK && labels) {
			status = kube_gpu_nodes_ready(call, item);
			continue;
		}
		if (status == RGP_OK && waits)
			status = ready_one(call, kind, &api, item, &look);
		else if (status == RGP_OK)
			status = mod_give_item(&call->talk, mod_str(item, "address"), "done",
				mod_str(item, "id"), NULL);
	}
	look_clear(&look);
	return status;
}
