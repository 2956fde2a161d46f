#include "fit/place.h"
#include <string.h>
#include "fit/place_internal.h"

#define MOST_ON_NODE 1000000

unsigned rg_place_first_part(const RgPlaceProblem *problem, unsigned task)
{
	unsigned parts = 0;
	for (unsigned t = 0; t < task; t++)
		parts += problem->tasks[t].n_parts;
	return parts;
}

unsigned rg_place_bundles(const RgPlaceTask *task)
{
	unsigned bundles = 0;
	for (unsigned i = 0; i < task->n_parts; i++)
		bundles += task->parts[i].count;
	return bundles;
}

/* ---- one task alone */

static uint64_t room_of(const RgPlaceProblem *problem, const RgItem *item, unsigned pool)
{
	RgNodeCheck check;
	unsigned n = 0;
	rg_node_check_init(&check, problem, item, 1);
	unsigned room = rg_node_most(&check, pool, &n, 0, MOST_ON_NODE);
	rg_node_check_clear(&check);
	return room;
}

uint64_t rg_place_per_node(
	const RgPlaceProblem *problem, unsigned task, unsigned part, unsigned pool)
{
	RgItem item = {.task = task,
		.part = part,
		.is_unit = problem->tasks[task].strategy == RG_PLACE_STRICT_PACK};
	return room_of(problem, &item, pool);
}

bool rg_part_needs_gpus(const RgPlaceProblem *problem, const RgPlacePart *part)
{
	for (unsigned p = 0; p < problem->n_pools; p++) {
		if (part->on[p].admitted && (part->on[p].whole > 0 || part->on[p].part > 0))
			return true;
	}
	return false;
}

/* U units that spread fit if the nodes, each with at most U bundles and none with two of one unit,
 * hold all their bundles: sum of min(room, U) over the nodes >= U * bundles (Gale and Ryser). */
static uint64_t spread_units(
	const RgPlaceProblem *problem, const uint64_t *room, uint64_t all, unsigned bundles)
{
	uint64_t low = 0, high = all / bundles;
	while (low < high) {
		uint64_t units = low + (high - low + 1) / 2, held = 0;
		for (unsigned p = 0; p < problem->n_pools; p++)
			held += MIN(room[p], units) * problem->pools[p].nodes;
		if (held >= units * bundles)
			low = units;
		else
			high = units - 1;
	}
	return low;
}

/* Of a task with equal bundles, or whose units are placed as one. */
static uint64_t equal_alone(const RgPlaceProblem *problem, unsigned task, unsigned kind)
{
	const RgPlaceTask *wish = &problem->tasks[task];
	RgItem item = {
		.task = task, .kind = kind, .is_unit = wish->strategy == RG_PLACE_STRICT_PACK};
	g_autofree uint64_t *room = g_new0(uint64_t, problem->n_pools + 1);
	uint64_t all = 0;
	for (unsigned p = 0; p < problem->n_pools; p++) {
		if (problem->pools[p].nodes > 0)
			room[p] = room_of(problem, &item, p);
		all += room[p] * problem->pools[p].nodes;
	}
	if (item.is_unit)
		return all;
	unsigned bundles = wish->parts[0].count;
	return wish->strategy == RG_PLACE_STRICT_SPREAD ? spread_units(problem, room, all, bundles)
							: all / bundles;
}

/* What no more units can be than, of a task with unequal bundles. */
static uint64_t unequal_limit(const RgPlaceProblem *problem, unsigned task, unsigned kind)
{
	const RgPlaceTask *wish = &problem->tasks[task];
	uint64_t least = G_MAXUINT32;
	for (unsigned i = 0; i < wish->n_parts; i++) {
		RgItem item = {.task = task, .part = i};
		uint64_t all = 0;
		if (rg_part_needs_gpus(problem, &wish->parts[i]))
			item.kind = kind;
		for (unsigned p = 0; p < problem->n_pools; p++) {
			if (problem->pools[p].nodes > 0)
				all += room_of(problem, &item, p) * problem->pools[p].nodes;
		}
		least = MIN(least, all / wish->parts[i].count);
	}
	return least;
}

/* Without GPUs nothing has to be alike. */
RgPlaceAlike rg_place_alike(const RgPlaceProblem *problem, unsigned task)
{
	const RgPlaceTask *wish = &problem->tasks[task];
	for (unsigned i = 0; i < wish->n_parts; i++) {
		if (rg_part_needs_gpus(problem, &wish->parts[i]))
			return wish->alike;
	}
	return RG_PLACE_ANY;
}

/* Of a task with unequal bundles, by trying. */
static uint64_t search_alone(
	const RgPlaceProblem *problem, const RgPlaceTask *wish, uint64_t most, bool *sure)
{
	RgPlaceProblem small = *problem;
	small.tasks = wish;
	small.n_tasks = 1;
	uint64_t low = 0, high = most;
	while (low < high) {
		unsigned units = (unsigned)(low + (high - low + 1) / 2);
		bool certain;
		if (rg_place_fits(&small, &units, &certain))
			low = units;
		else
			high = units - 1;
		*sure &= certain;
	}
	return low;
}

uint64_t rg_place_alone_on(const RgPlaceProblem *problem, unsigned task, unsigned kind, bool *sure)
{
	const RgPlaceTask *wish = &problem->tasks[task];
	if (wish->n_parts == 1 || wish->strategy == RG_PLACE_STRICT_PACK)
		return equal_alone(problem, task, kind);
	RgPlaceTask one = *wish;
	RgPlaceProblem small = *problem;
	g_autofree RgPlacePool *pools = g_memdup2(problem->pools, problem->n_pools * sizeof *pools);
	/* it uses no other GPUs, but maybe their nodes */
	for (unsigned p = 0; p < problem->n_pools && kind > 0; p++)
		pools[p].gpus = pools[p].kind == kind ? pools[p].gpus : 0;
	one.alike = RG_PLACE_ANY;
	small.pools = pools;
	return search_alone(&small, &one, unequal_limit(problem, task, kind), sure);
}

unsigned rg_place_last_kind(const RgPlaceProblem *problem)
{
	unsigned last = 0;
	for (unsigned p = 0; p < problem->n_pools; p++)
		last = MAX(last, problem->pools[p].kind);
	return last;
}

uint64_t rg_place_alone_surely(const RgPlaceProblem *problem, unsigned task, bool *sure)
{
	const RgPlaceTask *wish = &problem->tasks[task];
	RgPlaceAlike alike = rg_place_alike(problem, task);
	uint64_t most = 0, sum = 0;
	*sure = true;
	if (alike == RG_PLACE_ANY)
		return rg_place_alone_on(problem, task, 0, sure);
	for (unsigned kind = 1; kind <= rg_place_last_kind(problem); kind++) {
		uint64_t here = rg_place_alone_on(problem, task, kind, sure);
		most = MAX(most, here);
		sum += here;
	}
	if (alike == RG_PLACE_ALL_ALIKE)
		return most;
	/* bundles without GPUs compete for the same nodes, whatever the kind of the others */
	return wish->n_parts > 1 && wish->strategy != RG_PLACE_STRICT_PACK
		       ? search_alone(problem, wish, sum, sure)
		       : sum;
}

uint64_t rg_place_alone(const RgPlaceProblem *problem, unsigned task)
{
	bool sure;
	return rg_place_alone_surely(problem, task, &sure);
}

bool rg_place_fits(const RgPlaceProblem *problem, const unsigned *units, bool *sure)
{
	g_autoptr(GPtrArray) nodes = rg_place_solve(problem, units, sure);
	return nodes != NULL;
}

/* ---- all together */

static RgPlaced *placed_new(const RgPlaceProblem *problem)
{
	RgPlaced *placed = g_new0(RgPlaced, 1);
	placed->units = g_new0(unsigned, problem->n_tasks + 1);
	placed->sure = g_new0(bool, problem->n_tasks + 1);
	placed->bundles = g_new0(uint64_t, (size_t)problem->n_tasks * problem->n_pools + 1);
	placed->use = g_new0(RgPlaceUse, problem->n_pools + 1);
	placed->nodes = g_ptr_array_new_with_free_func(g_free);
	return placed;
}

void rg_placed_free(RgPlaced *placed)
{
	if (!placed)
		return;
	g_free(placed->units);
	g_free(placed->sure);
	g_free(placed->bundles);
	g_free(placed->use);
	g_ptr_array_unref(placed->nodes);
	g_free(placed);
}

static void keep_nodes(RgPlaced *placed, GPtrArray *nodes)
{
	g_ptr_array_unref(placed->nodes);
	placed->nodes = nodes;
}

/* Places as many units of the task as possible, up to `most`, beside those that are placed. Where
 * the search gives up, at least what first-fit finds. */
static void add_units(const RgPlaceProblem *problem, RgPlaced *placed, unsigned task, unsigned most)
{
	RgPlaceProblem quick = *problem;
	unsigned low = 0, high = most;
	bool every = true;
	quick.trial = rg_place_nodes(problem) > RG_PLACE_EXACT_NODES;
	while (low < high) {
		bool sure;
		placed->units[task] = low + (high - low + 1) / 2;
		GPtrArray *nodes = rg_place_solve(&quick, placed->units, &sure);
		every &= sure;
		if (nodes) {
			low = placed->units[task];
			keep_nodes(placed, nodes);
		} else {
			high = placed->units[task] - 1;
		}
	}
	if (!every)
		low += rg_place_first_fit(problem, &placed->nodes, task, most - low,
			rg_place_alike(problem, task), rg_place_last_kind(problem));
	placed->units[task] = low;
}

/* The tasks that fit completely, in their order; then as much as possible of the others, which is
 * never all of one: that was answered before, and more nodes must not change it. */
static void place_in_order(const RgPlaceProblem *problem, RgPlaced *placed, const uint64_t *alone)
{
	for (unsigned t = 0; t < problem->n_tasks; t++) {
		if (alone[t] < problem->tasks[t].units)
			continue;
		placed->units[t] = problem->tasks[t].units;
		GPtrArray *nodes = rg_place_solve(problem, placed->units, &placed->sure[t]);
		if (nodes)
			keep_nodes(placed, nodes);
		else
			placed->units[t] = 0;
	}
	for (unsigned t = 0; t < problem->n_tasks; t++) {
		uint64_t most = MIN(alone[t], (uint64_t)problem->tasks[t].units - 1);
		if (placed->units[t] == 0 && problem->tasks[t].units > 0)
			add_units(problem, placed, t, (unsigned)most);
	}
}

RgItem *rg_place_all_parts(const RgPlaceProblem *problem)
{
	RgItem *items = g_new0(RgItem, rg_place_first_part(problem, problem->n_tasks) + 1);
	unsigned n = 0;
	for (unsigned t = 0; t < problem->n_tasks; t++) {
		for (unsigned i = 0; i < problem->tasks[t].n_parts; i++)
			items[n++] = (RgItem){.task = t, .part = i};
	}
	return items;
}

static uint64_t used_gpus(const RgNodeCheck *check, unsigned pool, const unsigned *bundles)
{
	uint64_t used = 0;
	for (unsigned i = 0; i < check->n_items; i++) {
		const RgItem *item = &check->items[i];
		const RgPlaceNeed *need =
			&check->problem->tasks[item->task].parts[item->part].on[pool];
		used += bundles[i] * ((uint64_t)need->whole * RG_PLACE_ONE + need->part);
	}
	return used;
}

static bool takes_more(RgNodeCheck *check, unsigned pool, unsigned *bundles)
{
	for (unsigned i = 0; i < check->n_items; i++) {
		const RgItem *item = &check->items[i];
		const RgPlaceNeed *need =
			&check->problem->tasks[item->task].parts[item->part].on[pool];
		if (!need->admitted || (need->whole == 0 && need->part == 0))
			continue;
		bundles[i]++;
		bool holds = rg_node_holds(check, pool, bundles);
		bundles[i]--;
		if (holds)
			return true;
	}
	return false;
}

/* `wanted`: whether any task needs GPUs; else what is free is not stranded, only idle. */
static void add_use(RgNodeCheck *check, RgPlaceUse *use, RgPlacedNodes *nodes, bool wanted)
{
	uint64_t has = (uint64_t)check->problem->pools[nodes->pool].gpus * RG_PLACE_ONE;
	uint64_t used = used_gpus(check, nodes->pool, nodes->bundles);
	use->total += has * nodes->nodes;
	use->used += used * nodes->nodes;
	if (wanted && used < has && !takes_more(check, nodes->pool, nodes->bundles))
		use->stranded += (has - used) * nodes->nodes;
}

static void count_use(const RgPlaceProblem *problem, RgPlaced *placed)
{
	g_autofree RgItem *items = rg_place_all_parts(problem);
	RgNodeCheck check;
	unsigned parts = rg_place_first_part(problem, problem->n_tasks);
	rg_node_check_init(&check, problem, items, parts);
	g_autofree unsigned *idle = g_new0(unsigned, problem->n_pools + 1);
	bool wanted = false;
	for (unsigned k = 0; k < parts; k++)
		wanted |= rg_part_needs_gpus(
			problem, &problem->tasks[items[k].task].parts[items[k].part]);
	for (unsigned p = 0; p < problem->n_pools; p++)
		idle[p] = problem->pools[p].nodes;
	for (guint i = 0; i < placed->nodes->len; i++) {
		RgPlacedNodes *nodes = placed->nodes->pdata[i];
		idle[nodes->pool] -= nodes->nodes;
		add_use(&check, &placed->use[nodes->pool], nodes, wanted);
		for (unsigned k = 0; k < parts; k++)
			placed->bundles[items[k].task * problem->n_pools + nodes->pool] +=
				(uint64_t)nodes->nodes * nodes->bundles[k];
	}
	g_autofree RgPlacedNodes *rest =
		g_malloc0(sizeof *rest + (parts + 1) * sizeof rest->bundles[0]);
	for (unsigned p = 0; p < problem->n_pools; p++) {
		rest->pool = p;
		rest->nodes = idle[p];
		add_use(&check, &placed->use[p], rest, wanted);
	}
	rg_node_check_clear(&check);
}

RgPlaced *rg_place_together(const RgPlaceProblem *problem)
{
	RgPlaced *placed = placed_new(problem);
	g_autofree uint64_t *alone = g_new0(uint64_t, problem->n_tasks + 1);
	bool hopeless = false, sure = true;
	for (unsigned t = 0; t < problem->n_tasks; t++) {
		alone[t] = rg_place_alone_surely(problem, t, &placed->sure[t]);
		placed->units[t] = problem->tasks[t].units;
		hopeless |= alone[t] < problem->tasks[t].units;
	}
	GPtrArray *nodes = hopeless ? NULL : rg_place_solve(problem, placed->units, &sure);
	placed->all = nodes != NULL;
	placed->exact = sure;
	if (nodes) {
		g_ptr_array_unref(placed->nodes);
		placed->nodes = nodes;
	} else {
		memset(placed->units, 0, problem->n_tasks * sizeof placed->units[0]);
		place_in_order(problem, placed, alone);
		placed->all = true;
		for (unsigned t = 0; t < problem->n_tasks; t++)
			placed->all &= placed->units[t] == problem->tasks[t].units;
		placed->exact |= placed->all;
	}
	count_use(problem, placed);
	return placed;
}
