/* export: what an apply would create, as manifests for kubectl, Argo CD and Flux. Pure. */
#include "kubernetes/emit.h"
#include "kubernetes/lower.h"
#include "kubernetes/manifest.h"
#include "kubernetes/marks.h"

/* What controllers change in these objects, so that a GitOps tool must leave it alone. KubeRay's
 * autoscaler: docs.ray.io/en/latest/cluster/kubernetes/k8s-ecosystem; Kueue suspends a RayCluster
 * and adds node selectors and tolerations at admission. */
static const char head[] =
	"# KubeRay manifests of the cluster %s, written by `raygpu export kuberay`. Apply them in "
	"this "
	"order.\n"
	"# Argo CD: to spec of the Application add\n"
	"#   syncPolicy: {syncOptions: [RespectIgnoreDifferences=true]}\n"
	"#   ignoreDifferences:\n"
	"#   - group: ray.io\n"
	"#     kind: RayCluster\n"
	"#     jqPathExpressions: [\"%s\"]\n"
	"# Flux: its server-side apply replaces workerGroupSpecs as a whole, so annotate the "
	"RayCluster "
	"with\n"
	"#   kustomize.toolkit.fluxcd.io/ssa: IfNotPresent\n"
	"# after which Flux creates it and leaves changes to raygpu or kubectl.\n";
static const char token_note[] =
	"# Ray's token is not in this file. Create its Secret first, with a token of your own:\n"
	"#   kubectl%s create secret generic %s --from-file=auth_token=FILE\n"
	"#   kubectl%s label secret %s raygpu.io/cluster=%s raygpu.io/lineage=%s%s\n"
	"#   kubectl%s annotate secret %s raygpu.io/address=kubernetes.secret.token\n";

/* That of the state; before the first apply one that follows from the cluster's name and place, so
 * that `raygpu state rebuild` finds the objects. */
static char *lineage_of(const json_t *fitted, const char *namespace)
{
	const char *recorded = mod_str(fitted, "lineage");
	g_autofree char *name = g_strdup_printf("%s %s", namespace, mod_str(fitted, "cluster"));
	g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, name, -1);
	return *recorded ? g_strdup(recorded) : g_strndup(hash, 32);
}

static bool is_kind(const json_t *resource, const char *kind)
{
	return g_str_equal(mod_str(resource, "kind"), kind);
}

static json_t *find(const json_t *resources, const char *kind)
{
	mod_foreach (resource, resources)
		if (is_kind(resource, kind))
			return json_object_get(resource, "attributes");
	return NULL;
}

/* " team=ml cost_center=42"; their keys and values need no quotes in a shell. */
static char *user_labels(const json_t *secret)
{
	g_autoptr(GString) text = g_string_new(NULL);
	mod_foreach_member (key, value, json_object_get(secret, "labels"))
		g_string_append_printf(text, " %s=%s", key, json_string_value(value));
	return g_strdup(text->str);
}

static void append_token_note(
	GString *text, const json_t *secret, const json_t *marks, const char *namespace)
{
	const char *name = mod_str(secret, "object_name");
	g_autofree char *space =
		*namespace ? g_strconcat(" --namespace ", namespace, NULL) : g_strdup("");
	g_autofree char *labels = user_labels(secret);
	g_string_append_printf(text, token_note, space, name, space, name,
		mod_str(marks, "cluster"), mod_str(marks, "lineage"), labels, space, name);
}

static void append_head(GString *text, const json_t *resources)
{
	const json_t *cluster = find(resources, KUBE_RAY_CLUSTER);
	bool elastic = json_is_true(json_object_get(cluster, "autoscaling"));
	bool queued = *mod_str(cluster, "queue");
	g_autoptr(GString) paths = g_string_new(".spec.workerGroupSpecs[].scaleStrategy");
	if (elastic)
		g_string_append(paths, ", .spec.workerGroupSpecs[].replicas");
	if (queued)
		g_string_append(paths,
			", .spec.suspend, .spec.headGroupSpec.template.spec.nodeSelector"
			", .spec.headGroupSpec.template.spec.tolerations"
			", .spec.workerGroupSpecs[].template.spec.nodeSelector"
			", .spec.workerGroupSpecs[].template.spec.tolerations");
	g_auto(GStrv) list = g_strsplit(paths->str, ", ", -1);
	g_autofree char *joined = g_strjoinv("\", \"", list);
	g_string_append_printf(text, head, mod_str(cluster, "object_name"), joined);
}

static void append_object(
	GString *text, const json_t *resource, const json_t *marks, const char *namespace)
{
	const char *kind = mod_str(resource, "kind");
	const KubeKind *as = kube_kind(kind);
	json_auto_t *object = kube_object_to_api(kind, json_object_get(resource, "attributes"));
	json_auto_t *owner = json_pack("{s:O, s:[{s:O}]}", "marks", marks, "items", "address",
		json_object_get(resource, "address"));
	if (as->namespaced && *namespace)
		json_object_set_new(
			json_object_get(object, "metadata"), "namespace", json_string(namespace));
	kube_marks_put(object, owner, namespace);
	kube_yaml_append(text, object);
}

rgp_status kube_export(const ModTalk *talk, const json_t *input)
{
	const json_t *fitted = json_object_get(input, "fitted");
	json_auto_t *resources = kube_lower_resources(talk, fitted);
	const json_t *config = json_object_get(json_object_get(fitted, "scope"), "config");
	const char *namespace = mod_str(config, "namespace");
	g_autofree char *lineage = lineage_of(fitted, namespace);
	json_auto_t *marks =
		json_pack("{s:s, s:s}", "cluster", mod_str(fitted, "cluster"), "lineage", lineage);
	g_autoptr(GString) text = g_string_new(NULL);
	if (!resources)
		return RGP_FAIL;
	append_head(text, resources);
	if (find(resources, KUBE_SECRET))
		append_token_note(text, find(resources, KUBE_SECRET), marks, namespace);
	mod_foreach (resource, resources)
		if (kube_kind(mod_str(resource, "kind")) && !is_kind(resource, KUBE_SECRET))
			append_object(text, resource, marks, namespace);
	return mod_give(talk, "document", json_pack("{s:s}", "text", text->str));
}
