/* ray.train.ScalingConfig. A worker of Ray Train drives one GPU, so a bundle with several GPUs
 * becomes as many workers. */
#include "workloads/emit_internal.h"
#include <math.h>

/* Ray counts in steps of 1/10000. */
#define STEPS 10000.0

static int64_t workers_of(const json_t *bundle)
{
	double gpus = json_number_value(rg_json_at(bundle, "/resources/GPU"));
	return gpus > 1 ? (int64_t)gpus : 1;
}

static json_t *worker_share(double amount, int64_t workers, bool whole)
{
	double share = amount / (double)workers;
	/* rounded down, so that all workers together need no more than the bundle */
	double steps = whole ? floor(share) : floor(share * STEPS + 1e-6) / STEPS;
	return steps == floor(steps) ? json_integer((json_int_t)steps) : json_real(steps);
}

static json_t *worker_resources(const RgEmitEntry *entry, const json_t *bundle)
{
	json_t *resources = json_object();
	int64_t workers = workers_of(bundle);
	bool named = rg_emit_has(entry, "train", "accelerator_type");
	rg_json_foreach_member (name, amount, json_object_get(bundle, "resources")) {
		/* names the node's GPU; dividing it means nothing */
		if (g_str_has_prefix(name, "accelerator_type:")) {
			if (!named)
				json_object_set(resources, name, amount);
			continue;
		}
		json_auto_t *share = worker_share(
			json_number_value(amount), workers, g_str_equal(name, "memory"));
		if (json_number_value(share) > 0)
			json_object_set(resources, name, share);
	}
	return resources;
}

/* What all workers need; NULL if they differ, because a ScalingConfig has one size of worker. */
static json_t *common_resources(const RgEmitEntry *entry)
{
	json_auto_t *common = worker_resources(entry, json_array_get(entry->bundles, 0));
	rg_json_foreach (bundle, entry->bundles) {
		json_auto_t *resources = worker_resources(entry, bundle);
		if (!json_equal(resources, common))
			return NULL;
	}
	return json_incref(common);
}

/* One for all workers, or one for each. */
static json_t *worker_selector(const RgEmitEntry *entry)
{
	json_auto_t *all = rg_emit_selectors(entry), *each = json_array();
	const json_t *first = json_array_get(all, 0);
	bool same = true;
	size_t at = 0;
	rg_json_foreach (bundle, entry->bundles) {
		for (int64_t k = 0; k < rg_json_int(bundle, "count", 1); k++, at++) {
			json_t *selector = json_array_get(all, at);
			same &= json_equal(selector, first);
			for (int64_t w = 0; w < workers_of(bundle); w++)
				json_array_append(each, selector);
		}
	}
	if (!all)
		return NULL;
	return same ? json_incref(json_array_get(all, 0)) : json_incref(each);
}

/* Workers of one bundle belong on one node; those of several bundles fill node by node. */
static const char *strategy_of(const RgEmitEntry *entry, bool divided)
{
	if (!entry->strategy)
		return divided ? "STRICT_PACK" : "PACK";
	return divided && !g_str_equal(entry->strategy, "STRICT_PACK") ? "PACK" : entry->strategy;
}

json_t *rg_emit_train(const RgEmitEntry *entry)
{
	json_auto_t *resources = common_resources(entry);
	json_auto_t *selector = worker_selector(entry);
	int64_t workers = 0;
	bool divided = false;
	if (!resources) {
		rg_emit_complain(entry,
			g_strdup_printf("workload %s has bundles of different sizes, and a "
					"ScalingConfig gives all workers the same",
				entry->workload->name),
			"use --emit python, which writes the placement group");
		return NULL;
	}
	rg_json_foreach (bundle, entry->bundles) {
		workers += rg_json_int(bundle, "count", 1) * workers_of(bundle);
		divided |= workers_of(bundle) > 1;
	}
	json_t *arguments = json_pack("{s:I, s:b, s:O, s:s}", "num_workers", (json_int_t)workers,
		"use_gpu", json_object_get(resources, "GPU") != NULL, "resources_per_worker",
		resources, "placement_strategy", strategy_of(entry, divided));
	if (rg_emit_has(entry, "train", "trainer_resources"))
		json_object_set_new(arguments, "trainer_resources", json_pack("{s:i}", "CPU", 0));
	if (rg_emit_has(entry, "train", "label_selector")) {
		if (selector)
			json_object_set(arguments, "label_selector", selector);
	} else if (entry->ray_type && rg_emit_has(entry, "train", "accelerator_type")) {
		rg_json_set_str(arguments, "accelerator_type", entry->ray_type);
	}
	return arguments;
}
