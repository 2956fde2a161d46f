/* Which leases of a cluster have ended, for `raygpu reap`: those that the state recorded, unless
 * the spec extends them. */
#include "base/clock.h"
#include "intent/internal.h"
#include "resource/nodes.h"

typedef struct {
	const RgSnapshot *snapshot;
	const RgCluster *cluster; /* NULL: there is no spec, or it cannot be read */
	const json_t *leases;
	RgEnded *ended;
	RgDiags *diags;
} Look;

/* The pool of the spec with this name, or that is to be renamed from it. */
static const RgPool *pool_of(const RgCluster *cluster, const char *name)
{
	rg_ptr_foreach (const RgPool, pool, cluster->pools)
		if (pool->renamed_from &&
			g_strv_contains((const char *const *)pool->renamed_from, name))
			return pool;
	return rg_cluster_find_pool(cluster, name);
}

static int64_t end_in_spec(const RgLease *lease, const json_t *recorded)
{
	return lease->end_s	   ? lease->end_s
	       : lease->duration_s ? rg_json_int(recorded, "began_s", 0) + lease->duration_s
				   : 0;
}

/* What the spec says of a lease that ended by the record: extended, or removed. */
static bool is_extended(const Look *look, const char *pool, int64_t now_s)
{
	if (!look->cluster)
		return false;
	const RgPool *found = pool ? pool_of(look->cluster, pool) : NULL;
	if (pool && !found)
		return false; /* the next apply removes it */
	const RgLease *lease = found && found->lease.text ? &found->lease : &look->cluster->lease;
	const json_t *pools = json_object_get(look->leases, "pools");
	const json_t *recorded = found && lease == &found->lease
					 ? json_object_get(pools, pool)
					 : json_object_get(look->leases, "cluster");
	int64_t end_s = end_in_spec(lease, recorded);
	if (lease->text && end_s <= now_s)
		return false;
	RgDiag *diag = rg_diags_note(look->diags, "reap.extended",
		"the lease of %s %s has ended, but the spec extends it: it is kept",
		pool ? "pool" : "cluster", pool ? pool : look->snapshot->cluster);
	rg_diag_at(
		diag, lease->text ? lease->source : rg_cluster_source(look->cluster, "/cluster"));
	rg_diag_hint(diag, "run `raygpu apply`: until then, its nodes have the old end");
	return true;
}

static bool is_over(const Look *look, const char *pool, int64_t now_s)
{
	int64_t end_s = rg_lease_end(look->leases, pool);
	return end_s && end_s <= now_s && !is_extended(look, pool, now_s);
}

static bool is_protected(const Look *look, const RgResource *record)
{
	const RgPool *pool = look->cluster && record->group
				     ? rg_cluster_find_pool(look->cluster, record->group)
				     : NULL;
	return record->protect || (pool && pool->protect);
}

static void hold(const Look *look, const char *pool)
{
	if (!g_hash_table_add(look->ended->held, g_strdup(pool)))
		return;
	RgDiag *diag = rg_diags_error(look->diags, "reap.protected",
		"the lease of pool %s of cluster %s has ended, but the pool is protected: it is "
		"kept",
		pool, look->snapshot->cluster);
	rg_diag_hint(diag, "extend `expires`, or set `protect: false` and apply that");
}

/* A resource that several pools share cannot be removed for one of them. */
static void refuse_shared(const Look *look, const RgResource *record, const char *pool)
{
	RgDiag *diag = rg_diags_error(look->diags, "reap.shared",
		"the lease of pool %s of cluster %s has ended, but `%s` stands for nodes of other "
		"pools too",
		pool, look->snapshot->cluster, record->address);
	rg_diag_hint(diag, "remove the pool from the spec and apply that");
}

/* Its own resources, unless one of them is protected. */
static void take_pool(const Look *look, const char *pool)
{
	const RgResourceSet *recorded = look->snapshot->recorded;
	g_autoptr(GPtrArray) found = g_ptr_array_new();
	rg_resource_foreach (record, recorded) {
		bool own = g_strcmp0(record->group, pool) == 0;
		if (own && is_protected(look, record)) {
			hold(look, pool);
			return;
		}
		if (own)
			g_ptr_array_add(found, record->address);
		else if (rg_nodes_pools(record, NULL) > 1 && rg_nodes_has_pool(record, NULL, pool))
			refuse_shared(look, record, pool);
	}
	for (guint i = 0; i < found->len; i++)
		g_ptr_array_add(look->ended->addresses, g_strdup(found->pdata[i]));
	if (found->len)
		g_hash_table_add(look->ended->pools, g_strdup(pool));
}

/* A protected pool keeps the head, and what all share; the other pools go. */
static void take_all(const Look *look)
{
	const RgResourceSet *recorded = look->snapshot->recorded;
	g_autoptr(GHashTable) others = g_hash_table_new(g_str_hash, g_str_equal);
	bool held = false;
	look->ended->cluster = true;
	rg_resource_foreach (record, recorded) {
		if (is_protected(look, record)) {
			hold(look, record->group ? record->group : record->name);
			held = true;
		} else if (record->group && !g_str_equal(record->group, "head")) {
			g_hash_table_add(others, (gpointer)(uintptr_t)record->group);
		}
	}
	look->ended->whole = !held && rg_resource_set_size(recorded);
	GHashTableIter iter;
	gpointer pool;
	g_hash_table_iter_init(&iter, others);
	while (held && g_hash_table_iter_next(&iter, &pool, NULL))
		if (!g_hash_table_contains(look->ended->held, pool))
			take_pool(look, pool);
}

static RgEnded *ended_new(void)
{
	RgEnded *ended = g_new0(RgEnded, 1);
	ended->addresses = g_ptr_array_new_with_free_func(g_free);
	ended->pools = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	ended->held = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return ended;
}

void rg_ended_free(RgEnded *ended)
{
	if (!ended)
		return;
	g_ptr_array_unref(ended->addresses);
	g_hash_table_unref(ended->pools);
	g_hash_table_unref(ended->held);
	g_free(ended);
}

RgEnded *rg_leases_ended(const RgSnapshot *snapshot, const RgCluster *cluster, RgDiags *diags)
{
	g_autoptr(RgEnded) ended = ended_new();
	const Look look = {snapshot, cluster, rg_snapshot_leases(snapshot), ended, diags};
	int64_t now_s = rg_clock_now_s();
	json_t *pools = json_object_get(look.leases, "pools");
	if (!look.leases || !rg_resource_set_size(snapshot->recorded))
		return NULL;
	if (is_over(&look, NULL, now_s))
		take_all(&look);
	else
		rg_json_foreach_member (pool, lease, pools)
			if (is_over(&look, pool, now_s))
				take_pool(&look, pool);
	return ended->whole || ended->addresses->len ? g_steal_pointer(&ended) : NULL;
}

bool rg_ended_covers(const RgEnded *ended, const RgPlan *plan, RgDiags *diags)
{
	for (guint i = 0; !ended->whole && i < plan->changes->len; i++) {
		const RgPlanChange *change = plan->changes->pdata[i];
		if (change->action == RG_ACTION_NONE || change->action == RG_ACTION_STOP ||
			(change->group && g_hash_table_contains(ended->pools, change->group)))
			continue;
		RgDiag *diag = rg_diags_error(diags, "reap.shared",
			"`%s`, whose lease has not ended, depends on a pool whose lease has",
			change->address);
		rg_diag_hint(diag, "remove the pool from the spec and apply that");
		return false;
	}
	return true;
}
