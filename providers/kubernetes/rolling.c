/* Replaces pods that run an old template: KubeRay itself changes only new pods. A pod is deleted by
 * its uid, and KubeRay starts another. Its preStop hook drains its Ray node first (pod.c). */
#include "kubernetes/calls.h"
#include "kubernetes/pods.h"

static int64_t wanted_of(const json_t *cluster, const char *group)
{
	size_t index;
	const json_t *found = kube_group_find(cluster, group, &index);
	int64_t hosts = MAX(1, mod_int(found, "numOfHosts"));
	return g_str_equal(group, KUBE_HEAD_GROUP) ? 1 : mod_int(found, "replicas") * hosts;
}

static rgp_status delete_pod(
	const KubeCall *call, const json_t *cluster, const json_t *pod, ModFailure *failure)
{
	const char *space = mod_str(json_object_get(cluster, "metadata"), "namespace");
	g_autofree char *url = kube_url(call, &kube_pods, space, mod_str(pod, "name"), NULL);
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = kube_delete(call, "Pod.delete", url, mod_str(pod, "uid"), &answer);
	bool gone = answer.failure.class_ == RGP_CLASS_GONE ||
		    !g_strcmp0(answer.failure.code, "Conflict"); /* another pod has the name */
	if (!gone)
		mod_failure_copy(failure, &answer.failure);
	return status;
}

rgp_status kube_roll(const KubeCall *call, const json_t *cluster, const json_t *pods,
	const char *group, int64_t unavailable, bool *done, ModFailure *failure)
{
	const json_t *outdated = kube_pods_outdated(pods, group);
	int64_t missing = wanted_of(cluster, group) - kube_pods_count(pods, group, "ready");
	int64_t may = unavailable - MAX(missing, 0);
	rgp_status status = RGP_OK;
	*done = json_array_size(outdated) == 0;
	mod_foreach (pod, outdated) {
		bool ready = json_is_true(json_object_get(pod, "ready"));
		if (status != RGP_OK || failure->class_ != RGP_CLASS_OK || (ready && may-- <= 0))
			continue;
		status = delete_pod(call, cluster, pod, failure);
	}
	return status;
}
