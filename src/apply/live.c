#include "apply/internal.h"
#include "base/redact.h"
#include "resource/expr.h"

/* Current ids and computed attributes: the values of references. */

static void live_free(void *data)
{
	Live *live = data;
	g_free(live->id);
	g_free(live->operation);
	json_decref(live->attrs);
	json_decref(live->outputs);
	json_decref(live->observed);
	json_decref(live->replayed);
	g_free(live);
}

const RgKind *kind_of(const Apply *apply, const char *kind)
{
	return rg_schema_kind(rg_provider_get_schema(apply->provider), kind);
}

json_t *computed_of(const RgKind *kind, const json_t *attributes)
{
	if (!kind || !attributes)
		return NULL;
	json_t *computed = json_object();
	rg_json_foreach_member (name, value, attributes) {
		const RgAttribute *attribute = rg_kind_attribute(kind, name);
		if (attribute && attribute->computed)
			json_object_set(computed, name, value);
	}
	return computed;
}

Live *live_get(Apply *apply, const char *address)
{
	return g_hash_table_lookup(apply->live, address);
}

Live *live_set(Apply *apply, const char *address, const char *id, const json_t *outputs)
{
	Live *live = g_new0(Live, 1);
	live->id = g_strdup(id);
	live->outputs = outputs ? json_copy(rg_json_unconst(outputs)) : json_object();
	g_hash_table_replace(apply->live, g_strdup(address), live);
	return live;
}

void live_move(Apply *apply, const char *from, const char *to)
{
	gpointer key, value;
	const RgResource *record = rg_resource_set_find(apply->snapshot->recorded, from);
	if (!g_hash_table_steal_extended(apply->live, from, &key, &value))
		return;
	Live *live = value;
	if (!live->attrs && record)
		live->attrs = json_incref(record->attrs);
	g_free(key);
	g_hash_table_replace(apply->live, g_strdup(to), live);
}

void live_made(Live *live, const json_t *attrs)
{
	if (!live)
		return;
	json_decref(live->attrs);
	live->attrs = json_incref(rg_json_unconst(attrs));
}

/* Merges `news` into *object, which may be shared; true if that changes something. */
static bool put_over(json_t **object, json_t *news)
{
	bool changed = !*object;
	rg_json_foreach_member (name, value, news)
		changed |= !json_equal(json_object_get(*object, name), value);
	if (!changed)
		return false;
	json_t *merged = *object ? json_copy(*object) : json_object();
	json_object_update(merged, news);
	json_decref(*object);
	*object = merged;
	return true;
}

void live_learn(Apply *apply, const RgPlanChange *change, const RgItemResult *result)
{
	json_auto_t *news = computed_of(kind_of(apply, change->kind), result->attributes);
	Live *live = live_get(apply, change->address);
	if (!live)
		return;
	g_free(live->operation);
	live->operation = g_strdup(result->operation);
	if (!news)
		return;
	put_over(&live->observed, result->attributes);
	live->unsaved |= put_over(&live->outputs, news);
}

const json_t *live_unsaved(Live *live)
{
	bool unsaved = live && live->unsaved;
	if (unsaved)
		live->unsaved = false;
	return unsaved ? live->outputs : NULL;
}

void live_forget(Apply *apply, const char *address)
{
	g_hash_table_remove(apply->live, address);
}

void live_load(Apply *apply)
{
	apply->live = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, live_free);
	const RgResourceSet *recorded = apply->snapshot->recorded;
	rg_resource_foreach (resource, recorded) {
		if (resource->presence == RG_PENDING)
			continue;
		const RgPlanChange *change = g_hash_table_lookup(apply->changes, resource->address);
		const json_t *outputs = rg_resource_outputs(resource);
		if (g_str_equal(resource->kind, RG_SECRET_KIND)) {
			const char *secret = rg_json_str(outputs, "value", NULL);
			if (secret)
				rg_redact_add(secret, strlen(secret));
			else
				outputs = NULL; /* a sealed one must not get into a request */
		}
		Live *live = live_set(apply, resource->address, resource->id, outputs);
		/* the plan is older than what an earlier call of the same run recorded */
		if (change && g_strcmp0(change->id, resource->id) == 0)
			live->observed = json_incref(change->observed);
		bool extra = apply->options->extras && resource->id &&
			     g_hash_table_contains(apply->options->extras, resource->id);
		if (change && (change->replay || extra))
			live->replayed = json_incref(resource->attrs);
	}
}

static json_t *live_look_up(void *data, const char *address, const char *attr);

/* Attributes that the cloud does not set have their desired values (decide.md). */
static json_t *wanted_value(Apply *apply, const char *address, const char *attr)
{
	const RgPlanChange *change = g_hash_table_lookup(apply->changes, address);
	const RgResource *recorded = rg_resource_set_find(apply->snapshot->recorded, address);
	const json_t *attrs = change && change->desired ? change->desired
			      : recorded		? recorded->attrs
							: NULL;
	const json_t *value = json_object_get(attrs, attr);
	json_auto_t *known = value ? rg_expr_resolve_known(value, live_look_up, apply) : NULL;
	return known && !rg_expr_has_refs(known) ? g_steal_pointer(&known) : NULL;
}

static json_t *live_look_up(void *data, const char *address, const char *attr)
{
	Apply *apply = data;
	Live *live = live_get(apply, address);
	if (!live)
		return NULL;
	json_t *value = json_object_get(live->outputs, attr);
	if (value)
		return json_incref(value);
	if (g_str_equal(attr, "id") && live->id)
		return json_string(live->id);
	return wanted_value(apply, address, attr);
}

json_t *live_resolve(Apply *apply, const json_t *attrs, RgDiags *diags)
{
	return rg_expr_resolve(attrs, live_look_up, apply, diags);
}
