/* Pools with `placement: cluster` or `rdma: true`: all nodes in one zone, of a type that supports
 * it. RDMA traffic is not routed between zones. */
#include <string.h>
#include "fit/internal.h"

bool rg_fit_check_placement(const RgPool *pool, const RgInstanceType *type, RgDiags *diags)
{
	if (!pool->placement || !type->refuses_placement)
		return true;
	RgDiag *diag = rg_diags_error(diags, "fit.no-placement",
		"%s cannot be placed in a cluster placement group", type->name);
	rg_diag_at(diag, pool->placement_source);
	rg_diag_detail(diag, "the cloud has no cluster placement for this instance type");
	rg_diag_hint(diag, "choose another instance type, or remove `placement`");
	return false;
}

bool rg_fit_check_rdma(const RgPool *pool, const RgInstanceType *type, RgDiags *diags)
{
	if (!pool->rdma || type->rdma_adapters > 0)
		return true;
	RgDiag *diag = rg_diags_error(diags, "fit.no-rdma", "%s has no RDMA adapters", type->name);
	rg_diag_at(diag, pool->rdma_source);
	rg_diag_hint(diag, "choose another instance type, or remove `rdma`");
	return false;
}

bool rg_fit_is_gathered(const RgPool *pool)
{
	return pool->placement || pool->rdma;
}

/* The position of `zone` in the spec's list; without a list all are equal. */
static guint wish_rank(const RgPool *pool, const char *zone)
{
	guint rank = 0;
	while (pool->zones && pool->zones[rank] && !g_str_equal(pool->zones[rank], zone))
		rank++;
	return rank;
}

/* The zone that keeps most nodes in place; then the spec's order, then the name. */
static const char *fullest_zone(const RgShape *shape)
{
	const char *best = NULL;
	guint most = 0;
	rg_hash_foreach (zone, void, count, shape->nodes_in) {
		guint nodes = GPOINTER_TO_UINT(count);
		int order = !best ? -1
				  : (int)wish_rank(shape->pool, zone) -
					    (int)wish_rank(shape->pool, best);
		if (order == 0)
			order = strcmp(zone, best);
		if (nodes > most || (nodes == most && order < 0)) {
			best = zone;
			most = nodes;
		}
	}
	return best;
}

void rg_fit_gather(RgShape *shape)
{
	if (!rg_fit_is_gathered(shape->pool))
		return;
	shape->gathered = fullest_zone(shape);
	g_hash_table_remove_all(shape->nodes_in);
	guint here = 0;
	for (unsigned i = 0; i < rg_fit_count(shape->pool); i++) {
		RgFitNode *node = &shape->nodes[i];
		if (!node->zone)
			continue;
		if (g_str_equal(node->zone, shape->gathered)) {
			here++;
			continue;
		}
		node->zone = NULL;
		if (node->same_type)
			shape->homeless++;
	}
	if (here > 0)
		g_hash_table_insert(shape->nodes_in, (void *)(uintptr_t)shape->gathered,
			GUINT_TO_POINTER(here));
}
