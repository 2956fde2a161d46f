/* A pool that is replaced a few nodes at a time (RgPlanPool.max_unavailable) is replaced in rounds:
 * the next one begins when the new nodes of this one have joined Ray. Ends where one does not. */
#include "pipeline/internal.h"

static gint by_index(gconstpointer a, gconstpointer b)
{
	int64_t left = (*(const RgPlanChange *const *)a)->index;
	int64_t right = (*(const RgPlanChange *const *)b)->index;
	return (left > right) - (left < right);
}

static GPtrArray *replaced_of(const RgPlan *plan, const RgPlanPool *pool)
{
	GPtrArray *changes = g_ptr_array_new();
	for (guint i = 0; i < plan->changes->len; i++) {
		RgPlanChange *change = plan->changes->pdata[i];
		if (change->action == RG_ACTION_REPLACE && change->index >= 0 &&
			g_strcmp0(change->group, pool->pool) == 0)
			g_ptr_array_add(changes, change);
	}
	g_ptr_array_sort(changes, by_index);
	return changes;
}

static GHashTable *round_of(GPtrArray *rounds, guint i)
{
	while (rounds->len <= i)
		g_ptr_array_add(rounds, g_hash_table_new(g_str_hash, g_str_equal));
	return rounds->pdata[i];
}

/* What leaves without being a node, which those of later rounds may still use: it goes last. */
static char no_pool[] = "";

static void put_last(const RgPlan *plan, GPtrArray *rounds)
{
	for (guint i = 0; rounds->len && i < plan->changes->len; i++) {
		RgPlanChange *change = plan->changes->pdata[i];
		if (change->action == RG_ACTION_DELETE && change->index < 0)
			g_hash_table_insert(
				rounds->pdata[rounds->len - 1], change->address, no_pool);
	}
}

GPtrArray *pass_rounds(const RgPlan *plan)
{
	GPtrArray *rounds = g_ptr_array_new_with_free_func((GDestroyNotify)g_hash_table_unref);
	for (guint i = 0; i < plan->pools->len; i++) {
		const RgPlanPool *pool = plan->pools->pdata[i];
		guint together = MAX(pool->max_unavailable, pool->max_surge);
		if (!together)
			continue;
		g_autoptr(GPtrArray) changes = replaced_of(plan, pool);
		for (guint k = together; k < changes->len; k++) {
			RgPlanChange *change = changes->pdata[k];
			g_hash_table_insert(
				round_of(rounds, k / together - 1), change->address, change->group);
		}
	}
	put_last(plan, rounds);
	return rounds;
}

GHashTable *pass_rounds_all(const GPtrArray *rounds)
{
	GHashTable *all = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; i < rounds->len; i++) {
		GHashTableIter iter;
		gpointer address;
		g_hash_table_iter_init(&iter, rounds->pdata[i]);
		while (g_hash_table_iter_next(&iter, &address, NULL))
			g_hash_table_add(all, address);
	}
	return all;
}

static bool has_failed(
	const RgPlan *plan, const char *pool, GHashTable *failed, const RgReadyResult *ready)
{
	size_t k;
	json_t *row;
	json_array_foreach (ready->failed, k, row)
		if (g_str_equal(rg_json_str(row, "pool", ""), pool))
			return true;
	for (guint i = 0; i < plan->changes->len; i++) {
		const RgPlanChange *change = plan->changes->pdata[i];
		if (g_strcmp0(change->group, pool) == 0 &&
			g_hash_table_contains(failed, change->address))
			return true;
	}
	return false;
}

/* How many of the pool's nodes were in the rounds from that one on. */
static unsigned drop_pool(const GPtrArray *rounds, guint from, const char *pool)
{
	unsigned n = 0;
	for (guint i = from; i < rounds->len; i++) {
		GHashTableIter iter;
		gpointer address, group;
		g_hash_table_iter_init(&iter, rounds->pdata[i]);
		while (g_hash_table_iter_next(&iter, &address, &group)) {
			if (!g_str_equal(group, pool))
				continue;
			g_hash_table_iter_remove(&iter);
			n++;
		}
	}
	return n;
}

bool pass_rounds_go_on(const RgPlan *plan, const GPtrArray *rounds, guint from, GHashTable *failed,
	const RgReadyResult *ready, RgDiags *diags)
{
	bool all = true;
	for (guint i = 0; i < plan->pools->len; i++) {
		const char *pool = ((RgPlanPool *)plan->pools->pdata[i])->pool;
		if (!has_failed(plan, pool, failed, ready))
			continue;
		unsigned n = drop_pool(rounds, from, pool);
		if (!n)
			continue;
		all = false;
		RgDiag *diag = rg_diags_error(diags, "apply.blocked",
			"%u node%s of pool %s not replaced, because a new one failed or did not "
			"join Ray",
			n, n == 1 ? "" : "s", pool);
		rg_diag_hint(diag, "the old nodes stay as they were; run apply again when the "
				   "cause is removed");
	}
	if (!all)
		drop_pool(rounds, from, no_pool);
	return all;
}
