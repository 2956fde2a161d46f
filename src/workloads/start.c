#include "workloads/start.h"
#include <math.h>
#include <string.h>
#include "workloads/asks.h"

#define ALL_ORDERS_OF 4 /* of so many submissions, each order is tried; of more, some */
#define SOME_ORDERS 24
#define CHANCES 24	    /* ways to break ties by chance that are tried for each order */
#define MOST_VISITS 4000000 /* nodes to look at, for one form of the options */

/* ---- orders */

static bool takes_pool(const RgRayAsk *ask, unsigned pool)
{
	bool takes = false;
	for (unsigned i = 0; i < ask->n_bundles; i++)
		takes |= ask->bundles[i].pools[pool];
	return takes;
}

/* n_pools: no pool admits it. */
static unsigned first_pool(const RgAsks *asks, const RgRayAsk *ask)
{
	unsigned p = 0;
	while (p < asks->problem->n_pools && !takes_pool(ask, p))
		p++;
	return p;
}

/* Groups that spread need most room of their own, single tasks least. */
static unsigned rank_of(const RgRayAsk *ask)
{
	static const unsigned ranks[] = {[RG_PLACE_STRICT_SPREAD] = 0,
		[RG_PLACE_SPREAD] = 1,
		[RG_PLACE_STRICT_PACK] = 2,
		[RG_PLACE_PACK] = 2};
	return ask->is_group ? ranks[ask->strategy] : 3;
}

static uint64_t size_of(const RgRayAsk *ask)
{
	uint64_t size = 0;
	for (unsigned i = 0; i < ask->n_bundles; i++)
		size += ask->bundles[i].gpus;
	return size;
}

/* Groups that spread, then other groups, then tasks, large ones first. */
static int spread_first(gconstpointer a, gconstpointer b, gpointer asks)
{
	const RgRayAsk *x = rg_asks_at(asks, *(const unsigned *)a);
	const RgRayAsk *y = rg_asks_at(asks, *(const unsigned *)b);
	if (rank_of(x) != rank_of(y))
		return (int)rank_of(x) - (int)rank_of(y);
	if (size_of(x) != size_of(y))
		return size_of(x) > size_of(y) ? -1 : 1;
	return (int)x->task - (int)y->task;
}

static int large_first(gconstpointer a, gconstpointer b, gpointer asks)
{
	const RgRayAsk *x = rg_asks_at(asks, *(const unsigned *)a);
	const RgRayAsk *y = rg_asks_at(asks, *(const unsigned *)b);
	if (size_of(x) != size_of(y))
		return size_of(x) > size_of(y) ? -1 : 1;
	return spread_first(a, b, asks);
}

static void reverse(unsigned *order, unsigned n)
{
	for (unsigned i = 0; i < n / 2; i++) {
		unsigned other = order[n - 1 - i];
		order[n - 1 - i] = order[i];
		order[i] = other;
	}
}

static unsigned orders_of(unsigned n)
{
	unsigned all = 1;
	for (unsigned i = 2; i <= n && n <= ALL_ORDERS_OF; i++)
		all *= i;
	return n <= ALL_ORDERS_OF ? all : SOME_ORDERS;
}

/* The k-th order: what is best for the whole first. */
static void set_order(RgAsks *asks, unsigned k)
{
	unsigned n = asks->n;
	g_autoptr(GRand) rand = g_rand_new_with_seed(k);
	memcpy(asks->order, asks->some, n * sizeof *asks->order);
	if (n > ALL_ORDERS_OF && (k == 2 || k == 3))
		g_qsort_with_data(asks->order, (gint)n, sizeof *asks->order, large_first, asks);
	else
		g_qsort_with_data(asks->order, (gint)n, sizeof *asks->order, spread_first, asks);
	if (n > ALL_ORDERS_OF && k < 4 && k % 2 == 1)
		reverse(asks->order, n);
	if (n > ALL_ORDERS_OF && k < 4)
		return;
	for (unsigned i = 0; i + 1 < n; i++) {
		unsigned other = n > ALL_ORDERS_OF
					 ? (unsigned)g_rand_int_range(rand, 0, (gint)(n - i))
					 : k % (n - i);
		unsigned one = asks->order[i + other];
		k /= n > ALL_ORDERS_OF ? 1 : n - i;
		/* the others keep their order */
		memmove(&asks->order[i + 1], &asks->order[i], other * sizeof one);
		asks->order[i] = one;
	}
}

static bool starts(RgAsks *asks)
{
	bool good = true;
	for (unsigned ties = RG_RAY_FIRST; good && ties < RG_RAY_CHANCE + CHANCES; ties++)
		good = rg_ray_places(asks->problem, (RgRayAsk *)(void *)asks->asks->data,
			asks->order, asks->n, ties, &asks->visits);
	return good && asks->visits > 0;
}

/* Pools with the same number may share a submission; those with different ones never do. */
static unsigned *divide_pools(const RgAsks *asks)
{
	unsigned n = asks->problem->n_pools;
	unsigned *part = g_new(unsigned, n + 1);
	for (unsigned p = 0; p < n; p++)
		part[p] = p;
	for (guint i = 0; i < asks->asks->len; i++) {
		const RgRayAsk *ask = rg_asks_at(asks, i);
		unsigned first = first_pool(asks, ask);
		for (unsigned p = first; p < n; p++) {
			unsigned old = part[p];
			for (unsigned q = 0; takes_pool(ask, p) && q < n; q++)
				part[q] = part[q] == old ? part[first] : part[q];
		}
	}
	return part;
}

/* Those on pools with this number; n_pools: those that nothing admits. */
static void look_at(RgAsks *asks, const unsigned *part, unsigned number)
{
	asks->n = 0;
	for (guint i = 0; i < asks->asks->len; i++) {
		unsigned first = first_pool(asks, rg_asks_at(asks, i));
		if ((first < asks->problem->n_pools ? part[first] : first) == number)
			asks->some[asks->n++] = i;
	}
}

/* Submissions that share no pool never meet: their order is without effect. */
static bool starts_in_any_order(RgAsks *asks)
{
	g_autofree unsigned *part = divide_pools(asks);
	for (unsigned number = 0; number <= asks->problem->n_pools; number++) {
		look_at(asks, part, number);
		asks->visits = MOST_VISITS;
		for (unsigned k = 0; asks->n > 0 && k < orders_of(asks->n); k++) {
			set_order(asks, k);
			if (starts(asks))
				continue;
			if (k == 0 || asks->visits > 0)
				return false;
			break;
		}
	}
	return true;
}

/* Workloads in the order of their first submission, each as a whole. */
static void gather(const RgAsks *asks, RgStart *start)
{
	unsigned n = 0, at = 0, all = asks->asks->len;
	g_autofree unsigned *whole = g_new0(unsigned, all + 1);
	for (unsigned i = 0; i < all; i++) {
		unsigned task = rg_asks_at(asks, asks->order[i])->task;
		bool known = false;
		for (unsigned k = 0; k < n; k++)
			known |= start->order[k] == task;
		if (!known)
			start->order[n++] = task;
	}
	for (unsigned k = 0; k < n; k++) {
		for (unsigned i = 0; i < all; i++) {
			if (rg_asks_at(asks, i)->task == start->order[k])
				whole[at++] = i;
		}
	}
	memcpy(asks->order, whole, all * sizeof *whole);
	for (unsigned t = 0; t < asks->problem->n_tasks; t++) {
		bool known = false;
		for (unsigned k = 0; k < n; k++)
			known |= start->order[k] == t;
		if (!known)
			start->order[n++] = t;
	}
}

static bool starts_in_order(RgAsks *asks, RgStart *start)
{
	asks->visits = MOST_VISITS;
	asks->n = asks->asks->len;
	for (unsigned i = 0; i < asks->n; i++)
		asks->some[i] = i;
	for (unsigned k = 0; k < orders_of(asks->n); k++) {
		set_order(asks, k);
		gather(asks, start);
		if (starts(asks))
			return true;
	}
	return false;
}

/* ---- which form */

/* Whether another workload was placed on a pool of this one. */
static bool shares_pool(const RgPlaceProblem *problem, const RgPlaced *placed, unsigned task)
{
	for (unsigned p = 0; p < problem->n_pools; p++) {
		for (unsigned t = 0; t < problem->n_tasks; t++) {
			if (t != task && placed->bundles[task * problem->n_pools + p] > 0 &&
				placed->bundles[t * problem->n_pools + p] > 0)
				return true;
		}
	}
	return false;
}

static json_t *all_options(const RgDemand *demand, const RgPlaced *placed, RgOptionForm form)
{
	json_t *all = json_array();
	for (unsigned t = 0; t < demand->problem.n_tasks; t++) {
		RgOptionForm own = form;
		own.apart = form.apart && shares_pool(&demand->problem, placed, t);
		json_array_append_new(all, rg_fit_options(demand, placed, t, own));
	}
	return all;
}

static bool try_form(RgStart *start, const RgDemand *demand, const RgPlaced *placed,
	RgOptionForm form, RgStartHow how)
{
	RgAsks asks;
	json_decref(start->options);
	start->options = all_options(demand, placed, form);
	start->form = form;
	start->how = how;
	rg_asks_init(&asks, demand, start->options, 0, demand->problem.n_tasks);
	bool good = how == RG_START_ANY_ORDER  ? starts_in_any_order(&asks)
		    : how == RG_START_IN_ORDER ? starts_in_order(&asks, start)
					       : true;
	for (guint i = 0; good && i < asks.asks->len; i++) {
		const RgRayAsk *ask = rg_asks_at(&asks, i);
		if (ask->is_group)
			start->nodes[ask->task] = MAX(start->nodes[ask->task], ask->nodes);
	}
	rg_asks_clear(&asks);
	return good;
}

RgStart *rg_start_new(const RgDemand *demand, const RgPlaced *placed)
{
	static const RgOptionForm forms[] = {{false, false}, {true, false}, {true, true}};
	RgStart *start = g_new0(RgStart, 1);
	start->order = g_new0(unsigned, demand->problem.n_tasks + 1);
	start->nodes = g_new0(unsigned, demand->problem.n_tasks + 1);
	for (unsigned how = RG_START_ANY_ORDER; how <= RG_START_IN_ORDER; how++) {
		for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
			if (try_form(start, demand, placed, forms[i], how))
				return start;
		}
	}
	try_form(start, demand, placed, forms[2], RG_START_UNCERTAIN);
	return start;
}

void rg_start_free(RgStart *start)
{
	if (!start)
		return;
	json_decref(start->options);
	g_free(start->order);
	g_free(start->nodes);
	g_free(start);
}

unsigned rg_start_leaves_nvlink(
	const RgStart *start, const RgDemand *demand, const RgPlaced *placed, unsigned task)
{
	const RgPlaceProblem *problem = &demand->problem;
	const RgPlaceTask *wish = &problem->tasks[task];
	unsigned most = 0;
	double gpus = 0;
	for (unsigned p = 0; p < problem->n_pools; p++) {
		const RgGpuModel *gpu = rg_demand_shape(demand, p)->type->gpu;
		if (placed->bundles[task * problem->n_pools + p] == 0 || !gpu)
			continue;
		if (gpu->nvlink_gb_s <= 0)
			return 0;
		most = MAX(most, problem->pools[p].gpus);
	}
	for (unsigned i = 0; i < wish->n_parts; i++)
		gpus += wish->parts[i].count * rg_demand_bundle(demand, task, i)->gpus;
	unsigned fewest = most > 0 ? (unsigned)ceil(gpus / most) : 0;
	return wish->strategy == RG_PLACE_PACK && start->nodes[task] > fewest ? fewest : 0;
}

/* A unit, or a bundle of one that may be anywhere, alone on a node of the pool. */
static bool runs_on(const RgPlaceProblem *problem, const RgRayAsk *ask, unsigned pool)
{
	g_autofree RgPlacePool *pools =
		g_memdup2(problem->pools, problem->n_pools * sizeof *problem->pools);
	RgPlaceProblem alone = *problem;
	RgRayAsk one = *ask;
	unsigned first = 0, visits = MOST_VISITS;
	bool whole = ask->is_group && ask->strategy == RG_PLACE_STRICT_PACK;
	bool good = false;
	for (unsigned p = 0; p < problem->n_pools; p++)
		pools[p].nodes = p == pool && pools[p].nodes > 0;
	alone.pools = pools;
	one.units = 1;
	one.n_bundles = whole ? ask->n_bundles : 1;
	for (unsigned i = 0; !good && i < (whole ? 1 : ask->n_bundles); i++) {
		one.bundles = &ask->bundles[i];
		good = rg_ray_places(&alone, &one, &first, 1, RG_RAY_FIRST, &visits);
	}
	return good;
}

bool *rg_start_strays(const RgStart *start, const RgDemand *demand, unsigned task)
{
	RgAsks asks;
	bool *strays = g_new0(bool, demand->problem.n_pools + 1);
	rg_asks_init(&asks, demand, start->options, task, task + 1);
	for (unsigned p = 0; p < demand->problem.n_pools; p++) {
		bool wrong = rg_demand_why(demand, task, p) != NULL;
		for (guint i = 0; wrong && i < asks.asks->len && !strays[p]; i++)
			strays[p] = runs_on(asks.problem, rg_asks_at(&asks, i), p);
	}
	rg_asks_clear(&asks);
	return strays;
}

const char *rg_start_word(RgStartHow how)
{
	static const char *const words[] = {[RG_START_ANY_ORDER] = "any_order",
		[RG_START_IN_ORDER] = "in_order",
		[RG_START_UNCERTAIN] = "uncertain"};
	return words[how];
}
