#include "aws/sim/resources.h"
#include <string.h>

static bool check_value(
	RgSimCall *call, const json_t *form, const json_t *value, GString *name, GString *path);

static bool fail_unknown(RgSimCall *call, const char *name)
{
	return rg_sim_fail(
		call, 400, "UnknownParameter", "The parameter %s is not recognized", name);
}

/* `handled` contains paths without list numbers; a path covers everything below it. */
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

static bool fits_type(const char *type, const char *text)
{
	gint64 whole;
	if (g_str_equal(type, "integer"))
		return g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &whole, NULL);
	if (g_str_equal(type, "boolean"))
		return g_ascii_strcasecmp(text, "true") == 0 ||
		       g_ascii_strcasecmp(text, "false") == 0;
	if (g_str_equal(type, "float")) {
		char *end;
		g_ascii_strtod(text, &end);
		return *text && !*end;
	}
	if (g_str_equal(type, "timestamp")) {
		g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
		g_autoptr(GDateTime) when = g_date_time_new_from_iso8601(text, utc);
		return when != NULL;
	}
	return true;
}

/* Each service has its own text for the same error. */
static bool fail_constraint(
	RgSimCall *call, const char *name, const char *text, const char *constraint)
{
	if (call->service == EC2_API)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Value ( %s ) for parameter %s is invalid. %s", text, name, constraint);
	return rg_sim_fail(call, 400,
		ec2_is_json(call->service) ? "ValidationException" : "ValidationError",
		"1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: %s",
		text, name, constraint);
}

/* `size` is the number itself, the length of a text, or the number of entries of a list. */
static bool check_bounds(RgSimCall *call, const json_t *form, gint64 size, const char *what,
	const char *name, const char *text)
{
	const json_t *min = json_object_get(form, "min");
	const json_t *max = json_object_get(form, "max");
	g_autofree char *problem = NULL;
	if (min && size < json_integer_value(min))
		problem = g_strdup_printf("Member must have %s greater than or equal to "
					  "%" JSON_INTEGER_FORMAT,
			what, json_integer_value(min));
	else if (max && size > json_integer_value(max))
		problem = g_strdup_printf("Member must have %s less than or equal to "
					  "%" JSON_INTEGER_FORMAT,
			what, json_integer_value(max));
	return !problem || fail_constraint(call, name, text, problem);
}

static bool check_pattern(RgSimCall *call, const char *pattern, const char *text, const char *name)
{
	g_autofree char *whole = g_strdup_printf("^(?:%s)$", pattern);
	if (g_regex_match_simple(whole, text, G_REGEX_DOLLAR_ENDONLY, 0))
		return true;
	g_autofree char *problem =
		g_strdup_printf("Member must satisfy regular expression pattern: %s", pattern);
	return fail_constraint(call, name, text, problem);
}

static bool check_leaf(RgSimCall *call, const json_t *form, const char *text, const char *name)
{
	const char *type =
		json_string_value(json_is_string(form) ? form : json_object_get(form, "type"));
	const json_t *words = json_object_get(form, "enum");
	const char *pattern = json_string_value(json_object_get(form, "pattern"));
	if (words && !rg_json_has_text(words, text)) {
		if (call->service == EC2_API)
			return rg_sim_fail(call, 400, "InvalidParameterValue",
				"Invalid value '%s' for %s", text, name);
		return fail_constraint(call, name, text, "Member must satisfy enum value set");
	}
	if (type && !fits_type(type, text)) {
		if (ec2_is_json(call->service))
			return rg_sim_fail(call, 400, "SerializationException",
				"Value '%s' at '%s' is not of type %s", text, name, type);
		return rg_sim_fail(call, 400,
			call->service == EC2_API ? "InvalidParameterValue" : "MalformedInput",
			"Invalid value '%s' for %s", text, name);
	}
	bool number = g_strcmp0(type, "integer") == 0;
	gint64 size = number ? g_ascii_strtoll(text, NULL, 10) : g_utf8_strlen(text, -1);
	return check_bounds(call, form, size, number ? "value" : "length", name, text) &&
	       (!pattern || check_pattern(call, pattern, text, name));
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
	rg_json_foreach_member (key, member, value) {
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

/* `name` is the structure's own; NULL: the request itself. */
static bool check_required(
	RgSimCall *call, const json_t *required, const json_t *value, const GString *name)
{
	for (size_t i = 0; i < json_array_size(required); i++) {
		const char *member = json_string_value(json_array_get(required, i));
		if (json_object_get(value, member))
			continue;
		g_autofree char *full =
			name ? g_strconcat(name->str, ".", member, NULL) : g_strdup(member);
		if (call->service == EC2_API)
			return ec2_fail_missing(call, full);
		return fail_constraint(call, full, "null", "Member must not be null");
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
	if (entry && !check_bounds(call, form, (gint64)json_object_size(value), "length", name->str,
			     "[...]"))
		return false;
	if (nested)
		return check_members(call, members, entry, value, name, path) &&
		       check_required(call, json_object_get(form, "required"), value, name);
	if (!is_handled(call->action->handled, path->str))
		return rg_sim_fail(call, 400, "UnsupportedOperation",
			"raygpu-sim does not simulate the parameter %s", name->str);
	return check_leaf(call, form, json_string_value(value), name->str);
}

bool ec2_params_check(RgSimCall *call)
{
	const json_t *form = json_object_get(ec2_data(call->place)->requests, call->action->name);
	const json_t *members = json_object_get(form, "members");
	rg_json_foreach_member (key, value, call->params) {
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
	return check_required(call, json_object_get(form, "required"), call->params, NULL);
}
