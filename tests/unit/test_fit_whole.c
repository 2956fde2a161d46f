/* The place of a whole cluster compared with brute force, over random catalogs and specs (the seed
 * is GLib's, --seed): no other place and no other choice of types there is better. */
#include <string.h>
#include "fit/offers.h"
#include "fit/whole.h"
#include "spec/spec.h"
#include "catalog_text.h"

static const char *const regions[] = {"east", "north", "south", "west"};
#define TYPES_HEAD                                                                                 \
	"instance_type,family,arch,vcpus,memory_gib,gpu_model,gpus,gpu_fraction,"                  \
	"gpu_memory_gib,offers_known,network_gbps,rdma_adapters\n"
#define PRICES_HEAD "region,instance_type,kind,usd_per_hour,quality,date\n"

static RgCatalog *open_catalog(const char *types, const char *prices)
{
	return catalog_text_open(
		types, prices, "region,offers_known\neast,yes\nnorth,yes\nsouth,yes\nwest,yes\n");
}

static RgCatalog *random_catalog(void)
{
	g_autoptr(GString) types = g_string_new(TYPES_HEAD);
	g_autoptr(GString) prices = g_string_new(PRICES_HEAD);
	for (unsigned i = 0; i < 12; i++) {
		static const char *const gpus[] = {"T4", "V100-16GB", "A100-40GB"};
		g_string_append_printf(types, "t%u,f,x86_64,8,32,%s,%d,1,%d,yes,10,0\n", i,
			gpus[i % 3], i < 6 ? 1 : 2, i % 3 == 2 ? 40 : 16);
		for (size_t r = 0; r < G_N_ELEMENTS(regions); r++) {
			int kind = g_test_rand_int_range(0, 9);
			if (kind == 0 || kind > 4) /* not offered there */
				continue;
			g_string_append_printf(prices, "%s,t%u,on_demand,%s,2026\n", regions[r], i,
				(const char *const[]){
					",unknown", "2,list", "3,list", "5,list"}[kind - 1]);
			if (kind > 2)
				g_string_append_printf(prices, "%s,t%u,spot,%d.25,observed,2026\n",
					regions[r], i, g_test_rand_int_range(1, 4));
		}
	}
	return open_catalog(types->str, prices->str);
}

static RgCluster *load(const char *head, const char *pools)
{
	g_autofree char *text = g_strdup_printf(
		"cluster: c\nprovider: {any_of: [{name: cloud, region: east}, {name: cloud, "
		"region: "
		"north}, {name: cloud, region: south}, {name: cloud, region: west}]}\n"
		"ray: {version: 2.52.0, python: \"3.11\"}\nhead: %s\npools:\n%s",
		head, pools);
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgCluster *cluster = rg_spec_load("c.yaml", text, strlen(text), diags);
	g_assert_nonnull(cluster);
	return cluster;
}

static RgCluster *random_cluster(void)
{
	static const char *const asked[] = {"T4:1", "V100:1", "A100:1", "T4:2", "V100:2", "A100:2"};
	g_autoptr(GString) pools = g_string_new(NULL);
	unsigned n = (unsigned)g_test_rand_int_range(1, 4);
	for (unsigned i = 0; i < n; i++)
		g_string_append_printf(pools, "  p%u: {accelerators: \"%s\", nodes: %d%s}\n", i,
			asked[g_test_rand_int_range(0, 6)], g_test_rand_int_range(0, 4),
			g_test_rand_bit() ? ", market: spot" : "");
	return load("{accelerators: \"T4:1\"}", pools->str);
}

/* ---- the choice of the code under test */

static guint choose(RgCluster *cluster, const RgCatalog *catalog, RgWhole *wholes)
{
	RgMerit merits[G_N_ELEMENTS(regions)];
	bool admitted[G_N_ELEMENTS(regions)];
	for (guint r = 0; r < G_N_ELEMENTS(regions); r++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		rg_cluster_settle(cluster, r);
		g_autoptr(RgShapes) shapes = rg_fit_shapes(cluster, catalog, NULL, diags);
		admitted[r] = shapes != NULL;
		wholes[r] = (RgWhole){0};
		if (shapes)
			wholes[r] = rg_fit_whole(cluster, shapes, NULL, true);
		merits[r] = wholes[r].merit;
	}
	return rg_fit_best(cluster->optimize, merits, admitted, G_N_ELEMENTS(regions));
}

/* ---- brute force: pools do not affect each other's cost, so the cheapest type of each is tried
 * separately */

#define NO_TYPE INT64_MAX

/* The lowest cost of the pool there; NO_TYPE: no type; *sure: its price is known there. */
static int64_t least_of(
	const RgPool *pool, const RgCatalog *catalog, const char *region, bool *sure)
{
	const RgAccelerator *asked = pool->accelerators->pdata[0];
	const GPtrArray *types = rg_catalog_get_types(catalog);
	int64_t known = NO_TYPE, any = NO_TYPE;
	for (guint i = 0; i < types->len; i++) {
		const RgInstanceType *type = types->pdata[i];
		if (type->gpus != asked->count ||
			!rg_catalog_is_model(catalog, asked->names[0], type->gpu) ||
			!rg_catalog_find_price(type, region))
			continue;
		const RgPrice *price = rg_catalog_find_price_of(
			type, region, pool->market.is_spot ? RG_PRICE_SPOT : RG_PRICE_ON_DEMAND);
		if (price && price->microusd_hour != RG_MONEY_UNKNOWN)
			known = MIN(known, price->microusd_hour * pool->nodes);
		if (type->lowest_microusd_hour != RG_MONEY_UNKNOWN)
			any = MIN(any, type->lowest_microusd_hour * pool->nodes);
		else
			any = MIN(any, NO_TYPE - 1); /* offered there at an unknown price */
	}
	*sure = known != NO_TYPE;
	return *sure ? known : any;
}

/* For the whole cluster at a place; NO_TYPE: a pool has no type there. */
static int64_t least_at(
	const RgCluster *cluster, const RgCatalog *catalog, const char *region, bool *sure)
{
	int64_t sum = least_of(cluster->head, catalog, region, sure);
	if (sum == NO_TYPE - 1)
		sum = 0;
	for (guint i = 0; i < cluster->pools->len && sum != NO_TYPE; i++) {
		const RgPool *pool = cluster->pools->pdata[i];
		bool pool_sure = false;
		int64_t least = least_of(pool, catalog, region, &pool_sure);
		if (least == NO_TYPE)
			return NO_TYPE;
		*sure &= pool_sure || pool->nodes == 0;
		sum += pool->nodes > 0 && least < NO_TYPE - 1 ? least : 0;
	}
	return sum;
}

static void test_cheapest(void)
{
	unsigned chosen = 0, none = 0, unsure = 0;
	for (unsigned round = 0; round < 400; round++) {
		g_autoptr(RgCatalog) catalog = random_catalog();
		g_autoptr(RgCluster) cluster = random_cluster();
		RgWhole wholes[G_N_ELEMENTS(regions)];
		guint best = choose(cluster, catalog, wholes);
		int64_t least = NO_TYPE;
		guint at = G_N_ELEMENTS(regions);
		bool any = false;
		for (guint r = 0; r < G_N_ELEMENTS(regions); r++) {
			bool sure = false;
			int64_t sum = least_at(cluster, catalog, regions[r], &sure);
			any |= sum != NO_TYPE;
			if (sum != NO_TYPE && sure && sum < least) {
				least = sum;
				at = r;
			}
		}
		if (!any) {
			g_assert_cmpuint(best, ==, G_N_ELEMENTS(regions));
			none++;
			continue;
		}
		g_assert_cmpuint(best, <, G_N_ELEMENTS(regions));
		if (at == G_N_ELEMENTS(regions)) { /* nowhere is every price known */
			g_assert_cmpuint(wholes[best].unpriced, >, 0);
			unsure++;
			continue;
		}
		g_assert_cmpuint(best, ==, at); /* the first of equals */
		g_assert_cmpuint(wholes[best].unpriced, ==, 0);
		g_assert_cmpint(wholes[best].microusd_hour, ==, least);
		chosen++;
	}
	g_assert_cmpuint(chosen, >, 20);
	g_assert_cmpuint(none, >, 5);
	g_assert_cmpuint(unsure, >, 5);
}

/* ---- the rules one by one */

static const char gpu_and_host[] =
	TYPES_HEAD "g,f,x86_64,8,32,T4,1,1,16,yes,10,0\nhost,f,x86_64,8,32,,0,,,yes,10,0\n";

/* Only east has the host's price; GPUs decide nevertheless, and between equals east. */
static void test_hosts_are_guessed(void)
{
	g_autoptr(RgCluster) cluster =
		load("{instance_type: host}", "  p: {accelerators: T4, nodes: 2}\n");
	RgWhole wholes[G_N_ELEMENTS(regions)];
	g_autoptr(RgCatalog) cheaper = open_catalog(gpu_and_host,
		PRICES_HEAD "east,host,on_demand,1,list,2026\nwest,host,on_demand,,unknown,2026\n"
			    "east,g,on_demand,5,list,2026\nwest,g,on_demand,4,list,2026-02\n");
	g_assert_cmpstr(regions[choose(cluster, cheaper, wholes)], ==, "west");
	g_assert_cmpint(wholes[3].microusd_hour, ==, 8000000);
	g_assert_cmpint(wholes[3].merit.microusd_hour, ==, 9000000);
	g_assert_cmpuint(wholes[3].unpriced, ==, 1);
	g_assert_cmpuint(wholes[3].merit.guessed, ==, 1);
	g_autoptr(RgCatalog) equal = open_catalog(gpu_and_host,
		PRICES_HEAD "west,host,on_demand,1,list,2026\neast,host,on_demand,,unknown,2026\n"
			    "east,g,on_demand,5,list,2026\nwest,g,on_demand,5,list,2026\n");
	g_assert_cmpstr(regions[choose(cluster, equal, wholes)], ==, "west");
}

/* A request for a better GPU comes before the price, as in a pool. */
static void test_preference_first(void)
{
	g_autoptr(RgCluster) cluster =
		load("{instance_type: host}", "  p: {accelerators: [A100:8, T4:1], nodes: 1}\n");
	RgWhole wholes[G_N_ELEMENTS(regions)];
	g_autofree char *types =
		g_strconcat(gpu_and_host, "a,f,x86_64,8,32,A100-40GB,8,1,40,yes,10,0\n", NULL);
	g_autoptr(RgCatalog) catalog = open_catalog(types,
		PRICES_HEAD "east,host,on_demand,1,list,2026\nwest,host,on_demand,1,list,2026\n"
			    "east,g,on_demand,5,list,2026\nwest,a,on_demand,20,list,2026\n");
	g_assert_cmpstr(regions[choose(cluster, catalog, wholes)], ==, "west");
	g_assert_cmpuint(wholes[0].merit.preference, ==, 1);
}

static void test_ranges_count_with_their_most(void)
{
	g_autoptr(RgCluster) cluster =
		load("{instance_type: host}", "  p: {accelerators: T4, nodes: {min: 1, max: 3}}\n");
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCatalog) catalog = open_catalog(gpu_and_host,
		PRICES_HEAD "east,host,on_demand,1,list,2026\neast,g,on_demand,5,list,2026-03\n");
	g_autoptr(RgShapes) shapes = rg_fit_shapes(cluster, catalog, NULL, diags);
	g_assert_nonnull(shapes);
	RgWhole least = rg_fit_whole(cluster, shapes, NULL, false);
	RgWhole most = rg_fit_whole(cluster, shapes, NULL, true);
	RgWhole pool = rg_fit_whole_of(cluster, shapes, NULL, "p", true);
	g_assert_cmpint(least.microusd_hour, ==, 6000000);
	g_assert_cmpint(most.microusd_hour, ==, 16000000);
	g_assert_cmpint(pool.microusd_hour, ==, 15000000);
	g_assert_cmpuint(pool.nodes, ==, 3);
	g_assert_cmpstr(most.price_date, ==, "2026-03");
	g_assert_cmpstr(most.oldest_date, ==, "2026");
	g_assert_cmpuint(most.derived, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/whole/cheapest", test_cheapest);
	g_test_add_func("/whole/hosts-are-guessed", test_hosts_are_guessed);
	g_test_add_func("/whole/preference-first", test_preference_first);
	g_test_add_func("/whole/ranges-count-with-their-most", test_ranges_count_with_their_most);
	return g_test_run();
}
