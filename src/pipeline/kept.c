/* `enabled: false`: what was chosen for a pool is kept while it has no nodes, in the facts of the
 * state: {"kept": {"POOL/INDEX": pin}}. A run writes the facts before it removes or creates
 * anything, so a run that was interrupted loses nothing. */
#include "pipeline/internal.h"
#include <string.h>

/* "train" of "train/0". */
static bool is_of(const char *key, const char *pool)
{
	size_t n = strlen(pool);
	return strncmp(key, pool, n) == 0 && key[n] == '/';
}

static bool has_any(json_t *pins, const char *pool)
{
	const char *key;
	json_t *pin;
	json_object_foreach (pins, key, pin)
		if (is_of(key, pool))
			return true;
	return false;
}

/* The pins of one pool of `from`, where `to` has none. */
static void add_of(json_t *to, json_t *from, const char *pool, const char *name)
{
	const char *key;
	json_t *pin;
	json_object_foreach (from, key, pin) {
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

json_t *pass_kept(const RgPass *pass)
{
	json_t *kept = rg_json_at(pass->snapshot->facts, "/kept"), *pins = json_object();
	/* a cluster that was destroyed is chosen again, like all of its pools */
	if (!rg_resource_set_size(pass->snapshot->recorded))
		return pins;
	for (guint i = 0; i < pass->cluster->pools->len; i++) {
		const RgPool *pool = pass->cluster->pools->pdata[i];
		add_of(pins, kept, name_in(kept, pool), pool->name);
	}
	return pins;
}

/* Of a disabled pool everything; of another, what it gets back with this plan. */
json_t *pass_keep(const RgPass *pass)
{
	json_t *nodes = json_object_get(pass->pins, "nodes"), *kept = json_object(), *pin;
	json_t *before = json_object_get(pass->pins, "kept");
	bool again = json_is_true(json_object_get(pass->pins, "reoptimize"));
	for (guint i = 0; i < pass->cluster->pools->len; i++) {
		const RgPool *pool = pass->cluster->pools->pdata[i];
		if (pool->is_disabled)
			add_of(kept, nodes, pool->name, pool->name);
		if (pool->is_disabled || !again)
			add_of(kept, before, pool->name, pool->name);
	}
	const char *key;
	void *next;
	json_object_foreach_safe (kept, next, key, pin) {
		g_autofree char *name = g_strndup(key, strcspn(key, "/"));
		if (!pass_find_pool(pass->cluster, name)->is_disabled &&
			json_object_get(nodes, key))
			json_object_del(kept, key);
	}
	if (json_object_size(kept))
		return kept;
	json_decref(kept);
	return NULL;
}
