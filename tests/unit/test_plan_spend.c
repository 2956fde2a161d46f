/* What nodes cost: sums of lifetimes, computed manually to the micro-USD. */
#include "plan/spend.h"
#include "base/money.h"

#define HOUR INT64_C(3600)

static json_t *lifetimes(const char *text)
{
	json_error_t error;
	json_t *value = json_loads(text, 0, &error);
	if (!value)
		g_error("%s: %s", error.text, text);
	return value;
}

static RgSpend *sum(
	RgSpendBy by, const char *label, int64_t since_s, int64_t now_s, const char *text)
{
	json_auto_t *lives = lifetimes(text);
	RgSpend *spend = rg_spend_new(by, label, since_s, now_s);
	rg_spend_add(spend, lives);
	return spend;
}

static const RgSpendRow *row_at(const RgSpend *spend, guint i)
{
	g_assert_cmpuint(i, <, spend->rows->len);
	return spend->rows->pdata[i];
}

static void words_are_parsed(void)
{
	RgSpendBy by;
	char *label = NULL;
	g_assert_true(rg_spend_by_parse("cluster", &by, &label));
	g_assert_cmpint(by, ==, RG_SPEND_BY_CLUSTER);
	g_assert_true(rg_spend_by_parse("pool", &by, &label));
	g_assert_cmpint(by, ==, RG_SPEND_BY_POOL);
	g_assert_true(rg_spend_by_parse("market", &by, &label));
	g_assert_cmpint(by, ==, RG_SPEND_BY_MARKET);
	g_assert_null(label);
	g_assert_true(rg_spend_by_parse("label:team", &by, &label));
	g_assert_cmpint(by, ==, RG_SPEND_BY_LABEL);
	g_assert_cmpstr(label, ==, "team");
	g_clear_pointer(&label, g_free);
	static const char *const bad[] = {"", "label", "label:", "Pool", "pools", "labels:team"};
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_assert_false(rg_spend_by_parse(bad[i], &by, &label));
		g_assert_null(label);
	}
}

static void hours_times_prices(void)
{
	g_autoptr(RgSpend) spend = sum(RG_SPEND_BY_POOL, NULL, 0, 10 * HOUR,
		"[{\"cluster\": \"c\", \"pool\": \"b\", \"began_s\": 0, \"ended_s\": null,"
		"  \"pin\": {\"price_microusd_hour\": 32772600}},"
		" {\"cluster\": \"c\", \"pool\": \"a\", \"began_s\": 3600, \"ended_s\": 9000,"
		"  \"ending\": \"deleted\", \"pin\": {\"price_microusd_hour\": 526000}},"
		" {\"cluster\": \"c\", \"pool\": \"b\", \"began_s\": 18000, \"ended_s\": null,"
		"  \"pin\": {\"price_microusd_hour\": 32772600}}]");
	g_assert_cmpuint(spend->rows->len, ==, 2);
	const RgSpendRow *a = row_at(spend, 0), *b = row_at(spend, 1);
	g_assert_cmpstr(a->key, ==, "a");
	g_assert_cmpstr(a->cluster, ==, "c");
	g_assert_cmpuint(a->nodes, ==, 0);
	g_assert_cmpint(a->microusd_hour, ==, 0);
	g_assert_cmpint(a->microusd_spent, ==, 526000 * 3 / 2);
	g_assert_cmpuint(b->nodes, ==, 2);
	g_assert_cmpint(b->microusd_hour, ==, INT64_C(65545200));
	g_assert_cmpint(b->microusd_spent, ==, INT64_C(32772600) * 15);
	g_assert_cmpint(spend->total.microusd_spent, ==, a->microusd_spent + b->microusd_spent);
	g_assert_cmpint(spend->total.node_s, ==, 15 * HOUR + 5400);
}

static void only_the_time_asked_for_counts(void)
{
	static const char text[] = "[{\"cluster\": \"c\", \"began_s\": 0, \"ended_s\": 7200, "
				   "\"pin\": {\"price_microusd_hour\": 1000000}},"
				   " {\"cluster\": \"c\", \"began_s\": 3600, \"ended_s\": 14400, "
				   "\"pin\": {\"price_microusd_hour\": 1000000}},"
				   " {\"cluster\": \"c\", \"began_s\": 20000, \"ended_s\": null, "
				   "\"pin\": {\"price_microusd_hour\": 1000000}}]";
	/* the first ended when the period starts, the third starts after now */
	g_autoptr(RgSpend) spend = sum(RG_SPEND_BY_CLUSTER, NULL, 2 * HOUR, 3 * HOUR, text);
	g_assert_cmpuint(spend->rows->len, ==, 1);
	g_assert_cmpint(spend->total.node_s, ==, HOUR);
	g_assert_cmpint(spend->total.microusd_spent, ==, 1000000);
	g_assert_cmpuint(spend->total.nodes, ==, 0);
}

static void parts_are_rounded_half_up_once_a_lifetime(void)
{
	/* one second of 1,800 micro-USD an hour is half a micro-USD; of 1,799 less */
	g_autoptr(RgSpend) half = sum(RG_SPEND_BY_CLUSTER, NULL, 0, 5,
		"[{\"began_s\": 0, \"ended_s\": 1, \"pin\": {\"price_microusd_hour\": 1800}},"
		" {\"began_s\": 1, \"ended_s\": 2, \"pin\": {\"price_microusd_hour\": 1800}},"
		" {\"began_s\": 2, \"ended_s\": 3, \"pin\": {\"price_microusd_hour\": 1799}}]");
	g_assert_cmpint(half->total.microusd_spent, ==, 2);
	/* a hundred years of the highest price do not overflow */
	g_autoptr(RgSpend) large = sum(RG_SPEND_BY_CLUSTER, NULL, 0, INT64_C(876000) * HOUR,
		"[{\"began_s\": 0, \"ended_s\": null, \"pin\": {\"price_microusd_hour\": "
		"10000000000000}}]");
	g_assert_cmpint(large->total.microusd_spent, ==, INT64_C(876000) * INT64_C(10000000000000));
}

static void what_has_no_price_is_told(void)
{
	g_autoptr(RgSpend) spend = sum(RG_SPEND_BY_MARKET, NULL, 0, 2 * HOUR,
		"[{\"began_s\": 0, \"ended_s\": null, \"pin\": {\"market\": \"spot\"}},"
		" {\"began_s\": 0, \"ended_s\": 3600, \"pin\": {\"market\": \"spot\", "
		"\"price_microusd_hour\": -5}},"
		" {\"began_s\": 0, \"ended_s\": null},"
		" {\"began_s\": 0, \"ended_s\": null, \"pin\": {\"market\": \"spot\", "
		"\"price_microusd_hour\": 7}}]");
	const RgSpendRow *demand = row_at(spend, 0), *spot = row_at(spend, 1);
	g_assert_cmpstr(demand->key, ==, "on-demand");
	g_assert_cmpuint(demand->unpriced, ==, 1);
	g_assert_cmpstr(spot->key, ==, "spot");
	g_assert_cmpuint(spot->nodes, ==, 2);
	g_assert_cmpuint(spot->unpriced, ==, 1);
	g_assert_cmpint(spot->microusd_hour, ==, 7);
	g_assert_cmpint(spot->microusd_spent, ==, 14);
	g_assert_cmpint(spot->unpriced_s, ==, 3 * HOUR);
	g_assert_cmpint(spot->node_s, ==, 5 * HOUR);
}

static void clocks_that_go_back_lengthen_nothing(void)
{
	g_autoptr(RgSpend) spend = sum(RG_SPEND_BY_CLUSTER, NULL, 0, 100,
		"[{\"began_s\": 90, \"ended_s\": 40, \"pin\": {\"price_microusd_hour\": 3600}},"
		" {\"began_s\": 10, \"ended_s\": 900, \"pin\": {\"price_microusd_hour\": 3600}}]");
	g_assert_cmpint(spend->total.node_s, ==, 90);
	g_assert_cmpint(spend->total.microusd_spent, ==, 90);
}

static void endings_that_say_less_are_counted(void)
{
	g_autoptr(RgSpend) spend = sum(RG_SPEND_BY_CLUSTER, NULL, 0, 100,
		"[{\"began_s\": 0, \"ended_s\": 9, \"ending\": \"gone\"},"
		" {\"began_s\": 0, \"ended_s\": 9, \"ending\": \"gone\"},"
		" {\"began_s\": 0, \"ended_s\": 9, \"ending\": \"forgotten\"},"
		" {\"began_s\": 0, \"ended_s\": 9, \"ending\": \"deleted\"}]");
	g_assert_cmpuint(spend->total.gone, ==, 2);
	g_assert_cmpuint(spend->total.forgotten, ==, 1);
}

static void rows_stand_by_cluster_and_key_without_a_label_last(void)
{
	g_autoptr(RgSpend) spend = rg_spend_new(RG_SPEND_BY_LABEL, "team", 0, 10);
	json_auto_t *first =
		lifetimes("[{\"began_s\": 0, \"ended_s\": null}, {\"began_s\": 0, \"ended_s\": "
			  "null, \"labels\": {\"team\": \"ml\"}},"
			  " {\"began_s\": 0, \"ended_s\": null, \"labels\": {\"other\": \"ml\"}}]");
	json_auto_t *second =
		lifetimes("[{\"began_s\": 0, \"ended_s\": null, \"labels\": {\"team\": \"hr\"}},"
			  " {\"began_s\": 0, \"ended_s\": null, \"labels\": {\"team\": \"ml\"}}]");
	rg_spend_add(spend, first);
	rg_spend_add(spend, second);
	g_assert_cmpuint(spend->rows->len, ==, 3);
	g_assert_cmpstr(row_at(spend, 0)->key, ==, "hr");
	g_assert_cmpstr(row_at(spend, 1)->key, ==, "ml");
	g_assert_cmpuint(row_at(spend, 1)->nodes, ==, 2);
	g_assert_null(row_at(spend, 2)->key);
	g_assert_cmpuint(row_at(spend, 2)->nodes, ==, 2);

	/* pools of the same name in two clusters are separate */
	g_autoptr(RgSpend) pools = sum(RG_SPEND_BY_POOL, NULL, 0, 10,
		"[{\"began_s\": 0, \"ended_s\": null, \"cluster\": \"b\", \"pool\": \"x\"}, "
		"{\"began_s\": 0, \"ended_s\": null, "
		"\"cluster\": \"a\", \"pool\": \"x\"},"
		" {\"began_s\": 0, \"ended_s\": null, \"cluster\": \"a\", \"pool\": \"w\"}]");
	g_assert_cmpuint(pools->rows->len, ==, 3);
	g_assert_cmpstr(row_at(pools, 0)->key, ==, "w");
	g_assert_cmpstr(row_at(pools, 1)->cluster, ==, "a");
	g_assert_cmpstr(row_at(pools, 2)->cluster, ==, "b");
}

static void a_pools_label_stands_above_the_clusters(void)
{
	g_autoptr(RgSpend) spend = sum(RG_SPEND_BY_LABEL, "team", 0, HOUR,
		"[{\"began_s\": 0, \"ended_s\": null, \"labels\": {\"team\": \"ml\"},"
		"  \"pin\": {\"price_microusd_hour\": 5, \"labels\": {\"team\": \"vision\"}}},"
		" {\"began_s\": 0, \"ended_s\": null, \"labels\": {\"team\": \"ml\"},"
		"  \"pin\": {\"price_microusd_hour\": 3, \"labels\": {\"stage\": \"old\"}}},"
		" {\"began_s\": 0, \"ended_s\": null,"
		"  \"pin\": {\"price_microusd_hour\": 2, \"labels\": {\"team\": \"ml\"}}}]");
	g_assert_cmpuint(spend->rows->len, ==, 2);
	g_assert_cmpstr(row_at(spend, 0)->key, ==, "ml");
	g_assert_cmpint(row_at(spend, 0)->microusd_hour, ==, 5);
	g_assert_cmpuint(row_at(spend, 0)->nodes, ==, 2);
	g_assert_cmpstr(row_at(spend, 1)->key, ==, "vision");
	g_assert_cmpint(row_at(spend, 1)->microusd_spent, ==, 5);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/spend/words-are-parsed", words_are_parsed);
	g_test_add_func("/spend/hours-times-prices", hours_times_prices);
	g_test_add_func("/spend/only-the-time-asked-for-counts", only_the_time_asked_for_counts);
	g_test_add_func("/spend/parts-are-rounded-half-up-once-a-lifetime",
		parts_are_rounded_half_up_once_a_lifetime);
	g_test_add_func("/spend/what-has-no-price-is-told", what_has_no_price_is_told);
	g_test_add_func("/spend/clocks-that-go-back-lengthen-nothing",
		clocks_that_go_back_lengthen_nothing);
	g_test_add_func(
		"/spend/endings-that-say-less-are-counted", endings_that_say_less_are_counted);
	g_test_add_func("/spend/rows-stand-by-cluster-and-key",
		rows_stand_by_cluster_and_key_without_a_label_last);
	g_test_add_func("/spend/a-pools-label-stands-above-the-clusters",
		a_pools_label_stands_above_the_clusters);
	return g_test_run();
}
