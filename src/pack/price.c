/* The most that one node can hold, by weight of the items: branch and bound over their numbers, the
 * densest first. Where that takes long, a limit is certain: what the node's resources can hold at
 * most, or its GPUs, each with the heaviest fractions that have room on one. */
#include <string.h>
#include "pack/internal.h"

#define UNBOUNDED 1e30
#define ROUGH_STEP 10 /* of a GPU's 10,000, where fractions have no larger one in common */

typedef struct {
	RgPricing *pricing;
	unsigned pool, tries, *n;
	int64_t value, best;
	double limit; /* nothing is heavier */
	double *free; /* of each dimension */
} Knapsack;

/* Dimensions of a node: its GPUs, then the amounts. */
static double size_in(const RgPricing *pricing, unsigned i, unsigned pool, unsigned dimension)
{
	const RgPlaceProblem *problem = pricing->check.problem;
	const RgItem *item = &pricing->check.items[i];
	const RgPlaceTask *task = &problem->tasks[item->task];
	double size = 0;
	for (unsigned k = 0; k < task->n_parts; k++) {
		const RgPlacePart *part = &task->parts[k];
		const RgPlaceNeed *need = &part->on[pool];
		double one = dimension == 0 ? (double)need->whole * RG_PLACE_ONE + need->part
					    : (double)part->amounts[dimension - 1];
		if (item->is_unit || k == item->part)
			size += one * (item->is_unit ? part->count : 1);
	}
	return size;
}

static double has_of(const RgPlaceProblem *problem, unsigned pool, unsigned dimension)
{
	return dimension == 0 ? (double)problem->pools[pool].gpus * RG_PLACE_ONE
			      : (double)problem->pools[pool].amounts[dimension - 1];
}

void rg_pricing_init(
	RgPricing *pricing, const RgPlaceProblem *problem, const RgItem *items, unsigned n_items)
{
	g_autofree unsigned *n = g_new0(unsigned, n_items + 1);
	pricing->dimensions = problem->n_amounts + 1;
	rg_node_check_init(&pricing->check, problem, items, n_items);
	pricing->room = g_new0(unsigned, (size_t)n_items * problem->n_pools + 1);
	pricing->size =
		g_new0(double, (size_t)n_items * problem->n_pools * pricing->dimensions + 1);
	pricing->order = g_new0(unsigned, n_items + 1);
	pricing->density = g_new0(double, ((size_t)n_items + 1) * pricing->dimensions);
	for (unsigned p = 0; p < problem->n_pools; p++) {
		for (unsigned i = 0; i < n_items; i++) {
			unsigned at = p * n_items + i;
			pricing->room[at] = rg_node_most(&pricing->check, p, n, i, items[i].demand);
			for (unsigned d = 0; d < pricing->dimensions; d++)
				pricing->size[at * pricing->dimensions + d] =
					size_in(pricing, i, p, d);
		}
	}
}

void rg_pricing_clear(RgPricing *pricing)
{
	rg_node_check_clear(&pricing->check);
	g_free(pricing->room);
	g_free(pricing->size);
	g_free(pricing->order);
	g_free(pricing->density);
}

/* Weight for the largest share of a node that one takes. */
static double density_of(const RgPricing *pricing, const int64_t *weight, unsigned i, unsigned pool)
{
	const double *size =
		&pricing->size[(pool * pricing->check.n_items + i) * pricing->dimensions];
	double share = 1e-9;
	for (unsigned d = 0; d < pricing->dimensions; d++) {
		double has = has_of(pricing->check.problem, pool, d);
		if (size[d] > 0 && has > 0)
			share = MAX(share, size[d] / has);
	}
	return (double)weight[i] / share;
}

/* Items with weight and room in descending order of density, and the densest from each on in each
 * dimension; an item that takes nothing of a dimension has no bound there. */
static unsigned sort_items(RgPricing *pricing, const int64_t *weight, unsigned pool)
{
	unsigned n = 0, items = pricing->check.n_items;
	for (unsigned i = 0; i < items; i++) {
		if (weight[i] == 0 || pricing->room[pool * items + i] == 0)
			continue;
		unsigned at = n++;
		double mine = density_of(pricing, weight, i, pool);
		for (; at > 0 && density_of(pricing, weight, pricing->order[at - 1], pool) < mine;
			at--)
			pricing->order[at] = pricing->order[at - 1];
		pricing->order[at] = i;
	}
	for (unsigned d = 0; d < pricing->dimensions; d++)
		pricing->density[n * pricing->dimensions + d] = 0;
	for (unsigned k = n; k-- > 0;) {
		unsigned i = pricing->order[k];
		const double *size = &pricing->size[(pool * items + i) * pricing->dimensions];
		for (unsigned d = 0; d < pricing->dimensions; d++) {
			double *now = &pricing->density[k * pricing->dimensions + d];
			double mine = size[d] > 0 ? (double)weight[i] / size[d] : UNBOUNDED;
			*now = MAX(now[pricing->dimensions], mine);
		}
	}
	return n;
}

/* What the items from `k` on can add at most. */
static double rest_of(const Knapsack *sack, const int64_t *weight, unsigned k, unsigned n)
{
	const RgPricing *pricing = sack->pricing;
	double most = 0;
	for (unsigned j = k; j < n; j++) {
		unsigned i = pricing->order[j];
		most += (double)weight[i] * pricing->room[sack->pool * pricing->check.n_items + i];
	}
	for (unsigned d = 0; d < pricing->dimensions; d++) {
		double density = pricing->density[k * pricing->dimensions + d];
		if (density < UNBOUNDED)
			most = MIN(most, density * MAX(sack->free[d], 0));
	}
	return most;
}

static void use(Knapsack *sack, unsigned i, double count)
{
	const RgPricing *pricing = sack->pricing;
	const double *size =
		&pricing->size[(sack->pool * pricing->check.n_items + i) * pricing->dimensions];
	for (unsigned d = 0; d < pricing->dimensions; d++)
		sack->free[d] -= size[d] * count;
}

static void fill(Knapsack *sack, const int64_t *weight, unsigned k, unsigned n, guint16 *best)
{
	RgPricing *pricing = sack->pricing;
	unsigned items = pricing->check.n_items;
	if (sack->value > sack->best) {
		sack->best = sack->value;
		for (unsigned i = 0; i < items; i++)
			best[i] = (guint16)MIN(sack->n[i], G_MAXUINT16);
	}
	/* rounding must not cut off what is better */
	if (k == n || (double)sack->best + 1 > sack->limit ||
		(double)sack->value + rest_of(sack, weight, k, n) * (1 + 1e-9) + 1e-6 <
			(double)sack->best + 1)
		return;
	if (sack->tries == 0)
		return;
	sack->tries--;
	unsigned i = pricing->order[k];
	unsigned most = rg_node_most(
		&pricing->check, sack->pool, sack->n, i, pricing->room[sack->pool * items + i]);
	for (unsigned take = most + 1; take-- > 0 && sack->tries > 0;) {
		sack->n[i] = take;
		sack->value += weight[i] * take;
		use(sack, i, take);
		fill(sack, weight, k + 1, n, best);
		use(sack, i, -(double)take);
		sack->value -= weight[i] * take;
		sack->n[i] = 0;
	}
}

/* ---- one GPU */

static unsigned gcd_of(unsigned a, unsigned b)
{
	while (b > 0) {
		unsigned rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* In which parts of a GPU the fractions are counted; fewer parts if none becomes nothing. */
static unsigned step_of(const unsigned *size, unsigned n)
{
	unsigned step = RG_PLACE_ONE, least = RG_PLACE_ONE;
	for (unsigned i = 0; i < n; i++) {
		step = gcd_of(step, size[i]);
		least = MIN(least, size[i]);
	}
	return MAX(step, MIN(least, ROUGH_STEP));
}

/* No GPU holds fractions that are worth more, each any number of times. */
static double heaviest(const unsigned *size, const double *value, unsigned n)
{
	unsigned step = step_of(size, n), room = RG_PLACE_ONE / step;
	g_autofree double *most = g_new0(double, room + 1);
	for (unsigned r = 1; r <= room; r++) {
		most[r] = most[r - 1];
		for (unsigned i = 0; i < n; i++) {
			unsigned takes = size[i] / step;
			if (takes <= r)
				most[r] = MAX(most[r], most[r - takes] + value[i]);
		}
	}
	return most[room];
}

/* The weight of a unit is divided over its bundles by what they take of GPUs. */
static double most_on_gpus(const RgPricing *pricing, const int64_t *weight, unsigned pool)
{
	const RgPlaceProblem *problem = pricing->check.problem;
	unsigned items = pricing->check.n_items, n = 0;
	unsigned parts = 1;
	for (unsigned i = 0; i < items; i++)
		parts += problem->tasks[pricing->check.items[i].task].n_parts;
	g_autofree unsigned *size = g_new0(unsigned, parts);
	g_autofree double *value = g_new0(double, parts);
	double on_gpu = 0, beside = 0;
	for (unsigned i = 0; i < items; i++) {
		const RgItem *item = &pricing->check.items[i];
		const RgPlaceTask *task = &problem->tasks[item->task];
		double all = pricing->size[(pool * items + i) * pricing->dimensions];
		unsigned room = pricing->room[pool * items + i];
		if (weight[i] == 0 || room == 0)
			continue;
		beside += all > 0 ? 0 : (double)weight[i] * room;
		for (unsigned k = 0; all > 0 && k < task->n_parts; k++) {
			const RgPlaceNeed *need = &task->parts[k].on[pool];
			double each = (double)weight[i] / all;
			if (!item->is_unit && k != item->part)
				continue;
			if (need->whole > 0)
				on_gpu = MAX(on_gpu, each * RG_PLACE_ONE);
			if (need->part > 0) {
				size[n] = need->part;
				value[n++] = each * need->part;
			}
		}
	}
	return problem->pools[pool].gpus * MAX(on_gpu, heaviest(size, value, n)) + beside;
}

int64_t rg_pricing_most(
	RgPricing *pricing, const int64_t *weight, unsigned pool, guint16 *best, unsigned tries)
{
	unsigned items = pricing->check.n_items;
	g_autofree unsigned *n = g_new0(unsigned, items + 1);
	g_autofree double *room = g_new0(double, pricing->dimensions);
	Knapsack sack = {.pricing = pricing, .pool = pool, .tries = tries, .n = n, .free = room};
	unsigned sorted = sort_items(pricing, weight, pool);
	memset(best, 0, items * sizeof *best);
	for (unsigned d = 0; d < pricing->dimensions; d++)
		room[d] = has_of(pricing->check.problem, pool, d);
	double bound = rest_of(&sack, weight, 0, sorted);
	bound = MIN(bound, most_on_gpus(pricing, weight, pool));
	sack.limit = bound * (1 + 1e-9) + 1e-6;
	fill(&sack, weight, 0, sorted, best);
	pricing->tried += tries - sack.tries;
	if (sack.tries > 0 && pricing->check.sure)
		return sack.best;
	/* not everything was tried: what is certain is the bound */
	return bound < 1e14 ? (int64_t)(bound * (1 + 1e-9)) + 1 : RG_PRICING_UNKNOWN;
}
