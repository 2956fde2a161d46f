/* Inside fit: shapes.c fills, facts.c merges, zone.c chooses, fit.c writes the document. */
#pragma once
#include "fit/shape.h"

/* How many nodes of a pool are fitted: the first stands for all of an elastic pool. */
static inline unsigned rg_fit_count(const RgPool *pool)
{
	return pool->is_elastic ? MIN(pool->nodes_max, 1) : pool->nodes;
}

/* The same if the pool were enabled. */
static inline unsigned rg_fit_wanted(const RgPool *pool)
{
	if (!pool->is_disabled)
		return rg_fit_count(pool);
	return pool->is_elastic ? MIN(pool->wanted_max, 1) : pool->wanted;
}

#define RG_FIT_DEFAULT_IMAGE "default/x86_64"
#define RG_FIT_OLD_GPU_IMAGE "default/x86_64/proprietary"

/* choose.c: whether the pool's node of that index may be bought so. */
bool rg_fit_admits_market(const RgPool *pool, unsigned index, bool is_spot);
/* Sets the shape's type and reason. False with catalog.* or fit.* at the spec's lines. */
bool rg_fit_choose_type(RgShapes *shapes, const RgCluster *cluster, RgShape *shape, RgDiags *diags);
/* Whether too few of the type are free for the pool's new nodes, by the pins. */
bool rg_fit_lacks(const RgShapes *shapes, const RgPool *pool, const RgInstanceType *type);
/* Whether a node of the shape may stay what its pin says. */
bool rg_fit_keeps_type(const RgShapes *shapes, const RgCluster *cluster, const RgShape *shape,
	const RgInstanceType *type);

/* variants.c: the shape with that type and market, made when first asked for. NULL: its GPUs can't
 * be shared as the pool requires. */
RgShape *rg_fit_variant(RgShapes *shapes, RgShape *shape, const RgInstanceType *type, bool is_spot);
/* Makes all variants that may stand in for the shape: type by type in the order of preference, each
 * on the pool's market, then on the one that it falls back to. Nothing stands in for a
 * reservation. */
void rg_fit_open(RgShapes *shapes, const RgCluster *cluster, RgShape *shape);
/* images.c: whether NVIDIA's open kernel modules support the GPU: they are for Turing and later
 * (NVIDIA's driver README, "Open Linux Kernel Modules"); older GPUs need the proprietary ones. */
bool rg_fit_takes_open_driver(const RgInstanceType *type);
/* Whether it supports nothing else: Blackwell and Grace Hopper (NVIDIA's announcement of driver
 * R560). */
bool rg_fit_needs_open_driver(const RgInstanceType *type);

/* Facts of the reply merged over those of the pins, reduced to what the shapes use; new
 * reference. */
json_t *rg_fit_merge_facts(const RgShapes *shapes, const json_t *facts, const json_t *pins);

/* False and fit.no-placement if the type cannot be placed as the pool requires (placement.c). */
bool rg_fit_check_placement(const RgPool *pool, const RgInstanceType *type, RgDiags *diags);
/* False and fit.no-rdma if the pool requires RDMA and the type has no adapters (placement.c). */
bool rg_fit_check_rdma(const RgPool *pool, const RgInstanceType *type, RgDiags *diags);
/* A pool with a placement or RDMA is in one zone: nodes pinned elsewhere become homeless. */
void rg_fit_gather(RgShape *shape);

/* reservation.c: the type of the pool's reservation, if the pool admits it; NULL with fit.* at the
 * spec's lines. Sets the shape's reservation. */
const RgInstanceType *rg_fit_reserved_type(
	const RgShapes *shapes, RgShape *shape, const RgWish *wish, RgDiags *diags);
/* Whether the pool's nodes may be there, by its list and its reservation. */
bool rg_fit_admits_zone(const RgShape *shape, const char *zone);
/* How the pool's nodes are bought, in the document's word. */
const char *rg_fit_market_word(const RgShape *shape);

bool rg_fit_has_zone(const json_t *facts, const char *zone);
/* What the price table calls the zone; the same unless the cloud names zones differently for each
 * account. NULL for NULL. */
const char *rg_fit_zone_id(const json_t *facts, const char *zone);
/* Whether nodes can be placed in the zone, and the type is offered there as far as the facts
 * say. */
bool rg_fit_zone_works(const json_t *facts, const RgInstanceType *type, const char *zone);
/* The zones of the pool where the type can be, best first; the first is where its new nodes go.
 * Texts borrowed from facts or cluster. */
GPtrArray *rg_fit_rank_zones(const RgShapes *shapes, const RgShape *shape,
	const RgInstanceType *type, const json_t *facts);
/* Where the pool's homeless nodes go; borrowed from facts or cluster. NULL with fit.no-zone or
 * fit.zone-not-offered. `beside`: the zone to prefer if the spec lists none, or NULL. */
const char *rg_fit_choose_zone(const RgShapes *shapes, const RgShape *shape, const json_t *facts,
	const char *beside, const char *region, RgDiags *diags);

/* stock.c: whether the node takes one of its type out of the stock if it is put into that zone. */
bool rg_fit_is_open(const RgFitNode *node, const char *zone);
typedef struct {
	const RgShapes *shapes;
	const json_t *facts;
	json_t *taken;	     /* {type, or "POOL/TYPE": {zone: n}}, filled in */
	json_t *lacking;     /* {pool: type}, filled in */
	const json_t *suits; /* `pool_stock` of the answer; NULL: each pool may use all */
} RgStock;
/* Moves new nodes to zones that have them. `zones`: of each shape those of its nodes, as chosen
 * without regard to the stock. False with fit.no-stock. */
bool rg_fit_take_stock(RgStock *stock, const char ***zones, RgDiags *diags);

/* node.c: nodes of a pool that are equal in all that the document says. Borrowed texts. */
typedef struct {
	const RgShape *as;
	const char *zone, *image_id, *price_date, *price_quality, *reason;
	int64_t price;
	json_t *indexes;
} RgFitGroup;

/* Their entry of `nodes`, without `boot`; a new reference. */
json_t *rg_fit_node(const RgCluster *cluster, const json_t *facts, const RgFitGroup *group);
/* Pinned for nodes that stay as they are, today's for all others; `node` may be NULL. */
void rg_fit_set_price(
	const RgCluster *cluster, const json_t *facts, const RgFitNode *node, RgFitGroup *group);
/* Of a new node: that of its like, else today's. Borrowed. */
const char *rg_fit_image_of(const json_t *facts, const RgShape *shape);
/* False with fit.bad-facts, fit.image-arch or fit.disk-too-small. */
bool rg_fit_check_image(const json_t *facts, const RgShape *shape, RgDiags *diags);

/* ray.c: NULL if the GPUs are not shared. */
json_t *rg_fit_share_json(const RgShape *shape);
