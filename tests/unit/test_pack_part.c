/* Where the search gives up, a placement on all nodes but one is found again, whichever pool that
 * node is in. Without steps only first-fit places, which an additional node can mislead. */
#include "pack/internal.h"

#define POOLS 10
#define OTHERS 7 /* pools that nothing runs on; then those below */
enum { SHARED = OTHERS, BIG, ADDED };

/* On ADDED or SHARED runs 3 GPUs; on SHARED or BIG 2 of them and 8 CPUs; on SHARED only 1 and 8
 * CPUs. First-fit starts with the largest: on ADDED, if it is there; then the second takes the CPUs
 * of SHARED from the third. */
typedef struct {
	RgPlaceProblem problem;
	RgPlacePool pools[POOLS];
	RgPlaceNeed needs[3][POOLS];
	RgPlacePart parts[3];
	RgPlaceTask tasks[3];
} Case;

static void make_case(Case *c, unsigned added, unsigned *steps)
{
	static const int64_t has[1] = {10 * RG_PLACE_ONE};
	static const int64_t takes[3][1] = {{RG_PLACE_ONE}, {8 * RG_PLACE_ONE}, {8 * RG_PLACE_ONE}};
	static const unsigned order[POOLS] = {ADDED, SHARED, BIG, 0, 1, 2, 3, 4, 5, 6};
	*c = (Case){.needs = {{[SHARED] = {true, 3, 0}, [ADDED] = {true, 3, 0}},
			    {[SHARED] = {true, 2, 0}, [BIG] = {true, 2, 0}},
			    {[SHARED] = {true, 1, 0}}}};
	for (unsigned p = 0; p < POOLS; p++)
		c->pools[p] = (RgPlacePool){p == ADDED ? added : 1, 4, 1, has};
	for (unsigned t = 0; t < 3; t++) {
		c->parts[t] = (RgPlacePart){1, c->needs[t], takes[t]};
		c->tasks[t] = (RgPlaceTask){1, 1, &c->parts[t], RG_PLACE_PACK, RG_PLACE_ANY};
	}
	c->problem = (RgPlaceProblem){.pools = c->pools,
		.tasks = c->tasks,
		.order = order,
		.n_pools = POOLS,
		.n_amounts = 1,
		.n_tasks = 3,
		.steps = steps};
}

static const unsigned each[3] = {1, 1, 1};

/* What the test below relies on. */
static void test_an_additional_node_misleads_first_fit(void)
{
	for (unsigned added = 0; added < 2; added++) {
		Case c;
		unsigned steps = 0;
		bool sure = true;
		make_case(&c, added, &steps);
		g_autoptr(GPtrArray) found =
			rg_place_ask_all(&c.problem, each, rg_place_divide_units, &sure);
		g_assert_cmpint(found != NULL, ==, added == 0);
		g_assert_cmpint(sure, ==, added == 0);
		c.problem.steps = NULL;
		g_assert_true(rg_place_fits(&c.problem, each, &sure));
	}
}

static void test_one_more_node_of_any_pool_takes_nothing_away(void)
{
	Case c;
	unsigned steps = 0;
	bool sure = false;
	make_case(&c, 1, &steps);
	g_autoptr(GPtrArray) found = rg_place_solve(&c.problem, each, &sure);
	g_assert_nonnull(found);
	g_assert_true(sure);
	for (guint i = 0; i < found->len; i++)
		g_assert_cmpuint(((RgPlacedNodes *)found->pdata[i])->pool, !=, ADDED);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pack/part/first_fit", test_an_additional_node_misleads_first_fit);
	g_test_add_func("/pack/part/one_more", test_one_more_node_of_any_pool_takes_nothing_away);
	return g_test_run();
}
