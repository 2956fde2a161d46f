/* How many nodes a changed cluster needs, counted by placing it, and whether that is better than
 * what was found so far. */
#include "fit/remedy_internal.h"

static bool is_enough(const RgRemedy *remedy, const RgPlaceProblem *problem)
{
	const RgFitAsk *ask = remedy->ask;
	const RgPlaceProblem *given = &ask->demand->problem;
	g_autofree unsigned *must = g_new0(unsigned, problem->n_tasks + 1);
	bool every = true, sure;
	for (unsigned t = 0; t < problem->n_tasks; t++) {
		if (t == ask->task || ask->placed->units[t] == given->tasks[t].units)
			must[t] = problem->tasks[t].units;
		every &= must[t] == problem->tasks[t].units;
	}
	if (!rg_place_fits(problem, must, &sure))
		return false;
	if (every)
		return true;
	/* the others may come first */
	g_autoptr(RgPlaced) placed = rg_place_together(problem);
	for (unsigned t = 0; t < problem->n_tasks; t++) {
		if (placed->units[t] < must[t])
			return false;
	}
	return true;
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
	return *nodes <= most;
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
	remedy->best = change;
	remedy->best_cost = cost;
	remedy->best_over = over;
}
