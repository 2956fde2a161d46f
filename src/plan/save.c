#include "plan/members.h"

/* plan -> JSON (schemas/plan.schema.json). Terraform's keys first; everything that apply needs is
 * under "raygpu", at the top and in each change. No build version: two builds that decide the same
 * write the same bytes, so that a plan can be approved by its hash; "raygpu_format" shows whether
 * the file can be read. */

/* Steals `list`. */
static void put_list(json_t *object, const char *key, json_t *list, Blobs *blobs)
{
	if (json_array_size(list) > 0)
		json_object_set_new(object, key, blobs_put(blobs, list, LONG_VALUE));
	json_decref(list);
}

/* Values that must not be shown are not saved either, but references to them are; a plan that lacks
 * such a value cannot be applied from a file. */
static json_t *without_sensitive(const RgPlanChange *change)
{
	json_t *copy = json_copy(change->desired);
	rg_json_foreach_member (name, yes, change->sensitive) {
		const json_t *value = json_object_get(copy, name);
		if (value && !json_object_get(value, "$ref"))
			json_object_set_new(copy, name, json_null());
	}
	return copy;
}

static json_t *own_change(const RgPlanChange *change, Blobs *blobs)
{
	RgPlanChange shown = *change;
	bool scrubbed = change->sensitive && change->desired;
	if (scrubbed)
		shown.desired = without_sensitive(change);
	json_t *object = json_pack("{s:s, s:s, s:i}", "action", action_name(change->action),
		"grade", grade_name(change->grade), "row", change->row);
	members_put(change_members, &shown, object, blobs);
	json_t *attrs = json_array(), *depends_on = json_array(), *after = json_array();
	for (guint i = 0; i < change->attrs->len; i++)
		json_array_append_new(
			attrs, members_json(attr_members, change->attrs->pdata[i], blobs));
	for (size_t i = 0; change->depends_on && change->depends_on[i]; i++)
		json_array_append_new(depends_on, json_string(change->depends_on[i]));
	for (guint i = 0; i < change->after->len; i++)
		json_array_append_new(after, json_string(change->after->pdata[i]));
	put_list(object, "attrs", attrs, blobs);
	put_list(object, "depends_on", depends_on, blobs);
	put_list(object, "after", after, blobs);
	if (scrubbed)
		json_decref(shown.desired);
	return object;
}

/* Carbon only if it was requested. */
static json_t *nodes_sum_json(const RgPlan *plan, const RgPlanSum *sum)
{
	json_t *object = members_json(sum_members, sum, NULL);
	if (plan->carbon)
		members_put(sum_carbon_members, sum, object, NULL);
	return object;
}

/* A pool before or after. */
static json_t *side_json(const RgPlan *plan, const RgPlanSide *side)
{
	json_t *object = nodes_sum_json(plan, &side->now);
	if (!rg_plan_is_range(side))
		return object;
	json_object_set_new(object, "least", nodes_sum_json(plan, &side->least));
	json_object_set_new(object, "most", nodes_sum_json(plan, &side->most));
	return object;
}

static json_t *pools_json(const RgPlan *plan)
{
	json_t *list = json_array();
	rg_ptr_foreach (const RgPlanPool, pool, plan->pools) {
		json_t *object = members_json(pool_members, pool, NULL);
		json_object_set_new(object, "before", side_json(plan, &pool->before));
		json_object_set_new(object, "after", side_json(plan, &pool->after));
		if (pool->forgotten.nodes)
			json_object_set_new(
				object, "forgotten", nodes_sum_json(plan, &pool->forgotten));
		if (pool->disabled)
			json_object_set_new(object, "enabled", side_json(plan, &pool->enabled));
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *markets_json(const RgPlan *plan)
{
	json_t *list = json_array();
	rg_ptr_foreach (const RgPlanMarket, market, plan->markets) {
		json_t *before = members_json(market_sum_members, &market->before, NULL);
		json_t *after = members_json(market_sum_members, &market->after, NULL);
		json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "market", market->market,
						    "before", before, "after", after));
	}
	return list;
}

static json_t *sum_json(const RgPlanSum *sum)
{
	return json_pack("{s:I, s:I, s:I}", "microusd_hour", (json_int_t)sum->microusd_hour,
		"microusd_month", (json_int_t)sum->microusd_hour * RG_MONTH_HOURS, "unpriced",
		(json_int_t)sum->unpriced);
}

static json_t *cost_side(const RgPlanSide *side)
{
	json_t *object = sum_json(&side->now);
	if (!rg_plan_is_range(side))
		return object;
	json_object_set_new(object, "least", sum_json(&side->least));
	json_object_set_new(object, "most", sum_json(&side->most));
	return object;
}

/* null if a node without a price is on either side: the difference is then unknown. */
static json_t *delta_json(int64_t before, int64_t after, bool known)
{
	return known ? json_integer(after - before) : json_null();
}

static json_t *cost_json(const RgPlan *plan)
{
	const RgPlanSide from = rg_plan_sum(plan, NULL, false), to = rg_plan_sum(plan, NULL, true);
	const RgPlanSum before = from.now, after = to.now;
	bool known = before.unpriced == 0 && after.unpriced == 0;
	json_t *delta = json_object();
	json_object_set_new(delta, "microusd_hour",
		delta_json(before.microusd_hour, after.microusd_hour, known));
	json_object_set_new(delta, "microusd_month",
		delta_json(before.microusd_hour * RG_MONTH_HOURS,
			after.microusd_hour * RG_MONTH_HOURS, known));
	return json_pack("{s:o, s:o, s:o, s:o}", "before", cost_side(&from), "after",
		cost_side(&to), "delta", delta, "markets", markets_json(plan));
}

static json_t *carbon_json(const RgPlan *plan)
{
	const RgPlanSum before = rg_plan_sum(plan, NULL, false).now,
			after = rg_plan_sum(plan, NULL, true).now;
	bool known = before.uncounted == 0 && after.uncounted == 0;
	return json_pack("{s:O, s:{s:I, s:I}, s:{s:I, s:I}, s:{s:o}}", "basis", plan->carbon,
		"before", "mg_hour", (json_int_t)before.carbon_mg_hour, "uncounted",
		(json_int_t)before.uncounted, "after", "mg_hour", (json_int_t)after.carbon_mg_hour,
		"uncounted", (json_int_t)after.uncounted, "delta", "mg_hour",
		delta_json(before.carbon_mg_hour, after.carbon_mg_hour, known));
}

static json_t *limits_json(const RgPlan *plan)
{
	json_t *list = json_array();
	rg_ptr_foreach (const RgPlanLimit, limit, plan->limits) {
		json_t *object = members_json(limit_members, limit, NULL);
		rg_json_set_str(object, "period", rg_plan_limit_period(limit));
		json_object_set_new(object, limit->gpus ? "gpu_hours" : "microusd",
			json_integer((json_int_t)limit->most));
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *own_plan(const RgPlan *plan)
{
	json_t *capacity = capacity_json(plan);
	json_t *object = members_json(plan_members, plan, NULL), *unmanaged = json_array();
	json_object_set_new(object, "spec", members_json(spec_members, plan, NULL));
	json_object_set_new(object, "git", members_json(git_members, plan, NULL));
	/* What it costs and emits, and what it was compared with. */
	members_put(money_members, plan, object, NULL);
	json_object_set_new(object, "pools", pools_json(plan));
	json_object_set_new(object, "cost", cost_json(plan));
	if (plan->carbon)
		json_object_set_new(object, "carbon", carbon_json(plan));
	if (plan->limits->len > 0)
		json_object_set_new(object, "limits", limits_json(plan));
	for (guint i = 0; i < plan->unmanaged->len; i++)
		json_array_append(unmanaged, plan->unmanaged->pdata[i]);
	json_object_set_new(object, "unmanaged", unmanaged);
	members_put(touched_members, plan, object, NULL);
	if (capacity)
		json_object_set_new(object, "capacity", capacity);
	json_object_set_new(object, "budget", members_json(effort_members, plan, NULL));
	json_object_set_new(object, "summary", members_json(summary_members, plan, NULL));
	return object;
}

json_t *rg_plan_to_json(const RgPlan *plan)
{
	json_t *document = json_object(), *changes = json_array(), *drift = json_array();
	Blobs blobs;
	blobs_init(&blobs);
	rg_ptr_foreach (const RgPlanChange, change, plan->changes) {
		json_t *entry = terraform_change(plan, change, &blobs);
		json_object_set_new(entry, "raygpu", own_change(change, &blobs));
		json_array_append_new(changes, entry);
		if (change->drifted)
			json_array_append_new(drift, terraform_drift(plan, change, &blobs));
	}
	json_object_set_new(document, "format_version", json_string("1.2"));
	json_object_set_new(document, "raygpu_format", json_integer(1));
	json_object_set_new(document, "resource_drift", drift);
	json_object_set_new(document, "resource_changes", changes);
	json_object_set_new(
		document, "applyable", json_boolean(rg_plan_has_changes(plan) && !plan->errored));
	json_object_set_new(document, "complete", json_boolean(!plan_is_partial(plan)));
	json_object_set_new(document, "errored", json_boolean(plan->errored));
	json_object_set_new(document, "raygpu", own_plan(plan));
	json_object_set(document, "blobs", blobs.table);
	blobs_clear(&blobs);
	return document;
}
