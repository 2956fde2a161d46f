/* When the pods of a group are ready, at its minimum if it is elastic; and why not, for people. */
#include <string.h>
#include "kubernetes/calls.h"
#include "kubernetes/events.h"
#include "kubernetes/pods.h"

#define EVENTS_AFTER_S 15 /* without a node, until the autoscaler's events are asked for */
#define REFUSED_S 60	  /* without a node, once an autoscaler has said that it adds none */

rgp_status kube_ready_pending(const KubeCall *call, const json_t *item, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *message = g_strdup_vprintf(format, args);
	va_end(args);
	const ModFailure why = {.message = message};
	return mod_give_pending(&call->talk, mod_str(item, "address"), mod_str(item, "id"), &why);
}

const json_t *kube_condition(const json_t *object, const char *type)
{
	mod_foreach (condition, mod_at(object, "/status/conditions"))
		if (g_str_equal(mod_str(condition, "type"), type))
			return condition;
	return NULL;
}

bool kube_is_true(const json_t *condition)
{
	return g_str_equal(mod_str(condition, "status"), "True");
}

/* A fault that may pass: "failed" without an id, so that the host looks again until its time is
 * over (raygpu-provider(7)). */
static rgp_status give_fault(
	const KubeCall *call, const json_t *item, bool final, const ModFailure *failure)
{
	return mod_give_failed(
		&call->talk, mod_str(item, "address"), final ? mod_str(item, "id") : NULL, failure);
}

/* ---- the operator */

/* KubeRay could not create a pod; its message has the API server's. */
static rgp_status give_replica_failure(
	const KubeCall *call, const json_t *item, const json_t *condition)
{
	const char *message = mod_str(condition, "message");
	bool quota = strstr(message, "exceeded quota") != NULL;
	g_auto(ModRestAnswer) why = {0};
	mod_failure_set(&why.failure, quota ? RGP_CLASS_QUOTA : RGP_CLASS_UNKNOWN,
		mod_str(condition, "reason"), "KubeRay cannot create pods: %s", message);
	if (quota)
		why.failure.hint = "ask the namespace's owner for a larger ResourceQuota";
	return give_fault(call, item, quota, &why.failure);
}

/* KubeRay does nothing with a RayCluster that it finds invalid, such as one with a field whose
 * feature gate is off: it writes an event and no status (ray-operator/controllers/ray/
 * raycluster_controller.go, utils/constant.go). */
static rgp_status give_untouched(const KubeCall *call, const json_t *item, const json_t *cluster)
{
	static const char *const reasons[] = {"InvalidRayClusterSpec", "InvalidRayClusterMetadata",
		"InvalidRayClusterStatus", NULL};
	const char *space = mod_str(json_object_get(cluster, "metadata"), "namespace");
	json_t *event = NULL;
	rgp_status status = kube_event_last(call, space, kube_name_of(cluster), reasons, &event);
	json_auto_t *owned = event;
	if (status != RGP_OK)
		return status;
	if (!owned)
		return kube_ready_pending(
			call, item, "KubeRay has not looked at %s", kube_name_of(cluster));
	g_auto(ModRestAnswer) why = {0};
	mod_failure_set(&why.failure, RGP_CLASS_INVALID, mod_str(owned, "reason"),
		"KubeRay refuses it: %s", mod_str(owned, "message"));
	why.failure.hint = "change the spec, or what the operator allows: its version, and its "
			   "feature gates";
	return give_fault(call, item, true, &why.failure);
}

/* ---- pods */

static int64_t least_pods(const json_t *cluster, const char *group)
{
	size_t index;
	if (g_str_equal(group, KUBE_HEAD_GROUP))
		return 1;
	const json_t *found = kube_group_find(cluster, group, &index);
	bool elastic = mod_int(found, "minReplicas") != mod_int(found, "maxReplicas");
	return mod_int(found, elastic ? "minReplicas" : "replicas") *
	       MAX(1, mod_int(found, "numOfHosts"));
}

/* What an autoscaler of nodes says about a pod without a node: cluster-autoscaler
 * (kubernetes/autoscaler, the FAQ of its cluster-autoscaler) and Karpenter (Nominated). NULL:
 * nothing. */
static rgp_status ask_autoscaler(
	const KubeCall *call, const json_t *cluster, const json_t *why, json_t **event)
{
	static const char *const reasons[] = {
		"TriggeredScaleUp", "NotTriggerScaleUp", "Nominated", NULL};
	const char *space = mod_str(json_object_get(cluster, "metadata"), "namespace");
	return kube_event_last(call, space, mod_str(why, "pod"), reasons, event);
}

/* How long a pod may be without a node until apply reports it. */
static int64_t patience_of(const KubeCall *call, const json_t *why, const json_t *event)
{
	const json_t *set = json_object_get(call->inst->settings, "scheduling_timeout_s");
	int64_t patience = mod_int(why, "patience_s");
	if (patience == KUBE_SCHEDULING_S && set)
		patience = json_integer_value(set);
	if (event && !g_str_equal(mod_str(event, "reason"), "NotTriggerScaleUp"))
		return -1; /* nodes are on their way */
	return event ? MIN(patience, REFUSED_S) : patience;
}

static rgp_status give_why(const KubeCall *call, const json_t *item, const json_t *cluster,
	const json_t *why, const char *counts)
{
	int64_t waited = call->talk.host->now(call->talk.call) - kube_time(mod_str(why, "since"));
	bool lacks = g_str_equal(mod_str(why, "code"), "Unschedulable");
	json_t *event = NULL;
	rgp_status status = lacks && waited >= EVENTS_AFTER_S
				    ? ask_autoscaler(call, cluster, why, &event)
				    : RGP_OK;
	json_auto_t *owned = event;
	if (status != RGP_OK)
		return status;
	int64_t patience = patience_of(call, why, owned);
	g_auto(ModRestAnswer) fault = {0};
	mod_failure_set(&fault.failure, (int32_t)mod_int(why, "class"), mod_str(why, "code"),
		"%s; %s%s%s", counts, mod_str(why, "message"), owned ? "; " : "",
		mod_str(owned, "message"));
	if (lacks)
		fault.failure.hint =
			"the pods stay, and start when there is a node for them: add nodes, or "
			"change the pool; provider.scheduling_timeout_s says how long apply waits";
	return give_fault(call, item, patience >= 0 && waited >= patience, &fault.failure);
}

/* A pod that has a node, and whose containers do not exist: the kubelet says in events which volume
 * cannot be mounted, or which secret or config map of one is missing (kubernetes/kubernetes,
 * pkg/kubelet/events). */
static rgp_status give_creating(
	const KubeCall *call, const json_t *item, const json_t *why, const char *counts)
{
	static const char *const reasons[] = {
		"FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", NULL};
	int64_t waited = call->talk.host->now(call->talk.call) - kube_time(mod_str(why, "since"));
	json_t *event = NULL;
	rgp_status status = waited >= EVENTS_AFTER_S
				    ? kube_event_last(call, call->inst->config.namespace,
					      mod_str(why, "pod"), reasons, &event)
				    : RGP_OK;
	json_auto_t *owned = event;
	if (status != RGP_OK)
		return status;
	if (!owned)
		return kube_ready_pending(call, item, "%s", counts);
	const char *message = mod_str(owned, "message");
	bool missing = strstr(message, "not found") != NULL;
	g_auto(ModRestAnswer) fault = {0};
	mod_failure_set(&fault.failure, missing ? RGP_CLASS_INVALID : RGP_CLASS_TRANSIENT,
		mod_str(owned, "reason"), "%s; pod %s: %s", counts, mod_str(why, "pod"), message);
	if (missing)
		fault.failure.hint = "create it in the namespace, or correct its name in the spec";
	return give_fault(call, item, missing && waited >= KUBE_CONFIG_PATIENCE_S, &fault.failure);
}

rgp_status kube_ready_pods(const KubeCall *call, const json_t *item, const json_t *cluster,
	const json_t *pods, const char *group)
{
	int64_t least = least_pods(cluster, group);
	int64_t ready = kube_pods_count(pods, group, "ready");
	const json_t *why = json_object_get(json_object_get(pods, group), "why");
	const json_t *failing = kube_condition(cluster, "ReplicaFailure");
	g_autofree char *counts =
		g_strdup_printf("%d of %d pods are ready", (int)ready, (int)least);
	if (ready >= least)
		return mod_give_item(
			&call->talk, mod_str(item, "address"), "done", mod_str(item, "id"), NULL);
	if (failing && kube_is_true(failing))
		return give_replica_failure(call, item, failing);
	if (why && g_str_equal(mod_str(why, "code"), KUBE_CREATING))
		return give_creating(call, item, why, counts);
	if (why)
		return give_why(call, item, cluster, why, counts);
	if (!json_object_size(pods) && !json_object_get(cluster, "status"))
		return give_untouched(call, item, cluster);
	return kube_ready_pending(call, item, "%s", counts);
}
