#include <errno.h>
#include <string.h>
#include "gcp/sim/gce.h"

/* The description's own rules for a request: path and query parameters, and the body's members,
 * types and enumerations. A member that exists and is not simulated is refused by name. */

/* Parameters that every method has: the description's "parameters", and those of Google's front
 * end. */
static const char *const common[] = {"access_token", "alt", "fields", "key", "oauth_token",
	"prettyPrint", "quotaUser", "userIp", "$.xgafv", "uploadType", "upload_protocol", "body",
	NULL};

static bool is_handled(const RgSimCall *call, const char *name)
{
	g_auto(GStrv) words = g_strsplit(call->action->handled, " ", -1);
	for (char **word = words; *word; word++) {
		gsize len = strlen(*word);
		if (strncmp(*word, name, len) == 0 && (!name[len] || name[len] == '.'))
			return true;
	}
	return false;
}

/* ---- path and query */

static bool fail_parameter(RgSimCall *call, const char *name, const char *value, const char *why)
{
	return rg_sim_fail(call, 400, "invalidParameter", "Invalid value for field '%s': '%s'. %s",
		name, value, why);
}

static bool matches(const char *pattern, const char *value)
{
	g_autofree char *whole = g_strdup_printf("^(?:%s)$", pattern);
	return g_regex_match_simple(whole, value, G_REGEX_DOLLAR_ENDONLY, 0);
}

static bool check_path(RgSimCall *call, const char *name, const char *value)
{
	const char *pattern = rg_json_str(call_data(call)->patterns, name,
		rg_json_str(call_data(call)->patterns, "instance", ""));
	if (matches(pattern, value))
		return true;
	g_autofree char *why = g_strdup_printf("Must be a match of regex '%s'", pattern);
	return fail_parameter(call, name, value, why);
}

static bool is_boolean(const char *text)
{
	return g_ascii_strcasecmp(text, "true") == 0 || g_ascii_strcasecmp(text, "false") == 0;
}

static bool check_query(RgSimCall *call, const char *name, const char *value, const json_t *known)
{
	const char *type = doc_str(known, "type");
	gint64 number;
	if (g_str_equal(type, "integer") &&
		!g_ascii_string_to_signed(value, 10, 0, G_MAXINT32, &number, NULL))
		return fail_parameter(call, name, value, "Must be a whole number.");
	if (g_str_equal(type, "boolean") && !is_boolean(value))
		return fail_parameter(call, name, value, "Must be true or false.");
	const json_t *words = json_object_get(known, "enum");
	if (words && !rg_json_has_text(words, value))
		return fail_parameter(call, name, value, "It is not one of the known values.");
	if (is_handled(call, name))
		return true;
	return rg_sim_fail(call, 501, "notImplemented",
		"raygpu-sim does not simulate the parameter %s of %s", name, call->action->name);
}

static bool check_parameter(
	RgSimCall *call, const json_t *known, const char *name, const char *value)
{
	const json_t *parameter = json_object_get(known, name);
	if (!parameter && g_strv_contains(common, name))
		return true;
	if (!parameter)
		return rg_sim_fail(call, 400, "badRequest",
			"Invalid JSON payload received. Unknown name \"%s\": Cannot bind query "
			"parameter. Field '%s' could not be found in request message.",
			name, name);
	if (g_str_equal(doc_str(parameter, "location"), "path"))
		return check_path(call, name, value);
	return check_query(call, name, value, parameter);
}

static bool check_parameters(RgSimCall *call, const json_t *method)
{
	const json_t *known = json_object_get(method, "parameters");
	rg_json_foreach_member (name, value, call->params) {
		if (json_is_string(value) &&
			!check_parameter(call, known, name, json_string_value(value)))
			return false;
	}
	rg_json_foreach_member (name, value, known) {
		if (doc_is(value, "required") && !call_str(call, name))
			return rg_sim_fail(call, 400, "required", "Required parameter: %s", name);
	}
	const char *alt = call_str(call, "alt");
	if (alt && !g_str_equal(alt, "json"))
		return rg_sim_fail(call, 400, "unsupportedOutputFormat",
			"raygpu-sim answers in JSON only, not in %s", alt);
	return true;
}

/* ---- the body */

static bool fail_type(RgSimCall *call, const char *path, const char *type, const json_t *value)
{
	g_autofree char *text =
		json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	return rg_sim_fail(
		call, 400, "invalid", "Invalid value at '%s' (TYPE_%s), %.100s", path, type, text);
}

static bool is_number_text(const json_t *value, bool is_signed)
{
	const char *text = json_string_value(value);
	gint64 number;
	guint64 positive;
	if (!text)
		return false;
	return is_signed ? g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &number, NULL)
			 : g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT64, &positive, NULL);
}

/* Google's servers also take a number for int64; its description says text, and so do we. */
static bool check_scalar(
	RgSimCall *call, const char *path, const json_t *schema, const json_t *value)
{
	const char *type = doc_str(schema, "type"), *format = doc_str(schema, "format");
	json_int_t number = json_integer_value(value);
	bool fits = g_str_equal(type, "boolean") ? json_is_boolean(value)
		    : g_str_equal(type, "integer")
			    ? json_is_integer(value) && number >= G_MININT32 && number <= G_MAXINT32
		    : g_str_equal(type, "number") ? json_is_number(value)
						  : json_is_string(value);
	if (fits && (g_str_equal(format, "int64") || g_str_equal(format, "uint64")))
		fits = is_number_text(value, *format == 'i');
	if (!fits) {
		g_autofree char *name = g_ascii_strup(*format ? format : type, -1);
		return fail_type(call, path, name, value);
	}
	const json_t *words = json_object_get(schema, "enum");
	if (!words || rg_json_has_text(words, json_string_value(value)))
		return true;
	return rg_sim_fail(call, 400, "invalid",
		"Invalid value for field '%s': '%s'. It is not one of the known values.", path,
		json_string_value(value));
}

static bool check_value(
	RgSimCall *call, const char *path, const json_t *schema, const json_t *value);

static bool check_member(RgSimCall *call, const char *path, const json_t *schema, const char *name,
	const json_t *value)
{
	const json_t *own = json_object_get(json_object_get(schema, "properties"), name);
	const json_t *any = json_object_get(schema, "additionalProperties");
	if (!own && !any)
		return rg_sim_fail(call, 400, "invalid",
			"Invalid JSON payload received. Unknown name \"%s\" at '%s': Cannot find "
			"field.",
			name, path);
	g_autofree char *below = any && !own ? g_strdup_printf("%s[%s]", path, name)
					     : g_strdup_printf("%s.%s", path, name);
	return check_value(call, below, own ? own : any, value);
}

/* Without "resource" and what is in brackets. */
static char *handled_name(const char *path)
{
	GString *name = g_string_new(NULL);
	const char *at = path + strcspn(path, ".");
	for (int depth = 0; *at; at++) {
		depth += *at == '[';
		if (!depth)
			g_string_append_c(name, *at);
		depth -= *at == ']';
	}
	return g_string_free(name, FALSE);
}

static bool check_handled(RgSimCall *call, const char *path)
{
	g_autofree char *name = handled_name(path);
	return is_handled(call, name) ||
	       rg_sim_fail(call, 501, "notImplemented", "raygpu-sim does not simulate %s of %s",
		       path, call->action->name);
}

static bool check_list(RgSimCall *call, const char *path, const json_t *schema, const json_t *value)
{
	if (!json_is_array(value))
		return rg_sim_fail(
			call, 400, "invalid", "Invalid value at '%s': a list is expected", path);
	const json_t *items = json_object_get(schema, "items");
	for (size_t i = 0; i < json_array_size(value); i++) {
		g_autofree char *entry = g_strdup_printf("%s[%zu]", path, i);
		if (!check_value(call, entry, items, json_array_get(value, i)))
			return false;
	}
	return true;
}

/* jansson limits the depth of what it parses. */
static bool check_value(
	RgSimCall *call, const char *path, const json_t *schema, const json_t *value)
{
	const char *reference = rg_json_str(schema, "$ref", NULL);
	if (reference)
		schema = json_object_get(call_data(call)->schemas, reference);
	if (json_is_null(value)) /* as if it were left out */
		return true;
	const char *type = doc_str(schema, "type");
	if (g_str_equal(type, "array"))
		return check_list(call, path, schema, value);
	if (!g_str_equal(type, "object"))
		return check_scalar(call, path, schema, value) &&
		       (doc_is(schema, "readOnly") || check_handled(call, path));
	if (!json_is_object(value))
		return rg_sim_fail(
			call, 400, "invalid", "Invalid value at '%s': an object is expected", path);
	rg_json_foreach_member (name, member, value) {
		if (!check_member(call, path, schema, name, member))
			return false;
	}
	return true;
}

static bool check_body(RgSimCall *call, const json_t *method)
{
	const char *request = rg_json_str(method, "request", NULL);
	const json_t *body = call_body(call);
	if (!request)
		return !body || json_object_size(body) == 0 ||
		       rg_sim_fail(call, 400, "badRequest", "%s takes no body", call->action->name);
	if (!body)
		return gce_fail_required(call, "resource");
	json_auto_t *schema = json_pack("{s:s}", "$ref", request);
	return check_value(call, "resource", schema, body);
}

bool gce_params_check(RgSimCall *call)
{
	if (call->service != GCE_COMPUTE)
		return true;
	const json_t *method = json_object_get(call_data(call)->methods, call->action->name);
	return check_parameters(call, method) && gce_check_scope(call) && check_body(call, method);
}
