#include "plan/internal.h"

/* Which pools are replaced node by node. */

/* Nodes that cannot stay while others of their pool are replaced: this plan also replaces something
 * that they were created with, so all of them leave before any returns. Set of char* addresses,
 * borrowed; the changes are in the order of their dependencies. */
static GHashTable *uprooted(const RgPlan *plan)
{
	GHashTable *set = g_hash_table_new(g_str_hash, g_str_equal);
	rg_ptr_foreach (const RgPlanChange, change, plan->changes) {
		bool again = change->action == RG_ACTION_CREATE && change->row != 2;
		bool moves = (change->action == RG_ACTION_REPLACE || again) && !change->pin;
		for (guint k = 0; change->depends_on && change->depends_on[k] && !moves; k++)
			moves = g_hash_table_contains(set, change->depends_on[k]);
		if (moves)
			g_hash_table_add(set, change->address);
	}
	return set;
}

/* Of the head there is one, and without it the others do no work: nothing is gained by their
 * staying. */
static bool head_leaves(const RgPlan *plan)
{
	rg_ptr_foreach (const RgPlanChange, change, plan->changes)
		if (change->action == RG_ACTION_REPLACE && change->pin &&
			g_strcmp0(change->group, "head") == 0)
			return true;
	return false;
}

GHashTable *rolling_pools(const RgPlan *plan)
{
	GHashTable *pools = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(GHashTable) gone = uprooted(plan);
	g_autoptr(GHashTable) fixed = g_hash_table_new(g_str_hash, g_str_equal);
	guint n = head_leaves(plan) ? 0 : plan->changes->len;
	for (guint i = 0; i < n; i++) {
		const RgPlanChange *change = plan->changes->pdata[i];
		if (change->action != RG_ACTION_REPLACE || !change->group || change->index < 0)
			continue;
		bool fast = g_hash_table_contains(gone, change->address);
		g_hash_table_add(fast ? fixed : pools, change->group);
	}
	rg_hash_keys (const char, pool, fixed)
		g_hash_table_remove(pools, pool);
	return pools;
}
