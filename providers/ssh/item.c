/* Checks a host that the host program has not checked, because it is not in the spec: by the same
 * rules of schema.json. */
#include "ssh/data.h"
#include "ssh/elsewhere.h"
#include <string.h>

json_t *ssh_item_rules(void)
{
	const struct rg_embedded *schema = ssh_data_find("schema.json");
	return json_loadb(schema->data, schema->len, 0, NULL);
}

static const json_t *properties_of(const json_t *schema)
{
	const json_t *config = json_object_get(json_object_get(schema, "config"), "properties");
	const json_t *hosts = json_object_get(config, "hosts");
	return json_object_get(json_object_get(hosts, "items"), "properties");
}

/* The rule itself, or what its $ref names. */
static const json_t *rule_of(const json_t *schema, const json_t *rule)
{
	const char *ref = json_string_value(json_object_get(rule, "$ref"));
	const json_t *defs = json_object_get(json_object_get(schema, "config"), "$defs");
	return ref ? json_object_get(defs, strrchr(ref, '/') + 1) : rule;
}

static bool fits(const char *pattern, const char *text)
{
	return g_regex_match_simple(pattern, text, G_REGEX_DOLLAR_ENDONLY, 0);
}

static bool is_text(const json_t *rule, const json_t *value)
{
	const char *pattern = json_string_value(json_object_get(rule, "pattern"));
	const json_t *most = json_object_get(rule, "maxLength");
	return json_is_string(value) &&
	       strlen(json_string_value(value)) == json_string_length(value) &&
	       (!most || json_string_length(value) <= (size_t)json_integer_value(most)) &&
	       (!pattern || fits(pattern, json_string_value(value)));
}

static bool is_number(const json_t *rule, const json_t *value)
{
	double number = json_number_value(value);
	return json_is_number(value) &&
	       number >= json_number_value(json_object_get(rule, "minimum")) &&
	       number <= json_number_value(json_object_get(rule, "maximum"));
}

static bool is_map(const json_t *rule, const json_t *value)
{
	bool good = json_is_object(value) &&
		    json_object_size(value) <=
			    (size_t)json_integer_value(json_object_get(rule, "maxProperties"));
	mod_foreach_member (pattern, of_values, json_object_get(rule, "patternProperties"))
		mod_foreach_member (key, one, value)
			good = good && fits(pattern, key) && is_text(of_values, one);
	return good;
}

static bool item_admits(const json_t *rule, const json_t *value)
{
	const char *type = mod_str(rule, "type");
	if (g_str_equal(type, "integer"))
		return json_is_integer(value) && is_number(rule, value);
	if (g_str_equal(type, "number"))
		return is_number(rule, value);
	return g_str_equal(type, "object") ? is_map(rule, value) : is_text(rule, value);
}

/* As JSON, short and printable: it comes from another program. */
static char *shown(const json_t *value)
{
	g_autofree char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	return g_strndup(text ? text : "?", 80);
}

static char *complain(const char *of, const char *name, const json_t *rule, const json_t *value)
{
	const char *expected = mod_str(rule, "x-raygpu-expected");
	g_autofree char *text = shown(value);
	return *expected ? g_strdup_printf("%s: %s is %s, not %s", of, name, text, expected)
			 : g_strdup_printf("%s: %s cannot be %s", of, name, text);
}

static char *complain_of_name(const json_t *schema, const char *of, const char *name)
{
	g_autoptr(GString) all = g_string_new(NULL);
	json_auto_t *value = json_string(name);
	g_autofree char *text = shown(value);
	mod_foreach_member (known, rule, properties_of(schema))
		g_string_append_printf(all, "%s%s", all->len ? ", " : "", known);
	return g_strdup_printf("%s has %s, which is none of %s", of, text, all->str);
}

char *ssh_item_check(const json_t *schema, const json_t *item, const char *of)
{
	if (!json_object_get(item, "address"))
		return g_strdup_printf("%s has no address", of);
	mod_foreach_member (name, value, item) {
		const json_t *said = json_object_get(properties_of(schema), name);
		const json_t *rule = rule_of(schema, said);
		if (!rule)
			return complain_of_name(schema, of, name);
		if (!item_admits(rule, value))
			return complain(of, name, rule, value);
	}
	return NULL;
}
