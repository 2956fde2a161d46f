#include "base/json_schema_internal.h"

#include <math.h>
#include <string.h>

bool rg_json_schema_is_type(const json_t *value, const char *type)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return g_str_equal(type, "object");
	case JSON_ARRAY:
		return g_str_equal(type, "array");
	case JSON_STRING:
		return g_str_equal(type, "string");
	case JSON_INTEGER:
		return g_str_equal(type, "integer") || g_str_equal(type, "number");
	case JSON_REAL: {
		double number = json_real_value(value);
		return g_str_equal(type, "number") ||
		       (g_str_equal(type, "integer") && floor(number) == number);
	}
	case JSON_TRUE:
	case JSON_FALSE:
		return g_str_equal(type, "boolean");
	case JSON_NULL:
		return g_str_equal(type, "null");
	}
	return false;
}

/* Compares an int64 with a double. Doubles from 2^63 on are above every int64; in between, the cast
 * loses only the fraction. */
static int compare_mixed(json_int_t integer, double real)
{
	if (real >= 0x1p63)
		return -1;
	if (real < -0x1p63)
		return 1;
	json_int_t whole = (json_int_t)real;
	if (integer != whole)
		return integer < whole ? -1 : 1;
	double rest = real - (double)whole;
	return (rest < 0) - (rest > 0);
}

int rg_json_schema_compare(const json_t *a, const json_t *b)
{
	if (json_is_integer(a) && json_is_integer(b)) {
		json_int_t x = json_integer_value(a), y = json_integer_value(b);
		return (x > y) - (x < y);
	}
	if (json_is_integer(a))
		return compare_mixed(json_integer_value(a), json_real_value(b));
	if (json_is_integer(b))
		return -compare_mixed(json_integer_value(b), json_real_value(a));
	double x = json_real_value(a), y = json_real_value(b);
	return (x > y) - (x < y);
}

static bool are_objects_equal(const json_t *a, const json_t *b)
{
	if (json_object_size(a) != json_object_size(b))
		return false;
	rg_json_foreach_member (key, item, a) {
		const json_t *other = json_object_get(b, key);
		if (!other || !rg_json_schema_equal(item, other))
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
		return rg_json_schema_compare(a, b) == 0;
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
	json_t *value = rg_json_unconst(data); /* iterating changes nothing */
	guint hash = 0;
	switch (json_typeof(value)) {
	case JSON_OBJECT: {
		/* a sum, because the order of members does not matter */
		rg_json_foreach_member (key, item, value)
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
