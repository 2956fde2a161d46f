/* The heaviest that one node holds: exact, also where the first way to fill it is almost as heavy
 * as anything could be. */
#include "pack/internal.h"

#define ITEMS 3

/* A node of 10: items of 6, 5 and 4, of which the last weighs a little less for its size. One of 6
 * and one of 4 weigh 9999; two of 5 weigh 10000, which is the bound too. */
static const int64_t sizes[ITEMS][1] = {{6}, {5}, {4}};
static const int64_t weights[ITEMS] = {6000, 5000, 3999};

/* `first`: the item that comes first of those that are alike. */
static void check_most(unsigned first)
{
	static const int64_t has[1] = {10};
	const RgPlacePool pool = {1, 0, 0, has};
	RgPlaceNeed needs[ITEMS] = {{true, 0, 0}, {true, 0, 0}, {true, 0, 0}};
	RgPlacePart parts[ITEMS];
	RgPlaceTask tasks[ITEMS];
	int64_t weight[ITEMS];
	guint16 best[ITEMS];
	for (unsigned i = 0; i < ITEMS; i++) {
		unsigned of = (first + i) % ITEMS;
		parts[i] = (RgPlacePart){1, &needs[i], sizes[of]};
		tasks[i] = (RgPlaceTask){1, 1, &parts[i], RG_PLACE_PACK, RG_PLACE_ANY};
		weight[i] = weights[of];
	}
	const RgPlaceProblem problem = {
		.pools = &pool, .tasks = tasks, .n_pools = 1, .n_amounts = 1, .n_tasks = ITEMS};
	RgItem items[ITEMS];
	for (unsigned i = 0; i < ITEMS; i++)
		items[i] = (RgItem){.task = i, .demand = 5};
	RgPricing pricing = {0};
	rg_pricing_init(&pricing, &problem, items, ITEMS);
	g_assert_cmpint(rg_pricing_most(&pricing, weight, 0, best, 1000), ==, 10000);
	g_assert_cmpuint(best[(1 + ITEMS - first) % ITEMS], ==, 2);
	rg_pricing_clear(&pricing);
}

static void test_the_heaviest_is_found(void)
{
	for (unsigned first = 0; first < ITEMS; first++)
		check_most(first);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pack/price/heaviest", test_the_heaviest_is_found);
	return g_test_run();
}
