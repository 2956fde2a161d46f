/* Which units of a group run on which kind of GPU, where the search does not decide it: first as a
 * linear program divides them, then by trying. */
#include <math.h>
#include "pack/question.h"

static bool choose(RgQuestion *question, unsigned task);

/* Units of the task on each kind, as a linear program divides those that are not divided yet.
 * False: it proves that they have no place. */
static bool propose(RgQuestion *question, unsigned task, double *on_kind)
{
	const RgPlaceProblem *problem = question->problem;
	rg_question_list(question, task);
	unsigned cells = question->n_items * problem->n_pools;
	g_autofree double *on = g_new0(double, cells + 1);
	if (!rg_place_divide(problem, question->items, question->n_items, on, &question->steps))
		return false;
	for (unsigned k = 0; k < cells; k++) {
		const RgItem *item = &question->items[k / problem->n_pools];
		if (item->task == task)
			on_kind[problem->pools[k % problem->n_pools].kind] +=
				on[k] / item->per_unit / problem->tasks[task].n_parts;
	}
	return true;
}

/* Units of a task on the kinds from `kind` on; `on_kind`: what is tried first. */
static bool split(
	RgQuestion *question, unsigned task, unsigned kind, unsigned left, const double *on_kind)
{
	if (kind > question->n_kinds)
		return left == 0 && choose(question, task + 1);
	unsigned *on = &question->split[task * (question->n_kinds + 1) + kind];
	bool sure = true; /* else more of them may go on this kind */
	unsigned most =
		(unsigned)MIN(rg_place_alone_on(question->problem, task, kind, &sure), left);
	question->sure &= sure || most == left;
	bool all = question->problem->tasks[task].alike == RG_PLACE_ALL_ALIKE;
	int near = (int)MIN(lround(on_kind[kind]), (long)most);
	/* from there on by turns up and down */
	for (int k = 0; k <= 2 * (int)MAX(near, (int)most - near); k++) {
		int take = near + (k % 2 ? (k + 1) / 2 : -(k / 2));
		if (take < 0 || take > (int)most || (all && take > 0 && take < (int)left))
			continue;
		*on = (unsigned)take;
		if (split(question, task, kind + 1, left - (unsigned)take, on_kind))
			return true;
		*on = 0;
		if (question->steps == 0) {
			question->sure = false;
			break;
		}
	}
	return false;
}

static bool choose(RgQuestion *question, unsigned task)
{
	const RgPlaceProblem *problem = question->problem;
	if (task == problem->n_tasks)
		return rg_question_ask(question);
	if (question->units[task] > 0 && rg_place_alike(problem, task) != RG_PLACE_ANY &&
		!rg_question_is_dealt(question, task)) {
		g_autofree double *on_kind = g_new0(double, question->n_kinds + 1);
		return propose(question, task, on_kind) &&
		       split(question, task, 1, question->units[task], on_kind);
	}
	question->split[task * (question->n_kinds + 1)] = question->units[task];
	return choose(question, task + 1);
}

bool rg_place_divide_units(RgQuestion *question)
{
	return choose(question, 0);
}

GPtrArray *rg_place_solve(const RgPlaceProblem *problem, const unsigned *units, bool *sure)
{
	return rg_place_on_parts(problem, units, rg_place_divide_units, sure);
}
