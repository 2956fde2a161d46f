/* Items of ready, update and remove as in apply, and waiting for pending ones. */
#include "base/clock.h"
#include "provider/conform_internal.h"
#include "resource/expr.h"

json_t *rg_conform_see(RgConform *c, const RgConformMade *made, bool *read)
{
	g_autoptr(RgDiags) unread = rg_diags_new();
	g_autoptr(GHashTable) seen = rg_conform_seen_new();
	*read = rg_conform_list(c, made->wanted->kind, made->id, seen, unread);
	const RgResource *resource = *read ? g_hash_table_lookup(seen, made->id) : NULL;
	return resource && resource->presence == RG_PRESENT ? json_incref(resource->attrs) : NULL;
}

json_t *rg_conform_item(RgConform *c, const RgConformMade *made)
{
	const RgKind *kind =
		rg_schema_kind(rg_provider_get_schema(c->provider), made->wanted->kind);
	json_t *recorded = rg_expr_resolve_known(made->wanted->attrs, rg_conform_look_up, c);
	const char *name;
	json_t *value;
	void *next;
	bool read;
	json_object_update(recorded, made->outputs);
	json_object_foreach_safe (recorded, next, name, value) {
		const RgAttribute *attribute = rg_kind_attribute(kind, name);
		if (!attribute || attribute->sensitive || attribute->unreadable)
			json_object_del(recorded, name);
	}
	json_auto_t *seen = rg_conform_see(c, made, &read);
	return json_pack("{s:s, s:s, s:o, s:o}", "address", made->wanted->address, "id", made->id,
		"recorded", recorded, "observed", seen ? json_copy(seen) : json_null());
}

/* The answer's contents go into the item of the next call. */
static void learn(const RgConform *c, json_t *item, const RgItemResult *result)
{
	const RgConformMade *made = rg_conform_find(c, result->address);
	json_t *views[] = {json_object_get(item, "recorded"), json_object_get(item, "observed"),
		made ? made->outputs : NULL};
	for (size_t i = 0; result->attributes && i < G_N_ELEMENTS(views); i++)
		json_object_update(views[i], result->attributes);
	if (result->operation)
		rg_json_set_str(item, "operation", result->operation);
	else
		json_object_del(item, "operation");
}

GPtrArray *rg_conform_call(
	RgConform *c, RgConformCall call, const char *kind, json_t *items, RgDiags *diags)
{
	int64_t until = rg_clock_monotonic_ms() + c->options->wait_ms;
	json_auto_t *input = json_pack("{s:s, s:O}", "kind", kind, "items", items);
	GPtrArray *results = call(c->provider, input, diags);
	for (;;) {
		json_auto_t *left = json_array();
		for (guint i = 0; i < results->len; i++) {
			const RgItemResult *result = results->pdata[i];
			json_t *item = json_array_get(items, i);
			learn(c, item, result);
			if (result->outcome == RG_OUTCOME_PENDING && !result->queued)
				json_array_append(left, item);
		}
		if (!json_array_size(left) || rg_clock_monotonic_ms() > until)
			return results;
		rg_provider_sleep(c->provider, RG_CONFORM_LOOK_MS);
		json_object_set(input, "items", left);
		g_autoptr(GPtrArray) again = call(c->provider, input, diags);
		for (guint i = 0, k = 0; i < results->len && k < again->len; i++) {
			if (((RgItemResult *)results->pdata[i])->outcome != RG_OUTCOME_PENDING)
				continue;
			gpointer newer = again->pdata[k];
			again->pdata[k++] = results->pdata[i];
			results->pdata[i] = newer;
		}
	}
}
