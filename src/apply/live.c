#include "apply/internal.h"
#include "base/redact.h"
#include "resource/expr.h"

/* Ids and computed attributes as they are now: what references resolve to. */

static void live_free(void *data)
{
	Live *live = data;
	g_free(live->id);
	json_decref(live->outputs);
	g_free(live);
}

Live *live_get(Apply *apply, const char *address)
{
	return g_hash_table_lookup(apply->live, address);
}

void live_set(Apply *apply, const char *address, const char *id, const json_t *outputs)
{
	Live *live = g_new0(Live, 1);
	live->id = g_strdup(id);
	live->outputs = outputs ? json_deep_copy(outputs) : json_object();
	g_hash_table_replace(apply->live, g_strdup(address), live);
}

void live_forget(Apply *apply, const char *address)
{
	g_hash_table_remove(apply->live, address);
}

void live_load(Apply *apply)
{
	apply->live = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, live_free);
	const RgResourceSet *recorded = apply->snapshot->recorded;
	for (size_t i = 0; i < rg_resource_set_size(recorded); i++) {
		const RgResource *resource = rg_resource_set_get(recorded, i);
		if (resource->presence == RG_PENDING)
			continue;
		live_set(apply, resource->address, resource->id, resource->outputs);
		const char *secret = rg_json_str(resource->outputs, "value", NULL);
		if (secret && g_str_equal(resource->kind, RG_SECRET_KIND))
			rg_redact_add(secret, strlen(secret));
	}
}

static json_t *look_up(void *data, const char *address, const char *attr)
{
	Live *live = live_get(data, address);
	if (!live)
		return NULL;
	json_t *value = json_object_get(live->outputs, attr);
	if (value)
		return json_incref(value);
	return g_str_equal(attr, "id") && live->id ? json_string(live->id) : NULL;
}

json_t *live_resolve(Apply *apply, const json_t *attrs, RgDiags *diags)
{
	return rg_expr_resolve(attrs, look_up, apply, diags);
}
