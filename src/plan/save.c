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
	if (text != NULL)
		json_object_set_new(object, key, json_string(text));
}

static void put_value(json_t *object, const char *key, const json_t *value, Blobs *blobs)
{
	if (value != NULL)
		json_object_set_new(object, key, blobs_put(blobs, value, LONG_VALUE));
}

static void put_flag(json_t *object, const char *key, bool flag)
{
	if (flag)
		json_object_set_new(object, key, json_true());
}

static void put_long(json_t *object, const char *key, const json_t *value, Blobs *blobs)
{
	if (value != NULL)
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
		if (value != NULL && json_object_get(value, "$ref") == NULL)
			json_object_set_new(copy, name, json_null());
	}
	return copy;
}

static void put_object(json_t *object, const char *key, const json_t *value, Blobs *blobs)
{
	if (value != NULL)
		json_object_set_new(object, key, blobs_put_object(blobs, value, LONG_VALUE));
}

static void put_lists(json_t *object, const RgPlanChange *change, Blobs *blobs)
{
	json_t *attrs = json_array(), *depends_on = json_array(), *after = json_array();
	for (guint i = 0; i < change->attrs->len; i++)
		json_array_append_new(attrs, attr_json(change->attrs->pdata[i], blobs));
	for (size_t i = 0; change->depends_on != NULL && change->depends_on[i] != NULL; i++)
		json_array_append_new(depends_on, json_string(change->depends_on[i]));
	for (guint i = 0; i < change->after->len; i++)
		json_array_append_new(after, json_string(change->after->pdata[i]));
	put_list(object, "attrs", attrs, blobs);
	put_list(object, "depends_on", depends_on, blobs);
	put_list(object, "after", after, blobs);
}

static void put_values(json_t *object, const RgPlanChange *change, Blobs *blobs)
{
	if (change->sensitive != NULL && change->desired != NULL) {
		json_auto_t *scrubbed = without_sensitive(change);
		put_object(object, "desired", scrubbed, blobs);
	} else {
		put_object(object, "desired", change->desired, blobs);
	}
	put_object(object, "before", change->before, blobs);
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
	put_values(object, change, blobs);
	put_lists(object, change, blobs);
	return object;
}

static json_t *side_json(unsigned nodes, unsigned gpus, int64_t microusd, unsigned unpriced)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "nodes", (json_int_t)nodes, "gpus",
		(json_int_t)gpus, "microusd_hour", (json_int_t)microusd, "unpriced",
		(json_int_t)unpriced);
}

static json_t *pools_json(const GPtrArray *pools)
{
	json_t *list = json_array();
	for (guint i = 0; i < pools->len; i++) {
		const RgPlanPool *pool = pools->pdata[i];
		json_t *object = json_object();
		put_text(object, "pool", pool->pool);
		put_text(object, "instance_type", pool->instance_type);
		put_text(object, "accelerator", pool->accelerator);
		json_object_set_new(object, "before",
			side_json(pool->nodes_before, pool->gpus_before, pool->microusd_hour_before,
				pool->unpriced_before));
		json_object_set_new(object, "after",
			side_json(pool->nodes_after, pool->gpus_after, pool->microusd_hour_after,
				pool->unpriced_after));
		json_array_append_new(list, object);
	}
	return list;
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
	if (value != NULL)
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
	json_object_set_new(object, "pools", pools_json(plan->pools));
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
