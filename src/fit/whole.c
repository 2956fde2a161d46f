#include "fit/whole.h"
#include <string.h>
#include "fit/internal.h"
#include "fit/offers.h"

/* Of one node of the shape. Spot as plans count it: where the pool's first zone has no price of its
 * own, with the dearest zone's. */
static const RgPrice *shape_price(const RgCluster *cluster, const RgShape *shape, bool is_spot)
{
	const RgPool *pool = shape->pool;
	const char *region = cluster->provider.region;
	const char *zone = pool->zones ? pool->zones[0] : NULL;
	return is_spot ? rg_fit_spot_price(shape->type, region, zone)
		       : rg_catalog_find_price(shape->type, region);
}

static RgOffer offer_of(const RgCluster *cluster, const RgShapes *shapes, const RgShape *shape,
	const RgPrice *price, const RgCarbon *carbon)
{
	const RgProviderRef *place = &cluster->provider;
	RgOffer offer = {.provider = place->name,
		.region = place->region,
		.type = shape->type,
		.state = rg_catalog_offer_state(shapes->catalog, shape->type, place->region),
		.price = price ? price->microusd_hour : RG_MONEY_UNKNOWN,
		.preference = shape->preference};
	offer.carbon.mg_hour = RG_CARBON_UNKNOWN;
	if (carbon)
		offer.carbon = rg_carbon_hour(carbon, place->name, shape->type, place->region);
	return offer;
}

static bool has_gpu_nodes(const RgShapes *shapes)
{
	rg_ptr_foreach (const RgShape, shape, shapes->shapes)
		if (shape->type->gpu && (shape->pool->nodes > 0 || shape->pool->nodes_max > 0))
			return true;
	return false;
}

static void add_sum(RgWhole *whole, const RgShape *shape, const RgOffer *offer, RgMerit merit,
	const RgPrice *price, unsigned n)
{
	rg_merit_add(&whole->merit, &merit, n);
	whole->nodes += n;
	whole->gpus += n * shape->type->gpus;
	if (offer->price != RG_MONEY_UNKNOWN)
		whole->microusd_hour += offer->price * n;
	else
		whole->unpriced += n;
	if (offer->carbon.mg_hour != RG_CARBON_UNKNOWN)
		whole->carbon_mg_hour += offer->carbon.mg_hour * n;
	else
		whole->uncounted += n;
	if (n == 0 || !price || price->microusd_hour == RG_MONEY_UNKNOWN)
		return;
	whole->derived += g_str_equal(price->quality, "derived") ? n : 0;
	if (g_strcmp0(price->date, whole->price_date) > 0)
		whole->price_date = price->date;
	if (price->date && (!whole->oldest_date || strcmp(price->date, whole->oldest_date) < 0))
		whole->oldest_date = price->date;
}

typedef struct {
	const RgCluster *cluster;
	const RgShapes *shapes;
	const RgCarbon *carbon;
	RgWhole *whole;
} Summing;

/* The n nodes of the shape that are bought on that market. */
static void add_node_prices(const Summing *sum, const RgShape *shape, bool is_spot, unsigned n)
{
	const RgPrice *price = shape_price(sum->cluster, shape, is_spot);
	RgOffer offer = offer_of(sum->cluster, sum->shapes, shape, price, sum->carbon);
	/* Beside GPUs, what the hosts without any cost decides little: where it is not known, it
	 * doesn't make the place less sure, and the lowest price known anywhere stands in for it.
	 */
	RgMerit merit = rg_offer_merit(&offer);
	if (offer.price == RG_MONEY_UNKNOWN && !shape->type->gpu && has_gpu_nodes(sum->shapes) &&
		merit.microusd_hour != INT64_MAX) {
		merit.sureness = 0;
		merit.guessed = 1;
	}
	add_sum(sum->whole, shape, &offer, merit, price, n);
	if (offer.price == RG_MONEY_UNKNOWN && n > 0) {
		sum->whole->unpriced_type = shape->type->name;
		sum->whole->unpriced_spot = is_spot;
	}
}

RgWhole rg_fit_whole_of(const RgCluster *cluster, const RgShapes *shapes, const RgCarbon *carbon,
	const char *pool, bool most)
{
	RgWhole whole = {.merit = rg_merit_none()};
	const Summing sum = {cluster, shapes, carbon, &whole};
	rg_ptr_foreach (const RgShape, shape, shapes->shapes) {
		if (pool && !g_str_equal(shape->pool->name, pool))
			continue;
		const RgPool *with = shape->pool;
		unsigned n = most && with->is_elastic ? with->nodes_max : with->nodes;
		unsigned floor = MIN(with->market.floor, n);
		add_node_prices(&sum, shape, shape->is_spot, n - floor);
		if (floor > 0)
			add_node_prices(&sum, shape, false, floor);
	}
	return whole;
}

RgWhole rg_fit_whole(
	const RgCluster *cluster, const RgShapes *shapes, const RgCarbon *carbon, bool most)
{
	return rg_fit_whole_of(cluster, shapes, carbon, NULL, most);
}

char *rg_fit_whole_lacks(const RgCluster *cluster, const RgShapes *shapes)
{
	const char *region = cluster->provider.region;
	rg_ptr_foreach (const RgShape, shape, shapes->shapes)
		if (rg_catalog_offer_state(shapes->catalog, shape->type, region) == RG_OFFER_NONE)
			return g_strdup_printf("%s (%s%s) is not offered in %s", shape->type->name,
				shape->pool->is_head ? "the " : "pool ", shape->pool->name,
				rg_place_name(cluster->provider.name, region));
	return NULL;
}

static RgMerit least_like(const RgMerit *merits, const bool *admitted, guint n, guint like)
{
	RgMerit least = rg_merit_worst();
	for (guint i = 0; i < n; i++) {
		if (admitted[i] && merits[i].preference == merits[like].preference)
			rg_merit_note_least(&least, &merits[i]);
	}
	return least;
}

guint rg_fit_best(RgOptimize optimize, const RgMerit *merits, const bool *admitted, guint n)
{
	guint best = n;
	for (guint i = 0; i < n; i++) {
		if (!admitted[i])
			continue;
		RgMerit least = least_like(merits, admitted, n, i);
		if (best == n || rg_merit_compare(optimize, &least, &merits[i], &merits[best]) < 0)
			best = i;
	}
	return best;
}
