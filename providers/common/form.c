#include "common/form.h"
#include "common/talk.h"

void mod_form_add(GString *form, const char *name, const char *value)
{
	g_autofree char *escaped_name = g_uri_escape_string(name, NULL, FALSE);
	g_autofree char *escaped = g_uri_escape_string(value, NULL, FALSE);
	g_string_append_printf(form, "%s%s=%s", form->len ? "&" : "", escaped_name, escaped);
}

static void form_add_value(GString *form, const char *name, const json_t *value);

static void form_add_object(GString *form, const char *name, const json_t *object)
{
	mod_foreach_member (key, member, object) {
		g_autofree char *path = *name ? g_strdup_printf("%s.%s", name, key) : g_strdup(key);
		form_add_value(form, path, member);
	}
}

static void form_add_value(GString *form, const char *name, const json_t *value)
{
	g_autofree char *number = NULL;
	switch (json_typeof(value)) {
	case JSON_STRING:
		mod_form_add(form, name, json_string_value(value));
		break;
	case JSON_INTEGER:
		number = g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
		mod_form_add(form, name, number);
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		mod_form_add(form, name, json_is_true(value) ? "true" : "false");
		break;
	case JSON_ARRAY:
		for (size_t i = 0; i < json_array_size(value); i++) {
			g_autofree char *path = g_strdup_printf("%s.%zu", name, i + 1);
			form_add_value(form, path, json_array_get(value, i));
		}
		break;
	case JSON_OBJECT:
		form_add_object(form, name, value);
		break;
	case JSON_REAL: /* none of our parameters is one */
	case JSON_NULL:
		break;
	}
}

void mod_form_add_members(GString *form, const json_t *object)
{
	form_add_object(form, "", object);
}
