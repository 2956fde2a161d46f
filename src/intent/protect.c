#include "intent/internal.h"
#include "resource/nodes.h"

/* `protect: true`: from the spec for its pools, from the state for those that left it. */

/* A destroy ignores the spec: protection must have been removed before. */
static const RgCluster *spec_of(const RgIntent *intent)
{
	return intent->destroy ? NULL : intent->cluster;
}

/* The maximum number of nodes of the pool that the resource stands for; for its own group it counts
 * as at least one. */
static unsigned most_of(const RgResource *resource, const char *pool)
{
	for (size_t i = 0; resource && i < rg_nodes_pools(resource, NULL); i++) {
		const RgPoolNodes nodes = rg_nodes_get(resource, i);
		if (g_str_equal(nodes.pool, pool))
			return nodes.max;
	}
	return resource && g_strcmp0(resource->group, pool) == 0;
}

static bool loses(const RgChange *change, const char *pool)
{
	bool goes = change->action == RG_ACTION_DELETE || change->action == RG_ACTION_REPLACE;
	if (!goes && change->action != RG_ACTION_UPDATE)
		return false;
	return most_of(change->recorded, pool) > (goes ? 0 : most_of(change->desired, pool));
}

/* A resource shared by nodes of several pools is protected with any of them. */
static bool is_held_for_another(
	const RgCluster *cluster, const RgResource *recorded, const char *pool)
{
	for (size_t i = 0; cluster && i < rg_nodes_pools(recorded, NULL); i++) {
		const char *name = rg_nodes_get(recorded, i).pool;
		const RgPool *other = rg_cluster_find_pool(cluster, name);
		if (other && other->protect && !g_str_equal(name, pool))
			return true;
	}
	return false;
}

static bool is_protected(const RgIntent *intent, const RgResource *recorded, const char *pool_name)
{
	const RgCluster *cluster = spec_of(intent);
	const RgPool *pool = cluster ? rg_cluster_find_pool(cluster, pool_name) : NULL;
	return pool ? pool->protect
		    : recorded->protect && !is_held_for_another(cluster, recorded, pool_name);
}

/* The protected pool that the change would remove nodes from; NULL: none. */
static const char *refused_pool(const RgIntent *intent, const RgChange *change)
{
	const RgResource *recorded = change->recorded;
	if (!recorded)
		return NULL;
	for (size_t i = 0; i < rg_nodes_pools(recorded, NULL); i++) {
		const char *pool = rg_nodes_get(recorded, i).pool;
		if (loses(change, pool) && is_protected(intent, recorded, pool))
			return pool;
	}
	const char *group = recorded->group;
	return group && loses(change, group) && is_protected(intent, recorded, group) ? group
										      : NULL;
}

static void protection_refuse(const RgIntent *intent, const char *group, const RgChange *first,
	unsigned n, RgDiags *diags)
{
	const RgPool *pool = intent->cluster ? rg_cluster_find_pool(intent->cluster, group) : NULL;
	g_autofree char *more = n > 1 ? g_strdup_printf(" and %u more of it", n - 1) : g_strdup("");
	RgDiag *diag = rg_diags_error(diags, "plan.protected",
		"\"%s\" is protected, but %s%s would be %s", group, first->address, more,
		first->action == RG_ACTION_DELETE ? rg_json_str(first->removal, "done", "destroyed")
		: first->action == RG_ACTION_REPLACE ? "replaced"
						     : "made smaller");
	rg_diag_address(diag, first->address, NULL);
	if (pool && pool->is_disabled) {
		g_autofree char *protect = rg_json_pointer_add(pool->origin, "protect");
		rg_diag_at(diag, pool->enabled_source);
		rg_diag_related(
			diag, rg_cluster_source(intent->cluster, protect), "it is protected here");
	} else if (pool) {
		rg_diag_at(diag, pool->source);
	}
	rg_diag_hint(diag, "to do it anyway, set `protect: false` there, apply that, and then "
			   "apply this change");
}

void rg_intent_check_protection(const RgIntent *intent, RgDiags *diags)
{
	const GPtrArray *changes = intent->diff->changes;
	g_autoptr(GHashTable) told = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; i < changes->len; i++) {
		const RgChange *first = changes->pdata[i];
		const char *pool = refused_pool(intent, first);
		if (!pool || !g_hash_table_add(told, (gpointer)(uintptr_t)pool))
			continue;
		unsigned n = 0;
		for (guint k = i; k < changes->len; k++)
			n += g_strcmp0(refused_pool(intent, changes->pdata[k]), pool) == 0;
		protection_refuse(intent, pool, first, n, diags);
	}
}

/* ---- what the state must record */

typedef struct {
	bool recorded; /* something of the pool is in the state */
	bool planned;  /* the plan does not leave all of it out */
	bool on, off;  /* recorded protection of what remains; both: an apply was interrupted */
	bool was_protected; /* any of it */
} PoolNow;

/* What the change says of one pool that it has nodes of, or that its group is. */
static void note_pool(
	const RgIntent *intent, const RgChange *change, const char *pool, GHashTable *pools)
{
	PoolNow *now = g_hash_table_lookup(pools, pool);
	if (!now) {
		now = g_new0(PoolNow, 1);
		g_hash_table_insert(pools, (gpointer)(uintptr_t)pool, now);
	}
	now->planned |= change->row != RG_ROW_LEFT_OUT;
	if (!change->recorded || change->recorded->presence == RG_PENDING)
		return;
	now->recorded = true;
	bool is_on = change->recorded->protect &&
		     !is_held_for_another(intent->cluster, change->recorded, pool);
	now->was_protected |= is_on;
	if (!change->desired)
		return;
	now->on |= is_on;
	now->off |= !change->recorded->protect;
}

/* pool -> PoolNow, of all that the plan has changes of. */
static GHashTable *pools_now(const RgIntent *intent)
{
	GHashTable *pools = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	const GPtrArray *changes = intent->diff->changes;
	rg_ptr_foreach (const RgChange, change, changes) {
		const RgResource *any = change->recorded ? change->recorded : change->desired;
		bool grouped = !any->group;
		for (size_t n = 0; n < rg_nodes_pools(any, NULL); n++) {
			const RgPoolNodes nodes = rg_nodes_get(any, n);
			bool is_group = g_strcmp0(nodes.pool, any->group) == 0;
			if (nodes.max)
				note_pool(intent, change, nodes.pool, pools);
			grouped |= is_group;
		}
		if (!grouped)
			note_pool(intent, change, any->group, pools);
	}
	return pools;
}

/* What a plan leaves out stays as it is, including its protection. */
static void add_pool(GHashTable *pools, const RgPool *spec, json_t *names, json_t *changes)
{
	static const PoolNow none;
	const char *pool = spec->name;
	const PoolNow *found = g_hash_table_lookup(pools, pool), *now = found ? found : &none;
	bool after = now->recorded && !now->planned ? now->was_protected : spec->protect;
	if (after)
		json_array_append_new(names, json_string(pool));
	if (after ? now->off : now->on)
		json_array_append_new(changes, json_pack("{s:s, s:b, s:b}", "pool", pool, "before",
						       !after, "after", after));
}

/* Protected only by the state: a plan that leaves their nodes out does not remove the
 * protection. */
static void add_recorded(const RgIntent *intent, json_t *names)
{
	const RgResourceSet *recorded = intent->snapshot->recorded;
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	rg_resource_foreach (resource, recorded) {
		if (resource->protect && resource->group &&
			!rg_cluster_find_pool(intent->cluster, resource->group) &&
			g_hash_table_add(seen, (gpointer)(uintptr_t)resource->group))
			json_array_append_new(names, json_string(resource->group));
	}
}

static bool was_protected(const RgResourceSet *recorded)
{
	for (size_t i = 0; i < rg_resource_set_size(recorded); i++) {
		if (rg_resource_set_get(recorded, i)->protect)
			return true;
	}
	return false;
}

json_t *rg_intent_protected_pools(const RgIntent *intent, json_t **changes)
{
	const RgCluster *cluster = spec_of(intent);
	*changes = NULL;
	if (!cluster)
		return NULL;
	json_auto_t *names = json_array(), *moved = json_array();
	g_autoptr(GHashTable) pools = pools_now(intent);
	add_pool(pools, cluster->head, names, moved);
	for (guint i = 0; i < cluster->pools->len; i++)
		add_pool(pools, cluster->pools->pdata[i], names, moved);
	add_recorded(intent, names);
	if (json_array_size(moved))
		*changes = g_steal_pointer(&moved);
	bool says = json_array_size(names) || was_protected(intent->snapshot->recorded);
	return says ? g_steal_pointer(&names) : NULL;
}
