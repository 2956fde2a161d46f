/* What apply asks for when a pool's nodes can't be had: the pool's own choice in all of its zones,
 * then on the market that it falls back to, then its next type. */
#include "fit/candidates.h"
#include <string.h>
#include "fit/internal.h"

/* What all steps for one pool share. */
typedef struct {
	const RgCandidatesInput *input;
	const RgShape *shape;
	const json_t *facts;
	const char *home; /* the zone where the head is planned; NULL: a pool */
	json_t *candidates, *left_out;
} Pool;

static bool is_whole(const RgPool *pool)
{
	return pool->gang || rg_fit_is_gathered(pool);
}

static const RgShape *on_demand_of(const RgShape *shape, const RgShape *like)
{
	rg_ptr_foreach (const RgShape, variant, shape->variants)
		if (variant->type == like->type && !variant->is_spot)
			return variant;
	return NULL;
}

static json_t *entry(const Pool *pool, const RgShape *as, const char *zone)
{
	json_auto_t *none = json_array();
	RgFitGroup group = {.as = as,
		.zone = zone,
		.image_id = rg_fit_image_of(pool->facts, as),
		.indexes = none};
	rg_fit_set_price(pool->input->cluster, pool->facts, NULL, &group);
	return rg_fit_node(pool->input->cluster, pool->facts, &group);
}

static void add_candidate(const Pool *pool, const RgShape *as, const char *zone)
{
	const RgShape *below = as->is_spot && pool->shape->pool->market.floor > 0
				       ? on_demand_of(pool->shape, as)
				       : NULL;
	json_t *candidate = json_pack("{s:o}", "node", entry(pool, as, zone));
	if (below)
		json_object_set_new(candidate, "floor", entry(pool, below, zone));
	json_array_append_new(pool->candidates, candidate);
}

static void leave_out(const Pool *pool, const RgShape *as, const RgDiags *found)
{
	const char *why = rg_diags_count(found) ? rg_diags_get(found, 0)->summary : "?";
	json_array_append_new(
		pool->left_out, json_pack("{s:s, s:s, s:s}", "instance_type", as->type->name,
					"market", rg_fit_market_word(as), "why", why));
}

static bool admits(const Pool *pool, const RgShape *as, RgDiags *found)
{
	const RgCandidatesInput *input = pool->input;
	return rg_fit_policy_admits(
		       input->cluster, input->shapes, as, input->limits, input->n_limits, found) &&
	       rg_fit_check_image(pool->facts, as, found) &&
	       rg_fit_compat_admits(input->cluster, input->shapes, as, pool->facts, found);
}

/* If all nodes of a pool must be in one zone, existing nodes determine it. */
static bool is_bound_elsewhere(const Pool *pool, unsigned made, const char *zone)
{
	const RgShape *shape = pool->shape;
	return shape->gathered && made < rg_fit_count(shape->pool) &&
	       !g_str_equal(shape->gathered, zone);
}

/* The head is near the first pool, or stays where it is known. */
static void put_home_first(const Pool *pool, GPtrArray *zones)
{
	guint at = 0;
	bool works = g_ptr_array_find_with_equal_func(zones, pool->home, g_str_equal, &at);
	if (works)
		g_ptr_array_remove_index(zones, at);
	if (pool->input->head_stays)
		g_ptr_array_set_size(zones, 0);
	if (works)
		g_ptr_array_insert(zones, 0, (void *)(uintptr_t)pool->home);
}

static void add_variant(const Pool *pool, const RgShape *as, unsigned made)
{
	const RgPool *of = pool->shape->pool;
	unsigned index = of->market.floor < rg_fit_count(of) ? of->market.floor : 0;
	g_autoptr(RgDiags) found = rg_diags_new();
	if (!rg_fit_admits_market(of, index, as->is_spot))
		return;
	if (as != pool->shape && !admits(pool, as, found)) {
		leave_out(pool, as, found);
		return;
	}
	g_autoptr(GPtrArray) zones =
		rg_fit_rank_zones(pool->input->shapes, pool->shape, as->type, pool->facts);
	if (pool->home)
		put_home_first(pool, zones);
	for (guint i = 0; i < zones->len; i++) {
		if (!is_bound_elsewhere(pool, made, zones->pdata[i]))
			add_candidate(pool, as, zones->pdata[i]);
	}
}

static gint by_variant_rank(gconstpointer a, gconstpointer b)
{
	const RgShape *const *left = a, *const *right = b;
	return (*left)->rank < (*right)->rank ? -1 : (*left)->rank > (*right)->rank;
}

static const char *home_of(const RgCandidatesInput *input)
{
	rg_json_foreach (node, json_object_get(input->fitted, "nodes"))
		if (g_str_equal(rg_json_str(node, "role", ""), "head"))
			return rg_json_str(json_object_get(node, "offer"), "zone", NULL);
	return NULL;
}

static json_t *pool_json(const RgCandidatesInput *input, const RgShape *shape, unsigned made)
{
	const Pool pool = {.input = input,
		.shape = shape,
		.facts = json_object_get(input->fitted, "facts"),
		.home = shape->pool->is_head ? home_of(input) : NULL,
		.candidates = json_array(),
		.left_out = json_array()};
	g_autoptr(GPtrArray) order = g_ptr_array_new();
	g_ptr_array_add(order, (void *)(uintptr_t)shape);
	g_ptr_array_extend(order, shape->variants, NULL, NULL);
	g_ptr_array_sort(order, by_variant_rank);
	for (guint i = 0; i < order->len; i++)
		add_variant(&pool, order->pdata[i], made);
	return json_pack("{s:s, s:i, s:b, s:o, s:o}", "pool", shape->pool->name, "floor",
		(int)shape->pool->market.floor, "whole", is_whole(shape->pool), "candidates",
		pool.candidates, "left_out", pool.left_out);
}

json_t *rg_fit_candidates(const RgCandidatesInput *input)
{
	json_t *pools = json_array();
	rg_ptr_foreach (RgShape, shape, input->shapes->shapes) {
		int64_t made = rg_json_int(input->made, shape->pool->name, 0);
		if (made <= 0 || shape->pool->is_elastic)
			continue;
		rg_fit_open(input->shapes, input->cluster, shape);
		json_array_append_new(pools, pool_json(input, shape, (unsigned)made));
	}
	return pools;
}
