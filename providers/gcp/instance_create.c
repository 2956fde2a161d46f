/* instances.insert for the head, instances.bulkInsert for the nodes of a pool in one zone. */
#include <string.h>
#include "gcp/instance.h"

/* How long a list may be behind. */
#define LIST_S 30

/* The instances of this token in the zone, by name. */
static rgp_status list_created(const GcpCall *call, const json_t *input, json_t *by_name)
{
	const char *zone = mod_str(json_object_get(input, "attributes"), "zone");
	const char *lineage = mod_str(json_object_get(input, "marks"), "lineage");
	json_auto_t *records = json_array();
	rgp_status status =
		gcp_instance_zone_list(call, zone, "token", mod_str(input, "token"), records);
	size_t i;
	json_t *record;
	json_array_foreach (records, i, record)
		if (g_str_equal(
			    mod_str(json_object_get(record, "labels"), GCP_MARK_PREFIX "lineage"),
			    lineage))
			json_object_set(by_name, mod_str(record, "name"), record);
	return status;
}

static bool is_ours(const json_t *input, const json_t *labels)
{
	const char *lineage = mod_str(json_object_get(input, "marks"), "lineage");
	return g_str_equal(mod_str(labels, GCP_MARK_PREFIX "lineage"), lineage) &&
	       g_str_equal(mod_str(labels, GCP_MARK_PREFIX "token"), mod_str(input, "token"));
}

/* Is the member with this name there? Reads by name show at once what lists may show later. */
static rgp_status is_there(const GcpCall *call, const json_t *input, const char *name, bool *there)
{
	const char *zone = mod_str(json_object_get(input, "attributes"), "zone");
	g_autofree char *url = g_strdup_printf(
		"projects/%s/zones/%s/instances/%s?fields=labels", gcp_project(call), zone, name);
	const ModRestRequest request = gcp_get(call, "instances.get", url);
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = gcp_send(call, &request, &answer);
	*there = status == RGP_OK && answer.failure.class_ == RGP_CLASS_OK &&
		 is_ours(input, json_object_get(answer.body, "labels"));
	return status;
}

/* The name of the first member that the list does not have; g_free. NULL: it has all. */
static char *first_missing(const json_t *input, const json_t *by_name)
{
	size_t i;
	const json_t *item;
	json_array_foreach (json_object_get(input, "items"), i, item) {
		g_autofree char *name = gcp_name_of(input, item);
		if (!json_object_get(by_name, name))
			return g_steal_pointer(&name);
	}
	return NULL;
}

/* The same; if Compute Engine `accepted` the request, again while a member exists that the list
 * does not show. If that does not end, it is not known what was created. */
static rgp_status read_created(const GcpCall *call, const json_t *input, bool accepted,
	json_t *by_name, ModFailure *failure)
{
	ModBackoff backoff = mod_backoff_start(&call->talk, LIST_S);
	for (;;) {
		bool there = false;
		rgp_status status = list_created(call, input, by_name);
		g_autofree char *missing = first_missing(input, by_name);
		if (status == RGP_OK && missing && accepted)
			status = is_there(call, input, missing, &there);
		if (status != RGP_OK || !there)
			return status;
		status = mod_backoff_wait(&call->talk, &backoff);
		if (status == RGP_OK)
			continue;
		if (status != RGP_FAIL)
			return status;
		failure->class_ = RGP_CLASS_UNKNOWN;
		failure->definite = false;
		return RGP_OK;
	}
}

static json_t *computed_of(json_t *attributes)
{
	static const char *const names[] = {"private_ip", "public_address", "launch_time",
		"instance_name", "metadata_fingerprint", "cluster", NULL};
	json_t *computed = json_object();
	for (const char *const *name = names; *name; name++)
		json_object_set(computed, *name, json_object_get(attributes, *name));
	return computed;
}

static rgp_status on_owners(void *data, const json_t *body)
{
	json_t *labels_by_name = data;
	size_t i;
	const json_t *record;
	json_array_foreach (json_object_get(body, "items"), i, record) {
		json_t *labels = json_object_get(record, "labels");
		json_object_set_new(labels_by_name, mod_str(record, "name"),
			labels ? json_incref(labels) : json_object());
	}
	return RGP_OK;
}

/* Who has the names of this token: {name: labels}. */
static rgp_status list_owners(const GcpCall *call, const json_t *input, json_t *labels_by_name)
{
	static const ModRestPaging paging = {"/nextPageToken", "pageToken"};
	const json_t *first = json_array_get(json_object_get(input, "items"), 0);
	json_auto_t *bare = json_pack("{s:s}", "address", mod_str(first, "address"));
	g_autofree char *stem = gcp_name_of(input, bare);
	g_autofree char *filter = g_strdup_printf("name eq \"%s(-[0-9]+)?\"", stem);
	g_autofree char *escaped = gcp_escape(filter);
	g_autofree char *url = g_strdup_printf(
		"projects/%s/zones/%s/instances?filter=%s&maxResults=500"
		"&prettyPrint=false&fields=items(name,labels),nextPageToken",
		gcp_project(call), mod_str(json_object_get(input, "attributes"), "zone"), escaped);
	const ModRestRequest request = gcp_get(call, "instances.list", url);
	return mod_rest_pages(
		&call->talk, &call->inst->rest, &request, &paging, on_owners, labels_by_name);
}

/* Why the others were not created. */
typedef struct {
	json_t *owners; /* {name: labels}, if the names are taken; NULL: they are not */
	json_t *failed; /* {name: operation}: what became of each member of a bulkInsert */
} Reasons;

static void on_failed(void *data, json_t *operation)
{
	json_object_set(data, gcp_last_of(mod_str(operation, "targetLink")), operation);
}

static rgp_status find_reasons(const GcpCall *call, const json_t *input, const json_t *operation,
	const ModFailure *failure, Reasons *reasons)
{
	const char *zone = mod_str(json_object_get(input, "attributes"), "zone");
	const char *group = mod_str(operation, "operationGroupId");
	if (gcp_is_taken(failure)) {
		reasons->owners = json_object();
		return list_owners(call, input, reasons->owners);
	}
	if (!*group)
		return RGP_OK;
	g_autofree char *filter =
		g_strdup_printf("(operationGroupId = \"%s\") (httpErrorStatusCode > 399)", group);
	reasons->failed = json_object();
	return gcp_operations_list(call, zone, filter, on_failed, reasons->failed);
}

static rgp_status give_missing(const GcpCall *call, const json_t *input, const json_t *item,
	const Reasons *reasons, const ModFailure *why)
{
	const char *address = mod_str(item, "address");
	g_autofree char *name = gcp_name_of(input, item);
	const json_t *labels = json_object_get(reasons->owners, name);
	const json_t *failed = json_object_get(reasons->failed, name);
	ModFailure failure = {0};
	if (failed)
		gcp_operation_read(call, failed, &failure);
	else
		mod_failure_copy(&failure, why);
	if (failure.class_ == RGP_CLASS_GONE)
		failure.class_ = RGP_CLASS_INVALID; /* what the request names */
	/* A name of this token that is taken, but not by us, or by a creation that still runs: only
	 * in the first case it is certain that nothing will come of it. */
	if (reasons->owners || gcp_is_taken(&failure)) {
		failure.definite = labels && !is_ours(input, labels);
		failure.class_ = failure.definite ? RGP_CLASS_CONFLICT : RGP_CLASS_UNKNOWN;
	}
	rgp_status status = mod_give_failed(&call->talk, address, NULL, &failure);
	mod_failure_clear(&failure);
	return status;
}

static rgp_status give_created(const GcpCall *call, const json_t *item, const json_t *record)
{
	g_auto(GcpSeen) seen = {0};
	gcp_instance_read(record, NULL, &seen);
	return mod_give_item(&call->talk, mod_str(item, "address"), "done", seen.id,
		computed_of(seen.attributes));
}

/* `operation`: that of the request, NULL: it was refused. */
static rgp_status settle(
	const GcpCall *call, const json_t *input, const json_t *operation, ModFailure *failure)
{
	const json_t *items = json_object_get(input, "items"), *item;
	json_auto_t *by_name = json_object();
	Reasons reasons = {0};
	rgp_status status =
		read_created(call, input, operation || gcp_is_taken(failure), by_name, failure);
	g_autofree char *missing = first_missing(input, by_name);
	size_t i;
	if (status == RGP_OK && missing)
		status = find_reasons(call, input, operation, failure, &reasons);
	json_array_foreach (items, i, item) {
		g_autofree char *name = gcp_name_of(input, item);
		const json_t *record = json_object_get(by_name, name);
		if (status == RGP_OK)
			status = record ? give_created(call, item, record)
					: give_missing(call, input, item, &reasons, failure);
	}
	json_decref(reasons.owners);
	json_decref(reasons.failed);
	return status;
}

/* What the members that do not exist failed of, unless their own operations say it. If the
 * operation has ended, that is definite: the list shows what it left. */
static void explain(const json_t *operation, ModFailure *failure)
{
	if (failure->class_ == RGP_CLASS_OK) {
		mod_failure_set(failure, RGP_CLASS_CAPACITY, "PREEMPTED_OR_DELETED",
			"the instance was preempted or deleted while it booted (operation %s)",
			mod_str(operation, "name"));
		failure->definite = true;
	}
}

rgp_status gcp_instance_create(const GcpCall *call, const GcpKind *kind, const json_t *input)
{
	const json_t *items = json_object_get(input, "items");
	const char *zone = mod_str(json_object_get(input, "attributes"), "zone");
	bool one = !json_is_integer(json_object_get(json_array_get(items, 0), "index"));
	const char *project = gcp_project(call);
	g_autofree char *id = gcp_request_id(mod_str(input, "token"), "insert");
	if (!project)
		return RGP_FAIL;
	g_autofree char *url = g_strdup_printf("projects/%s/zones/%s/instances%s?requestId=%s",
		project, zone, one ? "" : "/bulkInsert", id);
	json_auto_t *body =
		one ? gcp_instance_insert_body(call, input) : gcp_instance_bulk_body(call, input);
	const ModRestRequest request = gcp_change(
		call, one ? "instances.insert" : "instances.bulkInsert", "POST", url, body);
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = gcp_send(call, &request, &answer);
	if (status != RGP_OK)
		return status;
	ModFailure failure = {0};
	bool accepted = answer.failure.class_ == RGP_CLASS_OK;
	if (accepted) {
		status = gcp_operation_wait(call, answer.body, &failure);
		explain(answer.body, &failure);
	} else {
		mod_failure_copy(&failure, &answer.failure);
	}
	if (status == RGP_OK)
		status = settle(call, input, accepted ? answer.body : NULL, &failure);
	mod_failure_clear(&failure);
	return status;
}
