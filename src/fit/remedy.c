/* What would let a workload run at the lowest hourly cost: more nodes of a pool, a new pool, slices
 * instead of whole GPUs, or a fraction of a GPU. Each candidate is a cluster with that change,
 * which is placed like the given one; so what is printed is enough. */
#include "fit/demand.h"
#include "fit/remedy_internal.h"

#define MOST_NODES 100000
#define MOST_STEPS (12 * RG_PLACE_TRIAL_STEPS) /* of all candidates together */

/* `pool` NULL: a new one. */
json_t *rg_remedy_change(const RgShape *shape, const char *pool)
{
	const RgInstanceType *type = shape->type;
	json_t *change = json_object();
	rg_json_set_str(change, "pool", pool);
	rg_json_set_str(change, "instance_type", type->name);
	rg_json_set_str(change, "accelerator", type->gpu ? type->gpu->name : NULL);
	json_object_set_new(change, "gpus", json_integer(type->gpus));
	rg_json_set_str(change, "market", rg_market_word(shape->is_spot));
	rg_json_set_str(change, "mig", NULL);
	json_object_set_new(change, "workload_gpus", json_null());
	json_object_set_new(change, "labels", json_object());
	json_object_set_new(change, "resources", json_object());
	return change;
}

/* ---- more nodes of a pool */

bool rg_remedy_admits(const RgRemedy *remedy, const RgShape *shape)
{
	const RgFitAsk *ask = remedy->ask;
	g_autoptr(RgDiags) found = rg_diags_new();
	return rg_fit_policy_admits(remedy->cluster, &remedy->shapes, shape, ask->limits,
		       ask->n_limits, found) &&
	       rg_fit_compat_admits(remedy->cluster, &remedy->shapes, shape, NULL, found);
}

int64_t rg_remedy_price(const RgRemedy *remedy, const RgInstanceType *type, bool is_spot)
{
	const char *region = remedy->cluster->provider.region;
	const RgPrice *price = is_spot ? rg_fit_spot_price(type, region, NULL)
				       : rg_catalog_find_price(type, region);
	return price ? price->microusd_hour : RG_MONEY_UNKNOWN;
}

RgTrial rg_remedy_trial(const RgRemedy *remedy)
{
	return (RgTrial){.cluster = *remedy->cluster, .shapes = remedy->shapes};
}

void rg_remedy_try_pools(RgRemedy *remedy, const RgTrial *given,
	json_t *(*mark)(json_t *, const void *), const void *data)
{
	for (unsigned p = 1; p < given->shapes.shapes->len; p++) {
		const RgShape *shape = given->shapes.shapes->pdata[p];
		RgTrial trial = *given;
		trial.grows = p;
		trial.price = rg_remedy_price(remedy, shape->type, shape->is_spot);
		bool known = trial.price != RG_MONEY_UNKNOWN;
		/* a reservation has no more nodes than were reserved */
		bool may_grow = !shape->pool->market.reservation && !shape->pool->is_disabled;
		if (!may_grow || known == remedy->unpriced || !rg_remedy_admits(remedy, shape))
			continue;
		trial.price = known ? trial.price : 1;
		json_t *change = rg_remedy_change(shape, shape->pool->name);
		rg_remedy_offer(remedy, &trial, mark ? mark(change, data) : change);
	}
}

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

const GPtrArray *rg_remedy_profiles(RgRemedy *remedy, const RgInstanceType *type)
{
	if (!remedy->shapes.mig) {
		g_autoptr(RgDiags) ignored = rg_diags_new();
		const RgGpus *gpus = rg_catalog_get_gpus(remedy->shapes.catalog);
		remedy->shapes.mig = rg_mig_open(gpus, ignored);
	}
	return remedy->shapes.mig ? rg_mig_profiles(remedy->shapes.mig, type->gpu->name) : NULL;
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
	if (remedy.shapes.mig != mig)
		rg_mig_free(remedy.shapes.mig);
	return remedy.best;
}
