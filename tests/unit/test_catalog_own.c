/* The user's own rows over built-in ones, compared with brute force: each price is that of its own
 * row, else the built-in one less the last matching discount; and one region equals the same region
 * of all. */
#include <math.h>
#include <string.h>
#include "catalog/catalog.h"

#define ROUNDS 400

static const char *const types[] = {"a.one", "a.two", "b.one"};
static const char *const regions[] = {"us-east", "us-west", "eu-west"};
static const char *const markets[] = {"on_demand", "spot"};
static const char *const type_patterns[] = {"*", "a.*", "?.one", "b.one"};
static const char *const region_patterns[] = {"*", "us-*", "*-west", "eu-west"};

/* Some pairs have no row, some rows no price. */
static int64_t built_in(size_t type, size_t region, size_t market)
{
	size_t n = type * 7 + region * 3 + market;
	if (n % 5 == 0)
		return 0;
	return n % 7 == 0 ? RG_MONEY_UNKNOWN : (int64_t)(n + 1) * 1234567;
}

static char *price_table(void)
{
	GString *text = g_string_new("region,instance_type,kind,usd_per_hour,quality,date\n");
	for (size_t i = 0; i < 18; i++) {
		size_t type = i / 6, region = i / 2 % 3, market = i % 2;
		int64_t price = built_in(type, region, market);
		if (price == 0)
			continue;
		g_autofree char *usd =
			price != RG_MONEY_UNKNOWN ? rg_money_exact(price) : g_strdup("");
		g_string_append_printf(text, "%s,%s,%s,%s,%s,2026\n", regions[region], types[type],
			markets[market], usd, *usd ? "list" : "unknown");
	}
	return g_string_free(text, FALSE);
}

static const char *text_of(void *data, const char *name, size_t *len)
{
	const char *text =
		g_str_equal(name, "instance_types.csv")
			? "instance_type,family,arch,vcpus,memory_gib,gpu_model,gpus,gpu_fraction,"
			  "gpu_memory_gib,offers_known\na.one,a,x86_64,4,16,T4,1,1,16,yes\n"
			  "a.two,a,x86_64,8,32,T4,2,1,16,yes\nb.one,b,x86_64,4,16,,0,,,yes\n"
		: g_str_equal(name, "prices.csv") ? (const char *)data
		: g_str_equal(name, "regions.csv")
			? "region,offers_known\nus-east,yes\nus-west,yes\neu-west,yes\n"
			: NULL;
	*len = text ? strlen(text) : 0;
	return text;
}

/* A line for each member of the list, so that a price shows its row. */
static RgSource source_of(const void *data, const char *pointer)
{
	(void)data;
	const char *index = strrchr(pointer, '/') + 1;
	return (RgSource){"raygpu.yaml", (unsigned)g_ascii_strtoull(index, NULL, 10) + 1, 1, 0};
}

static RgCatalog *open_with(
	const char *prices, const json_t *rows, const char *region, RgDiags *diags)
{
	RgOwnRows own = {rows, source_of, NULL};
	RgCatalogSource source = {.provider = "aws",
		.region = region,
		.text = text_of,
		.data = (void *)(uintptr_t)prices,
		.own = &own};
	return rg_catalog_open_from(&source, diags);
}

/* ---- random lists */

static const char *pick(const char *const *words, size_t n)
{
	return words[g_test_rand_int_range(0, (gint32)n)];
}

static json_t *random_row(void)
{
	json_t *row = json_object();
	if (g_test_rand_bit())
		json_object_set_new(row, "market", json_string(pick(markets, 2)));
	if (g_test_rand_bit()) {
		json_object_set_new(row, "instance_type", json_string(pick(types, 3)));
		json_object_set_new(row, "region", json_string(pick(regions, 3)));
		json_object_set_new(
			row, "hourly_usd", json_real(g_test_rand_int_range(1, 1000000) / 10000.0));
		return row;
	}
	if (g_test_rand_bit())
		json_object_set_new(row, "instance_type", json_string(pick(type_patterns, 4)));
	if (g_test_rand_bit())
		json_object_set_new(row, "region", json_string(pick(region_patterns, 4)));
	json_object_set_new(
		row, "discount_percent", json_real(g_test_rand_int_range(1, 990) / 10.0));
	return row;
}

static bool is_of(const json_t *row, const char *type, const char *region, const char *market)
{
	return g_pattern_match_simple(rg_json_str(row, "instance_type", "*"), type) &&
	       g_pattern_match_simple(rg_json_str(row, "region", "*"), region) &&
	       g_str_equal(rg_json_str(row, "market", "on_demand"), market);
}

static bool is_price(const json_t *row)
{
	return json_object_get(row, "hourly_usd") != NULL;
}

/* No price of the same type, region and market twice. */
static json_t *random_list(void)
{
	json_t *list = json_array();
	for (gint32 n = g_test_rand_int_range(0, 9); n > 0; n--) {
		json_auto_t *row = random_row();
		bool twice = false;
		for (size_t i = 0; is_price(row) && i < json_array_size(list); i++) {
			const json_t *other = json_array_get(list, i);
			twice |= is_price(other) &&
				 is_of(other, rg_json_str(row, "instance_type", ""),
					 rg_json_str(row, "region", ""),
					 rg_json_str(row, "market", "on_demand"));
		}
		if (!twice)
			json_array_append(list, row);
	}
	return list;
}

/* ---- by brute force */

typedef struct {
	int64_t amount; /* 0: no row */
	unsigned line;	/* of the user's own row; 0: built in */
} Expected;

static Expected expect(const json_t *list, size_t type, size_t region, size_t market)
{
	Expected expected = {built_in(type, region, market), 0};
	bool priced = expected.amount > 0;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *row = json_array_get(list, i);
		if (!is_of(row, types[type], regions[region], markets[market]))
			continue;
		if (is_price(row))
			return (Expected){
				llround(json_number_value(json_object_get(row, "hourly_usd")) *
					1e6),
				(unsigned)i + 1};
	}
	for (size_t i = 0; priced && i < json_array_size(list); i++) {
		const json_t *row = json_array_get(list, i);
		double off = json_number_value(json_object_get(row, "discount_percent"));
		if (is_of(row, types[type], regions[region], markets[market]))
			expected = (Expected){
				llround((double)built_in(type, region, market) * (100 - off) / 100),
				(unsigned)i + 1};
	}
	return expected;
}

static void compare(const RgCatalog *catalog, const json_t *list, size_t region)
{
	for (size_t type = 0; type < G_N_ELEMENTS(types); type++) {
		for (size_t market = 0; market < G_N_ELEMENTS(markets); market++) {
			Expected expected = expect(list, type, region, market);
			const RgPrice *price =
				rg_catalog_find_price_of(rg_catalog_find_type(catalog, types[type]),
					regions[region], (RgPriceKind)market);
			g_assert_true((price != NULL) == (expected.amount != 0));
			if (!price)
				continue;
			g_assert_cmpint(price->microusd_hour, ==, expected.amount);
			g_assert_true((price->own != NULL) == (expected.line > 0));
			if (!price->own)
				continue;
			g_autofree char *place = g_strdup_printf("raygpu.yaml:%u", expected.line);
			g_assert_cmpstr(price->own, ==, place);
			g_assert_cmpstr(price->quality, ==, "negotiated");
		}
	}
}

static void test_prices_against_brute_force(void)
{
	g_autofree char *prices = price_table();
	for (unsigned round = 0; round < ROUNDS; round++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		json_auto_t *list = random_list();
		json_auto_t *rows = json_pack("{s:{s:O}}", "prices", "aws", list);
		g_autofree char *text = json_dumps(list, 0);
		g_test_message("%s", text);
		g_autoptr(RgCatalog) whole = open_with(prices, rows, NULL, diags);
		g_assert_cmpuint(rg_diags_count(diags), ==, 0);
		for (size_t region = 0; region < G_N_ELEMENTS(regions); region++) {
			g_autoptr(RgCatalog) part = open_with(prices, rows, regions[region], diags);
			compare(whole, list, region);
			compare(part, list, region);
		}
	}
}

/* A new type is offered where it has prices; without any, the cloud must be asked. */
static void test_where_a_new_type_is_offered(void)
{
	g_autofree char *prices = price_table();
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *rows = json_pack("{s:{s:{s:{s:i, s:s, s:s}, s:{s:i, s:s}}}, "
				      "s:{s:[{s:s, s:s, s:f}]}}",
		"instance_types", "aws", "n.priced", "vcpus", 4, "memory", "1.5TiB", "accelerators",
		"T4:4", "n.unpriced", "vcpus", 4, "memory", "16 GiB", "prices", "aws",
		"instance_type", "n.priced", "region", "us-west", "hourly_usd", 2.5);
	g_autoptr(RgCatalog) catalog = open_with(prices, rows, "us-east", diags);
	const RgInstanceType *priced = rg_catalog_find_type(catalog, "n.priced");
	const RgInstanceType *unpriced = rg_catalog_find_type(catalog, "n.unpriced");
	g_assert_cmpfloat(priced->memory_gib, ==, 1536);
	g_assert_cmpstr(priced->gpu->name, ==, "T4");
	g_assert_cmpuint(priced->gpus, ==, 4);
	g_assert_null(unpriced->gpu);
	g_assert_cmpint(rg_catalog_offer_state(catalog, priced, "us-east"), ==, RG_OFFER_NONE);
	g_assert_cmpint(rg_catalog_offer_state(catalog, unpriced, "us-east"), ==, RG_OFFER_UNSEEN);
	g_autoptr(RgCatalog) west = open_with(prices, rows, "us-west", diags);
	priced = rg_catalog_find_type(west, "n.priced");
	g_assert_cmpint(rg_catalog_offer_state(west, priced, "us-west"), ==, RG_OFFER_PRICED);
	g_assert_true(rg_catalog_offer(west, "us-west", "T4", 4, (RgSource){0}, diags) == priced);
	g_assert_cmpuint(rg_diags_count(diags), ==, 0);
}

/* ---- types that are not listed */

static const char *derived_text(void *data, const char *name, size_t *len)
{
	(void)data;
	const char *text =
		g_str_equal(name, "instance_types.csv")
			? "instance_type,family,arch,vcpus,memory_gib,gpu_model,gpus,gpu_fraction,"
			  "offers_known\nh.small,h,x86_64,2,8,,0,,yes\nh.mid,h,x86_64,4,16,,0,,"
			  "yes\n"
			  "h.big,h,x86_64,8,32,,0,,yes\nh.mid+acc:1,h,x86_64,4,16,T4,1,1,yes\n"
			  "h.big+acc:1,h,x86_64,8,32,T4,1,1,yes\n"
		: g_str_equal(name, "prices.csv")
			? "region,instance_type,kind,usd_per_hour,quality,date\n"
			  "r,h.small,on_demand,0.1,list,2026\nr,h.mid,on_demand,0.2,list,2026\n"
			  "r,h.big,on_demand,0.4,list,2026\nr,h.mid+acc:1,on_demand,0.55,list,"
			  "2026\n"
			  "r,h.big+acc:1,on_demand,0.75,list,2026\n"
		: g_str_equal(name, "regions.csv") ? "region,offers_known\nr,yes\n"
		: g_str_equal(name, "custom_types.csv")
			? "instance_type,family,arch,vcpus,least_gib_per_vcpu,most_gib_per_vcpu,"
			  "most_gib,step_mib,same_as\nh-VCPUS-MIB,h,x86_64,2-8/2,1,8,,256,\n"
			  "old-h-VCPUS-MIB,h,x86_64,2-8/2,1,8,,256,h-VCPUS-MIB\n"
		: g_str_equal(name, "attached_gpus.csv")
			? "accelerator,gpu_model,families,gpus,most_vcpus,most_gib\n"
			  "acc,T4,h,1,8,64\n"
			: NULL;
	*len = text ? strlen(text) : 0;
	return text;
}

/* `prices`: a list in JSON. */
static RgCatalog *open_derived(const char *prices, RgDiags *diags)
{
	json_auto_t *list = json_loads(prices, 0, NULL);
	json_auto_t *rows = json_pack("{s:{s:O}}", "prices", "cloud", list);
	RgOwnRows own = {rows, source_of, NULL};
	RgCatalogSource source = {
		.provider = "cloud", .region = "r", .text = derived_text, .own = &own};
	return rg_catalog_open_from(&source, diags);
}

#define OWN(type, usd)                                                                             \
	"{\"instance_type\": \"" type "\", \"region\": \"r\", \"hourly_usd\": " usd "}"
#define LESS(type, percent) "{\"instance_type\": \"" type "\", \"discount_percent\": " percent "}"

/* Built in: h.small 0.1, and 0.35 for acc:1. */
static void test_prices_of_types_that_are_not_listed(void)
{
	static const struct {
		const char *prices, *type;
		int64_t microusd;
		const char *own;
	} cases[] = {
		{"[]", "h.small+acc:1", 450000, NULL},
		/* the price of a host says nothing about that of the GPU */
		{"[" OWN("h.big", "0.01") "]", "h.small+acc:1", 450000, NULL},
		{"[" OWN("h.big+acc:1", "9") "]", "h.small+acc:1", 450000, NULL},
		{"[" LESS("h.big", "90") "]", "h.small+acc:1", 450000, NULL},
		/* in whichever order */
		{"[" OWN("h.small", "0.05") "]", "h.small+acc:1", 400000, "raygpu.yaml:1"},
		{"[" OWN("h.small+acc:1", "3") "," OWN("h.small", "0.05") "]", "h.small+acc:1",
			3000000, "raygpu.yaml:1"},
		{"[" OWN("h-2-4096+acc:1", "3") "," OWN("h-2-4096", "0.05") "]", "h-2-4096+acc:1",
			3000000, "raygpu.yaml:1"},
		{"[{\"instance_type\": \"h-2-4096+acc:1\", \"region\": \"r\", \"market\": "
		 "\"spot\", "
		 "\"hourly_usd\": 1}," OWN("h-2-4096", "0.05") "]",
			"h-2-4096+acc:1", 400000, "raygpu.yaml:2"},
		/* discounts match the type's own name, as for those that are listed */
		{"[" LESS("h.small+acc:1", "50") "]", "h.small+acc:1", 225000, "raygpu.yaml:1"},
		{"[" LESS("*", "50") "]", "h.small+acc:1", 225000, "raygpu.yaml:1"},
		{"[" LESS("h.small", "50") "]", "h.small+acc:1", 450000, NULL},
		{"[" LESS("*", "10") "," LESS("*+acc:1", "20") "]", "h.small+acc:1", 360000,
			"raygpu.yaml:2"},
		/* both names of a type are one */
		{"[" OWN("old-h-2-4096", "0.5") "]", "h-2-4096", 500000, "raygpu.yaml:1"},
		{"[" OWN("h-2-4096", "0.5") "]", "old-h-2-4096", 500000, "raygpu.yaml:1"},
		{"[" OWN("old-h-2-4096", "0.5") "]", "old-h-2-4096+acc:1", 850000, "raygpu.yaml:1"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_autoptr(RgCatalog) catalog = open_derived(cases[i].prices, diags);
		g_test_message("%s", cases[i].prices);
		g_assert_nonnull(catalog);
		const RgInstanceType *type = rg_catalog_find_type(catalog, cases[i].type);
		g_assert_nonnull(type);
		const RgPrice *price = rg_catalog_find_price(type, "r");
		g_assert_nonnull(price);
		g_assert_cmpint(price->microusd_hour, ==, cases[i].microusd);
		g_assert_cmpstr(price->own, ==, cases[i].own);
	}
}

static void test_both_names_of_a_type_are_one(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCatalog) catalog =
		open_derived("[" LESS("old-h-2-4096+acc:1", "50") "]", diags);
	const RgInstanceType *type = rg_catalog_find_type(catalog, "old-h-2-4096");
	g_assert_cmpstr(type->name, ==, "h-2-4096");
	g_assert_true(type == rg_catalog_find_type(catalog, "h-2-4096"));
	type = rg_catalog_find_type(catalog, "old-h-2-4096+acc:1");
	g_assert_cmpstr(type->name, ==, "h-2-4096+acc:1");
	g_assert_true(type == rg_catalog_find_type(catalog, "h-2-4096+acc:1"));
	g_assert_null(rg_catalog_find_type(catalog, "old-h-3-4096"));
	g_assert_null(
		open_derived("[" OWN("h-2-4096", "1") "," OWN("old-h-2-4096", "2") "]", diags));
	g_assert_nonnull(strstr(rg_diags_get(diags, 0)->summary, "given twice"));
	g_assert_null(open_derived("[" LESS("h.small+acc:2", "9") "]", diags));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/catalog-own/prices-against-brute-force", test_prices_against_brute_force);
	g_test_add_func(
		"/catalog-own/where-a-new-type-is-offered", test_where_a_new_type_is_offered);
	g_test_add_func("/catalog-own/prices-of-types-that-are-not-listed",
		test_prices_of_types_that_are_not_listed);
	g_test_add_func(
		"/catalog-own/both-names-of-a-type-are-one", test_both_names_of_a_type_are_one);
	return g_test_run();
}
