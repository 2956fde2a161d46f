#include "aws/form.h"

static void add_pair(GString *form, const char *name, const char *value)
{
	g_autofree char *escaped_name = g_uri_escape_string(name, NULL, FALSE);
	g_autofree char *escaped = g_uri_escape_string(value, NULL, FALSE);
	g_string_append_printf(form, "%s%s=%s", form->len ? "&" : "", escaped_name, escaped);
}

static void add_value(GString *form, const char *name, const json_t *value);

static void add_members(GString *form, const char *name, const json_t *object)
{
	const char *key;
	json_t *member;
	/* the const is only lost to jansson's iterator, which changes nothing */
	json_object_foreach (mod_unconst(object), key, member) {
		g_autofree char *path = *name ? g_strdup_printf("%s.%s", name, key) : g_strdup(key);
		add_value(form, path, member);
	}
}

static void add_value(GString *form, const char *name, const json_t *value)
{
	g_autofree char *number = NULL;
	switch (json_typeof(value)) {
	case JSON_STRING:
		add_pair(form, name, json_string_value(value));
		break;
	case JSON_INTEGER:
		number = g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
		add_pair(form, name, number);
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		add_pair(form, name, json_is_true(value) ? "true" : "false");
		break;
	case JSON_ARRAY:
		for (size_t i = 0; i < json_array_size(value); i++) {
			g_autofree char *path = g_strdup_printf("%s.%zu", name, i + 1);
			add_value(form, path, json_array_get(value, i));
		}
		break;
	case JSON_OBJECT:
		add_members(form, name, value);
		break;
	case JSON_REAL: /* no parameter of ours is one */
	case JSON_NULL:
		break;
	}
}

char *aws_form_format(const char *action, const json_t *params)
{
	return aws_form_format_version(action, AWS_EC2_VERSION, params);
}

char *aws_form_format_version(const char *action, const char *version, const json_t *params)
{
	GString *form = g_string_new(NULL);
	add_pair(form, "Action", action);
	add_pair(form, "Version", version);
	if (params)
		add_members(form, "", params);
	return g_string_free(form, FALSE);
}

void aws_form_filter(json_t *params, const char *name, const char *const *values, size_t count)
{
	json_t *filters = json_object_get(params, "Filter");
	if (!filters) {
		filters = json_array();
		json_object_set_new(params, "Filter", filters);
	}
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_string(values[i]));
	json_array_append_new(filters, json_pack("{s:s, s:o}", "Name", name, "Value", list));
}
