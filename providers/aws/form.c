#include "aws/form.h"
#include "common/form.h"

char *aws_form_format(const char *action, const json_t *params)
{
	return aws_form_format_version(action, AWS_EC2_VERSION, params);
}

char *aws_form_format_version(const char *action, const char *version, const json_t *params)
{
	GString *form = g_string_new(NULL);
	mod_form_add(form, "Action", action);
	mod_form_add(form, "Version", version);
	if (params)
		mod_form_add_members(form, params);
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
