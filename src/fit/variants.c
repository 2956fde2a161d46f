/* What else may stand in for a pool's nodes: other types that satisfy its accelerators, and the
 * market that it falls back to. */
#include "fit/internal.h"
#include "fit/offers.h"

/* More types than anybody tries by hand; each is asked about at plan. */
#define TYPES_MAX 16

static char *variant_reason(const RgShape *shape, const RgInstanceType *type)
{
	if (type == shape->type)
		return g_strdup(shape->reason);
	return g_strdup_printf("in place of %s", shape->type->name);
}

RgShape *rg_fit_variant(RgShapes *shapes, RgShape *shape, const RgInstanceType *type, bool is_spot)
{
	if (type == shape->type && is_spot == shape->is_spot)
		return shape;
	rg_ptr_foreach (RgShape, known, shape->variants)
		if (known->type == type && known->is_spot == is_spot)
			return known;
	RgShape *variant = g_new0(RgShape, 1);
	variant->pool = shape->pool;
	variant->type = type;
	variant->is_spot = is_spot;
	variant->reservation = shape->reservation;
	variant->config = shape->config;
	variant->cpus = shape->cpus;
	variant->reason = variant_reason(shape, type);
	rg_fit_choose_images(shapes, variant);
	g_autoptr(RgDiags) unsaid = rg_diags_new();
	g_ptr_array_add(shape->variants, variant);
	if (rg_fit_share(shapes, variant, unsaid))
		return variant;
	g_ptr_array_remove(shape->variants, variant);
	return NULL;
}

static void add_one(
	RgShapes *shapes, RgShape *shape, const RgInstanceType *type, bool is_spot, unsigned rank)
{
	RgShape *variant = rg_fit_variant(shapes, shape, type, is_spot);
	if (variant)
		variant->rank = rank;
}

/* `nth`: of the types. */
static void add_type(RgShapes *shapes, RgShape *shape, const RgInstanceType *type, unsigned nth)
{
	const RgMarket *market = &shape->pool->market;
	add_one(shapes, shape, type, market->is_spot, 2 * nth);
	if (market->is_spot && (market->falls_back || market->floor > 0) &&
		(type->markets & RG_SOLD(RG_PRICE_ON_DEMAND)))
		add_one(shapes, shape, type, false, 2 * nth + 1);
}

void rg_fit_open(RgShapes *shapes, const RgCluster *cluster, RgShape *shape)
{
	const RgPool *pool = shape->pool;
	if (shape->opened)
		return;
	shape->opened = true;
	add_type(shapes, shape, shape->type, 0);
	if (!pool->accelerators || pool->market.reservation)
		return;
	const RgWish wish = rg_wish_of_pool(cluster, pool, shapes->carbon);
	const RgPlace place = {cluster->provider.name, shapes->catalog, cluster->provider.region};
	g_autoptr(GPtrArray) offers = rg_offers_find(&wish, &place, 1);
	for (guint i = 0; i < offers->len && i < TYPES_MAX; i++) {
		const RgOffer *offer = offers->pdata[i];
		if (offer->type != shape->type)
			add_type(shapes, shape, offer->type, i + 1);
	}
}
