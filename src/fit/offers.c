#include "fit/offers.h"
#include <string.h>

/* What all steps of one search share. */
typedef struct {
	const RgWish *wish;
	GPtrArray *offers;
	int64_t *least_price, *least_carbon; /* of the satisfying ones, by preference */
	guint preferences;
} Search;

static void free_offer(void *data)
{
	RgOffer *offer = data;
	g_free(offer->rejected);
	g_free(offer);
}

static int64_t amount_of(const RgPrice *price)
{
	return price != NULL ? price->microusd_hour : RG_MONEY_UNKNOWN;
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
	offer->on_demand = rg_catalog_find_price_of(type, region, RG_PRICE_ON_DEMAND);
	offer->spot = rg_catalog_find_price_of(type, region, RG_PRICE_SPOT);
	offer->price =
		amount_of(search->wish->market == RG_PRICE_SPOT ? offer->spot : offer->on_demand);
	offer->carbon.mg_hour = RG_CARBON_UNKNOWN;
	if (search->wish->carbon != NULL)
		offer->carbon = rg_carbon_hour(search->wish->carbon, place->provider, type, region);
	if (offer->rejected == NULL && offer->state == RG_OFFER_NONE)
		offer->rejected = g_strdup("not offered there");
}

static void search_type(const Search *search, const RgPlace *place, const RgInstanceType *type)
{
	const char *last = NULL;
	RgVerdict verdict =
		rg_offers_judge(search->wish, rg_catalog_get_gpus(place->catalog), type);
	bool listed = verdict.why == NULL || search->wish->rejected;
	if (listed && place->region != NULL)
		add(search, place, place->region, type, &verdict);
	for (guint i = 0; listed && place->region == NULL && i < type->prices->len; i++) {
		const RgPrice *price = type->prices->pdata[i];
		if (last == NULL || strcmp(price->region, last) != 0)
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

static int64_t carbon_or_worst(const RgOffer *offer)
{
	return offer->carbon.mg_hour != RG_CARBON_UNKNOWN ? offer->carbon.mg_hour : INT64_MAX;
}

/* 0 priced in the market, 1 known to be there, 2 the cloud has to be asked. */
static int sureness(const RgOffer *offer)
{
	if (offer->price != RG_MONEY_UNKNOWN)
		return 0;
	return offer->state == RG_OFFER_UNSEEN ? 2 : 1;
}

static void find_least(Search *search)
{
	search->preferences = search->wish->accelerators ? search->wish->accelerators->len : 1;
	search->least_price = g_new(int64_t, search->preferences);
	search->least_carbon = g_new(int64_t, search->preferences);
	for (guint i = 0; i < search->preferences; i++)
		search->least_price[i] = search->least_carbon[i] = INT64_MAX;
	for (guint i = 0; i < search->offers->len; i++) {
		const RgOffer *offer = search->offers->pdata[i];
		if (offer->rejected != NULL)
			continue;
		int64_t *price = &search->least_price[offer->preference];
		int64_t *carbon = &search->least_carbon[offer->preference];
		*price = MIN(*price, price_or_lowest(offer));
		*carbon = MIN(*carbon, carbon_or_worst(offer));
	}
}

/* Half the price and half the carbon, each as a multiple of the least; DBL_MAX: not both known. */
static double balance(const Search *search, const RgOffer *offer)
{
	int64_t price = price_or_lowest(offer), carbon = carbon_or_worst(offer);
	double least_price = (double)search->least_price[offer->preference];
	double least_carbon = (double)search->least_carbon[offer->preference];
	if (price == INT64_MAX || carbon == INT64_MAX || least_carbon <= 0)
		return G_MAXDOUBLE;
	return (double)price / least_price / 2 + (double)carbon / least_carbon / 2;
}

static int compare_amounts(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare_by_wish(const Search *search, const RgOffer *a, const RgOffer *b)
{
	switch (search->wish->optimize) {
	case RG_OPTIMIZE_CARBON:
		return compare_amounts(carbon_or_worst(a), carbon_or_worst(b));
	case RG_OPTIMIZE_BALANCED: {
		double x = balance(search, a), y = balance(search, b);
		return (x > y) - (x < y);
	}
	case RG_OPTIMIZE_COST:
		break;
	}
	return 0;
}

static int compare_places(const RgOffer *a, const RgOffer *b)
{
	int order = strcmp(a->provider, b->provider);
	if (order == 0)
		order = strcmp(a->region, b->region);
	return order != 0 ? order : strcmp(a->type->name, b->type->name);
}

static int compare(gconstpointer left, gconstpointer right, gpointer data)
{
	const RgOffer *a = *(RgOffer *const *)left, *b = *(RgOffer *const *)right;
	if ((a->rejected != NULL) != (b->rejected != NULL))
		return a->rejected != NULL ? 1 : -1;
	if (a->rejected != NULL)
		return compare_places(a, b);
	if (a->preference != b->preference)
		return a->preference < b->preference ? -1 : 1;
	if (sureness(a) != sureness(b))
		return sureness(a) - sureness(b);
	int order = compare_by_wish(data, a, b);
	if (order == 0)
		order = compare_amounts(price_or_lowest(a), price_or_lowest(b));
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
	find_least(&search);
	g_ptr_array_sort_with_data(search.offers, compare, &search);
	g_free(search.least_price);
	g_free(search.least_carbon);
	if (wish->rejected)
		return search.offers;
	guint admitted = 0;
	while (admitted < search.offers->len &&
		((RgOffer *)search.offers->pdata[admitted])->rejected == NULL)
		admitted++;
	g_ptr_array_set_size(search.offers, (gint)admitted);
	return search.offers;
}
