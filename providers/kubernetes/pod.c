/* The pod template of a head or pool, as KubeRay completes it: the operator adds the command (`ray
 * start` from rayStartParams), the head's address, /dev/shm, the probes, Ray's token (authOptions)
 * and the identity that Ray's autoscaler reads (ray-operator/controllers/ray/common/pod.go). */
#include <string.h>
#include "kubernetes/data.h"
#include "kubernetes/lower.h"
#include "kubernetes/manifest.h"

#define GPU_TAINT "nvidia.com/gpu"
/* GPU feature discovery: how many the node has */
#define GPU_COUNT_LABEL "nvidia.com/gpu.count"
#define GKE_SLICE_LABEL "cloud.google.com/gke-gpu-partition-size"

/* Where neither the spec nor the catalog says more: for each GPU of a worker, for a worker without
 * GPUs, and for the head. Not read from the cluster's nodes: the same spec gives the same manifests
 * everywhere, also in `raygpu export`. */
#define CPUS 4
#define MEMORY_GI 16
#define HEAD_CPUS 2
#define HEAD_MEMORY_GI 8

/* How long a worker's tasks have to end once its pod is deleted, and what the pod needs beside
 * that. */
#define DRAIN_S 30
#define GRACE_S 60

static bool is_head(const json_t *node)
{
	return g_str_equal(mod_str(node, "role"), "head");
}

static json_t *boot_of(const json_t *node, const char *member)
{
	return json_object_get(json_object_get(node, "boot"), member);
}

/* ---- the container */

/* KubeRay sets them: RAY_AUTH_MODE with authOptions, and the node type as its autoscaler knows it.
 */
static bool is_of_operator(const json_t *node, const char *name)
{
	return g_str_equal(name, "RAY_NODE_TYPE_NAME") ||
	       (g_str_equal(name, "RAY_AUTH_MODE") && boot_of(node, "token"));
}

static json_t *env_of(const json_t *node)
{
	json_t *list = json_array(), *env = boot_of(node, "env");
	mod_foreach_member (name, value, env)
		if (!is_of_operator(node, name))
			json_array_append_new(
				list, json_pack("{s:s, s:O}", "name", name, "value", value));
	if (!json_object_get(env, "RAY_USAGE_STATS_ENABLED"))
		json_array_append_new(list,
			json_pack("{s:s, s:s}", "name", "RAY_USAGE_STATS_ENABLED", "value", "0"));
	return list;
}

/* GiB with up to two decimals: "62.5" -> "64000Mi". */
static json_t *memory_quantity(double gib)
{
	json_int_t whole = (json_int_t)gib;
	if ((double)whole == gib)
		return json_sprintf("%" JSON_INTEGER_FORMAT "Gi", whole);
	return json_sprintf("%" JSON_INTEGER_FORMAT "Mi", (json_int_t)(gib * 1024));
}

/* The spec's, else that of the user's own catalog, else the default. */
static json_t *size_of(const KubeLowering *lowering, const json_t *node, const char *what)
{
	const json_t *offer = json_object_get(node, "offer");
	const json_t *given = json_object_get(kube_lower_pod_settings(lowering, node), what);
	bool cpu = g_str_equal(what, "cpu");
	double gib = json_number_value(json_object_get(offer, "memory_gib"));
	json_int_t gpus = MAX(mod_int(offer, "gpus"), 1);
	if (given)
		return kube_lower_quantity(given);
	if (cpu && mod_int(offer, "vcpus") > 0)
		return kube_lower_quantity(json_object_get(offer, "vcpus"));
	if (!cpu && gib > 0)
		return memory_quantity(gib);
	bool plain_head = is_head(node) && mod_int(offer, "gpus") == 0;
	if (cpu)
		return json_sprintf("%" JSON_INTEGER_FORMAT, plain_head ? HEAD_CPUS : CPUS * gpus);
	return json_sprintf(
		"%" JSON_INTEGER_FORMAT "Gi", plain_head ? HEAD_MEMORY_GI : MEMORY_GI * gpus);
}

/* Equal requests and limits: KubeRay derives num-cpus and memory from the limits. */
static json_t *resources_of(KubeLowering *lowering, const json_t *node)
{
	json_auto_t *sizes = json_pack("{s:o, s:o}", "cpu", size_of(lowering, node, "cpu"),
		"memory", size_of(lowering, node, "memory"));
	json_t *storage =
		json_object_get(kube_lower_pod_settings(lowering, node), "ephemeral_storage");
	json_auto_t *gpus = kube_lower_gpus(lowering, node);
	if (storage)
		json_object_set_new(sizes, "ephemeral-storage", kube_lower_quantity(storage));
	mod_foreach_member (name, count, gpus)
		json_object_set_new(sizes, name, kube_lower_quantity(count));
	return json_pack("{s:O, s:O}", "limits", sizes, "requests", sizes);
}

/* The head's service has those of its container. */
static json_t *head_ports(void)
{
	return json_pack("[{s:i, s:s}, {s:i, s:s}, {s:i, s:s}, {s:i, s:s}]", "containerPort", 6379,
		"name", "gcs-server", "containerPort", 8265, "name", "dashboard", "containerPort",
		10001, "name", "client", "containerPort", 8000, "name", "serve");
}

int64_t kube_lower_drain_s(const KubeLowering *lowering, const json_t *node)
{
	const json_t *own = json_object_get(kube_lower_pod_settings(lowering, node), "drain_s");
	const json_t *all = kube_lower_setting(lowering, "drain_s");
	const json_t *chosen = own ? own : all;
	if (is_head(node))
		return 0;
	return chosen ? json_integer_value(chosen) : DRAIN_S;
}

/* The script without its comments: it is in every template. */
static char *drain_script(void)
{
	const struct rg_embedded *file = kube_data_find("drain.sh");
	g_auto(GStrv) lines = g_strsplit(file->data, "\n", -1);
	GString *script = g_string_new(NULL);
	for (char **line = lines; *line; line++)
		if (**line && **line != '#')
			g_string_append_printf(script, "%s\n", *line);
	return g_string_free(script, FALSE);
}

static json_t *drain_hook(const KubeLowering *lowering, const json_t *node)
{
	g_autofree char *script = drain_script();
	g_autofree char *seconds =
		g_strdup_printf("%" G_GINT64_FORMAT, kube_lower_drain_s(lowering, node));
	return json_pack("{s:{s:{s:[s, s, s, s, s]}}}", "preStop", "exec", "command", "/bin/sh",
		"-c", script, "drain", seconds);
}

static json_t *container_of(KubeLowering *lowering, const json_t *node)
{
	json_t *container = json_pack("{s:s, s:O, s:o, s:o}", "name",
		is_head(node) ? "ray-head" : "ray-worker", "image", boot_of(node, "image"), "env",
		env_of(node), "resources", resources_of(lowering, node));
	if (is_head(node))
		json_object_set_new(container, "ports", head_ports());
	if (kube_lower_drain_s(lowering, node))
		json_object_set_new(container, "lifecycle", drain_hook(lowering, node));
	return container;
}

/* ---- where the pods run */

static json_t *spot_setting(KubeLowering *lowering, const json_t *node, const char *name)
{
	json_t *spot = kube_lower_setting(lowering, "spot");
	if (!g_str_equal(mod_str(json_object_get(node, "offer"), "market"), "spot"))
		return NULL;
	if (!spot && g_str_equal(name, "node_selector"))
		kube_lower_refuse_field(lowering, node, "/market",
			"set it, such as {node_selector: {cloud.google.com/gke-spot: \"true\"}}",
			"spot nodes are unknown without provider.spot");
	return json_object_get(spot, name);
}

/* One value as a selector, several as an affinity. */
static void add_gpu_nodes(
	KubeLowering *lowering, const json_t *node, json_t *selector, json_t *spec)
{
	const char *label = kube_lower_gpu_label(lowering);
	g_auto(GStrv) values = kube_lower_gpu_values(lowering, node);
	g_autofree char *model = kube_lower_model(node);
	if (mod_int(json_object_get(node, "offer"), "gpus") == 0 ||
		json_object_get(selector, label))
		return;
	if (!values) {
		kube_lower_refuse_field(lowering, node, "",
			"give the label of these nodes in provider.node_selector of the pool",
			"raygpu does not know the value of the node label %s for the model %s",
			label, model);
		return;
	}
	if (!values[1]) {
		json_object_set_new(selector, label, json_string(values[0]));
		return;
	}
	json_t *list = json_array();
	for (char **value = values; *value; value++)
		json_array_append_new(list, json_string(*value));
	json_object_set_new(spec, "affinity",
		json_pack("{s:{s:{s:[{s:[{s:s, s:s, s:o}]}]}}}", "nodeAffinity",
			"requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms",
			"matchExpressions", "key", label, "operator", "In", "values", list));
}

/* GKE presents the slices of a node as nvidia.com/gpu, and names their size in a label. */
static void add_gke_slices(const KubeLowering *lowering, const json_t *node, json_t *selector)
{
	const json_t *slices = json_object_get(json_object_get(node, "share"), "mig");
	const char *profile = mod_str(json_array_get(slices, 0), "profile");
	if (slices && g_str_has_prefix(kube_lower_gpu_label(lowering), "cloud.google.com/"))
		json_object_set_new(selector, GKE_SLICE_LABEL, json_string(profile));
}

/* `share: node`: on a node with more GPUs, others could use the rest. */
static void add_whole_node(KubeLowering *lowering, const json_t *node, json_t *selector)
{
	const char *of = mod_str(json_object_get(node, "share"), "of");
	if (!g_str_equal(of, "node") || json_object_get(selector, GPU_COUNT_LABEL))
		return;
	if (g_str_has_prefix(kube_lower_gpu_label(lowering), "cloud.google.com/"))
		kube_lower_refuse_field(lowering, node, "/share",
			"name the node pool in provider.node_selector of the pool, and remove "
			"`share`",
			"nodes of Google Kubernetes Engine have no label with the number of their "
			"GPUs");
	json_object_set_new(selector, GPU_COUNT_LABEL,
		kube_lower_quantity(json_object_get(json_object_get(node, "offer"), "gpus")));
}

static void add_nodes(KubeLowering *lowering, const json_t *node, json_t *spec)
{
	json_t *selector = json_object();
	json_object_update(selector, kube_lower_setting(lowering, "node_selector"));
	json_object_update(selector, spot_setting(lowering, node, "node_selector"));
	json_object_update(selector,
		json_object_get(kube_lower_pod_settings(lowering, node), "node_selector"));
	add_gpu_nodes(lowering, node, selector, spec);
	add_gke_slices(lowering, node, selector);
	add_whole_node(lowering, node, selector);
	if (json_object_size(selector))
		json_object_set(spec, "nodeSelector", selector);
	json_decref(selector);
}

static void add_toleration(json_t *list, const json_t *setting)
{
	static const char *const members[] = {"key", "operator", "value", "effect"};
	json_t *toleration = json_object();
	for (size_t i = 0; i < G_N_ELEMENTS(members); i++)
		if (json_object_get(setting, members[i]))
			json_object_set(
				toleration, members[i], json_object_get(setting, members[i]));
	if (json_object_get(setting, "seconds"))
		json_object_set(
			toleration, "tolerationSeconds", json_object_get(setting, "seconds"));
	json_array_append_new(list, toleration);
}

static json_t *tolerations_of(KubeLowering *lowering, const json_t *node)
{
	const json_t *lists[] = {kube_lower_setting(lowering, "tolerations"),
		spot_setting(lowering, node, "tolerations"),
		json_object_get(kube_lower_pod_settings(lowering, node), "tolerations")};
	json_t *all = json_array();
	if (mod_int(json_object_get(node, "offer"), "gpus") > 0)
		json_array_append_new(all, json_pack("{s:s, s:s, s:s}", "key", GPU_TAINT,
						   "operator", "Exists", "effect", "NoSchedule"));
	for (size_t k = 0; k < G_N_ELEMENTS(lists); k++)
		mod_foreach (one, lists[k])
			add_toleration(all, one);
	return all;
}

/* ---- the template */

static json_t *pull_secrets(const KubeLowering *lowering)
{
	json_t *list = json_array();
	mod_foreach (name, kube_lower_setting(lowering, "image_pull_secrets"))
		json_array_append_new(list, json_pack("{s:O}", "name", name));
	return list;
}

static void set_some(json_t *object, const char *key, json_t *value)
{
	if (value && !(json_is_array(value) && json_array_size(value) == 0))
		json_object_set(object, key, value);
}

static json_t *security_context(const KubeLowering *lowering)
{
	static const char *const names[][2] = {{"run_as_user", "runAsUser"},
		{"run_as_group", "runAsGroup"}, {"fs_group", "fsGroup"},
		{"run_as_non_root", "runAsNonRoot"}};
	const json_t *settings = kube_lower_setting(lowering, "security_context");
	json_t *context = json_object();
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		set_some(context, names[i][1], json_object_get(settings, names[i][0]));
	return context;
}

/* restartPolicy: Ray's autoscaler v2 requires it, and KubeRay replaces a pod that ended. */
static json_t *pod_spec(KubeLowering *lowering, const json_t *node)
{
	const json_t *settings = kube_lower_pod_settings(lowering, node);
	json_t *own_account = json_object_get(settings, "service_account");
	json_t *spec = json_pack("{s:[o], s:s}", "containers", container_of(lowering, node),
		"restartPolicy", "Never");
	json_auto_t *secrets = pull_secrets(lowering), *context = security_context(lowering),
		    *tolerations = tolerations_of(lowering, node);
	if (kube_lower_drain_s(lowering, node))
		json_object_set_new(spec, "terminationGracePeriodSeconds",
			json_integer(kube_lower_drain_s(lowering, node) + GRACE_S));
	kube_lower_cdi(lowering, node, spec);
	add_nodes(lowering, node, spec);
	set_some(spec, "tolerations", tolerations);
	set_some(spec, "imagePullSecrets", secrets);
	set_some(spec, "serviceAccountName",
		own_account ? own_account : kube_lower_setting(lowering, "service_account"));
	set_some(spec, "runtimeClassName", json_object_get(settings, "runtime_class"));
	set_some(spec, "priorityClassName", json_object_get(settings, "priority_class"));
	if (json_object_size(context))
		json_object_set(spec, "securityContext", context);
	return spec;
}

static json_t *annotations_of(const KubeLowering *lowering, const json_t *node)
{
	const json_t *offer = json_object_get(node, "offer");
	bool spot = g_str_equal(mod_str(offer, "market"), "spot");
	json_t *notes = json_object();
	json_object_update(
		notes, json_object_get(kube_lower_pod_settings(lowering, node), "annotations"));
	json_object_set(notes, KUBE_TYPE_NOTE, json_object_get(offer, "instance_type"));
	json_object_set_new(notes, KUBE_MARKET_NOTE, json_string(spot ? "spot" : "on-demand"));
	return notes;
}

/* JSON as `ray start` in a shell takes it, and as Ray's autoscaler reads custom resources:
 * "{\"mig-1g.5gb\": 7}" with these quotes and backslashes. */
static json_t *quoted_json(const json_t *value)
{
	g_autoptr(GString) text = g_string_new("\"");
	char *plain = json_dumps(value, JSON_SORT_KEYS | JSON_COMPACT);
	for (const char *c = plain; *c; c++) {
		if (strchr("\"\\$`", *c))
			g_string_append_c(text, '\\');
		g_string_append_c(text, *c);
	}
	free(plain);
	g_string_append_c(text, '"');
	return json_string(text->str);
}

/* num-gpus always: KubeRay does not count shared GPUs and some MIG slices. */
static json_t *start_params(const json_t *node)
{
	json_t *params = json_object(), *resources = boot_of(node, "resources");
	json_object_set_new(params, "num-gpus", kube_lower_quantity(boot_of(node, "gpus")));
	if (boot_of(node, "cpus"))
		json_object_set_new(params, "num-cpus", kube_lower_quantity(boot_of(node, "cpus")));
	if (json_object_size(resources))
		json_object_set_new(params, "resources", quoted_json(resources));
	mod_foreach_member (name, value, boot_of(node, "start")) {
		g_autofree char *flag = g_strdelimit(g_strdup(name), "_", '-');
		json_object_set_new(params, flag,
			json_is_object(value) ? quoted_json(value) : kube_lower_quantity(value));
	}
	return params;
}

static void add_hash(json_t *pod, json_t *notes)
{
	char *text = json_dumps(pod, JSON_SORT_KEYS | JSON_COMPACT);
	g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
	json_object_set_new(notes, KUBE_HASH_NOTE, json_stringn(hash, 16));
	free(text);
}

json_t *kube_lower_pod(KubeLowering *lowering, const json_t *node)
{
	json_t *notes = annotations_of(lowering, node);
	json_auto_t *plain = json_pack("{s:{s:o}, s:o}", "metadata", "annotations", notes, "spec",
		pod_spec(lowering, node));
	json_t *pod = json_pack("{s:o, s:o, s:O}", "template", kube_template_from_api(plain),
		"start_params", start_params(node), "ray_labels", boot_of(node, "labels"));
	json_t *template = json_object_get(pod, "template");
	add_hash(pod, json_object_get(json_object_get(template, "metadata"), "annotations"));
	return pod;
}
