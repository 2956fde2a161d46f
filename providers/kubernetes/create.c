/* create: one POST. The name is the lock: who gets AlreadyExists looks whose object it is. */
#include "kubernetes/calls.h"
#include "kubernetes/gpu_nodes.h"
#include "kubernetes/pods.h"

#define CREATE_QUERY "fieldManager=" KUBE_MANAGER "&fieldValidation=Strict"

rgp_status kube_each(const KubeCall *call, const json_t *input, KubeGroupsFn groups, KubeOneFn one)
{
	const char *kind = mod_str(input, "kind");
	const json_t *items = json_object_get(input, "items");
	rgp_status status = RGP_OK;
	if (groups && g_str_equal(kind, KUBE_WORKER_GROUP))
		return groups(call, items);
	mod_foreach (item, items)
		if (status == RGP_OK)
			status = one(call, input, kind, item);
	return status;
}

/* The computed ones. */
static json_t *computed_of(const KubeCall *call, const char *kind, const json_t *object)
{
	static const char *const names[] = {"uid", "address", "service_name"};
	json_auto_t *attributes = kube_attributes_of(call, kind, object);
	json_t *computed = json_object();
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		if (json_object_get(attributes, names[i]))
			json_object_set(computed, names[i], json_object_get(attributes, names[i]));
	return computed;
}

static void explain_taken(
	const char *kind, const char *id, const json_t *object, ModFailure *failure)
{
	const KubeMarks marks = kube_marks_read(object);
	const char *api = kube_kind(kind)->api;
	if (*marks.lineage)
		mod_failure_set(failure, RGP_CLASS_CONFLICT, "AlreadyExists",
			"%s %s exists already: it belongs to the cluster %s with the lineage %s, "
			"which another copy of raygpu applied",
			api, id, marks.cluster, marks.lineage);
	else
		mod_failure_set(failure, RGP_CLASS_CONFLICT, "AlreadyExists",
			"%s %s exists already and has no ownership labels of raygpu", api, id);
	failure->definite = true;
	failure->hint =
		*marks.lineage ? "use the state of that run, or another cluster name"
			       : "`raygpu import` takes it over; or delete it, or use another name";
}

/* Its groups came with it: their creates need not read it again. */
static void remember(const KubeCall *call, const char *kind, const json_t *object)
{
	json_auto_t *pods = json_object();
	if (g_str_equal(kind, KUBE_RAY_CLUSTER))
		kube_seen_put(call, object, pods);
}

/* After a refusal, or an answer that was lost: what has the name now. */
static rgp_status settle(const KubeCall *call, const json_t *input, const KubeApi *api,
	const char *name, ModFailure *failure)
{
	const char *kind = mod_str(input, "kind");
	const json_t *item = json_array_get(json_object_get(input, "items"), 0);
	const json_t *marks = json_object_get(input, "marks");
	g_autofree char *id = api->namespaced
				      ? g_strconcat(call->inst->config.namespace, "/", name, NULL)
				      : g_strdup(name);
	g_auto(KubeId) parsed = kube_id_parse(api, id);
	ModFailure unread = {0};
	json_t *object = NULL;
	rgp_status status = kube_get(call, kind, api, &parsed, &object, &unread);
	json_auto_t *owned = object;
	mod_failure_clear(&unread);
	if (status != RGP_OK)
		return status;
	const KubeMarks there = kube_marks_read(owned);
	if (owned && g_str_equal(there.token, mod_str(input, "token")) &&
		g_str_equal(there.lineage, mod_str(marks, "lineage"))) {
		mod_failure_clear(failure);
		remember(call, kind, owned);
		return kube_give(call, item, id, computed_of(call, kind, owned), failure);
	}
	if (owned && !g_strcmp0(failure->code, "AlreadyExists"))
		explain_taken(kind, id, owned, failure);
	return kube_give(call, item, NULL, NULL, failure);
}

static rgp_status create_object(const KubeCall *call, const json_t *input)
{
	const char *kind = mod_str(input, "kind");
	const json_t *item = json_array_get(json_object_get(input, "items"), 0);
	const json_t *attributes = json_object_get(input, "attributes");
	bool secret = g_str_equal(kind, KUBE_SECRET);
	KubeApi api;
	if (kube_api_of(call, kind, &api) != RGP_OK)
		return RGP_FAIL;
	json_auto_t *body = kube_manifest_of(kind, &api, attributes);
	kube_marks_put(body, input, call->inst->config.namespace);
	g_autofree char *url = kube_url(call, &api, NULL, NULL, CREATE_QUERY);
	g_autofree char *what = kube_what(kind, "create");
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status =
		kube_post(call, what, url, body, secret ? KUBE_SECRET_BODY : KUBE_CHANGES, &answer);
	if (status != RGP_OK)
		return status;
	kube_explain_missing(&api, &answer.failure);
	if (answer.failure.class_ == RGP_CLASS_OK) {
		g_autofree char *id = kube_id_of(&api, answer.body, NULL);
		remember(call, kind, answer.body);
		return kube_give(
			call, item, id, computed_of(call, kind, answer.body), &answer.failure);
	}
	if (answer.failure.definite && g_strcmp0(answer.failure.code, "AlreadyExists"))
		return kube_give(call, item, NULL, NULL, &answer.failure);
	return settle(call, input, &api, kube_name_of(body), &answer.failure);
}

rgp_status kube_create(const KubeCall *call, const json_t *input)
{
	if (json_array_size(json_object_get(input, "items")) != 1 || !*mod_str(input, "token")) {
		mod_report_text(&call->talk, RGP_CLASS_INVALID, "create needs one item and a token",
			NULL, NULL);
		return RGP_FAIL;
	}
	if (g_str_equal(mod_str(input, "kind"), KUBE_GPU_NODES))
		return kube_gpu_nodes_create(call, input);
	return g_str_equal(mod_str(input, "kind"), KUBE_WORKER_GROUP)
		       ? kube_groups_create(call, input)
		       : create_object(call, input);
}
