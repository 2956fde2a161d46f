#include "fit/offers.h"
#include <string.h>
#include "base/price.h"
#include "fit/internal.h"

/* Shared by all steps of one search. */
typedef struct {
	const RgWish *wish;
	GPtrArray *offers;
	RgMerit *least; /* of the matching ones, by preference */
	guint preferences;
} Search;

static void free_offer(void *data)
{
	RgOffer *offer = data;
	g_free(offer->rejected);
	g_free(offer);
}

/* Tables may have prices of types that are not sold that way. */
static const RgPrice *type_price(const RgInstanceType *type, const char *region, RgPriceKind kind)
{
	return (type->markets & RG_SOLD(kind)) ? rg_catalog_find_price_of(type, region, kind)
					       : NULL;
}

/* No zone of the region was seen at or below the limit. */
static char *reject_price(const RgWish *wish, const RgOffer *offer)
{
	if (wish->market != RG_PRICE_SPOT || wish->max_microusd == 0 ||
		offer->price == RG_MONEY_UNKNOWN || offer->price <= wish->max_microusd)
		return NULL;
	g_autofree char *price = rg_money_exact(offer->price);
	g_autofree char *limit = rg_money_exact(wish->max_microusd);
	return g_strdup_printf(
		"spot price %s USD per hour, above the max_price of %s", price, limit);
}

/* `rejected`: of the verdict, copied. */
static void add(const Search *search, const RgPlace *place, const char *region,
	const RgInstanceType *type, const RgVerdict *verdict)
{
	RgOffer *offer = g_new0(RgOffer, 1);
	g_ptr_array_add(search->offers, offer);
	offer->provider = place->provider;
	offer->region = region;
	offer->type = type;
	offer->preference = verdict->preference;
	offer->nearness = verdict->nearness;
	offer->rejected = g_strdup(verdict->why);
	offer->state = rg_catalog_offer_state(place->catalog, type, region);
	offer->on_demand = type_price(type, region, RG_PRICE_ON_DEMAND);
	offer->spot = type_price(type, region, RG_PRICE_SPOT);
	const RgPrice *price =
		search->wish->market == RG_PRICE_SPOT ? offer->spot : offer->on_demand;
	offer->price = price ? price->microusd_hour : RG_MONEY_UNKNOWN;
	offer->carbon.mg_hour = RG_CARBON_UNKNOWN;
	if (search->wish->carbon)
		offer->carbon = rg_carbon_hour(search->wish->carbon, place->provider, type, region);
	if (!offer->rejected && offer->state == RG_OFFER_NONE)
		offer->rejected = g_strdup("not offered there");
	if (!offer->rejected && !search->wish->reserved)
		offer->rejected = rg_offers_reject_market(search->wish->market, type);
	if (!offer->rejected)
		offer->rejected = reject_price(search->wish, offer);
}

static void search_type(const Search *search, const RgPlace *place, const RgInstanceType *type)
{
	const char *last = NULL;
	RgVerdict verdict =
		rg_offers_judge(search->wish, rg_catalog_get_gpus(place->catalog), type);
	bool listed = !verdict.why || search->wish->rejected;
	if (listed && place->region)
		add(search, place, place->region, type, &verdict);
	for (guint i = 0; listed && !place->region && i < type->prices->len; i++) {
		const RgPrice *price = type->prices->pdata[i];
		if (!last || !g_str_equal(price->region, last))
			add(search, place, price->region, type, &verdict);
		last = price->region;
	}
	g_free(verdict.why);
}

/* ---- ranking */

static int64_t price_or_lowest(const RgOffer *offer)
{
	int64_t price =
		offer->price != RG_MONEY_UNKNOWN ? offer->price : offer->type->lowest_microusd_hour;
	return price != RG_MONEY_UNKNOWN ? price : INT64_MAX;
}

RgMerit rg_offer_merit(const RgOffer *offer)
{
	bool emits = offer->carbon.mg_hour != RG_CARBON_UNKNOWN;
	return (RgMerit){.preference = offer->preference,
		.sureness = offer->price != RG_MONEY_UNKNOWN  ? 0
			    : offer->state == RG_OFFER_UNSEEN ? 2
							      : 1,
		.microusd_hour = price_or_lowest(offer),
		.carbon_mg_hour = emits ? offer->carbon.mg_hour : INT64_MAX};
}

static bool is_like(const RgOffer *offer, const RgOffer *other)
{
	return g_str_equal(offer->provider, other->provider) &&
	       g_str_equal(offer->region, other->region) &&
	       offer->preference == other->preference && offer->nearness == other->nearness;
}

/* If the price is unknown, nobody can say whether it is within the limit: such an offer is not used
 * if others with a known price match. */
static void reject_unknown(const Search *search)
{
	const RgWish *wish = search->wish;
	rg_ptr_foreach (RgOffer, offer, search->offers) {
		bool known = offer->rejected || offer->price != RG_MONEY_UNKNOWN ||
			     wish->market != RG_PRICE_SPOT || wish->max_microusd == 0;
		for (guint k = 0; !known && k < search->offers->len; k++) {
			const RgOffer *other = search->offers->pdata[k];
			if (other->price == RG_MONEY_UNKNOWN || !is_like(other, offer))
				continue;
			offer->rejected =
				g_strdup("no spot price is known to compare with max_price");
			known = true;
		}
	}
}

static int compare_places(const RgOffer *a, const RgOffer *b)
{
	int order = strcmp(a->provider, b->provider);
	if (order == 0)
		order = strcmp(a->region, b->region);
	return order != 0 ? order : rg_instance_type_compare(a->type, b->type);
}

/* Of this many GPUs, so that nodes with 1 to 16 are compared without rounding. */
#define SHARE 720720

/* Spot prices move; a list price is what it was until the list says otherwise. */
static bool is_old(const Search *search, const RgOffer *offer)
{
	return search->wish->market == RG_PRICE_SPOT && offer->spot &&
	       strchr(rg_price_marks(NULL, offer->spot->date, search->wish->today), '*');
}

static RgMerit merit_of(const Search *search, const RgOffer *offer)
{
	RgMerit merit = rg_offer_merit(offer);
	merit.sureness = 2 * merit.sureness + is_old(search, offer);
	int64_t part = search->wish->any_count ? SHARE / CLAMP(offer->type->gpus, 1, SHARE) : 1;
	if (merit.microusd_hour != INT64_MAX)
		merit.microusd_hour *= part;
	if (merit.carbon_mg_hour != INT64_MAX)
		merit.carbon_mg_hour *= part;
	return merit;
}

/* Unknown prices and types without GPUs last. */
static int compare_per_gpu(const RgOffer *a, const RgOffer *b)
{
	const bool known[] = {a->price != RG_MONEY_UNKNOWN && a->type->gpus > 0,
		b->price != RG_MONEY_UNKNOWN && b->type->gpus > 0};
	if (known[0] != known[1])
		return known[1] - known[0];
	if (!known[0])
		return 0;
	double x = (double)a->price / a->type->gpus, y = (double)b->price / b->type->gpus;
	return (x > y) - (x < y);
}

static int compare(gconstpointer left, gconstpointer right, gpointer data)
{
	const RgOffer *a = *(RgOffer *const *)left, *b = *(RgOffer *const *)right;
	if ((a->rejected != NULL) != (b->rejected != NULL))
		return a->rejected ? 1 : -1;
	const Search *search = data;
	RgMerit x = merit_of(search, a), y = merit_of(search, b);
	int order = a->rejected ? compare_per_gpu(a, b)
				: rg_merit_compare(search->wish->optimize,
					  &search->least[a->preference], &x, &y);
	return order != 0 ? order : compare_places(a, b);
}

GPtrArray *rg_offers_find(const RgWish *wish, const RgPlace *places, size_t n)
{
	Search search = {.wish = wish, .offers = g_ptr_array_new_with_free_func(free_offer)};
	for (size_t p = 0; p < n; p++) {
		const GPtrArray *types = rg_catalog_get_types(places[p].catalog);
		for (guint i = 0; i < types->len; i++)
			search_type(&search, &places[p], types->pdata[i]);
	}
	reject_unknown(&search);
	search.preferences = search.wish->accelerators ? search.wish->accelerators->len : 1;
	search.least = g_new(RgMerit, search.preferences);
	for (guint i = 0; i < search.preferences; i++)
		search.least[i] = rg_merit_worst();
	rg_ptr_foreach (const RgOffer, offer, search.offers) {
		RgMerit merit = merit_of(&search, offer);
		if (!offer->rejected)
			rg_merit_note_least(&search.least[offer->preference], &merit);
	}
	g_ptr_array_sort_with_data(search.offers, compare, &search);
	g_free(search.least);
	if (wish->rejected)
		return search.offers;
	guint admitted = 0;
	while (admitted < search.offers->len &&
		!((RgOffer *)search.offers->pdata[admitted])->rejected)
		admitted++;
	g_ptr_array_set_size(search.offers, (gint)admitted);
	return search.offers;
}

const RgPrice *rg_fit_spot_price(const RgInstanceType *type, const char *region, const char *zone)
{
	const RgPrice *dearest = NULL;
	rg_ptr_foreach (const RgPrice, price, type->prices) {
		if (price->kind != RG_PRICE_SPOT || !g_str_equal(price->region, region) ||
			price->microusd_hour == RG_MONEY_UNKNOWN)
			continue;
		if (g_strcmp0(price->zone, zone) == 0)
			return price;
		if (!dearest || price->microusd_hour > dearest->microusd_hour)
			dearest = price;
	}
	return dearest;
}

int64_t rg_fit_spot_sum(const RgCluster *cluster, const RgShape *shape, const RgInstanceType *type,
	const char *zone, unsigned count)
{
	const RgPrice *price =
		shape->is_spot ? rg_fit_spot_price(type, cluster->provider.region, zone) : NULL;
	return price ? price->microusd_hour * (count - MIN(shape->pool->market.floor, count)) : 0;
}
