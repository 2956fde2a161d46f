/* Ray's scheduler, simulated: what starts in which order. */
#include "workloads/scheduler.h"

static const int64_t none[1] = {0};

static bool starts(const RgPlaceProblem *problem, RgRayAsk *asks, const unsigned *order, unsigned n)
{
	unsigned visits = 10000;
	return rg_ray_places(problem, asks, order, n, RG_RAY_FIRST, &visits) &&
	       rg_ray_places(problem, asks, order, n, RG_RAY_LAST, &visits);
}

/* Single GPUs spread over both nodes leave no whole node; equal tasks alone always fit. */
static void test_spreads_tasks(void)
{
	RgPlacePool pool = {2, 8, 1, none};
	RgPlaceProblem problem = {&pool, NULL, NULL, 1, 0, 0};
	bool here = true;
	int64_t nothing[1] = {0};
	RgRayBundle one = {&here, RG_PLACE_ONE, nothing},
		    eight = {&here, 8 * RG_PLACE_ONE, nothing};
	RgRayAsk asks[2] = {{.units = 8, .bundles = &one, .n_bundles = 1},
		{.units = 1, .bundles = &eight, .n_bundles = 1}};
	const unsigned small_first[2] = {0, 1}, large_first[2] = {1, 0};
	g_assert_false(starts(&problem, asks, small_first, 2));
	g_assert_true(starts(&problem, asks, large_first, 2));
	g_assert_true(starts(&problem, asks, small_first, 1));
}

/* A group of 4 single GPUs begins on the emptiest, largest node and fills it, whatever else could
 * take it; one that spreads takes a node for each, or waits. */
static void test_begins_on_the_emptiest_node(void)
{
	RgPlacePool pools[2] = {{3, 1, 1, none}, {1, 4, 1, none}};
	RgPlaceProblem problem = {pools, NULL, NULL, 2, 0, 0};
	bool both[2] = {true, true}, large[2] = {false, true};
	int64_t nothing[1] = {0};
	RgRayBundle one = {both, RG_PLACE_ONE, nothing}, pinned = {large, RG_PLACE_ONE, nothing};
	RgRayBundle four[4] = {one, one, one, one};
	RgRayAsk asks[2] = {{.units = 1, .is_group = true, .bundles = four, .n_bundles = 4},
		{.units = 3, .bundles = &pinned, .n_bundles = 1}};
	const unsigned group_first[2] = {0, 1}, tasks_first[2] = {1, 0};
	g_assert_false(starts(&problem, asks, group_first, 2));
	g_assert_true(starts(&problem, asks, tasks_first, 2));
	g_assert_cmpuint(asks[0].nodes, ==, 4);
	asks[0].strategy = RG_PLACE_STRICT_SPREAD;
	g_assert_true(starts(&problem, asks, group_first, 2));
	asks[0].units = 2;
	g_assert_false(starts(&problem, asks, group_first, 1));
	asks[0].strategy = RG_PLACE_SPREAD;
	asks[0].units = 1;
	asks[0].n_bundles = 4;
	pools[0].nodes = 1;
	g_assert_true(starts(&problem, asks, group_first, 1));
	g_assert_cmpuint(asks[0].nodes, ==, 2);
	asks[0].strategy = RG_PLACE_STRICT_PACK;
	g_assert_true(starts(&problem, asks, group_first, 1));
	g_assert_cmpuint(asks[0].nodes, ==, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/workloads/scheduler/spreads-tasks", test_spreads_tasks);
	g_test_add_func("/workloads/scheduler/begins-on-the-emptiest-node",
		test_begins_on_the_emptiest_node);
	return g_test_run();
}
