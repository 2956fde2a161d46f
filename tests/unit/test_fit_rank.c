/* The common order of instance types and places. */
#include "fit/rank.h"
#include <glib.h>

#define UNKNOWN INT64_MAX

static const RgMerit least = {.microusd_hour = 100, .carbon_mg_hour = 10};

/* The first is better, whatever the order of the arguments. */
static void check_better(RgOptimize optimize, RgMerit a, RgMerit b)
{
	g_assert_cmpint(rg_merit_compare(optimize, &least, &a, &b), <, 0);
	g_assert_cmpint(rg_merit_compare(optimize, &least, &b, &a), >, 0);
}

static void test_each_wish_has_its_figure(void)
{
	RgMerit cheap = {.microusd_hour = 100, .carbon_mg_hour = 40};
	RgMerit clean = {.microusd_hour = 500, .carbon_mg_hour = 10};
	RgMerit between = {.microusd_hour = 150, .carbon_mg_hour = 15};
	check_better(RG_OPTIMIZE_COST, cheap, between);
	check_better(RG_OPTIMIZE_COST, between, clean);
	check_better(RG_OPTIMIZE_CARBON, clean, between);
	check_better(RG_OPTIMIZE_CARBON, between, cheap);
	check_better(RG_OPTIMIZE_BALANCED, between, cheap);
	check_better(RG_OPTIMIZE_BALANCED, cheap, clean);
}

static void test_of_equals_the_cheaper_then_the_less_guessed(void)
{
	/* 2 and 1 times the least, and 1 and 2 times: the same balance */
	RgMerit clean = {.microusd_hour = 200, .carbon_mg_hour = 10};
	RgMerit cheap = {.microusd_hour = 100, .carbon_mg_hour = 20};
	check_better(RG_OPTIMIZE_BALANCED, cheap, clean);
	/* with an unknown figure there is no balance, but a price */
	clean.carbon_mg_hour = cheap.carbon_mg_hour = UNKNOWN;
	check_better(RG_OPTIMIZE_BALANCED, cheap, clean);
	check_better(RG_OPTIMIZE_CARBON, cheap, clean);
	RgMerit guessed = cheap;
	guessed.guessed = 1;
	for (int optimize = RG_OPTIMIZE_COST; optimize <= RG_OPTIMIZE_BALANCED; optimize++) {
		check_better((RgOptimize)optimize, cheap, guessed);
		g_assert_cmpint(
			rg_merit_compare((RgOptimize)optimize, &least, &cheap, &cheap), ==, 0);
	}
}

static void test_what_was_asked_for_first_and_is_sure_comes_first(void)
{
	RgMerit first = {.microusd_hour = 900, .carbon_mg_hour = 90};
	RgMerit second = {.preference = 1, .microusd_hour = 100, .carbon_mg_hour = 10};
	RgMerit unsure = {.sureness = 1, .microusd_hour = 100, .carbon_mg_hour = 10};
	for (int optimize = RG_OPTIMIZE_COST; optimize <= RG_OPTIMIZE_BALANCED; optimize++) {
		check_better((RgOptimize)optimize, first, second);
		check_better((RgOptimize)optimize, first, unsure);
		check_better((RgOptimize)optimize, unsure, second);
	}
}

static void test_sums(void)
{
	RgMerit sum = rg_merit_none();
	RgMerit node = {.preference = 1, .sureness = 1, .microusd_hour = 3, .carbon_mg_hour = 4};
	node.guessed = 1;
	rg_merit_add(&sum, &node, 0);
	g_assert_cmpint(sum.microusd_hour + sum.sureness + (int)sum.preference, ==, 0);
	rg_merit_add(&sum, &node, 5);
	g_assert_cmpint(sum.microusd_hour, ==, 15);
	g_assert_cmpint(sum.carbon_mg_hour, ==, 20);
	g_assert_cmpuint(sum.guessed, ==, 5);
	node.sureness = 0;
	node.carbon_mg_hour = UNKNOWN;
	node.microusd_hour = INT64_MAX / 2;
	rg_merit_add(&sum, &node, 3);
	g_assert_cmpint(sum.sureness, ==, 1);
	g_assert_cmpint(sum.carbon_mg_hour, ==, UNKNOWN);
	g_assert_cmpint(sum.microusd_hour, ==, UNKNOWN);
	node.carbon_mg_hour = 4;
	rg_merit_add(&sum, &node, 1);
	g_assert_cmpint(sum.carbon_mg_hour, ==, UNKNOWN);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rank/each-wish-has-its-figure", test_each_wish_has_its_figure);
	g_test_add_func("/rank/of-equals-the-cheaper-then-the-less-guessed",
		test_of_equals_the_cheaper_then_the_less_guessed);
	g_test_add_func("/rank/what-was-asked-for-first-and-is-sure-comes-first",
		test_what_was_asked_for_first_and_is_sure_comes_first);
	g_test_add_func("/rank/sums", test_sums);
	return g_test_run();
}
