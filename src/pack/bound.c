/* Proofs that something cannot fit. A proof is a weight for each item on each pool: if what has to
 * be placed weighs more, wherever it goes, than the nodes can hold at most, it does not fit. The
 * weights are the dual prices of a linear program: fractions of nodes, each filled in one of its
 * patterns, that leave as little as possible unplaced (Gilmore and Gomory, 1961). They are rounded
 * to integers before a proof is accepted, so that no floating-point error can make one.
 *
 * Columns of the program: how many of an item are on a pool, and how many of these have no place,
 * which is what is minimized; then nodes with a pattern, which are added when they turn out to be
 * useful (price.c). Rows: nodes of each pool; how many of each item; room for an item on a
 * pool. GLPK solves it. */
#include <math.h>
#include <string.h>
#include <glpk.h>
#include "pack/internal.h"

#define SCALE (1 << 30) /* of a weight of 1 */
#define EPSILON 1e-6
#define MOST_ROUNDS 400
#define MOST_PROOFS 64
#define QUICK_TRIES 200 /* for a useful pattern; then for the best one */
#define BEST_TRIES 6000
#define TRIES_OF_STEP 8 /* what a step of the search costs */
#define PIVOTS_OF_STEP 1

struct RgBounds {
	unsigned n, n_pools, cells; /* items, pools, items * pools */
	RgPricing pricing;
	glp_prob *program;
	glp_smcp control;
	int patterns;	   /* columns before the first one */
	int *row, *column; /* [item * n_pools + pool]; 0: it cannot be there */
	int64_t *proofs;   /* [proof * width]: of an item on a pool, then the most on a node */
	int64_t *weight;   /* the same, of the next proof */
	unsigned width, n_proofs, next;
	bool failed; /* the last program was not solved */
	guint16 *pattern;
	int *indexes;
	double *values;
};

/* The library failed; its memory, programs included, is still to be freed. */
static _Thread_local bool is_broken;

/* ---- proofs */

/* The least that `need` of the item weigh: the lightest pools take all that they may. */
static int64_t lightest(const RgBounds *bounds, const int64_t *weight, unsigned i, RgRest rest)
{
	unsigned from = i * bounds->n_pools, left = rest.need[i];
	int64_t sum = 0, limit = -1;
	for (unsigned p = 0; p < bounds->n_pools; p++) {
		sum += weight[from + p] * rest.low[from + p];
		left -= MIN(left, rest.low[from + p]);
	}
	while (left > 0) {
		int64_t next = INT64_MAX;
		uint64_t room = 0;
		for (unsigned p = 0; p < bounds->n_pools; p++) {
			if (bounds->row[from + p] && weight[from + p] > limit &&
				rest.nodes[p] > 0 && rest.high[from + p] > 0)
				next = MIN(next, weight[from + p]);
		}
		if (next == INT64_MAX)
			return -1;
		for (unsigned p = 0; p < bounds->n_pools; p++) {
			if (!bounds->row[from + p] || weight[from + p] != next ||
				rest.nodes[p] == 0)
				continue;
			room += rest.high[from + p] - rest.low[from + p];
		}
		sum += next * (int64_t)MIN(room, left);
		left -= (unsigned)MIN(room, left);
		limit = next;
	}
	return sum;
}

static bool refutes(const RgBounds *bounds, const int64_t *proof, RgRest rest)
{
	int64_t needed = 0, held = 0;
	for (unsigned p = 0; p < bounds->n_pools; p++) {
		if (rest.nodes[p] > 0 && proof[bounds->cells + p] == RG_PRICING_UNKNOWN)
			return false;
		held += rest.nodes[p] > 0 ? proof[bounds->cells + p] * rest.nodes[p] : 0;
	}
	for (unsigned i = 0; i < bounds->n; i++) {
		int64_t least = lightest(bounds, proof, i, rest);
		if (least < 0)
			return true;
		needed += least;
	}
	return needed > held;
}

bool rg_bounds_refute_again(const RgBounds *bounds, RgRest rest)
{
	for (unsigned k = 0; k < bounds->n_proofs; k++) {
		if (refutes(bounds, &bounds->proofs[k * bounds->width], rest))
			return true;
	}
	return false;
}

/* The oldest makes room. */
static void remember(RgBounds *bounds)
{
	memcpy(&bounds->proofs[bounds->next * bounds->width], bounds->weight,
		bounds->width * sizeof *bounds->weight);
	bounds->n_proofs = MAX(bounds->n_proofs, bounds->next + 1);
	bounds->next = (bounds->next + 1) % MOST_PROOFS;
}

/* ---- the linear program */

static int row_of_pool(unsigned p)
{
	return (int)p + 1;
}

static int row_of_item(const RgBounds *bounds, unsigned i)
{
	return (int)(bounds->n_pools + i) + 1;
}

static void set_bounds(RgBounds *bounds, RgRest rest)
{
	for (unsigned p = 0; p < bounds->n_pools; p++)
		glp_set_row_bnds(bounds->program, row_of_pool(p), GLP_UP, 0, rest.nodes[p]);
	for (unsigned i = 0; i < bounds->n; i++)
		glp_set_row_bnds(bounds->program, row_of_item(bounds, i), GLP_FX, rest.need[i],
			rest.need[i]);
	for (unsigned k = 0; k < bounds->cells; k++) {
		bool none = rest.nodes[k % bounds->n_pools] == 0;
		double low = none ? 0 : rest.low[k], high = none ? 0 : rest.high[k];
		if (bounds->column[k])
			glp_set_col_bnds(bounds->program, bounds->column[k],
				low < high ? GLP_DB : GLP_FX, low, high);
	}
}

/* A column for nodes of the pool with bounds->pattern. */
static void add_pattern(RgBounds *bounds, unsigned pool)
{
	int column = glp_add_cols(bounds->program, 1), n = 1;
	bounds->indexes[n] = row_of_pool(pool);
	bounds->values[n] = 1;
	for (unsigned i = 0; i < bounds->n; i++) {
		if (bounds->pattern[i] == 0)
			continue;
		bounds->indexes[++n] = bounds->row[i * bounds->n_pools + pool];
		bounds->values[n] = -(double)bounds->pattern[i];
	}
	glp_set_col_bnds(bounds->program, column, GLP_LO, 0, 0);
	glp_set_mat_col(bounds->program, column, n, bounds->indexes, bounds->values);
}

static void run_simplex(gpointer data)
{
	RgBounds *bounds = data;
	bounds->failed = false;
	bounds->control.meth = GLP_DUALP;
	if (glp_simplex(bounds->program, &bounds->control) != 0) {
		glp_std_basis(bounds->program);
		bounds->control.meth = GLP_PRIMAL;
		bounds->failed = glp_simplex(bounds->program, &bounds->control) != 0;
	}
	bounds->failed |= glp_get_status(bounds->program) != GLP_OPT;
}

static bool optimize(RgBounds *bounds)
{
	is_broken = is_broken || !rg_glpk_try(run_simplex, bounds);
	return !rg_bounds_failed(bounds);
}

static void weigh(RgBounds *bounds)
{
	for (unsigned k = 0; k < bounds->cells; k++) {
		double price =
			bounds->row[k] ? -glp_get_row_dual(bounds->program, bounds->row[k]) : 0;
		bounds->weight[k] = llround(CLAMP(price, 0, 1) * SCALE);
	}
}

/* Adds the heaviest patterns that are found; returns how many are useful. */
static unsigned find_patterns(RgBounds *bounds, RgRest rest, unsigned tries)
{
	g_autofree int64_t *weight = g_new0(int64_t, bounds->n + 1);
	unsigned useful = 0;
	for (unsigned p = 0; p < bounds->n_pools; p++) {
		double price = -glp_get_row_dual(bounds->program, row_of_pool(p)), sum = 0;
		bounds->weight[bounds->cells + p] = RG_PRICING_UNKNOWN;
		if (rest.nodes[p] == 0)
			continue;
		for (unsigned i = 0; i < bounds->n; i++)
			weight[i] = bounds->weight[i * bounds->n_pools + p];
		bounds->weight[bounds->cells + p] =
			rg_pricing_most(&bounds->pricing, weight, p, bounds->pattern, tries);
		for (unsigned i = 0; i < bounds->n; i++)
			sum += (double)weight[i] / SCALE * bounds->pattern[i];
		if (sum <= price + EPSILON)
			continue;
		add_pattern(bounds, p);
		useful++;
	}
	return useful;
}

/* False: refuted, and why is remembered. */
static bool solve_bounds(RgBounds *bounds, RgRest rest)
{
	for (unsigned round = 0; round < MOST_ROUNDS; round++) {
		if (!optimize(bounds) || glp_get_obj_val(bounds->program) < EPSILON)
			return true;
		weigh(bounds);
		unsigned useful = find_patterns(bounds, rest, QUICK_TRIES);
		if (useful == 0)
			useful = find_patterns(bounds, rest, BEST_TRIES);
		if (refutes(bounds, bounds->weight, rest)) {
			remember(bounds);
			return false;
		}
		if (useful == 0)
			return true;
	}
	return true;
}

bool rg_bounds_failed(const RgBounds *bounds)
{
	return is_broken || bounds->failed;
}

bool rg_bounds_refute(RgBounds *bounds, RgRest rest, double *on, unsigned *steps)
{
	if (is_broken) {
		*steps -= MIN(*steps, 1);
		return false;
	}
	int before = glp_get_it_cnt(bounds->program);
	bounds->pricing.tried = 0;
	set_bounds(bounds, rest);
	bool possible = solve_bounds(bounds, rest);
	for (unsigned k = 0; on && !is_broken && k < bounds->cells; k++)
		on[k] = bounds->column[k] ? glp_get_col_prim(bounds->program, bounds->column[k])
					  : 0;
	unsigned pivots = is_broken ? 0 : (unsigned)(glp_get_it_cnt(bounds->program) - before);
	unsigned cost = 1 + pivots * PIVOTS_OF_STEP + bounds->pricing.tried / TRIES_OF_STEP;
	*steps -= MIN(*steps, cost);
	return !possible;
}

/* Patterns with more nodes are preferred, by chance. */
double rg_bounds_pattern(RgBounds *bounds, GRand *rand, unsigned *pattern, unsigned *pool)
{
	double most = 0, value = 0;
	int best = 0, columns = glp_get_num_cols(bounds->program);
	for (int k = bounds->patterns + 1; k <= columns; k++) {
		double nodes = glp_get_col_prim(bounds->program, k);
		double score = nodes > EPSILON ? nodes * g_rand_double_range(rand, 0.5, 1) : 0;
		if (score <= most)
			continue;
		most = score;
		value = nodes;
		best = k;
	}
	memset(pattern, 0, bounds->n * sizeof *pattern);
	int n = best ? glp_get_mat_col(bounds->program, best, bounds->indexes, bounds->values) : 0;
	for (int k = 1; k <= n; k++) {
		int row = bounds->indexes[k];
		if (row <= (int)bounds->n_pools)
			*pool = (unsigned)row - 1;
		for (unsigned cell = 0; cell < bounds->cells; cell++) {
			if (bounds->row[cell] == row)
				pattern[cell / bounds->n_pools] = (unsigned)-bounds->values[k];
		}
	}
	return value + EPSILON;
}

/* ---- */

static void add_cell(RgBounds *bounds, unsigned k)
{
	unsigned i = k / bounds->n_pools;
	int row = glp_add_rows(bounds->program, 1), column = glp_add_cols(bounds->program, 2);
	int rows[] = {0, row, row_of_item(bounds, i)};
	double ones[] = {0, 1, 1}, without[] = {0, -1};
	bounds->row[k] = row;
	bounds->column[k] = column;
	glp_set_row_bnds(bounds->program, row, GLP_UP, 0, 0);
	glp_set_mat_col(bounds->program, column, 2, rows, ones);
	glp_set_mat_col(bounds->program, column + 1, 1, rows, without);
	glp_set_col_bnds(bounds->program, column + 1, GLP_LO, 0, 0);
	glp_set_obj_coef(bounds->program, column + 1, 1);
}

static void begin_program(RgBounds *bounds)
{
	const unsigned *room = bounds->pricing.room; /* [pool * n + item] */
	bounds->row = g_new0(int, bounds->cells + 1);
	bounds->column = g_new0(int, bounds->cells + 1);
	bounds->indexes = g_new0(int, bounds->n + 2);
	bounds->values = g_new0(double, bounds->n + 2);
	bounds->program = glp_create_prob();
	glp_init_smcp(&bounds->control);
	bounds->control.msg_lev = GLP_MSG_OFF;
	glp_add_rows(bounds->program, (int)(bounds->n_pools + bounds->n));
	for (unsigned k = 0; k < bounds->cells; k++) {
		if (room[k % bounds->n_pools * bounds->n + k / bounds->n_pools] > 0)
			add_cell(bounds, k);
	}
	bounds->patterns = glp_get_num_cols(bounds->program);
	glp_std_basis(bounds->program);
}

RgBounds *rg_bounds_new(const RgPlaceProblem *problem, const RgItem *items, unsigned n_items)
{
	RgBounds *bounds = g_new0(RgBounds, 1);
	rg_pricing_init(&bounds->pricing, problem, items, n_items);
	bounds->n = n_items;
	bounds->n_pools = problem->n_pools;
	bounds->cells = n_items * problem->n_pools;
	bounds->width = bounds->cells + problem->n_pools;
	bounds->pattern = g_new0(guint16, n_items + 1);
	bounds->proofs = g_new0(int64_t, (size_t)MOST_PROOFS * bounds->width + 1);
	bounds->weight = g_new0(int64_t, bounds->width + 1);
	if (!is_broken)
		begin_program(bounds);
	return bounds;
}

void rg_bounds_free(RgBounds *bounds)
{
	if (!bounds)
		return;
	if (bounds->program && !is_broken)
		glp_delete_prob(bounds->program);
	rg_pricing_clear(&bounds->pricing);
	g_free(bounds->row);
	g_free(bounds->column);
	g_free(bounds->pattern);
	g_free(bounds->indexes);
	g_free(bounds->values);
	g_free(bounds->proofs);
	g_free(bounds->weight);
	g_free(bounds);
}

void rg_bounds_release(void)
{
	glp_free_env();
	is_broken = false;
}
