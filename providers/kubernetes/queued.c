/* What a RayCluster in a queue of Kueue waits for. */
#include <string.h>
#include "kubernetes/calls.h"

typedef struct {
	const char *uid; /* of the RayCluster */
	json_t *found;
} Search;

static rgp_status on_workloads(void *data, const json_t *items)
{
	Search *search = data;
	mod_foreach (workload, items)
		mod_foreach (owner, mod_at(workload, "/metadata/ownerReferences"))
			if (!search->found && g_str_equal(mod_str(owner, "uid"), search->uid))
				search->found = json_incref(workload);
	return RGP_OK;
}

/* A Workload with quota has no condition Admitted until all of its admission checks are ready.
 * g_free; NULL: it waits for none. */
static char *check_reason(const json_t *workload)
{
	mod_foreach (check, mod_at(workload, "/status/admissionChecks")) {
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
	bool listed = version && kube_pages(call, "Workload.list", url, false, on_workloads,
					 &search, &answer.failure) == RGP_OK;
	json_auto_t *workload = search.found;
	if (!listed)
		return g_strdup("");
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

char *kube_queued_where(const KubeCall *call, const json_t *cluster)
{
	const char *queue = mod_str(mod_at(cluster, "/metadata/labels"), KUBE_QUEUE_LABEL);
	g_autofree char *reason = queue_reason(call, cluster);
	return reason ? g_strdup_printf(
				"%s waits in the queue %s%s", kube_name_of(cluster), queue, reason)
		      : NULL;
}
