/* How many units of one task run at once if nothing else does: a closed form if its bundles are
 * equal, else by trying. On one kind of GPU, where nothing has to be divided over kinds. */
#include "pack/internal.h"

#define MOST_ON_NODE 1000000

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

/* Of a task with unequal bundles, by trying. */
uint64_t rg_place_search_alone(const RgPlaceProblem *problem, const RgPlaceTask *wish,
	uint64_t most, RgDivide divide, bool *sure)
{
	RgPlaceProblem small = *problem;
	small.tasks = wish;
	small.n_tasks = 1;
	uint64_t low = 0, high = most;
	while (low < high) {
		unsigned units = (unsigned)(low + (high - low + 1) / 2);
		bool certain;
		g_autoptr(GPtrArray) nodes = rg_place_on_parts(&small, &units, divide, &certain);
		if (nodes)
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
	return rg_place_search_alone(&small, &one, unequal_limit(problem, task, kind), NULL, sure);
}
