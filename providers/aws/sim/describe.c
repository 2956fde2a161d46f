#include "aws/sim/describe.h"
#include <string.h>
#include "aws/sim/xml.h"

typedef struct {
	json_t *doc;
	guint64 seq;
} Entry;

typedef struct {
	guint64 after;	/* sequence number of the last one on the page before */
	gint64 size;	/* 0: no bound */
	char *bound_to; /* digest of action and filters: a token fits one question only */
} Paging;

static char *question_digest(const RgSimCall *call)
{
	json_t *filters = rg_sim_param_at(call->params, "Filter");
	g_autofree char *text = filters ? json_dumps(filters, JSON_SORT_KEYS) : g_strdup("");
	g_autofree char *whole = g_strconcat(call->action->name, call->region->name, text, NULL);
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

static bool paging_read(RgSimCall *call, const RgSimListing *listing, bool by_id, Paging *paging)
{
	const char *token = rg_sim_param_str(call->params, "NextToken");
	gint64 wanted = rg_sim_param_int(call->params, "MaxResults", 0);
	bool given = rg_sim_param_str(call->params, "MaxResults") != NULL;
	if (by_id && given)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The parameter %s cannot be used with the parameter maxResults",
			listing->ids);
	if (given && (wanted < listing->min_results || wanted > listing->max_results))
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Value ( %" G_GINT64_FORMAT " ) for parameter maxResults is invalid. "
			"Expecting a value from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT ".",
			wanted, listing->min_results, listing->max_results);
	gint64 cap = by_id ? 0 : call->knobs->page_size;
	paging->size = wanted && cap ? MIN(wanted, cap) : MAX(wanted, cap);
	return !token || !*token || token_read(call, token, paging);
}

static GArray *entries_of_table(const RgSimCall *call, RgSimKind kind)
{
	const RgSimTable *table = call->region->tables[kind];
	GArray *out = g_array_sized_new(FALSE, FALSE, sizeof(Entry), table->order->len);
	for (unsigned i = 0; i < table->order->len; i++) {
		const RgSimItem *item = g_ptr_array_index(table->order, i);
		Entry entry = {rg_sim_item_view(item, call->view_ms), item->seq};
		if (entry.doc)
			g_array_append_val(out, entry);
	}
	return out;
}

static bool fail_not_found(RgSimCall *call, RgSimKind kind, const GPtrArray *missing)
{
	g_autofree char *list = g_strjoinv(", ", (char **)missing->pdata);
	if (kind == RG_SIM_INSTANCE && missing->len > 2) /* the last entry is the NULL */
		return rg_sim_fail(call, 400, rg_sim_kinds[kind].not_found,
			"The instance IDs '%s' do not exist", list);
	g_auto(GStrv) around = g_strsplit(rg_sim_kinds[kind].not_found_text, "%s", 2);
	return rg_sim_fail(
		call, 400, rg_sim_kinds[kind].not_found, "%s%s%s", around[0], list, around[1]);
}

/* Every id must be well-formed and visible to the reader, or the whole call fails. */
static GArray *entries_of_ids(RgSimCall *call, RgSimKind kind, const GPtrArray *ids)
{
	g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(Entry));
	g_autoptr(GPtrArray) missing = g_ptr_array_new();
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	for (unsigned i = 0; i < ids->len; i++) {
		const char *id = g_ptr_array_index(ids, i);
		if (!rg_sim_kind_is_id(kind, id)) {
			rg_sim_fail(call, 400, rg_sim_kinds[kind].malformed,
				"Invalid id: \"%s\" (expecting \"%s...\")", id,
				rg_sim_kinds[kind].prefix);
			return NULL;
		}
		if (!g_hash_table_add(seen, (void *)(guintptr)id))
			continue;
		const RgSimItem *item = rg_sim_table_item(call->region->tables[kind], id);
		Entry entry = {item ? rg_sim_item_view(item, call->view_ms) : NULL, 0};
		if (entry.doc)
			g_array_append_val(out, entry);
		else
			g_ptr_array_add(missing, (void *)(guintptr)id);
	}
	if (missing->len) {
		g_ptr_array_add(missing, NULL);
		fail_not_found(call, kind, missing);
		return NULL;
	}
	return g_steal_pointer(&out);
}

static void write_page(RgSimCall *call, const RgSimListing *listing, const GPtrArray *page)
{
	if (listing->write) {
		listing->write(call, page);
		return;
	}
	rg_sim_xml_open(call->body, listing->set);
	for (unsigned i = 0; i < page->len; i++)
		rg_sim_xml_value(call->body, "item", g_ptr_array_index(page, i));
	rg_sim_xml_close(call->body, listing->set);
}

/* Fills the page; the sequence number behind which the next one starts, 0 when there is none. */
static guint64 select_page(const RgSimCall *call, const RgSimListing *listing,
	const RgSimFilters *filters, const GArray *entries, const Paging *paging, GPtrArray *page)
{
	guint64 last = paging->after;
	gint64 taken = 0;
	for (unsigned i = 0; i < entries->len; i++) {
		const Entry *entry = &g_array_index(entries, Entry, i);
		if (entry->seq && entry->seq <= paging->after)
			continue;
		bool matches = rg_sim_filters_match(filters, entry->doc) &&
			       (!listing->wanted || listing->wanted(call, entry->doc));
		if (!matches && !call->knobs->page_before_filter)
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

static bool answer_page(
	RgSimCall *call, const RgSimListing *listing, const GArray *entries, const Paging *paging)
{
	g_autoptr(RgSimFilters) filters = rg_sim_filters_parse(call, listing->filters);
	if (!filters || !rg_sim_go(call))
		return false;
	g_autoptr(GPtrArray) page = g_ptr_array_new();
	guint64 last = select_page(call, listing, filters, entries, paging, page);
	write_page(call, listing, page);
	if (last) {
		g_autofree char *token = token_make(paging, last);
		rg_sim_xml_text(call->body, "nextToken", token);
	}
	return true;
}

static bool answer(RgSimCall *call, const RgSimListing *listing, const GArray *entries, bool by_id)
{
	Paging paging = {.bound_to = question_digest(call)};
	bool done = paging_read(call, listing, by_id, &paging) &&
		    answer_page(call, listing, entries, &paging);
	g_free(paging.bound_to);
	return done;
}

bool rg_sim_describe(RgSimCall *call, const RgSimListing *listing)
{
	g_autoptr(GPtrArray) ids =
		rg_sim_param_texts(call->params, listing->ids ? listing->ids : "");
	g_autoptr(GArray) entries = ids->len ? entries_of_ids(call, listing->kind, ids)
					     : entries_of_table(call, listing->kind);
	return entries && answer(call, listing, entries, ids->len > 0);
}

bool rg_sim_describe_docs(RgSimCall *call, const RgSimListing *listing, const GPtrArray *docs)
{
	g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(Entry));
	for (unsigned i = 0; i < docs->len; i++) {
		Entry entry = {g_ptr_array_index(docs, i), i + 1};
		g_array_append_val(entries, entry);
	}
	return answer(call, listing, entries, false);
}
