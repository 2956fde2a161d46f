/* resolve: there are no images, zones or networks to look up. What the nodes have is said, not
 * decided: an autoscaler may add nodes of other kinds. */
#include "kubernetes/calls.h"
#include "kubernetes/nodes.h"

static json_t *images_of(const json_t *input)
{
	json_t *images = json_object();
	mod_foreach (image, json_object_get(input, "images"))
		json_object_set_new(
			images, mod_str(image, "key"), json_pack("{s:s}", "id", "none"));
	return images;
}

static void say(const KubeCall *call, int32_t severity, const char *summary, const char *hint)
{
	const struct rgp_diag diag = {
		.size = sizeof diag, .severity = severity, .summary = summary, .hint = hint};
	call->talk.host->diag(call->talk.call, &diag);
}

/* "A100-80GB:8": the model, g_free, and the number; NULL: a shape without GPUs. */
static char *split_shape(const char *shape, int64_t *gpus)
{
	const char *colon = strrchr(shape, ':');
	*gpus = colon ? g_ascii_strtoll(colon + 1, NULL, 10) : 0;
	return *gpus > 0 ? g_strndup(shape, (gsize)(colon - shape)) : NULL;
}

/* "an" before letters whose names begin with a vowel: an A100, an L4, a T4. */
static const char *article(const char *model)
{
	return strchr("AEFHILMNORSX", *model) ? "an" : "a";
}

static void check_shape(const KubeCall *call, const json_t *facts, const char *shape)
{
	int64_t gpus;
	g_autofree char *model = split_shape(shape, &gpus);
	int64_t most = model ? mod_int(json_object_get(facts, "models"), model) : 0;
	if (!model || most >= gpus)
		return;
	g_autofree char *summary =
		most ? g_strdup_printf("no node of the cluster has %d GPUs of the model %s: the "
				       "largest has %d",
			       (int)gpus, model, (int)most)
		     : g_strdup_printf("no node of the cluster has %s %s", article(model), model);
	say(call, 1, summary,
		"pods of this shape wait until there is a node that fits; ignore this if nodes are "
		"added on demand");
}

static rgp_status check_nodes(const KubeCall *call, const json_t *input)
{
	json_t *facts = NULL;
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = kube_nodes_read(call, &facts, &answer.failure);
	json_auto_t *owned = facts;
	if (status != RGP_OK)
		return status;
	if (answer.failure.class_ == RGP_CLASS_DENIED && answer.failure.code &&
		g_str_equal(answer.failure.code, "Forbidden")) {
		say(call, 2,
			"the nodes of the cluster were not checked: the credentials may not list "
			"nodes",
			NULL);
		return RGP_OK;
	}
	if (answer.failure.class_ != RGP_CLASS_OK)
		return kube_report(call, "Node.list", &answer);
	mod_foreach (shape, json_object_get(input, "instance_types"))
		if (json_is_string(shape))
			check_shape(call, owned, json_string_value(shape));
	return RGP_OK;
}

rgp_status kube_resolve(const KubeCall *call, const json_t *input)
{
	rgp_status status = json_array_size(json_object_get(input, "instance_types"))
				    ? check_nodes(call, input)
				    : RGP_OK;
	if (status != RGP_OK)
		return status;
	json_t *facts = json_pack("{s:o, s:{}}", "images", images_of(input), "offerings");
	if (json_is_true(json_object_get(input, "place")))
		json_object_set_new(facts, "module",
			json_pack("{s:s}", "namespace", call->inst->config.namespace));
	return mod_give(&call->talk, "facts", facts);
}
