/* `enabled: false`: what was chosen for a pool is kept while it has no nodes, in the facts of the
 * state: {"kept": {"POOL/INDEX": pin}}. A run writes the facts before it removes or creates
 * anything, so a run that was interrupted loses nothing. */
#include "intent/internal.h"
#include <string.h>

/* "train" of "train/0". */
static bool is_of(const char *key, const char *pool)
{
	size_t n = strlen(pool);
	return strncmp(key, pool, n) == 0 && key[n] == '/';
}

static bool has_any(json_t *pins, const char *pool)
{
	rg_json_foreach_member (key, pin, pins)
		if (is_of(key, pool))
			return true;
	return false;
}

/* The pins of one pool of `from`, where `to` has none. */
static void add_of(json_t *to, json_t *from, const char *pool, const char *name)
{
	rg_json_foreach_member (key, pin, from) {
		g_autofree char *own =
			is_of(key, pool) ? g_strconcat(name, key + strlen(pool), NULL) : NULL;
		if (own && !json_object_get(to, own))
			json_object_set(to, own, pin);
	}
}

/* A pool that was disabled when it got another name has nothing else that could follow it. */
static const char *name_in(json_t *kept, const RgPool *pool)
{
	for (size_t i = 0;
		!has_any(kept, pool->name) && pool->renamed_from && pool->renamed_from[i]; i++)
		if (has_any(kept, pool->renamed_from[i]))
			return pool->renamed_from[i];
	return pool->name;
}

json_t *rg_intent_kept(const RgCluster *cluster, const RgSnapshot *snapshot)
{
	json_t *kept = rg_json_at(snapshot->facts, "/kept"), *pins = json_object();
	/* a cluster that was destroyed is chosen again, like all of its pools */
	if (!rg_resource_set_size(snapshot->recorded))
		return pins;
	rg_ptr_foreach (const RgPool, pool, cluster->pools)
		add_of(pins, kept, name_in(kept, pool), pool->name);
	return pins;
}

/* Of a disabled pool everything; of another, what it gets back with this plan. */
json_t *rg_intent_keep(const RgCluster *cluster, const json_t *pins)
{
	json_t *nodes = json_object_get(pins, "nodes"), *kept = json_object(), *pin;
	json_t *before = json_object_get(pins, "kept");
	bool again = json_is_true(json_object_get(pins, "reoptimize"));
	rg_ptr_foreach (const RgPool, pool, cluster->pools) {
		if (pool->is_disabled)
			add_of(kept, nodes, pool->name, pool->name);
		if (pool->is_disabled || !again)
			add_of(kept, before, pool->name, pool->name);
	}
	const char *key;
	void *next;
	json_object_foreach_safe (kept, next, key, pin) {
		g_autofree char *name = g_strndup(key, strcspn(key, "/"));
		if (!rg_cluster_find_pool(cluster, name)->is_disabled &&
			json_object_get(nodes, key))
			json_object_del(kept, key);
	}
	if (json_object_size(kept))
		return kept;
	json_decref(kept);
	return NULL;
}
