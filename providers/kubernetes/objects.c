#include "kubernetes/objects.h"
#include <string.h>

#define KUEUE "kueue.x-k8s.io"
#define RAY "ray.io"

/* ---- where */

void kube_explain_missing(const KubeApi *api, ModFailure *failure)
{
	if (g_strcmp0(failure->code, "NoSuchApi"))
		return;
	bool ray = g_str_equal(api->group, RAY), kueue = g_str_equal(api->group, KUEUE);
	mod_failure_set(failure, RGP_CLASS_INVALID, "NoSuchApi", "the cluster has no API %s%s%s%s",
		api->group, *api->group ? "/" : "", api->version,
		ray	? ": the KubeRay operator is not installed"
		: kueue ? ": Kueue is not installed"
			: "");
	failure->hint = ray ? "install it: `helm install kuberay-operator kuberay/kuberay-operator`"
			: kueue ? "install Kueue, or leave `queue` out of provider"
				: NULL;
}

static bool has_version(const json_t *versions, const char *version)
{
	mod_foreach (entry, versions)
		if (json_is_string(entry) && g_str_equal(json_string_value(entry), version))
			return true;
	return false;
}

/* Kueue 0.15 and later have v1beta2, all have v1beta1. */
static rgp_status choose_version(const KubeCall *call, KubeApi *api)
{
	const json_t *versions = kube_versions(call, KUEUE);
	if (!versions)
		return RGP_FAIL;
	if (has_version(versions, api->version))
		return RGP_OK;
	api->version = "v1beta1";
	if (has_version(versions, api->version))
		return RGP_OK;
	g_auto(ModRestAnswer) answer = {.failure.code = g_strdup("NoSuchApi")};
	kube_explain_missing(api, &answer.failure);
	mod_report(&call->talk, &answer.failure, "Kubernetes");
	return RGP_FAIL;
}

rgp_status kube_api_of(const KubeCall *call, const char *kind, KubeApi *api)
{
	bool group = g_str_equal(kind, KUBE_WORKER_GROUP);
	const KubeKind *as = kube_kind(group ? KUBE_RAY_CLUSTER : kind);
	if (!as) {
		g_autofree char *summary = g_strdup_printf("there is no kind \"%s\"", kind);
		mod_report_text(&call->talk, RGP_CLASS_INVALID, summary, NULL, NULL);
		return RGP_FAIL;
	}
	*api = (KubeApi){as->group, as->version, as->plural, as->namespaced};
	return g_str_equal(as->group, KUEUE) ? choose_version(call, api) : RGP_OK;
}

/* ---- names */

void kube_id_clear(KubeId *id)
{
	g_strfreev(id->parts);
	*id = (KubeId){0};
}

KubeId kube_id_parse(const KubeApi *api, const char *text)
{
	KubeId id = {.parts = g_strsplit(text, "/", 4), .name = ""};
	guint n = g_strv_length(id.parts);
	if (!api->namespaced && n == 1)
		id.name = id.parts[0];
	if (!api->namespaced || n < 2 || n > 3)
		return id;
	id.space = id.parts[0];
	id.name = id.parts[1];
	id.group = n == 3 ? id.parts[2] : NULL;
	return id;
}

const char *kube_name_of(const json_t *object)
{
	return mod_str(json_object_get(object, "metadata"), "name");
}

const char *kube_uid_of(const json_t *object)
{
	return mod_str(json_object_get(object, "metadata"), "uid");
}

char *kube_id_of(const KubeApi *api, const json_t *object, const char *group)
{
	const char *space = mod_str(json_object_get(object, "metadata"), "namespace");
	return g_strconcat(api->namespaced ? space : "", api->namespaced ? "/" : "",
		kube_name_of(object), group ? "/" : NULL, group, NULL);
}

char *kube_what(const char *kind, const char *verb)
{
	const KubeKind *as = kube_kind(kind);
	return g_strconcat(as ? as->api : "RayCluster", ".", verb, NULL);
}

/* ---- reading */

rgp_status kube_get(const KubeCall *call, const char *kind, const KubeApi *api, const KubeId *id,
	json_t **object, ModFailure *failure)
{
	g_autofree char *url = kube_url(call, api, id->space, id->name, NULL);
	g_autofree char *what = kube_what(kind, "get");
	g_auto(ModRestAnswer) answer = {0};
	*object = NULL;
	mod_failure_clear(failure);
	if (!*id->name) /* it would be the collection's URL */
		return RGP_OK;
	rgp_status status = g_str_equal(kind, KUBE_SECRET)
				    ? kube_read_metadata(call, what, url, &answer)
				    : kube_read(call, what, url, &answer);
	if (status != RGP_OK || answer.failure.class_ == RGP_CLASS_GONE)
		return status;
	mod_failure_copy(failure, &answer.failure);
	kube_explain_missing(api, failure);
	if (failure->class_ == RGP_CLASS_OK)
		*object = json_incref(answer.body);
	return RGP_OK;
}

/* ---- manifests and attributes */

/* v1beta1's name of a member of ClusterQueue (kueue.sigs.k8s.io/docs/reference). */
static void rename_member(json_t *object, const char *from, const char *to)
{
	json_t *spec = json_object_get(object, "spec");
	if (!json_object_get(spec, from))
		return;
	json_object_set(spec, to, json_object_get(spec, from));
	json_object_del(spec, from);
}

json_t *kube_manifest_of(const char *kind, const KubeApi *api, const json_t *attributes)
{
	json_auto_t *plain = kube_object_to_api(kind, attributes);
	json_t *object = json_deep_copy(plain); /* shares nothing with the attributes */
	g_autofree char *version =
		g_strconcat(api->group, *api->group ? "/" : "", api->version, NULL);
	json_object_set_new(object, "apiVersion", json_string(version));
	if (g_str_equal(kind, KUBE_CLUSTER_QUEUE) && g_str_equal(api->version, "v1beta1"))
		rename_member(object, "cohortName", "cohort");
	return object;
}

static void add_computed(const KubeCall *call, json_t *attributes, const json_t *cluster)
{
	g_autofree char *service = g_strconcat(kube_name_of(cluster), "-head-svc", NULL);
	const char *shown =
		mod_str(mod_at(cluster, "/status/head"), "serviceName"); /* from 1.2 on */
	if (!*shown)
		shown = service;
	g_autofree char *address = g_strdup_printf(
		"%s.%s.svc", shown, mod_str(json_object_get(cluster, "metadata"), "namespace"));
	json_object_set_new(attributes, "service_name", json_string(shown));
	json_object_set_new(attributes, "address", json_string(address));
}

json_t *kube_attributes_of(const KubeCall *call, const char *kind, const json_t *object)
{
	json_auto_t *copy = json_deep_copy(object);
	if (g_str_equal(kind, KUBE_CLUSTER_QUEUE))
		rename_member(copy, "cohort", "cohortName");
	json_t *attributes = kube_object_from_api(kind, copy);
	if (g_str_equal(kind, KUBE_RAY_CLUSTER))
		add_computed(call, attributes, object);
	return attributes;
}

json_t *kube_group_find(const json_t *cluster, const char *name, size_t *index)
{
	json_t *group;
	const json_t *groups = mod_at(cluster, "/spec/workerGroupSpecs");
	size_t i;
	*index = 0;
	json_array_foreach (groups, i, group) {
		*index = i;
		if (g_str_equal(mod_str(group, "groupName"), name))
			return group;
	}
	return NULL;
}

bool kube_is_queued(const json_t *cluster)
{
	const json_t *labels = mod_at(cluster, "/metadata/labels");
	return *mod_str(labels, KUBE_QUEUE_LABEL) && json_is_true(mod_at(cluster, "/spec/suspend"));
}
