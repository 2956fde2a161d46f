#include "kubernetes/pods.h"

#define CLUSTER_LABEL "ray.io/cluster"
#define GROUP_LABEL "ray.io/group"

typedef struct {
	const json_t *cluster;
	json_t *groups;
} Counting;

static json_t *group_of(json_t *groups, const char *name)
{
	json_t *group = json_object_get(groups, name);
	if (group)
		return group;
	json_object_set_new(groups, name,
		json_pack("{s:i, s:i, s:i, s:i, s:[], s:{}, s:[]}", "total", 0, "running", 0,
			"ready", 0, "leaving", 0, "outdated", "nodes", "names"));
	return json_object_get(groups, name);
}

static void count(json_t *group, const char *name)
{
	json_object_set_new(group, name, json_integer(mod_int(group, name) + 1));
}

static bool has_condition(const json_t *pod, const char *type)
{
	mod_foreach (condition, mod_at(pod, "/status/conditions"))
		if (g_str_equal(mod_str(condition, "type"), type))
			return g_str_equal(mod_str(condition, "status"), "True");
	return false;
}

/* The template that new pods of the group get. */
static const char *wanted_hash(const json_t *cluster, const char *group)
{
	size_t index;
	if (g_str_equal(group, KUBE_HEAD_GROUP))
		return kube_template_hash(mod_at(cluster, "/spec/headGroupSpec/template"));
	const json_t *found = kube_group_find(cluster, group, &index);
	return found ? kube_template_hash(json_object_get(found, "template")) : "";
}

static void count_pod(const Counting *counting, const json_t *pod)
{
	const json_t *metadata = json_object_get(pod, "metadata");
	const char *name = mod_str(json_object_get(metadata, "labels"), GROUP_LABEL);
	json_t *group = group_of(counting->groups, name);
	const char *wanted = wanted_hash(counting->cluster, name);
	const char *phase = mod_str(json_object_get(pod, "status"), "phase");
	if (json_object_get(metadata, "deletionTimestamp")) {
		count(group, "leaving");
		return;
	}
	count(group, "total");
	json_array_append_new(json_object_get(group, "names"), json_string(kube_name_of(pod)));
	if (g_str_equal(phase, "Running"))
		count(group, "running");
	if (*mod_str(json_object_get(pod, "spec"), "nodeName"))
		count(json_object_get(group, "nodes"),
			mod_str(json_object_get(pod, "spec"), "nodeName"));
	if (has_condition(pod, "Ready"))
		count(group, "ready");
	/* a group that raygpu did not write has no hash */
	if (*wanted && !g_str_equal(wanted, kube_template_hash(pod)))
		json_array_append_new(json_object_get(group, "outdated"),
			json_pack("{s:s, s:s, s:b}", "name", kube_name_of(pod), "uid",
				kube_uid_of(pod), "ready", has_condition(pod, "Ready")));
	json_auto_t *fault = kube_pod_fault(pod);
	const json_t *known = json_object_get(group, "why");
	bool creating = g_str_equal(mod_str(known, "code"), KUBE_CREATING);
	if (fault && (!known || creating ||
			     (json_is_true(json_object_get(fault, "final")) &&
				     !json_is_true(json_object_get(known, "final")))))
		json_object_set(group, "why", fault);
}

static rgp_status on_pods(void *data, const json_t *items)
{
	const Counting *counting = data;
	if (!items)
		json_object_clear(counting->groups);
	mod_foreach (pod, items)
		count_pod(counting, pod);
	return RGP_OK;
}

rgp_status kube_pods_read(
	const KubeCall *call, const json_t *cluster, json_t **groups, ModFailure *failure)
{
	const char *space = mod_str(json_object_get(cluster, "metadata"), "namespace");
	g_autofree char *query = kube_selector(CLUSTER_LABEL, kube_name_of(cluster));
	g_autofree char *url = kube_url(call, &kube_pods, space, NULL, query);
	Counting counting = {cluster, json_object()};
	rgp_status status = kube_pages(call, "Pod.list", url, false, on_pods, &counting, failure);
	bool read = status == RGP_OK && failure->class_ == RGP_CLASS_OK;
	*groups = read ? json_incref(counting.groups) : NULL;
	json_decref(counting.groups);
	return status;
}

int64_t kube_pods_count(const json_t *groups, const char *group, const char *name)
{
	return mod_int(json_object_get(groups, group), name);
}

const json_t *kube_pods_outdated(const json_t *groups, const char *group)
{
	return json_object_get(json_object_get(groups, group), "outdated");
}

char *kube_pods_rollout(const json_t *groups, const char *group)
{
	size_t outdated = json_array_size(kube_pods_outdated(groups, group));
	if (!outdated)
		return g_strdup(KUBE_ROLLED);
	return g_strdup_printf("%zu of %d pods run the old template", outdated,
		(int)kube_pods_count(groups, group, "total"));
}
