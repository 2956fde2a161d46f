/* What `import` and `state rebuild` need: they read a resource by its id alone, price a node by the
 * roles of its attributes, and look for the Ray token in what no list reports. */
#include "provider/conform_internal.h"
#include "resource/expr.h"

/* A known id is read even under a cluster name that nothing has. */
static void check_import(RgConform *c, const RgConformMade *made)
{
	const char *const kinds[] = {made->wanted->kind, NULL};
	json_auto_t *known = json_pack("{s:[s]}", kinds[0], made->id);
	const RgListing listing = {.kinds = kinds,
		.cluster = "raygpu-check-2",
		.lineage = "00000000000000000000000000000000",
		.known = known};
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(GHashTable) seen = rg_conform_seen_new();
	g_autofree char *step = g_strdup_printf("list %s by its id alone, for import", kinds[0]);
	bool ok = rg_provider_list(c->provider, &listing, rg_conform_take_seen, seen, diags);
	const RgResource *resource = g_hash_table_lookup(seen, made->id);
	const char *why = !resource || resource->presence != RG_PRESENT
				  ? "it is not reported: nothing could be imported"
			  : resource->address
				  ? "it has an address, but another cluster's ownership tags"
				  : NULL;
	rg_conform_tell(c, step, ok && !why, ok ? why : NULL, diags);
}

static char *judge_role(const RgConform *c, const RgConformMade *made, const RgAttribute *attribute,
	const json_t *seen)
{
	const char *name = attribute->name;
	bool is_type = g_str_equal(attribute->role, RG_ROLE_INSTANCE_TYPE);
	const char *wanted = is_type ? c->type : rg_json_str(made->wanted->attrs, name, "");
	const char *told = rg_json_str(seen, name, NULL);
	if (!told || g_str_equal(told, wanted))
		return told || attribute->default_value
			       ? NULL
			       : g_strdup_printf("list does not report %s", name);
	return g_strdup_printf("%s, which has the role \"%s\", is \"%s\" instead of \"%s\"", name,
		attribute->role, told, wanted);
}

/* The pin of a node consists of what these attributes report. */
static void check_roles(RgConform *c, const RgConformMade *made)
{
	static const char *const roles[] = {
		RG_ROLE_INSTANCE_TYPE, RG_ROLE_ZONE, RG_ROLE_IMAGE, RG_ROLE_MARKET};
	const RgKind *kind =
		rg_schema_kind(rg_provider_get_schema(c->provider), made->wanted->kind);
	g_autofree char *step = g_strdup_printf("list %s: roles describe a node", kind->name);
	g_autofree char *why = NULL;
	bool read = false;
	if (!rg_kind_with_role(kind, RG_ROLE_INSTANCE_TYPE)) {
		rg_conform_skip(c, step,
			"no attribute has the role instance_type: an imported node has no price");
		return;
	}
	json_auto_t *seen = rg_conform_see(c, made, &read);
	for (size_t i = 0; i < G_N_ELEMENTS(roles) && !why; i++) {
		const RgAttribute *attribute = rg_kind_with_role(kind, roles[i]);
		if (attribute)
			why = judge_role(c, made, attribute, seen);
	}
	rg_conform_tell(c, step, read && !why, why, NULL);
}

/* What is revealed is what the resource was created with. */
static char *judge_revealed(RgConform *c, const RgConformMade *made, const RgItemResult *result)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *wanted = rg_expr_resolve(made->wanted->attrs, rg_conform_look_up, c, diags);
	if (result->outcome != RG_OUTCOME_DONE)
		return g_strdup(result->message ? result->message : "no reason given");
	rg_json_foreach_member (name, value, result->attributes) {
		json_t *sent = json_object_get(wanted, name);
		if (*json_string_value(value) ? !json_equal(value, sent) : sent != NULL)
			return g_strdup_printf(
				"%s is not the value that it was created with", name);
	}
	return json_object_size(result->attributes) ? NULL : g_strdup("nothing was revealed");
}

static void check_console(RgConform *c, const RgConformMade *made)
{
	g_autofree char *step = g_strdup_printf("console %s: a text", made->wanted->kind);
	if (!rg_provider_offers(c->provider, "console")) {
		rg_conform_skip(c, step,
			"the module does not implement console: raygpu does not wait for nodes to "
			"join Ray");
		return;
	}
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *input = json_pack("{s:s, s:[{s:s, s:s}]}", "kind", made->wanted->kind, "items",
		"address", made->wanted->address, "id", made->id);
	g_autoptr(GPtrArray) results = rg_provider_console(c->provider, input, diags);
	const RgItemResult *result = results->pdata[0];
	rg_conform_tell(c, step, result->outcome == RG_OUTCOME_DONE && !rg_diags_has_errors(diags),
		result->message, diags);
}

static void check_reveal(RgConform *c, const RgConformMade *made)
{
	g_autofree char *step = g_strdup_printf("reveal %s: user data as sent", made->wanted->kind);
	if (!rg_provider_offers(c->provider, "reveal")) {
		rg_conform_skip(c, step,
			"the module does not implement reveal: `raygpu state rebuild` takes the "
			"Ray "
			"token from --ray-token-file");
		return;
	}
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *input = json_pack("{s:s, s:[{s:s, s:s}]}", "kind", made->wanted->kind, "items",
		"address", made->wanted->address, "id", made->id);
	g_autoptr(GPtrArray) results = rg_provider_reveal(c->provider, input, diags);
	g_autofree char *why = judge_revealed(c, made, results->pdata[0]);
	rg_conform_tell(c, step, !why, why, diags);
}

void rg_conform_adopt(RgConform *c, const RgConformMade *made)
{
	const RgSchema *schema = rg_provider_get_schema(c->provider);
	check_import(c, made);
	if (!rg_schema_kind(schema, made->wanted->kind)->node)
		return;
	check_roles(c, made);
	check_reveal(c, made);
	check_console(c, made);
}
