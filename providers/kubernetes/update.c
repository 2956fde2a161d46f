/* update: worker groups by JSON Patch (groups.c), everything else by server-side apply, unforced.
 * What apply leaves behind, because the object was created by a POST, goes by a merge patch. */
#include <string.h>
#include "kubernetes/calls.h"
#include "kubernetes/gpu_nodes.h"
#include "kubernetes/pods.h"
#include "kubernetes/preflight.h"

/* ---- what is applied */

/* Without what others own: the worker groups, and the data of a Secret. */
static json_t *body_of(
	const char *kind, const KubeApi *api, const json_t *attributes, const char *uid)
{
	json_t *body = kube_manifest_of(kind, api, attributes);
	json_object_del(json_object_get(body, "spec"), "workerGroupSpecs");
	json_object_del(body, "stringData");
	/* the lease is one of several annotations: without it the others stay */
	json_t *metadata = json_object_get(body, "metadata");
	if (g_str_equal(kind, KUBE_RAY_CLUSTER) && !json_object_get(metadata, "annotations"))
		json_object_set_new(metadata, "annotations", json_object());
	if (*uid) /* 409 if it is another object */
		json_object_set_new(json_object_get(body, "metadata"), "uid", json_string(uid));
	return body;
}

/* Members that the last apply wrote, and this one leaves out, as a merge patch (RFC 7386); lists
 * whose length differs as a whole. NULL: there are none. A new reference. */
static json_t *leftovers(const json_t *wanted, const json_t *before, const json_t *there)
{
	json_t *patch = json_object();
	mod_foreach_member (key, value, there) {
		json_t *want = json_object_get(wanted, key), *was = json_object_get(before, key);
		if (!want && was)
			json_object_set_new(patch, key, json_null());
		else if (json_is_array(want) && json_array_size(want) != json_array_size(value))
			json_object_set(patch, key, want);
		else if (json_is_object(want) && json_is_object(value))
			json_object_set_new(patch, key, leftovers(want, was, value));
		if (!json_object_get(patch, key))
			json_object_del(patch, key);
	}
	if (json_object_size(patch))
		return patch;
	json_decref(patch);
	return NULL;
}

/* Conflicts only with what raygpu's own POST wrote. */
static bool is_own_conflict(const ModRestAnswer *answer)
{
	const json_t *causes = mod_at(answer->body, "/details/causes");
	if (g_strcmp0(answer->failure.code, "FieldManagerConflict"))
		return false;
	mod_foreach (cause, causes)
		if (!g_str_has_prefix(
			    mod_str(cause, "message"), "conflict with \"" KUBE_MANAGER "\""))
			return false;
	return true;
}

typedef struct {
	const KubeCall *call;
	const char *kind;
	const KubeApi *api;
	const KubeId *id;
	bool force; /* takes over fields of other managers */
	bool dry;
} Target;

static rgp_status patch_target(const Target *target, const char *type, const json_t *body,
	bool force, ModRestAnswer *answer)
{
	g_autofree char *query = g_strconcat("fieldManager=" KUBE_MANAGER "&fieldValidation=Strict",
		target->dry ? "&dryRun=All" : "",
		g_str_equal(type, "apply-patch") ? force ? "&force=true" : "&force=false" : "",
		NULL);
	g_autofree char *url =
		kube_url(target->call, target->api, target->id->space, target->id->name, query);
	g_autofree char *what = kube_what(target->kind, "patch");
	bool secret = g_str_equal(target->kind, KUBE_SECRET);
	return kube_patch(target->call, what, url, type, body,
		(secret ? KUBE_SECRET_BODY : 0) | (target->dry ? KUBE_DRY : 0), answer);
}

static rgp_status apply(const Target *target, const json_t *body, ModRestAnswer *answer)
{
	rgp_status status = patch_target(target, "apply-patch", body, false, answer);
	if (status == RGP_OK && !g_strcmp0(answer->failure.code, "FieldManagerConflict") &&
		(target->force || is_own_conflict(answer)))
		status = patch_target(target, "apply-patch", body, true, answer);
	return status;
}

/* The object's parts that a manifest has. */
static json_t *parts_of(const json_t *object, const json_t *body)
{
	json_t *parts = json_object();
	mod_foreach_member (key, value, body)
		if (strcmp(key, "metadata"))
			json_object_set(parts, key, json_object_get(object, key));
	json_object_set_new(parts, "metadata",
		json_pack("{s:O*, s:O*}", "labels", mod_at(object, "/metadata/labels"),
			"annotations", mod_at(object, "/metadata/annotations")));
	return parts;
}

static rgp_status clean(
	const Target *target, const json_t *item, const json_t *body, ModRestAnswer *answer)
{
	json_auto_t *before =
		body_of(target->kind, target->api, json_object_get(item, "recorded"), "");
	json_auto_t *there = parts_of(answer->body, body);
	json_auto_t *patch = leftovers(body, before, there);
	if (!patch)
		return RGP_OK;
	/* the version that was just written: nobody has changed it since */
	const char *version = mod_str(json_object_get(answer->body, "metadata"), "resourceVersion");
	json_auto_t *guard = json_pack("{s:s}", "resourceVersion", version);
	if (json_object_get(patch, "metadata"))
		json_object_update(json_object_get(patch, "metadata"), guard);
	else
		json_object_set(patch, "metadata", guard);
	return patch_target(target, "merge-patch", patch, false, answer);
}

/* ---- the head */

#define ROLLING "rolling"

static rgp_status give_rolling(const KubeCall *call, const json_t *item)
{
	return mod_give(&call->talk, "item",
		json_pack("{s:s, s:s, s:s, s:s, s:s}", "address", mod_str(item, "address"),
			"outcome", "pending", "id", mod_str(item, "id"), "message",
			"the head's pod runs the old template", "operation", ROLLING));
}

static rgp_status roll_head(
	const KubeCall *call, const json_t *cluster, bool *done, ModFailure *failure)
{
	json_t *pods = NULL;
	*done = true;
	if (kube_is_queued(cluster))
		return RGP_OK;
	rgp_status status = kube_pods_read(call, cluster, &pods, failure);
	json_auto_t *owned = pods;
	if (status != RGP_OK || failure->class_ != RGP_CLASS_OK)
		return status;
	return kube_roll(call, cluster, owned, KUBE_HEAD_GROUP, 1, done, failure);
}

/* ---- items */

static rgp_status give_updated(const Target *target, const json_t *item, ModRestAnswer *answer)
{
	bool done = true;
	rgp_status status = RGP_OK;
	bool ray = g_str_equal(target->kind, KUBE_RAY_CLUSTER);
	if (answer->failure.class_ == RGP_CLASS_OK && ray)
		status = roll_head(target->call, answer->body, &done, &answer->failure);
	if (status != RGP_OK)
		return status;
	if (answer->failure.class_ == RGP_CLASS_OK && !done)
		return give_rolling(target->call, item);
	json_t *computed = json_pack("{s:s}", "uid", kube_uid_of(answer->body));
	if (ray)
		json_object_set_new(computed, "rollout", json_string(KUBE_ROLLED));
	return kube_give(target->call, item, mod_str(item, "id"), computed, &answer->failure);
}

static rgp_status update_one(
	const KubeCall *call, const json_t *input, const char *kind, const json_t *item)
{
	KubeApi api;
	if (g_str_equal(kind, KUBE_GPU_NODES))
		return kube_gpu_nodes_update(call, item);
	if (kube_api_of(call, kind, &api) != RGP_OK)
		return RGP_FAIL;
	g_auto(KubeId) id = kube_id_parse(&api, mod_str(item, "id"));
	const Target target = {
		call, kind, &api, &id, json_is_true(json_object_get(input, "force")), false};
	const json_t *seen = json_object_get(item, "observed");
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status;
	if (g_str_equal(mod_str(item, "operation"), ROLLING)) {
		status = kube_get(call, kind, &api, &id, &answer.body, &answer.failure);
		if (status == RGP_OK && !answer.body && answer.failure.class_ == RGP_CLASS_OK)
			mod_failure_set(&answer.failure, RGP_CLASS_GONE, NULL, "there is no %s",
				mod_str(item, "id"));
		return status == RGP_OK ? give_updated(&target, item, &answer) : status;
	}
	json_auto_t *body =
		body_of(kind, &api, json_object_get(item, "attributes"), mod_str(seen, "uid"));
	if (mod_is_changed(item, "marks"))
		kube_marks_renew(body, item);
	status = apply(&target, body, &answer);
	if (status == RGP_OK && answer.failure.class_ == RGP_CLASS_OK)
		status = clean(&target, item, body, &answer);
	return status == RGP_OK ? give_updated(&target, item, &answer) : status;
}

rgp_status kube_update_try(const KubeCall *call, const char *kind, const json_t *item,
	json_t **body, ModRestAnswer *answer)
{
	KubeApi api;
	if (kube_api_of(call, kind, &api) != RGP_OK)
		return RGP_FAIL;
	g_auto(KubeId) id = kube_id_parse(&api, mod_str(item, "id"));
	const Target target = {.call = call, .kind = kind, .api = &api, .id = &id, .dry = true};
	json_auto_t *attributes = kube_without_expressions(json_object_get(item, "attributes"));
	*body = body_of(kind, &api, attributes, mod_str(json_object_get(item, "observed"), "uid"));
	return apply(&target, *body, answer);
}

rgp_status kube_update(const KubeCall *call, const json_t *input)
{
	return kube_each(call, input, kube_groups_update, update_one);
}
