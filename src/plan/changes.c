#include "base/money.h"
#include "plan/members.h"
#include "resource/expr.h"
#include "base/words.h"

void plan_attr_free(gpointer data)
{
	RgPlanAttr *attr = data;
	members_free(attr_members, attr);
	g_free(attr);
}

void plan_change_free(gpointer data)
{
	RgPlanChange *change = data;
	members_free(change_members, change);
	g_free(change->address);
	g_free(change->kind);
	g_free(change->name);
	g_free(change->reason);
	g_clear_pointer(&change->attrs, g_ptr_array_unref);
	g_strfreev(change->depends_on);
	g_clear_pointer(&change->after, g_ptr_array_unref);
	g_free(change);
}

bool rg_plan_change_shows(const RgPlanChange *change)
{
	return change->action != RG_ACTION_NONE ||
	       (change->import && !g_str_equal(change->kind, RG_SECRET_KIND));
}

bool node_before(const RgChange *change)
{
	return change->recorded && change->recorded->presence != RG_PENDING && change->observed;
}

bool node_after(const RgChange *change)
{
	if (change->action == RG_ACTION_STOP || change->row == 0)
		return node_before(change);
	return change->desired != NULL;
}

static void take_attrs(RgPlanChange *to, const RgChange *from)
{
	to->attrs = g_ptr_array_new_full(from->attrs->len, plan_attr_free);
	rg_ptr_foreach (const RgAttrChange, attr, from->attrs) {
		RgPlanAttr *copy = g_new0(RgPlanAttr, 1);
		copy->name = g_strdup(attr->name);
		copy->before = json_incref(attr->before);
		copy->after = json_incref(attr->after);
		copy->recorded = attr->drift ? json_incref(attr->recorded) : NULL;
		copy->after_unknown = attr->after_unknown;
		copy->force_new = attr->force_new;
		copy->sensitive = attr->sensitive;
		copy->drift = attr->drift;
		g_ptr_array_add(to->attrs, copy);
	}
}

typedef struct {
	const Maker *maker;
	bool found;
} SecretSearch;

static json_t *note_secret(void *data, const char *address, const char *attr)
{
	SecretSearch *search = data;
	g_autofree char *kind_name = NULL, *name = NULL;
	int64_t index;
	if (!rg_address_parse(address, &kind_name, &name, &index))
		return NULL;
	const RgKind *kind = rg_schema_kind(search->maker->schema, kind_name);
	const RgAttribute *attribute = kind ? rg_kind_attribute(kind, attr) : NULL;
	search->found |= attribute && attribute->sensitive;
	return NULL;
}

static bool refers_to_secret(const Maker *maker, const json_t *value)
{
	SecretSearch search = {.maker = maker};
	json_decref(rg_expr_resolve_known(value, note_secret, &search));
	return search.found;
}

/* The recorded attributes in readable form: references replaced by what the cloud shows, where it
 * may be shown. */
static json_t *shown_before(const Maker *maker, const RgChange *change)
{
	const RgResource *recorded = change->recorded, *observed = change->observed;
	const RgKind *kind = rg_schema_kind(maker->schema, recorded->kind);
	json_t *shown = json_object();
	rg_json_foreach_member (name, value, recorded->attrs) {
		const RgAttribute *attribute = rg_kind_attribute(kind, name);
		json_t *seen = observed ? json_object_get(observed->attrs, name) : NULL;
		if (attribute && attribute->sensitive) {
			json_object_set_new(shown, name, json_null());
			continue;
		}
		bool readable = attribute && !attribute->unreadable;
		if (seen && readable && rg_expr_has_refs(value) && !refers_to_secret(maker, value))
			value = seen;
		json_object_set(shown, name, value);
	}
	return shown;
}

static json_t *with_drift(json_t *shown, const RgChange *change)
{
	json_t *copy = json_copy(shown);
	rg_ptr_foreach (const RgAttrChange, attr, change->attrs) {
		if (!attr->drift || attr->sensitive)
			continue;
		if (attr->before)
			json_object_set(copy, attr->name, attr->before);
		else
			json_object_del(copy, attr->name);
	}
	json_decref(shown);
	return copy;
}

/* Attributes have a meaning only together with their kind. */
static GHashTable *cache_of(GHashTable *kinds, const char *kind)
{
	GHashTable *cache = g_hash_table_lookup(kinds, kind);
	if (!cache) {
		cache = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, rg_json_unref);
		g_hash_table_insert(kinds, (gpointer)(uintptr_t)kind, cache);
	}
	return cache;
}

static json_t *before_of(Maker *maker, const RgChange *change)
{
	const RgResource *recorded = change->recorded;
	if (!recorded || recorded->presence == RG_PENDING || !recorded->attrs)
		return NULL;
	if (change->drifted)
		return with_drift(shown_before(maker, change), change);
	bool seen = change->observed && change->observed->presence == RG_PRESENT;
	GHashTable *cache = cache_of(maker->befores, recorded->kind);
	json_t *shown = seen ? g_hash_table_lookup(cache, recorded->attrs) : NULL;
	if (shown)
		return json_incref(shown);
	shown = shown_before(maker, change);
	if (seen)
		g_hash_table_insert(cache, recorded->attrs, json_incref(shown));
	return shown;
}

static bool is_secret(const Maker *maker, const RgChange *change, const char *name)
{
	const RgKind *kind = rg_schema_kind(maker->schema, change->observed->kind);
	const RgAttribute *attribute = rg_kind_attribute(kind, name);
	const RgResource *asking[] = {change->desired, change->recorded};
	bool secret = !attribute || attribute->sensitive || attribute->unreadable;
	for (size_t i = 0; i < G_N_ELEMENTS(asking) && !secret; i++) {
		const json_t *value = asking[i] ? json_object_get(asking[i]->attrs, name) : NULL;
		secret = value && rg_expr_has_refs(value) && refers_to_secret(maker, value);
	}
	return secret;
}

static json_t *observed_of(const Maker *maker, const RgChange *change)
{
	bool acts = change->action == RG_ACTION_UPDATE || change->action == RG_ACTION_REPLACE ||
		    change->action == RG_ACTION_DELETE || change->action == RG_ACTION_RELEASE;
	if (!acts || !change->observed || change->observed->presence != RG_PRESENT)
		return NULL;
	json_t *shown = json_copy(change->observed->attrs);
	const char *name;
	json_t *value;
	void *next;
	json_object_foreach_safe (shown, next, name, value)
		if (is_secret(maker, change, name))
			json_object_del(shown, name);
	return shown;
}

static bool kind_has_sensitive(const RgKind *kind)
{
	rg_hash_values (RgAttribute, attribute, kind->attributes)
		if (attribute->sensitive)
			return true;
	return false;
}

static void add_sensitive(json_t *names, const RgKind *kind, const RgResource *resource)
{
	if (!resource)
		return;
	rg_json_foreach_member (name, value, resource->attrs) {
		const RgAttribute *attribute = rg_kind_attribute(kind, name);
		if (attribute && attribute->sensitive)
			json_object_set_new(names, name, json_true());
	}
}

static json_t *sensitive_of(const Maker *maker, const RgChange *change)
{
	const RgResource *resource = change->desired ? change->desired : change->recorded;
	const RgKind *kind = rg_schema_kind(maker->schema, resource->kind);
	if (!kind_has_sensitive(kind))
		return NULL;
	json_auto_t *names = json_object();
	add_sensitive(names, kind, change->desired);
	add_sensitive(names, kind, change->recorded);
	return json_object_size(names) > 0 ? json_incref(names) : NULL;
}

static json_t *computed_names(const RgKind *kind, const json_t *desired)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	rg_hash_values (RgAttribute, attribute, kind->attributes)
		if (attribute->computed && !json_object_get(desired, attribute->name))
			g_ptr_array_add(names, (gpointer)(uintptr_t)attribute->name);
	g_ptr_array_sort(names, rg_by_text);
	json_t *array = json_array();
	for (guint i = 0; i < names->len; i++)
		json_array_append_new(array, json_string(names->pdata[i]));
	return array;
}

static json_t *computed_of(Maker *maker, const RgChange *change)
{
	const RgResource *desired = change->desired;
	if (!desired || (change->action != RG_ACTION_CREATE && change->action != RG_ACTION_REPLACE))
		return NULL;
	GHashTable *cache = cache_of(maker->computed, desired->kind);
	json_t *names = g_hash_table_lookup(cache, desired->attrs);
	if (!names) {
		const RgKind *kind = rg_schema_kind(maker->schema, desired->kind);
		names = computed_names(kind, desired->attrs);
		g_hash_table_insert(cache, desired->attrs, names);
	}
	return json_incref(names);
}

RgSource plan_source(const Maker *maker, RgSource source)
{
	const RgPlanInput *input = maker->input;
	if (source.line > 0 && input->spec_file)
		source.file = g_intern_string(rg_json_str(
			input->files, source.file ? source.file : "", input->spec_file));
	return source;
}

static void take_source(const Maker *maker, RgPlanChange *to, const char *origin)
{
	const RgPlanInput *input = maker->input;
	to->origin = g_strdup(origin);
	if (input->source && origin)
		to->source = plan_source(maker, input->source(input->source_data, origin));
}

/* Why it goes, if the pool is still in the spec. */
static void tell_disabled(const Maker *maker, RgPlanChange *to)
{
	const RgPlanInput *input = maker->input;
	for (size_t i = 0; i < input->n_rules; i++) {
		const RgPlanRule *rule = &input->rules[i];
		if (!rule->disabled || g_strcmp0(rule->pool, to->group) != 0 || to->note)
			continue;
		to->source = plan_source(maker, rule->disabled_at);
		to->note = g_strdup_printf("pool %s is disabled at %s:%u", rule->pool,
			to->source.file, (unsigned)to->source.line);
	}
}

const char *rg_plan_change_pool(const RgPlanChange *change)
{
	if (change->group || !change->nodes)
		return change->group;
	return json_array_size(change->nodes) == 1
		       ? rg_json_str(json_array_get(change->nodes, 0), "pool", change->name)
		       : change->name;
}

/* Price and GPUs: from the fitted offers for desired resources, from the pin for recorded ones. */
static void take_offers(Maker *maker, RgPlanChange *to, const RgChange *from)
{
	const RgResource *resource = from->desired ? from->desired : from->recorded;
	const RgKind *kind = rg_schema_kind(maker->schema, resource->kind);
	size_t pools = rg_nodes_pools(resource, kind);
	for (size_t i = 0; i < pools; i++) {
		const RgPoolNodes nodes = rg_nodes_get(resource, i);
		const Offer offer = offer_of(maker, from, &nodes, from->desired != NULL);
		unsigned n = from->desired ? nodes_after(from, &nodes)
					   : rg_nodes_now(&nodes, from->observed);
		if (offer.price == RG_MONEY_UNKNOWN || to->price_microusd_hour == RG_MONEY_UNKNOWN)
			to->price_microusd_hour = RG_MONEY_UNKNOWN;
		else
			to->price_microusd_hour += offer.price * n;
		to->gpus += offer.gpus * n;
		if (i == 0)
			to->accelerator = g_strdup(offer.accelerator);
		else if (g_strcmp0(to->accelerator, offer.accelerator) != 0)
			g_clear_pointer(&to->accelerator, g_free);
	}
	if (pools && from->desired)
		to->pin = pin_after(maker, from);
	if (pools && !rg_nodes_are_plain(resource))
		to->nodes = rg_nodes_json(resource);
}

RgPlanChange *plan_change_new(Maker *maker, const RgChange *change)
{
	RgPlanChange *to = g_new0(RgPlanChange, 1);
	const RgResource *resource = change->desired ? change->desired : change->recorded;
	g_assert(resource != NULL); /* what is only in the cloud is nobody's change */
	const RgResource *holder =
		change->recorded && change->recorded->id ? change->recorded : change->observed;
	to->address = g_strdup(change->address);
	to->kind = g_strdup(resource->kind);
	to->name = g_strdup(resource->name);
	to->group = g_strdup(resource->group);
	to->index = resource->index;
	to->action = change->action;
	to->grade = change->grade;
	to->row = change->row;
	to->reason = g_strdup(change->reason);
	to->note = g_strdup(change->note);
	to->id = g_strdup(holder ? holder->id : NULL);
	to->drifted = change->drifted;
	to->interrupted = rg_change_is_interrupted(change);
	to->replay = change->replay;
	take_attrs(to, change);
	to->spec_changes = plan_explain(maker, change);
	to->sensitive = sensitive_of(maker, change);
	to->computed = computed_of(maker, change);
	to->desired = change->desired ? json_incref(change->desired->attrs) : NULL;
	to->before = before_of(maker, change);
	to->observed = observed_of(maker, change);
	to->depends_on = g_strdupv(rg_dependencies_get(maker->dependencies, resource));
	to->after = g_ptr_array_new_full(change->after->len, g_free);
	for (guint i = 0; i < change->after->len; i++)
		g_ptr_array_add(
			to->after, g_strdup(((RgChange *)change->after->pdata[i])->address));
	to->import = json_incref(json_object_get(maker->input->imports, resource->address));
	to->keep_marks = change->keep_marks;
	to->left = change->left;
	if (change->removal &&
		(change->action == RG_ACTION_DELETE || change->drifted ||
			change->action == RG_ACTION_REPLACE || change->action == RG_ACTION_RELEASE))
		to->removal = json_incref(rg_json_unconst(change->removal));
	take_source(maker, to, change->origin ? change->origin : resource->origin);
	if (to->action == RG_ACTION_DELETE)
		tell_disabled(maker, to);
	take_offers(maker, to, change);
	return to;
}
