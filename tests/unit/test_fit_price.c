/* The price of a node: on its market, in its region, pinned or of today. */
#include <string.h>
#include "fit_run.h"

static void test_unknown_prices_are_null_and_warned_of(void)
{
	g_auto(FitRun) o = fit_run("cluster: c1\nprovider: {name: aws, region: ap-northeast-3}\n"
				   "ray: {version: 2.52.0, python: \"3.11\"}\n"
				   "head: {accelerators: T4}\n",
		FACTS, NULL);
	const json_t *offer = offer_at(&o, 0);
	g_assert_cmpstr(rg_json_str(offer, "instance_type", ""), ==, "g4dn.xlarge");
	g_assert_true(json_is_null(json_object_get(offer, "price_microusd_hour")));
	g_assert_cmpstr(rg_json_str(offer, "reason", ""), ==,
		"cheapest elsewhere of 5 offers of T4 in ap-northeast-3; no price is known "
		"there");
	g_assert_cmpuint(rg_diags_count(o.diags), ==, 1);
	g_assert_cmpstr(rg_diags_get(o.diags, 0)->code, ==, "catalog.no-price");
	g_assert_cmpint(rg_diags_get(o.diags, 0)->severity, ==, RG_SEVERITY_WARNING);
}

/* The plan of pool t on spot. */
static FitRun run_spot(const char *market, const char *pins)
{
	g_autofree char *spec = g_strdup_printf(CPU_HEAD
		"pools:\n  t: {accelerators: \"A100-40GB:8\", nodes: 1, market: %s}\n",
		market);
	return fit_run(spec, FACTS, pins);
}

static void assert_offer(const FitRun *o, const char *market, int64_t price, const char *quality)
{
	const json_t *offer = offer_at(o, 1);
	g_assert_cmpstr(rg_json_str(offer, "instance_type", ""), ==, "p4d.24xlarge");
	g_assert_cmpstr(rg_json_str(offer, "market", ""), ==, market);
	g_assert_cmpint(rg_json_int(offer, "price_microusd_hour", 0), ==, price);
	g_assert_cmpstr(rg_json_str(offer, "price_quality", ""), ==, quality);
	g_assert_cmpstr(
		rg_json_str(json_object_get(node_at(o, 1), "labels"), "ray.io/market-type", ""), ==,
		market);
}

/* 8.1915: the most expensive zone of us-east-1 in prices.csv. */
static void test_spot_is_counted_at_the_dearest_zone(void)
{
	g_auto(FitRun) o = run_spot("spot", NULL);
	assert_offer(&o, "spot", 8191500, "observed");
	g_assert_cmpuint(rg_diags_count(o.diags), ==, 0);
	g_assert_null(json_object_get(offer_at(&o, 1), "max_price_microusd_hour"));
	g_auto(FitRun) capped = run_spot("{spot: {max_price: 2.5}}", NULL);
	assert_offer(&capped, "spot", 8191500, "observed");
	g_assert_cmpint(
		rg_json_int(offer_at(&capped, 1), "max_price_microusd_hour", 0), ==, 2500000);
	g_assert_cmpuint(rg_diags_count(capped.diags), ==, 1);
	g_assert_cmpstr(rg_diags_get(capped.diags, 0)->code, ==, "fit.above-max-price");
	g_assert_cmpint(rg_diags_get(capped.diags, 0)->severity, ==, RG_SEVERITY_WARNING);
}

/* Its own, where the facts say what the table calls the zone. */
static void test_spot_is_counted_at_the_nodes_zone(void)
{
	static const char spec[] =
		CPU_HEAD "pools:\n  t: {accelerators: \"A100-40GB:8\", nodes: 1, market: spot}\n";
	static const struct {
		const char *ids;
		int64_t price;
	} rows[] = {{"'us-east-1b': 'use1-az1'", 2465500}, {"'us-east-1b': 'use1-az6'", 7879900},
		{"'us-east-1b': 'use1-az3'", 8191500}, {"'us-east-1c': 'use1-az1'", 8191500}};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		json_auto_t *facts = json_of(FACTS), *ids = NULL;
		g_autofree char *text = g_strdup_printf("{%s}", rows[i].ids);
		json_object_set_new(facts, "zone_ids", ids = json_of(text));
		json_incref(ids);
		g_autofree char *all = json_dumps(facts, 0);
		g_auto(FitRun) o = fit_run(spec, all, NULL);
		assert_offer(&o, "spot", rows[i].price, "observed");
		g_assert_true(json_equal(
			json_object_get(json_object_get(o.fitted, "facts"), "zone_ids"), ids));
	}
}

#define PIN_OF(market)                                                                             \
	"{'nodes': {'t/0': {'instance_type': 'p4d.24xlarge', 'zone': 'us-east-1b', " market        \
	" 'image_key': 'default/x86_64', 'image_id': 'ami-1', 'price_microusd_hour': 5,"           \
	" 'price_date': '2025', 'price_quality': 'pinned'}}}"

static void test_a_pinned_price_holds_on_its_market_only(void)
{
	g_auto(FitRun) same = run_spot("spot", PIN_OF("'market': 'spot',"));
	assert_offer(&same, "spot", 5, "pinned");
	g_auto(FitRun) moved = run_spot("spot", PIN_OF(""));
	assert_offer(&moved, "spot", 8191500, "observed");
	g_auto(FitRun) stays = run_spot("on_demand", PIN_OF(""));
	assert_offer(&stays, "on-demand", 5, "pinned");
	g_auto(FitRun) back = run_spot("on_demand", PIN_OF("'market': 'spot',"));
	const RgInstanceType *type = rg_catalog_find_type(fit_run_catalog(), "p4d.24xlarge");
	const RgPrice *price = rg_catalog_find_price(type, "us-east-1");
	assert_offer(&back, "on-demand", price->microusd_hour, price->quality);
}

#define ADD(fn) g_test_add_func("/fit/price/" #fn, fn)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD(test_unknown_prices_are_null_and_warned_of);
	ADD(test_spot_is_counted_at_the_dearest_zone);
	ADD(test_spot_is_counted_at_the_nodes_zone);
	ADD(test_a_pinned_price_holds_on_its_market_only);
	return fit_run_tests();
}
