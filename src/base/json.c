#include "base/json.h"

#include <math.h>
#include <string.h>
#include "base/caps.h"

/* Up to it, each integer is a double of its own. */
#define WHOLE_MAX 0x1p53

static int append(const char *bytes, size_t len, void *data)
{
	g_string_append_len(data, bytes, (gssize)len);
	return 0;
}

void rg_json_unref(void *value)
{
	json_decref(value);
}

char *rg_json_canonical(const json_t *value)
{
	GString *text = g_string_new(NULL);
	int failed = json_dump_callback(
		value, append, text, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
	/* jansson refuses only values nested more than 2048 deep, which no capped input can
	 * contain. */
	g_assert(failed == 0);
	return g_string_free(text, FALSE);
}

char *rg_json_digest(const json_t *value)
{
	g_autofree char *text = rg_json_canonical(value);
	return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
}

static bool is_deeper(json_t *value, unsigned levels)
{
	if (!json_is_object(value) && !json_is_array(value))
		return false;
	if (levels == 0)
		return true;
	rg_json_foreach (item, value) {
		if (is_deeper(item, levels - 1))
			return true;
	}
	rg_json_foreach_member (key, item, value) {
		if (is_deeper(item, levels - 1))
			return true;
	}
	return false;
}

json_t *rg_json_parse(
	const char *text, size_t len, const char *what, const char *code, RgDiags *diags)
{
	json_error_t error;
	json_auto_t *value =
		json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (!value) {
		rg_diags_error(diags, code, "%s is not valid JSON: line %d, column %d: %s", what,
			error.line, error.column, error.text);
		return NULL;
	}
	if (is_deeper(value, RG_CAP_JSON_DEPTH)) {
		rg_diags_error(diags, code, "%s is nested more than %d levels deep", what,
			RG_CAP_JSON_DEPTH);
		return NULL;
	}
	return g_steal_pointer(&value);
}

const char *rg_json_str(const json_t *object, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : otherwise;
}

int64_t rg_json_int(const json_t *object, const char *key, int64_t otherwise)
{
	const json_t *value = json_object_get(object, key);
	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

bool rg_json_bool(const json_t *object, const char *key, bool otherwise)
{
	const json_t *value = json_object_get(object, key);
	return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

char *rg_json_step_name(const char *step, size_t len)
{
	GString *name = g_string_new_len(step, (gssize)len);
	g_string_replace(name, "~1", "/", 0);
	g_string_replace(name, "~0", "~", 0);
	return g_string_free(name, FALSE);
}

/* One step of RFC 6901: NULL if it leads nowhere. */
static json_t *step(const json_t *value, const char *token, size_t len)
{
	g_autofree char *name = rg_json_step_name(token, len);
	if (!json_is_array(value))
		return json_object_get(value, name);
	guint64 index;
	bool padded = len > 1 && token[0] == '0';
	if (padded || !g_ascii_string_to_unsigned(name, 10, 0, G_MAXINT64, &index, NULL))
		return NULL;
	return json_array_get(value, (size_t)index);
}

bool rg_json_has_text(const json_t *names, const char *text)
{
	if (json_is_string(names))
		return g_str_equal(json_string_value(names), text);
	for (size_t i = 0; i < json_array_size(names); i++) {
		if (g_strcmp0(json_string_value(json_array_get(names, i)), text) == 0)
			return true;
	}
	return false;
}

GStrv rg_json_texts(const json_t *list)
{
	g_autoptr(GStrvBuilder) texts = g_strv_builder_new();
	if (json_is_string(list))
		g_strv_builder_add(texts, json_string_value(list));
	for (size_t i = 0; i < json_array_size(list); i++)
		g_strv_builder_add(texts, json_string_value(json_array_get(list, i)));
	bool any = json_is_string(list) || json_array_size(list) > 0;
	return any ? g_strv_builder_end(texts) : NULL;
}

json_t *rg_json_at(const json_t *value, const char *pointer)
{
	json_t *at = rg_json_unconst(value);
	if (*pointer != '\0' && *pointer != '/')
		return NULL;
	while (*pointer == '/' && at) {
		size_t len = strcspn(pointer + 1, "/");
		at = step(at, pointer + 1, len);
		pointer += 1 + len;
	}
	return at;
}

char *rg_json_pointer_add(const char *pointer, const char *key)
{
	if (!strpbrk(key, "~/"))
		return g_strconcat(pointer, "/", key, NULL);
	GString *name = g_string_new(key);
	g_string_replace(name, "~", "~0", 0);
	g_string_replace(name, "/", "~1", 0);
	g_string_prepend_c(name, '/');
	g_string_prepend(name, pointer);
	return g_string_free(name, FALSE);
}

void rg_json_set_str(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, text ? json_string(text) : json_null());
}

static json_t *whole(double number)
{
	bool is_whole = fabs(number) <= WHOLE_MAX && fpclassify(fmod(number, 1)) == FP_ZERO;
	return is_whole ? json_integer((json_int_t)number) : json_real(number);
}

json_t *rg_json_with_integers(const json_t *value)
{
	if (json_is_real(value))
		return whole(json_real_value(value));
	json_t *copy = json_copy(rg_json_unconst(value));
	rg_json_foreach_member (key, item, copy)
		json_object_set_new(copy, key, rg_json_with_integers(item));
	rg_json_foreach_at (i, item, copy)
		json_array_set_new(copy, i, rg_json_with_integers(item));
	return copy;
}
