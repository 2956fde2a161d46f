/* console: the logs of a node's pods (pods/log), the newest lines of each. A worker group has many.
 */
#include <string.h>
#include "kubernetes/calls.h"
#include "kubernetes/pods.h"

#define KEPT (64 * 1024) /* of all pods of an item */
#define LEAST 2048	 /* of one */
#define LINES 1000

/* Steals the text. */
static rgp_status give_text(const KubeCall *call, const json_t *item, GString *text)
{
	rgp_status status = mod_give(&call->talk, "item",
		json_pack("{s:s, s:s, s:s}", "address", mod_str(item, "address"), "outcome", "done",
			"text", text->str));
	g_string_free(text, TRUE);
	return status;
}

/* The end of a text, from the start of a line. */
static const char *tail_of(const char *text, size_t most)
{
	size_t len = strlen(text);
	const char *line = len > most ? strchr(text + len - most, '\n') : NULL;
	return len <= most ? text : line ? line + 1 : text + len - most;
}

/* A pod without a running container has no log; why is part of the text. */
static rgp_status add_pod(
	const KubeCall *call, const KubeId *id, const char *pod, size_t most, GString *text)
{
	g_autofree char *query = g_strdup_printf(
		"container=%s&tailLines=%d", id->group ? "ray-worker" : "ray-head", LINES);
	g_autofree char *base = kube_url(call, &kube_pods, id->space, pod, NULL);
	g_autofree char *url = g_strconcat(base, "/log?", query, NULL);
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = kube_read_text(call, "Pod.log", url, &answer);
	if (status != RGP_OK)
		return status;
	g_string_append_printf(text, "==> %s <==\n", pod);
	if (answer.failure.class_ != RGP_CLASS_OK)
		g_string_append_printf(text, "no log: %s\n", answer.failure.message);
	else
		g_string_append(
			text, tail_of(answer.body ? json_string_value(answer.body) : "", most));
	if (text->str[text->len - 1] != '\n')
		g_string_append_c(text, '\n');
	return RGP_OK;
}

static rgp_status console_of_pods(
	const KubeCall *call, const json_t *item, const KubeId *id, const json_t *group)
{
	const json_t *names = json_object_get(group, "names"), *name;
	size_t most = KEPT / MAX(1, json_array_size(names)), i, shown = KEPT / LEAST;
	GString *text = g_string_new(NULL);
	rgp_status status = RGP_OK;
	json_array_foreach (names, i, name)
		if (status == RGP_OK && i < shown)
			status = add_pod(call, id, json_string_value(name), MAX(most, LEAST), text);
	if (json_array_size(names) > shown)
		g_string_append_printf(text,
			"%zu more pods are not shown: `kubectl logs` prints them\n",
			json_array_size(names) - shown);
	if (status == RGP_OK)
		return give_text(call, item, text);
	g_string_free(text, TRUE);
	return status;
}

static rgp_status console_one(
	const KubeCall *call, const json_t *input, const char *kind, const json_t *item)
{
	KubeApi api;
	json_t *cluster = NULL, *pods = NULL;
	g_auto(ModRestAnswer) answer = {0};
	if (kube_api_of(call, kind, &api) != RGP_OK)
		return RGP_FAIL;
	g_auto(KubeId) id = kube_id_parse(&api, mod_str(item, "id"));
	rgp_status status = kube_get(call, KUBE_RAY_CLUSTER, &api, &id, &cluster, &answer.failure);
	json_auto_t *owned = cluster;
	if (status == RGP_OK && owned)
		status = kube_pods_read(call, owned, &pods, &answer.failure);
	json_auto_t *groups = pods;
	if (status != RGP_OK)
		return status;
	if (!owned && answer.failure.class_ == RGP_CLASS_OK)
		mod_failure_set(&answer.failure, RGP_CLASS_GONE, NULL, "there is no RayCluster %s",
			mod_str(item, "id"));
	if (answer.failure.class_ != RGP_CLASS_OK)
		return mod_give_failed(
			&call->talk, mod_str(item, "address"), NULL, &answer.failure);
	const char *group = id.group ? id.group : KUBE_HEAD_GROUP;
	return console_of_pods(call, item, &id, json_object_get(groups, group));
}

rgp_status kube_console(const KubeCall *call, const json_t *input)
{
	return kube_each(call, input, NULL, console_one);
}
