/* preflight of gpu_nodes: GPUs can only be cut while no pod uses them. */
#include "kubernetes/gpu_nodes.h"
#include "kubernetes/pods.h"
#include "kubernetes/preflight.h"

#define SHOWN 5 /* nodes in a text */

typedef struct {
	GString *nodes; /* "gpu-1 (all-1g.5gb), gpu-2 (not cut)" */
	size_t count;
	int64_t pods; /* of this cluster */
} Cuts;

/* Workers of this cluster on the node, as the list of this run showed them. */
static int64_t pods_on(const json_t *seen, const char *node)
{
	int64_t n = 0;
	mod_foreach_member (group, pods, json_object_get(seen, "pods"))
		if (!g_str_equal(group, KUBE_HEAD_GROUP))
			n += mod_int(json_object_get(pods, "nodes"), node);
	return n;
}

static void add_node(Cuts *cuts, const json_t *node, const json_t *seen, const char *wanted)
{
	const char *now = mod_str(mod_at(node, "/metadata/labels"), KUBE_MIG_CONFIG);
	if (!*wanted || g_str_equal(now, wanted))
		return;
	if (cuts->count++ < SHOWN)
		g_string_append_printf(cuts->nodes, "%s%s (%s)", cuts->nodes->len ? ", " : "",
			kube_name_of(node), *now ? now : "not cut");
	cuts->pods += pods_on(seen, kube_name_of(node));
}

static rgp_status give_cuts(
	const KubeCall *call, const Cuts *cuts, const char *address, const char *wanted)
{
	g_autofree char *more = cuts->count > SHOWN
					? g_strdup_printf(" and %zu more", cuts->count - SHOWN)
					: g_strdup("");
	g_autofree char *message = g_strdup_printf(
		"the GPUs of %s%s are cut to %s: the MIG manager fails while pods use them",
		cuts->nodes->str, more, wanted);
	g_autofree char *detail = g_strdup_printf(
		"%d pods of this cluster run there; raygpu does not end them for it",
		(int)cuts->pods);
	const ModFinding finding = {.severity = cuts->pods ? "warning" : "note",
		.class_ = RGP_CLASS_INVALID,
		.detail = cuts->pods ? detail : NULL,
		.hint = cuts->pods ? "apply it without the pool first, then with it" : NULL,
		.address = address};
	return mod_give_finding(&call->talk, &finding, message);
}

rgp_status kube_warn_of_cuts(const KubeCall *call, const json_t *input, const json_t *change)
{
	const json_t *attributes = json_object_get(change, "attributes"), *addresses;
	const char *wanted = mod_str(json_object_get(attributes, "node_labels"), KUBE_MIG_CONFIG);
	g_autofree char *selector = kube_selector_text(json_object_get(attributes, "selector"));
	g_autofree char *name =
		g_strconcat(call->inst->config.namespace, "/", mod_str(input, "cluster"), NULL);
	json_auto_t *seen = kube_seen_get(call, name);
	ModFailure failure = {0};
	json_t *nodes = NULL;
	rgp_status status = kube_gpu_nodes_read(call, selector, &nodes, &failure);
	json_auto_t *owned = nodes;
	mod_failure_clear(&failure); /* then the change itself reports it */
	g_autoptr(GString) names = g_string_new(NULL);
	Cuts cuts = {.nodes = names};
	mod_foreach (node, owned)
		add_node(&cuts, node, seen, wanted);
	addresses = json_object_get(change, "addresses");
	const char *address = addresses ? json_string_value(json_array_get(addresses, 0))
					: mod_str(change, "address");
	return status == RGP_OK && cuts.count ? give_cuts(call, &cuts, address, wanted) : status;
}
