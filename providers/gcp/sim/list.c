#include <string.h>
#include "gcp/sim/gce.h"

/* Lists and aggregated lists: filter, order, pages, and zones that cannot be reached. */

#define PAGE_MAX 500

/* A document of a list, with what it is ordered by. */
typedef struct {
	const json_t *doc;
	const char *time; /* "" when ordered by name */
	const char *key;
} Row;

typedef struct {
	RgSimCall *call;
	bool by_time; /* the newest first; otherwise by name */
	gint64 max;
	GceFilter *filter;
	char *scope; /* what keys begin with */
	GArray *rows;
	json_t *page; /* documents */
	char *next;
} Listing;

static int compare_rows(const void *a, const void *b)
{
	const Row *left = a, *right = b;
	int order = strcmp(right->time, left->time);
	return order ? order : strcmp(left->key, right->key);
}

static bool read_order(Listing *listing)
{
	const char *order = call_str(listing->call, "orderBy");
	listing->by_time = order && g_str_equal(order, "creationTimestamp desc");
	return !order || !*order || listing->by_time || g_str_equal(order, "name") ||
	       gce_fail_invalid(listing->call, "orderBy", order,
		       "Must be \"name\" or \"creationTimestamp desc\".");
}

static bool read_max(Listing *listing)
{
	RgSimCall *call = listing->call;
	const char *text = call_str(call, "maxResults");
	gint64 cap = doc_int(call->sim->knobs, "page_size");
	listing->max = text ? g_ascii_strtoll(text, NULL, 10) : PAGE_MAX;
	if (listing->max > PAGE_MAX)
		return gce_fail_invalid(
			call, "maxResults", text, "Must be less than or equal to 500");
	if (!listing->max)
		listing->max = PAGE_MAX;
	if (cap && cap < listing->max)
		listing->max = cap;
	return true;
}

/* ---- what is shown */

static void add_row(Listing *listing, const json_t *doc)
{
	const char *key = doc_str(doc, GCE_KEY);
	gsize len = strlen(listing->scope);
	if (gce_is_hidden(doc) || strncmp(key, listing->scope, len) != 0 ||
		(len && key[len] != '/'))
		return;
	bool late = doc_int(listing->call->sim->knobs, "page_before_filter");
	if (!late && !gce_filter_accepts(listing->filter, doc))
		return;
	Row row = {doc, listing->by_time ? doc_str(doc, "creationTimestamp") : "", key};
	g_array_append_val(listing->rows, row);
}

static void add_kind(Listing *listing, unsigned kind)
{
	const RgSimCall *call = listing->call;
	const GPtrArray *order = call->place->tables[kind]->order;
	for (unsigned i = 0; i < order->len; i++) {
		const json_t *doc = rg_sim_item_view(g_ptr_array_index(order, i), call->view_ms);
		if (doc)
			add_row(listing, doc);
	}
}

/* A token is the last row's time and key. */
static char *token_of(const Row *row)
{
	g_autofree char *text = g_strdup_printf("%s|%s", row->time, row->key);
	return g_base64_encode((const guchar *)text, strlen(text));
}

static bool find_start(const Listing *listing, unsigned *start)
{
	const char *token = call_str(listing->call, "pageToken");
	*start = 0;
	if (!token || !*token)
		return true;
	gsize len = 0;
	g_autofree char *text = (char *)g_base64_decode(token, &len);
	g_autofree char *whole = g_strndup(text ? text : "", len);
	char *bar = strchr(whole, '|');
	if (!bar || !g_utf8_validate(whole, -1, NULL))
		return gce_fail_invalid(listing->call, "pageToken", token, "Invalid page token.");
	*bar = '\0';
	Row last = {NULL, whole, bar + 1};
	while (*start < listing->rows->len &&
		compare_rows(&g_array_index(listing->rows, Row, *start), &last) <= 0)
		++*start;
	return true;
}

/* The knob's empty first page, whose token is before every row. */
static bool make_empty_page(Listing *listing)
{
	const char *token = call_str(listing->call, "pageToken");
	const Row before = {NULL, listing->by_time ? "~" : "", ""};
	if ((token && *token) || !doc_int(listing->call->sim->knobs, "empty_first_page"))
		return false;
	listing->next = token_of(&before);
	return true;
}

static bool make_page(Listing *listing)
{
	g_array_sort(listing->rows, compare_rows);
	unsigned start;
	if (!find_start(listing, &start))
		return false;
	unsigned end = MIN(listing->rows->len, start + (unsigned)listing->max);
	for (unsigned i = start; i < end; i++) {
		const Row *row = &g_array_index(listing->rows, Row, i);
		if (gce_filter_accepts(listing->filter, row->doc))
			json_array_append(listing->page, rg_json_unconst(row->doc));
	}
	if (end < listing->rows->len)
		listing->next = token_of(&g_array_index(listing->rows, Row, end - 1));
	return true;
}

/* ---- the answer */

static json_t *answer_new(const Listing *listing)
{
	const RgSimCall *call = listing->call;
	const json_t *method = json_object_get(call_data(call)->methods, call->action->name);
	const char *response = doc_str(method, "response");
	g_autofree char *kind =
		g_strdup_printf("compute#%c%s", g_ascii_tolower(*response), response + 1);
	g_autofree char *self =
		g_strconcat(GCE_ROOT, call->request->path + strlen("/compute/v1/"), NULL);
	g_autofree char *id = g_strdup(self + strlen(GCE_ROOT));
	json_t *answer = json_pack("{s:s, s:s, s:s}", "kind", kind, "id", id, "selfLink", self);
	if (listing->next)
		json_object_set_new(answer, "nextPageToken", json_string(listing->next));
	return answer;
}

static bool is_unreachable(const RgSimCall *call, const char *scope)
{
	return rg_json_has_text(json_object_get(call->sim->knobs, "unreachable"), gce_last(scope));
}

static json_t *warning(const char *code, char *message, const char *scope)
{
	g_autofree char *text = message;
	return json_pack("{s:{s:s, s:s, s:[{s:s, s:s}]}}", "warning", "code", code, "message", text,
		"data", "key", "scope", "value", scope);
}

static bool fail_unreachable(RgSimCall *call, const char *scope)
{
	return rg_sim_fail(call, 503, "backendError",
		"The zone or region '%s' cannot be reached. Please try again.", gce_last(scope));
}

static json_t *strip(const json_t *docs)
{
	json_t *out = json_array();
	for (size_t i = 0; i < json_array_size(docs); i++)
		json_array_append_new(out, gce_fields_pick(NULL, json_array_get(docs, i)));
	return out;
}

static bool answer_list(Listing *listing)
{
	json_t *answer = answer_new(listing);
	if (is_unreachable(listing->call, listing->scope)) {
		json_decref(answer);
		return fail_unreachable(listing->call, listing->scope);
	}
	if (json_array_size(listing->page))
		json_object_set_new(answer, "items", strip(listing->page));
	return gce_answer(listing->call, answer);
}

/* "zones/us-central1-a" of a key. g_free it. */
static char *scope_of(const char *key)
{
	const char *slash = strchr(key, '/');
	const char *end = g_str_has_prefix(key, "global") ? slash : strchr(slash + 1, '/');
	return g_strndup(key, (gsize)(end - key));
}

/* Zones for zonal resources, regions for regional ones, "global" for the rest: what the plain list
 * of the resource has in its path. Operations are in all of them. */
static json_t *scopes_of(const RgSimCall *call)
{
	g_autofree char *resource = g_strndup(call->action->name, strcspn(call->action->name, "."));
	g_autofree char *list = g_strconcat(resource, ".list", NULL);
	const char *path = doc_str(json_object_get(call_data(call)->methods, list), "path");
	bool all = g_str_equal(resource, "globalOperations");
	json_t *scopes = json_object();
	if (all)
		json_object_set_new(scopes, "global", json_object());
	rg_json_foreach_member (region, zones, call_data(call)->regions) {
		g_autofree char *name = g_strconcat("regions/", region, NULL);
		if (all || strstr(path, "{region}"))
			json_object_set_new(scopes, name, json_object());
		for (size_t i = 0; (all || strstr(path, "{zone}")) && i < json_array_size(zones);
			i++) {
			g_autofree char *zone = g_strconcat(
				"zones/", json_string_value(json_array_get(zones, i)), NULL);
			json_object_set_new(scopes, zone, json_object());
		}
	}
	return scopes;
}

/* The member of a scope that has its documents: "instances". */
static const char *list_name(const RgSimCall *call)
{
	const char *dot = strchr(call->action->name, '.');
	static char name[40];
	g_snprintf(name, sizeof(name), "%.*s", (int)(dot - call->action->name), call->action->name);
	return g_str_equal(name, "globalOperations") ? "operations" : name;
}

static void fill_scopes(const Listing *listing, json_t *scopes)
{
	const char *list = list_name(listing->call);
	rg_json_foreach (doc, listing->page) {
		g_autofree char *scope = scope_of(doc_str(doc, GCE_KEY));
		json_t *entry = json_object_get(scopes, scope);
		if (!json_object_get(entry, list))
			json_object_set_new(entry, list, json_array());
		json_array_append_new(json_object_get(entry, list), gce_fields_pick(NULL, doc));
	}
}

/* As the parameter returnPartialSuccess promises; the knob partial_success 0 is a server that does
 * not know it, and puts a warning into the scope. */
static bool drop_unreachable(RgSimCall *call, json_t *scopes, json_t *answer)
{
	bool known = doc_int(call->sim->knobs, "partial_success");
	json_auto_t *list = json_array();
	const char *scope;
	json_t *entry;
	void *safe;
	json_object_foreach_safe (scopes, safe, scope, entry) {
		if (!is_unreachable(call, scope))
			continue;
		g_autofree char *text = g_strdup_printf("The scope '%s' cannot be reached.", scope);
		if (known && !call_bool(call, "returnPartialSuccess"))
			return fail_unreachable(call, scope);
		g_autofree char *path = g_strdup_printf("projects/%s/%s", call->place_name, scope);
		json_array_append_new(list, json_string(path));
		json_object_set_new(
			scopes, scope, warning("UNREACHABLE", g_steal_pointer(&text), scope));
	}
	if (known && json_array_size(list))
		json_object_set(answer, "unreachables", list);
	return true;
}

static bool answer_aggregate(Listing *listing)
{
	RgSimCall *call = listing->call;
	json_auto_t *answer = answer_new(listing), *scopes = scopes_of(call);
	fill_scopes(listing, scopes);
	rg_json_foreach_member (scope, entry, scopes) {
		if (json_object_size(entry))
			continue;
		json_auto_t *empty = warning("NO_RESULTS_ON_PAGE",
			g_strdup_printf("There are no results for scope '%s' on this page.", scope),
			scope);
		json_object_update(entry, empty);
	}
	if (!drop_unreachable(call, scopes, answer))
		return false;
	json_object_set(answer, "items", scopes);
	return gce_answer(call, g_steal_pointer(&answer));
}

/* ---- a call */

static bool run(RgSimCall *call, bool aggregated, unsigned kind, const json_t *docs)
{
	Listing listing = {.call = call,
		.scope = aggregated ? g_strdup("") : gce_scope(call),
		.rows = g_array_new(FALSE, FALSE, sizeof(Row)),
		.page = json_array()};
	bool good = read_order(&listing) && read_max(&listing) &&
		    gce_filter_read(call, &listing.filter);
	for (size_t i = 0; good && docs && i < json_array_size(docs); i++)
		add_row(&listing, json_array_get(docs, i));
	if (good && !docs)
		add_kind(&listing, kind);
	good = good && (make_empty_page(&listing) || make_page(&listing)) &&
	       (aggregated ? answer_aggregate(&listing) : answer_list(&listing));
	gce_filter_free(listing.filter);
	g_array_unref(listing.rows);
	json_decref(listing.page);
	g_free(listing.scope);
	g_free(listing.next);
	return good;
}

bool gce_list(RgSimCall *call)
{
	return run(call, false, gce_kind_of(call), NULL);
}

bool gce_aggregate(RgSimCall *call)
{
	return run(call, true, gce_kind_of(call), NULL);
}

bool gce_list_docs(RgSimCall *call, json_t *docs)
{
	json_auto_t *owned = docs;
	return run(call, false, GCE_KINDS, owned);
}

bool gce_aggregate_docs(RgSimCall *call, json_t *docs)
{
	json_auto_t *owned = docs;
	return run(call, true, GCE_KINDS, owned);
}
