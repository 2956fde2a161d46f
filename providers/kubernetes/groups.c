/* Worker groups: one JSON Patch for all groups of a call that are in one RayCluster. */
#include <string.h>
#include "kubernetes/calls.h"
#include "kubernetes/patch.h"
#include "kubernetes/pods.h"

#define TRIES 200 /* an autoscaler may write many times a second */
#define AGAIN_MS 20

/* Items of one cluster, and what became of them. */
typedef struct {
	const KubeCall *call;
	KubeApi api;
	const json_t *items;
	const json_t *group; /* to add, or NULL */
	const json_t *names; /* to remove, or NULL */
	json_t *cluster;     /* as it was last read; NULL: there is none */
	ModFailure failure;
	/* Appends what is to be done; nothing: it is done. */
	void (*plan)(const void *change, json_t *ops);
} Change;

static void change_clear(Change *change)
{
	json_decref(change->cluster);
	mod_failure_clear(&change->failure);
}

/* A test that failed (422 without a cause), or a stale version (409). */
static bool is_stale(const ModRestAnswer *answer)
{
	const char *message = answer->failure.message ? answer->failure.message : "";
	if (answer->status == 409 && !g_strcmp0(answer->failure.code, "Conflict"))
		return true;
	return answer->status == 422 && strstr(message, "due to an error in our request");
}

static rgp_status change_once(Change *change, const KubeId *id, bool *again)
{
	const KubeCall *call = change->call;
	json_auto_t *ops = json_array();
	g_auto(ModRestAnswer) answer = {0};
	json_decref(change->cluster);
	*again = false;
	rgp_status status = kube_get(
		call, KUBE_RAY_CLUSTER, &change->api, id, &change->cluster, &change->failure);
	if (status != RGP_OK || !change->cluster)
		return status;
	change->plan(change, ops);
	if (!json_array_size(ops))
		return RGP_OK;
	g_autofree char *url = kube_url(call, &change->api, id->space, id->name,
		"fieldManager=" KUBE_MANAGER "&fieldValidation=Strict");
	status =
		kube_patch(call, "RayCluster.patch", url, "json-patch", ops, KUBE_CHANGES, &answer);
	if (status != RGP_OK)
		return status;
	*again = is_stale(&answer);
	mod_failure_copy(&change->failure, &answer.failure);
	if (answer.failure.class_ == RGP_CLASS_OK) {
		json_decref(change->cluster);
		change->cluster = json_incref(answer.body);
	}
	return RGP_OK;
}

/* Until a patch meets what was read. */
static rgp_status change_run(Change *change, const KubeId *id)
{
	bool again = true;
	rgp_status status = RGP_OK;
	for (unsigned tries = 0; again && status == RGP_OK && tries < TRIES; tries++) {
		if (tries > 1)
			status = change->call->talk.host->sleep_ms(
				change->call->talk.call, AGAIN_MS);
		if (status == RGP_OK)
			status = change_once(change, id, &again);
	}
	return status;
}

static void fail_gone(Change *change, const char *id)
{
	if (change->failure.class_ == RGP_CLASS_OK)
		mod_failure_set(&change->failure, RGP_CLASS_GONE, NULL,
			"there is no RayCluster for %s", id);
}

/* ---- create */

static void plan_add(const void *data, json_t *ops)
{
	const Change *change = data;
	size_t index;
	if (!kube_group_find(change->cluster, mod_str(change->group, "groupName"), &index))
		kube_patch_add(ops, change->cluster, change->group);
}

/* What this run has read of the group's RayCluster has it; then nothing is asked. */
static bool is_known(Change *change, const KubeId *id)
{
	size_t index;
	g_autofree char *name = g_strconcat(id->space, "/", id->name, NULL);
	json_auto_t *seen = kube_seen_get(change->call, name);
	json_t *cluster = json_object_get(seen, "cluster");
	if (!kube_group_find(cluster, mod_str(change->group, "groupName"), &index))
		return false;
	change->cluster = json_incref(cluster);
	return true;
}

/* At the first apply it is there: the RayCluster was created with it. */
rgp_status kube_groups_create(const KubeCall *call, const json_t *input)
{
	const json_t *item = json_array_get(json_object_get(input, "items"), 0);
	const json_t *attributes = json_object_get(input, "attributes");
	json_auto_t *group = kube_group_to_api(attributes);
	Change change = {.call = call, .group = group, .plan = plan_add};
	g_autofree char *id = g_strdup_printf("%s/%s/%s", call->inst->config.namespace,
		mod_str(json_object_get(input, "marks"), "cluster"), mod_str(group, "groupName"));
	if (kube_api_of(call, KUBE_WORKER_GROUP, &change.api) != RGP_OK)
		return RGP_FAIL;
	g_auto(KubeId) parsed = kube_id_parse(&change.api, id);
	rgp_status status = is_known(&change, &parsed) ? RGP_OK : change_run(&change, &parsed);
	if (status == RGP_OK && !change.cluster)
		fail_gone(&change, id);
	const KubeMarks marks = kube_marks_read(change.cluster);
	if (status == RGP_OK && change.cluster &&
		!g_str_equal(marks.lineage, mod_str(json_object_get(input, "marks"), "lineage")))
		mod_failure_set(&change.failure, RGP_CLASS_CONFLICT, "AlreadyExists",
			"the RayCluster of %s belongs to another lineage", id);
	if (status == RGP_OK)
		status = kube_give(call, item, id,
			json_pack("{s:s}", "uid", kube_uid_of(change.cluster)), &change.failure);
	change_clear(&change);
	return status;
}

/* ---- items by cluster */

typedef rgp_status (*ClusterFn)(
	const KubeCall *call, const KubeApi *api, const KubeId *id, const json_t *items);

/* The RayCluster's part of a group's id. */
static char *cluster_of(const KubeApi *api, const json_t *item)
{
	g_auto(KubeId) id = kube_id_parse(api, mod_str(item, "id"));
	return g_strconcat(id.space ? id.space : "", "/", id.name, NULL);
}

static rgp_status by_cluster(const KubeCall *call, const json_t *items, ClusterFn fn)
{
	KubeApi api;
	json_auto_t *clusters = json_object();
	if (kube_api_of(call, KUBE_WORKER_GROUP, &api) != RGP_OK)
		return RGP_FAIL;
	mod_foreach (item, items) {
		g_autofree char *name = cluster_of(&api, item);
		if (!json_object_get(clusters, name))
			json_object_set_new(clusters, name, json_array());
		json_array_append(json_object_get(clusters, name), mod_unconst(item));
	}
	rgp_status status = RGP_OK;
	mod_foreach_member (key, list, clusters) {
		g_auto(KubeId) id = kube_id_parse(&api, key);
		if (status == RGP_OK)
			status = fn(call, &api, &id, list);
	}
	return status;
}

static const char *group_name(const json_t *item)
{
	const char *id = mod_str(item, "id"), *slash = strrchr(id, '/');
	return slash ? slash + 1 : "";
}

/* ---- update */

#define ROLLING "rolling"

static void plan_update(const void *data, json_t *ops)
{
	const Change *change = data;
	mod_foreach (item, change->items)
		/* the patch of an update that now replaces pods was answered */
		if (!g_str_equal(mod_str(item, "operation"), ROLLING))
			kube_patch_update(ops, change->cluster, group_name(item), item);
}

static rgp_status give_rolling(
	const KubeCall *call, const json_t *item, const json_t *pods, const char *group)
{
	g_autofree char *rollout = kube_pods_rollout(pods, group);
	g_autofree char *message = g_strdup_printf(
		"%s, %d are ready", rollout, (int)kube_pods_count(pods, group, "ready"));
	return mod_give(&call->talk, "item",
		json_pack("{s:s, s:s, s:s, s:s, s:s}", "address", mod_str(item, "address"),
			"outcome", "pending", "id", mod_str(item, "id"), "message", message,
			"operation", ROLLING));
}

static int64_t unavailable_of(const json_t *item)
{
	return MAX(1, mod_int(json_object_get(item, "attributes"), "max_unavailable"));
}

static rgp_status give_updated(
	const KubeCall *call, const json_t *cluster, const json_t *pods, const json_t *item)
{
	const char *name = group_name(item);
	size_t index;
	bool done = true;
	ModFailure failure = {0};
	rgp_status status = RGP_OK;
	if (!kube_group_find(cluster, name, &index))
		mod_failure_set(&failure, RGP_CLASS_GONE, NULL, "there is no worker group %s",
			mod_str(item, "id"));
	else if (!kube_is_queued(cluster))
		status =
			kube_roll(call, cluster, pods, name, unavailable_of(item), &done, &failure);
	if (status == RGP_OK && failure.class_ == RGP_CLASS_OK && !done)
		status = give_rolling(call, item, pods, name);
	else if (status == RGP_OK)
		status = kube_give(call, item, mod_str(item, "id"),
			json_pack(
				"{s:s, s:s}", "uid", kube_uid_of(cluster), "rollout", KUBE_ROLLED),
			&failure);
	mod_failure_clear(&failure);
	return status;
}

static rgp_status give_all(const KubeCall *call, const json_t *items, ModFailure *failure)
{
	rgp_status status = RGP_OK;
	mod_foreach (item, items)
		if (status == RGP_OK)
			status = mod_give_failed(&call->talk, mod_str(item, "address"),
				mod_str(item, "id"), failure);
	return status;
}

static rgp_status update_cluster(
	const KubeCall *call, const KubeApi *api, const KubeId *id, const json_t *items)
{
	Change change = {.call = call, .api = *api, .items = items, .plan = plan_update};
	json_t *pods = NULL;
	rgp_status status = change_run(&change, id);
	if (status == RGP_OK && !change.cluster)
		fail_gone(&change, id->name);
	if (status == RGP_OK && change.failure.class_ == RGP_CLASS_OK)
		status = kube_pods_read(call, change.cluster, &pods, &change.failure);
	json_auto_t *owned = pods;
	if (status == RGP_OK && change.failure.class_ != RGP_CLASS_OK)
		status = give_all(call, items, &change.failure);
	else
		mod_foreach (item, items)
			if (status == RGP_OK)
				status = give_updated(call, change.cluster, owned, item);
	change_clear(&change);
	return status;
}

rgp_status kube_groups_update(const KubeCall *call, const json_t *items)
{
	return by_cluster(call, items, update_cluster);
}

/* ---- remove: no replicas, no pods, then no group */

static void plan_empty(const void *data, json_t *ops)
{
	const Change *change = data;
	kube_patch_empty(ops, change->cluster, change->names);
}

static void plan_remove(const void *data, json_t *ops)
{
	const Change *change = data;
	kube_patch_remove(ops, change->cluster, change->names);
}

static int64_t pods_left(const json_t *pods, const char *group)
{
	return kube_pods_count(pods, group, "total") + kube_pods_count(pods, group, "leaving");
}

/* KubeRay does it too; this also works while the operator is down. */
static rgp_status delete_pods(Change *change, const KubeId *id, const char *group)
{
	static const char labels[] =
		"labelSelector=ray.io%%2Fcluster%%3D%s%%2Cray.io%%2Fgroup%%3D%s";
	g_autofree char *query = g_strdup_printf(labels, id->name, group);
	g_autofree char *url = kube_url(change->call, &kube_pods, id->space, NULL, query);
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = kube_delete(change->call, "Pod.deletecollection", url, NULL, &answer);
	/* without the permission, KubeRay alone does it */
	if (answer.failure.class_ != RGP_CLASS_DENIED)
		mod_failure_copy(&change->failure, &answer.failure);
	return status;
}

/* The names of the groups without pods, a new reference; deletes the pods of others. */
static rgp_status end_pods(Change *change, const KubeId *id, const json_t *pods, json_t **empty)
{
	rgp_status status = RGP_OK;
	*empty = json_array();
	mod_foreach (name, change->names) {
		const char *group = json_string_value(name);
		if (status != RGP_OK || change->failure.class_ != RGP_CLASS_OK)
			break;
		if (!pods_left(pods, group))
			json_array_append(*empty, name);
		else if (kube_pods_count(pods, group, "total"))
			status = delete_pods(change, id, group);
	}
	return status;
}

static rgp_status remove_run(Change *change, const KubeId *id, json_t **pods)
{
	json_t *empty = NULL;
	change->plan = plan_empty;
	rgp_status status = change_run(change, id);
	if (status == RGP_OK && change->cluster && change->failure.class_ == RGP_CLASS_OK)
		status = kube_pods_read(change->call, change->cluster, pods, &change->failure);
	if (status == RGP_OK && *pods)
		status = end_pods(change, id, *pods, &empty);
	json_auto_t *owned = empty;
	if (status != RGP_OK || change->failure.class_ != RGP_CLASS_OK || !json_array_size(owned))
		return status;
	change->plan = plan_remove;
	change->names = owned;
	status = change_run(change, id);
	change->names = NULL;
	return status;
}

static rgp_status give_removed(const KubeCall *call, const json_t *pods, const json_t *item)
{
	const char *id = mod_str(item, "id");
	int64_t left = pods_left(pods, group_name(item));
	g_auto(ModRestAnswer) why = {0};
	if (!left)
		return mod_give_item(&call->talk, mod_str(item, "address"), "done", id, NULL);
	mod_failure_set(&why.failure, RGP_CLASS_TRANSIENT, NULL, "%d of its pods have not ended",
		(int)left);
	return mod_give_pending(&call->talk, mod_str(item, "address"), id, &why.failure);
}

static rgp_status remove_cluster(
	const KubeCall *call, const KubeApi *api, const KubeId *id, const json_t *items)
{
	json_auto_t *names = json_array();
	mod_foreach (item, items)
		json_array_append_new(names, json_string(group_name(item)));
	Change change = {.call = call, .api = *api, .names = names};
	json_t *pods = NULL;
	kube_seen_forget(call, id);
	rgp_status status = remove_run(&change, id, &pods);
	json_auto_t *owned = pods;
	/* others delete the RayCluster meanwhile */
	if (change.failure.class_ == RGP_CLASS_GONE)
		mod_failure_clear(&change.failure);
	if (status == RGP_OK && change.failure.class_ != RGP_CLASS_OK)
		status = give_all(call, items, &change.failure);
	else
		mod_foreach (item, items)
			if (status == RGP_OK)
				status = give_removed(call, owned, item);
	change_clear(&change);
	return status;
}

rgp_status kube_groups_remove(const KubeCall *call, const json_t *items)
{
	return by_cluster(call, items, remove_cluster);
}
