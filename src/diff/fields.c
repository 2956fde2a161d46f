#include "diff/internal.h"
#include "resource/expr.h"
#include <string.h>

/* Attributes of spec and record in parallel, resolved; decide.md "Attributes". */

typedef struct {
	const char *kind;
	const json_t *desired, *recorded; /* by identity: sets intern equal objects */
} FieldsKey;

static guint hash_key(gconstpointer data)
{
	const FieldsKey *key = data;
	return g_direct_hash(key->desired) * 31u ^ g_direct_hash(key->recorded) ^
	       g_direct_hash(key->kind);
}

static gboolean equal_key(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(FieldsKey)) == 0;
}

static void fields_free(gpointer fields)
{
	GArray *array = fields;
	for (guint i = 0; i < array->len; i++) {
		json_decref(g_array_index(array, Field, i).want);
		json_decref(g_array_index(array, Field, i).was);
	}
	g_array_free(array, TRUE);
}

GHashTable *fields_table_new(void)
{
	return g_hash_table_new_full(hash_key, equal_key, g_free, fields_free);
}

/* What one resolution found. */
typedef struct {
	const Differ *differ;
	bool wanted; /* resolve to future values, not to recorded ones */
	bool unknown, opaque;
	unsigned depth;
} Lookup;

static json_t *field_look_up(void *data, const char *address, const char *attr);

/* A reference may lead to a value that is itself an expression. The graph refused cycles; the depth
 * limit only guards records that no graph has checked. */
static json_t *resolve_nested(Lookup *lookup, const json_t *value)
{
	if (!value || json_is_null(value) || lookup->depth > 32)
		return NULL;
	lookup->depth++;
	json_t *resolved = rg_expr_resolve_known(value, field_look_up, lookup);
	lookup->depth--;
	return resolved;
}

static json_t *recorded_value(Lookup *lookup, const RgResource *recorded, const char *attr)
{
	const Differ *differ = lookup->differ;
	if (!recorded || recorded->presence == RG_PENDING)
		return NULL;
	if (g_str_equal(attr, "id") && recorded->id)
		return json_string(recorded->id);
	json_t *value = json_object_get(rg_resource_outputs(recorded), attr);
	const RgResource *observed = rg_resource_set_find(differ->observed, recorded->address);
	if (!value && observed && observed->presence == RG_PRESENT)
		value = json_object_get(observed->attrs, attr);
	if (value && !json_is_null(value))
		return json_incref(value);
	return resolve_nested(lookup, json_object_get(recorded->attrs, attr));
}

static bool is_made_anew(const Differ *differ, const char *address)
{
	const RgChange *change = g_hash_table_lookup(differ->changes, address);
	return change && !refreshes(differ) &&
	       (change->action == RG_ACTION_CREATE || change->action == RG_ACTION_REPLACE);
}

static json_t *field_look_up(void *data, const char *address, const char *attr)
{
	Lookup *lookup = data;
	const Differ *differ = lookup->differ;
	const RgResource *recorded = rg_resource_set_find(differ->recorded, address);
	const RgResource *desired = rg_resource_set_find(differ->desired, address);
	const RgResource *any = desired ? desired : recorded;
	const RgKind *kind = any ? rg_schema_kind(differ->schema, any->kind) : NULL;
	const RgAttribute *attribute = kind ? rg_kind_attribute(kind, attr) : NULL;
	json_t *value = NULL;
	if (attribute && attribute->sensitive)
		lookup->opaque = true;
	if (!lookup->wanted) {
		value = recorded_value(lookup, recorded, attr);
	} else {
		const json_t *given = desired ? json_object_get(desired->attrs, attr) : NULL;
		if (given && !json_is_null(given))
			value = resolve_nested(lookup, given);
		else if (!is_made_anew(differ, address))
			value = recorded_value(lookup, recorded, attr);
	}
	if (!value)
		lookup->unknown = true;
	if (lookup->opaque)
		g_clear_pointer(&value, json_decref);
	return value;
}

/* NULL if the value cannot be compared with the cloud: unknown, or unreadable. */
static json_t *resolve(const Differ *differ, const json_t *value, bool wanted, Field *field)
{
	Lookup lookup = {.differ = differ, .wanted = wanted};
	json_t *resolved = rg_expr_resolve_known(value, field_look_up, &lookup);
	if (wanted)
		field->unknown = lookup.unknown;
	field->opaque |= lookup.opaque;
	if (lookup.unknown || lookup.opaque)
		g_clear_pointer(&resolved, json_decref);
	return resolved;
}

static const json_t *raw_value(const RgResource *resource, const RgAttribute *attribute)
{
	const json_t *value = resource ? json_object_get(resource->attrs, attribute->name) : NULL;
	if (!value || json_is_null(value))
		return resource ? attribute->default_value : NULL;
	return value;
}

/* A reference in it that leads to another value is a change of its own. */
static bool is_same(
	const Differ *differ, const Field *field, const json_t *recorded, const json_t *desired)
{
	const RgDiffOptions *options = differ->options;
	if (!field->attribute->unreadable || !options || !options->same || !recorded || !desired)
		return false;
	return options->same(recorded, desired) &&
	       (!field->want || !field->was || options->same(field->was, field->want));
}

static void fill_field(const Differ *differ, Field *field, bool readable)
{
	const json_t *ignored = differ->options ? differ->options->ignored : NULL;
	json_auto_t *desired = rg_attribute_without(field->attribute, field->desired, ignored);
	json_auto_t *recorded = rg_attribute_without(field->attribute, field->recorded, ignored);
	readable &= !field->attribute->unreadable;
	if (desired) {
		field->has_refs = rg_expr_has_refs(desired);
		field->want = resolve(differ, desired, true, field);
	}
	if (recorded)
		field->was = resolve(differ, recorded, false, field);
	/* the cloud's view of a secret is neither compared nor shown */
	readable &= !field->opaque;
	field->readable = readable;
	field->compare_want = readable && (!desired || field->want);
	/* what the cloud chose while nobody asked for a value was changed by nobody */
	field->compare_was =
		readable && (recorded ? field->was != NULL : !field->attribute->computed);
	field->moved = !rg_attribute_equal(field->attribute, desired, recorded);
	if (field->want && field->was)
		field->moved |= !rg_attribute_equal(field->attribute, field->want, field->was) &&
				field->has_refs;
	if (field->moved && is_same(differ, field, recorded, desired))
		field->moved = false;
}

static gint compare_attributes(gconstpointer a, gconstpointer b)
{
	const RgAttribute *const *x = a, *const *y = b;
	return strcmp((*x)->name, (*y)->name);
}

static GPtrArray *attributes_by_name(const RgKind *kind)
{
	GPtrArray *sorted = g_ptr_array_new();
	rg_hash_values (void, attribute, kind->attributes)
		g_ptr_array_add(sorted, attribute);
	g_ptr_array_sort(sorted, compare_attributes);
	return sorted;
}

static GArray *make_fields(
	const Differ *differ, const RgResource *desired, const RgResource *recorded)
{
	const char *kind_name = (desired ? desired : recorded)->kind;
	const RgKind *kind = rg_schema_kind(differ->schema, kind_name);
	bool readable = !g_str_equal(kind_name, RG_SECRET_KIND);
	g_autoptr(GPtrArray) attributes = attributes_by_name(kind);
	GArray *fields = g_array_new(FALSE, TRUE, sizeof(Field));
	rg_ptr_foreach (const RgAttribute, attribute, attributes) {
		Field field = {.attribute = attribute,
			.desired = raw_value(desired, attribute),
			.recorded = raw_value(recorded, attribute)};
		/* without a spec (row 13) what was requested counts as desired */
		const json_t *asked = desired ? field.desired : field.recorded;
		field.pinned = attribute->pinned && !asked;
		if (attribute->create_only || (attribute->computed && !asked && !field.pinned))
			continue;
		if (!field.pinned)
			fill_field(differ, &field, readable);
		g_array_append_val(fields, field);
	}
	return fields;
}

const GArray *fields_of(Differ *differ, const RgResource *desired, const RgResource *recorded)
{
	FieldsKey key;
	memset(&key, 0, sizeof(key)); /* compared bytewise */
	key.kind = (desired ? desired : recorded)->kind;
	key.desired = desired ? desired->attrs : NULL;
	key.recorded = recorded ? recorded->attrs : NULL;
	GArray *fields = g_hash_table_lookup(differ->fields, &key);
	if (!fields) {
		fields = make_fields(differ, desired, recorded);
		g_hash_table_insert(differ->fields, g_memdup2(&key, sizeof(key)), fields);
	}
	return fields;
}
