#include "kubernetes/gpu_nodes.h"
#include "kubernetes/calls.h"

#define SELECTOR_NOTE KUBE_MARK "node-selector"

/* ---- reading */

static rgp_status on_nodes(void *data, const json_t *items)
{
	json_t *nodes = data;
	if (!items)
		json_array_clear(nodes);
	json_array_extend(nodes, mod_unconst(items));
	return RGP_OK;
}

/* The nodes that a query finds, a new reference; NULL with RGP_OK: `failure`. */
static rgp_status read_query(
	const KubeCall *call, const char *query, json_t **nodes, ModFailure *failure)
{
	g_autofree char *url = kube_url(call, &kube_nodes, NULL, NULL, query);
	json_auto_t *all = json_array();
	rgp_status status = kube_pages(call, "Node.list", url, false, on_nodes, all, failure);
	bool read = status == RGP_OK && failure->class_ == RGP_CLASS_OK;
	*nodes = read ? json_incref(all) : NULL;
	return status;
}

rgp_status kube_gpu_nodes_read(
	const KubeCall *call, const char *selector, json_t **nodes, ModFailure *failure)
{
	g_autofree char *escaped = g_uri_escape_string(selector, NULL, FALSE);
	g_autofree char *query = g_strconcat("labelSelector=", escaped, NULL);
	return read_query(call, query, nodes, failure);
}

static const char *selector_of(const json_t *node)
{
	return mod_str(mod_at(node, "/metadata/annotations"), SELECTOR_NOTE);
}

/* raygpu configured it, for a resource with this id and a cluster of this namespace. */
static bool is_marked(const KubeCall *call, const json_t *node, const char *id)
{
	const KubeMarks marks = kube_marks_read(node);
	return *marks.lineage && g_str_equal(selector_of(node), id) &&
	       g_str_equal(marks.space, call->inst->config.namespace);
}

/* Borrowed; NULL: none is. */
static const json_t *marked_of(const KubeCall *call, const json_t *nodes, const char *id)
{
	mod_foreach (node, nodes)
		if (is_marked(call, node, id))
			return node;
	return NULL;
}

/* ---- list and find */

typedef struct {
	const KubeCall *call;
	const char *cluster, *lineage, *token; /* "": any */
	bool any_lineage;
	json_t *ids, *page;
} Looking;

static void add_resource(const Looking *looking, const json_t *nodes, const char *id)
{
	const json_t *node = marked_of(looking->call, nodes, id);
	const KubeMarks marks = kube_marks_read(node);
	bool foreign = *looking->lineage && (!g_str_equal(marks.lineage, looking->lineage) ||
						    !g_str_equal(marks.cluster, looking->cluster));
	if (!node || (*looking->token && !g_str_equal(looking->token, marks.token)))
		return;
	json_t *resource = json_pack("{s:s, s:o, s:s, s:o}", "id", id, "attributes",
		kube_gpu_labels_of(nodes, id), "state", "present", "status",
		json_sprintf("%zu nodes", json_array_size(nodes)));
	if (!foreign && *marks.address)
		json_object_set_new(resource, "address", json_string(marks.address));
	if (*marks.token)
		json_object_set_new(resource, "token", json_string(marks.token));
	if (foreign || looking->any_lineage)
		json_object_set_new(resource, "lineage", json_string(marks.lineage));
	json_array_append_new(looking->page, resource);
}

static rgp_status report(const KubeCall *call, ModRestAnswer *answer)
{
	return kube_report(call, "Node.list", answer);
}

/* The ids that the cluster's marks on nodes name. */
static rgp_status find_marked(const Looking *looking)
{
	g_autofree char *query = kube_marks_selector(looking->cluster);
	g_auto(ModRestAnswer) answer = {0};
	json_t *nodes = NULL;
	rgp_status status = read_query(looking->call, query, &nodes, &answer.failure);
	json_auto_t *owned = nodes;
	if (status == RGP_OK && !owned)
		return report(looking->call, &answer);
	mod_foreach (node, owned)
		if (is_marked(looking->call, node, selector_of(node)))
			json_object_set_new(looking->ids, selector_of(node), json_true());
	return status;
}

static rgp_status look(const Looking *looking, const json_t *known)
{
	rgp_status status = find_marked(looking);
	mod_foreach (text, known)
		if (json_is_string(text))
			json_object_set_new(looking->ids, json_string_value(text), json_true());
	mod_foreach_member (id, value, looking->ids) {
		g_auto(ModRestAnswer) answer = {0};
		json_t *nodes = NULL;
		if (status == RGP_OK)
			status = kube_gpu_nodes_read(looking->call, id, &nodes, &answer.failure);
		json_auto_t *owned = nodes;
		if (status == RGP_OK && !owned)
			return report(looking->call, &answer);
		if (status == RGP_OK)
			add_resource(looking, owned, id);
	}
	return status;
}

static rgp_status observe(const KubeCall *call, const json_t *input, const char *token)
{
	const json_t *marks = json_object_get(input, "marks"), *named = marks ? marks : input;
	json_auto_t *ids = json_object(), *page = json_array();
	const Looking looking = {.call = call,
		.cluster = mod_str(named, "cluster"),
		.lineage = mod_str(named, "lineage"),
		.token = token,
		.any_lineage = json_is_null(json_object_get(named, "lineage")),
		.ids = ids,
		.page = page};
	const json_t *known = json_object_get(json_object_get(input, "known"), KUBE_GPU_NODES);
	rgp_status status = look(&looking, known);
	if (status == RGP_OK && json_array_size(page))
		status = mod_give(&call->talk, "page",
			json_pack("{s:s, s:O}", "kind", KUBE_GPU_NODES, "resources", page));
	return status;
}

rgp_status kube_gpu_nodes_list(const KubeCall *call, const json_t *input)
{
	return observe(call, input, "");
}

rgp_status kube_gpu_nodes_find(const KubeCall *call, const json_t *input)
{
	return observe(call, input, mod_str(input, "token"));
}

/* ---- writing */

/* Steals the body. */
static rgp_status patch_node(
	const KubeCall *call, const json_t *node, json_t *body, ModFailure *failure)
{
	json_auto_t *owned = body;
	g_autofree char *url = kube_url(call, &kube_nodes, NULL, kube_name_of(node),
		"fieldManager=" KUBE_MANAGER "&fieldValidation=Strict");
	g_auto(ModRestAnswer) answer = {0};
	json_object_set_new(
		json_object_get(owned, "metadata"), "uid", json_string(kube_uid_of(node)));
	rgp_status status =
		kube_patch(call, "Node.patch", url, "merge-patch", owned, KUBE_CHANGES, &answer);
	/* a node that is gone has nothing to configure */
	if (answer.failure.class_ != RGP_CLASS_GONE)
		mod_failure_copy(failure, &answer.failure);
	return status;
}

static bool is_taken(const json_t *node, const json_t *marks, ModFailure *failure)
{
	const KubeMarks there = kube_marks_read(node);
	if (!*there.lineage || g_str_equal(there.lineage, mod_str(marks, "lineage")))
		return false;
	mod_failure_set(failure, RGP_CLASS_CONFLICT, "AlreadyExists",
		"node %s is configured for the cluster %s with the lineage %s", kube_name_of(node),
		there.cluster, there.lineage);
	failure->definite = true;
	failure->hint = "use other nodes, or destroy that cluster first";
	return true;
}

/* All nodes can be configured. */
static bool check_nodes(
	const json_t *nodes, const char *id, const json_t *marks, ModFailure *failure)
{
	if (!json_array_size(nodes)) {
		mod_failure_set(failure, RGP_CLASS_INVALID, NULL, "no node has the labels %s", id);
		failure->definite = true;
		failure->hint = "`kubectl get nodes --show-labels` shows those of all nodes";
	}
	mod_foreach (node, nodes)
		if (is_taken(node, marks, failure))
			return false;
	return json_array_size(nodes) > 0;
}

rgp_status kube_gpu_nodes_create(const KubeCall *call, const json_t *input)
{
	const json_t *item = json_array_get(json_object_get(input, "items"), 0);
	const json_t *attributes = json_object_get(input, "attributes");
	g_autofree char *id = kube_selector_text(json_object_get(attributes, "selector"));
	ModFailure failure = {0};
	json_t *nodes = NULL;
	rgp_status status = kube_gpu_nodes_read(call, id, &nodes, &failure);
	json_auto_t *owned = nodes;
	if (status == RGP_OK && owned)
		check_nodes(owned, id, json_object_get(input, "marks"), &failure);
	mod_foreach (node, owned) {
		if (status != RGP_OK || failure.class_ != RGP_CLASS_OK)
			break;
		json_t *body = json_pack("{s:{s:o, s:{s:s}}}", "metadata", "labels",
			kube_gpu_labels_patch(node, json_object_get(attributes, "node_labels")),
			"annotations", SELECTOR_NOTE, id);
		kube_marks_put(body, input, call->inst->config.namespace);
		status = patch_node(call, node, body, &failure);
	}
	if (status == RGP_OK)
		status = kube_give(call, item, id, NULL, &failure);
	mod_failure_clear(&failure);
	return status;
}

/* Its marks for another node, as metadata, a new reference. */
static json_t *marks_for(const json_t *marked)
{
	json_t *metadata = json_pack("{s:{}, s:{}}", "labels", "annotations");
	static const char *const parts[] = {"labels", "annotations"};
	for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
		const json_t *all = json_object_get(json_object_get(marked, "metadata"), parts[i]);
		mod_foreach_member (key, value, all)
			if (g_str_has_prefix(key, KUBE_MARK))
				json_object_set(json_object_get(metadata, parts[i]), key, value);
	}
	return metadata;
}

/* The MIG manager acts when its label changes, and may miss one that is taken off and set at once.
 */
static bool is_stuck(const json_t *node, const json_t *wanted, ModFailure *failure)
{
	bool failed;
	g_autofree char *wrong = kube_gpu_labels_wrong(node, wanted, &failed);
	if (!wrong || !failed)
		return false;
	mod_failure_set(failure, RGP_CLASS_INVALID, "MigFailed", "node %s", wrong);
	failure->definite = true;
	failure->hint =
		"correct what the log of its MIG manager shows, take the label off with `kubectl "
		"label node NODE " KUBE_MIG_CONFIG "-`, and apply again";
	return true;
}

static rgp_status update_node(const KubeCall *call, const json_t *item, const json_t *node,
	const json_t *marked, ModFailure *failure)
{
	const json_t *wanted = json_object_get(json_object_get(item, "attributes"), "node_labels");
	if (is_stuck(node, wanted, failure))
		return RGP_OK;
	json_t *body = json_pack("{s:o}", "metadata", marks_for(marked));
	json_auto_t *labels = kube_gpu_labels_patch(node, wanted);
	json_object_update(json_object_get(json_object_get(body, "metadata"), "labels"), labels);
	if (mod_is_changed(item, "marks"))
		kube_marks_renew(body, item);
	return patch_node(call, node, body, failure);
}

rgp_status kube_gpu_nodes_update(const KubeCall *call, const json_t *item)
{
	const char *id = mod_str(item, "id");
	ModFailure failure = {0};
	json_t *nodes = NULL;
	rgp_status status = kube_gpu_nodes_read(call, id, &nodes, &failure);
	json_auto_t *owned = nodes;
	const json_t *marked = marked_of(call, owned, id);
	if (status == RGP_OK && owned && !marked)
		mod_failure_set(&failure, RGP_CLASS_GONE, NULL,
			"no node with the labels %s is configured by raygpu", id);
	mod_foreach (node, owned)
		if (status == RGP_OK && failure.class_ == RGP_CLASS_OK)
			status = update_node(call, item, node, marked, &failure);
	if (status == RGP_OK)
		status = kube_give(call, item, id, NULL, &failure);
	mod_failure_clear(&failure);
	return status;
}

/* Only the marks: another configuration would end what runs on the GPUs, for anyone who uses the
 * nodes next. */
rgp_status kube_gpu_nodes_remove(const KubeCall *call, const json_t *item)
{
	const char *id = mod_str(item, "id");
	ModFailure failure = {0};
	json_t *nodes = NULL;
	rgp_status status = kube_gpu_nodes_read(call, id, &nodes, &failure);
	json_auto_t *owned = nodes;
	mod_foreach (node, owned) {
		if (status != RGP_OK || failure.class_ != RGP_CLASS_OK ||
			!is_marked(call, node, id))
			continue;
		json_t *metadata = marks_for(node);
		mod_foreach_member (name, part, metadata)
			mod_foreach_member (key, value, part)
				json_object_set_new(part, key, json_null());
		status = patch_node(call, node, json_pack("{s:o}", "metadata", metadata), &failure);
	}
	if (status == RGP_OK)
		status = kube_give(call, item, id, NULL, &failure);
	mod_failure_clear(&failure);
	return status;
}

/* ---- ready */

rgp_status kube_gpu_nodes_ready(const KubeCall *call, const json_t *item)
{
	const char *id = mod_str(item, "id");
	const json_t *wanted = json_object_get(json_object_get(item, "recorded"), "node_labels");
	g_auto(ModRestAnswer) answer = {0};
	json_t *nodes = NULL;
	rgp_status status = kube_gpu_nodes_read(call, id, &nodes, &answer.failure);
	json_auto_t *owned = nodes;
	if (status != RGP_OK)
		return status;
	if (!owned)
		return mod_give_failed(
			&call->talk, mod_str(item, "address"), NULL, &answer.failure);
	mod_foreach (node, owned) {
		bool failed;
		g_autofree char *wrong = kube_gpu_labels_wrong(node, wanted, &failed);
		if (!wrong)
			continue;
		mod_failure_set(&answer.failure, failed ? RGP_CLASS_INVALID : RGP_CLASS_TRANSIENT,
			failed ? "MigFailed" : NULL, "node %s", wrong);
		answer.failure.hint = "the log of the GPU Operator's MIG manager on the node has "
				      "the reason; pods that use its GPUs must end first";
		return failed ? mod_give_failed(
					&call->talk, mod_str(item, "address"), id, &answer.failure)
			      : mod_give_pending(
					&call->talk, mod_str(item, "address"), id, &answer.failure);
	}
	return mod_give_item(&call->talk, mod_str(item, "address"), "done", id, NULL);
}
