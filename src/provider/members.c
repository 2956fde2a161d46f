/* members: machines of elastic pools that a group of the cloud launches and ends as Ray asks. No
 * record names them. */
#include "provider/internal.h"

#include "base/caps.h"
#include "resource/nodes.h"

typedef struct {
	json_t *groups; /* of each elastic pool of the records, in their order: what is returned */
	GHashTable *by_key; /* "ADDRESS POOL" -> json_t* of `groups` */
	GHashTable *seen;   /* ids of members */
	json_t *told;	    /* set of the keys that have a "group" */
	bool done;
} Members;

static char *make_key(const json_t *value)
{
	return g_strconcat(
		rg_json_str(value, "address", ""), " ", rg_json_str(value, "pool", ""), NULL);
}

static void add_groups(Members *members, const RgResource *record)
{
	for (size_t i = 0; i < rg_nodes_pools(record, NULL); i++) {
		const RgPoolNodes nodes = rg_nodes_get(record, i);
		if (!nodes.is_elastic)
			continue;
		json_t *group =
			json_pack("{s:s, s:s, s:n, s:n, s:[], s:[]}", "address", record->address,
				"pool", nodes.pool, "wants", "template", "refused", "members");
		g_hash_table_insert(members->by_key, make_key(group), group);
		json_array_append_new(members->groups, group);
	}
}

static void clean_text(json_t *object, const char *key)
{
	g_autofree char *text = rg_text_clean(rg_json_str(object, key, NULL));
	rg_json_set_str(object, key, text);
}

static void take_member(RgCall *call, Members *members, json_t *group, json_t *member)
{
	const char *id = rg_json_str(member, "id", NULL);
	if (!rg_provider_id_is_sound(id)) {
		rg_call_bad(call, "the id of a member has control characters");
	} else if (g_hash_table_size(members->seen) >= RG_CAP_NODES) {
		rg_call_bad(call, "more than %d members", RG_CAP_NODES);
	} else if (!g_hash_table_add(members->seen, g_strdup(id))) {
		rg_call_bad(call, "the member \"%s\" was returned twice", id);
	} else {
		clean_text(member, "zone");
		clean_text(member, "template");
		json_array_append(json_object_get(group, "members"), member);
	}
}

static void take_page(RgCall *call, Members *members, json_t *group, const json_t *page)
{
	const json_t *items = json_object_get(page, "members");
	if (json_array_size(items) > 0)
		rg_call_has_news(call);
	rg_json_foreach (member, items) {
		if (call->bad_count == 0)
			take_member(call, members, group, member);
	}
}

static void take_group(RgCall *call, Members *members, json_t *group, json_t *value)
{
	g_autofree char *key = make_key(value);
	if (json_object_get(members->told, key)) {
		rg_call_bad(call, "the group of %s was returned twice", key);
		return;
	}
	json_object_set_new(members->told, key, json_true());
	clean_text(value, "template");
	rg_json_foreach (refusal, json_object_get(value, "refused")) {
		clean_text(refusal, "message");
		clean_text(refusal, "code");
		clean_text(refusal, "zone");
	}
	json_object_update_existing(group, value);
}

static void take(RgCall *call, const char *slot, json_t *value)
{
	Members *members = call->data;
	if (g_str_equal(slot, "done")) {
		members->done = true;
		return;
	}
	g_autofree char *key = make_key(value);
	json_t *group = g_hash_table_lookup(members->by_key, key);
	if (members->done)
		rg_call_bad(call, "\"%s\" comes after \"done\"", slot);
	else if (!group)
		rg_call_bad(call,
			"\"%s\" is about \"%s\", which is not an elastic pool of the items", slot,
			key);
	else if (g_str_equal(slot, "page"))
		take_page(call, members, group, value);
	else
		take_group(call, members, group, value);
}

json_t *rg_provider_members(
	RgProvider *provider, const char *kind, const GPtrArray *records, RgDiags *diags)
{
	g_autoptr(GHashTable) by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	json_auto_t *groups = json_array(), *told = json_object(), *items = json_array();
	Members members = {groups, by_key, seen, told, false};
	rg_ptr_foreach (const RgResource, record, records) {
		add_groups(&members, record);
		json_array_append_new(items,
			json_pack("{s:s, s:s}", "address", record->address, "id", record->id));
	}
	json_auto_t *input = json_pack("{s:s, s:O}", "kind", kind, "items", items);
	RgCall call = {.slot = take, .data = &members};
	bool ok = rg_call_make(&call, provider, "members", input, diags);
	if (ok && rg_call_was_refused(&call))
		rg_call_bad(&call, "it reports \"complete\", but the last request was refused (%d)",
			call.last_status);
	ok = ok && call.bad_count == 0;
	rg_call_clear(&call);
	return ok ? g_steal_pointer(&groups) : NULL;
}
