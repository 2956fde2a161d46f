/* list and find: pages of observed resources, verified one by one and passed on. */
#include "provider/internal.h"

#include <string.h>
#include "base/caps.h"

typedef struct {
	const char *const *kinds; /* that were requested */
	const RgKind *kind;	  /* of the current page */
	RgObservedFn observed;
	void *data;
	GHashTable *seen; /* "KIND ID" of this call */
	bool done;
} Pages;

/* A resource of a page: its own members, and those that it has in common with others. */
typedef struct {
	const json_t *own, *shared;
	const char *id;
} Item;

static json_t *member_of(const Item *item, const char *key)
{
	json_t *value = json_object_get(item->own, key);
	return value ? value : json_object_get(item->shared, key);
}

static const char *text_of(const Item *item, const char *key)
{
	return json_string_value(member_of(item, key));
}

/* Marks are tags that anyone in the account may rewrite: an address of another kind counts as
 * absent, so that one damaged tag cannot stop all reading. */
static RgResource *new_observed(const RgKind *kind, const char *address)
{
	g_autofree char *address_kind = NULL, *name = NULL;
	int64_t index;
	bool told = address && g_utf8_strlen(address, -1) < 512 &&
		    rg_address_parse(address, &address_kind, &name, &index) &&
		    g_str_equal(address_kind, kind->name);
	if (told)
		return rg_resource_new(kind->name, name, index);
	RgResource *resource = rg_resource_new(kind->name, "", -1);
	g_clear_pointer(&resource->address, g_free);
	return resource;
}

static const char *check_id(RgCall *call, const Pages *pages, const json_t *item)
{
	const char *id = json_string_value(json_object_get(item, "id"));
	if (!rg_provider_id_is_sound(id)) {
		rg_call_bad(call, "the id of a resource has control characters");
		return NULL;
	}
	if (g_hash_table_size(pages->seen) >= 2 * RG_CAP_NODES) {
		rg_call_bad(call, "more than %d resources", 2 * RG_CAP_NODES);
		return NULL;
	}
	if (g_hash_table_add(pages->seen, g_strconcat(pages->kind->name, " ", id, NULL)))
		return id;
	g_autofree char *name = rg_text_clean(id);
	rg_call_bad(call, "\"%s\" was returned twice", name);
	return NULL;
}

/* The item's own attributes together with those that it shares with others of its page: a new
 * reference, checked; NULL if they are malformed. The shared ones have already been checked. */
static json_t *read_attributes(RgCall *call, const Pages *pages, const Item *item)
{
	json_t *own = json_object_get(item->own, "attributes");
	json_t *shared = json_object_get(item->shared, "attributes");
	if (!own && !shared) {
		rg_call_bad(call, "\"%s\" has no attributes", item->id);
		return NULL;
	}
	if (!own)
		return json_incref(shared);
	if (!rg_attributes_verify(call, pages->kind, own, item->id))
		return NULL;
	if (!shared)
		return json_incref(own);
	json_t *all = json_copy(shared);
	json_object_update(all, own);
	return all;
}

/* What several resources of the page have in common. */
static bool shared_are_right(RgCall *call, const Pages *pages, const json_t *page_shared)
{
	bool ok = true;
	rg_json_foreach (shared, page_shared)
		ok &= rg_attributes_verify(call, pages->kind, json_object_get(shared, "attributes"),
			"a page's \"shared\"");
	return ok;
}

/* The element of the page's `shared` that the item names; NULL: it names none. */
static bool read_shared(RgCall *call, const json_t *page_shared, Item *item)
{
	const json_t *place = json_object_get(item->own, "shared");
	if (!place)
		return true;
	item->shared = json_array_get(page_shared, (size_t)json_integer_value(place));
	if (!item->shared)
		rg_call_bad(call, "\"shared\" of \"%s\" refers to nothing", item->id);
	return item->shared != NULL;
}

/* It is as it should be, and does nothing yet. */
static void note_queued(RgCall *call, const RgResource *resource)
{
	RgDiag *diag =
		rg_diags_note(call->diags, "provider.queued", "%s is queued%s%s", resource->address,
			resource->status ? ": " : "", resource->status ? resource->status : "");
	rg_diag_address(diag, resource->address, NULL);
	rg_diag_hint(diag, "it starts when its turn comes; until then, `raygpu plan` shows this");
}

static void take_resource(
	RgCall *call, const Pages *pages, const json_t *own, const json_t *page_shared)
{
	Item item = {.own = own, .id = check_id(call, pages, own)};
	if (!item.id || !read_shared(call, page_shared, &item))
		return;
	const char *state = text_of(&item, "state");
	if (!state) {
		rg_call_bad(call, "\"%s\" has no \"state\"", item.id);
		return;
	}
	json_t *attributes = read_attributes(call, pages, &item);
	if (!attributes)
		return;
	RgResource *resource = new_observed(pages->kind, text_of(&item, "address"));
	resource->id = g_strdup(item.id);
	resource->attrs = attributes;
	resource->nodes = json_incref(member_of(&item, "nodes"));
	resource->presence = g_str_equal(state, "gone")	     ? RG_ABSENT
			     : g_str_equal(state, "unknown") ? RG_UNKNOWN
							     : RG_PRESENT;
	resource->token = g_strdup(text_of(&item, "token"));
	resource->lineage = rg_text_clean(text_of(&item, "lineage"));
	resource->status = rg_text_clean(text_of(&item, "status"));
	if (g_str_equal(state, "queued") && resource->address && !resource->lineage)
		note_queued(call, resource);
	pages->observed(pages->data, resource);
}

/* The kind of the page's resources: its own, or the requested one. */
static bool read_kind(RgCall *call, Pages *pages, const json_t *page)
{
	const char *kind = rg_json_str(page, "kind", NULL);
	bool alone = !pages->kinds[1];
	if (!kind && alone)
		kind = pages->kinds[0];
	if (!kind || !g_strv_contains(pages->kinds, kind)) {
		g_autofree char *name = rg_text_clean(kind);
		rg_call_bad(call,
			name ? "a page is of the kind \"%s\", which was not requested"
			     : "a page does not state its kind%s",
			name ? name : "");
		return false;
	}
	pages->kind = rg_schema_kind(call->schema, kind);
	return true;
}

static void take_page(RgCall *call, const char *slot, json_t *value)
{
	Pages *pages = call->data;
	json_t *resources = json_object_get(value, "resources");
	json_t *shared = json_object_get(value, "shared");
	if (g_str_equal(slot, "done")) {
		pages->done = true;
		return;
	}
	if (pages->done) {
		rg_call_bad(call, "\"page\" comes after \"done\"");
		return;
	}
	if (!read_kind(call, pages, value) || !shared_are_right(call, pages, shared))
		return;
	if (json_array_size(resources) > 0)
		rg_call_has_news(call);
	rg_json_foreach (item, resources) {
		/* After the first fault the whole read is discarded anyway. */
		if (call->bad_count == 0)
			take_resource(call, pages, item, shared);
	}
}

static bool read_pages(
	RgProvider *provider, const char *verb, const json_t *input, Pages *pages, RgDiags *diags)
{
	for (size_t i = 0; pages->kinds[i]; i++) {
		if (rg_schema_kind(provider->module->schema, pages->kinds[i]))
			continue;
		rg_diags_error(diags, "provider.invalid", "module %s has no kind \"%s\"",
			provider->module->name, pages->kinds[i]);
		return false;
	}
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	pages->seen = seen;
	RgCall call = {.slot = take_page, .data = pages};
	bool ok = rg_call_make(&call, provider, verb, input, diags);
	if (ok && rg_call_was_refused(&call))
		rg_call_bad(&call, "it reports \"complete\", but the last request was refused (%d)",
			call.last_status);
	ok = ok && call.bad_count == 0;
	rg_call_clear(&call);
	return ok;
}

bool rg_provider_list(RgProvider *provider, const RgListing *listing, RgObservedFn observed,
	void *data, RgDiags *diags)
{
	json_t *kinds = json_array(), *known = json_object();
	for (size_t i = 0; listing->kinds[i]; i++) {
		const char *kind = listing->kinds[i];
		json_t *ids = json_object_get(listing->known, kind);
		json_array_append_new(kinds, json_string(kind));
		json_object_set_new(known, kind, ids ? json_incref(ids) : json_array());
	}
	json_auto_t *input = json_pack("{s:o, s:s, s:s?, s:o, s:o*}", "kinds", kinds, "cluster",
		listing->cluster, "lineage", listing->lineage, "known", known, "rebuild",
		listing->rebuild ? json_true() : NULL);
	g_assert(input != NULL);
	Pages pages = {.kinds = listing->kinds, .observed = observed, .data = data};
	return read_pages(provider, "list", input, &pages, diags);
}

bool rg_provider_find(RgProvider *provider, const char *kind, const char *token,
	const json_t *marks, RgObservedFn observed, void *data, RgDiags *diags)
{
	json_auto_t *input = json_pack(
		"{s:s, s:s, s:O}", "kind", kind, "token", token, "marks", rg_json_unconst(marks));
	g_assert(input != NULL);
	const char *const kinds[] = {kind, NULL};
	Pages pages = {.kinds = kinds, .observed = observed, .data = data};
	return read_pages(provider, "find", input, &pages, diags);
}
