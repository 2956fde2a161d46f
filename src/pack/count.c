/* What can be refuted by counting: if bundles could be divided among all nodes that admit them, as
 * if the nodes of a pool were one large node, something would still have no place. A linear program
 * with a row for each pool and resource; its dual prices are the proof. */
#include <glpk.h>
#include "pack/internal.h"

#define MARGIN 1e-9 /* more than the errors of the sums below */

typedef struct {
	const RgPlaceProblem *problem;
	const unsigned *units;
	RgItem *parts;
	unsigned n, resources; /* resource 0: GPUs; then the amounts */
	int *row; /* [pool * resources + resource]; 0: there is enough for all that may be there */
	glp_prob *program;
	double *price; /* of a resource on a pool */
	bool solved;
} Count;

static double demand_of(const Count *count, unsigned i)
{
	const RgItem *item = &count->parts[i];
	return (double)count->units[item->task] *
	       count->problem->tasks[item->task].parts[item->part].count;
}

/* In GPUs, CPUs, ... instead of steps. */
static double takes(const Count *count, unsigned i, unsigned p, unsigned resource)
{
	const RgItem *item = &count->parts[i];
	const RgPlacePart *part = &count->problem->tasks[item->task].parts[item->part];
	double steps = resource > 0 ? (double)part->amounts[resource - 1]
				    : part->on[p].whole * (double)RG_PLACE_ONE + part->on[p].part;
	return steps / RG_PLACE_ONE;
}

static double has(const Count *count, unsigned p, unsigned resource)
{
	const RgPlacePool *pool = &count->problem->pools[p];
	return pool->nodes *
	       (resource > 0 ? (double)pool->amounts[resource - 1] / RG_PLACE_ONE : pool->gpus);
}

static bool may_be_on(const Count *count, unsigned i, unsigned p)
{
	const RgItem *item = &count->parts[i];
	return count->problem->pools[p].nodes > 0 && demand_of(count, i) > 0 &&
	       count->problem->tasks[item->task].parts[item->part].on[p].admitted;
}

/* Whether all that may be on the pool could need more than it has. */
static bool is_scarce(const Count *count, unsigned p, unsigned resource)
{
	double sum = 0;
	for (unsigned i = 0; i < count->n; i++)
		sum += may_be_on(count, i, p) ? demand_of(count, i) * takes(count, i, p, resource)
					      : 0;
	return sum > has(count, p, resource);
}

/* Numbers the rows; how many there are. */
static int number_rows(Count *count)
{
	int rows = 0;
	for (unsigned k = 0; k < count->problem->n_pools * count->resources; k++) {
		if (is_scarce(count, k / count->resources, k % count->resources))
			count->row[k] = ++rows;
	}
	return rows;
}

static void add_column(Count *count, unsigned i, unsigned p, int item_row)
{
	g_autofree int *rows = g_new0(int, count->resources + 2);
	g_autofree double *values = g_new0(double, count->resources + 2);
	int n = 1, column = glp_add_cols(count->program, 1);
	rows[n] = item_row;
	values[n] = 1;
	for (unsigned r = 0; r < count->resources; r++) {
		int row = count->row[p * count->resources + r];
		if (row == 0 || takes(count, i, p, r) <= 0)
			continue;
		rows[++n] = row;
		values[n] = takes(count, i, p, r);
	}
	glp_set_mat_col(count->program, column, n, rows, values);
	glp_set_col_bnds(count->program, column, GLP_LO, 0, 0);
}

/* Minimizes the bundles without a place. */
static void add_part(Count *count, unsigned i)
{
	int row = glp_add_rows(count->program, 1), rows[] = {0, row};
	double one[] = {0, 1};
	glp_set_row_bnds(count->program, row, GLP_FX, demand_of(count, i), demand_of(count, i));
	int none = glp_add_cols(count->program, 1);
	glp_set_mat_col(count->program, none, 1, rows, one);
	glp_set_col_bnds(count->program, none, GLP_LO, 0, 0);
	glp_set_obj_coef(count->program, none, 1);
	for (unsigned p = 0; p < count->problem->n_pools; p++) {
		if (may_be_on(count, i, p))
			add_column(count, i, p, row);
	}
}

static void solve_sums(gpointer data)
{
	Count *count = data;
	glp_smcp control;
	glp_init_smcp(&control);
	control.msg_lev = GLP_MSG_OFF;
	count->program = glp_create_prob();
	for (unsigned k = 0; k < count->problem->n_pools * count->resources; k++) {
		if (count->row[k] == 0)
			continue;
		glp_add_rows(count->program, 1);
		glp_set_row_bnds(count->program, count->row[k], GLP_UP, 0,
			has(count, k / count->resources, k % count->resources));
	}
	for (unsigned i = 0; i < count->n; i++)
		add_part(count, i);
	glp_std_basis(count->program);
	count->solved = glp_simplex(count->program, &control) == 0 &&
			glp_get_status(count->program) == GLP_OPT;
	for (unsigned k = 0; k < count->problem->n_pools * count->resources; k++) {
		double dual = count->row[k] && count->solved
				      ? -glp_get_row_dual(count->program, count->row[k])
				      : 0;
		count->price[k] = MAX(dual, 0);
	}
	glp_delete_prob(count->program);
}

/* What the part costs where it is cheapest. */
static double cheapest(const Count *count, unsigned i)
{
	double least = -1;
	for (unsigned p = 0; p < count->problem->n_pools; p++) {
		double cost = 0;
		for (unsigned r = 0; r < count->resources; r++)
			cost += takes(count, i, p, r) * count->price[p * count->resources + r];
		if (may_be_on(count, i, p) && (least < 0 || cost < least))
			least = cost;
	}
	return MAX(least, 0);
}

/* Whether all of it costs more than all that there is, which is true for any prices or for none. */
static bool is_refuted(const Count *count)
{
	double needed = 0, held = 0;
	for (unsigned i = 0; i < count->n; i++)
		needed += demand_of(count, i) * cheapest(count, i);
	for (unsigned k = 0; k < count->problem->n_pools * count->resources; k++)
		held += count->price[k] > 0 ? count->price[k] * has(count, k / count->resources,
									k % count->resources)
					    : 0;
	return needed > held * (1 + MARGIN) + MARGIN;
}

bool rg_place_refute_sums(const RgPlaceProblem *problem, const unsigned *units)
{
	Count count = {.problem = problem, .units = units, .resources = problem->n_amounts + 1};
	g_autofree RgItem *parts = rg_place_all_parts(problem);
	size_t cells = (size_t)problem->n_pools * count.resources;
	g_autofree int *row = g_new0(int, cells + 1);
	g_autofree double *price = g_new0(double, cells + 1);
	count.parts = parts;
	count.n = rg_place_first_part(problem, problem->n_tasks);
	count.row = row;
	count.price = price;
	if (number_rows(&count) == 0)
		return false;
	bool good = rg_glpk_try(solve_sums, &count);
	glp_free_env();
	return good && count.solved && is_refuted(&count);
}
