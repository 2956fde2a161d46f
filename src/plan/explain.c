#include "plan/internal.h"
#include <string.h>

/* Which fields of the spec caused a change of a long text such as user data. */

/* Two values; equal nodes share them. */
typedef struct {
	const json_t *before, *after;
} Pair;

static guint pair_hash(gconstpointer key)
{
	const Pair *pair = key;
	return g_direct_hash(pair->before) * 31 + g_direct_hash(pair->after);
}

static gboolean pair_equal(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(Pair)) == 0;
}

GHashTable *plan_explained_new(void)
{
	return g_hash_table_new_full(pair_hash, pair_equal, g_free, rg_json_unref);
}

static json_t *explain(Maker *maker, const json_t *before, const json_t *after)
{
	const Pair pair = {before, after};
	gpointer known;
	if (!before || !after)
		return NULL;
	if (!g_hash_table_lookup_extended(maker->explained, &pair, NULL, &known)) {
		known = maker->input->explain(before, after);
		g_hash_table_insert(maker->explained, g_memdup2(&pair, sizeof(pair)), known);
	}
	return json_array_size(known) > 0 ? json_incref(known) : NULL;
}

/* A text that grew may have moved to another attribute, which takes it compressed. */
static json_t *explain_moved(Maker *maker, const RgChange *change, const json_t *after)
{
	json_t *found = NULL;
	rg_json_foreach_member (name, value, change->recorded->attrs) {
		if (!found && !json_object_get(change->desired->attrs, name))
			found = explain(maker, value, after);
	}
	return found;
}

static json_t *explain_texts(Maker *maker, const RgChange *change)
{
	json_t *found = NULL;
	if (!maker->input->explain)
		return NULL;
	for (guint i = 0; i < change->attrs->len && !found; i++) {
		const RgAttrChange *attr = change->attrs->pdata[i];
		const json_t *before = json_object_get(change->recorded->attrs, attr->name);
		const json_t *after = json_object_get(change->desired->attrs, attr->name);
		if (!attr->sensitive)
			found = before ? explain(maker, before, after)
				       : explain_moved(maker, change, after);
	}
	return found;
}

/* Attributes that a single field of the spec determines (`field` of the provider's schema). */
static void add_fields(Maker *maker, const RgChange *change, json_t *items)
{
	const RgKind *kind = rg_schema_kind(maker->schema, change->desired->kind);
	rg_ptr_foreach (const RgAttrChange, attr, change->attrs) {
		const RgAttribute *attribute = rg_kind_attribute(kind, attr->name);
		if (!attribute || !attribute->field || !attr->spec || !attr->force_new ||
			attr->sensitive || attr->after_unknown)
			continue;
		json_array_append_new(
			items, json_pack("{s:s, s:s, s:s, s:O*, s:O*}", "field", attribute->field,
				       "attribute", attr->name, "change",
				       !attr->before  ? "added"
				       : !attr->after ? "removed"
						      : "changed",
				       "before", attr->before, "after", attr->after));
	}
}

static json_t *find_field(const json_t *items, const char *field)
{
	rg_json_foreach (item, items)
		if (g_str_equal(rg_json_str(item, "field", ""), field))
			return item;
	return NULL;
}

/* A field that determines an attribute too is listed once: with both of its values, if the text has
 * them. */
static void add_texts(json_t *items, const json_t *texts)
{
	static const char *const members[] = {"before", "after", "change"};
	rg_json_foreach (text, texts) {
		json_t *item = find_field(items, rg_json_str(text, "field", ""));
		bool more = json_object_get(text, "before") && json_object_get(text, "after");
		if (!item)
			json_array_append(items, text);
		for (size_t k = 0; item && more && k < G_N_ELEMENTS(members); k++)
			json_object_set(item, members[k], json_object_get(text, members[k]));
	}
}

json_t *plan_explain(Maker *maker, const RgChange *change)
{
	if (!change->desired || !change->recorded)
		return NULL;
	json_auto_t *items = json_array();
	add_fields(maker, change, items);
	json_t *texts = explain_texts(maker, change);
	if (!json_array_size(items))
		return texts;
	add_texts(items, texts);
	json_decref(texts);
	return json_incref(items);
}
