#include "base/money.h"
#include "plan/internal.h"

/* plan -> JSON (schemas/plan.schema.json). Terraform's keys first; everything that apply needs
 * stands under "raygpu", at the top and in each change. No build version: two builds that decide
 * alike write the same bytes, so that a plan can be approved by its hash; "raygpu_format" tells
 * whether the file can be read. */

/* Longer values of ours than this stand in "blobs". */
#define LONG_VALUE 96

static void put_text(json_t *object, const char *key, const char *text)
{
	if (text)
		json_object_set_new(object, key, json_string(text));
}

static void put_value(json_t *object, const char *key, const json_t *value, Blobs *blobs)
{
	if (value)
		json_object_set_new(object, key, blobs_put(blobs, value, LONG_VALUE));
}

static void put_flag(json_t *object, const char *key, bool flag)
{
	if (flag)
		json_object_set_new(object, key, json_true());
}

static void put_long(json_t *object, const char *key, const json_t *value, Blobs *blobs)
{
	if (value)
		json_object_set_new(object, key, blobs_put(blobs, value, LONG_TEXT));
}

static json_t *attr_json(const RgPlanAttr *attr, Blobs *blobs)
{
	json_t *object = json_object();
	put_text(object, "name", attr->name);
	put_long(object, "before", attr->before, blobs);
	put_long(object, "after", attr->after, blobs);
	put_long(object, "recorded", attr->recorded, blobs);
	put_flag(object, "after_unknown", attr->after_unknown);
	put_flag(object, "force_new", attr->force_new);
	put_flag(object, "sensitive", attr->sensitive);
	put_flag(object, "drift", attr->drift);
	return object;
}

/* Steals `list`. */
static void put_list(json_t *object, const char *key, json_t *list, Blobs *blobs)
{
	if (json_array_size(list) > 0)
		put_value(object, key, list, blobs);
	json_decref(list);
}

static json_t *source_json(const RgSource *source)
{
	json_t *object = json_object();
	put_text(object, "file", source->file);
	json_object_set_new(object, "line", json_integer(source->line));
	json_object_set_new(object, "column", json_integer(source->column));
	return object;
}

/* Values that must not be shown are not saved either, references to them are; a plan that lacks
 * one can't be applied from a file. */
static json_t *without_sensitive(const RgPlanChange *change)
{
	json_t *copy = json_copy(change->desired), *yes;
	const char *name;
	json_object_foreach (change->sensitive, name, yes) {
		const json_t *value = json_object_get(copy, name);
		if (value && !json_object_get(value, "$ref"))
			json_object_set_new(copy, name, json_null());
	}
	return copy;
}

static void put_object(json_t *object, const char *key, const json_t *value, Blobs *blobs)
{
	if (value)
		json_object_set_new(object, key, blobs_put_object(blobs, value, LONG_VALUE));
}

static void put_lists(json_t *object, const RgPlanChange *change, Blobs *blobs)
{
	json_t *attrs = json_array(), *depends_on = json_array(), *after = json_array();
	for (guint i = 0; i < change->attrs->len; i++)
		json_array_append_new(attrs, attr_json(change->attrs->pdata[i], blobs));
	for (size_t i = 0; change->depends_on && change->depends_on[i]; i++)
		json_array_append_new(depends_on, json_string(change->depends_on[i]));
	for (guint i = 0; i < change->after->len; i++)
		json_array_append_new(after, json_string(change->after->pdata[i]));
	put_list(object, "attrs", attrs, blobs);
	if (change->spec_changes)
		put_long(object, "spec_changes", change->spec_changes, blobs);
	put_list(object, "depends_on", depends_on, blobs);
	put_list(object, "after", after, blobs);
}

static void put_values(json_t *object, const RgPlanChange *change, Blobs *blobs)
{
	if (change->sensitive && change->desired) {
		json_auto_t *scrubbed = without_sensitive(change);
		put_object(object, "desired", scrubbed, blobs);
	} else {
		put_object(object, "desired", change->desired, blobs);
	}
	put_object(object, "before", change->before, blobs);
	put_object(object, "observed", change->observed, blobs);
	put_value(object, "pin", change->pin, blobs);
	put_value(object, "computed", change->computed, blobs);
	put_value(object, "sensitive", change->sensitive, blobs);
}

static json_t *price_json(int64_t price)
{
	return price == RG_MONEY_UNKNOWN ? json_null() : json_integer(price);
}

static json_t *own_change(const RgPlanChange *change, Blobs *blobs)
{
	json_t *object = json_object();
	put_text(object, "action", action_name(change->action));
	put_text(object, "grade", grade_name(change->grade));
	json_object_set_new(object, "row", json_integer(change->row));
	put_text(object, "group", change->group);
	put_text(object, "id", change->id);
	put_text(object, "note", change->note);
	put_flag(object, "drifted", change->drifted);
	put_flag(object, "replay", change->replay);
	put_text(object, "origin", change->origin);
	if (change->source.line > 0)
		json_object_set_new(object, "source", source_json(&change->source));
	if (change->price_microusd_hour != 0)
		json_object_set_new(
			object, "price_microusd_hour", price_json(change->price_microusd_hour));
	put_text(object, "accelerator", change->accelerator);
	if (change->gpus > 0)
		json_object_set_new(object, "gpus", json_integer(change->gpus));
	if (change->nodes)
		json_object_set(object, "nodes", change->nodes);
	put_values(object, change, blobs);
	put_lists(object, change, blobs);
	return object;
}

/* Carbon only where it was asked for. */
static json_t *nodes_sum_json(const RgPlan *plan, const RgPlanSum *sum)
{
	json_t *object = json_pack("{s:I, s:I, s:I, s:I}", "nodes", (json_int_t)sum->nodes, "gpus",
		(json_int_t)sum->gpus, "microusd_hour", (json_int_t)sum->microusd_hour, "unpriced",
		(json_int_t)sum->unpriced);
	if (!plan->carbon)
		return object;
	json_object_set_new(object, "carbon_mg_hour", json_integer(sum->carbon_mg_hour));
	json_object_set_new(object, "uncounted", json_integer(sum->uncounted));
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
	for (guint i = 0; i < plan->pools->len; i++) {
		const RgPlanPool *pool = plan->pools->pdata[i];
		json_t *object = json_object();
		put_text(object, "pool", pool->pool);
		put_text(object, "instance_type", pool->instance_type);
		put_text(object, "accelerator", pool->accelerator);
		put_text(object, "market", pool->market);
		put_text(object, "reason", pool->reason);
		if (pool->gang)
			json_object_set_new(object, "gang", json_true());
		json_object_set_new(object, "before", side_json(plan, &pool->before));
		json_object_set_new(object, "after", side_json(plan, &pool->after));
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *market_side(const RgPlanSum *sum)
{
	return json_pack("{s:I, s:I, s:I}", "nodes", (json_int_t)sum->nodes, "microusd_hour",
		(json_int_t)sum->microusd_hour, "unpriced", (json_int_t)sum->unpriced);
}

static json_t *markets_json(const RgPlan *plan)
{
	json_t *list = json_array();
	for (guint i = 0; i < plan->markets->len; i++) {
		const RgPlanMarket *market = plan->markets->pdata[i];
		json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "market", market->market,
						    "before", market_side(&market->before), "after",
						    market_side(&market->after)));
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

/* null where a node without a price stands on either side: the difference isn't known then. */
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
	for (guint i = 0; i < plan->limits->len; i++) {
		const RgPlanLimit *limit = plan->limits->pdata[i];
		json_t *object = json_object();
		put_text(object, "pool", limit->pool);
		put_text(object, "period", limit->month ? "month" : "hour");
		json_object_set_new(object, "microusd", json_integer(limit->microusd));
		json_object_set_new(object, "source", source_json(&limit->source));
		json_array_append_new(list, object);
	}
	return list;
}

/* What it costs and emits, and what it was held against. */
static void put_money(json_t *object, const RgPlan *plan)
{
	json_object_set_new(object, "pools", pools_json(plan));
	json_object_set_new(object, "cost", cost_json(plan));
	if (plan->carbon)
		json_object_set_new(object, "carbon", carbon_json(plan));
	if (plan->limits->len > 0)
		json_object_set_new(object, "limits", limits_json(plan));
	put_text(object, "budget_override", plan->override);
}

static json_t *summary_json(const RgPlan *plan)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "create",
		(json_int_t)plan->create, "update", (json_int_t)plan->update, "replace",
		(json_int_t)plan->replace, "delete", (json_int_t)plan->remove, "record",
		(json_int_t)plan->record, "forget", (json_int_t)plan->forget, "stop",
		(json_int_t)plan->stop, "drifted", (json_int_t)plan->drifted);
}

static void put_json(json_t *object, const char *key, json_t *value)
{
	if (value)
		json_object_set(object, key, value);
}

static json_t *own_plan(const RgPlan *plan)
{
	json_t *object = json_object(), *spec = json_object(), *git = json_object();
	json_t *unmanaged = json_array();
	put_text(object, "command", plan->command);
	put_text(object, "cluster", plan->cluster);
	put_text(object, "lineage", plan->lineage);
	put_text(object, "provider", plan->provider);
	put_text(object, "region", plan->region);
	put_json(object, "config", plan->config);
	put_json(object, "facts", plan->facts);
	put_json(object, "labels", plan->labels);
	put_json(object, "protect", plan->protect);
	put_json(object, "protection", plan->protection);
	put_json(object, "fit", plan->fit);
	put_json(object, "details", plan->details);
	json_object_set_new(object, "serial", json_integer(plan->serial));
	put_text(object, "state", plan->state);
	put_text(spec, "file", plan->spec_file);
	put_text(spec, "digest", plan->spec_digest);
	json_object_set_new(object, "spec", spec);
	json_object_set_new(git, "in_git", json_boolean(plan->in_git));
	put_text(git, "commit", plan->commit);
	json_object_set_new(git, "dirty", json_boolean(plan->dirty));
	json_object_set_new(object, "git", git);
	put_text(object, "catalog_date", plan->catalog_date);
	put_money(object, plan);
	for (guint i = 0; i < plan->unmanaged->len; i++)
		json_array_append(unmanaged, plan->unmanaged->pdata[i]);
	json_object_set_new(object, "unmanaged", unmanaged);
	json_object_set(object, "touched", plan->touched);
	json_object_set_new(object, "budget",
		json_pack("{s:I, s:I}", "api_calls", (json_int_t)plan->api_calls, "api_seconds",
			(json_int_t)plan->api_seconds));
	json_object_set_new(object, "summary", summary_json(plan));
	return object;
}

json_t *rg_plan_to_json(const RgPlan *plan)
{
	json_t *document = json_object(), *changes = json_array(), *drift = json_array();
	Blobs blobs;
	blobs_init(&blobs);
	for (guint i = 0; i < plan->changes->len; i++) {
		const RgPlanChange *change = plan->changes->pdata[i];
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
