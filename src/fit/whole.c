#include "fit/whole.h"
#include <string.h>
#include "fit/internal.h"
#include "fit/offers.h"

static bool is_free_spot(const RgShape *shape)
{
	return shape->is_spot && !shape->pool->zones;
}

/* How many of the pools have a price of their own there, and what all of them cost. */
static unsigned sum_in(
	const RgCluster *cluster, const RgShapes *shapes, const char *zone, int64_t *sum)
{
	unsigned own = 0;
	*sum = 0;
	rg_ptr_foreach (const RgShape, shape, shapes->shapes) {
		const RgPrice *price = is_free_spot(shape) ? rg_fit_spot_price(shape->type,
								     cluster->provider.region, zone)
							   : NULL;
		own += price && g_strcmp0(price->zone, zone) == 0;
		*sum += price ? rg_fit_spot_sum(cluster, shape, shape->type, zone,
					rg_fit_count(shape->pool))
			      : 0;
	}
	return own;
}

/* Where spot nodes of pools without `zones` go, as far as prices say it (zone.c): the zone that has
 * most of their types and where they cost least. NULL: there are none, or no price is known. */
static const char *spot_zone(const RgCluster *cluster, const RgShapes *shapes)
{
	g_autoptr(GHashTable) summed = g_hash_table_new(g_str_hash, g_str_equal);
	const char *best = NULL;
	unsigned best_own = 0;
	int64_t best_sum = 0;
	rg_ptr_foreach (const RgShape, shape, shapes->shapes) {
		if (!is_free_spot(shape))
			continue;
		rg_ptr_foreach (const RgPrice, price, shape->type->prices) {
			int64_t sum;
			if (price->kind != RG_PRICE_SPOT || !price->zone ||
				!g_str_equal(price->region, cluster->provider.region) ||
				!g_hash_table_add(summed, (void *)(uintptr_t)price->zone))
				continue;
			unsigned own = sum_in(cluster, shapes, price->zone, &sum);
			if (best && (own < best_own || (own == best_own && sum >= best_sum)))
				continue;
			best = price->zone;
			best_own = own;
			best_sum = sum;
		}
	}
	return best;
}

/* Of one node of the shape. Spot as plans count it: in the pool's first zone, else in `zone`; where
 * that has no price of its own, with the dearest zone's. */
static const RgPrice *shape_price(
	const RgCluster *cluster, const RgShape *shape, const char *zone, bool is_spot)
{
	const RgPool *pool = shape->pool;
	const char *region = cluster->provider.region;
	return is_spot ? rg_fit_spot_price(shape->type, region, pool->zones ? pool->zones[0] : zone)
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
	const char *zone; /* spot_zone */
	RgWhole *whole;
} Summing;

/* The n nodes of the shape that are bought on that market. */
static void add_node_prices(const Summing *sum, const RgShape *shape, bool is_spot, unsigned n)
{
	const RgPrice *price = shape_price(sum->cluster, shape, sum->zone, is_spot);
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
	const Summing sum = {cluster, shapes, carbon, spot_zone(cluster, shapes), &whole};
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
