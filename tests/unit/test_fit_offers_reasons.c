/* Why a type is not offered: each reason, and markets on which it is not sold. */
#include <string.h>
#include "fit/fit.h"
#include "fit/offers.h"
#include "spec/spec.h"
#include "catalog_text.h"

#define PRICES "region,instance_type,kind,usd_per_hour,quality,date\n"

static void test_reasons(void)
{
	static const struct {
		const char *query, *type;
		double gbps;
		const char *why;
	} rows[] = {
		{"A100:8", "cpu", 0, "no GPU"},
		{"A100:8", "amd", 0, "AMD GPUs, not NVIDIA's"},
		{"T4:1", "slice", 0, "a slice of a GPU, not whole ones"},
		{"T4G:1", "arm", 0, "an arm64 host, not x86_64"},
		{"A100:8", "t4", 0, "T4, not A100"},
		{"A100:8", "a100", 0, "4 GPUs, not 8"},
		{"{gpu_memory: \">=40GB\"}", "t4", 0, "16 GB a GPU, not >=40"},
		{"{gpu_memory: \">40.5GiB\", count: 4}", "a100", 0, "40 GiB a GPU, not >40.5"},
		{"{compute_capability: \">=8.0\"}", "t4", 0, "7.5 compute capability, not >=8"},
		{"A100:4", "a100", 400, "100 Gbps of network, not >=400"},
		{"T4:1", "t4", 10, "network speed unknown, not >=10 Gbps"},
		{"[A100:8, A100:4]", "a100", 100, NULL},
		{"T4:1", "t4", 0, NULL},
	};
	static const char types[] =
		"instance_type,family,arch,vcpus,memory_gib,gpu_model,gpus,gpu_fraction,"
		"gpu_memory_gib,offers_known,network_gbps\n"
		"cpu,f,x86_64,8,32,,0,,,yes,\namd,f,x86_64,8,32,V520,1,1,8,yes,\n"
		"slice,f,x86_64,8,32,T4,1,0.5,16,yes,\narm,f,arm64,8,32,T4G,1,1,16,yes,\n"
		"t4,f,x86_64,8,32,T4,1,1,16,yes,\na100,f,x86_64,8,32,A100-40GB,4,1,40,yes,100\n";
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCatalog) catalog = catalog_text_open(types, PRICES, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(RgCluster) query = rg_spec_load_query(rows[i].query, diags);
		g_assert_nonnull(query);
		RgWish wish = {.accelerators = query->head->accelerators, .min_gbps = rows[i].gbps};
		RgVerdict verdict = rg_offers_judge(&wish, rg_catalog_get_gpus(catalog),
			rg_catalog_find_type(catalog, rows[i].type));
		g_assert_cmpstr(verdict.why, ==, rows[i].why);
		g_free(verdict.why);
	}
}

/* What the user meant comes before what is only similar. */
static void test_nearness(void)
{
	static const char *const order[] = {"cpu", "t4", "arm", "big"};
	static const char types[] = "instance_type,family,arch,vcpus,memory_gib,gpu_model,gpus,"
				    "gpu_fraction,gpu_memory_gib,offers_known\n"
				    "cpu,f,x86_64,8,32,,0,,,yes\nt4,f,x86_64,8,32,T4,1,1,16,yes\n"
				    "arm,f,arm64,8,32,GB200-186GB,4,1,186,yes\n"
				    "big,f,x86_64,8,32,GB200-186GB,8,1,186,yes\n";
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCatalog) catalog = catalog_text_open(types, PRICES, NULL);
	g_autoptr(RgCluster) query = rg_spec_load_query("GB200:4", diags);
	const RgWish wish = {.accelerators = query->head->accelerators};
	unsigned last = 0;
	for (size_t i = 0; i < G_N_ELEMENTS(order); i++) {
		RgVerdict verdict = rg_offers_judge(&wish, rg_catalog_get_gpus(catalog),
			rg_catalog_find_type(catalog, order[i]));
		g_assert_nonnull(verdict.why);
		g_assert_cmpuint(verdict.nearness, >=, last + (i > 0));
		last = verdict.nearness;
		g_free(verdict.why);
	}
}

static RgCatalog *open_markets(void)
{
	static const char types[] =
		"instance_type,family,arch,vcpus,memory_gib,gpu_model,gpus,gpu_fraction,"
		"gpu_memory_gib,offers_known,markets\n"
		"cpu,f,x86_64,8,32,,0,,,yes,\nboth,f,x86_64,8,32,T4,1,1,16,yes,\n"
		"spot,f,x86_64,8,32,L4,1,1,24,yes,spot|reserved\n"
		"booked,f,x86_64,8,32,V100-16GB,1,1,16,yes,reserved\n";
	static const char prices[] =
		PRICES "east,cpu,on_demand,1,list,2026\neast,both,on_demand,3,list,2026\n"
		       "east,both,spot,2,observed,2026\neast,spot,on_demand,3,derived,2026\n"
		       "east,spot,spot,1,observed,2026\neast,booked,on_demand,3,derived,2026\n";
	return catalog_text_open(types, prices, NULL);
}

/* A type is offered only on the markets where it is sold, whatever prices the table has. */
static void test_markets(void)
{
	static const struct {
		const char *query, *type;
		RgPriceKind market;
		const char *rejected;
		bool has_on_demand, has_spot;
	} rows[] = {
		{"T4:1", "both", RG_PRICE_ON_DEMAND, NULL, true, true},
		{"T4:1", "both", RG_PRICE_SPOT, NULL, true, true},
		{"L4:1", "spot", RG_PRICE_SPOT, NULL, false, true},
		{"L4:1", "spot", RG_PRICE_ON_DEMAND, "not sold on demand, only on spot", false,
			true},
		{"V100:1", "booked", RG_PRICE_ON_DEMAND, "not sold on demand, only by reservation",
			false, false},
		{"V100:1", "booked", RG_PRICE_SPOT, "not sold on spot, only by reservation", false,
			false},
	};
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCatalog) catalog = open_markets();
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(RgCluster) query = rg_spec_load_query(rows[i].query, diags);
		RgWish wish = {.accelerators = query->head->accelerators,
			.market = rows[i].market,
			.rejected = true};
		RgPlace place = {"cloud", catalog, "east"};
		g_autoptr(GPtrArray) offers = rg_offers_find(&wish, &place, 1);
		const RgOffer *found = NULL;
		for (guint k = 0; k < offers->len; k++) {
			const RgOffer *offer = offers->pdata[k];
			if (g_str_equal(offer->type->name, rows[i].type))
				found = offer;
		}
		g_assert_nonnull(found);
		g_assert_cmpstr(found->rejected, ==, rows[i].rejected);
		g_assert_cmpint(found->on_demand != NULL, ==, rows[i].has_on_demand);
		g_assert_cmpint(found->spot != NULL, ==, rows[i].has_spot);
	}
}

/* A type that is named, and one that is chosen. */
static void test_market_of_a_pool(void)
{
	static const struct {
		const char *pool, *code, *said;
	} rows[] = {
		{"{instance_type: spot, nodes: 1, market: spot}", NULL, NULL},
		{"{instance_type: spot, nodes: 1}", "fit.no-market",
			"spot is not sold on demand, only on spot"},
		{"{instance_type: booked, nodes: 1, market: spot}", "fit.no-market",
			"booked is not sold on spot, only by reservation"},
		{"{accelerators: \"L4:1\", nodes: 1, market: spot}", NULL, NULL},
		{"{accelerators: \"L4:1\", nodes: 1}", "catalog.no-offer",
			"no cloud instance type in east has L4:1 on demand"},
	};
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCatalog) catalog = open_markets();
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *text = g_strdup_printf(
			"cluster: c\nprovider: {name: cloud, region: east}\nray: {version: 2.52.0, "
			"python: \"3.11\"}\nhead: {instance_type: cpu}\npools:\n  p: %s\n",
			rows[i].pool);
		g_autoptr(RgCluster) cluster = rg_spec_load("c.yaml", text, strlen(text), diags);
		g_assert_nonnull(cluster);
		rg_diags_clear(diags);
		g_autoptr(RgShapes) shapes = rg_fit_shapes(cluster, catalog, NULL, diags);
		g_test_message("%s", rows[i].pool);
		g_assert_cmpint(shapes != NULL, ==, !rows[i].code);
		g_assert_cmpuint(rg_diags_count(diags), ==, rows[i].code ? 1 : 0);
		if (!rows[i].code)
			continue;
		const RgDiag *diag = rg_diags_get(diags, 0);
		g_assert_cmpstr(diag->code, ==, rows[i].code);
		g_assert_cmpstr(diag->summary, ==, rows[i].said);
		g_assert_cmpuint(diag->source.line, ==, 6);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/offers/reasons", test_reasons);
	g_test_add_func("/offers/nearness", test_nearness);
	g_test_add_func("/offers/markets", test_markets);
	g_test_add_func("/offers/market of a pool", test_market_of_a_pool);
	return g_test_run();
}
