/* A pool that is replaced a few nodes at a time (RgPlanPool.max_unavailable, max_surge) is replaced
 * in rounds: the next one begins when the new nodes of this one have joined Ray, or run, if the run
 * does not wait for that. The sequence of a round is: remove, create, join; with max_surge: create,
 * join, remove. A node that is removed drains itself (src/boot). When a new node fails, the rounds
 * that have not begun don't, and the old nodes stay. */
#include "pipeline/internal.h"

struct Rounds {
	const RgPlan *plan;
	GHashTable *changes; /* char* address -> RgPlanChange* */
	GPtrArray *sets;     /* GHashTable* {address: pool} of each round after the first */
	GHashTable *later;   /* set of addresses: all of these, and the former ones */
	GHashTable *ended;   /* set of pools of which a node failed */
};

/* What leaves without being a node, which those of later rounds may still use: it goes last. */
static char no_pool[] = "";

/* ---- what belongs to which round */

static gint by_index(gconstpointer a, gconstpointer b)
{
	int64_t left = (*(const RgPlanChange *const *)a)->index;
	int64_t right = (*(const RgPlanChange *const *)b)->index;
	return (left > right) - (left < right);
}

/* {pool: GPtrArray* of RgPlanChange*} */
static GHashTable *replaced_of(const RgPlan *plan)
{
	GHashTable *pools = g_hash_table_new_full(
		g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
	rg_ptr_foreach (RgPlanChange, change, plan->changes) {
		if (change->action != RG_ACTION_REPLACE || change->index < 0 || !change->group)
			continue;
		GPtrArray *changes = g_hash_table_lookup(pools, change->group);
		if (!changes) {
			changes = g_ptr_array_new();
			g_hash_table_insert(pools, change->group, changes);
		}
		g_ptr_array_add(changes, change);
	}
	return pools;
}

static GHashTable *set_of(Rounds *rounds, guint i)
{
	while (rounds->sets->len <= i)
		g_ptr_array_add(rounds->sets, g_hash_table_new(g_str_hash, g_str_equal));
	return rounds->sets->pdata[i];
}

static void put(Rounds *rounds, guint i, RgPlanChange *change, char *pool)
{
	g_hash_table_insert(set_of(rounds, i), change->address, pool);
	g_hash_table_add(rounds->later, change->address);
}

/* The change of the node that replaces the one at this address; NULL: it is not a former address,
 * or the node has no successor. */
static RgPlanChange *successor_of(const Rounds *rounds, const char *address)
{
	g_autofree char *successor = rg_address_successor(address);
	RgPlanChange *change = successor ? g_hash_table_lookup(rounds->changes, successor) : NULL;
	return change && change->desired ? change : NULL;
}

/* A run that was cut off left these. */
static bool put_formers(Rounds *rounds)
{
	const RgPlan *plan = rounds->plan;
	rg_ptr_foreach (RgPlanChange, change, plan->changes)
		if (change->action == RG_ACTION_DELETE && successor_of(rounds, change->address))
			g_hash_table_add(rounds->later, change->address);
	return g_hash_table_size(rounds->later) > 0;
}

static void put_last(Rounds *rounds)
{
	const RgPlan *plan = rounds->plan;
	guint last = rounds->sets->len;
	rg_ptr_foreach (RgPlanChange, change, plan->changes)
		if (change->action == RG_ACTION_DELETE && change->index < 0)
			put(rounds, last, change, no_pool);
}

Rounds *rounds_new(const RgPlan *plan)
{
	Rounds *rounds = g_new0(Rounds, 1);
	rounds->plan = plan;
	rounds->changes = g_hash_table_new(g_str_hash, g_str_equal);
	rounds->sets = g_ptr_array_new_with_free_func((GDestroyNotify)g_hash_table_unref);
	rounds->later = g_hash_table_new(g_str_hash, g_str_equal);
	rounds->ended = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) replaced = replaced_of(plan);
	rg_ptr_foreach (RgPlanChange, change, plan->changes)
		g_hash_table_insert(rounds->changes, change->address, change);
	bool several = put_formers(rounds);
	rg_ptr_foreach (const RgPlanPool, pool, plan->pools) {
		guint together = MAX(pool->max_unavailable, pool->max_surge);
		GPtrArray *changes = g_hash_table_lookup(replaced, pool->pool);
		if (!together || !changes)
			continue;
		several |= pool->max_surge || changes->len > together;
		g_ptr_array_sort(changes, by_index);
		for (guint k = together; k < changes->len; k++)
			put(rounds, k / together - 1, changes->pdata[k], pool->pool);
	}
	if (several)
		put_last(rounds);
	else
		g_clear_pointer(&rounds, rounds_free);
	return rounds;
}

void rounds_free(Rounds *rounds)
{
	g_hash_table_unref(rounds->changes);
	g_hash_table_unref(rounds->later);
	g_hash_table_unref(rounds->ended);
	g_ptr_array_unref(rounds->sets);
	g_free(rounds);
}

GHashTable *rounds_later(const Rounds *rounds)
{
	return rounds->later;
}

GHashTable *rounds_nth(const Rounds *rounds, guint i)
{
	return i < rounds->sets->len ? rounds->sets->pdata[i] : NULL;
}

/* ---- between two rounds */

static bool is_in(const RgReadyResult *ready, const char *member, const char *text)
{
	rg_json_foreach (row, ready->failed)
		if (g_strcmp0(rg_json_str(row, member, NULL), text) == 0)
			return true;
	return false;
}

/* The old node that this plan replaces, or that an earlier run replaced: its successor's change.
 * NULL: it is not such a node, or it is not there. */
static const RgPlanChange *former_of(const Rounds *rounds, const RgResource *record)
{
	const RgPlanChange *own = g_hash_table_lookup(rounds->changes, record->address);
	const RgPlanChange *successor = successor_of(rounds, record->address);
	bool leaves = own ? own->action == RG_ACTION_DELETE
			  : successor && successor->action == RG_ACTION_REPLACE;
	return leaves ? successor : NULL;
}

GHashTable *rounds_due(
	const Rounds *rounds, const RgSnapshot *now, GHashTable *failed, const RgReadyResult *ready)
{
	GHashTable *due = g_hash_table_new(g_str_hash, g_str_equal);
	rg_resource_foreach (record, now->recorded) {
		const RgPlanChange *successor = former_of(rounds, record);
		const RgResource *fresh =
			successor ? rg_resource_set_find(now->recorded, successor->address) : NULL;
		if (fresh && fresh->presence == RG_PRESENT &&
			!g_hash_table_contains(failed, fresh->address) &&
			!is_in(ready, "address", fresh->address))
			g_hash_table_add(due, record->address);
	}
	return due;
}

static bool has_failed(const char *pool, GHashTable *failed, const RgReadyResult *ready)
{
	rg_hash_values (void, group, failed)
		if (g_strcmp0(group, pool) == 0)
			return true;
	return is_in(ready, "pool", pool);
}

/* How many of the pool's nodes were in the rounds from that one on. */
static unsigned drop_pool(const Rounds *rounds, guint from, const char *pool)
{
	unsigned n = 0;
	for (guint i = from; i < rounds->sets->len; i++) {
		GHashTableIter iter;
		gpointer group;
		g_hash_table_iter_init(&iter, rounds->sets->pdata[i]);
		while (g_hash_table_iter_next(&iter, NULL, &group)) {
			if (!g_str_equal(group, pool))
				continue;
			g_hash_table_iter_remove(&iter);
			n++;
		}
	}
	return n;
}

static unsigned count_formers(const Rounds *rounds, const RgSnapshot *now, const char *pool)
{
	unsigned n = 0;
	for (size_t i = 0; i < rg_resource_set_size(now->recorded); i++) {
		const RgPlanChange *successor =
			former_of(rounds, rg_resource_set_get(now->recorded, i));
		n += successor && g_strcmp0(successor->group, pool) == 0;
	}
	return n;
}

bool rounds_go_on(Rounds *rounds, guint from, const RgSnapshot *now, GHashTable *failed,
	const RgReadyResult *ready, RgDiags *diags)
{
	for (guint i = 0; i < rounds->plan->pools->len; i++) {
		char *pool = ((RgPlanPool *)rounds->plan->pools->pdata[i])->pool;
		if (g_hash_table_contains(rounds->ended, pool) || !has_failed(pool, failed, ready))
			continue;
		unsigned n = drop_pool(rounds, from, pool) + count_formers(rounds, now, pool);
		if (!n)
			continue;
		g_hash_table_add(rounds->ended, pool);
		RgDiag *diag = rg_diags_error(diags, "apply.blocked",
			"%u node%s of pool %s %s not replaced, because a new one failed or did "
			"not join Ray",
			n, n == 1 ? "" : "s", pool, n == 1 ? "was" : "were");
		rg_diag_hint(diag, "the old nodes stay as they were; run apply again when the "
				   "cause is removed");
	}
	bool all = !g_hash_table_size(rounds->ended);
	if (!all)
		drop_pool(rounds, from, no_pool);
	return all;
}
