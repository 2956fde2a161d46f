#include "resource/resource.h"
#include "resource/expr.h"
#include <pthread.h>
#include <string.h>

struct RgResourceSet {
	GPtrArray *items;	/* owned; in address order once `sorted` is set */
	GHashTable *by_address; /* char* (of the resource) -> RgResource* */
	GPtrArray *extras;
	GHashTable *interned; /* json_t* -> itself, by value */
	gint sorted;	      /* atomic */
	pthread_mutex_t sorting;
};

RgResource *rg_resource_new(const char *kind, const char *name, int64_t index)
{
	RgResource *resource = g_new0(RgResource, 1);
	resource->address = rg_address_format(kind, name, index);
	resource->kind = g_intern_string(kind);
	resource->name = g_intern_string(name);
	resource->index = index;
	return resource;
}

void rg_resource_free(RgResource *resource)
{
	if (!resource)
		return;
	g_free(resource->address);
	g_free(resource->id);
	json_decref(resource->attrs);
	json_decref(resource->nodes);
	json_decref(resource->outputs_json);
	g_free(resource->outputs_text);
	json_decref(resource->joined);
	g_strfreev(resource->depends_on);
	json_decref(resource->pin);
	g_free(resource->run);
	g_free(resource->status);
	g_free(resource->token);
	g_free(resource->lineage);
	g_free(resource->marked_as);
	g_free(resource);
}

char *rg_resource_unread(const RgResource *resource, const char *name)
{
	const char *why = resource->status;
	return g_strdup_printf("%s cannot be read%s%s", name, why ? ": " : "", why ? why : "");
}

json_t *rg_resource_outputs(const RgResource *resource)
{
	RgResource *own = (RgResource *)(uintptr_t)resource;
	if (!g_atomic_pointer_get(&own->outputs_json) && resource->outputs_text) {
		json_t *outputs = json_loads(resource->outputs_text, 0, NULL);
		if (!g_atomic_pointer_compare_and_exchange(&own->outputs_json, NULL, outputs))
			json_decref(outputs); /* another thread was first */
	}
	return g_atomic_pointer_get(&own->outputs_json);
}

/* Texts of JSON without escapes, in an object without members that are objects, are there only as
 * that member. */
static bool has_member(const char *json, const char *name, const char *text)
{
	if (strpbrk(text, "\"\\") || strchr(json + 1, '{'))
		return false;
	g_autofree char *member = g_strconcat("\"", name, "\":\"", text, "\"", NULL);
	return strstr(json, member) != NULL;
}

bool rg_resource_output_is(const RgResource *resource, const char *name, const char *text)
{
	if (resource->outputs_text && *resource->outputs_text &&
		has_member(resource->outputs_text, name, text))
		return true;
	const json_t *value = json_object_get(rg_resource_outputs(resource), name);
	return g_strcmp0(json_string_value(value), text) == 0;
}

/* Long texts (user data) are sampled: json_equal decides equality, the hash only has to be fast and
 * to distinguish typical values. */
static guint hash_text(const char *text, size_t len)
{
	guint hash = (guint)len;
	size_t step = len > 256 ? len / 128 : 1;
	for (size_t i = 0; i < len; i += step)
		hash = hash * 33u + (guchar)text[i];
	return hash;
}

static guint hash_json(gconstpointer key)
{
	json_t *value = rg_json_unconst(key);
	guint hash = (guint)json_typeof(value) * 0x9e3779b1u;
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		/* a sum, so that the order of keys does not matter */
		rg_json_foreach_member (name, member, value)
			hash += (g_str_hash(name) ^ hash_json(member)) * 0x85ebca6bu;
		return hash;
	case JSON_ARRAY:
		rg_json_foreach (member, value)
			hash = hash * 31u + hash_json(member);
		return hash;
	case JSON_STRING:
		return hash + hash_text(json_string_value(value), json_string_length(value));
	case JSON_INTEGER:
		return hash + (guint)json_integer_value(value) * 0xc2b2ae35u;
	case JSON_REAL:
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		return hash;
	}
	return hash;
}

static gboolean equal_json(gconstpointer a, gconstpointer b)
{
	return json_equal(a, b) != 0;
}

static void free_resource(gpointer resource)
{
	rg_resource_free(resource);
}

RgResourceSet *rg_resource_set_new(void)
{
	RgResourceSet *set = g_new0(RgResourceSet, 1);
	set->items = g_ptr_array_new_with_free_func(free_resource);
	set->by_address = g_hash_table_new(g_str_hash, g_str_equal);
	set->extras = g_ptr_array_new_with_free_func(free_resource);
	set->interned = g_hash_table_new_full(hash_json, equal_json, rg_json_unref, NULL);
	set->sorted = TRUE;
	pthread_mutex_init(&set->sorting, NULL);
	return set;
}

void rg_resource_set_free(RgResourceSet *set)
{
	if (!set)
		return;
	g_hash_table_destroy(set->by_address);
	g_ptr_array_free(set->items, TRUE);
	g_ptr_array_free(set->extras, TRUE);
	g_hash_table_destroy(set->interned);
	pthread_mutex_destroy(&set->sorting);
	g_free(set);
}

GPtrArray *rg_resource_set_release(RgResourceSet **set)
{
	RgResourceSet *old = *set;
	GPtrArray *resources = g_ptr_array_new();
	for (guint i = 0; i < old->items->len; i++)
		g_ptr_array_add(resources, old->items->pdata[i]);
	g_ptr_array_set_free_func(old->items, NULL);
	rg_resource_set_free(old);
	*set = rg_resource_set_new();
	return resources;
}

static int compare_resources(const RgResource *a, const RgResource *b)
{
	int order = a->kind == b->kind ? 0 : strcmp(a->kind, b->kind);
	if (order == 0 && a->name != b->name)
		order = strcmp(a->name, b->name);
	if (order == 0)
		order = (a->index > b->index) - (a->index < b->index);
	return order;
}

static gint compare_items(gconstpointer a, gconstpointer b)
{
	return compare_resources(*(RgResource *const *)a, *(RgResource *const *)b);
}

bool rg_resource_set_add(RgResourceSet *set, RgResource *resource)
{
	if (g_hash_table_contains(set->by_address, resource->address)) {
		rg_resource_free(resource);
		return false;
	}
	if (set->items->len > 0) {
		const RgResource *last = set->items->pdata[set->items->len - 1];
		if (compare_resources(last, resource) > 0)
			g_atomic_int_set(&set->sorted, FALSE);
	}
	g_ptr_array_add(set->items, resource);
	g_hash_table_insert(set->by_address, resource->address, resource);
	return true;
}

RgResource *rg_resource_set_find(const RgResourceSet *set, const char *address)
{
	return g_hash_table_lookup(set->by_address, address);
}

size_t rg_resource_set_size(const RgResourceSet *set)
{
	return set->items->len;
}

RgResource *rg_resource_set_get(const RgResourceSet *set, size_t i)
{
	RgResourceSet *own = (RgResourceSet *)(uintptr_t)set;
	if (!g_atomic_int_get(&own->sorted)) {
		/* Sorting is delayed until the first read; the lock allows several threads to be
		 * the first reader. */
		pthread_mutex_lock(&own->sorting);
		if (!g_atomic_int_get(&own->sorted)) {
			g_ptr_array_sort(own->items, compare_items);
			g_atomic_int_set(&own->sorted, TRUE);
		}
		pthread_mutex_unlock(&own->sorting);
	}
	return i < set->items->len ? set->items->pdata[i] : NULL;
}

void rg_resource_set_add_extra(RgResourceSet *set, RgResource *resource)
{
	g_ptr_array_add(set->extras, resource);
}

const GPtrArray *rg_resource_set_extras(const RgResourceSet *set)
{
	return set->extras;
}

json_t *rg_resource_set_intern(RgResourceSet *set, json_t *attrs)
{
	if (!attrs)
		return NULL;
	json_t *known = g_hash_table_lookup(set->interned, attrs);
	if (!known) {
		g_hash_table_add(set->interned, attrs);
		return json_incref(attrs);
	}
	json_incref(known);
	json_decref(attrs);
	return known;
}

json_t *rg_resource_set_value(void *data, const char *address, const char *attr)
{
	const RgResource *resource = rg_resource_set_find(data, address);
	if (!resource)
		return NULL;
	json_t *value = json_object_get(rg_resource_outputs(resource), attr);
	if (!value)
		value = json_object_get(resource->attrs, attr);
	if (value)
		return rg_expr_has_refs(value) ? NULL : json_incref(value);
	return g_str_equal(attr, "id") && resource->id ? json_string(resource->id) : NULL;
}
