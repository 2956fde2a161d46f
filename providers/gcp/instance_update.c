/* Changes of instances in place: each is sent for all items that need it, concurrently. */
#include <string.h>
#include "gcp/instance.h"

#define FINGERPRINT "metadata_fingerprint"

/* A change, sent for all items that need it. */
typedef struct {
	const char *what, *suffix;
	/* the body, a new reference; null: without one; NULL: this item does not need the change */
	json_t *(*body)(const GcpCall *call, const json_t *item, const json_t *record);
	char *(*query)(const json_t *record); /* or NULL; g_free */
	/* Is it done? NULL: when there is nothing to change any more */
	bool (*is_done)(const json_t *before, const json_t *now);
} Step;

static rgp_status read_records(const GcpCall *call, const json_t *items, json_t *records)
{
	rgp_status status = gcp_instance_records(call, items, records);
	return status == RGP_OK ? gcp_lease_read_metadata(call, items, records) : status;
}

static json_t *labels_body(const GcpCall *call, const json_t *item, const json_t *record)
{
	const json_t *there = json_object_get(record, "labels");
	if (!mod_is_changed(item, "labels") && !mod_is_changed(item, "marks") &&
		!mod_is_changed(item, "expires"))
		return NULL;
	json_auto_t *labels = gcp_labels_merged(GCP_INSTANCE, item, there);
	if (mod_is_changed(item, "expires"))
		gcp_lease_set_label(json_object_get(item, "attributes"), labels);
	return json_equal(labels, there)
		       ? NULL
		       : json_pack("{s:O, s:s}", "labels", labels, "labelFingerprint",
				 mod_str(record, "labelFingerprint"));
}

static json_t *tags_body(const GcpCall *call, const json_t *item, const json_t *record)
{
	const json_t *wanted = json_object_get(json_object_get(item, "attributes"), "network_tags");
	const json_t *tags = json_object_get(record, "tags");
	const char *renewed = mod_str(json_object_get(item, "marks"), "lineage");
	const char *there = mod_str(json_object_get(record, "labels"), GCP_MARK_PREFIX "lineage");
	if (!mod_is_changed(item, "network_tags"))
		return NULL;
	json_auto_t *items = gcp_tags_write(wanted, *renewed ? renewed : there);
	return json_equal(items, json_object_get(tags, "items"))
		       ? NULL
		       : json_pack("{s:O, s:s}", "items", items, "fingerprint",
				 mod_str(tags, "fingerprint"));
}

static const json_t *access_of(const json_t *record)
{
	const json_t *first = json_array_get(json_object_get(record, "networkInterfaces"), 0);
	return json_array_get(json_object_get(first, "accessConfigs"), 0);
}

static bool wants_public(const json_t *item)
{
	return json_is_true(json_object_get(json_object_get(item, "attributes"), "public_ip"));
}

static char *interface_query(const json_t *record)
{
	const json_t *first = json_array_get(json_object_get(record, "networkInterfaces"), 0);
	g_autofree char *name = gcp_escape(mod_str(first, "name"));
	return g_strconcat("?networkInterface=", *name ? name : "nic0", NULL);
}

static json_t *add_access_body(const GcpCall *call, const json_t *item, const json_t *record)
{
	if (!mod_is_changed(item, "public_ip") || !wants_public(item) || access_of(record))
		return NULL;
	return json_pack("{s:s, s:s}", "type", "ONE_TO_ONE_NAT", "name", "External NAT");
}

static json_t *delete_access_body(const GcpCall *call, const json_t *item, const json_t *record)
{
	bool needed = mod_is_changed(item, "public_ip") && !wants_public(item) && access_of(record);
	return needed ? json_null() : NULL;
}

static char *delete_access_query(const json_t *record)
{
	g_autofree char *interface = interface_query(record);
	g_autofree char *name = gcp_escape(mod_str(access_of(record), "name"));
	return g_strconcat(interface, "&accessConfig=", name, NULL);
}

static bool changes_metadata(const json_t *item)
{
	return mod_is_changed(item, FINGERPRINT) || mod_is_changed(item, "expires");
}

/* All of it is sent: what others added, such as ssh keys, is removed. */
static json_t *metadata_body(const GcpCall *call, const json_t *item, const json_t *record)
{
	if (mod_is_release(item))
		return gcp_lease_removed(record);
	if (!changes_metadata(item))
		return NULL;
	json_t *metadata = gcp_instance_metadata(call, json_object_get(item, "attributes"));
	json_object_set_new(metadata, "fingerprint",
		json_string(mod_str(json_object_get(record, "metadata"), "fingerprint")));
	return metadata;
}

/* The fingerprint is the metadata's version. */
static bool metadata_is_done(const json_t *before, const json_t *now)
{
	const char *old = mod_str(json_object_get(before, "metadata"), "fingerprint");
	return strcmp(old, mod_str(json_object_get(now, "metadata"), "fingerprint"));
}

static bool has_status(const json_t *record, const char *status)
{
	return g_str_equal(mod_str(record, "status"), status);
}

/* A stopped instance is TERMINATED; the API's description also has STOPPED. */
static json_t *start_body(const GcpCall *call, const json_t *item, const json_t *record)
{
	bool stopped = has_status(record, "TERMINATED") || has_status(record, "STOPPED");
	return mod_is_changed(item, "instance_state") && stopped ? json_null() : NULL;
}

static json_t *resume_body(const GcpCall *call, const json_t *item, const json_t *record)
{
	bool suspended = has_status(record, "SUSPENDED");
	return mod_is_changed(item, "instance_state") && suspended ? json_null() : NULL;
}

/* Before, it is only being provisioned, and may stop again for lack of capacity. */
static bool is_running(const json_t *before, const json_t *now)
{
	return has_status(now, "RUNNING");
}

/* The metadata before the label that shows the lease, and before the node starts. */
static const Step steps[] = {
	{"instances.setMetadata", "/setMetadata", metadata_body, NULL, metadata_is_done},
	{"instances.setLabels", "/setLabels", labels_body},
	{"instances.setTags", "/setTags", tags_body},
	{"instances.addAccessConfig", "/addAccessConfig", add_access_body, interface_query},
	{"instances.deleteAccessConfig", "/deleteAccessConfig", delete_access_body,
		delete_access_query},
	{"instances.start", "/start", start_body, NULL, is_running},
	{"instances.resume", "/resume", resume_body, NULL, is_running},
};

/* An update in progress: one slot per item. */
typedef struct {
	const GcpCall *call;
	const json_t *items;
	json_t *records;      /* {id: record} */
	ModFailure *failures; /* class_ OK: no failure so far */
	GArray *members;      /* size_t: those that the current step changes */
	const Step *step;     /* the current one */
} Update;

static const json_t *record_of(const Update *update, size_t member)
{
	return json_object_get(
		update->records, mod_str(json_array_get(update->items, member), "id"));
}

/* The requests of one step, for the items that need it and have not failed. */
typedef struct {
	GArray *requests; /* ModRestRequest */
	GPtrArray *urls, *bodies;
} Batch;

static void batch_clear(Batch *batch)
{
	g_array_unref(batch->requests);
	g_ptr_array_unref(batch->urls);
	g_ptr_array_unref(batch->bodies);
}

static Batch make_batch(Update *update)
{
	const Step *step = update->step;
	Batch batch = {g_array_new(FALSE, FALSE, sizeof(ModRestRequest)),
		g_ptr_array_new_with_free_func(g_free),
		g_ptr_array_new_with_free_func((GDestroyNotify)json_decref)};
	g_array_set_size(update->members, 0);
	for (size_t i = 0; i < json_array_size(update->items); i++) {
		const json_t *item = json_array_get(update->items, i);
		const json_t *record = record_of(update, i);
		json_t *body = record && update->failures[i].class_ == RGP_CLASS_OK
				       ? step->body(update->call, item, record)
				       : NULL;
		if (!body)
			continue;
		g_autofree char *base = gcp_instance_url(update->call, mod_str(item, "id"));
		g_autofree char *query = step->query ? step->query(record) : g_strdup("");
		g_ptr_array_add(batch.urls, g_strconcat(base, step->suffix, query, NULL));
		g_ptr_array_add(batch.bodies, body);
		ModRestRequest request = gcp_change(update->call, step->what, "POST",
			batch.urls->pdata[batch.urls->len - 1], json_is_null(body) ? NULL : body);
		g_array_append_val(batch.requests, request);
		g_array_append_val(update->members, i);
	}
	return batch;
}

static bool is_applied(void *data, size_t member, const json_t *now)
{
	const Update *update = data;
	const Step *step = update->step;
	if (step->is_done)
		return step->is_done(record_of(update, member), now);
	json_t *body = step->body(update->call, json_array_get(update->items, member), now);
	json_decref(body);
	return !body;
}

/* All items' requests of the current step concurrently, then their operations. */
static rgp_status run_step(Update *update)
{
	const GcpCall *call = update->call;
	Batch batch = make_batch(update);
	guint n = batch.requests->len;
	g_autofree ModRestAnswer *answers = g_new0(ModRestAnswer, n + 1);
	g_autoptr(GArray) begun = g_array_new(FALSE, FALSE, sizeof(GcpBegun));
	rgp_status status = mod_rest_send_all(&call->talk, &call->inst->rest,
		(const ModRestRequest *)(const void *)batch.requests->data, n, answers);
	for (guint i = 0; i < n && status == RGP_OK; i++) {
		size_t member = g_array_index(update->members, size_t, i);
		const GcpBegun one = {json_array_get(update->items, member), answers[i].body,
			member, &update->failures[member]};
		if (answers[i].failure.class_ != RGP_CLASS_OK)
			mod_failure_copy(one.failure, &answers[i].failure);
		else
			g_array_append_val(begun, one);
	}
	if (status == RGP_OK)
		status = gcp_instance_await(call, begun, is_applied, update);
	for (guint i = 0; i < n; i++)
		mod_rest_answer_clear(&answers[i]);
	batch_clear(&batch);
	return status;
}

/* Those of this step whose fingerprints were stale: read again, merged, once. */
static rgp_status repeat_stale(Update *update)
{
	json_auto_t *stale = json_array();
	g_autoptr(GArray) at = g_array_new(FALSE, FALSE, sizeof(size_t));
	for (guint m = 0; m < update->members->len; m++) {
		size_t i = g_array_index(update->members, size_t, m);
		if (!gcp_is_stale(&update->failures[i]))
			continue;
		json_array_append(stale, json_array_get(update->items, i));
		g_array_append_val(at, i);
	}
	if (!json_array_size(stale))
		return RGP_OK;
	json_auto_t *fresh = json_object();
	rgp_status status = read_records(update->call, stale, fresh);
	if (status != RGP_OK)
		return status;
	g_autofree ModFailure *others = g_new0(ModFailure, json_array_size(stale) + 1);
	Update again = {.call = update->call,
		.items = stale,
		.records = fresh,
		.failures = others,
		.members = update->members,
		.step = update->step};
	status = run_step(&again);
	for (guint s = 0; s < at->len; s++) {
		const char *id = mod_str(json_array_get(stale, s), "id");
		if (!json_object_get(fresh, id))
			mod_failure_set(&others[s], RGP_CLASS_GONE, NULL,
				"there is no instance %s any more", id);
		mod_failure_copy(&update->failures[g_array_index(at, size_t, s)], &others[s]);
		mod_failure_clear(&others[s]);
	}
	return status;
}

/* The fingerprint of metadata that was set is known only from the instance. */
static rgp_status read_fingerprints(const Update *update, json_t *fresh)
{
	json_auto_t *restored = json_array();
	for (size_t i = 0; i < json_array_size(update->items); i++)
		if (update->failures[i].class_ == RGP_CLASS_OK &&
			changes_metadata(json_array_get(update->items, i)))
			json_array_append(restored, json_array_get(update->items, i));
	return json_array_size(restored) ? gcp_instance_records(update->call, restored, fresh)
					 : RGP_OK;
}

static json_t *result_of(const json_t *fresh)
{
	const char *fingerprint = mod_str(json_object_get(fresh, "metadata"), "fingerprint");
	return *fingerprint ? json_pack("{s:s}", FINGERPRINT, fingerprint) : NULL;
}

/* One that another operation changes is changed after it, and one that is being stopped when it has
 * stopped. */
static void set_busy(
	const json_t *item, const json_t *record, const json_t *running, ModFailure *failure)
{
	const json_t *operation = json_object_get(running, gcp_last_of(mod_str(item, "id")));
	if (operation)
		mod_failure_set(failure, RGP_CLASS_TRANSIENT, NULL,
			"%s, operation %s, has not ended", mod_str(operation, "operationType"),
			mod_str(operation, "name"));
	else if (mod_is_changed(item, "instance_state") && gcp_instance_is_stopping(record))
		mod_failure_set(
			failure, RGP_CLASS_TRANSIENT, NULL, "it is %s", mod_str(record, "status"));
}

static rgp_status give_busy(const GcpCall *call, const json_t *items, const json_t *records,
	const json_t *running, json_t *others)
{
	rgp_status status = RGP_OK;
	mod_foreach (item, items) {
		const char *address = mod_str(item, "address"), *id = mod_str(item, "id");
		ModFailure failure = {0};
		set_busy(item, json_object_get(records, id), running, &failure);
		if (failure.class_ == RGP_CLASS_OK)
			json_array_append(others, item);
		else if (status == RGP_OK)
			status = mod_give_pending(&call->talk, address, id, &failure);
		mod_failure_clear(&failure);
	}
	return status;
}

static rgp_status give_results(const Update *update)
{
	json_auto_t *fresh = json_object();
	rgp_status status = read_fingerprints(update, fresh);
	for (size_t i = 0; i < json_array_size(update->items) && status == RGP_OK; i++) {
		const json_t *item = json_array_get(update->items, i);
		const char *address = mod_str(item, "address"), *id = mod_str(item, "id");
		ModFailure *failure = &update->failures[i];
		if (!record_of(update, i))
			mod_failure_set(failure, RGP_CLASS_GONE, NULL,
				"there is no instance %s any more", id);
		status = failure->class_ == RGP_CLASS_OK
				 ? mod_give_item(&update->call->talk, address, "done", id,
					   result_of(json_object_get(fresh, id)))
				 : mod_give_failed(&update->call->talk, address, id, failure);
	}
	return status;
}

static rgp_status change_all(const GcpCall *call, const json_t *items, json_t *records)
{
	g_autofree ModFailure *failures = g_new0(ModFailure, json_array_size(items) + 1);
	g_autoptr(GArray) members = g_array_new(FALSE, FALSE, sizeof(size_t));
	rgp_status status = RGP_OK;
	Update update = {.call = call,
		.items = items,
		.records = records,
		.failures = failures,
		.members = members};
	for (size_t s = 0; s < G_N_ELEMENTS(steps) && status == RGP_OK; s++) {
		update.step = &steps[s];
		status = run_step(&update);
		if (status == RGP_OK)
			status = repeat_stale(&update);
	}
	if (status == RGP_OK)
		status = give_results(&update);
	for (size_t i = 0; i < json_array_size(items); i++)
		mod_failure_clear(&failures[i]);
	return status;
}

rgp_status gcp_instance_update(const GcpCall *call, const GcpKind *kind, const json_t *items)
{
	json_auto_t *records = json_object(), *others = json_array(), *running = json_object();
	rgp_status status =
		gcp_instance_running(call, items, running, NULL); /* before what they change */
	if (status == RGP_OK)
		status = read_records(call, items, records);
	if (status == RGP_OK)
		status = give_busy(call, items, records, running, others);
	return status == RGP_OK ? change_all(call, others, records) : status;
}
