/* Why a pod is not ready, from its status (kubernetes.io/docs/reference/kubernetes-api/
 * workload-resources/pod-v1). Pure. */
#include <string.h>
#include "kubernetes/pods.h"

#define CRASHES 5 /* of a container, until it is not waited for any more */

/* `patience_s`: how long it may be so until it is final; 0: it is; -1: it may pass. */
static json_t *fault_of(const json_t *pod, int32_t class_, const char *code, int patience_s,
	const char *format, ...) G_GNUC_PRINTF(5, 6);
static json_t *fault_of(const json_t *pod, int32_t class_, const char *code, int patience_s,
	const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *what = g_strdup_vprintf(format, args);
	va_end(args);
	g_autofree char *message = g_strdup_printf("pod %s: %s", kube_name_of(pod), what);
	return json_pack("{s:i, s:s, s:s, s:i, s:b, s:s, s:s}", "class", (int)class_, "code", code,
		"message", message, "patience_s", patience_s, "final", patience_s == 0, "pod",
		kube_name_of(pod), "since",
		mod_str(json_object_get(pod, "metadata"), "creationTimestamp"));
}

/* Reasons of containers that wait (k8s.io/kubernetes pkg/kubelet/images and kuberuntime). */
static const struct {
	const char *reason;
	int32_t class_;
	bool image;
	int patience_s;
} waits[] = {
	{"ImagePullBackOff", RGP_CLASS_INVALID, true, 0},
	{"InvalidImageName", RGP_CLASS_INVALID, true, 0},
	{"ErrImageNeverPull", RGP_CLASS_INVALID, true, 0},
	{"ErrImagePull", RGP_CLASS_INVALID, true, -1},
	{"CreateContainerConfigError", RGP_CLASS_INVALID, false, KUBE_CONFIG_PATIENCE_S},
	{"CreateContainerError", RGP_CLASS_INVALID, false, -1},
	{"RunContainerError", RGP_CLASS_INVALID, false, -1},
	{"CrashLoopBackOff", RGP_CLASS_UNKNOWN, false, -1},
};

static json_t *fault_of_container(const json_t *pod, const json_t *container)
{
	const json_t *waiting = mod_at(container, "/state/waiting");
	const char *reason = mod_str(waiting, "reason"), *message = mod_str(waiting, "message");
	const char *image = mod_str(container, "image"), *name = mod_str(container, "name");
	const json_t *ended = mod_at(container, "/lastState/terminated");
	for (size_t i = 0; waiting && i < G_N_ELEMENTS(waits); i++) {
		if (!g_str_equal(reason, waits[i].reason))
			continue;
		if (ended)
			return fault_of(pod, waits[i].class_, reason,
				mod_int(container, "restartCount") >= CRASHES ? 0 : -1,
				"container %s ended with status %d (%s), %d times", name,
				(int)mod_int(ended, "exitCode"), mod_str(ended, "reason"),
				(int)MAX(1, mod_int(container, "restartCount")));
		return fault_of(pod, waits[i].class_, reason, waits[i].patience_s,
			"%s %s cannot be %s: %s", waits[i].image ? "image" : "container",
			waits[i].image ? image : name, waits[i].image ? "pulled" : "started",
			*message ? message : reason);
	}
	return NULL;
}

static json_t *fault_of_containers(const json_t *pod, const char *pointer)
{
	json_t *fault = NULL;
	mod_foreach (container, mod_at(pod, pointer))
		if (!fault)
			fault = fault_of_container(pod, container);
	return fault;
}

static json_t *fault_of_scheduling(const json_t *pod)
{
	mod_foreach (condition, mod_at(pod, "/status/conditions")) {
		const char *reason = mod_str(condition, "reason");
		const char *message = mod_str(condition, "message");
		if (!g_str_equal(mod_str(condition, "type"), "PodScheduled") ||
			g_str_equal(mod_str(condition, "status"), "True") || !*reason)
			continue;
		bool lacks = g_str_equal(reason, "Unschedulable");
		bool volume = strstr(message, "PersistentVolumeClaim") ||
			      strstr(message, "persistentvolumeclaim");
		json_t *fault = fault_of(pod,
			volume	? RGP_CLASS_INVALID
			: lacks ? RGP_CLASS_CAPACITY
				: RGP_CLASS_TRANSIENT,
			volume ? "VolumePending" : reason, lacks ? KUBE_SCHEDULING_S : -1, "%s",
			*message ? message : reason);
		if (*mod_str(condition, "lastTransitionTime"))
			json_object_set(
				fault, "since", json_object_get(condition, "lastTransitionTime"));
		return fault;
	}
	return NULL;
}

static bool is_creating(const json_t *pod)
{
	mod_foreach (container, mod_at(pod, "/status/containerStatuses")) {
		const char *reason = mod_str(mod_at(container, "/state/waiting"), "reason");
		if (g_str_equal(reason, KUBE_CREATING) || g_str_equal(reason, "PodInitializing"))
			return true;
	}
	return false;
}

/* Its volumes are mounted, and its sandbox is made, before any container. */
static json_t *fault_of_creation(const json_t *pod)
{
	if (!is_creating(pod))
		return NULL;
	json_t *fault = fault_of(
		pod, RGP_CLASS_TRANSIENT, KUBE_CREATING, -1, "its containers are being created");
	mod_foreach (condition, mod_at(pod, "/status/conditions"))
		if (g_str_equal(mod_str(condition, "type"), "PodScheduled") &&
			*mod_str(condition, "lastTransitionTime"))
			json_object_set(
				fault, "since", json_object_get(condition, "lastTransitionTime"));
	return fault;
}

json_t *kube_pod_fault(const json_t *pod)
{
	const json_t *status = json_object_get(pod, "status");
	const char *phase = mod_str(status, "phase"), *reason = mod_str(status, "reason");
	if (g_str_equal(phase, "Failed"))
		return fault_of(pod, RGP_CLASS_TRANSIENT, *reason ? reason : "Failed", -1,
			"it failed: %s",
			*mod_str(status, "message") ? mod_str(status, "message") : reason);
	if (g_str_equal(phase, "Unknown") || g_str_equal(reason, "NodeLost"))
		return fault_of(pod, RGP_CLASS_TRANSIENT, "NodeLost", -1,
			"its node %s does not answer",
			mod_str(json_object_get(pod, "spec"), "nodeName"));
	json_t *fault = fault_of_scheduling(pod);
	if (!fault)
		fault = fault_of_containers(pod, "/status/initContainerStatuses");
	if (!fault)
		fault = fault_of_containers(pod, "/status/containerStatuses");
	return fault ? fault : fault_of_creation(pod);
}
