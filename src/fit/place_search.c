/* All placements of a small problem; remembers what was already tried. */
#include <string.h>
#include "fit/place_internal.h"

/* Above this the answer is "not found", not "does not exist". */
#define MAX_STEPS 20000

typedef struct {
	const RgPlaceProblem *problem;
	unsigned *order;
	GHashTable *seen; /* GBytes of (task, unit, layout) that failed */
	unsigned steps;
	bool sure;
	RgLayout *found;
	RgPlaced *placed;
} Search;

static bool go(Search *search, const RgLayout *layout, unsigned at, unsigned unit);

static int compare_nodes(gconstpointer a, gconstpointer b, gpointer data)
{
	const RgNodes *x = *(RgNodes *const *)a, *y = *(RgNodes *const *)b;
	if (x->pool != y->pool)
		return x->pool < y->pool ? -1 : 1;
	return memcmp(x->state, y->state, rg_state_width(data, x->pool) * sizeof x->state[0]);
}

static GBytes *key_of(const RgLayout *layout, unsigned at, unsigned unit)
{
	g_autoptr(GPtrArray) sorted = g_ptr_array_copy(layout->groups, NULL, NULL);
	g_ptr_array_set_free_func(sorted, NULL);
	g_ptr_array_sort_with_data(sorted, compare_nodes, (gpointer)(uintptr_t)layout->problem);
	GByteArray *key = g_byte_array_new();
	unsigned place[] = {at, unit};
	g_byte_array_append(key, (const guint8 *)place, sizeof place);
	for (guint i = 0; i < sorted->len; i++) {
		const RgNodes *nodes = sorted->pdata[i];
		size_t bytes = rg_state_width(layout->problem, nodes->pool) * sizeof(int64_t);
		g_byte_array_append(key, (const guint8 *)nodes, (guint)(sizeof *nodes + bytes));
	}
	return g_byte_array_free_to_bytes(key);
}

/* A single bundle on each group, and on each GPU that makes a difference. */
static bool try_single(Search *search, const RgLayout *layout, unsigned at, unsigned unit)
{
	unsigned task = search->order[at];
	const RgPlaceProblem *problem = search->problem;
	for (guint i = 0; i < layout->groups->len; i++) {
		const RgNodes *nodes = layout->groups->pdata[i];
		const RgPlaceNeed *need = &problem->tasks[task].on[nodes->pool];
		int devices = need->part > 0 ? (int)problem->pools[nodes->pool].gpus : 1;
		for (int d = 0; d < devices; d++) {
			if (d > 0 && nodes->state[d] == nodes->state[d - 1])
				continue;
			g_autoptr(RgLayout) next = rg_layout_copy(layout);
			RgNodes *target = next->groups->pdata[i];
			size_t bytes = rg_state_width(problem, nodes->pool) * sizeof(int64_t);
			g_autofree int64_t *state = g_memdup2(nodes->state, MAX(bytes, 1));
			if (!rg_state_add(next, nodes->pool, task, need->part > 0 ? d : -1, state))
				continue;
			rg_layout_set(next, target, state);
			if (go(search, next, at, unit + 1)) {
				search->placed->bundles[task * problem->n_pools + nodes->pool]++;
				return true;
			}
		}
	}
	return false;
}

/* The bundles of one unit that spreads: `left` more nodes, from group `from` on. Nodes are selected
 * in `layout` as it was before the unit, and changed in `next`. */
static bool try_spread(Search *search, const RgLayout *layout, unsigned at, unsigned unit,
	unsigned *picks, guint from, unsigned left)
{
	unsigned task = search->order[at];
	const RgPlaceProblem *problem = search->problem;
	if (left == 0) {
		g_autoptr(RgLayout) next = rg_layout_copy(layout);
		g_autoptr(GPtrArray) targets = g_ptr_array_copy(next->groups, NULL, NULL);
		g_ptr_array_set_free_func(targets, NULL);
		for (guint i = 0; i < targets->len; i++) {
			if (picks[i] > 0)
				rg_layout_add(next, targets->pdata[i], picks[i], task, 1);
		}
		if (!go(search, next, at, unit + 1))
			return false;
		for (guint i = 0; i < layout->groups->len; i++) {
			const RgNodes *nodes = layout->groups->pdata[i];
			search->placed->bundles[task * problem->n_pools + nodes->pool] += picks[i];
		}
		return true;
	}
	if (from == layout->groups->len)
		return false;
	const RgNodes *nodes = layout->groups->pdata[from];
	/* does not try which GPU of a node a fraction goes to */
	search->sure &= problem->tasks[task].on[nodes->pool].part == 0;
	unsigned most = rg_nodes_room(layout, nodes, task) > 0 ? MIN(nodes->count, left) : 0;
	for (unsigned take = most + 1; take-- > 0;) {
		picks[from] = take;
		if (try_spread(search, layout, at, unit, picks, from + 1, left - take))
			return true;
	}
	picks[from] = 0;
	return false;
}

static bool branch(Search *search, const RgLayout *layout, unsigned at, unsigned unit)
{
	const RgPlaceTask *task = &search->problem->tasks[search->order[at]];
	if (!task->spread || task->bundles == 1)
		return try_single(search, layout, at, unit);
	g_autofree unsigned *picks = g_new0(unsigned, layout->groups->len + 1);
	return try_spread(search, layout, at, unit, picks, 0, task->bundles);
}

/* Units of a task are counted one by one. Units that must run together but may share nodes count as
 * single ones here, because all are required. */
static bool go(Search *search, const RgLayout *layout, unsigned at, unsigned unit)
{
	const RgPlaceProblem *problem = search->problem;
	if (at == problem->n_tasks) {
		search->found = rg_layout_copy(layout);
		return true;
	}
	const RgPlaceTask *task = &problem->tasks[search->order[at]];
	unsigned units = task->spread ? task->units : task->units * task->bundles;
	if (unit == units)
		return go(search, layout, at + 1, 0);
	g_autoptr(GBytes) key = key_of(layout, at, unit);
	if (g_hash_table_contains(search->seen, key))
		return false;
	if (search->steps++ >= MAX_STEPS) {
		search->sure = false;
		return false;
	}
	if (branch(search, layout, at, unit))
		return true;
	g_hash_table_add(search->seen, g_steal_pointer(&key));
	return false;
}

RgLayout *rg_place_search(const RgPlaceProblem *problem, RgPlaced *placed, bool *sure)
{
	Search search = {.problem = problem, .sure = true, .placed = placed};
	search.order = rg_place_order(problem);
	search.seen = g_hash_table_new_full(
		g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
	g_autoptr(RgLayout) start = rg_layout_new(problem);
	go(&search, start, 0, 0);
	for (unsigned t = 0; search.found && t < problem->n_tasks; t++)
		placed->units[t] = problem->tasks[t].units;
	*sure = search.sure;
	g_hash_table_unref(search.seen);
	g_free(search.order);
	return search.found;
}
