#include "apply/internal.h"
#include "resource/expr.h"

/* The input of ready, update and remove: what a module learns about existing resources. */

/* Adds those that a module may see: neither sensitive nor, because they may be long, unreadable.
 * `recorded`: the values of references in them; NULL: there are none, whatever they look like. */
static void add_open(json_t *open, const RgKind *kind, const json_t *attrs, RgResourceSet *recorded)
{
	rg_json_foreach_member (name, value, attrs) {
		const RgAttribute *attribute = kind ? rg_kind_attribute(kind, name) : NULL;
		if (!attribute || attribute->sensitive || attribute->unreadable)
			continue;
		if (!recorded) {
			json_object_set(open, name, value);
			continue;
		}
		json_auto_t *known = rg_expr_resolve_known(value, rg_resource_set_value, recorded);
		if (known && !rg_expr_has_refs(known))
			json_object_set(open, name, known);
	}
}

static json_t *item_new(Apply *apply, const RgPlanChange *change)
{
	RgResourceSet *records = apply->snapshot->recorded;
	const RgKind *kind = kind_of(apply, change->kind);
	const RgResource *record = rg_resource_set_find(records, change->address);
	const Live *live = live_get(apply, change->address);
	json_t *recorded = json_object(), *observed = NULL, *item = json_object();
	add_open(recorded, kind,
		live && live->attrs ? live->attrs
		: record	    ? record->attrs
				    : NULL,
		records);
	if (live)
		add_open(recorded, kind, live->outputs, NULL);
	if (live && live->observed)
		add_open(observed = json_object(), kind, live->observed, NULL);
	rg_json_set_str(item, "address", change->address);
	rg_json_set_str(item, "id", live && live->id ? live->id : change->id);
	json_object_set_new(item, "recorded", recorded);
	json_object_set_new(item, "observed", observed ? observed : json_null());
	if (live && live->operation)
		rg_json_set_str(item, "operation", live->operation);
	return item;
}

/* "marks" that the cloud reported; NULL: they do not change. */
static const RgPlanAttr *changed_marks(const RgPlanChange *change)
{
	rg_ptr_foreach (const RgPlanAttr, attr, change->attrs)
		if (g_str_equal(attr->name, RG_MARKS))
			return attr;
	return NULL;
}

static json_t *marks_new(const Apply *apply, const RgPlanChange *change)
{
	json_t *marks = json_object();
	rg_json_set_str(marks, "cluster", apply->plan->cluster);
	rg_json_set_str(marks, "lineage", apply->options->lineage);
	rg_json_set_str(marks, "pool", change->group);
	return marks;
}

/* What `ignore_tags` leaves to others is in no view of the labels: it is neither set nor
 * removed. */
static void leave_ignored(const Apply *apply, json_t *item, const RgPlanChange *change)
{
	static const char *const views[] = {"attributes", "recorded", "observed"};
	const RgKind *kind = kind_of(apply, change->kind);
	const RgAttribute *labels = kind ? rg_kind_with_role(kind, RG_ROLE_LABELS) : NULL;
	for (size_t i = 0; labels && i < G_N_ELEMENTS(views); i++) {
		json_t *view = json_object_get(item, views[i]);
		const json_t *value = json_object_get(view, labels->name);
		json_t *left = rg_attribute_without(labels, value, apply->plan->ignore_tags);
		if (left)
			json_object_set_new(view, labels->name, left);
		else
			json_object_del(view, labels->name);
	}
}

/* The cloud has it already: it is only recorded. */
static bool is_there(const RgPlanAttr *attr)
{
	return !attr->after_unknown && json_equal(attr->before, attr->after);
}

/* The attributes that an update changes: names. */
static json_t *names_new(const Step *step)
{
	if (step->changed)
		return json_incref(step->changed);
	json_t *names = json_array();
	rg_ptr_foreach (const RgPlanAttr, attr, step->change->attrs)
		if (!is_there(attr))
			json_array_append_new(names, json_string(attr->name));
	return names;
}

/* What an update gets in addition. */
static bool add_wanted(Apply *apply, json_t *item, const Step *step)
{
	const RgPlanChange *change = step->change;
	if (change->action == RG_ACTION_RELEASE) {
		json_object_set_new(item, "attributes", json_object());
		json_object_set_new(item, "changed", json_pack("[s]", RG_MARKS));
		json_object_set_new(item, "marks", json_null());
		return true;
	}
	const RgPlanAttr *marks = step->changed ? NULL : changed_marks(change);
	bool again = step->changed && rg_json_has_text(step->changed, RG_MARKS);
	json_t *attributes = live_resolve(apply, change->desired, apply->diags);
	if (!attributes)
		return false;
	json_object_set_new(item, "attributes", attributes);
	leave_ignored(apply, item, change);
	json_object_set_new(item, "changed", names_new(step));
	if (marks || again)
		json_object_set_new(item, "marks", marks_new(apply, change));
	if (marks && marks->before)
		json_object_set(json_object_get(item, "observed"), RG_MARKS, marks->before);
	return true;
}

Job *items_job(Apply *apply, JobKind verb, const GPtrArray *steps)
{
	const RgPlanChange *first = ((Step *)steps->pdata[0])->change;
	g_autoptr(GPtrArray) going = g_ptr_array_new();
	json_t *input = json_object(), *items = json_array();
	rg_json_set_str(input, "kind", first->kind);
	json_object_set_new(input, "items", items);
	if (verb == JOB_UPDATE && apply->options->force)
		json_object_set_new(input, "force", json_true());
	if (verb == JOB_READY && apply->options->no_wait)
		json_object_set_new(input, "no_wait", json_true());
	rg_ptr_foreach (Step, step, steps) {
		json_auto_t *item = item_new(apply, step->change);
		if (verb == JOB_UPDATE && !add_wanted(apply, item, step)) {
			step_fail(apply, step, last_diag(apply));
			continue;
		}
		if (verb == JOB_READY && step->user)
			json_object_set_new(item, "in_use", json_true());
		if (step->kind == STEP_REMOVE && !step->last)
			json_object_set_new(item, "replaced", json_true());
		json_array_append(items, item);
		g_ptr_array_add(going, step);
	}
	return job_new(verb, input, going);
}
