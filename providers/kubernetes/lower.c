#include "kubernetes/lower.h"
#include <string.h>
#include "kubernetes/manifest.h"

/* What a disk has if the spec chooses nothing (src/fit/node.c). */
#define DISK_DEFAULT_GB 100
#define TOKEN_SECRET KUBE_SECRET ".token"

static const json_t *nodes_of(const KubeLowering *lowering)
{
	return json_object_get(lowering->fitted, "nodes");
}

/* ---- checks */

static void check_disk(KubeLowering *lowering, const json_t *node)
{
	const json_t *disk = json_object_get(node, "disk");
	if (*mod_str(disk, "type"))
		kube_lower_refuse_field(lowering, node, "/disk/type", "remove `disk`",
			"pods have no root disk whose type could be chosen");
	else if (mod_int(disk, "size_gb") != DISK_DEFAULT_GB)
		kube_lower_refuse_field(lowering, node, "/disk/size",
			"use provider.ephemeral_storage of the pool",
			"pods have no root disk of their own");
}

static void check_network(KubeLowering *lowering, const json_t *node)
{
	const json_t *network = json_object_get(node, "network");
	if (json_is_true(json_object_get(network, "public_ip")))
		kube_lower_refuse_field(lowering, node, "/public_ip",
			"remove it; provider.service_type makes the head reachable",
			"pods have no public addresses");
	if (*mod_str(network, "placement"))
		kube_lower_refuse_field(lowering, node, "/network/placement", "remove `placement`",
			"placement of pods near each other is not supported on Kubernetes");
	if (mod_int(network, "rdma") > 0)
		kube_lower_refuse_field(lowering, node, "/network/rdma", "remove `rdma`",
			"RDMA devices of pods are not supported");
}

static void check_node(KubeLowering *lowering, const json_t *node)
{
	bool gang = json_is_true(json_object_get(node, "gang"));
	check_disk(lowering, node);
	check_network(lowering, node);
	if (json_object_get(json_object_get(node, "health"), "diag"))
		kube_lower_refuse_field(lowering, node, "/health/diag", "remove `diag`",
			"raygpu runs no dcgmi in pods");
	if (json_object_get(json_object_get(node, "replace"), "max_surge"))
		kube_lower_refuse_field(lowering, node, "/replace/max_surge",
			"use `replace: {max_unavailable: N}`",
			"the new pods of a worker group cannot come before the old ones: KubeRay "
			"keeps "
			"the number of pods");
	if (gang && !kube_lower_setting(lowering, "queue"))
		kube_lower_refuse_field(lowering, node, "/gang", "set provider.queue",
			"a gang requires Kueue: KubeRay creates pods one by one");
}

/* Pools of machines may have nodes of several types; the pods of a group are alike. */
static void check_once(KubeLowering *lowering, const json_t *node, GHashTable *seen)
{
	if (!g_hash_table_add(seen, (gpointer)(uintptr_t)mod_str(node, "pool")))
		kube_lower_refuse_field(lowering, node, "", "use another pool for the others",
			"the pods of a pool must be alike, and those of %s are of several shapes "
			"or "
			"markets",
			mod_str(node, "pool"));
}

/* Only one of the two places of a pool's settings is read. */
static void check_former(KubeLowering *lowering, const json_t *node)
{
	const char *pool = mod_str(node, "pool");
	g_autofree char *origin = g_strconcat("/provider/pods/", pool, NULL);
	g_autofree char *now = g_strconcat(mod_str(node, "origin") + 1, ".provider", NULL);
	g_strdelimit(now, "/", '.');
	g_autofree char *summary = g_strdup_printf("provider.pods.%s is deprecated", pool);
	g_autofree char *hint = g_strdup_printf("move its settings to %s", now);
	if (!kube_lower_former_settings(lowering, node))
		return;
	if (json_object_get(node, "config"))
		kube_lower_refuse(lowering, origin, hint,
			"%s has settings in provider.pods and in %s", pool, now);
	else
		mod_report_warning(lowering->talk, origin, summary, hint);
}

/* A pool without nodes keeps its settings for when it has some again. */
static bool is_empty(const KubeLowering *lowering, const char *pool)
{
	mod_foreach (name, json_object_get(lowering->fitted, "disabled"))
		if (g_str_equal(json_string_value(name), pool))
			return true;
	return false;
}

/* The settings of a pool that does not exist would be ignored. */
static void check_former_settings(KubeLowering *lowering, GHashTable *pools)
{
	mod_foreach_member (pool, settings, kube_lower_setting(lowering, "pods")) {
		g_autofree char *origin = g_strconcat("/provider/pods/", pool, NULL);
		if (!g_hash_table_contains(pools, pool) && !is_empty(lowering, pool))
			kube_lower_refuse(lowering, origin, "it must be head or the name of a pool",
				"provider.pods has settings of \"%s\", which is not a pool", pool);
	}
}

static void check_all(KubeLowering *lowering)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	mod_foreach (node, nodes_of(lowering)) {
		check_node(lowering, node);
		if (!g_hash_table_contains(seen, mod_str(node, "pool")))
			check_former(lowering, node);
		check_once(lowering, node, seen);
	}
	check_former_settings(lowering, seen);
}

/* ---- resources */

static json_t *number_of_pods(const json_t *node)
{
	return json_integer((json_int_t)json_array_size(json_object_get(node, "indexes")));
}

static json_t *group_attributes(KubeLowering *lowering, const json_t *node)
{
	const json_t *offer = json_object_get(node, "offer");
	bool elastic = kube_lower_is_elastic(node);
	json_t *count = number_of_pods(node);
	json_t *min = elastic ? json_incref(json_object_get(node, "min")) : json_incref(count);
	json_t *max = elastic ? json_incref(json_object_get(node, "max")) : json_incref(count);
	json_t *attributes = json_pack("{s:s, s:s, s:s, s:O, s:O}", "group_name",
		mod_str(node, "pool"), "instance_type", mod_str(offer, "instance_type"), "market",
		g_str_equal(mod_str(offer, "market"), "spot") ? "spot" : "on-demand",
		"min_replicas", min, "max_replicas", max);
	json_object_set_new(attributes, "max_unavailable",
		json_integer(MAX(1, mod_int(json_object_get(node, "replace"), "max_unavailable"))));
	if (json_equal(min, max))
		json_object_set(attributes, "replicas", min);
	json_object_update_new(attributes, kube_lower_pod(lowering, node));
	json_decref(count);
	json_decref(min);
	json_decref(max);
	return attributes;
}

static json_t *stands_for(const json_t *node)
{
	bool head = g_str_equal(mod_str(node, "role"), "head");
	json_t *one = json_pack(
		"{s:s, s:s}", "pool", mod_str(node, "pool"), "role", mod_str(node, "role"));
	if (kube_lower_is_elastic(node)) {
		json_object_set(one, "min", json_object_get(node, "min"));
		json_object_set(one, "max", json_object_get(node, "max"));
	} else {
		json_object_set_new(one, "count", head ? json_integer(1) : number_of_pods(node));
	}
	return json_pack("[o]", one);
}

static void add_secret(KubeLowering *lowering, const json_t *token, json_t *depends_on)
{
	if (!token)
		return;
	g_autofree char *name =
		g_strconcat(mod_str(lowering->fitted, "cluster"), "-ray-token", NULL);
	json_t *attributes = kube_lower_object(lowering, name);
	json_object_set(attributes, "token", mod_unconst(token));
	json_array_append_new(depends_on, json_string(TOKEN_SECRET));
	kube_lower_add(lowering, &(KubeWanted){.kind = KUBE_SECRET,
					 .name = "token",
					 .origin = "/ray",
					 .attributes = attributes,
					 .depends_on = json_pack("[s]", mod_str(token, "$ref"))});
}

/* "spec.queue" of the cluster; "": none. */
static const char *queue_of(const KubeLowering *lowering)
{
	const json_t *queue = kube_lower_setting(lowering, "queue");
	return json_is_string(queue) ? json_string_value(queue) : mod_str(queue, "name");
}

/* Kueue's Workload of a RayCluster has the pod templates; one that differs from those that were
 * admitted is not the admitted one (pkg/controller/jobframework/reconciler.go, "equivalent"). */
static json_t *requeued(const KubeLowering *lowering)
{
	return json_sprintf(
		"Kueue may queue the whole cluster again: all pods end, and it waits in "
		"the queue %s",
		queue_of(lowering));
}

/* NULL: everything on the cluster ends. */
static json_t *restart_of_head(const KubeLowering *lowering)
{
	if (*queue_of(lowering))
		return requeued(lowering);
	if (!kube_lower_setting(lowering, "fault_tolerance"))
		return NULL;
	return json_string("tasks and actors of the workers go on, because Ray's control store is "
			   "kept outside of the head; drivers that run on the head end");
}

static json_t *restart_of_group(const KubeLowering *lowering, const json_t *node)
{
	int64_t drain = kube_lower_drain_s(lowering, node);
	int64_t most = MAX(1, mod_int(json_object_get(node, "replace"), "max_unavailable"));
	g_autofree char *tasks = drain ? g_strdup_printf("their tasks have %d s to end", (int)drain)
				       : g_strdup("their tasks end");
	if (*queue_of(lowering))
		return requeued(lowering);
	return json_sprintf("pods are replaced %d at a time, and %s", (int)most, tasks);
}

/* `groups`: of the workers, in the API's form. */
static void add_cluster(KubeLowering *lowering, const json_t *head, json_t *groups)
{
	const char *name = mod_str(lowering->fitted, "cluster");
	const char *service = json_string_value(kube_lower_setting(lowering, "service_type"));
	json_t *attributes = kube_lower_object(lowering, name), *depends_on = json_array();
	json_t *pod = kube_lower_pod(lowering, head);
	json_object_update_new(attributes,
		json_pack("{s:s, s:s, s:O, s:O, s:O, s:s, s:b, s:o, s:O}", "instance_type",
			mod_str(json_object_get(head, "offer"), "instance_type"), "ray_version",
			mod_str(json_object_get(lowering->fitted, "ray"), "version"),
			"head_template", json_object_get(pod, "template"), "head_start_params",
			json_object_get(pod, "start_params"), "head_labels",
			json_object_get(pod, "ray_labels"), "service_type",
			service ? service : "ClusterIP", "autoscaling",
			kube_lower_has_elastic(lowering), "options", kube_lower_options(lowering),
			"groups", groups));
	json_decref(pod);
	if (*mod_str(lowering->fitted, "expires"))
		json_object_set(
			attributes, "expires", json_object_get(lowering->fitted, "expires"));
	add_secret(lowering, json_object_get(json_object_get(head, "boot"), "token"), depends_on);
	kube_lower_gpu_nodes(lowering, depends_on);
	kube_lower_queue(lowering, attributes, depends_on);
	kube_lower_add(lowering, &(KubeWanted){.kind = KUBE_RAY_CLUSTER,
					 .name = name,
					 .origin = mod_str(head, "origin"),
					 .group = "head",
					 .attributes = attributes,
					 .depends_on = depends_on,
					 .nodes = stands_for(head),
					 .restart = restart_of_head(lowering)});
}

static json_t *before_group(const KubeLowering *lowering, const char *cluster, const char *pool)
{
	g_autofree char *nodes = g_strconcat(KUBE_GPU_NODES ".", pool, NULL);
	json_t *addresses = json_pack("[s]", cluster);
	mod_foreach (resource, lowering->resources)
		if (g_str_equal(mod_str(resource, "address"), nodes))
			json_array_append_new(addresses, json_string(nodes));
	return addresses;
}

static void add_groups(KubeLowering *lowering, const json_t *attributes_of)
{
	g_autofree char *cluster =
		g_strconcat(KUBE_RAY_CLUSTER ".", mod_str(lowering->fitted, "cluster"), NULL);
	mod_foreach (node, nodes_of(lowering)) {
		const char *pool = mod_str(node, "pool");
		if (g_str_equal(mod_str(node, "role"), "head"))
			continue;
		kube_lower_add(lowering,
			&(KubeWanted){.kind = KUBE_WORKER_GROUP,
				.name = pool,
				.origin = mod_str(node, "origin"),
				.group = pool,
				.attributes = json_incref(json_object_get(attributes_of, pool)),
				.depends_on = before_group(lowering, cluster, pool),
				.nodes = stands_for(node),
				.restart = restart_of_group(lowering, node)});
	}
}

/* By pool, and their form in the API in `groups`. */
static json_t *make_groups(KubeLowering *lowering, json_t *groups)
{
	json_t *by_pool = json_object();
	mod_foreach (node, nodes_of(lowering)) {
		if (g_str_equal(mod_str(node, "role"), "head"))
			continue;
		json_t *attributes = group_attributes(lowering, node);
		json_array_append_new(groups, kube_group_to_api(attributes));
		json_object_set_new(by_pool, mod_str(node, "pool"), attributes);
	}
	return by_pool;
}

static const json_t *head_of(const KubeLowering *lowering)
{
	mod_foreach (node, nodes_of(lowering))
		if (g_str_equal(mod_str(node, "role"), "head"))
			return node;
	return NULL;
}

json_t *kube_lower_resources(const ModTalk *talk, const json_t *fitted)
{
	const json_t *scope = json_object_get(fitted, "scope");
	json_auto_t *resources = json_array(), *groups = json_array();
	KubeLowering lowering = {.talk = talk,
		.fitted = fitted,
		.config = json_object_get(scope, "config"),
		.resources = resources};
	const json_t *head = head_of(&lowering);
	check_all(&lowering);
	if (!head || lowering.status != RGP_OK)
		return NULL;
	json_auto_t *by_pool = make_groups(&lowering, groups);
	add_cluster(&lowering, head, groups);
	add_groups(&lowering, by_pool);
	kube_lower_jobs(&lowering);
	return lowering.status == RGP_OK ? json_incref(resources) : NULL;
}

rgp_status kube_lower(const ModTalk *talk, const json_t *input)
{
	json_t *resources = kube_lower_resources(talk, input);
	return resources ? mod_give(talk, "resources", resources) : RGP_FAIL;
}
