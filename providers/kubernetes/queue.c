/* Kueue (kueue.x-k8s.io/v1beta2): the queue that admits the cluster as a whole, and what raygpu
 * makes of it: flavors by GPU model, ClusterQueue and LocalQueue, priority, admission check. */
#include <string.h>
#include "kubernetes/lower.h"
#include "kubernetes/manifest.h"

#define ORIGIN "/provider/queue"
/* A Workload has at most 18 pod sets, one of them the head's
 * (github.com/kubernetes-sigs/kueue apis/kueue/v1beta2/workload_types.go). */
#define MOST_GROUPS 17
#define GROUP "kueue.x-k8s.io"

typedef struct {
	KubeLowering *lowering;
	const json_t *settings; /* NULL: the queue exists, only its name is given */
	json_t *flavors;	/* model or "cpu" -> name */
	json_t *resources;	/* names of the GPUs' resources -> true */
	json_t *made;		/* addresses that the ClusterQueue depends on */
} Queue;

static json_t *nodes_of(const Queue *queue)
{
	return json_object_get(queue->lowering->fitted, "nodes");
}

static const char *cluster_of(const Queue *queue)
{
	return mod_str(queue->lowering->fitted, "cluster");
}

static const char *text_of(const json_t *value, const char *member)
{
	return json_is_string(value) ? json_string_value(value) : mod_str(value, member);
}

/* Adds a cluster-wide or namespaced object; returns its address in `addresses`. */
static void add_object(Queue *queue, const char *kind, const char *name, const char *origin,
	json_t *members, json_t *depends_on, json_t *addresses)
{
	json_t *attributes = kube_lower_object(queue->lowering, name);
	json_object_update_new(attributes, members);
	kube_lower_add(queue->lowering, &(KubeWanted){.kind = kind,
						.name = name,
						.origin = origin,
						.attributes = attributes,
						.depends_on = depends_on});
	g_autofree char *plain = g_strdelimit(g_strdup(name), ".", '-');
	json_array_append_new(addresses, json_sprintf("%s.%s", kind, plain));
}

/* ---- flavors */

/* One that has a label of its own; GPU models whose nodes have one of several values have none. */
static json_t *flavor_spec(const Queue *queue, const json_t *node)
{
	g_auto(GStrv) values = node ? kube_lower_gpu_values(queue->lowering, node) : NULL;
	if (!values || values[1])
		return json_pack("{s:{}}", "spec");
	return json_pack("{s:{s:{s:s}}}", "spec", "nodeLabels",
		kube_lower_gpu_label(queue->lowering), values[0]);
}

/* `node`: one with that model; NULL: pods without GPUs. */
static void add_flavor(Queue *queue, const char *model, const json_t *node)
{
	const char *own = mod_str(json_object_get(queue->settings, "flavors"), model);
	if (json_object_get(queue->flavors, model))
		return;
	if (*own) {
		json_object_set_new(queue->flavors, model, json_string(own));
		return;
	}
	g_autofree char *plain = g_ascii_strdown(model, -1);
	g_autofree char *name = g_strdup_printf("%s-%s", cluster_of(queue), plain);
	json_object_set_new(queue->flavors, model, json_string(name));
	add_object(queue, KUBE_RESOURCE_FLAVOR, name, ORIGIN, flavor_spec(queue, node), NULL,
		queue->made);
}

static void add_flavors(Queue *queue)
{
	add_flavor(queue, "cpu", NULL);
	mod_foreach (node, nodes_of(queue)) {
		g_autofree char *model = kube_lower_model(node);
		json_auto_t *requests = kube_lower_gpus(queue->lowering, node);
		if (json_object_size(requests) == 0)
			continue;
		if (json_object_get(json_object_get(node, "share"), "mig"))
			kube_lower_refuse(queue->lowering, ORIGIN "/quotas",
				"refer to an existing ClusterQueue with `cluster_queue`",
				"raygpu makes no quotas for MIG slices (pool %s)",
				mod_str(node, "pool"));
		add_flavor(queue, model, node);
		mod_foreach_member (name, count, requests)
			json_object_set_new(queue->resources, name, json_true());
	}
}

/* ---- the ClusterQueue */

static json_t *cpu_group(const Queue *queue, const json_t *quotas)
{
	return json_pack("{s:[s, s], s:[{s:O, s:[{s:s, s:o}, {s:s, s:o}]}]}", "coveredResources",
		"cpu", "memory", "flavors", "name", json_object_get(queue->flavors, "cpu"),
		"resources", "name", "cpu", "nominalQuota",
		kube_lower_quantity(json_object_get(quotas, "cpu")), "name", "memory",
		"nominalQuota", kube_lower_quantity(json_object_get(quotas, "memory")));
}

static json_t *gpu_quota(const Queue *queue, const char *resource, const char *model)
{
	const json_t *quotas = json_object_get(queue->settings, "quotas");
	const json_t *gpus = json_object_get(json_object_get(quotas, "gpus"), model);
	const json_t *limit =
		json_object_get(json_object_get(queue->settings, "borrowing_limit"), model);
	json_t *quota = json_pack("{s:s, s:o}", "name", resource, "nominalQuota",
		gpus ? kube_lower_quantity(gpus) : json_string("0"));
	if (limit)
		json_object_set_new(quota, "borrowingLimit", kube_lower_quantity(limit));
	return quota;
}

/* Every flavor of a group has a quota of each of its resources. */
static json_t *gpu_group(Queue *queue)
{
	const json_t *quotas = json_object_get(json_object_get(queue->settings, "quotas"), "gpus");
	json_t *covered = json_array(), *flavors = json_array();
	mod_foreach_member (resource, ignored, queue->resources)
		json_array_append_new(covered, json_string(resource));
	mod_foreach_member (model, name, queue->flavors) {
		json_t *list = json_array();
		if (g_str_equal(model, "cpu")) {
			json_decref(list);
			continue;
		}
		if (!json_object_get(quotas, model))
			kube_lower_refuse(queue->lowering, ORIGIN "/quotas",
				"add the number of GPUs to quotas.gpus, 0 to borrow all of them",
				"provider.queue.quotas has no quota for %s", model);
		mod_foreach_member (resource, ignored, queue->resources)
			json_array_append_new(list, gpu_quota(queue, resource, model));
		json_array_append_new(
			flavors, json_pack("{s:O, s:o}", "name", name, "resources", list));
	}
	return json_pack("{s:o, s:o}", "coveredResources", covered, "flavors", flavors);
}

/* Only LocalQueues of the cluster's namespace, if the spec names it. */
static json_t *namespaces(const Queue *queue)
{
	const char *name = json_string_value(kube_lower_setting(queue->lowering, "namespace"));
	if (!name)
		return json_object();
	return json_pack("{s:{s:s}}", "matchLabels", "kubernetes.io/metadata.name", name);
}

static json_t *preemption(const Queue *queue)
{
	const json_t *settings = json_object_get(queue->settings, "preemption");
	const char *within = mod_str(settings, "within_queue"),
		   *cohort = mod_str(settings, "within_cohort");
	return json_pack("{s:s, s:s}", "withinClusterQueue", *within ? within : "Never",
		"reclaimWithinCohort", *cohort ? cohort : "Never");
}

/* ---- the admission check */

static json_t *named_list(const json_t *object)
{
	json_t *list = json_array();
	mod_foreach_member (name, ignored, object)
		json_array_append_new(list, json_string(name));
	return list;
}

static json_t *provisioning_spec(const Queue *queue, const json_t *provisioning)
{
	json_t *parameters = json_object_get(provisioning, "parameters");
	json_t *retries = json_object_get(provisioning, "retries");
	json_t *spec = json_pack("{s:s, s:o}", "provisioningClassName",
		mod_str(provisioning, "class"), "managedResources", named_list(queue->resources));
	if (json_object_size(parameters))
		json_object_set(spec, "parameters", parameters);
	json_object_set_new(spec, "retryStrategy",
		json_pack("{s:I}", "backoffLimitCount",
			retries ? json_integer_value(retries) : (json_int_t)3));
	return json_pack("{s:o}", "spec", spec);
}

/* The check's name; NULL: there is none. g_free. */
static char *add_check(Queue *queue)
{
	const json_t *provisioning = json_object_get(queue->settings, "provisioning");
	if (!provisioning)
		return NULL;
	char *name = g_strconcat(cluster_of(queue), "-provisioning", NULL);
	json_t *config = json_array();
	add_object(queue, KUBE_PROVISIONING_CONFIG, name, ORIGIN "/provisioning",
		provisioning_spec(queue, provisioning), NULL, config);
	add_object(queue, KUBE_ADMISSION_CHECK, name, ORIGIN "/provisioning",
		json_pack("{s:{s:s, s:{s:s, s:s, s:s}}}", "spec", "controllerName",
			GROUP "/provisioning-request", "parameters", "apiGroup", GROUP, "kind",
			"ProvisioningRequestConfig", "name", name),
		config, queue->made);
	return name;
}

/* On the flavors with GPUs: the others need no nodes of the cluster autoscaler. */
static json_t *checks(const Queue *queue, const char *check)
{
	json_t *flavors = json_array();
	mod_foreach_member (model, name, queue->flavors)
		if (!g_str_equal(model, "cpu"))
			json_array_append(flavors, name);
	return json_pack(
		"{s:[{s:s, s:o}]}", "admissionChecks", "name", check, "onFlavors", flavors);
}

static void add_cluster_queue(Queue *queue, const char *name, json_t *addresses)
{
	const json_t *quotas = json_object_get(queue->settings, "quotas");
	const char *strategy = mod_str(queue->settings, "strategy"),
		   *cohort = mod_str(queue->settings, "cohort");
	add_flavors(queue);
	g_autofree char *check = add_check(queue);
	json_t *groups = json_pack("[o]", cpu_group(queue, quotas));
	if (json_object_size(queue->resources))
		json_array_append_new(groups, gpu_group(queue));
	json_t *spec = json_pack("{s:s, s:o, s:o, s:o}", "queueingStrategy",
		*strategy ? strategy : "BestEffortFIFO", "namespaceSelector", namespaces(queue),
		"preemption", preemption(queue), "resourceGroups", groups);
	if (*cohort)
		json_object_set_new(spec, "cohortName", json_string(cohort));
	if (check)
		json_object_set_new(spec, "admissionChecksStrategy", checks(queue, check));
	add_object(queue, KUBE_CLUSTER_QUEUE, name, ORIGIN "/quotas",
		json_pack("{s:o}", "spec", spec), json_incref(queue->made), addresses);
}

static void add_queues(Queue *queue, const char *name, json_t *depends_on)
{
	const char *given = mod_str(queue->settings, "cluster_queue");
	const char *cluster_queue = *given ? given : cluster_of(queue);
	json_auto_t *addresses = json_array();
	static const char *const of_quotas[] = {
		"borrowing_limit", "cohort", "strategy", "preemption", "flavors", "provisioning"};
	bool quotas = json_object_get(queue->settings, "quotas") != NULL;
	for (size_t i = 0; i < G_N_ELEMENTS(of_quotas); i++) {
		g_autofree char *origin = g_strconcat(ORIGIN "/", of_quotas[i], NULL);
		if (!quotas && json_object_get(queue->settings, of_quotas[i]))
			kube_lower_refuse(queue->lowering, origin, "add quotas, or remove it",
				"provider.queue.%s is for a ClusterQueue that raygpu makes",
				of_quotas[i]);
	}
	if (quotas)
		add_cluster_queue(queue, cluster_queue, addresses);
	if (quotas || *given)
		add_object(queue, KUBE_LOCAL_QUEUE, name, ORIGIN,
			json_pack("{s:{s:s}}", "spec", "clusterQueue", cluster_queue),
			json_incref(addresses), depends_on);
}

static void add_priority(Queue *queue, json_t *cluster, json_t *depends_on)
{
	json_t *priority = json_object_get(queue->settings, "priority");
	const char *name = text_of(priority, "name");
	if (!priority)
		return;
	json_object_set_new(cluster, "priority", json_string(name));
	if (json_is_object(priority))
		add_object(queue, KUBE_PRIORITY_CLASS, name, ORIGIN "/priority",
			json_pack("{s:O, s:s}", "value", json_object_get(priority, "value"),
				"description", mod_str(priority, "description")),
			NULL, depends_on);
}

static void check_groups(const Queue *queue)
{
	size_t groups = json_array_size(nodes_of(queue)) - 1;
	if (groups > MOST_GROUPS)
		kube_lower_refuse(queue->lowering, ORIGIN, "merge pools, or remove the queue",
			"Kueue admits clusters with at most %d worker groups, and this one has %zu",
			MOST_GROUPS, groups);
	mod_foreach (node, nodes_of(queue))
		if (kube_lower_is_elastic(node))
			kube_lower_refuse_field(queue->lowering, node, "/nodes",
				"use a fixed number of nodes, or remove provider.queue",
				"elastic pools cannot be queued: Kueue admits a cluster as a "
				"whole");
}

void kube_lower_queue(KubeLowering *lowering, json_t *cluster, json_t *depends_on)
{
	const json_t *setting = kube_lower_setting(lowering, "queue");
	json_auto_t *flavors = json_object(), *resources = json_object(), *made = json_array();
	Queue queue = {.lowering = lowering,
		.settings = json_is_object(setting) ? setting : NULL,
		.flavors = flavors,
		.resources = resources,
		.made = made};
	const char *name = text_of(setting, "name");
	if (!setting)
		return;
	check_groups(&queue);
	json_object_set_new(cluster, "queue", json_string(name));
	add_queues(&queue, name, depends_on);
	add_priority(&queue, cluster, depends_on);
}
