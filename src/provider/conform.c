#include "provider/conform.h"

#include <string.h>
#include "provider/conform_internal.h"

static void made_free(gpointer data)
{
	RgConformMade *made = data;
	g_free(made->id);
	g_free(made->token);
	json_decref(made->outputs);
	g_free(made);
}

static bool has_node_kind(const RgSchema *schema)
{
	GStrv kinds = rg_schema_kinds(schema);
	for (size_t i = 0; kinds[i] != NULL; i++) {
		if (rg_schema_kind(schema, kinds[i])->node)
			return true;
	}
	return false;
}

/* Marks that raygpu writes by itself; names are checked against the schema with each spec. */
static void check_marks(RgConform *c, const RgSchema *schema)
{
	static const char *const values[][2] = {{"the lineage", "0123456789abcdef0123456789abcdef"},
		{"the commit", "0123456789abcdef0123456789abcdef01234567"},
		{"the run", "0123456789abcdef"}, {"the pool of the head", "head"}};
	const json_t *form = rg_schema_mark_form(schema);
	const char *pattern = rg_json_str(form, "pattern", "");
	g_autofree char *why = NULL;
	for (size_t i = 0; i < G_N_ELEMENTS(values) && !why; i++) {
		if (!g_regex_match_simple(pattern, values[i][1], G_REGEX_DOLLAR_ENDONLY, 0))
			why = g_strdup_printf("marks.value of the schema does not match %s, \"%s\"",
				values[i][0], values[i][1]);
	}
	rg_conform_tell(c, "its ownership tags can hold raygpu's values", !why, why, NULL);
}

/* Plans say "will be given back", progress "Giving back...", errors "cannot give back". */
static void check_removals(RgConform *c, const RgSchema *schema)
{
	GStrv kinds = rg_schema_kinds(schema);
	for (size_t i = 0; kinds[i]; i++) {
		const json_t *words = rg_schema_kind(schema, kinds[i])->removal;
		const char *verb = rg_json_str(words, "verb", "");
		const char *doing = rg_json_str(words, "doing", "");
		if (!words)
			continue;
		g_autofree char *step =
			g_strdup_printf("the words of removal of %s are three forms", kinds[i]);
		rg_conform_tell(c, step,
			!g_str_equal(verb, doing) &&
				!g_str_equal(doing, rg_json_str(words, "done", "")),
			"\"verb\" completes \"to\", \"done\" completes \"it was\", and \"doing\" "
			"is "
			"between them: give back, given back, giving back",
			NULL);
	}
}

/* No node boots without these. */
static void check_fragments(RgConform *c, const char *name, const RgSchema *schema)
{
	static const char *const members[] = {"cloud", "fast_network"};
	for (size_t i = 0; i < G_N_ELEMENTS(members); i++) {
		const char *file = rg_json_str(rg_schema_boot(schema), members[i], NULL);
		size_t len;
		if (!file)
			continue;
		g_autofree char *step = g_strdup_printf("data file %s", file);
		g_autofree char *why = g_strdup_printf(
			"boot.%s of the schema names it, but it is not beside the module",
			members[i]);
		rg_conform_tell(c, step, rg_provider_module_data(c->host, name, file, &len) != NULL,
			why, NULL);
	}
}

/* The loader's own checks, and what else the core needs. */
static bool check_module(RgConform *c, const char *name)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgModule *module = rg_provider_module_find(c->host, name, diags);
	if (!module)
		return rg_conform_tell(c, "found", false, NULL, diags);
	bool loads = rg_provider_module_make_ready(c->host, module);
	g_autofree char *why =
		g_strdup_printf("%s; %s", module->refusal.reason ? module->refusal.reason : "",
			module->refusal.remedy ? module->refusal.remedy : "");
	if (!rg_conform_tell(c, "loads, and its schema is valid", loads, why, NULL))
		return false;
	c->schema = module->schema;
	rg_conform_tell(c, "has a kind whose resources stand for nodes",
		has_node_kind(module->schema),
		"no kind of the schema has \"node\": true, so plans cannot count its nodes", NULL);
	check_marks(c, module->schema);
	check_removals(c, module->schema);
	check_fragments(c, name, module->schema);
	static const char *const files[][2] = {
		{"schema.json", "specs cannot use the provider until it is installed"},
		{"instance_types.csv", "without it, instance types are shapes such as T4:1"},
		{"prices.csv", "without it, no price is known"}};
	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		size_t len;
		g_autofree char *step = g_strdup_printf("data file %s", files[i][0]);
		g_autofree char *where = g_strdup_printf(
			"no %s/%s beside the module: %s", name, files[i][0], files[i][1]);
		if (rg_provider_module_data(c->host, name, files[i][0], &len))
			rg_conform_tell(c, step, true, NULL, NULL);
		else
			rg_conform_skip(c, step, where);
	}
	return true;
}

/* First cell of the first row after the header of instance_types.csv. */
static bool choose_type(RgConform *c, const char *name)
{
	size_t len;
	if (c->options->instance_type) {
		g_strlcpy(c->type, c->options->instance_type, sizeof c->type);
		return true;
	}
	const char *text = rg_provider_module_data(c->host, name, "instance_types.csv", &len);
	if (!text && rg_provider_module_data(c->host, name, "schema.json", &len))
		g_strlcpy(c->type, "cpu", sizeof c->type); /* a shape: src/catalog/shapes.c */
	const char *line = text ? memchr(text, '\n', len) : NULL;
	if (!line)
		return c->type[0] != '\0';
	size_t left = len - (size_t)(++line - text), n = 0;
	while (n < left && n + 1 < sizeof c->type && !strchr(",\r\n", line[n]))
		n++;
	memcpy(c->type, line, n);
	return n > 0;
}

static void check_account(RgConform *c)
{
	static const char step[] = "account reports the same account twice";
	g_autoptr(RgDiags) diags = rg_diags_new(), unread = rg_diags_new();
	g_auto(RgAccount) account = {0}, again = {0};
	if (!rg_provider_offers(c->provider, "account")) {
		rg_conform_skip(c, step, "the module does not implement account");
		return;
	}
	bool ok = rg_provider_account(c->provider, &account, diags);
	rg_provider_account(c->provider, &again, unread);
	rg_conform_tell(c, step, ok && g_strcmp0(account.id, again.id) == 0,
		ok ? "the second answer differs" : NULL, diags);
}

/* Asks about everything that the script will create. */
static void check_preflight(RgConform *c)
{
	static const char step[] = "preflight reports findings about creates";
	g_autoptr(RgDiags) findings = rg_diags_new(), diags = rg_diags_new();
	json_auto_t *creates = json_array();
	if (!rg_provider_offers(c->provider, "preflight")) {
		rg_conform_skip(c, step, "the module does not implement preflight");
		return;
	}
	rg_resource_foreach (one, c->desired)
		json_array_append_new(creates,
			json_pack("{s:s, s:s?, s:i, s:[s], s:O, s:s?, s:b}", "kind", one->kind,
				"group", one->group, "count", 1, "addresses", one->address,
				"attributes", one->attrs, "origin", one->origin, "replaces", 0));
	const RgPreflightAbout about = {.cluster = "conform", .applies = true};
	bool ok = rg_provider_preflight(c->provider, &about, creates, findings, NULL, diags);
	rg_diags_take_all(diags, findings);
	rg_conform_tell(c, step, ok && !rg_diags_has_errors(diags), NULL, diags);
}

static void check_with_cloud(RgConform *c, const char *name)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	const RgConformOptions *o = c->options;
	c->provider = rg_provider_open(c->host, name, o->region, o->config, o->http, diags);
	if (!rg_conform_tell(c, "opens", c->provider != NULL, NULL, diags))
		return;
	check_account(c);
	if (!choose_type(c, name))
		rg_conform_skip(
			c, "life of a cluster", "no instance type is known: use --type TYPE");
	else if (rg_conform_lower(c)) {
		check_preflight(c);
		rg_conform_life(c);
	}
	rg_conform_hostile(c);
}

bool rg_provider_conform(RgProviderHost *host, const char *name, const RgConformOptions *options)
{
	RgConform c = {.host = host, .options = options};
	c.made = g_ptr_array_new_with_free_func(made_free);
	rg_conform_make_token(c.lineage);
	RgManners *before = rg_manners_new();
	if (check_module(&c, name)) {
		if (options->http && (options->region || !rg_schema_has_regions(c.schema)))
			check_with_cloud(&c, name);
		else
			rg_conform_skip(
				&c, "calls", "no cloud to test with: use --region, and --endpoint");
	}
	rg_provider_close(c.provider);
	g_autofree char *broken = rg_manners_broken(before);
	rg_conform_tell(&c, "leaves the process as it was", !broken, broken, NULL);
	rg_manners_free(before);
	rg_resource_set_free(c.desired);
	json_decref(c.facts);
	g_ptr_array_unref(c.made);
	return c.failed == 0;
}
