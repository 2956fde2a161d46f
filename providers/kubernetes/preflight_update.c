/* preflight of updates: the requests of update.c and groups.c as dry runs. */
#include <stdlib.h>
#include "kubernetes/gpu_nodes.h"
#include "kubernetes/patch.h"
#include "kubernetes/preflight.h"

/* ---- worker groups: one patch for all, as apply sends it */

typedef struct {
	const KubeCall *call;
	const json_t *updates, *creates; /* any kinds */
	json_t *cluster, *ops;
	const char *address; /* of the first group of the patch */
} Groups;

static bool is_group(const json_t *change)
{
	return g_str_equal(mod_str(change, "kind"), KUBE_WORKER_GROUP);
}

static bool creates_cluster(const json_t *creates)
{
	mod_foreach (create, creates)
		if (g_str_equal(mod_str(create, "kind"), KUBE_RAY_CLUSTER))
			return true;
	return false;
}

static bool has_groups(const Groups *groups)
{
	mod_foreach (change, groups->updates)
		if (is_group(change))
			return true;
	mod_foreach (change, groups->creates)
		if (is_group(change))
			return true;
	return false;
}

static void name_change(Groups *groups, size_t before, const char *address)
{
	if (!groups->address && json_array_size(groups->ops) > before)
		groups->address = address;
}

static void plan_update(Groups *groups, const json_t *update)
{
	const char *name = mod_str(json_object_get(update, "attributes"), "group_name");
	json_auto_t *attributes = kube_without_expressions(json_object_get(update, "attributes"));
	json_auto_t *item = json_pack("{s:O, s:O*}", "attributes", attributes, "changed",
		json_object_get(update, "changed"));
	size_t before = json_array_size(groups->ops);
	kube_patch_update(groups->ops, groups->cluster, name, item);
	name_change(groups, before, mod_str(update, "address"));
}

static void plan_create(Groups *groups, const json_t *create)
{
	json_auto_t *attributes = kube_without_expressions(json_object_get(create, "attributes"));
	json_auto_t *group = kube_group_to_api(attributes);
	size_t before = json_array_size(groups->ops), index;
	/* one that an interrupted run left */
	if (kube_group_find(groups->cluster, mod_str(group, "groupName"), &index))
		return;
	kube_patch_add(groups->ops, groups->cluster, group);
	name_change(groups, before,
		json_string_value(json_array_get(json_object_get(create, "addresses"), 0)));
}

static void plan_groups(Groups *groups)
{
	mod_foreach (change, groups->updates)
		if (is_group(change))
			plan_update(groups, change);
	mod_foreach (change, groups->creates)
		if (is_group(change))
			plan_create(groups, change);
}

static void put_op(json_t *sent, const json_t *op)
{
	/* "", spec, workerGroupSpecs, place, member */
	g_auto(GStrv) path = g_strsplit(mod_str(op, "path"), "/", -1);
	guint parts = g_strv_length(path);
	json_t *value = json_object_get(op, "value");
	if (!g_str_equal(mod_str(op, "op"), "add") || parts < 4)
		return;
	if (parts == 5)
		json_object_set(json_array_get(sent, strtoul(path[3], NULL, 10)), path[4], value);
	else
		json_array_append(sent, value);
}

/* What the patch makes of the groups: their names, and the members that it writes. */
static json_t *sent_of(const Groups *groups)
{
	json_t *sent = json_array();
	mod_foreach (one, mod_at(groups->cluster, "/spec/workerGroupSpecs"))
		json_array_append_new(
			sent, json_pack("{s:s}", "groupName", mod_str(one, "groupName")));
	mod_foreach (one, groups->ops)
		put_op(sent, one);
	return json_pack("{s:{s:o}}", "spec", "workerGroupSpecs", sent);
}

static rgp_status send_groups(
	const Groups *groups, const KubeApi *api, const KubeId *id, const json_t *input)
{
	g_autofree char *url = kube_url(groups->call, api, id->space, id->name, KUBE_DRY_QUERY);
	json_auto_t *sent = sent_of(groups);
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = kube_patch(groups->call, "RayCluster.dryRun", url, "json-patch",
		groups->ops, KUBE_DRY, &answer);
	const KubeDryRun run = {.call = groups->call,
		.kind = KUBE_RAY_CLUSTER,
		.address = groups->address,
		.body = sent};
	return status == RGP_OK ? kube_dry_judge(&run, input, &answer) : status;
}

static rgp_status try_groups(Groups *groups, const json_t *input)
{
	const KubeCall *call = groups->call;
	KubeApi api;
	g_autofree char *name =
		g_strconcat(call->inst->config.namespace, "/", mod_str(input, "cluster"), NULL);
	if (!has_groups(groups) || creates_cluster(groups->creates))
		return RGP_OK;
	if (kube_api_of(call, KUBE_RAY_CLUSTER, &api) != RGP_OK)
		return RGP_FAIL;
	g_auto(KubeId) id = kube_id_parse(&api, name);
	ModFailure failure = {0};
	rgp_status status = kube_get(call, KUBE_RAY_CLUSTER, &api, &id, &groups->cluster, &failure);
	mod_failure_clear(&failure);
	json_auto_t *cluster = groups->cluster, *ops = groups->ops = json_array();
	if (status != RGP_OK || !cluster)
		return status;
	plan_groups(groups);
	return json_array_size(ops) ? send_groups(groups, &api, &id, input) : RGP_OK;
}

/* ---- other objects */

/* Pods with an old template are replaced without a write to their object. */
static bool writes(const json_t *update)
{
	mod_foreach (name, json_object_get(update, "changed"))
		if (!g_str_equal(json_string_value(name), "rollout"))
			return true;
	return false;
}

static rgp_status try_object(const KubeCall *call, const json_t *input, const json_t *update)
{
	const char *kind = mod_str(update, "kind");
	if (g_str_equal(kind, KUBE_GPU_NODES))
		return kube_warn_of_cuts(call, input, update);
	if (!kube_kind(kind) || !writes(update))
		return RGP_OK;
	json_t *body = NULL;
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = kube_update_try(call, kind, update, &body, &answer);
	json_auto_t *owned = body;
	const KubeDryRun run = {
		.call = call, .kind = kind, .address = mod_str(update, "address"), .body = owned};
	return status == RGP_OK ? kube_dry_judge(&run, input, &answer) : status;
}

rgp_status kube_dry_updates(const KubeCall *call, const json_t *input)
{
	const json_t *updates = json_object_get(input, "updates");
	Groups groups = {
		.call = call, .updates = updates, .creates = json_object_get(input, "creates")};
	rgp_status status = try_groups(&groups, input);
	mod_foreach (update, updates)
		if (status == RGP_OK)
			status = try_object(call, input, update);
	return status;
}
