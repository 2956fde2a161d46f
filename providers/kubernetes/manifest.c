#include "kubernetes/manifest.h"
#include <string.h>
#include "common/talk.h"

#define KUEUE "kueue.x-k8s.io"

/* github.com/ray-project/kuberay ray.io/v1, github.com/kubernetes-sigs/kueue v1beta2 */
static const KubeKind kinds[] = {
	{KUBE_SECRET, "", "Secret", "secrets", "v1", true},
	{KUBE_RAY_CLUSTER, "ray.io", "RayCluster", "rayclusters", "v1", true},
	{KUBE_RAY_JOB, "ray.io", "RayJob", "rayjobs", "v1", true},
	{KUBE_RESOURCE_FLAVOR, KUEUE, "ResourceFlavor", "resourceflavors", "v1beta2", false},
	{KUBE_PROVISIONING_CONFIG, KUEUE, "ProvisioningRequestConfig", "provisioningrequestconfigs",
		"v1beta2", false},
	{KUBE_ADMISSION_CHECK, KUEUE, "AdmissionCheck", "admissionchecks", "v1beta2", false},
	{KUBE_CLUSTER_QUEUE, KUEUE, "ClusterQueue", "clusterqueues", "v1beta2", false},
	{KUBE_LOCAL_QUEUE, KUEUE, "LocalQueue", "localqueues", "v1beta2", true},
	{KUBE_PRIORITY_CLASS, KUEUE, "WorkloadPriorityClass", "workloadpriorityclasses", "v1beta2",
		false},
};

/* Members of a RayCluster's spec that `options` may have. */
static const char *const options[] = {"authOptions", "autoscalerOptions",
	"gcsFaultToleranceOptions", "historyServerOptions", "networkPolicy", "tlsOptions"};

const KubeKind *kube_kind(const char *kind)
{
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (g_str_equal(kinds[i].kind, kind))
			return &kinds[i];
	return NULL;
}

static json_t *get(const json_t *object, const char *key)
{
	return json_object_get(object, key);
}

/* ---- pod templates */

static char *toleration_name(const json_t *toleration)
{
	const char *operator= mod_str(toleration, "operator");
	return g_strdup_printf("%s|%s|%s|%s", mod_str(toleration, "key"),
		*operator? operator: "Equal", mod_str(toleration, "value"),
		mod_str(toleration, "effect"));
}

static GList *sorted_keys(const json_t *object)
{
	GList *keys = NULL;
	mod_foreach_member (key, value, object)
		keys = g_list_prepend(keys, (void *)(uintptr_t)key);
	return g_list_sort(keys, (GCompareFunc)strcmp);
}

static json_t *template_to_api(const json_t *attribute)
{
	json_t *whole = json_deep_copy(attribute), *spec = get(whole, "spec");
	json_t *by_name = get(spec, "tolerations");
	if (!json_is_object(by_name))
		return whole;
	json_t *list = json_array();
	g_autoptr(GList) names = sorted_keys(by_name);
	for (const GList *name = names; name; name = name->next)
		json_array_append(list, get(by_name, name->data));
	json_object_set_new(spec, "tolerations", list);
	return whole;
}

json_t *kube_template_from_api(const json_t *pod_template)
{
	json_t *whole = json_deep_copy(pod_template), *spec = get(whole, "spec");
	json_t *by_name = json_object();
	mod_foreach (toleration, get(spec, "tolerations")) {
		g_autofree char *name = toleration_name(toleration);
		json_object_set(by_name, name, toleration);
	}
	if (json_object_size(by_name))
		json_object_set(spec, "tolerations", by_name);
	json_decref(by_name);
	return whole;
}

static const char *note_of(const json_t *pod_template, const char *name)
{
	return mod_str(get(get(pod_template, "metadata"), "annotations"), name);
}

const char *kube_template_hash(const json_t *pod_template)
{
	return note_of(pod_template, KUBE_HASH_NOTE);
}

/* ---- worker groups */

/* {"rayStartParams", "template"} and, if there are any, "labels". */
static json_t *ray_group(const json_t *start_params, const json_t *labels, const json_t *template)
{
	json_t *group = json_object();
	json_object_set(group, "rayStartParams", mod_unconst(start_params));
	if (json_object_size(labels))
		json_object_set(group, "labels", mod_unconst(labels));
	json_object_set_new(group, "template", template_to_api(template));
	return group;
}

static json_t *or_empty(json_t *object)
{
	return json_is_object(object) ? json_incref(object) : json_object();
}

json_t *kube_group_to_api(const json_t *attributes)
{
	json_auto_t *pods = ray_group(get(attributes, "start_params"),
		get(attributes, "ray_labels"), get(attributes, "template"));
	json_t *replicas = get(attributes, "replicas");
	json_t *group = json_pack("{s:O, s:O, s:O, s:O}", "groupName",
		get(attributes, "group_name"), "replicas",
		replicas ? replicas : get(attributes, "min_replicas"), "minReplicas",
		get(attributes, "min_replicas"), "maxReplicas", get(attributes, "max_replicas"));
	json_object_update(group, pods);
	return group;
}

json_t *kube_group_from_api(const json_t *group)
{
	const json_t *template = get(group, "template");
	json_t *min = get(group, "minReplicas"), *max = get(group, "maxReplicas");
	const char *market = note_of(template, KUBE_MARKET_NOTE);
	json_t *attributes = json_pack("{s:O*, s:s, s:s, s:O*, s:O*, s:o, s:o, s:o}", "group_name",
		get(group, "groupName"), "instance_type", note_of(template, KUBE_TYPE_NOTE),
		"market", *market ? market : "on-demand", "min_replicas", min, "max_replicas", max,
		"template", kube_template_from_api(template), "start_params",
		or_empty(get(group, "rayStartParams")), "ray_labels",
		or_empty(get(group, "labels")));
	/* otherwise they are the autoscaler's */
	if (json_equal(min, max) && get(group, "replicas"))
		json_object_set(attributes, "replicas", get(group, "replicas"));
	return attributes;
}

/* ---- the RayCluster */

static void set_text(json_t *object, const char *key, const char *text)
{
	if (*text)
		json_object_set_new(object, key, json_string(text));
}

static json_t *cluster_spec(const json_t *attributes)
{
	json_t *head = ray_group(get(attributes, "head_start_params"),
		get(attributes, "head_labels"), get(attributes, "head_template"));
	set_text(head, "serviceType", mod_str(attributes, "service_type"));
	json_t *spec = json_pack("{s:s, s:o}", "rayVersion", mod_str(attributes, "ray_version"),
		"headGroupSpec", head);
	if (json_is_true(get(attributes, "autoscaling")))
		json_object_set_new(spec, "enableInTreeAutoscaling", json_true());
	json_object_update(spec, get(attributes, "options"));
	if (get(attributes, "groups"))
		json_object_set(spec, "workerGroupSpecs", get(attributes, "groups"));
	return spec;
}

static void take_cluster(json_t *attributes, const json_t *object)
{
	const json_t *spec = get(object, "spec"), *head = get(spec, "headGroupSpec");
	const json_t *labels = get(get(object, "metadata"), "labels");
	const char *service = mod_str(head, "serviceType");
	set_text(attributes, "expires", note_of(object, KUBE_LEASE_NOTE));
	json_t *others = json_object();
	for (size_t i = 0; i < G_N_ELEMENTS(options); i++)
		if (get(spec, options[i]))
			json_object_set(others, options[i], get(spec, options[i]));
	json_object_update_new(attributes,
		json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:b, s:o}", "queue",
			mod_str(labels, KUBE_QUEUE_LABEL), "priority",
			mod_str(labels, KUBE_PRIORITY_LABEL), "instance_type",
			note_of(get(head, "template"), KUBE_TYPE_NOTE), "ray_version",
			mod_str(spec, "rayVersion"), "head_template",
			kube_template_from_api(get(head, "template")), "head_start_params",
			or_empty(get(head, "rayStartParams")), "head_labels",
			or_empty(get(head, "labels")), "service_type",
			*service ? service : "ClusterIP", "autoscaling",
			json_is_true(get(spec, "enableInTreeAutoscaling")), "options", others));
}

/* ---- objects */

static json_t *metadata_of(const char *kind, const json_t *attributes)
{
	json_t *labels = or_empty(get(attributes, "labels"));
	json_t *copy = json_copy(labels), *notes = NULL;
	const char *expires = mod_str(attributes, "expires");
	json_decref(labels);
	if (g_str_equal(kind, KUBE_RAY_CLUSTER)) {
		set_text(copy, KUBE_QUEUE_LABEL, mod_str(attributes, "queue"));
		set_text(copy, KUBE_PRIORITY_LABEL, mod_str(attributes, "priority"));
		notes = *expires ? json_pack("{s:s}", KUBE_LEASE_NOTE, expires) : NULL;
	}
	return json_pack("{s:s, s:o, s:o*}", "name", mod_str(attributes, "object_name"), "labels",
		copy, "annotations", notes);
}

json_t *kube_object_to_api(const char *kind, const json_t *attributes)
{
	const KubeKind *as = kube_kind(kind);
	if (!as)
		return NULL;
	g_autofree char *version = g_strconcat(as->group, *as->group ? "/" : "", as->version, NULL);
	json_t *object = json_pack("{s:s, s:s, s:o}", "apiVersion", version, "kind", as->api,
		"metadata", metadata_of(kind, attributes));
	if (g_str_equal(kind, KUBE_SECRET)) {
		json_object_set_new(object, "type", json_string("Opaque"));
		if (get(attributes, "token"))
			json_object_set_new(object, "stringData",
				json_pack("{s:O}", "auth_token", get(attributes, "token")));
	} else if (g_str_equal(kind, KUBE_RAY_CLUSTER)) {
		json_object_set_new(object, "spec", cluster_spec(attributes));
	} else if (g_str_equal(kind, KUBE_PRIORITY_CLASS)) {
		json_object_set(object, "value", get(attributes, "value"));
		set_text(object, "description", mod_str(attributes, "description"));
	} else {
		json_object_set(object, "spec", get(attributes, "spec"));
	}
	return object;
}

/* Without those of raygpu and of Kueue, which are attributes of their own or marks. */
static json_t *user_labels(const json_t *object)
{
	json_t *labels = json_object();
	mod_foreach_member (key, value, get(get(object, "metadata"), "labels"))
		if (!g_str_has_prefix(key, KUBE_MARK) && !g_str_equal(key, KUBE_QUEUE_LABEL) &&
			!g_str_equal(key, KUBE_PRIORITY_LABEL))
			json_object_set(labels, key, value);
	return labels;
}

json_t *kube_object_from_api(const char *kind, const json_t *object)
{
	const json_t *metadata = get(object, "metadata");
	json_t *attributes = json_pack("{s:s, s:o, s:s}", "object_name", mod_str(metadata, "name"),
		"labels", user_labels(object), "uid", mod_str(metadata, "uid"));
	if (g_str_equal(kind, KUBE_RAY_CLUSTER)) {
		take_cluster(attributes, object);
	} else if (g_str_equal(kind, KUBE_PRIORITY_CLASS)) {
		json_object_set(attributes, "value", get(object, "value"));
		json_object_set_new(
			attributes, "description", json_string(mod_str(object, "description")));
	} else if (!g_str_equal(kind, KUBE_SECRET)) {
		json_object_set_new(attributes, "spec", or_empty(get(object, "spec")));
	}
	return attributes;
}
