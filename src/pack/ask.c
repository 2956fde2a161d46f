/* Whether so many units of each task fit at once, asked of the search (search.c).
 *
 * Groups on GPUs of one kind are divided over the kinds by the search itself; if that takes too
 * long, before it (solve.c). Each division then gets the same number of steps; those that were not
 * decided get more, again the same number each, so that a hard one does not starve the others. */
#include <string.h>
#include "pack/question.h"

/* What preparing one division costs, measured in steps of its search. */
#define STEPS_OF_ASKING 8
#define STEPS_WITHOUT_PROOFS 15000
#define FIRST_SHARE 4000 /* of the steps, for one division */
#define MORE_SHARE 8

bool rg_question_is_dealt(const RgQuestion *question, unsigned task)
{
	const RgPlaceProblem *problem = question->problem;
	const RgPlaceTask *wish = &problem->tasks[task];
	if (!question->deals || rg_place_alike(problem, task) == RG_PLACE_ANY)
		return false;
	for (unsigned i = 0; wish->strategy == RG_PLACE_STRICT_SPREAD && i < wish->n_parts; i++) {
		if (!rg_part_needs_gpus(problem, &wish->parts[i]))
			return false;
	}
	return true;
}

static uint64_t weight_of(const RgPlaceProblem *problem, const RgItem *item)
{
	const RgPlaceTask *task = &problem->tasks[item->task];
	uint64_t most = 0;
	for (unsigned p = 0; p < problem->n_pools; p++) {
		uint64_t size = 0;
		for (unsigned k = 0; k < task->n_parts; k++) {
			const RgPlaceNeed *need = &task->parts[k].on[p];
			if (need->admitted && (item->is_unit || k == item->part))
				size += ((uint64_t)need->whole * RG_PLACE_ONE + need->part) *
					(item->is_unit ? task->parts[k].count : 1);
		}
		most = MAX(most, size);
	}
	return most;
}

static unsigned choices_of(const RgPlaceProblem *problem, const RgItem *item)
{
	unsigned choices = 0;
	for (unsigned p = 0; p < problem->n_pools; p++)
		choices += rg_item_is_admitted(problem, item, p) && problem->pools[p].nodes > 0;
	return choices;
}

/* Large before small, restricted before unrestricted, then in the order of the tasks. */
static int compare_items(gconstpointer a, gconstpointer b, gpointer data)
{
	const RgItem *x = a, *y = b;
	uint64_t x_weight = weight_of(data, x), y_weight = weight_of(data, y);
	unsigned x_choices = choices_of(data, x), y_choices = choices_of(data, y);
	if (x_weight != y_weight)
		return x_weight > y_weight ? -1 : 1;
	if (x_choices != y_choices)
		return x_choices < y_choices ? -1 : 1;
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	return x->part != y->part ? (x->part < y->part ? -1 : 1) : (int)x->kind - (int)y->kind;
}

static void add_items(RgQuestion *question, unsigned task, unsigned kind)
{
	const RgPlaceTask *wish = &question->problem->tasks[task];
	unsigned units = question->split[task * (question->n_kinds + 1) + kind];
	bool whole = wish->strategy == RG_PLACE_STRICT_PACK;
	bool spreads = wish->strategy == RG_PLACE_STRICT_SPREAD;
	for (unsigned i = 0; units > 0 && i < (whole ? 1 : wish->n_parts); i++) {
		bool alike = whole || rg_part_needs_gpus(question->problem, &wish->parts[i]);
		RgItem item = {.task = task,
			.part = i,
			.kind = alike ? kind : 0,
			.dealt = alike && rg_question_is_dealt(question, task),
			.per_unit = whole ? 1 : wish->parts[i].count,
			.is_unit = whole,
			.demand = whole ? units
					: (unsigned)MIN((uint64_t)units * wish->parts[i].count,
						  G_MAXUINT32),
			.most = spreads ? units : 0,
			.sharing = task * (question->n_kinds + 1) + kind + 1};
		question->items[question->n_items++] = item;
	}
}

static bool has_groups(const RgQuestion *question, bool dealt)
{
	for (unsigned t = 0; t < question->problem->n_tasks; t++) {
		if (question->units[t] > 0 &&
			rg_place_alike(question->problem, t) != RG_PLACE_ANY &&
			rg_question_is_dealt(question, t) == dealt)
			return true;
	}
	return false;
}

/* A short search, then one that is led by linear programs. */
static GPtrArray *decide(const RgQuestion *question, unsigned *steps, bool *sure)
{
	const RgPlaceProblem *problem = question->problem;
	const RgItem *items = question->items;
	unsigned n = question->n_items;
	bool dealt = has_groups(question, true);
	unsigned few = dealt ? *steps : MIN(*steps / 4, STEPS_WITHOUT_PROOFS), before = few;
	GPtrArray *found = rg_place_search(problem, items, n, &few, sure);
	*steps -= before - few;
	if (found || *sure || *steps == 0 || dealt)
		return found;
	few = before = *steps / 4;
	found = rg_place_dive(problem, items, n, &few);
	*steps -= before - few;
	if (!found)
		found = rg_place_branch(problem, items, n, steps, sure);
	rg_bounds_release();
	return found;
}

void rg_question_list(RgQuestion *question, unsigned task)
{
	const RgPlaceProblem *problem = question->problem;
	question->n_items = 0;
	for (unsigned t = 0; t < problem->n_tasks; t++) {
		if (t >= task)
			question->split[t * (question->n_kinds + 1)] = question->units[t];
		for (unsigned kind = 0; kind <= question->n_kinds; kind++)
			add_items(question, t, kind);
		if (t >= task)
			question->split[t * (question->n_kinds + 1)] = 0;
	}
}

bool rg_question_ask(RgQuestion *question)
{
	const RgPlaceProblem *problem = question->problem;
	gsize bytes = (gsize)problem->n_tasks * (question->n_kinds + 1) * sizeof(unsigned);
	g_autoptr(GBytes) key = g_bytes_new(question->split, bytes);
	bool sure = true;
	if (g_hash_table_contains(question->refuted, key))
		return false;
	question->steps -= MIN(question->steps, STEPS_OF_ASKING);
	rg_question_list(question, problem->n_tasks);
	g_qsort_with_data(question->items, (gint)question->n_items, sizeof question->items[0],
		compare_items, (gpointer)(uintptr_t)problem);
	unsigned share = MIN(question->share, question->steps), left = share;
	question->found = decide(question, &left, &sure);
	question->steps -= share - left;
	question->sure &= question->found || sure;
	if (!question->found && sure)
		g_hash_table_add(question->refuted, g_steal_pointer(&key));
	return question->found != NULL;
}

/* Each division gets the same number of steps, then those that were not decided get more. */
static bool ask_fairly(RgQuestion *question, RgDivide divide, unsigned steps)
{
	unsigned rest = question->steps - steps;
	bool divided = has_groups(question, false), found = false;
	question->steps = steps;
	question->share = divided ? FIRST_SHARE : steps;
	question->sure = false;
	while (!found && !question->sure && question->steps > 0) {
		question->sure = true;
		found = divide(question);
		question->share = divided ? MORE_SHARE * question->share : question->steps;
	}
	question->steps += rest;
	return found;
}

static RgPlacedNodes *by_part(const RgQuestion *question, const RgPlacedNodes *found)
{
	const RgPlaceProblem *problem = question->problem;
	unsigned parts = rg_place_first_part(problem, problem->n_tasks);
	RgPlacedNodes *nodes = g_malloc0(sizeof *nodes + parts * sizeof nodes->bundles[0]);
	nodes->pool = found->pool;
	nodes->nodes = found->nodes;
	for (unsigned i = 0; i < question->n_items; i++) {
		const RgItem *item = &question->items[i];
		const RgPlaceTask *task = &problem->tasks[item->task];
		unsigned first = rg_place_first_part(problem, item->task);
		for (unsigned k = 0; item->is_unit && k < task->n_parts; k++)
			nodes->bundles[first + k] += found->bundles[i] * task->parts[k].count;
		if (!item->is_unit)
			nodes->bundles[first + item->part] += found->bundles[i];
	}
	return nodes;
}

/* What first-fit finds for all tasks, the large ones first; NULL: not everything. */
static GPtrArray *first_fit(const RgPlaceProblem *problem, const unsigned *units)
{
	GPtrArray *nodes = g_ptr_array_new_with_free_func(g_free);
	g_autofree RgItem *parts = rg_place_all_parts(problem);
	unsigned n = rg_place_first_part(problem, problem->n_tasks);
	g_autofree bool *done = g_new0(bool, problem->n_tasks + 1);
	g_qsort_with_data(
		parts, (gint)n, sizeof *parts, compare_items, (gpointer)(uintptr_t)problem);
	for (unsigned k = 0; k < n; k++) {
		unsigned t = parts[k].task;
		if (done[t] || units[t] == 0)
			continue;
		done[t] = true;
		if (rg_place_first_fit(problem, &nodes, t, units[t], rg_place_alike(problem, t),
			    rg_place_last_kind(problem)) == units[t])
			continue;
		g_ptr_array_unref(nodes);
		return NULL;
	}
	return nodes;
}

/* All units of each task on any kind. */
static bool ask_undivided(RgQuestion *question)
{
	for (unsigned t = 0; t < question->problem->n_tasks; t++)
		question->split[t * (question->n_kinds + 1)] = question->units[t];
	return rg_question_ask(question);
}

GPtrArray *rg_place_ask_all(
	const RgPlaceProblem *problem, const unsigned *units, RgDivide divide, bool *sure)
{
	divide = divide ? divide : ask_undivided;
	bool small = rg_place_nodes(problem) <= RG_PLACE_EXACT_NODES;
	unsigned n_kinds = rg_place_last_kind(problem);
	unsigned parts = rg_place_first_part(problem, problem->n_tasks);
	unsigned most = problem->trial ? RG_PLACE_TRIAL_STEPS
			: small	       ? RG_PLACE_EXACT_STEPS
				       : RG_PLACE_STEPS;
	unsigned steps = problem->steps ? MIN(most, *problem->steps) : most;
	RgQuestion question = {
		.problem = problem, .units = units, .n_kinds = n_kinds, .steps = steps};
	question.split = g_new0(unsigned, (size_t)problem->n_tasks *(n_kinds + 1) + 1);
	question.items = g_new0(RgItem, (size_t)parts * (n_kinds + 1) + 1);
	question.refuted = g_hash_table_new_full(
		g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
	question.deals = true;
	bool dealt = has_groups(&question, true);
	bool found = ask_fairly(&question, divide, dealt ? steps / 3 : steps);
	if (!found && !question.sure && dealt && question.steps > 0) {
		question.deals = false;
		g_hash_table_remove_all(question.refuted);
		memset(question.split, 0,
			(size_t)problem->n_tasks * (n_kinds + 1) * sizeof question.split[0]);
		found = ask_fairly(&question, divide, question.steps);
	}
	GPtrArray *nodes = NULL;
	if (found) {
		nodes = g_ptr_array_new_with_free_func(g_free);
		for (guint i = 0; i < question.found->len; i++)
			g_ptr_array_add(nodes, by_part(&question, question.found->pdata[i]));
		g_ptr_array_unref(question.found);
	}
	*sure = question.sure || nodes;
	if (problem->steps)
		*problem->steps -= steps - question.steps;
	g_free(question.split);
	g_free(question.items);
	g_hash_table_unref(question.refuted);
	if (!*sure && !problem->trial) {
		nodes = first_fit(problem, units);
		*sure = nodes != NULL;
	}
	return nodes;
}
