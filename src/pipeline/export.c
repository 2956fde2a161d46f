/* spec -> a file for another tool, as the provider's module writes it. */
#include "base/clock.h"
#include "pipeline/internal.h"

static void refuse_form(const RgPass *pass, const char *form, const json_t *forms, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "provider.no-export",
		"the provider %s cannot export a cluster as \"%s\"", pass->cluster->provider.name,
		form);
	json_auto_t *names = json_array();
	rg_json_foreach_member (name, what, forms)
		json_array_append_new(names, json_string(name));
	g_autofree char *list = pass_list(names);
	if (json_array_size(names))
		rg_diag_hint(diag, "it knows: %s", list);
}

/* A provider without zones is not asked: its export needs neither network nor credentials. */
static bool export_open(RgSession *session, RgPass *pass, RgDiags *diags)
{
	const char *name = pass->cluster->provider.name;
	const RgSchema *schema = rg_provider_schema(session->providers, name, diags);
	if (!schema || !rg_schema_has_no_zones(schema))
		return schema && rg_pass_open(session, pass, diags);
	return pass_open_offline(session->providers, pass, diags);
}

static json_t *export_facts(RgSession *session, RgPass *pass, const json_t *request, RgDiags *diags)
{
	const RgSchema *schema = rg_provider_get_schema(pass->provider);
	if (rg_schema_has_no_zones(schema))
		return rg_provider_known_facts(schema, request);
	return pass_resolve(session, pass, request, "images, network and zones", diags);
}

/* pass_end_pools left them without nodes. */
static void warn_of_ended(const RgPass *pass, RgDiags *diags)
{
	rg_ptr_foreach (const RgPool, pool, pass->cluster->pools) {
		int64_t end_s = rg_lease_end(pass->leases, pool->name);
		if (!pool->is_disabled || !end_s || end_s > rg_clock_now_s())
			continue;
		RgDiag *diag = rg_diags_warning(diags, "plan.lease-ended",
			"the lease of pool %s has ended: it is exported without nodes", pool->name);
		rg_diag_at(diag, pool->lease.source);
		rg_diag_hint(diag, "extend `expires` or remove it");
	}
}

char *rg_pipeline_export(RgSession *session, RgPass *pass, const char *form, RgDiags *diags)
{
	if (!rg_pass_settle(session, pass, diags) ||
		!pass_check_elastic(session->providers, pass->cluster, diags) ||
		!pass_check_jobs(session->providers, pass->cluster, diags) ||
		!export_open(session, pass, diags))
		return NULL;
	warn_of_ended(pass, diags);
	const json_t *forms = rg_schema_exports(rg_provider_get_schema(pass->provider));
	if (!json_object_get(forms, form) || !rg_provider_offers(pass->provider, "export")) {
		refuse_form(pass, form, forms, diags);
		return NULL;
	}
	pass->shapes = pass_make_shapes(session, pass, diags);
	const json_t *request = pass->shapes ? rg_fit_request(pass->shapes) : NULL;
	json_auto_t *facts = request ? export_facts(session, pass, request, diags) : NULL;
	if (!pass->shapes || (request && !facts) ||
		!pass_fit_facts(session, pass, pass->shapes, facts, NULL, diags))
		return NULL;
	char *text = rg_provider_export(pass->provider, form, pass->fitted, diags);
	pass_locate(pass->cluster, diags);
	return text;
}
