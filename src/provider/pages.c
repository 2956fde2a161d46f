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

static const char *const members[] = {"id", "address", "attributes", "shared", "state", "token",
	"status", "nodes", "lineage", NULL};

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

/* The members of ABI 1.0; a later minor version may have more. */
static bool members_are_known(RgCall *call, const json_t *object, const char *whose)
{
	const char *key;
	json_t *value;
	if (call->module->table->abi_minor > RGP_ABI_MINOR)
		return true;
	json_object_foreach (rg_json_unconst(object), key, value) {
		if (g_strv_contains(members, key))
			continue;
		g_autofree char *name = rg_text_clean(key);
		rg_call_bad(call, "\"%s\" of \"%s\" is not known", name, whose);
		return false;
	}
	return true;
}

/* Text, or NULL if absent or null; anything else is a bad result. */
static bool read_text(RgCall *call, const Item *item, const char *key, const char **text)
{
	const json_t *value = member_of(item, key);
	*text = json_string_value(value);
	if (!value || json_is_null(value) || *text)
		return true;
	rg_call_bad(call, "\"%s\" of a resource is not a string", key);
	return false;
}

/* Number of running nodes, by pool. */
static bool read_nodes(RgCall *call, const Item *item, json_t **nodes)
{
	json_t *runs = member_of(item, "nodes"), *n;
	const char *pool;
	bool ok = !runs || json_is_object(runs);
	json_object_foreach (runs, pool, n)
		ok = ok && json_is_integer(n) && json_integer_value(n) >= 0;
	if (!ok)
		rg_call_bad(call, "\"nodes\" of \"%s\" is not a number of nodes by pool", item->id);
	*nodes = runs;
	return ok;
}

static bool read_presence(RgCall *call, const Item *item, RgPresence *presence)
{
	const char *state = json_string_value(member_of(item, "state"));
	*presence = g_strcmp0(state, "gone") == 0 ? RG_ABSENT : RG_PRESENT;
	if (*presence == RG_ABSENT || g_strcmp0(state, "present") == 0)
		return true;
	rg_call_bad(call, "\"state\" of \"%s\" is neither \"present\" nor \"gone\"", item->id);
	return false;
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
		rg_call_bad(call, "a resource without an id");
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
	if (own ? !json_is_object(own) : !shared) {
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

/* What several resources of the page have in common: members of a resource. */
static bool shared_are_right(RgCall *call, const Pages *pages, const json_t *page_shared)
{
	static const char *const whose = "a page's \"shared\"";
	size_t i;
	json_t *shared;
	bool ok = !page_shared || json_is_array(page_shared);
	json_array_foreach (page_shared, i, shared) {
		json_t *attributes = json_object_get(shared, "attributes");
		ok = ok && json_is_object(shared) && members_are_known(call, shared, "shared") &&
		     (!attributes || json_is_object(attributes)) &&
		     rg_attributes_verify(call, pages->kind, attributes, whose);
	}
	if (!ok && call->bad_count == 0)
		rg_call_bad(call, "\"shared\" of a page is not a list of members of resources");
	return ok;
}

/* The element of the page's `shared` that the item names; NULL: it names none. */
static bool read_shared(RgCall *call, const json_t *page_shared, Item *item)
{
	const json_t *place = json_object_get(item->own, "shared");
	if (!place)
		return true;
	json_int_t n = json_is_integer(place) ? json_integer_value(place) : -1;
	item->shared = n >= 0 ? json_array_get(page_shared, (size_t)n) : NULL;
	if (!item->shared)
		rg_call_bad(call, "\"shared\" of \"%s\" refers to nothing", item->id);
	return item->shared != NULL;
}

static void take_resource(
	RgCall *call, const Pages *pages, const json_t *own, const json_t *page_shared)
{
	const char *address, *token, *status, *lineage;
	json_t *nodes;
	RgPresence presence;
	Item item = {.own = own, .id = check_id(call, pages, own)};
	if (!item.id || !members_are_known(call, own, item.id) ||
		!read_shared(call, page_shared, &item) || !read_presence(call, &item, &presence) ||
		!read_nodes(call, &item, &nodes) || !read_text(call, &item, "address", &address) ||
		!read_text(call, &item, "token", &token) ||
		!read_text(call, &item, "status", &status) ||
		!read_text(call, &item, "lineage", &lineage))
		return;
	json_t *attributes = read_attributes(call, pages, &item);
	if (!attributes)
		return;
	RgResource *resource = new_observed(pages->kind, address);
	resource->id = g_strdup(item.id);
	resource->attrs = attributes;
	resource->nodes = json_incref(nodes);
	resource->presence = presence;
	resource->token = g_strdup(token);
	resource->lineage = rg_text_clean(lineage);
	resource->status = rg_text_clean(status);
	pages->observed(pages->data, resource);
}

/* The kind of the page's resources: its own, or the requested one. */
static bool read_kind(RgCall *call, Pages *pages, const json_t *page)
{
	const char *kind;
	if (!read_text(call, &(Item){.own = page}, "kind", &kind))
		return false;
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
	size_t i;
	json_t *item;
	json_t *resources = json_object_get(value, "resources");
	json_t *shared = json_object_get(value, "shared");
	if (g_str_equal(slot, "done")) {
		if (pages->done || !json_is_true(json_object_get(value, "complete")))
			rg_call_bad(call, pages->done
						  ? "\"done\" was returned twice"
						  : "\"done\" does not state that it is complete");
		pages->done = true;
		return;
	}
	if (!g_str_equal(slot, "page") || pages->done || !json_is_array(resources)) {
		rg_call_bad(call, "\"%s\" is not a page, or comes after \"done\"", slot);
		return;
	}
	if (!read_kind(call, pages, value) || !shared_are_right(call, pages, shared))
		return;
	if (json_array_size(resources) > 0)
		rg_call_has_news(call);
	json_array_foreach (resources, i, item) {
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
	if (ok && !pages->done)
		rg_call_bad(&call, "it returned without \"done\"");
	else if (ok && rg_call_was_refused(&call))
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
	json_auto_t *input = json_pack("{s:o, s:s, s:s?, s:o}", "kinds", kinds, "cluster",
		listing->cluster, "lineage", listing->lineage, "known", known);
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
