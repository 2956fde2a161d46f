/* ready: a pool is done when its pods are ready (ready_pods.c), or when its cluster waits in a
 * queue. */
#include <string.h>
#include "kubernetes/calls.h"
#include "kubernetes/gpu_nodes.h"
#include "kubernetes/pods.h"

/* ---- Kueue */

typedef struct {
	const char *uid; /* of the RayCluster */
	json_t *found;
} Search;

static rgp_status on_workloads(void *data, const json_t *items)
{
	Search *search = data;
	size_t i, n;
	json_t *workload;
	const json_t *owner;
	json_array_foreach (items, i, workload)
		json_array_foreach (mod_at(workload, "/metadata/ownerReferences"), n, owner)
			if (!search->found && g_str_equal(mod_str(owner, "uid"), search->uid))
				search->found = json_incref(workload);
	return RGP_OK;
}

/* A Workload with quota has no condition Admitted until all of its admission checks are ready.
 * g_free; NULL: it waits for none. */
static char *check_reason(const json_t *workload)
{
	size_t i;
	const json_t *check;
	json_array_foreach (mod_at(workload, "/status/admissionChecks"), i, check) {
		const char *message = mod_str(check, "message");
		if (!g_str_equal(mod_str(check, "state"), "Ready"))
			return g_strdup_printf(": the admission check %s is %s%s%s",
				mod_str(check, "name"), mod_str(check, "state"),
				*message ? ": " : "", message);
	}
	return NULL;
}

/* What the RayCluster's Workload waits for, g_free; "" if the credentials may not list Workloads;
 * NULL: Kueue has not looked at it yet, or is just starting it. */
static char *queue_reason(const KubeCall *call, const json_t *cluster)
{
	const json_t *versions = kube_versions(call, "kueue.x-k8s.io");
	const char *version = json_string_value(json_array_get(versions, 0));
	const KubeApi workloads = {
		"kueue.x-k8s.io", version ? version : "v1beta1", "workloads", true};
	const char *space = mod_str(json_object_get(cluster, "metadata"), "namespace");
	g_autofree char *url = kube_url(call, &workloads, space, NULL, "pretty=false");
	Search search = {.uid = kube_uid_of(cluster)};
	g_auto(ModRestAnswer) answer = {0};
	if (!version || kube_pages(call, "Workload.list", url, false, on_workloads, &search,
				&answer.failure) != RGP_OK)
		return g_strdup("");
	json_auto_t *workload = search.found;
	const json_t *reserved = kube_condition(workload, "QuotaReserved");
	const json_t *admitted = kube_condition(workload, "Admitted");
	const char *reason =
		mod_str(reserved && !kube_is_true(reserved) ? reserved : admitted, "message");
	if (answer.failure.class_ != RGP_CLASS_OK)
		return g_strdup("");
	if (kube_is_true(admitted))
		return NULL;
	return *reason ? g_strconcat(": ", reason, NULL) : check_reason(workload);
}

/* Waiting in a queue is not a failure: the item is done, and a note says what it waits for. */
static rgp_status give_queued(
	const KubeCall *call, const json_t *item, const json_t *cluster, bool head)
{
	const char *queue = mod_str(mod_at(cluster, "/metadata/labels"), KUBE_QUEUE_LABEL);
	g_autofree char *reason = head ? queue_reason(call, cluster) : g_strdup("");
	if (!reason)
		return kube_ready_pending(
			call, item, "Kueue has not decided yet in the queue %s", queue);
	g_autofree char *summary =
		g_strdup_printf("%s waits in the queue %s%s", kube_name_of(cluster), queue, reason);
	const struct rgp_diag diag = {.size = sizeof diag,
		.severity = 2,
		.summary = summary,
		.hint = "Kueue starts it when its turn comes; `raygpu plan` shows its state",
		.address = mod_str(item, "address")};
	if (head)
		call->talk.host->diag(call->talk.call, &diag);
	return mod_give_item(
		&call->talk, mod_str(item, "address"), "done", mod_str(item, "id"), NULL);
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
	const json_t *item;
	KubeApi api;
	Look look = {0};
	size_t i;
	bool labels = g_str_equal(kind, KUBE_GPU_NODES);
	rgp_status status = labels ? RGP_OK : kube_api_of(call, kind, &api);
	json_array_foreach (json_object_get(input, "items"), i, item) {
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
