/* First-fit: beside what is placed, each bundle goes to the first node that still holds it. What it
 * finds is a real placement, at a cost that grows slowly; it is for problems where the search of
 * search.c gives up. */
#include <string.h>
#include "pack/internal.h"

#define MOST_TRIES (10 * RG_PLACE_STEPS)

typedef struct {
	const RgPlaceProblem *problem;
	RgNodeCheck check;
	GPtrArray *nodes; /* RgPlacedNodes*: those with bundles, then the idle ones */
	GArray *moves;	  /* Move, of the unit that is being placed */
	unsigned task, first, kind, tries;
} FirstFit;

typedef struct {
	guint at; /* in nodes */
	unsigned part, count;
} Move;

static RgPlacedNodes *nodes_new(const FirstFit *fit, unsigned pool, unsigned count)
{
	RgPlacedNodes *nodes =
		g_malloc0(sizeof *nodes + (fit->check.n_items + 1) * sizeof nodes->bundles[0]);
	nodes->pool = pool;
	nodes->nodes = count;
	return nodes;
}

static RgPlacedNodes *copy_of(const FirstFit *fit, const RgPlacedNodes *from, unsigned count)
{
	RgPlacedNodes *nodes = nodes_new(fit, from->pool, count);
	memcpy(nodes->bundles, from->bundles, fit->check.n_items * sizeof from->bundles[0]);
	return nodes;
}

static void list_nodes(FirstFit *fit, const GPtrArray *placed)
{
	g_autofree unsigned *idle = g_new0(unsigned, fit->problem->n_pools + 1);
	for (unsigned p = 0; p < fit->problem->n_pools; p++)
		idle[p] = fit->problem->pools[p].nodes;
	for (guint i = 0; i < placed->len; i++) {
		const RgPlacedNodes *nodes = placed->pdata[i];
		idle[nodes->pool] -= nodes->nodes;
		g_ptr_array_add(fit->nodes, copy_of(fit, nodes, nodes->nodes));
	}
	for (unsigned k = 0; k < fit->problem->n_pools; k++) {
		unsigned p = fit->problem->order[k];
		if (idle[p] > 0)
			g_ptr_array_add(fit->nodes, nodes_new(fit, p, idle[p]));
	}
}

static void add(FirstFit *fit, guint at, unsigned part, unsigned count)
{
	Move move = {at, part, count};
	((RgPlacedNodes *)fit->nodes->pdata[at])->bundles[fit->first + part] += count;
	g_array_append_val(fit->moves, move);
}

static bool is_taken(const FirstFit *fit, guint at)
{
	for (guint i = 0; i < fit->moves->len; i++) {
		if (g_array_index(fit->moves, Move, i).at == at)
			return true;
	}
	return false;
}

static bool may_hold(const FirstFit *fit, unsigned part, unsigned pool)
{
	const RgPlacePart *wish = &fit->problem->tasks[fit->task].parts[part];
	const RgPlaceNeed *need = &wish->on[pool];
	bool gpus = need->whole > 0 || need->part > 0;
	return need->admitted &&
	       (fit->kind == 0 || !gpus || fit->problem->pools[pool].kind == fit->kind);
}

/* `count` bundles of each part from `from` to before `to` on one node. */
static bool put(FirstFit *fit, unsigned from, unsigned to, bool whole)
{
	const RgPlaceTask *task = &fit->problem->tasks[fit->task];
	for (guint i = 0; i < fit->nodes->len && fit->tries > 0; i++) {
		RgPlacedNodes *nodes = fit->nodes->pdata[i];
		bool good = task->strategy != RG_PLACE_STRICT_SPREAD || !is_taken(fit, i);
		for (unsigned k = from; k < to; k++)
			good = good && may_hold(fit, k, nodes->pool);
		if (!good)
			continue;
		RgPlacedNodes *one = copy_of(fit, nodes, 1);
		for (unsigned k = from; k < to; k++)
			one->bundles[fit->first + k] += whole ? task->parts[k].count : 1;
		fit->tries--;
		good = rg_node_holds(&fit->check, nodes->pool, one->bundles);
		g_free(one);
		if (!good)
			continue;
		if (nodes->nodes > 1) { /* the others stay behind it, as they were */
			g_ptr_array_add(fit->nodes, copy_of(fit, nodes, nodes->nodes - 1));
			nodes->nodes = 1;
		}
		for (unsigned k = from; k < to; k++)
			add(fit, i, k, whole ? task->parts[k].count : 1);
		return true;
	}
	return false;
}

static bool put_unit(FirstFit *fit)
{
	const RgPlaceTask *task = &fit->problem->tasks[fit->task];
	bool good = true;
	g_array_set_size(fit->moves, 0);
	if (task->strategy == RG_PLACE_STRICT_PACK)
		return put(fit, 0, task->n_parts, true);
	for (unsigned k = 0; good && k < task->n_parts; k++) {
		for (unsigned i = 0; good && i < task->parts[k].count; i++)
			good = put(fit, k, k + 1, false);
	}
	for (guint i = 0; !good && i < fit->moves->len; i++) {
		const Move *move = &g_array_index(fit->moves, Move, i);
		RgPlacedNodes *nodes = fit->nodes->pdata[move->at];
		nodes->bundles[fit->first + move->part] -= move->count;
	}
	return good;
}

static bool is_idle(const FirstFit *fit, const RgPlacedNodes *nodes)
{
	for (unsigned i = 0; i < fit->check.n_items; i++) {
		if (nodes->bundles[i] > 0)
			return false;
	}
	return true;
}

/* The kind that the task's GPUs have so far; 0: none. */
static unsigned kind_so_far(const FirstFit *fit)
{
	const RgPlaceTask *task = &fit->problem->tasks[fit->task];
	for (guint i = 0; i < fit->nodes->len; i++) {
		const RgPlacedNodes *nodes = fit->nodes->pdata[i];
		for (unsigned k = 0; k < task->n_parts; k++) {
			const RgPlaceNeed *need = &task->parts[k].on[nodes->pool];
			if (nodes->bundles[fit->first + k] > 0 &&
				(need->whole > 0 || need->part > 0))
				return fit->problem->pools[nodes->pool].kind;
		}
	}
	return 0;
}

static unsigned put_units(FirstFit *fit, unsigned units, RgPlaceAlike alike, unsigned kinds)
{
	unsigned placed = 0, only = alike == RG_PLACE_ALL_ALIKE ? kind_so_far(fit) : 0;
	for (unsigned kind = alike != RG_PLACE_ANY; kind <= kinds && placed < units; kind++) {
		fit->kind = kind;
		while ((only == 0 || kind == only) && placed < units && put_unit(fit))
			placed++;
		if (alike == RG_PLACE_ANY || (alike == RG_PLACE_ALL_ALIKE && placed > 0))
			break;
	}
	return placed;
}

unsigned rg_place_first_fit(const RgPlaceProblem *problem, GPtrArray **nodes, unsigned task,
	unsigned units, RgPlaceAlike alike, unsigned kinds)
{
	g_autofree RgItem *items = rg_place_all_parts(problem);
	FirstFit fit = {.problem = problem,
		.task = task,
		.first = rg_place_first_part(problem, task),
		.tries = MOST_TRIES,
		.nodes = g_ptr_array_new_with_free_func(g_free),
		.moves = g_array_new(FALSE, FALSE, sizeof(Move))};
	rg_node_check_init(
		&fit.check, problem, items, rg_place_first_part(problem, problem->n_tasks));
	list_nodes(&fit, *nodes);
	unsigned placed = put_units(&fit, units, alike, kinds);
	GPtrArray *found = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 0; i < fit.nodes->len; i++) {
		const RgPlacedNodes *one = fit.nodes->pdata[i];
		if (!is_idle(&fit, one))
			g_ptr_array_add(found, copy_of(&fit, one, one->nodes));
	}
	g_ptr_array_unref(*nodes);
	*nodes = found;
	rg_node_check_clear(&fit.check);
	g_array_unref(fit.moves);
	g_ptr_array_unref(fit.nodes);
	return placed;
}
