#include "plan/internal.h"
#include "resource/expr.h"
#include <string.h>

/* The keys of `terraform show -json PLAN` (internal/command/jsonplan/plan.go, format 1.2), with
 * Terraform's meaning: for policies, tfcmt, Atlantis and GitLab's widget. */

static const char *const actions[][2] = {
	[RG_ACTION_NONE] = {"no-op"},
	[RG_ACTION_CREATE] = {"create"},
	[RG_ACTION_UPDATE] = {"update"},
	[RG_ACTION_REPLACE] = {"delete", "create"},
	[RG_ACTION_DELETE] = {"delete"},
	/* no call to the cloud: Terraform has no action for it */
	[RG_ACTION_RECORD] = {"no-op"},
	[RG_ACTION_FORGET] = {"forget"},
	[RG_ACTION_RELEASE] = {"forget"},
	[RG_ACTION_STOP] = {"no-op"},
};

static json_t *action_list(RgAction action)
{
	json_t *list = json_array();
	for (size_t i = 0; i < 2 && actions[action][i]; i++)
		json_array_append_new(list, json_string(actions[action][i]));
	return list;
}

/* The five parallel trees of a change. */
typedef struct {
	json_t *before, *after, *unknown, *before_sensitive, *after_sensitive;
} View;

static json_t *share(const json_t *value)
{
	return json_incref(rg_json_unconst(value));
}

static const RgPlanAttr *find_attr(const RgPlanChange *change, const char *name)
{
	rg_ptr_foreach (const RgPlanAttr, attr, change->attrs)
		if (g_str_equal(attr->name, name))
			return attr;
	return NULL;
}

static void put_id(json_t *object, const char *id)
{
	if (id && !json_object_get(object, "id"))
		json_object_set_new(object, "id", json_string(id));
}

static json_t *view_before(const RgPlanChange *change, Blobs *blobs)
{
	json_t *object;
	if (!change->before)
		return NULL;
	object = json_object();
	rg_json_foreach_member (name, value, change->before)
		json_object_set_new(object, name, blobs_put(blobs, value, LONG_TEXT));
	put_id(object, change->id);
	return object;
}

static void put_after(View *view, const RgPlanChange *change, const char *name,
	const json_t *wanted, Blobs *blobs)
{
	const RgPlanAttr *attr = find_attr(change, name);
	const json_t *value = wanted;
	if (json_object_get(change->sensitive, name)) {
		json_object_set_new(view->after, name, json_null());
		return;
	}
	if (attr && attr->after_unknown) {
		json_object_set_new(view->unknown, name, json_true());
		return;
	}
	if (attr)
		value = attr->after;
	else if (change->before && rg_expr_has_refs(wanted) &&
		 json_object_get(change->before, name))
		value = json_object_get(change->before, name);
	if (value)
		json_object_set_new(view->after, name, blobs_put(blobs, value, LONG_TEXT));
}

static void view_made(View *view, const RgPlanChange *change, Blobs *blobs)
{
	bool anew = change->action != RG_ACTION_UPDATE;
	view->after = json_object();
	rg_json_foreach_member (name, value, change->desired)
		put_after(view, change, name, value, blobs);
	for (guint a = 0; a < change->attrs->len; a++) {
		/* a restored default is in no desired attribute */
		const RgPlanAttr *attr = change->attrs->pdata[a];
		if (attr->after && !json_object_get(change->desired, attr->name))
			put_after(view, change, attr->name, attr->after, blobs);
	}
	if (!anew) {
		put_id(view->after, change->id);
		return;
	}
	rg_json_foreach (computed, change->computed)
		json_object_set_new(view->unknown, json_string_value(computed), json_true());
	if (!json_object_get(change->desired, "id"))
		json_object_set_new(view->unknown, "id", json_true());
}

static void view_sensitive(View *view, const RgPlanChange *change)
{
	rg_json_foreach_member (name, yes, change->sensitive) {
		if (json_object_get(change->before, name))
			json_object_set(view->before_sensitive, name, yes);
		if (json_object_get(view->after, name))
			json_object_set(view->after_sensitive, name, yes);
	}
}

static void view_init(View *view, const RgPlanChange *change, Blobs *blobs)
{
	*view = (View){.unknown = json_object(),
		.before_sensitive = json_object(),
		.after_sensitive = json_object()};
	view->before = view_before(change, blobs);
	switch (change->action) {
	case RG_ACTION_NONE:
	case RG_ACTION_RECORD:
	case RG_ACTION_STOP:
		view->after = view->before ? share(view->before) : NULL;
		break;
	case RG_ACTION_CREATE:
	case RG_ACTION_UPDATE:
	case RG_ACTION_REPLACE:
		view_made(view, change, blobs);
		break;
	case RG_ACTION_DELETE:
	case RG_ACTION_FORGET:
	case RG_ACTION_RELEASE:
		break;
	}
	view_sensitive(view, change);
}

static json_t *or_null(json_t *value)
{
	return value ? value : json_null();
}

/* An attribute that is only recorded (decide.md row 9) forces nothing. */
static bool attr_moves(const RgPlanAttr *attr)
{
	if (attr->after_unknown || attr->sensitive)
		return true;
	return attr->before != attr->after && !json_equal(attr->before, attr->after);
}

static json_t *replace_paths(const RgPlanChange *change)
{
	json_t *paths = json_array();
	rg_ptr_foreach (const RgPlanAttr, attr, change->attrs)
		if (attr->force_new && attr_moves(attr))
			json_array_append_new(paths, json_pack("[s]", attr->name));
	return paths;
}

/* The first members of resource_changes[] and resource_drift[]. */
static json_t *entry_new(const RgPlan *plan, const RgPlanChange *change)
{
	bool core = g_str_equal(change->kind, RG_SECRET_KIND);
	json_t *entry = json_object();
	rg_json_set_str(entry, "address", change->address);
	json_object_set_new(entry, "mode", json_string("managed"));
	rg_json_set_str(entry, "type", change->kind);
	rg_json_set_str(entry, "name", change->name);
	if (change->index >= 0)
		json_object_set_new(entry, "index", json_integer(change->index));
	rg_json_set_str(entry, "provider_name", core ? "raygpu" : plan->provider);
	return entry;
}

json_t *terraform_change(const RgPlan *plan, const RgPlanChange *change, Blobs *blobs)
{
	json_t *entry = entry_new(plan, change), *body = json_object();
	View view;
	view_init(&view, change, blobs);
	json_object_set_new(body, "actions", action_list(change->action));
	json_object_set_new(body, "before", or_null(view.before));
	json_object_set_new(body, "after", or_null(view.after));
	json_object_set_new(body, "after_unknown", view.unknown);
	json_object_set_new(body, "before_sensitive", view.before_sensitive);
	json_object_set_new(body, "after_sensitive", view.after_sensitive);
	if (change->action == RG_ACTION_REPLACE)
		json_object_set_new(body, "replace_paths", replace_paths(change));
	const char *imported = rg_json_str(change->import, "id", NULL);
	if (imported)
		json_object_set_new(body, "importing", json_pack("{s:s}", "id", imported));
	json_object_set_new(entry, "change", body);
	if (change->reason)
		rg_json_set_str(entry, "action_reason", change->reason);
	return entry;
}

/* As recorded: the cloud's values, with the drifted attributes reverted. */
static json_t *undrifted(const RgPlanChange *change, const json_t *shown, Blobs *blobs)
{
	json_t *object = json_copy(rg_json_unconst(shown));
	rg_ptr_foreach (const RgPlanAttr, attr, change->attrs) {
		if (!attr->drift || attr->sensitive)
			continue;
		if (attr->recorded)
			json_object_set_new(
				object, attr->name, blobs_put(blobs, attr->recorded, LONG_TEXT));
		else
			json_object_del(object, attr->name);
	}
	return object;
}

bool rg_plan_change_gone(const RgPlanChange *change)
{
	return change->action == RG_ACTION_FORGET || change->row == 7 || change->row == 11;
}

json_t *terraform_drift(const RgPlan *plan, const RgPlanChange *change, Blobs *blobs)
{
	bool gone = rg_plan_change_gone(change);
	json_t *entry = entry_new(plan, change), *body = json_object();
	json_t *after = view_before(change, blobs);
	View view = {.before_sensitive = json_object(), .after_sensitive = json_object()};
	view_sensitive(&view, change);
	json_object_set_new(
		body, "actions", action_list(gone ? RG_ACTION_DELETE : RG_ACTION_UPDATE));
	json_object_set_new(body, "before", after ? undrifted(change, after, blobs) : json_null());
	json_object_set_new(body, "after", gone || !after ? json_null() : share(after));
	json_object_set_new(body, "after_unknown", json_object());
	json_object_set(body, "before_sensitive", view.before_sensitive);
	json_object_set_new(body, "after_sensitive", gone ? json_object() : view.before_sensitive);
	if (gone)
		json_decref(view.before_sensitive);
	json_decref(view.after_sensitive);
	json_decref(after);
	json_object_set_new(entry, "change", body);
	return entry;
}
