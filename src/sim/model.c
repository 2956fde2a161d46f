#include "sim/model.h"
#include <string.h>

static bool check_value(
	RgSimCall *call, const json_t *form, const json_t *value, GString *name, GString *path);

static bool fail_unknown(RgSimCall *call, const char *name)
{
	return rg_sim_fail(
		call, 400, "UnknownParameter", "The parameter %s is not recognized", name);
}

/* `handled` holds paths without list numbers; a path covers all below it. */
static bool is_handled(const char *handled, const char *path)
{
	size_t length = strlen(path);
	for (const char *word = handled; *word;) {
		size_t size = strcspn(word, " ");
		if (size <= length && strncmp(word, path, size) == 0 &&
			(path[size] == '\0' || path[size] == '.'))
			return true;
		word += size;
		word += strspn(word, " ");
	}
	return false;
}

static bool is_number(const char *text)
{
	gint64 value;
	return g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &value, NULL);
}

static bool is_boolean(const char *text)
{
	return g_ascii_strcasecmp(text, "true") == 0 || g_ascii_strcasecmp(text, "false") == 0;
}

static bool fits_type(const char *type, const char *text)
{
	if (g_str_equal(type, "integer"))
		return is_number(text);
	if (g_str_equal(type, "boolean"))
		return is_boolean(text);
	return true;
}

static bool fits_enum(const json_t *list, const char *text)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (g_str_equal(json_string_value(json_array_get(list, i)), text))
			return true;
	}
	return false;
}

static bool check_leaf(RgSimCall *call, const json_t *form, const char *text, const char *name)
{
	const char *type = json_string_value(form);
	const json_t *words = json_object_get(form, "enum");
	if ((type && !fits_type(type, text)) || (words && !fits_enum(words, text)))
		return rg_sim_fail(call, 400, "InvalidParameterValue", "Invalid value '%s' for %s",
			text, name);
	return true;
}

static bool is_index(const char *text)
{
	guint64 index;
	return g_ascii_string_to_unsigned(text, 10, 1, G_MAXINT32, &index, NULL);
}

/* Checks the members of a structure, or the entries of a list (`entry` is their form then). */
static bool check_members(RgSimCall *call, const json_t *members, const json_t *entry,
	const json_t *value, GString *name, GString *path)
{
	gsize name_length = name->len;
	gsize path_length = path->len;
	const char *key;
	json_t *member;
	json_object_foreach ((json_t *)(guintptr)value, key, member) {
		g_string_append_printf(name, ".%s", key);
		if (!entry)
			g_string_append_printf(path, ".%s", key);
		const json_t *form = entry && is_index(key) ? entry : json_object_get(members, key);
		if (!form)
			return fail_unknown(call, name->str);
		if (!check_value(call, form, member, name, path))
			return false;
		g_string_truncate(name, name_length);
		g_string_truncate(path, path_length);
	}
	return true;
}

static bool check_value(
	RgSimCall *call, const json_t *form, const json_t *value, GString *name, GString *path)
{
	const json_t *members = json_object_get(form, "members");
	const json_t *entry = json_object_get(form, "list");
	bool nested = members || entry;
	if (nested != json_is_object(value))
		return fail_unknown(call, name->str);
	if (nested)
		return check_members(call, members, entry, value, name, path);
	if (!is_handled(call->action->handled, path->str))
		return rg_sim_fail(call, 400, "UnsupportedOperation",
			"raygpu-sim does not simulate the parameter %s", name->str);
	return check_leaf(call, form, json_string_value(value), name->str);
}

static bool check_required(RgSimCall *call, const json_t *required)
{
	for (size_t i = 0; i < json_array_size(required); i++) {
		const char *name = json_string_value(json_array_get(required, i));
		const json_t *value = json_object_get(call->params, name);
		if (!value)
			return rg_sim_fail_missing(call, name);
	}
	return true;
}

bool rg_sim_model_check(RgSimCall *call)
{
	const json_t *form = json_object_get(call->world->data->requests, call->action->name);
	const json_t *members = json_object_get(form, "members");
	const char *key;
	json_t *value;
	json_object_foreach ((json_t *)(guintptr)call->params, key, value) {
		if (g_str_equal(key, "Action") || g_str_equal(key, "Version"))
			continue;
		g_autoptr(GString) name = g_string_new(key);
		g_autoptr(GString) path = g_string_new(key);
		const json_t *member = json_object_get(members, key);
		if (!member)
			return fail_unknown(call, key);
		if (!check_value(call, member, value, name, path))
			return false;
	}
	return check_required(call, json_object_get(form, "required"));
}
