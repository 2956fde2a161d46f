/* Resources that are created one at a time, under a name that is their id: firewall rules,
 * addresses, resource policies. */
#include <string.h>
#include "gcp/kinds.h"

static char *place_of(const GcpCall *call, const GcpKind *kind)
{
	return kind->global ? g_strdup("global")
			    : g_strconcat("regions/", call->inst->region, NULL);
}

/* "projects/p/regions/r/addresses", or with "/NAME". g_free; NULL after a diagnostic. */
static char *named_url(const GcpCall *call, const GcpKind *kind, const char *name)
{
	const char *project = gcp_project(call);
	g_autofree char *escaped = name ? gcp_escape(name) : g_strdup("");
	g_autofree char *place = place_of(call, kind);
	return project ? g_strdup_printf("projects/%s/%s/%s%s%s", project, place, kind->methods,
				 name ? "/" : "", escaped)
		       : NULL;
}

static char *method_of(const GcpKind *kind, const char *verb)
{
	return g_strconcat(kind->methods, ".", verb, NULL);
}

static void named_read(const GcpKind *kind, const json_t *record, GcpSeen *seen)
{
	*seen = (GcpSeen){.id = g_strdup(mod_str(record, "name")),
		.name = mod_str(record, "name"),
		.status = *mod_str(record, "status") ? mod_str(record, "status") : "READY"};
	if (kind->described)
		gcp_marks_parse(mod_str(record, "description"), &seen->marks);
	kind->read(record, seen);
}

/* ---- reading */

typedef struct {
	const GcpCall *call;
	const GcpKind *kind;
	const char *mark, *value;
	GcpSink sink;
	void *data;
} Scan;

static bool is_wanted(const Scan *scan, const ModMarks *marks)
{
	const char *value = g_str_equal(scan->mark, "token") ? marks->token : marks->cluster;
	/* firewall rules are the project's, so another region may have a cluster of this name */
	bool here = !marks->region || g_str_equal(marks->region, scan->call->inst->region);
	return here && !g_strcmp0(value, scan->value);
}

static rgp_status on_page(void *data, const json_t *body)
{
	const Scan *scan = data;
	mod_foreach (record, json_object_get(body, "items")) {
		g_auto(GcpSeen) seen = {0};
		named_read(scan->kind, record, &seen);
		if (is_wanted(scan, &seen.marks))
			scan->sink(scan->data, &seen);
	}
	return RGP_OK;
}

rgp_status gcp_named_scan(const GcpCall *call, const GcpKind *kind, const char *mark,
	const char *value, GcpSink sink, void *data)
{
	g_autofree char *filter =
		kind->described
			? g_strdup("name eq \"raygpu-.*\"")
			: g_strdup_printf("labels." GCP_MARK_PREFIX "%s=\"%s\"", mark, value);
	g_autofree char *escaped = gcp_escape(filter), *base = named_url(call, kind, NULL);
	if (!base)
		return RGP_FAIL;
	g_autofree char *url =
		g_strdup_printf("%s?filter=%s&maxResults=500&fields=kind,items(%s),nextPageToken",
			base, escaped, kind->fields);
	g_autofree char *what = method_of(kind, "list");
	const ModRestRequest request = gcp_get(call, what, url);
	Scan scan = {call, kind, mark, value, sink, data};
	return gcp_pages(call, &request, on_page, &scan);
}

/* One record; NULL with RGP_OK: there is none. */
static rgp_status get_one(
	const GcpCall *call, const GcpKind *kind, const char *name, json_t **record)
{
	g_autofree char *url = named_url(call, kind, name), *what = method_of(kind, "get");
	g_auto(ModRestAnswer) answer = {0};
	*record = NULL;
	if (!url)
		return RGP_FAIL;
	const ModRestRequest request = gcp_get(call, what, url);
	rgp_status status = gcp_send(call, &request, &answer);
	if (status != RGP_OK || answer.failure.class_ == RGP_CLASS_GONE)
		return status;
	if (answer.failure.class_ != RGP_CLASS_OK)
		return gcp_report(call, what, &answer);
	*record = json_incref(answer.body);
	return RGP_OK;
}

rgp_status gcp_named_look(
	const GcpCall *call, const GcpKind *kind, const GPtrArray *ids, GcpSink sink, void *data)
{
	rgp_status status = RGP_OK;
	for (guint i = 0; i < ids->len && status == RGP_OK; i++) {
		json_t *record;
		status = get_one(call, kind, ids->pdata[i], &record);
		json_auto_t *owned = record;
		if (!owned)
			continue;
		g_auto(GcpSeen) seen = {0};
		named_read(kind, owned, &seen);
		sink(data, &seen);
	}
	return status;
}

/* ---- creating */

static json_t *computed_of(const json_t *attributes)
{
	static const char *const names[] = {
		"address", "address_name", "policy_name", "rule_name", "node_tag"};
	json_t *computed = json_object();
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		if (json_object_get(attributes, names[i]))
			json_object_set(computed, names[i], json_object_get(attributes, names[i]));
	return computed;
}

/* After the insert: what has the name now, if our token made it. */
static rgp_status settle(const GcpCall *call, const GcpKind *kind, const json_t *input,
	const char *name, ModFailure *failure)
{
	const char *address =
		mod_str(json_array_get(json_object_get(input, "items"), 0), "address");
	const char *lineage = mod_str(json_object_get(input, "marks"), "lineage");
	json_t *record;
	rgp_status status = get_one(call, kind, name, &record);
	json_auto_t *owned = record;
	g_auto(GcpSeen) seen = {0};
	if (status != RGP_OK)
		return status;
	if (owned)
		named_read(kind, owned, &seen);
	if (owned && !g_strcmp0(seen.marks.token, mod_str(input, "token")) &&
		!g_strcmp0(seen.marks.lineage, lineage))
		return mod_give_item(
			&call->talk, address, "done", name, computed_of(seen.attributes));
	if (failure->class_ == RGP_CLASS_OK)
		mod_failure_set(failure, RGP_CLASS_UNKNOWN, NULL,
			"Compute Engine does not show %s after its creation", name);
	/* the name is taken, by another resource or by one that is just being deleted */
	failure->definite = failure->definite || (owned && gcp_is_taken(failure));
	if (failure->class_ == RGP_CLASS_GONE)
		failure->class_ = RGP_CLASS_INVALID; /* it refers to what the body names */
	return mod_give_failed(&call->talk, address, NULL, failure);
}

rgp_status gcp_named_create(const GcpCall *call, const GcpKind *kind, const json_t *input)
{
	const json_t *item = json_array_get(json_object_get(input, "items"), 0);
	g_autofree char *name = gcp_name_of(input, item), *base = named_url(call, kind, NULL);
	g_autofree char *id = gcp_request_id(mod_str(input, "token"), "insert");
	g_autofree char *what = method_of(kind, "insert");
	if (!base)
		return RGP_FAIL;
	g_autofree char *url = g_strdup_printf("%s?requestId=%s", base, id);
	json_auto_t *body = kind->body(call, input, name);
	const ModRestRequest request = gcp_change(call, what, "POST", url, body);
	ModFailure failure = {0};
	rgp_status status = gcp_change_and_wait(call, &request, &failure);
	if (status == RGP_OK && failure.class_ != RGP_CLASS_OK && failure.definite &&
		!gcp_is_taken(&failure))
		status = mod_give_failed(&call->talk, mod_str(item, "address"), NULL, &failure);
	else if (status == RGP_OK)
		status = settle(call, kind, input, name, &failure);
	mod_failure_clear(&failure);
	return status;
}

/* ---- changing, removing */

static rgp_status send_change(const GcpCall *call, const GcpKind *kind, const char *id,
	const json_t *body, ModFailure *failure)
{
	bool patches = g_str_equal(kind->change_verb, "patch");
	g_autofree char *base = named_url(call, kind, id);
	g_autofree char *url =
		g_strconcat(base, patches ? "" : "/", patches ? "" : kind->change_verb, NULL);
	g_autofree char *what = method_of(kind, kind->change_verb);
	const ModRestRequest request =
		gcp_change(call, what, patches ? "PATCH" : "POST", url, body);
	return gcp_change_and_wait(call, &request, failure);
}

/* A fingerprint that changed meanwhile, and an operation that is forgotten: the resource is read
 * again, and changed once more if it is not as requested. */
static rgp_status change(
	const GcpCall *call, const GcpKind *kind, const json_t *item, ModFailure *failure)
{
	const char *id = mod_str(item, "id");
	for (unsigned sent = 0;; sent++) {
		json_t *record;
		rgp_status status = get_one(call, kind, id, &record);
		json_auto_t *owned = record;
		json_auto_t *body = owned ? kind->change(item, owned) : NULL;
		if (status != RGP_OK || (body && sent == 2))
			return status;
		mod_failure_clear(failure);
		if (!owned)
			mod_failure_set(failure, RGP_CLASS_GONE, NULL, "there is no %s", id);
		if (body)
			status = send_change(call, kind, id, body, failure);
		if (status != RGP_OK || (!gcp_is_stale(failure) && !gcp_is_forgotten(failure)))
			return status;
	}
}

/* What still changes it, perhaps for a run that was interrupted, ends first; how, is seen from it.
 */
static rgp_status let_end(const GcpCall *call, const GcpKind *kind, const char *id,
	const json_t *running, ModFailure *failure)
{
	g_autofree char *url = named_url(call, kind, id);
	const json_t *operation = json_object_get(running, url);
	rgp_status status = operation ? gcp_operation_wait(call, operation, failure) : RGP_OK;
	if (!gcp_is_running(failure))
		mod_failure_clear(failure);
	return status;
}

static rgp_status update_one(
	const GcpCall *call, const GcpKind *kind, const json_t *item, const json_t *running)
{
	const char *address = mod_str(item, "address"), *id = mod_str(item, "id");
	ModFailure failure = {0};
	rgp_status status = let_end(call, kind, id, running, &failure);
	if (status == RGP_OK && failure.class_ == RGP_CLASS_OK)
		status = change(call, kind, item, &failure);
	if (status == RGP_OK)
		status = failure.class_ == RGP_CLASS_OK
				 ? mod_give_item(&call->talk, address, "done", id, NULL)
				 : mod_give_failed(&call->talk, address, id, &failure);
	mod_failure_clear(&failure);
	return status;
}

rgp_status gcp_named_update(const GcpCall *call, const GcpKind *kind, const json_t *items)
{
	g_autofree char *place = place_of(call, kind);
	json_auto_t *running = json_object();
	rgp_status status =
		gcp_project(call) ? gcp_operations_running(call, place, running, NULL) : RGP_FAIL;
	mod_foreach (item, items)
		if (status == RGP_OK)
			status = update_one(call, kind, item, running);
	return status;
}

/* After a delete whose operation is forgotten: is it gone? */
static rgp_status look_after(
	const GcpCall *call, const GcpKind *kind, const char *name, ModFailure *failure)
{
	json_t *record;
	rgp_status status = get_one(call, kind, name, &record);
	if (status == RGP_OK && !record)
		mod_failure_clear(failure);
	json_decref(record);
	return status;
}

static rgp_status remove_one(const GcpCall *call, const GcpKind *kind, const json_t *item)
{
	const char *address = mod_str(item, "address"), *id = mod_str(item, "id");
	g_autofree char *url = named_url(call, kind, id), *what = method_of(kind, "delete");
	if (!url)
		return RGP_FAIL;
	const ModRestRequest request = gcp_change(call, what, "DELETE", url, NULL);
	ModFailure failure = {0};
	rgp_status status = gcp_change_and_wait(call, &request, &failure);
	if (status == RGP_OK && gcp_is_forgotten(&failure))
		status = look_after(call, kind, id, &failure);
	if (status == RGP_OK) {
		if (failure.class_ == RGP_CLASS_OK || failure.class_ == RGP_CLASS_GONE)
			status = mod_give_item(&call->talk, address, "done", id, NULL);
		else if (gcp_is_busy(&failure) || gcp_is_forgotten(&failure))
			status = mod_give_pending(&call->talk, address, id, &failure);
		else
			status = mod_give_failed(&call->talk, address, id, &failure);
	}
	mod_failure_clear(&failure);
	return status;
}

rgp_status gcp_named_remove(const GcpCall *call, const GcpKind *kind, const json_t *items)
{
	rgp_status status = RGP_OK;
	mod_foreach (item, items)
		if (status == RGP_OK)
			status = remove_one(call, kind, item);
	return status;
}
