/* Offers compared with properties and with an independent search, over random catalogs and
 * requests; the seed is GLib's (--seed). */
#include <math.h>
#include <string.h>
#include "fit/fit.h"
#include "fit/offers.h"
#include "spec/spec.h"
#include "catalog_text.h"

static const char *const gpus[] = {
	"T4", "V100-16GB", "A100-40GB", "A100-80GB", "A10G", "H100-80GB", "MI300X-192GB", "K80"};
/* GiB that the cloud reports for each. */
static const char *const memories[] = {"16", "16.5", "40", "80", "22.35", "79.6", "192", "12"};
static const char *const regions[] = {"east", "north", "south", "west"};

static char *random_types(unsigned n)
{
	GString *text = g_string_new(
		"instance_type,family,arch,vcpus,memory_gib,gpu_model,gpus,gpu_fraction,"
		"gpu_memory_gib,offers_known,network_gbps,rdma_adapters\n");
	for (unsigned i = 0; i < n; i++) {
		static const char *const fractions[] = {"1", "1", "1", "1", "0.5"};
		static const char *const archs[] = {"x86_64", "x86_64", "x86_64", "arm64"};
		static const char *const speeds[] = {"", "10", "25", "100", "400"};
		bool cpu = g_test_rand_int_range(0, 8) == 0;
		int gpu = g_test_rand_int_range(0, G_N_ELEMENTS(gpus));
		g_string_append_printf(text, "t%u,f,%s,8,32,%s,%d,%s,%s,%s,%s,%d\n", i,
			archs[g_test_rand_int_range(0, 4)], cpu ? "" : gpus[gpu],
			cpu ? 0 : 1 << g_test_rand_int_range(0, 4),
			cpu ? "" : fractions[g_test_rand_int_range(0, 5)], cpu ? "" : memories[gpu],
			g_test_rand_bit() ? "yes" : "no", speeds[g_test_rand_int_range(0, 5)],
			g_test_rand_int_range(0, 3));
	}
	return g_string_free(text, FALSE);
}

static char *random_prices(unsigned n)
{
	GString *text = g_string_new("region,instance_type,kind,usd_per_hour,quality,date\n");
	for (unsigned i = 0; i < n; i++) {
		for (size_t r = 0; r < G_N_ELEMENTS(regions); r++) {
			int kind = g_test_rand_int_range(0, 4);
			/* few different prices, so that there are ties */
			int usd = g_test_rand_int_range(2, 8);
			if (kind == 0)
				continue;
			if (kind == 1)
				g_string_append_printf(
					text, "%s,t%u,on_demand,,unknown,2026\n", regions[r], i);
			else
				g_string_append_printf(text, "%s,t%u,on_demand,%d,list,2026\n",
					regions[r], i, usd);
			if (kind == 3)
				g_string_append_printf(text, "%s,t%u,spot,%d.5,observed,2026\n",
					regions[r], i, usd / 2);
		}
	}
	return g_string_free(text, FALSE);
}

static RgCatalog *random_catalog(char **types, char **prices)
{
	unsigned n = (unsigned)g_test_rand_int_range(1, 40);
	*types = random_types(n);
	*prices = random_prices(n);
	return catalog_text_open(*types, *prices, NULL);
}

static RgCluster *random_query(void)
{
	static const char *const queries[] = {"T4:1", "A100:8", "A100-80GB:8", "V100:4", "K80:2",
		"[A100-80GB:8, A100:8, V100:4]", "[H100:8, {gpu_memory: 1}]",
		"{gpu_memory: \">=40GB\", count: 8}", "{gpu_memory: \"<17GiB\", count: 2}",
		"{compute_capability: \">=8.0\", count: 4}",
		"{name: [T4, A10G], compute_capability: \"<8.0\"}",
		"[{name: A100, count: 4}, {gpu_memory: \">16GB\", count: 4}, T4:4]"};
	size_t pick = (size_t)g_test_rand_int_range(0, G_N_ELEMENTS(queries));
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgCluster *cluster = rg_spec_load_query(queries[pick], diags);
	g_assert_nonnull(cluster);
	return cluster;
}

/* The rules again, from their description in raygpu-spec(5). */
static bool satisfies_one(const RgCatalog *catalog, const RgWish *wish, const RgAccelerator *asked,
	const RgInstanceType *type)
{
	bool named = !asked->names;
	for (size_t i = 0; asked->names && asked->names[i]; i++)
		named = named || rg_catalog_is_model(catalog, asked->names[i], type->gpu);
	bool any = wish->any_count && !strchr(asked->text, ':');
	any |= wish->any_count && asked->text[0] == '{' && !strstr(asked->text, "count");
	return named && (any || type->gpus == asked->count) &&
	       rg_bound_holds(&asked->memory_gb, type->gpu->memory_gb) &&
	       rg_bound_holds(&asked->memory_gib, type->gpu_memory_mib / 1024.0) &&
	       rg_bound_holds(&asked->capability, type->gpu->compute_capability);
}

/* -1: none */
static int first_satisfied(const RgCatalog *catalog, const RgWish *wish, const RgInstanceType *type)
{
	if (!type->gpu || !g_str_equal(type->gpu->vendor, "NVIDIA") || type->gpu_fraction != 1 ||
		!g_str_equal(type->arch, "x86_64") || type->network_gbps < wish->min_gbps)
		return -1;
	for (guint i = 0; i < wish->accelerators->len; i++) {
		if (satisfies_one(catalog, wish, wish->accelerators->pdata[i], type))
			return (int)i;
	}
	return -1;
}

static RgWish random_wish(const RgCluster *query)
{
	static const double speeds[] = {0, 0, 10, 100};
	return (RgWish){.accelerators = query->head->accelerators,
		.any_count = g_test_rand_bit(),
		.market = g_test_rand_bit() ? RG_PRICE_SPOT : RG_PRICE_ON_DEMAND,
		.min_gbps = speeds[g_test_rand_int_range(0, 4)]};
}

static bool is_row(const RgInstanceType *type, const char *region)
{
	return rg_catalog_find_price(type, region) != NULL;
}

/* No offer violates the request, and none that satisfies it is missing. */
static void check_members(const RgCatalog *catalog, const RgWish *wish, const GPtrArray *offers)
{
	const GPtrArray *types = rg_catalog_get_types(catalog);
	unsigned expected = 0;
	for (guint i = 0; i < types->len; i++) {
		for (size_t r = 0; r < G_N_ELEMENTS(regions); r++)
			expected += is_row(types->pdata[i], regions[r]) &&
				    first_satisfied(catalog, wish, types->pdata[i]) >= 0;
	}
	g_assert_cmpuint(offers->len, ==, expected);
	for (guint i = 0; i < offers->len; i++) {
		const RgOffer *offer = offers->pdata[i];
		g_assert_null(offer->rejected);
		g_assert_true(is_row(offer->type, offer->region));
		g_assert_cmpint(
			first_satisfied(catalog, wish, offer->type), ==, (int)offer->preference);
	}
}

/* Of 8 GPUs, if counts differ: the numbers here all divide 8 or are 16. */
static double compared(const RgWish *wish, const RgInstanceType *type, int64_t price)
{
	return wish->any_count ? (double)price * 8 / type->gpus : (double)price;
}

/* The cheapest priced one of the best preference that has a priced one. */
static void check_first(const RgCatalog *catalog, const RgWish *wish, const GPtrArray *offers)
{
	const GPtrArray *types = rg_catalog_get_types(catalog);
	int best_preference = G_MAXINT;
	double best = INFINITY;
	for (guint i = 0; i < types->len; i++) {
		int preference = first_satisfied(catalog, wish, types->pdata[i]);
		for (size_t r = 0; r < G_N_ELEMENTS(regions) && preference >= 0; r++) {
			const RgPrice *price =
				rg_catalog_find_price_of(types->pdata[i], regions[r], wish->market);
			if (!is_row(types->pdata[i], regions[r]) || preference > best_preference)
				continue;
			if (preference < best_preference)
				best = INFINITY;
			best_preference = preference;
			if (price && price->microusd_hour != RG_MONEY_UNKNOWN)
				best = MIN(best,
					compared(wish, types->pdata[i], price->microusd_hour));
		}
	}
	g_assert_cmpint(offers->len > 0, ==, best_preference != G_MAXINT);
	if (offers->len == 0)
		return;
	const RgOffer *first = offers->pdata[0];
	g_assert_cmpint((int)first->preference, ==, best_preference);
	g_assert_cmpint(first->price != RG_MONEY_UNKNOWN, ==, best < INFINITY);
	if (first->price != RG_MONEY_UNKNOWN)
		g_assert_cmpfloat(compared(wish, first->type, first->price), ==, best);
}

static char *text_of(const GPtrArray *offers)
{
	GString *text = g_string_new(NULL);
	for (guint i = 0; i < offers->len; i++) {
		const RgOffer *offer = offers->pdata[i];
		g_string_append_printf(text, "%s %s %u %" G_GINT64_FORMAT " %s\n", offer->region,
			offer->type->name, offer->preference, offer->price,
			offer->rejected ? offer->rejected : "");
	}
	return g_string_free(text, FALSE);
}

static void test_properties(void)
{
	for (unsigned round = 0; round < 400; round++) {
		g_autofree char *types = NULL, *prices = NULL;
		g_autoptr(RgCatalog) catalog = random_catalog(&types, &prices);
		g_autoptr(RgCluster) query = random_query();
		RgWish wish = random_wish(query);
		RgPlace place = {"cloud", catalog, NULL};
		g_autoptr(GPtrArray) offers = rg_offers_find(&wish, &place, 1);
		g_autoptr(GPtrArray) again = rg_offers_find(&wish, &place, 1);
		g_autofree char *text = text_of(offers), *same = text_of(again);
		check_members(catalog, &wish, offers);
		check_first(catalog, &wish, offers);
		g_assert_cmpstr(text, ==, same);
	}
}

static bool has_known_price(const GPtrArray *offers, const RgOffer *like)
{
	for (guint i = 0; i < offers->len; i++) {
		const RgOffer *offer = offers->pdata[i];
		if (offer->price != RG_MONEY_UNKNOWN && offer->preference == like->preference &&
			g_str_equal(offer->region, like->region))
			return true;
	}
	return false;
}

/* max_price removes more expensive offers, and unpriced ones if others have a price; the order
 * stays. */
static void test_limit(void)
{
	unsigned kept = 0, dear = 0, unknown = 0;
	for (unsigned round = 0; round < 200; round++) {
		g_autofree char *types = NULL, *prices = NULL;
		g_autoptr(RgCatalog) catalog = random_catalog(&types, &prices);
		g_autoptr(RgCluster) query = random_query();
		RgWish wish = random_wish(query);
		RgPlace place = {"cloud", catalog, NULL};
		wish.market = RG_PRICE_SPOT;
		g_autoptr(GPtrArray) all = rg_offers_find(&wish, &place, 1);
		wish.max_microusd = g_test_rand_int_range(1, 5) * 500000;
		g_autoptr(GPtrArray) offers = rg_offers_find(&wish, &place, 1);
		guint n = 0;
		for (guint i = 0; i < all->len; i++) {
			const RgOffer *offer = all->pdata[i];
			bool priced = offer->price != RG_MONEY_UNKNOWN;
			dear += priced && offer->price > wish.max_microusd;
			unknown += !priced && has_known_price(all, offer);
			if (priced ? offer->price > wish.max_microusd : has_known_price(all, offer))
				continue;
			g_assert_cmpuint(n, <, offers->len);
			const RgOffer *same = offers->pdata[n++];
			g_assert_true(same->type == offer->type);
			g_assert_cmpstr(same->region, ==, offer->region);
			kept++;
		}
		g_assert_cmpuint(n, ==, offers->len);
		wish.market = RG_PRICE_ON_DEMAND; /* the limit is of spot */
		g_autoptr(GPtrArray) on_demand = rg_offers_find(&wish, &place, 1);
		g_assert_cmpuint(on_demand->len, ==, all->len);
	}
	g_assert_cmpuint(MIN(kept, MIN(dear, unknown)), >, 20);
}

/* Every pair occurs once, matching or with a reason, and the matching ones are the same. */
static void test_rejected_have_reasons(void)
{
	for (unsigned round = 0; round < 100; round++) {
		g_autofree char *types = NULL, *prices = NULL;
		g_autoptr(RgCatalog) catalog = random_catalog(&types, &prices);
		g_autoptr(RgCluster) query = random_query();
		RgWish wish = random_wish(query);
		RgPlace place = {"cloud", catalog, "north"};
		g_autoptr(GPtrArray) offers = rg_offers_find(&wish, &place, 1);
		wish.rejected = true;
		g_autoptr(GPtrArray) all = rg_offers_find(&wish, &place, 1);
		g_assert_cmpuint(all->len, ==, rg_catalog_get_types(catalog)->len);
		for (guint i = 0; i < all->len; i++) {
			const RgOffer *offer = all->pdata[i];
			g_assert_cmpint(!offer->rejected, ==, i < offers->len);
			if (offer->rejected)
				g_assert_cmpuint(strlen(offer->rejected), >, 4);
			else
				g_assert_true(offer->type == ((RgOffer *)offers->pdata[i])->type);
		}
	}
}

/* The cheapest price is of 2024: it comes last if its age counts. */
static void test_old_prices_come_last(void)
{
	static const char types[] =
		"instance_type,family,arch,vcpus,memory_gib,gpu_model,gpus,gpu_fraction,"
		"gpu_memory_gib,offers_known\n"
		"cheap,f,x86_64,8,32,T4,1,1,16,yes\nnew,f,x86_64,8,32,T4,1,1,16,yes\n";
	static const char prices[] = "region,instance_type,kind,usd_per_hour,quality,date\n"
				     "east,cheap,spot,1,observed,2024\n"
				     "east,new,spot,2,observed,2026-06\n";
	g_autoptr(RgCatalog) catalog = catalog_text_open(types, prices, NULL);
	RgWish wish = {.any_count = true, .market = RG_PRICE_SPOT};
	const RgPlace place = {"cloud", catalog, "east"};
	g_autoptr(GPtrArray) by_price = rg_offers_find(&wish, &place, 1);
	g_assert_cmpuint(by_price->len, ==, 2);
	g_assert_cmpstr(((RgOffer *)by_price->pdata[0])->type->name, ==, "cheap");
	wish.today = "2026-11-22";
	g_autoptr(GPtrArray) by_age = rg_offers_find(&wish, &place, 1);
	g_assert_cmpstr(((RgOffer *)by_age->pdata[0])->type->name, ==, "new");
	g_assert_cmpstr(((RgOffer *)by_age->pdata[1])->type->name, ==, "cheap");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/offers/properties", test_properties);
	g_test_add_func("/offers/limit", test_limit);
	g_test_add_func("/offers/old-prices-come-last", test_old_prices_come_last);
	g_test_add_func("/offers/rejected-have-reasons", test_rejected_have_reasons);
	return g_test_run();
}
