/* Budgets of elastic pools, at their minimum and maximum, computed manually to the micro-USD. */
#include "base/money.h"
#include "plan/plan.h"
#include <string.h>

#define USD INT64_C(1000000)

static const RgPlanRange head = {"head", {1, 0, 0, USD / 2, 0}, {1, 0, 0, USD / 2, 0}};
static const RgPlanRange serve = {"serve", {2, 0, 0, 2 * USD, 0}, {10, 0, 0, 10 * USD, 0}};
static const RgPlanRange odd = {"odd", {0, 0, 0, 0, 0}, {3, 3, 0, 0, 0}, "x9.large"};

static GArray *pools_of(const RgPlanRange *const *ranges)
{
	GArray *pools = g_array_new(FALSE, FALSE, sizeof(RgPlanRange));
	for (size_t i = 0; ranges[i] != NULL; i++)
		g_array_append_vals(pools, ranges[i], 1);
	return pools;
}

/* The finding of one limit about the pools: "" if it is satisfied, else code, summary and
 * detail. */
static char *judge(const RgPlanRange *const *ranges, const char *pool, bool month, int64_t microusd)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(GArray) pools = pools_of(ranges);
	g_autoptr(GPtrArray) limits = g_ptr_array_new_with_free_func(rg_plan_limit_free);
	const RgPlanLimit limit = {.pool = (char *)(uintptr_t)pool,
		.hours = month ? RG_MONTH_HOURS : 1,
		.most = microusd};
	g_ptr_array_add(limits, rg_plan_limit_new(&limit));
	bool good = rg_plan_check_range(pools, limits, "mars-1", diags);
	g_assert_true(good == !rg_diags_has_errors(diags));
	g_assert_true(good == (rg_diags_count(diags) == 0));
	g_assert_cmpint(rg_diags_exit_code(diags), ==, good ? 0 : 9);
	if (good)
		return g_strdup("");
	const RgDiag *diag = rg_diags_get(diags, 0);
	return g_strdup_printf(
		"%s: %s; %s", diag->code, diag->summary, diag->detail ? diag->detail : "");
}

#define MOST                                                                                       \
	"with every pool at its maximum, which Ray may reach at any time; at the minimum it "      \
	"would cost "

static void the_most_is_held_against_the_budget(void)
{
	const RgPlanRange *const both[] = {&head, &serve, NULL};
	g_autofree char *fits = judge(both, NULL, false, 10 * USD + USD / 2);
	g_assert_cmpstr(fits, ==, "");
	g_autofree char *over = judge(both, NULL, false, 10 * USD + USD / 2 - 1);
	g_assert_cmpstr(over, ==,
		"budget.exceeded: the cluster would cost $10.5 per hour; the budget is "
		"$10.499999; " MOST "$2.5");
	g_autofree char *least = judge(both, NULL, false, 2 * USD);
	g_assert_cmpstr(least, ==,
		"budget.exceeded: the cluster would cost $10.5 per hour; the budget is $2; " MOST
		"$2.5");
}

static void a_month_has_730_hours(void)
{
	const RgPlanRange *const both[] = {&head, &serve, NULL};
	g_autofree char *fits = judge(both, NULL, true, 7665 * USD);
	g_assert_cmpstr(fits, ==, "");
	g_autofree char *over = judge(both, NULL, true, 7664 * USD);
	g_assert_cmpstr(over, ==,
		"budget.exceeded: the cluster would cost $7665 per month of 730 hours; the budget "
		"is "
		"$7664; " MOST "$1825");
}

static void pools_have_limits_of_their_own(void)
{
	const RgPlanRange *const both[] = {&head, &serve, NULL};
	g_autofree char *fits = judge(both, "serve", false, 10 * USD);
	g_assert_cmpstr(fits, ==, "");
	g_autofree char *over = judge(both, "serve", false, 9 * USD);
	g_assert_cmpstr(over, ==,
		"budget.exceeded: pool serve would cost $10 per hour; the budget is $9; " MOST
		"$2");
	g_autofree char *none = judge(both, "other", false, 0);
	g_assert_cmpstr(none, ==, "");
}

/* A fixed pool has one figure, and no range to report. */
static void fixed_pools_are_told_as_they_are(void)
{
	const RgPlanRange *const one[] = {&head, NULL};
	g_autofree char *over = judge(one, NULL, false, 1);
	g_assert_cmpstr(over, ==,
		"budget.exceeded: the cluster would cost $0.5 per hour; the budget is $0.000001; ");
}

static void what_may_come_without_a_price_is_refused_under_a_budget(void)
{
	const RgPlanRange *const both[] = {&head, &odd, NULL};
	g_autofree char *unknown = judge(both, NULL, false, 100 * USD);
	g_assert_cmpstr(unknown, ==,
		"budget.unknown: no price is known for x9.large in mars-1 (3 nodes), so the budget "
		"cannot be checked; " MOST "$0.5");
	g_autofree char *of_head = judge(both, "head", false, 100 * USD);
	g_assert_cmpstr(of_head, ==, "");
}

static void sums_are_of_all_or_of_one(void)
{
	const RgPlanRange *const all[] = {&head, &serve, &odd, NULL};
	g_autoptr(GArray) pools = pools_of(all);
	RgPlanRange sum = rg_plan_range_sum(pools, NULL);
	g_assert_cmpuint(sum.least.nodes, ==, 3);
	g_assert_cmpuint(sum.most.nodes, ==, 14);
	g_assert_cmpuint(sum.most.unpriced, ==, 3);
	g_assert_cmpint(sum.least.microusd_hour, ==, 2 * USD + USD / 2);
	g_assert_cmpint(sum.most.microusd_hour, ==, 10 * USD + USD / 2);
	g_assert_cmpuint(rg_plan_range_sum(pools, "serve").most.nodes, ==, 10);
}

static const RgPlanRange trained = {"trained", {.nodes = 2, .unpriced = 2, .gpus = 16},
	{.nodes = 4, .unpriced = 4, .gpus = 32}};

/* They need no price. */
static void gpu_hours_are_those_of_the_maximum(void)
{
	const RgPlanRange *const all[] = {&trained, NULL};
	static const struct {
		unsigned hours;
		int64_t most;
		const char *told;
	} cases[] = {{RG_DAY_HOURS, 768, NULL},
		{RG_DAY_HOURS, 767, "would use 768 GPU hours per day; the budget is 767"},
		{RG_MONTH_HOURS, 0,
			"would use 23360 GPU hours per month of 730 hours; the budget is 0"}};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_autoptr(GArray) pools = pools_of(all);
		g_autoptr(GPtrArray) limits = g_ptr_array_new_with_free_func(rg_plan_limit_free);
		const RgPlanLimit limit = {
			.gpus = true, .hours = cases[i].hours, .most = cases[i].most};
		g_ptr_array_add(limits, rg_plan_limit_new(&limit));
		g_assert_true(
			rg_plan_check_range(pools, limits, "mars-1", diags) == !cases[i].told);
		if (!cases[i].told)
			continue;
		const RgDiag *diag = rg_diags_get(diags, 0);
		g_assert_nonnull(strstr(diag->summary, cases[i].told));
		g_assert_nonnull(strstr(diag->detail, "at the minimum it would use "));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func(
		"/range/the-most-is-held-against-the-budget", the_most_is_held_against_the_budget);
	g_test_add_func(
		"/range/gpu-hours-are-those-of-the-maximum", gpu_hours_are_those_of_the_maximum);
	g_test_add_func("/range/a-month-has-730-hours", a_month_has_730_hours);
	g_test_add_func("/range/pools-have-limits-of-their-own", pools_have_limits_of_their_own);
	g_test_add_func(
		"/range/fixed-pools-are-told-as-they-are", fixed_pools_are_told_as_they_are);
	g_test_add_func("/range/what-may-come-without-a-price-is-refused",
		what_may_come_without_a_price_is_refused_under_a_budget);
	g_test_add_func("/range/sums-are-of-all-or-of-one", sums_are_of_all_or_of_one);
	return g_test_run();
}
