/* list and find: reading calls. RayClusters and their worker groups are one list. */
#include "kubernetes/calls.h"
#include "kubernetes/gpu_nodes.h"
#include "kubernetes/pods.h"

#define PAGE 500

typedef struct {
	const KubeCall *call;
	const char *kind; /* of the objects */
	KubeApi api;
	GHashTable *seen; /* ids: pages may overlap while objects change */
	json_t *objects;  /* RayClusters, for their groups and pods */
	json_t *page;
	const char *page_kind;
	const char *cluster, *lineage, *token, *pool; /* "": any */
	bool any_lineage, by_label;
	bool clusters, groups; /* kinds to report */
	rgp_status status;
} Observing;

static void end_page(Observing *observing)
{
	json_t *page =
		json_pack("{s:s, s:O}", "kind", observing->page_kind, "resources", observing->page);
	if (observing->status == RGP_OK && json_array_size(observing->page))
		observing->status = mod_give(&observing->call->talk, "page", page);
	else
		json_decref(page);
	json_array_clear(observing->page);
}

/* Steals the resource. */
static void add(Observing *observing, const char *kind, json_t *resource)
{
	if (observing->page_kind != kind || json_array_size(observing->page) == PAGE)
		end_page(observing);
	observing->page_kind = kind;
	json_array_append_new(observing->page, resource);
}

static bool is_foreign(const Observing *observing, const KubeMarks *marks)
{
	return *observing->lineage && (!g_str_equal(marks->lineage, observing->lineage) ||
					      !g_str_equal(marks->cluster, observing->cluster));
}

static const char *status_of(const json_t *object)
{
	if (json_object_get(json_object_get(object, "metadata"), "deletionTimestamp"))
		return "deleting";
	if (kube_is_queued(object))
		return "queued";
	static const char *const names[] = {"state", "jobStatus", "jobDeploymentStatus"};
	const char *state = "";
	for (size_t i = 0; i < G_N_ELEMENTS(names) && !*state; i++)
		state = mod_str(json_object_get(object, "status"), names[i]);
	return *state ? state : "present";
}

/* The members that every resource of an object has. Steals the attributes. */
static json_t *resource_of(const Observing *observing, const json_t *object, const char *group,
	const char *address, json_t *attributes)
{
	const KubeMarks marks = kube_marks_read(object);
	bool foreign = is_foreign(observing, &marks);
	g_autofree char *id = kube_id_of(&observing->api, object, group);
	json_t *resource = json_pack("{s:s, s:o, s:s, s:s}", "id", id, "attributes", attributes,
		"state", "present", "status", status_of(object));
	if (!foreign && *address)
		json_object_set_new(resource, "address", json_string(address));
	if (*marks.token)
		json_object_set_new(resource, "token", json_string(marks.token));
	if (*marks.lineage && (foreign || observing->any_lineage))
		json_object_set_new(resource, "lineage", json_string(marks.lineage));
	return resource;
}

/* ---- RayClusters */

static void add_nodes(json_t *resource, const json_t *pods, const char *group, const char *pool)
{
	g_autofree char *rollout = kube_pods_rollout(pods, group);
	json_object_set_new(resource, "nodes",
		json_pack("{s:I}", pool, (json_int_t)kube_pods_count(pods, group, "running")));
	json_object_set_new(
		json_object_get(resource, "attributes"), "rollout", json_string(rollout));
}

static void add_group(
	Observing *observing, const json_t *cluster, const json_t *group, const json_t *pods)
{
	const char *name = mod_str(group, "groupName");
	const KubeMarks marks = kube_marks_read(cluster);
	g_autofree char *address = g_strconcat(KUBE_WORKER_GROUP ".", name, NULL);
	if (*observing->pool && !g_str_equal(observing->pool, name))
		return;
	json_t *attributes = kube_group_from_api(group);
	json_object_set_new(attributes, "uid", json_string(kube_uid_of(cluster)));
	json_t *resource =
		resource_of(observing, cluster, name, *marks.lineage ? address : "", attributes);
	/* one that others added to our cluster is not of our create */
	if (!*kube_template_hash(json_object_get(group, "template")))
		json_object_del(resource, "token");
	add_nodes(resource, pods, name, name);
	add(observing, KUBE_WORKER_GROUP, resource);
}

static void set_queued(const KubeCall *call, const json_t *cluster, json_t *resource)
{
	g_autofree char *where = kube_queued_where(call, cluster);
	if (!where)
		return;
	json_object_set_new(resource, "state", json_string("queued"));
	json_object_set_new(resource, "status", json_string(where));
}

static rgp_status add_cluster(Observing *observing, const json_t *cluster)
{
	const KubeMarks marks = kube_marks_read(cluster);
	json_t *pods = NULL;
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = kube_pods_read(observing->call, cluster, &pods, &answer.failure);
	json_auto_t *owned = pods;
	if (status == RGP_OK && answer.failure.class_ != RGP_CLASS_OK)
		return kube_report(observing->call, "Pod.list", &answer);
	if (status != RGP_OK)
		return status;
	kube_seen_put(observing->call, cluster, owned);
	if (observing->clusters) {
		json_t *resource = resource_of(observing, cluster, NULL, marks.address,
			kube_attributes_of(observing->call, KUBE_RAY_CLUSTER, cluster));
		if (kube_is_queued(cluster) && json_object_get(resource, "address"))
			set_queued(observing->call, cluster, resource);
		add_nodes(resource, owned, KUBE_HEAD_GROUP, "head");
		add(observing, KUBE_RAY_CLUSTER, resource);
	}
	mod_foreach (group, mod_at(cluster, "/spec/workerGroupSpecs"))
		if (observing->groups)
			add_group(observing, cluster, group, owned);
	return observing->status;
}

/* ---- any object */

static bool is_wanted(const Observing *observing, const json_t *object)
{
	const KubeMarks marks = kube_marks_read(object);
	const char *space = observing->call->inst->config.namespace;
	if (!observing->by_label)
		return true;
	/* clusters of other namespaces may have the name */
	if (!*marks.lineage || (*marks.space && !g_str_equal(marks.space, space)))
		return false;
	return !*observing->token || g_str_equal(observing->token, marks.token);
}

/* KubeRay's states of a job that ended without success (RayJob, ray.io/v1). */
static void tell_failed_job(const Observing *observing, const json_t *job)
{
	static const char *const failed[] = {
		"FAILED", "STOPPED", "Failed", "ValidationFailed", NULL};
	const KubeMarks marks = kube_marks_read(job);
	const char *message = mod_str(json_object_get(job, "status"), "message");
	if (!g_strv_contains(failed, status_of(job)))
		return;
	g_autofree char *summary = g_strdup_printf("the job %s ended as %s%s%s", kube_name_of(job),
		status_of(job), *message ? ": " : "", message);
	g_autofree char *hint =
		g_strdup_printf("`raygpu apply --replace %s` runs it again", marks.address);
	const struct rgp_diag diag = {.size = sizeof diag,
		.severity = 2,
		.summary = summary,
		.hint = hint,
		.address = marks.address};
	observing->call->talk.host->diag(observing->call->talk.call, &diag);
}

static void on_object(Observing *observing, const json_t *object)
{
	char *id = kube_id_of(&observing->api, object, NULL);
	if (!is_wanted(observing, object) || !g_hash_table_add(observing->seen, id))
		return;
	if (g_str_equal(observing->kind, KUBE_RAY_CLUSTER)) {
		json_array_append(observing->objects, mod_unconst(object));
		return;
	}
	const KubeMarks marks = kube_marks_read(object);
	if (g_str_equal(observing->kind, KUBE_RAY_JOB))
		tell_failed_job(observing, object);
	add(observing, observing->kind,
		resource_of(observing, object, NULL, marks.address,
			kube_attributes_of(observing->call, observing->kind, object)));
}

static rgp_status on_objects(void *data, const json_t *items)
{
	Observing *observing = data;
	/* when the list starts again, `seen` keeps what was handed on */
	mod_foreach (object, items)
		on_object(observing, object);
	return observing->status;
}

static rgp_status report(const Observing *observing, const char *what, ModRestAnswer *answer)
{
	kube_explain_missing(&observing->api, &answer->failure);
	return kube_report(observing->call, what, answer);
}

static rgp_status list_marked(Observing *observing)
{
	const KubeCall *call = observing->call;
	g_autofree char *query = kube_marks_selector(observing->cluster);
	g_autofree char *url = kube_url(call, &observing->api, NULL, NULL, query);
	g_autofree char *what = kube_what(observing->kind, "list");
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = kube_pages(call, what, url, g_str_equal(observing->kind, KUBE_SECRET),
		on_objects, observing, &answer.failure);
	if (status == RGP_OK && answer.failure.class_ != RGP_CLASS_OK)
		return report(observing, what, &answer);
	return status;
}

/* Reads ids that the list did not show: they may have lost their labels. */
static rgp_status read_known(Observing *observing, const json_t *ids)
{
	rgp_status status = RGP_OK;
	observing->by_label = false;
	mod_foreach (value, ids) {
		g_auto(KubeId) id = kube_id_parse(
			&observing->api, json_is_string(value) ? json_string_value(value) : "");
		g_autofree char *object_id =
			id.space ? g_strconcat(id.space, "/", id.name, NULL) : g_strdup(id.name);
		json_t *object = NULL;
		g_auto(ModRestAnswer) answer = {0};
		if (status != RGP_OK || g_hash_table_contains(observing->seen, object_id))
			continue;
		status = kube_get(observing->call, observing->kind, &observing->api, &id, &object,
			&answer.failure);
		json_auto_t *owned = object;
		if (status == RGP_OK && answer.failure.class_ != RGP_CLASS_OK)
			return report(observing, object_id, &answer);
		if (owned)
			on_object(observing, owned);
	}
	return status;
}

static bool asks_for(const json_t *input, const char *kind)
{
	mod_foreach (name, json_object_get(input, "kinds"))
		if (json_is_string(name) && g_str_equal(json_string_value(name), kind))
			return true;
	return g_str_equal(mod_str(input, "kind"), kind);
}

static rgp_status run(Observing *observing, const json_t *input)
{
	static const char *const both[] = {KUBE_RAY_CLUSTER, KUBE_WORKER_GROUP};
	const json_t *known = json_object_get(input, "known");
	bool ray = g_str_equal(observing->kind, KUBE_RAY_CLUSTER);
	rgp_status status = kube_api_of(observing->call, observing->kind, &observing->api);
	if (status == RGP_OK)
		status = list_marked(observing);
	if (status == RGP_OK && !ray)
		status = read_known(observing, json_object_get(known, observing->kind));
	for (size_t i = 0; i < G_N_ELEMENTS(both) && ray && status == RGP_OK; i++)
		status = read_known(observing, json_object_get(known, both[i]));
	mod_foreach (cluster, observing->objects)
		if (status == RGP_OK)
			status = add_cluster(observing, cluster);
	end_page(observing);
	return status == RGP_OK ? observing->status : status;
}

/* One list over a kind, or over RayClusters with their groups. */
static rgp_status observe(const KubeCall *call, const json_t *input, const char *kind,
	const char *token, const char *pool)
{
	bool ray = g_str_equal(kind, KUBE_RAY_CLUSTER) || g_str_equal(kind, KUBE_WORKER_GROUP);
	const json_t *marks = json_object_get(input, "marks");
	const json_t *named = marks ? marks : input;
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	json_auto_t *objects = json_array(), *page = json_array();
	Observing observing = {.call = call,
		.kind = ray ? KUBE_RAY_CLUSTER : kind,
		.seen = seen,
		.objects = objects,
		.page = page,
		.page_kind = kind,
		.cluster = mod_str(named, "cluster"),
		.lineage = mod_str(named, "lineage"),
		.any_lineage = json_is_null(json_object_get(named, "lineage")),
		.token = token,
		.pool = pool,
		.by_label = true,
		.clusters = asks_for(input, KUBE_RAY_CLUSTER),
		.groups = asks_for(input, KUBE_WORKER_GROUP)};
	return run(&observing, input);
}

rgp_status kube_list(const KubeCall *call, const json_t *input)
{
	rgp_status status = RGP_OK;
	bool ray = false;
	mod_foreach (value, json_object_get(input, "kinds")) {
		const char *kind = json_is_string(value) ? json_string_value(value) : "";
		bool of_ray =
			g_str_equal(kind, KUBE_RAY_CLUSTER) || g_str_equal(kind, KUBE_WORKER_GROUP);
		if (status == RGP_OK && g_str_equal(kind, KUBE_GPU_NODES))
			status = kube_gpu_nodes_list(call, input);
		else if (status == RGP_OK && !(of_ray && ray))
			status = observe(call, input, kind, "", "");
		ray = ray || of_ray;
	}
	return status == RGP_OK ? mod_give_complete(&call->talk) : status;
}

/* A worker group has no token of its own when it came with its cluster: its name is unique there.
 */
rgp_status kube_find(const KubeCall *call, const json_t *input)
{
	const char *kind = mod_str(input, "kind");
	bool group = g_str_equal(kind, KUBE_WORKER_GROUP);
	const char *pool = mod_str(json_object_get(input, "marks"), "pool");
	rgp_status status =
		g_str_equal(kind, KUBE_GPU_NODES)
			? kube_gpu_nodes_find(call, input)
			: observe(call, input, kind, group ? "" : mod_str(input, "token"),
				  group ? pool : "");
	return status == RGP_OK ? mod_give_complete(&call->talk) : status;
}
