/* How many nodes a changed cluster needs, counted by placing it, and whether that is better than
 * what was found so far. */
#include "workloads/remedy_internal.h"
#include "workloads/start.h"

#define MOST_SIMULATED 16 /* changed clusters, for one workload */
#define MOST_UNSTARTED 4  /* numbers of nodes that are enough, but not for Ray's scheduler */

/* The units of a task that must run after the change: what fits before and what is asked about. */
static unsigned must_run(const RgRemedy *remedy, const RgPlaceProblem *problem, unsigned task)
{
	const RgFitAsk *ask = remedy->ask;
	bool all = task == ask->task ||
		   ask->placed->units[task] == ask->demand->problem.tasks[task].units;
	return all ? problem->tasks[task].units : 0;
}

static bool has_all(const RgRemedy *remedy, const RgPlaceProblem *problem, const RgPlaced *placed)
{
	for (unsigned t = 0; t < problem->n_tasks; t++) {
		if (placed->units[t] < must_run(remedy, problem, t))
			return false;
	}
	return true;
}

static bool is_enough(const RgRemedy *remedy, const RgPlaceProblem *problem)
{
	g_autofree unsigned *must = g_new0(unsigned, problem->n_tasks + 1);
	bool every = true, sure;
	for (unsigned t = 0; t < problem->n_tasks; t++) {
		must[t] = must_run(remedy, problem, t);
		every &= must[t] == problem->tasks[t].units;
	}
	if (!rg_place_fits(problem, must, &sure))
		return false;
	if (every)
		return true;
	/* the others may come first */
	g_autoptr(RgPlaced) placed = rg_place_together(problem);
	return has_all(remedy, problem, placed);
}

/* Groups whose GPUs are on more nodes than they need, and were not before. */
static void note_apart(
	RgRemedy *remedy, const RgDemand *changed, const RgPlaced *placed, const RgStart *start)
{
	const RgFitAsk *ask = remedy->ask;
	json_decref(remedy->apart);
	remedy->apart = json_array();
	for (unsigned t = 0; t < changed->problem.n_tasks; t++) {
		if (rg_start_leaves_nvlink(start, changed, placed, t) > 0 &&
			rg_start_leaves_nvlink(ask->start, ask->demand, ask->placed, t) == 0)
			json_array_append_new(
				remedy->apart, json_string(rg_demand_workload(changed, t)->name));
	}
}

/* Whether Ray's scheduler finds a placement on the changed cluster, if it does on the given one. */
static bool is_started(RgRemedy *remedy, const RgDemand *demand, const RgPlaceProblem *problem)
{
	RgDemand changed = *demand;
	if (remedy->ask->start->how == RG_START_UNCERTAIN)
		return true;
	if (remedy->simulated++ >= MOST_SIMULATED)
		return false;
	changed.problem = *problem;
	g_autoptr(RgPlaced) placed = rg_place_together(problem);
	if (!has_all(remedy, problem, placed))
		return false;
	g_autoptr(RgStart) start = rg_start_new(&changed, placed);
	note_apart(remedy, &changed, placed, start);
	return start->how != RG_START_UNCERTAIN;
}

static bool runs_alone(const RgRemedy *remedy, const RgPlaceProblem *problem)
{
	unsigned task = remedy->ask->task;
	return rg_place_alone(problem, task) >= problem->tasks[task].units;
}

/* The fewest nodes above `low` for which `enough` holds, at most `most`; more than that: none. */
static uint64_t fewest(const RgRemedy *remedy, RgPlaceProblem *problem, RgPlacePool *pool,
	uint64_t low, uint64_t most, bool (*enough)(const RgRemedy *, const RgPlaceProblem *))
{
	unsigned now = pool->nodes;
	uint64_t step = 1, high = low;
	pool->nodes = now + (unsigned)high;
	bool found = high <= most && remedy->steps > 0 && enough(remedy, problem);
	while (!found && high < most && remedy->steps > 0) {
		low = high + 1;
		high = MIN(high + step, most);
		step *= 2;
		pool->nodes = now + (unsigned)high;
		found = enough(remedy, problem);
	}
	while (found && low < high) {
		uint64_t middle = low + (high - low) / 2;
		pool->nodes = now + (unsigned)middle;
		if (enough(remedy, problem))
			high = middle;
		else
			low = middle + 1;
	}
	pool->nodes = now;
	return found ? high : most + 1;
}

static const char *pool_of(const RgTrial *trial)
{
	const RgShape *shape = trial->extra ? NULL : trial->shapes.shapes->pdata[trial->grows];
	return shape ? shape->pool->name : NULL;
}

static int64_t budget_of(const RgRemedy *remedy, const RgTrial *trial)
{
	return rg_fit_budget_room(&remedy->shapes, remedy->cluster, remedy->ask->limits,
		remedy->ask->n_limits, pool_of(trial));
}

/* The highest cost that is better than the best so far; -1: any is. What is within the budgets is
 * better than what is not. */
static int64_t cost_limit(const RgRemedy *remedy, const RgTrial *trial)
{
	if (!remedy->best)
		return -1;
	if (remedy->best_over == 0)
		return remedy->best_cost;
	return MAX(remedy->best_cost, budget_of(remedy, trial));
}

/* Nodes to add that cost less than the best; false: no number of them is enough. */
static bool count_nodes(RgRemedy *remedy, const RgTrial *trial, uint64_t *nodes)
{
	g_autoptr(RgDemand) demand = rg_demand_new(&trial->cluster, &trial->shapes, trial->extra);
	RgPlaceProblem problem = demand->problem;
	g_autofree RgPlacePool *pools = g_memdup2(problem.pools, problem.n_pools * sizeof *pools);
	RgPlacePool *pool = &pools[trial->grows];
	uint64_t most = remedy->max_nodes;
	bool takes = false;
	problem.pools = pools;
	problem.steps = &remedy->steps;
	problem.trial = true;
	const RgPlaceTask *wish = &problem.tasks[remedy->ask->task];
	for (unsigned i = 0; i < wish->n_parts; i++)
		takes |= wish->parts[i].on[trial->grows].admitted;
	if (!takes)
		return false;
	int64_t limit = cost_limit(remedy, trial);
	if (limit >= 0 && trial->price > 0)
		most = MIN(most, (uint64_t)(limit / trial->price));
	uint64_t least = MAX(trial->least, trial->extra ? 1 : 0);
	uint64_t low = fewest(remedy, &problem, pool, least, most, runs_alone);
	*nodes = low <= most ? fewest(remedy, &problem, pool, low, most, is_enough) : low;
	unsigned now = pool->nodes;
	for (unsigned k = 0; k < MOST_UNSTARTED && *nodes <= most; k++, ++*nodes) {
		pool->nodes = now + (unsigned)*nodes;
		if (is_started(remedy, demand, &problem))
			return true;
	}
	return false;
}

/* Keeps it if it costs less than the best so far; takes `change`. */
void rg_remedy_offer(RgRemedy *remedy, const RgTrial *trial, json_t *change)
{
	uint64_t nodes = 0;
	bool enough = count_nodes(remedy, trial, &nodes);
	int64_t cost = trial->price * (int64_t)nodes;
	int64_t over = cost > 0 && !remedy->unpriced ? MAX(cost - budget_of(remedy, trial), 0) : 0;
	bool worse = remedy->best && (over > 0) >= (remedy->best_over > 0) &&
		     ((over > 0) > (remedy->best_over > 0) || cost >= remedy->best_cost);
	if (!enough || worse) {
		json_decref(change);
		return;
	}
	json_decref(remedy->best);
	json_object_set_new(change, "nodes", json_integer((json_int_t)nodes));
	json_object_set_new(
		change, "microusd_hour", remedy->unpriced ? json_null() : json_integer(cost));
	json_object_set_new(change, "over_budget_microusd_hour", json_integer(over));
	json_object_set_new(
		change, "leave_nvlink", remedy->apart ? json_incref(remedy->apart) : json_array());
	remedy->best = change;
	remedy->best_cost = cost;
	remedy->best_over = over;
}
