/* What all remedies have in common: a changed cluster, what is printed of it, and whether policy
 * and tables admit it; and more nodes of a pool. */
#include "workloads/remedy_internal.h"

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

const GPtrArray *rg_remedy_profiles(RgRemedy *remedy, const RgInstanceType *type)
{
	if (!remedy->shapes.mig) {
		g_autoptr(RgDiags) ignored = rg_diags_new();
		const RgGpus *gpus = rg_catalog_get_gpus(remedy->shapes.catalog);
		remedy->shapes.mig = rg_mig_open(gpus, ignored);
	}
	return remedy->shapes.mig ? rg_mig_profiles(remedy->shapes.mig, type->gpu->name) : NULL;
}
