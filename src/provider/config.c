/* What a spec sets for its module, checked against the settings' schemas in the module's
 * schema.json and reported with the spec's names: provider.profile or pools.train.provider.cpu, not
 * /profile. A schema may help with x-raygpu-expected ("the id of a network such as ...") and, for
 * maps with user-chosen names, x-raygpu-name {what, expected}. */
#include "provider/internal.h"

#include <string.h>

typedef struct {
	const char *provider;
	const char *origin; /* "/provider", or that of a pool */
	const char *what;   /* "setting" */
	RgDiags *diags;
} ConfigCheck;

/* The allowed names of the object with the unknown member; g_free the array only. */
static const char **allowed_names(const json_t *schema)
{
	json_t *properties = json_object_get(schema, "properties");
	const char **names = g_new0(const char *, json_object_size(properties) + 1);
	size_t n = 0;
	rg_json_foreach_member (key, value, properties)
		names[n++] = key;
	return names;
}

/* The finding's place in the spec. */
static void say_origin(
	const ConfigCheck *check, RgDiag *diag, const char *pointer, const char *name)
{
	g_autofree char *inner = name ? rg_json_pointer_add(pointer, name) : g_strdup(pointer);
	g_autofree char *origin = g_strconcat(check->origin, inner, NULL);
	rg_diag_origin(diag, origin);
}

/* "/networks/2" -> "provider.networks[2]"; g_free the result. */
static char *path_of(const ConfigCheck *check, const char *pointer)
{
	g_autofree char *whole = g_strconcat(check->origin, pointer, NULL);
	g_auto(GStrv) steps = g_strsplit(whole + 1, "/", -1);
	g_autoptr(GString) path = g_string_new(steps[0]);
	for (size_t i = 1; steps[i]; i++) {
		bool is_index =
			steps[i][0] != '\0' && strspn(steps[i], "0123456789") == strlen(steps[i]);
		g_string_append_printf(path, is_index ? "[%s]" : ".%s", steps[i]);
	}
	return rg_text_clean(path->str);
}

static void say_unknown(ConfigCheck *check, const RgSchemaFinding *finding, const char *name)
{
	g_autofree const char **names = allowed_names(finding->schema);
	const json_t *rule = json_object_get(finding->schema, "x-raygpu-name");
	RgDiag *diag;
	if (rule) {
		g_autofree char *path = path_of(check, finding->pointer);
		diag = rg_diags_error(check->diags, "provider.bad-config",
			"the %s \"%s\" of %s must be %s", rg_json_str(rule, "what", "name"), name,
			path, rg_json_str(rule, "expected", "of another form"));
	} else {
		diag = rg_diags_error(check->diags, "provider.bad-config",
			"provider \"%s\" has no %s \"%s\"", check->provider, check->what, name);
		const char *near = rg_nearest_word(name, names);
		g_autofree char *all = g_strjoinv(", ", (char **)(uintptr_t)names);
		if (near)
			rg_diag_hint(diag, "did you mean \"%s\"?", near);
		else if (*all != '\0')
			rg_diag_hint(diag, "its %ss are %s", check->what, all);
		else
			rg_diag_hint(diag, "it has no %ss", check->what);
	}
	say_origin(check, diag, finding->pointer, finding->name);
	rg_diag_cloud(diag, check->provider, NULL, NULL);
}

/* A description of the expected value; g_free the result. */
static char *wanted(const RgSchemaFinding *finding)
{
	static const struct {
		const char *keyword, *words;
	} limits[] = {
		{"minimum", "at least %s"},
		{"maximum", "at most %s"},
		{"minLength", "at least %s characters long"},
		{"maxLength", "at most %s characters long"},
		{"minItems", "a list of at least %s"},
		{"maxItems", "a list of at most %s"},
		{"minProperties", "a mapping of at least %s"},
		{"maxProperties", "a mapping of at most %s"},
	};
	const char *expected = rg_json_str(finding->schema, "x-raygpu-expected", NULL);
	g_autofree char *rule = rg_json_canonical(finding->rule);
	static const char *const forms[] = {"pattern", "enum", "anyOf", "oneOf", NULL};
	if (expected && g_strv_contains(forms, finding->keyword))
		return rg_text_clean(expected);
	if (g_str_equal(finding->keyword, "type") && json_is_string(finding->rule))
		return g_strdup_printf("of type %s", json_string_value(finding->rule));
	for (size_t i = 0; i < G_N_ELEMENTS(limits); i++) {
		if (!g_str_equal(finding->keyword, limits[i].keyword))
			continue;
		g_autoptr(GString) words = g_string_new(limits[i].words);
		g_string_replace(words, "%s", rule, 1);
		return g_string_free(g_steal_pointer(&words), FALSE);
	}
	if (g_str_equal(finding->keyword, "pattern"))
		return g_strdup_printf("of the form %.200s", rule);
	return g_strdup_printf("%s %.200s", finding->keyword, rule);
}

/* The item of a list that occurs twice, or NULL. */
static const char *find_repeated(const json_t *list)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *item = json_string_value(json_array_get(list, i));
		if (item && !g_hash_table_add(seen, (void *)(uintptr_t)item))
			return item;
	}
	return NULL;
}

static RgDiag *say_wrong(ConfigCheck *check, const RgSchemaFinding *finding)
{
	g_autofree char *path = path_of(check, finding->pointer);
	if (g_str_equal(finding->keyword, "uniqueItems")) {
		const char *repeated = find_repeated(finding->value);
		g_autofree char *item = rg_text_clean(repeated ? repeated : "an entry");
		return rg_diags_error(
			check->diags, "provider.bad-config", "%s names \"%s\" twice", path, item);
	}
	g_autofree char *must = wanted(finding);
	g_autofree char *value = json_dumps(finding->value, JSON_ENCODE_ANY);
	g_autofree char *got = rg_text_clean(value);
	return rg_diags_error(
		check->diags, "provider.bad-config", "%s must be %s, not %.200s", path, must, got);
}

static void report_config(const RgSchemaFinding *finding, void *data)
{
	ConfigCheck *check = data;
	g_autofree char *name = rg_text_clean(finding->name);
	bool missing = g_str_equal(finding->keyword, "required");
	if (name && !missing) {
		say_unknown(check, finding, name);
		return;
	}
	RgDiag *diag;
	if (missing) {
		g_autofree char *inner = rg_json_pointer_add(finding->pointer, name);
		g_autofree char *base = path_of(check, ""), *path = path_of(check, inner);
		diag = rg_diags_error(check->diags, "provider.bad-config",
			"provider \"%s\" needs the %s \"%s\"", check->provider, check->what,
			path + strlen(base) + 1);
	} else {
		diag = say_wrong(check, finding);
	}
	g_autofree char *hint = rg_text_clean(rg_json_str(finding->schema, "description", NULL));
	if (hint)
		rg_diag_hint(diag, "%s", hint);
	g_autofree char *at = rg_text_clean(finding->pointer + (*finding->pointer == '/'));
	rg_diag_address(diag, NULL, *at != '\0' ? at : name);
	say_origin(check, diag, finding->pointer, NULL);
	rg_diag_cloud(diag, check->provider, NULL, NULL);
}

static bool check_settings(ConfigCheck *check, const json_t *rules, const json_t *settings)
{
	json_auto_t *none = json_pack("{s:s, s:b}", "type", "object", "additionalProperties", 0);
	json_auto_t *empty = json_object();
	json_t *used = rules ? rg_json_unconst(rules) : none;
	g_autoptr(RgJsonSchema) compiled = rg_json_schema_compile_known(used, check->diags);
	if (!compiled)
		return false;
	const json_t *value = settings && !json_is_null(settings) ? settings : empty;
	return rg_json_schema_check(compiled, value, report_config, check);
}

bool rg_provider_module_check_config(
	const char *name, const RgSchema *schema, const json_t *config, RgDiags *diags)
{
	ConfigCheck check = {name, "/provider", "setting", diags};
	return check_settings(&check, rg_schema_config(schema), config);
}

bool rg_provider_module_check_pool(const char *name, const RgSchema *schema, const char *origin,
	const json_t *settings, RgDiags *diags)
{
	ConfigCheck check = {name, origin, "pool setting", diags};
	return check_settings(&check, rg_schema_pool_config(schema), settings);
}
