/* instances.insert for the head, instances.bulkInsert for the nodes of a pool in one zone. */
#include <string.h>
#include "gcp/instance.h"

/* How long a list may be behind. */
#define LIST_S 30
/* Rates of operations are limited per minute. */
#define RATE_S 90
/* The code of members that an operation created and that no longer run. */
#define WAS_CREATED "PREEMPTED_OR_DELETED"

/* The head is created by instances.insert. */
static bool is_single(const json_t *input)
{
	const json_t *first = json_array_get(json_object_get(input, "items"), 0);
	return !json_is_integer(json_object_get(first, "index"));
}

/* The instances of this token in the zone, by name. */
static rgp_status list_created(const GcpCall *call, const json_t *input, json_t *by_name)
{
	const char *zone = mod_str(json_object_get(input, "attributes"), "zone");
	const char *lineage = mod_str(json_object_get(input, "marks"), "lineage");
	json_auto_t *records = json_array();
	rgp_status status =
		gcp_instance_zone_list(call, zone, "token", mod_str(input, "token"), records);
	mod_foreach (record, records)
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

/* What reads by name say of members: they show at once what lists may show later. */
typedef enum { MEMBER_GONE, MEMBER_UNKNOWN, MEMBER_THERE } Presence;

static Presence presence_of(const json_t *input, const ModRestAnswer *answer)
{
	if (answer->failure.class_ == RGP_CLASS_GONE)
		return MEMBER_GONE;
	if (answer->failure.class_ != RGP_CLASS_OK)
		return MEMBER_UNKNOWN; /* a read that fails does not say that it is not there */
	return is_ours(input, json_object_get(answer->body, "labels")) ? MEMBER_THERE : MEMBER_GONE;
}

/* MEMBER_THERE: one of these names is. MEMBER_GONE: none of them is. */
static rgp_status look_for(
	const GcpCall *call, const json_t *input, const GPtrArray *names, Presence *presence)
{
	const char *zone = mod_str(json_object_get(input, "attributes"), "zone");
	g_autoptr(GPtrArray) urls = g_ptr_array_new_with_free_func(g_free);
	g_autofree ModRestRequest *requests = g_new0(ModRestRequest, names->len + 1);
	g_autofree ModRestAnswer *answers = g_new0(ModRestAnswer, names->len + 1);
	for (guint i = 0; i < names->len; i++) {
		g_ptr_array_add(
			urls, g_strdup_printf("projects/%s/zones/%s/instances/%s?fields=labels",
				      gcp_project(call), zone, (const char *)names->pdata[i]));
		requests[i] = gcp_get(call, "instances.get", urls->pdata[i]);
	}
	rgp_status status =
		mod_rest_send_all(&call->talk, &call->inst->rest, requests, names->len, answers);
	*presence = MEMBER_GONE;
	for (guint i = 0; i < names->len; i++) {
		if (status == RGP_OK)
			*presence = MAX(*presence, presence_of(input, &answers[i]));
		mod_rest_answer_clear(&answers[i]);
	}
	return status;
}

/* The names of the members that the list does not have. */
static GPtrArray *missing_of(const json_t *input, const json_t *by_name)
{
	GPtrArray *missing = g_ptr_array_new_with_free_func(g_free);
	mod_foreach (item, json_object_get(input, "items")) {
		g_autofree char *name = gcp_name_of(input, item);
		if (!json_object_get(by_name, name))
			g_ptr_array_add(missing, g_steal_pointer(&name));
	}
	return missing;
}

static void set_unknown(ModFailure *failure)
{
	failure->class_ = RGP_CLASS_UNKNOWN;
	failure->definite = false;
}

/* The instances that the list shows; if some `may_exist` that it does not show, again while one
 * does. If that does not end, or can't be read, it is not known what was created. */
static rgp_status read_created(const GcpCall *call, const json_t *input, bool may_exist,
	json_t *by_name, ModFailure *failure)
{
	ModBackoff backoff = mod_backoff_start(&call->talk, LIST_S);
	for (;;) {
		Presence presence = MEMBER_GONE;
		rgp_status status = list_created(call, input, by_name);
		g_autoptr(GPtrArray) missing = missing_of(input, by_name);
		if (status == RGP_OK && missing->len && may_exist)
			status = look_for(call, input, missing, &presence);
		if (status != RGP_OK || presence == MEMBER_GONE)
			return status;
		if (presence == MEMBER_THERE)
			status = mod_backoff_wait(&call->talk, &backoff);
		if (presence == MEMBER_THERE && status == RGP_OK)
			continue;
		if (status == RGP_CANCELED)
			return status;
		set_unknown(failure);
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
	mod_foreach (record, json_object_get(body, "items")) {
		json_t *labels = json_object_get(record, "labels");
		json_object_set_new(labels_by_name, mod_str(record, "name"),
			labels ? json_incref(labels) : json_object());
	}
	return RGP_OK;
}

/* Who has the names of this token: {name: labels}. */
static rgp_status list_owners(const GcpCall *call, const json_t *input, json_t *labels_by_name)
{
	const json_t *first = json_array_get(json_object_get(input, "items"), 0);
	json_auto_t *bare = json_pack("{s:s}", "address", mod_str(first, "address"));
	g_autofree char *stem = gcp_name_of(input, bare);
	g_autofree char *filter = g_strdup_printf("name eq \"%s(-[0-9]+)?\"", stem);
	g_autofree char *escaped = gcp_escape(filter);
	g_autofree char *url = g_strdup_printf(
		"projects/%s/zones/%s/instances?filter=%s&maxResults=500"
		"&prettyPrint=false&fields=kind,items(name,labels),nextPageToken",
		gcp_project(call), mod_str(json_object_get(input, "attributes"), "zone"), escaped);
	const ModRestRequest request = gcp_get(call, "instances.list", url);
	return gcp_pages(call, &request, on_owners, labels_by_name);
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
	g_autofree char *place = g_strconcat("zones/", zone, NULL);
	reasons->failed = json_object();
	return gcp_operations_list(call, place, filter, on_failed, reasons->failed);
}

/* A request for instances names no other instance: one that is not found is its own, which may have
 * been created despite this error. If it does not exist, another zone may have room. */
static rgp_status look_for_lost(
	const GcpCall *call, const json_t *input, const char *name, ModFailure *failure)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	Presence presence = MEMBER_UNKNOWN;
	if (!failure->message || !strstr(failure->message, "/instances/")) {
		failure->class_ = RGP_CLASS_INVALID; /* what the request names */
		return RGP_OK;
	}
	g_ptr_array_add(names, g_strdup(name));
	rgp_status status = look_for(call, input, names, &presence);
	if (presence != MEMBER_GONE) {
		set_unknown(failure);
	} else if (status == RGP_OK) {
		failure->class_ = RGP_CLASS_CAPACITY;
		failure->hint = "the instances were gone before they started: try other zones";
	}
	return status;
}

/* Of its own operation, or of the whole one. */
static void reason_of(const GcpCall *call, const char *name, const Reasons *reasons,
	const ModFailure *why, ModFailure *failure)
{
	const json_t *failed = json_object_get(reasons->failed, name);
	if (failed)
		gcp_operation_read(call, failed, failure);
	else
		mod_failure_copy(failure, why);
}

static rgp_status give_missing(const GcpCall *call, const json_t *input, const json_t *item,
	const Reasons *reasons, const ModFailure *why)
{
	const char *address = mod_str(item, "address");
	g_autofree char *name = gcp_name_of(input, item);
	const json_t *labels = json_object_get(reasons->owners, name);
	ModFailure failure = {0};
	rgp_status status = RGP_OK;
	reason_of(call, name, reasons, why, &failure);
	if (failure.class_ == RGP_CLASS_GONE)
		status = look_for_lost(call, input, name, &failure);
	/* A name of this token that is taken, but not by us, or by a creation that still runs: only
	 * in the first case it is certain that nothing will come of it. */
	if (reasons->owners || gcp_is_taken(&failure)) {
		failure.definite = labels && !is_ours(input, labels);
		failure.class_ = failure.definite ? RGP_CLASS_CONFLICT : RGP_CLASS_UNKNOWN;
	}
	if (status == RGP_OK)
		status = mod_give_failed(&call->talk, address, NULL, &failure);
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

/* An instance that was preempted while it started may remain, and no longer runs. */
static bool is_over(const json_t *record)
{
	ModFailure failure = {0};
	gcp_instance_readiness(record, &failure);
	bool over = failure.class_ == RGP_CLASS_GONE || gcp_instance_is_stopping(record);
	mod_failure_clear(&failure);
	return record && over;
}

/* Was there no capacity for it? An on-demand instance that the operation created was
 * stopped by someone, or by its lease: it is the user's. */
static bool is_rest(const json_t *record, const ModFailure *why)
{
	return why->class_ == RGP_CLASS_CAPACITY &&
	       (g_strcmp0(why->code, WAS_CREATED) || gcp_instance_is_spot(record));
}

/* Deletes it, so that the node can be requested elsewhere; *gone: it is. */
static rgp_status remove_rest(const GcpCall *call, const json_t *record, bool *gone)
{
	g_autofree char *id = g_strdup_printf(
		"%s/%s", gcp_last_of(mod_str(record, "zone")), mod_str(record, "id"));
	g_autofree char *url = gcp_instance_url(call, id);
	const ModRestRequest request = gcp_change(call, "instances.delete", "DELETE", url, NULL);
	ModFailure failure = {0};
	rgp_status status = gcp_change_and_wait(call, &request, &failure);
	*gone = failure.class_ == RGP_CLASS_OK || failure.class_ == RGP_CLASS_GONE;
	mod_failure_clear(&failure);
	return status;
}

/* Drops from the records what remained of nodes that could not be had. */
static rgp_status remove_rests(const GcpCall *call, const json_t *input, const Reasons *reasons,
	const ModFailure *why, json_t *by_name)
{
	rgp_status status = RGP_OK;
	mod_foreach (item, json_object_get(input, "items")) {
		g_autofree char *name = gcp_name_of(input, item);
		const json_t *record = json_object_get(by_name, name);
		ModFailure failure = {0};
		bool gone = false;
		if (status != RGP_OK || !is_over(record))
			continue;
		reason_of(call, name, reasons, why, &failure);
		if (is_rest(record, &failure))
			status = remove_rest(call, record, &gone);
		if (gone)
			json_object_del(by_name, name);
		mod_failure_clear(&failure);
	}
	return status;
}

static bool any_is_over(json_t *by_name)
{
	mod_foreach_member (name, record, by_name)
		if (is_over(record))
			return true;
	return false;
}

/* A refusal may come before the requestId is looked up: an earlier request of this token may have
 * created the instances, even where the zone may no longer be used. */
static bool says_nothing_of_earlier(const ModFailure *failure)
{
	return gcp_is_taken(failure) || failure->class_ == RGP_CLASS_CAPACITY;
}

/* `operation`: that of the request, NULL: it was refused. */
static rgp_status settle(
	const GcpCall *call, const json_t *input, const json_t *operation, ModFailure *failure)
{
	const json_t *items = json_object_get(input, "items");
	json_auto_t *by_name = json_object();
	Reasons reasons = {0};
	rgp_status status = read_created(
		call, input, operation || says_nothing_of_earlier(failure), by_name, failure);
	g_autoptr(GPtrArray) missing = missing_of(input, by_name);
	if (status == RGP_OK && (missing->len || any_is_over(by_name)))
		status = find_reasons(call, input, operation, failure, &reasons);
	if (status == RGP_OK)
		status = remove_rests(call, input, &reasons, failure, by_name);
	mod_foreach (item, items) {
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
		mod_failure_set(failure, RGP_CLASS_CAPACITY, WAS_CREATED,
			"the instance was preempted or deleted while it booted (operation %s)",
			mod_str(operation, "name"));
		failure->definite = true;
	}
}

/* One request; *operation: that of the request, which has ended; NULL: it was refused. */
static rgp_status request_once(const GcpCall *call, const json_t *input, const json_t *body,
	unsigned attempt, json_t **operation, ModFailure *failure)
{
	const char *zone = mod_str(json_object_get(input, "attributes"), "zone");
	bool one = is_single(input);
	g_autofree char *step =
		attempt ? g_strdup_printf("insert %u", attempt) : g_strdup("insert");
	g_autofree char *id = gcp_request_id(mod_str(input, "token"), step);
	g_autofree char *url = g_strdup_printf("projects/%s/zones/%s/instances%s?requestId=%s",
		gcp_project(call), zone, one ? "" : "/bulkInsert", id);
	const ModRestRequest request = gcp_change(
		call, one ? "instances.insert" : "instances.bulkInsert", "POST", url, body);
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = gcp_send(call, &request, &answer);
	if (status != RGP_OK)
		return status;
	if (answer.failure.class_ != RGP_CLASS_OK) {
		mod_failure_copy(failure, &answer.failure);
		gcp_failure_refine(failure, true);
		return RGP_OK;
	}
	*operation = json_incref(answer.body);
	status = gcp_operation_wait(call, answer.body, failure);
	explain(answer.body, failure);
	return status;
}

/* An operation that failed because of a rate has used up its requestId: if it left nothing, it is
 * requested once more under another one. */
static rgp_status is_to_repeat(const GcpCall *call, const json_t *input, const json_t *operation,
	const ModFailure *failure, ModBackoff *backoff, bool *repeat)
{
	json_auto_t *by_name = json_object();
	*repeat = false;
	if (!operation || failure->class_ != RGP_CLASS_THROTTLED || !failure->definite)
		return RGP_OK;
	rgp_status status = list_created(call, input, by_name);
	if (status != RGP_OK || json_object_size(by_name))
		return status;
	status = mod_backoff_wait(&call->talk, backoff);
	*repeat = status == RGP_OK;
	return status == RGP_FAIL ? RGP_OK : status;
}

rgp_status gcp_instance_create(const GcpCall *call, const GcpKind *kind, const json_t *input)
{
	if (!gcp_project(call))
		return RGP_FAIL;
	json_auto_t *body = is_single(input) ? gcp_instance_insert_body(call, input)
					     : gcp_instance_bulk_body(call, input);
	ModBackoff backoff = mod_backoff_start(&call->talk, RATE_S);
	json_t *operation = NULL;
	ModFailure failure = {0};
	rgp_status status = RGP_OK;
	bool repeat = true;
	for (unsigned attempt = 0; repeat && status == RGP_OK; attempt++) {
		json_decref(operation);
		operation = NULL;
		status = request_once(call, input, body, attempt, &operation, &failure);
		if (status == RGP_OK)
			status = is_to_repeat(call, input, operation, &failure, &backoff, &repeat);
	}
	if (status == RGP_OK)
		status = settle(call, input, operation, &failure);
	json_decref(operation);
	mod_failure_clear(&failure);
	return status;
}
