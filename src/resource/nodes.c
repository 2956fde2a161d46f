#include "resource/nodes.h"
#include "base/caps.h"

#define HEAD "head"

const char *rg_resource_pool(const RgResource *resource)
{
	return resource->group ? resource->group : resource->name;
}

static bool is_count(const json_t *value)
{
	json_int_t n = json_integer_value(value);
	return json_is_integer(value) && n >= 0 && n <= RG_CAP_NODES;
}

static const char *entry_wrong(const json_t *entry)
{
	const json_t *count = json_object_get(entry, "count");
	const json_t *first = json_object_get(entry, "first");
	const json_t *min = json_object_get(entry, "min"), *max = json_object_get(entry, "max");
	const char *role = rg_json_str(entry, "role", "");
	bool is_range = is_count(min) && is_count(max) &&
			json_integer_value(min) <= json_integer_value(max);
	if (!rg_json_str(entry, "pool", NULL))
		return "has `nodes` without a `pool`";
	if (!g_str_equal(role, HEAD) && !g_str_equal(role, "worker"))
		return "has `nodes` whose `role` is neither \"head\" nor \"worker\"";
	if (count ? !is_count(count) || min || max : !is_range)
		return "has `nodes` with neither a `count` nor a `min` and a `max`";
	return first && !is_count(first) ? "has `nodes` whose `first` is not a number" : NULL;
}

const char *rg_nodes_wrong(const json_t *nodes)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	if (json_array_size(nodes) == 0)
		return "has `nodes` that are not a list";
	rg_json_foreach (entry, nodes) {
		const char *wrong = entry_wrong(entry), *pool = rg_json_str(entry, "pool", "");
		if (wrong)
			return wrong;
		if (!g_hash_table_add(seen, (gpointer)(uintptr_t)pool))
			return "has `nodes` with a pool twice";
	}
	return NULL;
}

static const json_t *entries_of(const RgResource *resource)
{
	return json_is_array(resource->nodes) ? resource->nodes
					      : json_object_get(resource->pin, "nodes");
}

/* A state or a plan file may contain anything. */
static int64_t bounded(const json_t *entry, const char *key, int64_t otherwise)
{
	int64_t n = rg_json_int(entry, key, otherwise); /* CLAMP would evaluate it three times */
	return CLAMP(n, 0, RG_CAP_NODES);
}

size_t rg_nodes_pools(const RgResource *resource, const RgKind *kind)
{
	const json_t *entries = entries_of(resource);
	return entries ? json_array_size(entries) : resource->pin || (kind && kind->node);
}

RgPoolNodes rg_nodes_get(const RgResource *resource, size_t i)
{
	const json_t *entry = json_array_get(entries_of(resource), i);
	const char *pool = rg_resource_pool(resource);
	if (!entry)
		return (RgPoolNodes){.pool = pool,
			.is_head = g_str_equal(pool, HEAD),
			.first = resource->index,
			.min = 1,
			.max = 1,
			.pin = resource->pin};
	const json_t *fixed = json_object_get(entry, "count");
	int64_t count = CLAMP(json_integer_value(fixed), 0, RG_CAP_NODES);
	RgPoolNodes nodes = {.pool = rg_json_str(entry, "pool", pool),
		.is_head = g_str_equal(rg_json_str(entry, "role", ""), HEAD),
		.min = (unsigned)(fixed ? count : bounded(entry, "min", 0)),
		.max = (unsigned)(fixed ? count : bounded(entry, "max", 0)),
		.is_elastic = !fixed,
		.pin = json_is_array(resource->nodes) ? NULL : entry};
	nodes.max = MAX(nodes.min, nodes.max);
	nodes.first = bounded(entry, "first", CLAMP(resource->index, 0, RG_CAP_NODES) * count);
	if (nodes.is_head)
		nodes.first = -1;
	return nodes;
}

unsigned rg_nodes_now(const RgPoolNodes *nodes, const RgResource *observed)
{
	const json_t *runs = observed ? observed->nodes : NULL;
	int64_t now = rg_json_int(runs, nodes->pool, rg_json_int(nodes->pin, "now", nodes->min));
	return nodes->is_elastic ? (unsigned)CLAMP(now, nodes->min, RG_CAP_NODES) : nodes->min;
}

bool rg_nodes_are_plain(const RgResource *resource)
{
	if (json_array_size(entries_of(resource)) != 1)
		return !entries_of(resource);
	RgPoolNodes nodes = rg_nodes_get(resource, 0);
	return !nodes.is_elastic && nodes.max == 1 && nodes.first == resource->index &&
	       g_str_equal(nodes.pool, rg_resource_pool(resource));
}

bool rg_nodes_are_elastic(const RgResource *resource)
{
	bool elastic = false;
	for (size_t i = 0; i < rg_nodes_pools(resource, NULL); i++)
		elastic |= rg_nodes_get(resource, i).is_elastic;
	return elastic;
}

bool rg_nodes_has_pool(const RgResource *resource, const RgKind *kind, const char *pool)
{
	for (size_t i = 0; i < rg_nodes_pools(resource, kind); i++) {
		if (g_str_equal(rg_nodes_get(resource, i).pool, pool))
			return true;
	}
	return false;
}

json_t *rg_nodes_json(const RgResource *resource)
{
	static const char *const keys[] = {"pool", "role", "first", "count", "min", "max"};
	if (json_is_array(resource->nodes))
		return json_incref(resource->nodes);
	json_t *list = json_array();
	for (size_t i = 0; i < rg_nodes_pools(resource, NULL); i++) {
		const json_t *pin = rg_nodes_get(resource, i).pin;
		json_t *entry = json_object();
		for (size_t k = 0; k < G_N_ELEMENTS(keys); k++) {
			json_t *value = json_object_get(pin, keys[k]);
			if (value)
				json_object_set(entry, keys[k], value);
		}
		json_array_append_new(list, entry);
	}
	return list;
}
