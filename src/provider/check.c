/* Checks what a module declares (schema.json). schemas/provider-schema.json, embedded, defines its
 * form; this file checks only what a JSON Schema cannot express. */
#include "provider/internal.h"

#include <string.h>

extern const struct rg_embedded rg_schemas[];

/* Findings that are reported; more would not help. */
#define FINDINGS_MAX 5

/* One finding as text: "/kinds/x.y/batch: create is missing". */
static void put_finding(const RgSchemaFinding *finding, void *data)
{
	GPtrArray *lines = data;
	if (lines->len >= FINDINGS_MAX)
		return;
	g_autofree char *where = rg_text_clean(*finding->pointer != '\0' ? finding->pointer : "/");
	g_autofree char *name = rg_text_clean(finding->name);
	if (name && g_str_equal(finding->keyword, "required"))
		g_ptr_array_add(lines, g_strdup_printf("%s: \"%s\" is missing", where, name));
	else if (name)
		g_ptr_array_add(lines, g_strdup_printf("%s: \"%s\" is not known", where, name));
	else {
		g_autofree char *rule = rg_json_canonical(finding->rule);
		g_ptr_array_add(lines,
			g_strdup_printf("%s: %s must be %.200s", where, finding->keyword, rule));
	}
}

static bool shape_is_right(const char *where, const json_t *document, RgRefusal *why)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgJsonSchema) schema =
		rg_json_schema_embedded(rg_schemas, "provider-schema.json", diags);
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	if (!schema)
		return rg_refuse(why, "this installation is broken: reinstall raygpu",
			"the embedded schemas/provider-schema.json is not usable: %s",
			rg_diags_get(diags, 0)->summary);
	if (rg_json_schema_check(schema, document, put_finding, lines))
		return true;
	g_ptr_array_add(lines, NULL);
	g_autofree char *text = g_strjoinv("; ", (char **)lines->pdata);
	return rg_refuse(why, "correct the module's schema.json (schemas/provider-schema.json)",
		"%s is not the schema of a provider: %s", where, text);
}

static bool kind_is_right(const char *provider, const char *where, const char *kind,
	const json_t *body, RgRefusal *why)
{
	const char *remedy = "correct the module's schema.json";
	g_autofree char *prefix = g_strconcat(provider, ".", NULL);
	if (!g_str_has_prefix(kind, prefix))
		return rg_refuse(
			why, remedy, "%s has a kind \"%s\" outside \"%s*\"", where, kind, prefix);
	json_t *attributes = json_object_get(body, "attributes");
	rg_json_foreach_member (name, attribute, attributes) {
		const json_t *value = json_object_get(attribute, "default");
		const RgAttribute as_told = {.type = rg_json_str(attribute, "type", "")};
		if (value && !json_is_null(value) && !rg_attribute_fits(&as_told, value))
			return rg_refuse(why, remedy, "%s: the default of %s.%s is not of type %s",
				where, kind, name, as_told.type);
	}
	return true;
}

static bool config_is_right(const char *where, const json_t *config, RgRefusal *why)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	if (!config)
		return true;
	g_autoptr(RgJsonSchema) schema = rg_json_schema_compile(rg_json_unconst(config), diags);
	if (schema)
		return true;
	g_autofree char *text = rg_text_clean(
		rg_diags_count(diags) > 0 ? rg_diags_get(diags, 0)->summary : "no reason given");
	return rg_refuse(why, "use the keywords that src/base/json_schema.c lists",
		"%s: the schema of its settings is not usable: %s", where, text);
}

/* Whose a setting is depends on its name only, and a pool chooses neither credentials nor places.
 */
static bool pool_config_is_right(
	const char *where, const json_t *document, const RgSchema *schema, RgRefusal *why)
{
	static const char *const of_config[] = {
		"x-raygpu-trust", "x-raygpu-place", "x-raygpu-resolve", "x-raygpu-zones"};
	const char *remedy = "correct pool_config of the module's schema.json";
	const json_t *rules = rg_schema_pool_config(schema);
	json_t *settings = json_object_get(rules, "properties");
	if (!json_object_get(document, "pool_config"))
		return true;
	if (!json_object_size(settings) ||
		!json_is_false(json_object_get(rules, "additionalProperties")))
		return rg_refuse(why, remedy,
			"%s: pool_config needs properties and additionalProperties: false", where);
	if (!config_is_right(where, rules, why))
		return false;
	rg_json_foreach_member (name, rule, settings) {
		const json_t *cpus = json_object_get(rule, "x-raygpu-cpus");
		const char *how = json_string_value(cpus);
		if (cpus && g_strcmp0(how, "value") != 0 && g_strcmp0(how, "per_core") != 0)
			return rg_refuse(why, remedy,
				"%s: x-raygpu-cpus of %s in pool_config must be \"value\" or "
				"\"per_core\"",
				where, name);
		if (!json_array_size(json_object_get(rule, "examples")))
			return rg_refuse(
				why, remedy, "%s: %s of pool_config has no examples", where, name);
		for (size_t i = 0; i < G_N_ELEMENTS(of_config); i++)
			if (json_object_get(rule, of_config[i]))
				return rg_refuse(why, remedy,
					"%s: %s of pool_config has %s, which only settings in "
					"config can have",
					where, name, of_config[i]);
	}
	return true;
}

RgSchema *rg_provider_module_check_schema(
	const char *name, const char *where, json_t *document, RgRefusal *why)
{
	if (!shape_is_right(where, document, why))
		return NULL;
	const char *own = rg_json_str(document, "provider", "");
	if (!g_str_equal(own, name)) {
		rg_refuse(why, "put the module's own schema.json beside it",
			"%s is the schema of the provider \"%s\", not \"%s\"", where, own, name);
		return NULL;
	}
	rg_json_foreach_member (kind, body, json_object_get(document, "kinds")) {
		if (!kind_is_right(name, where, kind, body, why))
			return NULL;
	}
	if (!config_is_right(where, json_object_get(document, "config"), why))
		return NULL;
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgSchema *schema = rg_schema_new(document, diags);
	if (schema && !pool_config_is_right(where, document, schema, why)) {
		rg_schema_free(schema);
		return NULL;
	}
	if (!schema) {
		const char *text = rg_diags_count(diags) > 0 ? rg_diags_get(diags, 0)->summary
							     : "no reason given";
		rg_refuse(why, "correct the module's schema.json", "%s is not usable: %s", where,
			text);
	}
	return schema;
}
