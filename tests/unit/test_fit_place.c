/* Placement compared with brute force: random small problems, each node and each GPU separately. */
#include "fit/place.h"
#include <string.h>

#define POOLS 3
#define TASKS 3
#define NODES 4
#define GPUS 3
#define AMOUNTS 2

/* A problem with its own memory. */
typedef struct {
	RgPlaceProblem problem;
	RgPlacePool pools[POOLS];
	RgPlaceTask tasks[TASKS];
	RgPlaceNeed needs[TASKS][POOLS];
	int64_t has[POOLS][AMOUNTS], takes[TASKS][AMOUNTS];
	unsigned order[TASKS][POOLS];
} Case;

static unsigned roll(GRand *rand, unsigned from, unsigned to)
{
	return (unsigned)g_rand_int_range(rand, (gint32)from, (gint32)to + 1);
}

static void make_task(GRand *rand, Case *c, unsigned t)
{
	static const unsigned parts[] = {2500, 3334, 5000, 6000, 7500};
	bool parted = roll(rand, 0, 1) == 1;
	unsigned whole = roll(rand, 0, 2);
	RgPlaceTask *task = &c->tasks[t];
	task->units = roll(rand, 1, 4);
	task->bundles = roll(rand, 0, 2) == 0 ? roll(rand, 2, 3) : 1;
	task->spread = task->bundles > 1 && roll(rand, 0, 2) > 0;
	for (unsigned p = 0; p < POOLS; p++) {
		RgPlaceNeed *need = &c->needs[t][p];
		need->admitted = roll(rand, 0, 3) > 0;
		need->part = parted ? parts[roll(rand, 0, G_N_ELEMENTS(parts) - 1)] : 0;
		need->whole = parted ? 0 : whole;
		c->order[t][p] = (p + t) % POOLS;
	}
	for (unsigned i = 0; i < AMOUNTS; i++)
		c->takes[t][i] = roll(rand, i == 0 ? 1 : 0, 2);
	task->on = c->needs[t];
	task->amounts = c->takes[t];
	task->order = c->order[t];
}

static void make_case(GRand *rand, Case *c)
{
	memset(c, 0, sizeof *c);
	unsigned left = NODES;
	for (unsigned p = 0; p < POOLS; p++) {
		c->pools[p].nodes = roll(rand, 0, MIN(left, 2));
		left -= c->pools[p].nodes;
		c->pools[p].gpus = roll(rand, 0, GPUS);
		for (unsigned i = 0; i < AMOUNTS; i++)
			c->has[p][i] = roll(rand, 0, 3);
		c->pools[p].amounts = c->has[p];
	}
	for (unsigned t = 0; t < TASKS; t++)
		make_task(rand, c, t);
	c->problem = (RgPlaceProblem){c->pools, c->tasks, POOLS, AMOUNTS, roll(rand, 1, TASKS)};
	for (unsigned t = c->problem.n_tasks; t < TASKS; t++)
		c->tasks[t] = (RgPlaceTask){.units = 1000000, .bundles = 1}; /* none of it */
}

/* So few whole GPUs that every placement is tried. */
static bool is_settled(const Case *c)
{
	unsigned units = 0;
	bool whole = true;
	for (unsigned t = 0; t < c->problem.n_tasks; t++) {
		units += c->tasks[t].units * c->tasks[t].bundles;
		for (unsigned p = 0; p < POOLS; p++)
			whole &= c->needs[t][p].part == 0;
	}
	return whole && units <= RG_PLACE_SMALL;
}

/* ---- brute force: nodes and GPUs one by one, no shared state with the code under test */

typedef struct {
	const RgPlaceProblem *problem;
	unsigned n_nodes, pool_of[NODES * 4];
	int64_t gpu[NODES * 4][GPUS], left[NODES * 4][AMOUNTS];
} World;

static void make_world(World *w, const RgPlaceProblem *problem)
{
	memset(w, 0, sizeof *w);
	w->problem = problem;
	for (unsigned p = 0; p < problem->n_pools; p++) {
		for (unsigned n = 0; n < problem->pools[p].nodes; n++) {
			for (unsigned i = 0; i < problem->n_amounts; i++)
				w->left[w->n_nodes][i] = problem->pools[p].amounts[i];
			w->pool_of[w->n_nodes++] = p;
		}
	}
}

/* A bundle of task t on node n, GPU d first; false: it does not fit. */
static bool put(World *w, unsigned t, unsigned n, unsigned d)
{
	const RgPlaceTask *task = &w->problem->tasks[t];
	const RgPlaceNeed *need = &task->on[w->pool_of[n]];
	unsigned gpus = w->problem->pools[w->pool_of[n]].gpus, found = 0;
	if (!need->admitted)
		return false;
	for (unsigned i = 0; i < w->problem->n_amounts; i++) {
		w->left[n][i] -= task->amounts[i];
		if (w->left[n][i] < 0)
			return false;
	}
	if (need->part > 0) {
		if (d >= gpus)
			return false;
		w->gpu[n][d] += need->part;
		return w->gpu[n][d] <= RG_PLACE_ONE;
	}
	for (unsigned k = 0; k < gpus && found < need->whole; k++) {
		if (w->gpu[n][k] == 0) {
			w->gpu[n][k] = RG_PLACE_ONE;
			found++;
		}
	}
	(void)d;
	return found == need->whole;
}

static bool all_fit(const World *w, unsigned t, unsigned unit, unsigned bundle, unsigned from)
{
	const RgPlaceProblem *problem = w->problem;
	if (t == problem->n_tasks)
		return true;
	const RgPlaceTask *task = &problem->tasks[t];
	if (unit == task->units)
		return all_fit(w, t + 1, 0, 0, 0);
	if (bundle == task->bundles)
		return all_fit(w, t, unit + 1, 0, task->spread ? 0 : from);
	/* equal bundles in the order of the nodes: swapping them makes no difference */
	for (unsigned n = from; n < w->n_nodes; n++) {
		for (unsigned d = 0; d < GPUS; d++) {
			World next = *w;
			unsigned after = task->spread ? n + 1 : n;
			if (d > 0 && w->gpu[n][d] == w->gpu[n][d - 1])
				continue;
			if (put(&next, t, n, d) && all_fit(&next, t, unit, bundle + 1, after))
				return true;
		}
	}
	return false;
}

static unsigned brute_alone(const Case *c, unsigned t)
{
	RgPlaceTask task = c->tasks[t];
	RgPlaceProblem one = {c->pools, &task, POOLS, AMOUNTS, 1};
	World w;
	make_world(&w, &one);
	for (task.units = 0;; task.units++) {
		RgPlaceTask more = task;
		more.units++;
		one.tasks = &more;
		w.problem = &one;
		if (!all_fit(&w, 0, 0, 0, 0))
			return task.units;
	}
}

#define RANDOM_CASES 3000

static void test_alone_is_brute_force(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(7);
	unsigned some = 0;
	for (unsigned i = 0; i < RANDOM_CASES; i++) {
		Case c;
		make_case(rand, &c);
		for (unsigned t = 0; t < c.problem.n_tasks; t++) {
			unsigned brute = brute_alone(&c, t);
			g_assert_cmpuint(rg_place_alone(&c.problem, t), ==, brute);
			some += brute > 1;
		}
	}
	g_assert_cmpuint(some, >, 50);
}

static void test_together_is_brute_force(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(11);
	unsigned fit = 0, hopeful = 0;
	for (unsigned i = 0; i < RANDOM_CASES; i++) {
		Case c;
		make_case(rand, &c);
		bool each = true;
		for (unsigned t = 0; t < c.problem.n_tasks; t++)
			each &= rg_place_alone(&c.problem, t) >= c.tasks[t].units;
		World w;
		make_world(&w, &c.problem);
		bool brute = each && all_fit(&w, 0, 0, 0, 0);
		g_autoptr(RgPlaced) placed = rg_place_together(&c.problem);
		if (placed->exact)
			g_assert_cmpint(placed->all, ==, brute);
		else
			g_assert_false(placed->all);
		g_assert_true(placed->exact || !is_settled(&c));
		fit += brute;
		hopeful += each && !brute;
	}
	g_assert_cmpuint(fit, >, 40);
	g_assert_cmpuint(hopeful, >, 5);
}

/* Fractions of a GPU never sum up to more than one, amounts never to more than the node has. */
static void test_nothing_is_over_committed(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(13);
	for (unsigned i = 0; i < 2000; i++) {
		Case c;
		make_case(rand, &c);
		g_autoptr(RgPlaced) placed = rg_place_together(&c.problem);
		for (unsigned p = 0; p < POOLS; p++) {
			uint64_t taken = 0, amounts[AMOUNTS] = {0};
			for (unsigned t = 0; t < c.problem.n_tasks; t++) {
				const RgPlaceNeed *need = &c.needs[t][p];
				uint64_t n = placed->bundles[t * POOLS + p];
				g_assert_true(n == 0 || need->admitted);
				taken += n * (need->whole * RG_PLACE_ONE + need->part);
				for (unsigned k = 0; k < AMOUNTS; k++)
					amounts[k] += n * (uint64_t)c.takes[t][k];
			}
			const RgPlaceUse *use = &placed->use[p];
			g_assert_cmpuint(use->used, ==, taken);
			g_assert_cmpuint(use->total, ==,
				(uint64_t)c.pools[p].nodes * c.pools[p].gpus * RG_PLACE_ONE);
			g_assert_cmpuint(use->used + use->stranded, <=, use->total);
			for (unsigned k = 0; k < AMOUNTS; k++)
				g_assert_cmpuint(
					amounts[k], <=, (uint64_t)c.has[p][k] * c.pools[p].nodes);
		}
		for (unsigned t = 0; t < c.problem.n_tasks; t++) {
			uint64_t sum = 0;
			for (unsigned p = 0; p < POOLS; p++)
				sum += placed->bundles[t * POOLS + p];
			g_assert_cmpuint(sum, ==, (uint64_t)placed->units[t] * c.tasks[t].bundles);
			g_assert_cmpuint(placed->units[t], <=, rg_place_alone(&c.problem, t));
		}
	}
}

static void test_one_more_node_takes_nothing_away(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(17);
	for (unsigned i = 0; i < 2000; i++) {
		Case c;
		make_case(rand, &c);
		uint64_t before[TASKS];
		for (unsigned t = 0; t < c.problem.n_tasks; t++)
			before[t] = rg_place_alone(&c.problem, t);
		g_autoptr(RgPlaced) first = rg_place_together(&c.problem);
		c.pools[roll(rand, 0, POOLS - 1)].nodes++;
		for (unsigned t = 0; t < c.problem.n_tasks; t++)
			g_assert_cmpuint(rg_place_alone(&c.problem, t), >=, before[t]);
		g_autoptr(RgPlaced) second = rg_place_together(&c.problem);
		if (first->all && second->exact)
			g_assert_true(second->all);
	}
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

/* Two gangs of two groups each, on nodes for three groups: each may get one and wait. */
static void test_gangs_that_hold_half(void)
{
	static const int64_t none[1] = {0};
	static const unsigned order[1] = {0};
	RgPlacePool pool = {6, 8, none};
	RgPlaceNeed need = {true, 8, 0};
	RgPlaceTask tasks[2] = {{2, 2, true, &need, none, order}, {2, 2, true, &need, none, order}};
	RgPlaceProblem problem = {&pool, tasks, 1, 0, 2};
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

/* 500 replicas on 1,000 nodes: the time is printed, not asserted. */
static void test_large_ones_are_quick(void)
{
	int64_t has[2] = {96 * RG_PLACE_ONE, 800},
		takes[3][2] = {{RG_PLACE_ONE, 0}, {RG_PLACE_ONE, 0}, {RG_PLACE_ONE, 0}};
	static const unsigned order[2] = {0, 1};
	RgPlacePool pools[2] = {{600, 8, has}, {400, 4, has}};
	RgPlaceNeed whole[2] = {{true, 8, 0}, {false, 0, 0}},
		    part[2] = {{true, 0, 2500}, {true, 0, 2500}},
		    two[2] = {{true, 2, 0}, {true, 2, 0}};
	RgPlaceTask tasks[3] = {{100, 5, true, whole, takes[0], order},
		{200, 1, false, part, takes[1], order}, {200, 1, false, two, takes[2], order}};
	RgPlaceProblem problem = {pools, tasks, 2, 2, 3};
	gint64 start = g_get_monotonic_time();
	g_autoptr(RgPlaced) placed = rg_place_together(&problem);
	g_test_message("500 replicas on 1000 nodes: %.2f ms",
		(double)(g_get_monotonic_time() - start) / 1000);
	g_assert_true(placed->all);
	g_assert_cmpuint(placed->units[0], ==, 100);
	g_assert_cmpuint(placed->units[1], ==, 200);
	g_assert_cmpuint(placed->units[2], ==, 200);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/fit/place/alone", test_alone_is_brute_force);
	g_test_add_func("/fit/place/together", test_together_is_brute_force);
	g_test_add_func("/fit/place/over_commit", test_nothing_is_over_committed);
	g_test_add_func("/fit/place/monotone", test_one_more_node_takes_nothing_away);
	g_test_add_func("/fit/place/same", test_same_question_same_answer);
	g_test_add_func("/fit/place/deadlock", test_gangs_that_hold_half);
	g_test_add_func("/fit/place/large", test_large_ones_are_quick);
	return g_test_run();
}
