/* Placement compared with brute force: random small problems, each node and each GPU separately.
 * With RAYGPU_LONG more of them. */
#include "place_brute.h"
#include <string.h>

#define POOLS 3
#define TASKS 3
#define PARTS 2
#define NODES 4
#define GPUS BRUTE_GPUS
#define AMOUNTS BRUTE_AMOUNTS
#define KINDS 2
#define MOST_ALONE 4 /* units that brute force tries */

/* A problem with its own memory. */
typedef struct {
	RgPlaceProblem problem;
	RgPlacePool pools[POOLS];
	RgPlaceTask tasks[TASKS];
	RgPlacePart parts[TASKS][PARTS];
	RgPlaceNeed needs[TASKS][PARTS][POOLS];
	int64_t has[POOLS][AMOUNTS], takes[TASKS][PARTS][AMOUNTS];
	unsigned order[POOLS];
} Case;

static unsigned cases(unsigned few, unsigned many)
{
	const char *is_long = g_getenv("RAYGPU_LONG");
	return is_long && *is_long != '\0' ? many : few;
}

static unsigned roll(GRand *rand, unsigned from, unsigned to)
{
	return (unsigned)g_rand_int_range(rand, (gint32)from, (gint32)to + 1);
}

static void make_part(GRand *rand, Case *c, unsigned t, unsigned i)
{
	static const unsigned parts[] = {2500, 3334, 5000, 6000, 7500};
	bool parted = roll(rand, 0, 1) == 1;
	unsigned whole = roll(rand, 0, 2);
	for (unsigned p = 0; p < POOLS; p++) {
		RgPlaceNeed *need = &c->needs[t][i][p];
		need->admitted = roll(rand, 0, 3) > 0;
		need->part = need->admitted && parted
				     ? parts[roll(rand, 0, G_N_ELEMENTS(parts) - 1)]
				     : 0;
		need->whole = need->admitted && !parted ? whole : 0;
	}
	for (unsigned a = 0; a < AMOUNTS; a++)
		c->takes[t][i][a] = roll(rand, a == 0 ? 1 : 0, 2);
	c->parts[t][i] = (RgPlacePart){roll(rand, 1, 2), c->needs[t][i], c->takes[t][i]};
}

static void make_task(GRand *rand, Case *c, unsigned t)
{
	static const RgPlaceStrategy strategies[] = {
		RG_PLACE_PACK, RG_PLACE_SPREAD, RG_PLACE_STRICT_PACK, RG_PLACE_STRICT_SPREAD};
	static const RgPlaceAlike alike[] = {RG_PLACE_ANY, RG_PLACE_UNIT_ALIKE, RG_PLACE_ALL_ALIKE};
	RgPlaceTask *task = &c->tasks[t];
	task->units = roll(rand, 1, 3);
	task->n_parts = roll(rand, 0, 3) == 0 ? 2 : 1;
	for (unsigned i = 0; i < task->n_parts; i++)
		make_part(rand, c, t, i);
	if (task->n_parts == 1)
		c->parts[t][0].count = roll(rand, 0, 1) == 0 ? 1 : roll(rand, 2, 3);
	task->parts = c->parts[t];
	task->strategy = strategies[roll(rand, 0, 3)];
	task->alike = alike[roll(rand, 0, 2)];
}

static void make_case(GRand *rand, Case *c)
{
	memset(c, 0, sizeof *c);
	unsigned left = NODES;
	for (unsigned p = 0; p < POOLS; p++) {
		c->pools[p].nodes = roll(rand, 0, MIN(left, 2));
		left -= c->pools[p].nodes;
		c->pools[p].gpus = roll(rand, 0, GPUS);
		c->pools[p].kind = c->pools[p].gpus > 0 ? roll(rand, 1, KINDS) : 0;
		for (unsigned a = 0; a < AMOUNTS; a++)
			c->has[p][a] = roll(rand, 1, 6);
		c->pools[p].amounts = c->has[p];
		c->order[p] = p;
	}
	for (unsigned t = 0; t < TASKS; t++)
		make_task(rand, c, t);
	c->problem = (RgPlaceProblem){
		c->pools, c->tasks, c->order, POOLS, AMOUNTS, roll(rand, 1, TASKS)};
}

static unsigned brute_alone(const Case *c, unsigned t)
{
	RgPlaceTask task = c->tasks[t];
	RgPlaceProblem one = c->problem;
	one.tasks = &task;
	one.n_tasks = 1;
	for (task.units = 1; task.units <= MOST_ALONE && brute_fits(&one); task.units++)
		;
	return task.units - 1;
}

static void test_alone_is_brute_force(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(7);
	unsigned some = 0;
	for (unsigned i = 0; i < cases(400, 3000); i++) {
		Case c;
		make_case(rand, &c);
		for (unsigned t = 0; t < c.problem.n_tasks; t++) {
			unsigned brute = brute_alone(&c, t);
			uint64_t alone = rg_place_alone(&c.problem, t);
			g_assert_cmpuint(MIN(alone, MOST_ALONE), ==, brute);
			some += brute > 1;
		}
	}
	g_assert_cmpuint(some, >, 50);
}

static void test_together_is_brute_force(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(11);
	unsigned fit = 0, hopeful = 0;
	for (unsigned i = 0; i < cases(1500, 10000); i++) {
		Case c;
		make_case(rand, &c);
		bool each = true;
		for (unsigned t = 0; t < c.problem.n_tasks; t++)
			each &= rg_place_alone(&c.problem, t) >= c.tasks[t].units;
		bool brute = each && brute_fits(&c.problem);
		g_autoptr(RgPlaced) placed = rg_place_together(&c.problem);
		g_assert_true(placed->exact);
		g_assert_cmpint(placed->all, ==, brute);
		fit += brute;
		hopeful += each && !brute;
	}
	g_assert_cmpuint(fit, >, 40);
	g_assert_cmpuint(hopeful, >, 5);
}

/* Fractions of a GPU never sum up to more than one, amounts never to more than the node has. */
static void check_nodes(const Case *c, const RgPlaced *placed)
{
	unsigned used[POOLS] = {0};
	for (guint i = 0; i < placed->nodes->len; i++) {
		const RgPlacedNodes *nodes = placed->nodes->pdata[i];
		uint64_t gpus = 0, amounts[AMOUNTS] = {0};
		used[nodes->pool] += nodes->nodes;
		for (unsigned t = 0, k = 0; t < c->problem.n_tasks; t++) {
			for (unsigned part = 0; part < c->tasks[t].n_parts; part++, k++) {
				const RgPlaceNeed *need = &c->needs[t][part][nodes->pool];
				unsigned n = nodes->bundles[k];
				g_assert_true(n == 0 || need->admitted);
				gpus += n * ((uint64_t)need->whole * RG_PLACE_ONE + need->part);
				for (unsigned a = 0; a < AMOUNTS; a++)
					amounts[a] += n * (uint64_t)c->takes[t][part][a];
			}
		}
		g_assert_cmpuint(gpus, <=, (uint64_t)c->pools[nodes->pool].gpus * RG_PLACE_ONE);
		for (unsigned a = 0; a < AMOUNTS; a++)
			g_assert_cmpuint(amounts[a], <=, (uint64_t)c->has[nodes->pool][a]);
	}
	for (unsigned p = 0; p < POOLS; p++)
		g_assert_cmpuint(used[p], <=, c->pools[p].nodes);
}

static void test_nothing_is_over_committed(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(13);
	for (unsigned i = 0; i < cases(500, 2000); i++) {
		Case c;
		make_case(rand, &c);
		g_autoptr(RgPlaced) placed = rg_place_together(&c.problem);
		check_nodes(&c, placed);
		for (unsigned p = 0; p < POOLS; p++) {
			const RgPlaceUse *use = &placed->use[p];
			g_assert_cmpuint(use->total, ==,
				(uint64_t)c.pools[p].nodes * c.pools[p].gpus * RG_PLACE_ONE);
			g_assert_cmpuint(use->used + use->stranded, <=, use->total);
		}
		for (unsigned t = 0; t < c.problem.n_tasks; t++) {
			uint64_t sum = 0;
			for (unsigned p = 0; p < POOLS; p++)
				sum += placed->bundles[t * POOLS + p];
			g_assert_cmpuint(sum, ==,
				(uint64_t)placed->units[t] * rg_place_bundles(&c.tasks[t]));
			g_assert_cmpuint(placed->units[t], <=, rg_place_alone(&c.problem, t));
		}
	}
}

/* More nodes: what fits still fits, and of the tasks that are placed completely the first ones stay
 * so. */
static void check_one_more(Case *c, unsigned pool)
{
	uint64_t before[TASKS];
	for (unsigned t = 0; t < c->problem.n_tasks; t++)
		before[t] = rg_place_alone(&c->problem, t);
	g_autoptr(RgPlaced) first = rg_place_together(&c->problem);
	c->pools[pool].nodes++;
	for (unsigned t = 0; t < c->problem.n_tasks; t++)
		g_assert_cmpuint(rg_place_alone(&c->problem, t), >=, before[t]);
	g_autoptr(RgPlaced) second = rg_place_together(&c->problem);
	g_assert_true(second->all || !first->all);
	for (unsigned t = 0; t < c->problem.n_tasks; t++) {
		bool was = first->units[t] == c->tasks[t].units;
		bool is = second->units[t] == c->tasks[t].units;
		if (is && !was)
			break;
		g_assert_true(is || !was);
	}
}

static void test_one_more_node_takes_nothing_away(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(17);
	for (unsigned i = 0; i < cases(500, 2000); i++) {
		Case c;
		make_case(rand, &c);
		check_one_more(&c, roll(rand, 0, POOLS - 1));
	}
}

/* The same with 33 to 200 nodes, and tasks that nearly fill them. */
static void test_many_nodes_are_monotone(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(23);
	unsigned fit = 0, certain = 0, n = cases(150, 2000);
	for (unsigned i = 0; i < n; i++) {
		Case c;
		make_case(rand, &c);
		unsigned nodes = roll(rand, 33, 200);
		for (unsigned p = 0; p < POOLS; p++) {
			c.pools[p].nodes = p + 1 < POOLS ? roll(rand, 0, nodes) : nodes;
			nodes -= c.pools[p].nodes;
			for (unsigned a = 0; a < AMOUNTS; a++)
				c.has[p][a] += 2;
		}
		for (unsigned t = 0; t < c.problem.n_tasks; t++) {
			uint64_t most = rg_place_alone(&c.problem, t);
			c.tasks[t].units = (unsigned)MAX(most / roll(rand, 1, 5), 1);
		}
		g_autoptr(RgPlaced) placed = rg_place_together(&c.problem);
		fit += placed->all;
		certain += placed->exact;
		check_nodes(&c, placed);
		check_one_more(&c, roll(rand, 0, POOLS - 1));
	}
	g_test_message("%u of %u fit; %u are certain", fit, n, certain);
	g_assert_cmpuint(fit, >, n / 5);
	g_assert_cmpuint(certain, >, n * 9 / 10);
}

static void test_same_question_same_answer(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(19);
	for (unsigned i = 0; i < 200; i++) {
		Case c;
		make_case(rand, &c);
		g_autoptr(RgPlaced) a = rg_place_together(&c.problem);
		g_autoptr(RgPlaced) b = rg_place_together(&c.problem);
		size_t n = c.problem.n_tasks;
		g_assert_cmpmem(a->units, n * sizeof *a->units, b->units, n * sizeof *b->units);
		g_assert_cmpmem(a->bundles, n * POOLS * sizeof *a->bundles, b->bundles,
			n * POOLS * sizeof *b->bundles);
		g_assert_cmpmem(a->use, POOLS * sizeof *a->use, b->use, POOLS * sizeof *b->use);
	}
}

static const int64_t none[1] = {0};
static const unsigned first_pool[2] = {0, 1};

/* Nodes of the largest pool do not draw a gang away from where it should be. */
static void test_more_nodes_do_not_change_the_pool(void)
{
	RgPlacePool pools[2] = {{2, 8, 1, none}, {29, 1, 2, none}};
	RgPlaceNeed one[2] = {{true, 1, 0}, {true, 1, 0}}, eight[2] = {{true, 8, 0}, {false, 0, 0}};
	RgPlacePart ddp = {2, one, none}, train = {1, eight, none};
	RgPlaceTask tasks[2] = {{1, 1, &ddp, RG_PLACE_STRICT_SPREAD, RG_PLACE_ALL_ALIKE},
		{2, 1, &train, RG_PLACE_PACK, RG_PLACE_ANY}};
	static const unsigned order[2] = {1, 0};
	RgPlaceProblem problem = {pools, tasks, order, 2, 0, 2};
	for (; pools[1].nodes < 40; pools[1].nodes++) {
		g_autoptr(RgPlaced) placed = rg_place_together(&problem);
		g_assert_true(placed->all && placed->exact);
	}
}

/* Two gangs of two groups each, on nodes for three groups: each may get one and wait. */
static void test_gangs_that_hold_half(void)
{
	RgPlacePool pool = {6, 8, 1, none};
	RgPlaceNeed need = {true, 8, 0};
	RgPlacePart part = {2, &need, none};
	RgPlaceTask gang = {2, 1, &part, RG_PLACE_STRICT_SPREAD, RG_PLACE_ALL_ALIKE};
	RgPlaceTask tasks[2] = {gang, gang};
	RgPlaceProblem problem = {&pool, tasks, first_pool, 1, 0, 2};
	unsigned gangs[2] = {0, 1}, held[2];
	pool.nodes = 5;
	g_assert_true(rg_place_deadlock(&problem, gangs, 2, held));
	g_assert_cmpuint(held[0], ==, 1);
	g_assert_cmpuint(held[1], ==, 1);
	/* with nodes for another group, one of them always gets its last */
	pool.nodes = 6;
	g_assert_false(rg_place_deadlock(&problem, gangs, 2, held));
	pool.nodes = 8;
	g_assert_false(rg_place_deadlock(&problem, gangs, 2, held));
	/* one gang alone waits for nobody */
	pool.nodes = 3;
	g_assert_false(rg_place_deadlock(&problem, gangs, 1, held));
}

/* Each two of three pools have enough for what must be on them, all together have not: no search.
 */
static void test_sums_are_counted_first(void)
{
	RgPlacePool pools[3] = {{1, 8, 1, none}, {1, 8, 1, none}, {1, 8, 1, none}};
	RgPlaceNeed one[3][3] = {{{true, 1, 0}, {true, 1, 0}, {false, 0, 0}},
		{{false, 0, 0}, {true, 1, 0}, {true, 1, 0}},
		{{true, 1, 0}, {false, 0, 0}, {true, 1, 0}}};
	RgPlaceNeed third[3] = {{true, 0, 3000}, {true, 0, 3000}, {false, 0, 0}};
	RgPlacePart parts[4] = {
		{1, one[0], none}, {1, one[1], none}, {1, one[2], none}, {1, third, none}};
	RgPlaceTask tasks[4];
	unsigned order[3] = {0, 1, 2}, units[4] = {8, 8, 8, 1}, steps = 100;
	for (unsigned t = 0; t < 4; t++)
		tasks[t] = (RgPlaceTask){units[t], 1, &parts[t], RG_PLACE_PACK, RG_PLACE_ANY};
	RgPlaceProblem problem = {pools, tasks, order, 3, 0, 4};
	bool sure = false;
	problem.steps = &steps;
	g_assert_false(rg_place_fits(&problem, units, &sure));
	g_assert_true(sure);
	g_assert_cmpuint(steps, ==, 100);
	units[2] = 7;
	g_assert_true(rg_place_fits(&problem, units, &sure));
}

/* 500 replicas on 1,000 nodes: the time is printed, not asserted. */
static void test_large_ones_are_quick(void)
{
	int64_t has[2] = {96 * RG_PLACE_ONE, 800}, takes[2] = {RG_PLACE_ONE, 0};
	RgPlacePool pools[2] = {{600, 8, 1, has}, {400, 4, 2, has}};
	RgPlaceNeed whole[2] = {{true, 8, 0}, {false, 0, 0}},
		    fraction[2] = {{true, 0, 2500}, {true, 0, 2500}},
		    two[2] = {{true, 2, 0}, {true, 2, 0}};
	RgPlacePart parts[3] = {{5, whole, takes}, {1, fraction, takes}, {1, two, takes}};
	RgPlaceTask tasks[3] = {{100, 1, &parts[0], RG_PLACE_STRICT_SPREAD, RG_PLACE_UNIT_ALIKE},
		{200, 1, &parts[1], RG_PLACE_PACK, RG_PLACE_ANY},
		{200, 1, &parts[2], RG_PLACE_PACK, RG_PLACE_ANY}};
	RgPlaceProblem problem = {pools, tasks, first_pool, 2, 2, 3};
	gint64 start = g_get_monotonic_time();
	g_autoptr(RgPlaced) placed = rg_place_together(&problem);
	g_test_message("500 replicas on 1000 nodes: %.2f ms",
		(double)(g_get_monotonic_time() - start) / 1000);
	g_assert_true(placed->all);
	g_assert_cmpuint(placed->units[0], ==, 100);
	g_assert_cmpuint(placed->units[1], ==, 200);
	g_assert_cmpuint(placed->units[2], ==, 200);
}

/* 0.5 + 0.3 + 0.2 and 0.4 + 0.4 + 0.2, where the largest first on the first GPU with room leaves a
 * 0.2. */
static void test_fractions_fill_gpus_exactly(void)
{
	static const unsigned tenths[] = {5, 4, 3, 2}, each[] = {1, 2, 1, 2}, more[] = {1, 2, 1, 3};
	static const unsigned order[] = {0};
	const RgPlacePool pool = {1, 2, 0, NULL};
	RgPlaceNeed needs[G_N_ELEMENTS(tenths)];
	RgPlacePart parts[G_N_ELEMENTS(tenths)];
	RgPlaceTask tasks[G_N_ELEMENTS(tenths)];
	for (unsigned t = 0; t < G_N_ELEMENTS(tenths); t++) {
		needs[t] = (RgPlaceNeed){true, 0, tenths[t] * (RG_PLACE_ONE / 10)};
		parts[t] = (RgPlacePart){1, &needs[t], NULL};
		tasks[t] = (RgPlaceTask){1, 1, &parts[t], RG_PLACE_PACK, RG_PLACE_ANY};
	}
	const RgPlaceProblem problem = {.pools = &pool,
		.tasks = tasks,
		.order = order,
		.n_pools = 1,
		.n_tasks = G_N_ELEMENTS(tenths)};
	bool sure = false;
	g_assert_true(rg_place_fits(&problem, each, &sure));
	g_assert_true(sure);
	g_assert_false(rg_place_fits(&problem, more, &sure));
	g_assert_true(sure);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pack/place/alone", test_alone_is_brute_force);
	g_test_add_func("/pack/place/together", test_together_is_brute_force);
	g_test_add_func("/pack/place/over_commit", test_nothing_is_over_committed);
	g_test_add_func("/pack/place/monotone", test_one_more_node_takes_nothing_away);
	g_test_add_func("/pack/place/monotone_many", test_many_nodes_are_monotone);
	g_test_add_func("/pack/place/same", test_same_question_same_answer);
	g_test_add_func("/pack/place/more_nodes", test_more_nodes_do_not_change_the_pool);
	g_test_add_func("/pack/place/deadlock", test_gangs_that_hold_half);
	g_test_add_func("/pack/place/sums", test_sums_are_counted_first);
	g_test_add_func("/pack/place/large", test_large_ones_are_quick);
	g_test_add_func("/pack/place/fractions", test_fractions_fill_gpus_exactly);
	return g_test_run();
}
