/* Lowered resources must stand for exactly the nodes of the fitted cluster: costs, budgets and
 * policies count them, so a pool that a module forgets would cost nothing. */
#include "provider/internal.h"
#include "resource/nodes.h"

/* Nodes of a pool in the fitted cluster, and in the resources. */
typedef struct {
	bool is_head;
	uint64_t min, max, counted_min, counted_max;
} Tally;

static Tally *tally_of(GHashTable *pools, const char *pool)
{
	Tally *tally = g_hash_table_lookup(pools, pool);
	if (!tally) {
		tally = g_new0(Tally, 1);
		g_hash_table_insert(pools, g_strdup(pool), tally);
	}
	return tally;
}

static GHashTable *fitted_pools(const json_t *fitted)
{
	GHashTable *pools = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	rg_json_foreach (node, json_object_get(fitted, "nodes")) {
		const json_t *indexes = json_object_get(node, "indexes");
		int64_t n = json_is_array(indexes) ? (int64_t)json_array_size(indexes) : 1;
		Tally *tally = tally_of(pools, rg_json_str(node, "pool", ""));
		tally->is_head = g_str_equal(rg_json_str(node, "role", ""), "head");
		tally->min += (uint64_t)rg_json_int(node, "min", n);
		tally->max += (uint64_t)rg_json_int(node, "max", n);
	}
	return pools;
}

static bool add_counted(RgCall *call, GHashTable *pools, const RgResource *resource)
{
	for (size_t i = 0; i < rg_nodes_pools(resource, NULL); i++) {
		const RgPoolNodes nodes = rg_nodes_get(resource, i);
		Tally *tally = g_hash_table_lookup(pools, nodes.pool);
		if (!tally || tally->is_head != nodes.is_head) {
			g_autofree char *name = rg_text_clean(nodes.pool);
			rg_call_bad(call, "%s stands for nodes of \"%s\", which is not %s",
				resource->address, name,
				nodes.is_head ? "the head" : "a pool with nodes");
			return false;
		}
		tally->counted_min += nodes.min;
		tally->counted_max += nodes.max;
	}
	return true;
}

static char *range_text(uint64_t min, uint64_t max)
{
	return min == max
		       ? g_strdup_printf("%" G_GUINT64_FORMAT, min)
		       : g_strdup_printf("%" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT, min, max);
}

static bool is_counted(RgCall *call, const char *pool, const Tally *tally)
{
	if (tally->min == tally->counted_min && tally->max == tally->counted_max)
		return true;
	g_autofree char *wanted = range_text(tally->min, tally->max);
	g_autofree char *counted = range_text(tally->counted_min, tally->counted_max);
	rg_call_bad(
		call, "of \"%s\" with %s nodes its resources stand for %s", pool, wanted, counted);
	return false;
}

bool rg_lowered_nodes_are_counted(RgCall *call, const RgResourceSet *set, const json_t *fitted)
{
	g_autoptr(GHashTable) pools = fitted_pools(fitted);
	for (size_t i = 0; i < rg_resource_set_size(set); i++) {
		if (!add_counted(call, pools, rg_resource_set_get(set, i)))
			return false;
	}
	g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(pools), (GCompareFunc)g_strcmp0);
	for (const GList *name = names; name; name = name->next) {
		if (!is_counted(call, name->data, g_hash_table_lookup(pools, name->data)))
			return false;
	}
	return true;
}
