/* The catalogs of the three clouds as shipped. */
#include <string.h>
#include "catalog_folder.h"

static RgCatalog *open_cloud(const char *provider, const char *region)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autofree char *folder = g_build_filename(PROVIDERS_DIR, provider, NULL);
	RgCatalog *catalog = catalog_folder_open(folder, provider, region, diags);
	for (size_t i = 0; i < rg_diags_count(diags); i++)
		g_test_message("%s", rg_diags_get(diags, i)->summary);
	g_assert_nonnull(catalog);
	g_assert_cmpuint(rg_diags_count(diags), ==, 0);
	return catalog;
}

/* Copied from contracts/gpu/instance_types.csv and prices.csv. Those with a + are sums, computed
 * manually, of the host's price and of one GPU's in the region:
 * 0.379998 + 0.35 = 0.729998; 0.13402 + 0.175 = 0.30902; 0.759996 + 2 x 2.48 = 5.719996 ... */
static const struct {
	const char *provider, *region, *type, *gpu;
	unsigned gpus, vcpus;
	double memory;
	unsigned gpu_memory; /* MiB, as the GPU reports them */
	double network;
	int64_t on_demand, spot; /* micro-USD; spot 0: none is known */
	unsigned rdma;
} figures[] = {
	{"aws", "us-east-1", "p4d.24xlarge", "A100-40GB", 8, 96, 1152, 40960, 400, 21957642,
		2465500, 4},
	{"aws", "us-east-1", "p5.48xlarge", "H100-80GB", 8, 192, 2048, 81559, 3200, 55040000,
		17628900, 32},
	{"aws", "us-east-1", "p3dn.24xlarge", "V100-32GB", 8, 96, 768, 32768, 100, 31212000, 0, 1},
	{"aws", "us-east-1", "g4dn.xlarge", "T4", 1, 4, 16, 15360, 5, 526000, 200000, 0},
	{"gcp", "us-central1", "a2-highgpu-1g", "A100-40GB", 1, 12, 85, 40960, 24, 3673385, 1928020,
		0},
	{"gcp", "us-central1", "a2-highgpu-8g", "A100-40GB", 8, 96, 680, 40960, 100, 29387080,
		15424160, 0},
	{"gcp", "us-central1", "a2-ultragpu-4g", "A100-80GB", 4, 48, 680, 81920, 50, 20275192,
		11038185, 0},
	{"gcp", "us-central1", "a3-highgpu-8g", "H100-80GB", 8, 208, 1872, 81559, 1000, 88490000,
		50609541, 4},
	{"gcp", "us-central1", "g2-standard-12", "L4", 1, 12, 48, 23034, 16, 1000416, 562408, 0},
	{"gcp", "us-central1", "g4-standard-48", "RTX-PRO-6000-BSE", 1, 48, 180, 97887, 50, 4499930,
		1799820, 0},
	{"gcp", "us-central1", "n1-standard-8", NULL, 0, 8, 30, 0, 0, 379998, 134020, 0},
	{"gcp", "us-central1", "n2-standard-16", NULL, 0, 16, 64, 0, 0, 776944, 368480, 0},
	{"gcp", "us-central1", "n1-standard-8+nvidia-tesla-t4:1", "T4", 1, 8, 30, 15360, 0, 729998,
		309020, 0},
	{"gcp", "us-central1", "n1-standard-8+nvidia-tesla-v100:1", "V100-16GB", 1, 8, 30, 16384, 0,
		2859998, 1279820, 0},
	{"gcp", "europe-west4", "n1-standard-8+nvidia-tesla-v100:1", "V100-16GB", 1, 8, 30, 16384,
		0, 3022336, 1192460, 0},
	{"gcp", "us-central1", "n1-standard-16+nvidia-tesla-v100:2", "V100-16GB", 2, 16, 60, 16384,
		0, 5719996, 2559640, 0},
	{"azure", "eastus", "Standard_NC4as_T4_v3", "T4", 1, 4, 28, 15360, 8, 526000, 62699, 0},
	{"azure", "eastus", "Standard_NC64as_T4_v3", "T4", 4, 64, 440, 15360, 32, 4352000, 518758,
		0},
	{"azure", "eastus", "Standard_ND40rs_v2", "V100-32GB", 8, 40, 672, 32768, 24, 22032000,
		2423520, 1},
	{"azure", "eastus", "Standard_NC24ads_A100_v4", "A100-80GB-PCIe", 1, 24, 220, 81920, 20,
		3673000, 444433, 0},
	{"azure", "eastus", "Standard_ND96asr_v4", "A100-40GB", 8, 96, 900, 40960, 40, 27197000,
		2991670, 8},
	{"azure", "eastus", "Standard_ND96amsr_A100_v4", "A100-80GB", 8, 96, 1800, 81920, 80,
		32770000, 3604700, 8},
	{"azure", "eastus", "Standard_NC40ads_H100_v5", "H100-NVL-94GB", 1, 40, 320, 95830, 40,
		6980000, 0, 0},
	{"azure", "eastus", "Standard_NV12ads_A10_v5", "A10", 1, 12, 110, 7675, 0, 908000, 0, 0},
	{"azure", "eastus", "Standard_D8s_v5", NULL, 0, 8, 32, 0, 0, 384000, 0, 0},
};

static void compare(const RgCatalog *catalog, size_t i)
{
	const RgInstanceType *type = rg_catalog_find_type(catalog, figures[i].type);
	g_test_message("%s", figures[i].type);
	g_assert_nonnull(type);
	g_assert_cmpstr(type->gpu ? type->gpu->name : NULL, ==, figures[i].gpu);
	g_assert_cmpuint(type->gpus, ==, figures[i].gpus);
	g_assert_cmpuint(type->vcpus, ==, figures[i].vcpus);
	g_assert_cmpfloat(type->memory_gib, ==, figures[i].memory);
	g_assert_cmpuint(type->gpu_memory_mib, ==, figures[i].gpu_memory);
	g_assert_cmpfloat(type->network_gbps, ==, figures[i].network);
	g_assert_cmpuint(type->rdma_adapters, ==, figures[i].rdma);
	const RgPrice *price = rg_catalog_find_price(type, figures[i].region);
	g_assert_nonnull(price);
	g_assert_cmpint(price->microusd_hour, ==, figures[i].on_demand);
	price = rg_catalog_find_price_of(type, figures[i].region, RG_PRICE_SPOT);
	g_assert_cmpint(price ? price->microusd_hour : 0, ==, figures[i].spot);
}

/* Each market that a type is sold on, and none that it is not. */
static void test_markets(void)
{
	static const char *const rows[][3] = {
		{"aws", "p4d.24xlarge", "on_demand, spot, reserved"},
		{"aws", "m5.large", "on_demand, spot"},
		{"azure", "Standard_NC4as_T4_v3", "on_demand, spot"},
		{"gcp", "a3-highgpu-1g", "spot"},
		{"gcp", "a4-highgpu-8g", "spot, reserved"},
		{"gcp", "a4x-highgpu-4g", "reserved"},
		{"template", "gpu.small", "on_demand, spot"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(RgCatalog) catalog = open_cloud(rows[i][0], NULL);
		const RgInstanceType *type = rg_catalog_find_type(catalog, rows[i][1]);
		g_test_message("%s", rows[i][1]);
		g_assert_nonnull(type);
		g_autofree char *markets = rg_catalog_list_markets(type);
		g_assert_cmpstr(markets, ==, rows[i][2]);
	}
}

static void test_figures(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(figures); i++) {
		g_autoptr(RgCatalog) whole = open_cloud(figures[i].provider, NULL);
		g_autoptr(RgCatalog) part = open_cloud(figures[i].provider, figures[i].region);
		compare(whole, i);
		compare(part, i);
	}
}

/* Both ways of opening give the same result for the region. */
static void test_one_region_is_as_in_all(void)
{
	static const char *const places[][2] = {{"aws", "us-east-1"}, {"aws", "eu-west-1"},
		{"gcp", "us-central1"}, {"gcp", "europe-west4"}, {"azure", "eastus"},
		{"azure", "westeurope"}};
	for (size_t p = 0; p < G_N_ELEMENTS(places); p++) {
		g_autoptr(RgCatalog) whole = open_cloud(places[p][0], NULL);
		g_autoptr(RgCatalog) part = open_cloud(places[p][0], places[p][1]);
		const GPtrArray *types = rg_catalog_get_types(whole);
		unsigned priced = 0;
		for (guint i = 0; i < types->len; i++) {
			const RgInstanceType *a = types->pdata[i];
			const RgInstanceType *b = rg_catalog_find_type(part, a->name);
			g_assert_cmpint(a->lowest_microusd_hour, ==, b->lowest_microusd_hour);
			g_assert_cmpint(rg_catalog_offer_state(whole, a, places[p][1]), ==,
				rg_catalog_offer_state(part, b, places[p][1]));
			const RgPrice *x = rg_catalog_find_price(a, places[p][1]);
			const RgPrice *y = rg_catalog_find_price(b, places[p][1]);
			g_assert_true((!x) == (!y));
			priced += x != NULL;
			if (x)
				g_assert_cmpint(x->microusd_hour, ==, y->microusd_hour);
		}
		g_assert_cmpuint(priced, >, 20);
		g_assert_true(rg_catalog_has_region(part, places[p][1]));
	}
}

/* A100, V100 and T4 on each cloud, with the names of Ray and SkyPilot. */
static void test_the_three_accelerators(void)
{
	static const struct {
		const char *provider, *region, *word;
		unsigned count;
		const char *type;
	} rows[] = {
		{"aws", "us-east-1", "A100", 8, "p4d.24xlarge"},
		{"aws", "us-east-1", "V100-32GB", 8, "p3dn.24xlarge"},
		{"aws", "us-east-1", "T4", 1, "g4dn.xlarge"},
		{"gcp", "us-central1", "A100", 8, "a2-highgpu-8g"},
		{"gcp", "us-central1", "V100", 1, "n1-standard-4+nvidia-tesla-v100:1"},
		{"gcp", "us-central1", "T4", 1, "n1-standard-4+nvidia-tesla-t4:1"},
		{"azure", "eastus", "A100", 8, "Standard_ND96asr_v4"},
		{"azure", "eastus", "V100-32GB", 8, "Standard_ND40rs_v2"},
		{"azure", "eastus", "T4", 1, "Standard_NC4as_T4_v3"},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_autoptr(RgCatalog) catalog = open_cloud(rows[i].provider, rows[i].region);
		const RgInstanceType *type = rg_catalog_offer(
			catalog, rows[i].region, rows[i].word, rows[i].count, (RgSource){0}, diags);
		g_assert_nonnull(type);
		g_assert_cmpstr(type->name, ==, rows[i].type);
		g_assert_cmpint(
			rg_catalog_offer_state(catalog, type, rows[i].region), ==, RG_OFFER_PRICED);
	}
}

/* What the importer must have cleaned: no spot price at or above the on-demand price, nothing
 * without a GPU priced like one, no H100 machine with twelve of them. */
static void test_nothing_absurd(void)
{
	static const char *const providers[] = {"aws", "azure", "gcp"};
	for (size_t p = 0; p < G_N_ELEMENTS(providers); p++) {
		g_autoptr(RgCatalog) catalog = open_cloud(providers[p], NULL);
		const GPtrArray *types = rg_catalog_get_types(catalog);
		for (guint i = 0; i < types->len; i++) {
			const RgInstanceType *type = types->pdata[i];
			g_assert_cmpuint(type->gpus, <=, 16);
			for (guint k = 0; k < type->prices->len; k++) {
				const RgPrice *price = type->prices->pdata[k];
				const RgPrice *whole = rg_catalog_find_price(type, price->region);
				g_assert_cmpint(price->microusd_hour, <, 250 * INT64_C(1000000));
				if (price->kind == RG_PRICE_SPOT && whole &&
					whole->microusd_hour != RG_MONEY_UNKNOWN)
					g_assert_cmpint(
						price->microusd_hour, <, whole->microusd_hour);
			}
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/clouds/figures", test_figures);
	g_test_add_func("/clouds/markets", test_markets);
	g_test_add_func("/clouds/one-region-is-as-in-all", test_one_region_is_as_in_all);
	g_test_add_func("/clouds/the-three-accelerators", test_the_three_accelerators);
	g_test_add_func("/clouds/nothing-absurd", test_nothing_absurd);
	return g_test_run();
}
