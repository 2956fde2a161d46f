#include "diff/drift.h"
#include "resource/expr.h"
#include "resource/nodes.h"

static void attr_free(void *data)
{
	RgDriftAttr *attr = data;
	g_free(attr->name);
	json_decref(attr->desired);
	json_decref(attr->recorded);
	json_decref(attr->observed);
	g_free(attr);
}

static void item_free(void *data)
{
	RgDriftItem *item = data;
	g_free(item->address);
	g_free(item->kind);
	g_free(item->group);
	g_free(item->id);
	g_free(item->status);
	g_free(item->origin);
	g_free(item->reason);
	g_free(item->removed);
	g_ptr_array_unref(item->attrs);
	g_free(item);
}

void rg_drift_free(RgDrift *drift)
{
	if (!drift)
		return;
	g_free(drift->cluster);
	g_free(drift->acting);
	g_free(drift->spec);
	g_ptr_array_unref(drift->items);
	json_decref(drift->seen);
	json_decref(drift->groups);
	g_free(drift);
}

static RgDriftItem *item_new(RgDriftType type, const RgResource *resource)
{
	RgDriftItem *item = g_new0(RgDriftItem, 1);
	item->type = type;
	item->address = g_strdup(resource->address);
	item->kind = g_strdup(resource->kind);
	item->group = g_strdup(resource->group);
	item->id = g_strdup(resource->id);
	item->status = g_strdup(resource->status);
	item->machine = rg_nodes_are_plain(resource);
	item->attrs = g_ptr_array_new_with_free_func(attr_free);
	return item;
}

static json_t *drift_look_up(void *data, const char *address, const char *attr)
{
	const RgResource *resource = rg_resource_set_find(data, address);
	if (!resource)
		return NULL;
	json_t *value = json_object_get(rg_resource_outputs(resource), attr);
	if (value)
		return json_incref(value);
	return g_str_equal(attr, "id") && resource->id ? json_string(resource->id) : NULL;
}

static json_t *shown(const RgResourceSet *recorded, const RgResource *resource, const char *name)
{
	const json_t *value = resource ? json_object_get(resource->attrs, name) : NULL;
	if (!value && resource)
		value = json_object_get(rg_resource_outputs(resource), name);
	return value ? rg_expr_resolve_known(value, drift_look_up, (void *)(uintptr_t)recorded)
		     : NULL;
}

static void add_attrs(RgDriftItem *item, const RgChange *change, const RgResourceSet *recorded)
{
	rg_ptr_foreach (const RgAttrChange, from, change->attrs) {
		if (!from->drift || from->sensitive)
			continue;
		RgDriftAttr *attr = g_new0(RgDriftAttr, 1);
		attr->name = g_strdup(from->name);
		g_ptr_array_add(item->attrs, attr);
		if (g_str_equal(from->name, RG_MARKS)) { /* no attribute of the resource */
			attr->desired = json_incref(from->after);
			attr->recorded = json_incref(from->recorded);
			attr->observed = json_incref(from->before);
			continue;
		}
		attr->desired = shown(recorded, change->desired, from->name);
		attr->recorded = shown(recorded, change->recorded, from->name);
		attr->observed = json_incref(from->before);
	}
}

static void add_change(RgDrift *drift, const RgChange *change, const RgResourceSet *recorded)
{
	const RgResource *record = change->recorded;
	if (!record || record->presence != RG_PRESENT)
		return;
	if (change->grade == RG_GRADE_UNKNOWN) {
		drift->unread++;
		return;
	}
	drift->checked++;
	bool missing = !change->observed || change->observed->presence == RG_ABSENT;
	if ((!missing && !change->drifted) || change->row == RG_ROW_DONE)
		return;
	RgDriftItem *item = item_new(missing ? RG_DRIFT_MISSING : RG_DRIFT_CHANGED, record);
	for (size_t i = 0; missing && i < rg_nodes_pools(record, NULL); i++) {
		const RgPoolNodes nodes = rg_nodes_get(record, i);
		item->nodes += rg_nodes_are_plain(record) ? 0 : rg_nodes_now(&nodes, NULL);
	}
	const char *status = change->observed ? change->observed->status : change->gone_status;
	if (status) {
		g_free(item->status);
		item->status = g_strdup(status);
	}
	if (missing)
		item->removed = g_strdup(rg_json_str(change->removal, "done", NULL));
	item->interrupted = !missing && rg_change_is_interrupted(change);
	item->origin = g_strdup(change->desired ? change->desired->origin : record->origin);
	if (!missing)
		add_attrs(item, change, recorded);
	g_ptr_array_add(drift->items, item);
}

static int by_type_and_address(const void *a, const void *b)
{
	const RgDriftItem *const *left = a, *const *right = b;
	if ((*left)->type != (*right)->type)
		return (int)(*left)->type - (int)(*right)->type;
	if (!(*left)->address || !(*right)->address)
		return g_strcmp0((*left)->id, (*right)->id);
	return rg_address_compare((*left)->address, (*right)->address);
}

RgDrift *rg_drift_new(const RgDiff *diff, const RgResourceSet *recorded, const char *cluster,
	RgSource (*source)(const void *data, const char *pointer), const void *source_data)
{
	RgDrift *drift = g_new0(RgDrift, 1);
	drift->cluster = g_strdup(cluster);
	drift->items = g_ptr_array_new_with_free_func(item_free);
	for (guint i = 0; i < diff->changes->len; i++)
		add_change(drift, diff->changes->pdata[i], recorded);
	for (guint i = 0; i < diff->unmanaged->len; i++)
		g_ptr_array_add(
			drift->items, item_new(RG_DRIFT_UNMANAGED, diff->unmanaged->pdata[i]));
	g_ptr_array_sort(drift->items, by_type_and_address);
	for (guint i = 0; source && i < drift->items->len; i++) {
		RgDriftItem *item = drift->items->pdata[i];
		if (item->origin)
			item->source = source(source_data, item->origin);
	}
	return drift;
}

void rg_drift_add_unhealthy(RgDrift *drift, const RgResource *record, const char *reason,
	bool strangers, RgSource (*source)(const void *data, const char *pointer),
	const void *source_data)
{
	rg_ptr_foreach (const RgDriftItem, other, drift->items) {
		if (!strangers && g_strcmp0(other->address, record->address) == 0)
			return;
	}
	RgDriftItem *item = item_new(RG_DRIFT_UNHEALTHY, record);
	item->reason = g_strdup(reason);
	item->strangers = strangers;
	item->origin = g_strdup(record->origin);
	if (source && item->origin)
		item->source = source(source_data, item->origin);
	g_ptr_array_add(drift->items, item);
	g_ptr_array_sort(drift->items, by_type_and_address);
}
