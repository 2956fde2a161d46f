#include "base/json_schema_internal.h"

#include <math.h>
#include <string.h>

bool rg_json_schema_is_type(const json_t *value, const char *type)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return strcmp(type, "object") == 0;
	case JSON_ARRAY:
		return strcmp(type, "array") == 0;
	case JSON_STRING:
		return strcmp(type, "string") == 0;
	case JSON_INTEGER:
		return strcmp(type, "integer") == 0 || strcmp(type, "number") == 0;
	case JSON_REAL: {
		double number = json_real_value(value);
		return strcmp(type, "number") == 0 ||
		       (strcmp(type, "integer") == 0 && floor(number) == number);
	}
	case JSON_TRUE:
	case JSON_FALSE:
		return strcmp(type, "boolean") == 0;
	case JSON_NULL:
		return strcmp(type, "null") == 0;
	}
	return false;
}

long double rg_json_schema_number(const json_t *value)
{
	if (json_is_integer(value))
		return (long double)json_integer_value(value);
	return (long double)json_real_value(value);
}

static bool are_objects_equal(const json_t *a, const json_t *b)
{
	if (json_object_size(a) != json_object_size(b))
		return false;
	json_t *object = (json_t *)(uintptr_t)a; /* iterating changes nothing */
	const char *key;
	json_t *item;
	json_object_foreach (object, key, item) {
		const json_t *other = json_object_get(b, key);
		if (other == NULL || !rg_json_schema_equal(item, other))
			return false;
	}
	return true;
}

static bool are_arrays_equal(const json_t *a, const json_t *b)
{
	if (json_array_size(a) != json_array_size(b))
		return false;
	for (size_t i = 0; i < json_array_size(a); i++) {
		if (!rg_json_schema_equal(json_array_get(a, i), json_array_get(b, i)))
			return false;
	}
	return true;
}

gboolean rg_json_schema_equal(gconstpointer a, gconstpointer b)
{
	if (json_is_number((const json_t *)a) && json_is_number((const json_t *)b))
		return rg_json_schema_number(a) == rg_json_schema_number(b);
	if (json_typeof((const json_t *)a) != json_typeof((const json_t *)b))
		return false;
	if (json_is_object((const json_t *)a))
		return are_objects_equal(a, b);
	if (json_is_array((const json_t *)a))
		return are_arrays_equal(a, b);
	return json_equal(a, b);
}

guint rg_json_schema_hash(gconstpointer data)
{
	json_t *value = (json_t *)(uintptr_t)data; /* iterating changes nothing */
	guint hash = 0;
	switch (json_typeof(value)) {
	case JSON_OBJECT: {
		const char *key;
		json_t *item;
		/* a sum: the order of members is nothing */
		json_object_foreach (value, key, item)
			hash += g_str_hash(key) * 31 + rg_json_schema_hash(item);
		return hash;
	}
	case JSON_ARRAY:
		for (size_t i = 0; i < json_array_size(value); i++)
			hash = hash * 33 + rg_json_schema_hash(json_array_get(value, i));
		return hash;
	case JSON_STRING:
		return g_str_hash(json_string_value(value));
	case JSON_INTEGER:
	case JSON_REAL: {
		double number = json_number_value(value);
		return g_double_hash(&number);
	}
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		return (guint)json_typeof(value);
	}
	return 0;
}
