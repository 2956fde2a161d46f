/* What would let a workload run at the lowest hourly cost: more nodes of a pool, a new pool, slices
 * instead of whole GPUs, or a fraction of a GPU. Each candidate is a cluster with that change,
 * which is placed like the given one; so what is printed is enough. */
#include "workloads/remedy_internal.h"

#define MOST_NODES 100000
#define MOST_STEPS (12 * RG_PLACE_TRIAL_STEPS) /* of all candidates together */

/* What the spec has already: enabled, with more nodes if those that it says are too few. */
static void try_disabled(RgRemedy *remedy, const RgTrial *given)
{
	for (unsigned p = 1; p < given->shapes.shapes->len; p++) {
		const RgShape *shape = given->shapes.shapes->pdata[p];
		const RgPool *pool = shape->pool;
		RgTrial trial = *given;
		trial.grows = p;
		trial.least = MAX(1, MAX(pool->wanted, pool->wanted_max));
		trial.price = rg_remedy_price(remedy, shape->type, shape->is_spot);
		bool known = trial.price != RG_MONEY_UNKNOWN;
		if (!pool->is_disabled || known == remedy->unpriced ||
			!rg_remedy_admits(remedy, shape))
			continue;
		trial.price = known ? trial.price : 1;
		json_t *change = rg_remedy_change(shape, pool->name);
		json_object_set_new(change, "enable", json_true());
		rg_remedy_offer(remedy, &trial, change);
	}
	if (remedy->best || remedy->unpriced)
		return;
	remedy->unpriced = true;
	try_disabled(remedy, given);
	remedy->unpriced = false;
}

json_t *rg_fit_remedy(const RgFitAsk *ask)
{
	RgRemedy remedy = {.ask = ask,
		.cluster = ask->demand->cluster,
		.workload = rg_demand_workload(ask->demand, ask->task),
		.shapes = *ask->demand->shapes,
		.steps = MOST_STEPS};
	RgMig *mig = remedy.shapes.mig;
	RgTrial same = rg_remedy_trial(&remedy);
	remedy.max_nodes =
		rg_fit_policy_room(remedy.cluster, ask->limits, ask->n_limits, MOST_NODES);
	uint64_t room = remedy.max_nodes;
	remedy.max_nodes = 0;
	rg_remedy_try_sharing(&remedy);
	remedy.max_nodes = room;
	bool free = remedy.best != NULL;
	if (!free)
		try_disabled(&remedy, &same);
	free |= remedy.best != NULL;
	if (!free) {
		remedy.steps = MOST_STEPS;
		rg_remedy_try_pools(&remedy, &same, NULL, NULL);
		rg_remedy_try_sharing(&remedy);
	}
	if (!free && !remedy.workload->pools)
		rg_remedy_try_types(&remedy);
	if (!remedy.best) {
		remedy.unpriced = true;
		remedy.steps = MOST_STEPS;
		rg_remedy_try_pools(&remedy, &same, NULL, NULL);
	}
	json_decref(remedy.apart);
	if (remedy.shapes.mig != mig)
		rg_mig_free(remedy.shapes.mig);
	return remedy.best;
}
