/* remove: by uid, in the background. */
#include "kubernetes/calls.h"
#include "kubernetes/gpu_nodes.h"
#include "kubernetes/pods.h"

static char *join(const json_t *texts)
{
	g_autoptr(GString) all = g_string_new(NULL);
	mod_foreach (text, texts)
		if (json_is_string(text))
			g_string_append_printf(
				all, "%s%s", all->len ? ", " : "", json_string_value(text));
	return g_strdup(all->str);
}

/* The object is still there: a finalizer holds it. */
static rgp_status give_held(const KubeCall *call, const json_t *item, const json_t *object)
{
	g_autofree char *names = join(mod_at(object, "/metadata/finalizers"));
	g_auto(ModRestAnswer) why = {0};
	mod_failure_set(&why.failure, RGP_CLASS_TRANSIENT, "Finalizer",
		"it is marked as deleted, but the finalizer %s holds it: check its controller",
		names);
	return mod_give_pending(
		&call->talk, mod_str(item, "address"), mod_str(item, "id"), &why.failure);
}

static rgp_status give_gone(const KubeCall *call, const json_t *item)
{
	return mod_give_item(
		&call->talk, mod_str(item, "address"), "done", mod_str(item, "id"), NULL);
}

/* The name is free for the new one only when its pods have ended: they have its labels. */
static rgp_status wait_for_pods(const KubeCall *call, const json_t *item, const KubeId *id)
{
	json_auto_t *cluster =
		json_pack("{s:{s:s, s:s}}", "metadata", "name", id->name, "namespace", id->space);
	json_t *pods = NULL;
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = kube_pods_read(call, cluster, &pods, &answer.failure);
	json_auto_t *owned = pods;
	if (status != RGP_OK || !json_object_size(owned))
		return status == RGP_OK ? give_gone(call, item) : status;
	mod_failure_set(&answer.failure, RGP_CLASS_TRANSIENT, NULL, "its pods have not ended");
	return mod_give_pending(
		&call->talk, mod_str(item, "address"), mod_str(item, "id"), &answer.failure);
}

static void explain_conflict(const json_t *item, ModFailure *failure)
{
	if (g_strcmp0(failure->code, "Conflict"))
		return;
	mod_failure_set(failure, RGP_CLASS_CONFLICT, "Conflict",
		"%s was deleted and created again by others, so it was not deleted",
		mod_str(item, "id"));
	failure->definite = true;
	failure->hint = "`raygpu plan` compares it with the spec; `raygpu state rm` forgets it";
}

static rgp_status remove_one(
	const KubeCall *call, const json_t *input, const char *kind, const json_t *item)
{
	KubeApi api;
	if (g_str_equal(kind, KUBE_GPU_NODES))
		return kube_gpu_nodes_remove(call, item);
	if (kube_api_of(call, kind, &api) != RGP_OK)
		return RGP_FAIL;
	g_auto(KubeId) id = kube_id_parse(&api, mod_str(item, "id"));
	const char *uid = mod_str(json_object_get(item, "recorded"), "uid");
	bool waits = g_str_equal(kind, KUBE_RAY_CLUSTER) &&
		     json_is_true(json_object_get(item, "replaced"));
	g_autofree char *url = kube_url(call, &api, id.space, id.name, NULL);
	g_autofree char *what = kube_what(kind, "delete");
	g_auto(ModRestAnswer) answer = {0};
	if (!*id.name) /* it would be the collection's URL */
		return give_gone(call, item);
	if (g_str_equal(kind, KUBE_RAY_CLUSTER))
		kube_seen_forget(call, &id);
	rgp_status status = kube_delete(call, what, url, uid, &answer);
	if (status != RGP_OK)
		return status;
	kube_explain_missing(&api, &answer.failure);
	bool gone = answer.failure.class_ == RGP_CLASS_GONE ||
		    !g_strcmp0(answer.failure.code, "NoSuchApi") ||
		    !g_strcmp0(answer.failure.code, "NamespaceNotFound");
	if (!gone && answer.failure.class_ != RGP_CLASS_OK) {
		explain_conflict(item, &answer.failure);
		return kube_give(call, item, mod_str(item, "id"), NULL, &answer.failure);
	}
	if (!gone && json_array_size(mod_at(answer.body, "/metadata/finalizers")))
		return give_held(call, item, answer.body);
	return waits ? wait_for_pods(call, item, &id) : give_gone(call, item);
}

rgp_status kube_remove(const KubeCall *call, const json_t *input)
{
	return kube_each(call, input, kube_groups_remove, remove_one);
}
