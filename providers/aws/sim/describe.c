#include "aws/sim/describe.h"
#include <string.h>

/* "The maximum number of filter values specified on a single call is 200": EC2 user guide. */
#define MAX_VALUES 200

typedef struct {
	const char *path; /* NULL: the value of the tag `key` */
	char *key;
	GHashTable *exact;
	GPtrArray *patterns;
} Filter;

static void filter_free(void *data)
{
	Filter *filter = data;
	g_free(filter->key);
	g_hash_table_unref(filter->exact);
	g_ptr_array_unref(filter->patterns);
	g_free(filter);
}

static bool has_wildcard(const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' && text[1])
			text++;
		else if (*text == '*' || *text == '?')
			return true;
	}
	return false;
}

static char *unescape(const char *text)
{
	GString *out = g_string_new(NULL);
	for (; *text; text++) {
		if (*text == '\\' && text[1])
			text++;
		g_string_append_c(out, *text);
	}
	return g_string_free(out, FALSE);
}

/* GPatternSpec has no escapes. Backtracks to the last star only, so the time is at most the product
 * of the lengths. */
static bool wild_match(const char *pattern, const char *text)
{
	const char *star = NULL;
	const char *retry = NULL;
	while (*text) {
		bool escaped = *pattern == '\\' && pattern[1];
		const char *want = escaped ? pattern + 1 : pattern;
		if (*pattern == '*') {
			star = ++pattern;
			retry = text;
		} else if (*pattern && (*want == *text || (!escaped && *want == '?'))) {
			pattern = want + 1;
			text++;
		} else if (star) {
			pattern = star;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static Filter *filter_new(const char *name, const Ec2Filter *names)
{
	static const Ec2Filter tags[] = {
		{"tag-key", "tagSet.key"}, {"tag-value", "tagSet.value"}, {NULL}};
	const char *path = NULL;
	for (int i = 0; !path && names[i].name; i++)
		path = g_str_equal(names[i].name, name) ? names[i].path : NULL;
	for (int i = 0; !path && tags[i].name; i++)
		path = g_str_equal(tags[i].name, name) ? tags[i].path : NULL;
	if (!path && !g_str_has_prefix(name, "tag:"))
		return NULL;
	Filter *filter = g_new0(Filter, 1);
	filter->path = path;
	filter->key = path ? NULL : g_strdup(name + strlen("tag:"));
	filter->exact = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	filter->patterns = g_ptr_array_new();
	return filter;
}

static void add_value(Filter *filter, const char *value)
{
	if (has_wildcard(value))
		g_ptr_array_add(filter->patterns, (void *)(guintptr)value);
	else
		g_hash_table_add(filter->exact, unescape(value));
}

static bool parse_one(
	RgSimCall *call, const json_t *entry, const Ec2Filter *names, GPtrArray *filters)
{
	const char *name = ec2_param_str(entry, "Name");
	g_autoptr(GPtrArray) values = ec2_param_texts(entry, "Value");
	if (!name)
		return ec2_fail_missing(call, "Filter.Name");
	if (values->len == 0)
		return rg_sim_fail(
			call, 400, "InvalidParameterValue", "The filter '%s' has no value", name);
	Filter *filter = filter_new(name, names);
	if (!filter)
		return rg_sim_fail(
			call, 400, "InvalidParameterValue", "The filter '%s' is invalid", name);
	for (unsigned i = 0; i < values->len; i++)
		add_value(filter, g_ptr_array_index(values, i));
	g_ptr_array_add(filters, filter);
	return true;
}

/* Reads Filter.N of the request: an array of Filter. NULL and an error on the call for unknown
 * names and too many values. */
static GPtrArray *parse_filters(RgSimCall *call, const Ec2Filter *names)
{
	g_autoptr(GPtrArray) filters = g_ptr_array_new_with_free_func(filter_free);
	g_autoptr(GPtrArray) entries = call_list(call, "Filter");
	size_t total = 0;
	for (unsigned i = 0; i < entries->len; i++)
		total += json_object_size(ec2_param_at(g_ptr_array_index(entries, i), "Value"));
	if (entries->len > MAX_VALUES || total > MAX_VALUES) {
		rg_sim_fail(call, 400, "FilterLimitExceeded",
			"The maximum number of filter values specified on a single call is %d",
			MAX_VALUES);
		return NULL;
	}
	for (unsigned i = 0; i < entries->len; i++) {
		if (!parse_one(call, g_ptr_array_index(entries, i), names, filters))
			return NULL;
	}
	return g_steal_pointer(&filters);
}

static bool match_text(const Filter *filter, const char *text)
{
	if (g_hash_table_contains(filter->exact, text))
		return true;
	for (unsigned i = 0; i < filter->patterns->len; i++) {
		if (wild_match(g_ptr_array_index(filter->patterns, i), text))
			return true;
	}
	return false;
}

static bool match_leaf(const Filter *filter, const json_t *value)
{
	if (json_is_string(value))
		return match_text(filter, json_string_value(value));
	if (json_is_boolean(value))
		return match_text(filter, json_is_true(value) ? "true" : "false");
	if (!json_is_integer(value))
		return false;
	char text[32];
	g_snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	return match_text(filter, text);
}

/* Paths come from our tables, which limit the depth. */
static bool match_path(const Filter *filter, const json_t *value, const char *path)
{
	if (json_is_array(value)) {
		for (size_t i = 0; i < json_array_size(value); i++) {
			if (match_path(filter, json_array_get(value, i), path))
				return true;
		}
		return false;
	}
	if (!*path)
		return match_leaf(filter, value);
	const char *end = strchrnul(path, '.');
	const json_t *member = json_object_getn(value, path, (size_t)(end - path));
	return member && match_path(filter, member, *end ? end + 1 : end);
}

static bool match_tag(const Filter *filter, const json_t *doc)
{
	const json_t *tag = rg_sim_entry(json_object_get(doc, "tagSet"), "key", filter->key);
	return tag && match_text(filter, doc_str(tag, "value"));
}

static bool match_all(const GPtrArray *filters, const json_t *doc)
{
	rg_ptr_foreach (const Filter, filter, filters) {
		bool matches = filter->path ? match_path(filter, doc, filter->path)
					    : match_tag(filter, doc);
		if (!matches)
			return false;
	}
	return true;
}

/* ---- pages */

typedef struct {
	json_t *doc;
	guint64 seq;
} Entry;

typedef struct {
	guint64 after;	/* sequence number of the last one on the previous page */
	gint64 size;	/* 0: no limit */
	bool empty;	/* the knob's first page */
	char *bound_to; /* digest of action and filters: a token is valid for one query only */
} Paging;

static char *question_digest(const RgSimCall *call)
{
	json_t *filters = ec2_param_at(call->params, "Filter");
	g_autofree char *text = filters ? json_dumps(filters, JSON_SORT_KEYS) : g_strdup("");
	g_autofree char *whole = g_strconcat(call->action->name, call->place->name, text, NULL);
	g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, whole, -1);
	return g_strndup(digest, 16);
}

static char *token_make(const Paging *paging, guint64 after)
{
	g_autofree char *text = g_strdup_printf("%s/%" G_GUINT64_FORMAT, paging->bound_to, after);
	return g_base64_encode((const guchar *)text, strlen(text));
}

static bool token_read(RgSimCall *call, const char *token, Paging *paging)
{
	gsize length = 0;
	g_autofree char *raw = (char *)g_base64_decode(token, &length);
	g_autofree char *text = g_strndup(raw, length);
	g_auto(GStrv) parts = g_strsplit(text, "/", 2);
	if (g_strv_length(parts) != 2 || !g_str_equal(parts[0], paging->bound_to) ||
		!g_ascii_string_to_unsigned(parts[1], 10, 0, G_MAXINT64, &paging->after, NULL))
		return rg_sim_fail(call, 400, "InvalidPaginationToken",
			"The specified pagination token is not valid or is expired.");
	return true;
}

static bool paging_read(RgSimCall *call, const Ec2Listing *listing, bool by_id, Paging *paging)
{
	const char *token = call_str(call, "NextToken");
	gint64 wanted = call_int(call, "MaxResults", 0);
	bool given = call_str(call, "MaxResults") != NULL;
	if (by_id && given)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The parameter %s cannot be used with the parameter maxResults",
			listing->ids);
	gint64 least = listing->least ? listing->least : 5;
	gint64 most = listing->most ? listing->most : 1000;
	if (given && (wanted < least || wanted > most))
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Value ( %" G_GINT64_FORMAT " ) for parameter maxResults is invalid. "
			"Expecting a value from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT ".",
			wanted, least, most);
	bool has_pages = !by_id && strstr(call->action->handled, "NextToken");
	gint64 cap = has_pages ? doc_int(call->sim->knobs, "page_size") : 0;
	paging->size = wanted && cap ? MIN(wanted, cap) : MAX(wanted, cap);
	paging->empty =
		has_pages && doc_int(call->sim->knobs, "empty_first_page") && (!token || !*token);
	return !token || !*token || token_read(call, token, paging);
}

static GArray *entries_of_table(const RgSimCall *call, unsigned kind)
{
	const RgSimTable *table = call->place->tables[kind];
	GArray *out = g_array_sized_new(FALSE, FALSE, sizeof(Entry), table->order->len);
	rg_ptr_foreach (const RgSimItem, item, table->order) {
		Entry entry = {rg_sim_item_view(item, call->view_ms), item->seq};
		if (entry.doc)
			g_array_append_val(out, entry);
	}
	return out;
}

/* Every id must be well-formed and visible to the reader, otherwise the whole call fails. */
static GArray *entries_of_ids(RgSimCall *call, unsigned kind, const GPtrArray *ids)
{
	g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(Entry));
	g_autoptr(GPtrArray) missing = g_ptr_array_new();
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	rg_ptr_foreach (const char, id, ids) {
		if (!ec2_is_id(kind, id)) {
			ec2_fail_malformed(call, kind, id);
			return NULL;
		}
		if (!g_hash_table_add(seen, (void *)(guintptr)id))
			continue;
		const RgSimItem *item = rg_sim_table_item(call->place->tables[kind], id);
		Entry entry = {item ? rg_sim_item_view(item, call->view_ms) : NULL, 0};
		if (entry.doc)
			g_array_append_val(out, entry);
		else
			g_ptr_array_add(missing, (void *)(guintptr)id);
	}
	if (missing->len) {
		g_ptr_array_add(missing, NULL);
		g_autofree char *list = g_strjoinv(", ", (char **)missing->pdata);
		ec2_fail_not_found(call, kind, list);
		return NULL;
	}
	return g_steal_pointer(&out);
}

static void write_page(RgSimCall *call, const Ec2Listing *listing, const GPtrArray *page)
{
	if (listing->write) {
		listing->write(call, page);
		return;
	}
	ec2_xml_open(call->body, listing->set);
	for (unsigned i = 0; i < page->len; i++)
		ec2_xml_value(call->body, "item", g_ptr_array_index(page, i));
	ec2_xml_close(call->body, listing->set);
}

/* Fills the page; returns the sequence number after which the next one starts, 0 if there is
 * none. */
static guint64 select_page(const RgSimCall *call, const Ec2Listing *listing,
	const GPtrArray *filters, const GArray *entries, const Paging *paging, GPtrArray *page)
{
	bool before = doc_int(call->sim->knobs, "page_before_filter");
	guint64 last = paging->after;
	gint64 taken = 0;
	for (unsigned i = 0; i < entries->len; i++) {
		const Entry *entry = &g_array_index(entries, Entry, i);
		if (entry->seq && entry->seq <= paging->after)
			continue;
		bool matches = match_all(filters, entry->doc) &&
			       (!listing->wanted || listing->wanted(call, entry->doc));
		if (!matches && !before)
			continue;
		if (paging->size && taken == paging->size)
			return last;
		taken++;
		last = entry->seq;
		if (matches)
			g_ptr_array_add(page, entry->doc);
	}
	return 0;
}

static bool describe_page(
	RgSimCall *call, const Ec2Listing *listing, const GArray *entries, const Paging *paging)
{
	g_autoptr(GPtrArray) filters = parse_filters(call, listing->filters);
	if (!filters || !ec2_go(call))
		return false;
	g_autoptr(GPtrArray) page = g_ptr_array_new();
	guint64 last =
		paging->empty ? 0 : select_page(call, listing, filters, entries, paging, page);
	write_page(call, listing, page);
	if (last || paging->empty) {
		g_autofree char *token = token_make(paging, last);
		ec2_xml_text(call->body, "nextToken", token);
	}
	return true;
}

static bool describe_answer(
	RgSimCall *call, const Ec2Listing *listing, const GArray *entries, bool by_id)
{
	Paging paging = {.bound_to = question_digest(call)};
	bool done = paging_read(call, listing, by_id, &paging) &&
		    describe_page(call, listing, entries, &paging);
	g_free(paging.bound_to);
	return done;
}

bool ec2_describe(RgSimCall *call, const Ec2Listing *listing)
{
	g_autoptr(GPtrArray) ids = call_texts(call, listing->ids ? listing->ids : "");
	g_autoptr(GArray) entries = ids->len ? entries_of_ids(call, listing->kind, ids)
					     : entries_of_table(call, listing->kind);
	g_autoptr(GPtrArray) views = g_ptr_array_new_with_free_func(rg_json_unref);
	for (guint i = 0; listing->view && entries && i < entries->len; i++) {
		Entry *entry = &g_array_index(entries, Entry, i);
		entry->doc = listing->view(call, entry->doc);
		g_ptr_array_add(views, entry->doc);
	}
	return entries && describe_answer(call, listing, entries, ids->len > 0);
}

bool ec2_describe_docs(RgSimCall *call, const Ec2Listing *listing, const GPtrArray *docs)
{
	g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(Entry));
	for (unsigned i = 0; i < docs->len; i++) {
		Entry entry = {g_ptr_array_index(docs, i), i + 1};
		g_array_append_val(entries, entry);
	}
	return describe_answer(call, listing, entries, false);
}
