/* cluster -> desired. */
#include "pipeline/internal.h"
#include "fit/compat.h"
#include "workloads/topology.h"

RgShapes *pass_make_shapes(RgSession *session, RgPass *pass, RgDiags *diags)
{
	g_clear_pointer(&pass->fit, json_decref); /* of an earlier fit */
	g_clear_pointer(&pass->fitted, json_decref);
	g_clear_pointer(&pass->facts, json_decref);
	g_clear_pointer(&pass->desired, rg_resource_set_free);
	json_t *pins = rg_pass_pins(pass);
	if (session->reoptimize)
		json_object_set_new(pins, "reoptimize", json_true());
	if (session->renew_images)
		json_object_set_new(pins, "renew_images", json_true());
	if (!pass_ask_reservations(session, pass, pins, diags) ||
		!pass_ask_types(session, pass, pins, diags))
		return NULL;
	g_autoptr(RgShapes) shapes =
		pass_fit_shapes(pass_tables(session, pass), pass->cluster, pins, diags);
	if (!shapes || !pass_check_policy(pass->cluster, shapes, pass->project, diags))
		return NULL;
	return g_steal_pointer(&shapes);
}

bool pass_fit_facts(RgSession *session, RgPass *pass, const RgShapes *shapes, const json_t *facts,
	json_t *lacking, RgDiags *diags)
{
	json_t *pins = rg_pass_pins(pass);
	RgTables *tables = pass_tables(session, pass);
	pass->fit = pass_fit_workloads(pass->cluster, shapes, pass->project, NULL, diags);
	pass->fitted =
		rg_fit(pass->cluster, shapes, facts, pins, pass->snapshot->lineage, lacking, diags);
	pass_choose_disks(rg_provider_get_schema(pass->provider), pass->fitted);
	const RgIntent intent = pass_intent(session, pass);
	rg_intent_set_expiries(&intent, pass->fitted);
	pass->facts = pass_facts(pass, pass->fitted);
	const RgProviderRef *place = &pass->cluster->provider;
	const RgCatalog *catalog = rg_tables_catalog(tables, place->name, place->region, diags);
	if (pass->fitted && catalog)
		rg_fit_check_topology(pass->cluster, catalog, pass->fitted, pass->fit, diags);
	return pass->fitted && rg_fit_check_compat(pass->cluster, shapes, pass->facts, diags) &&
	       pass_boot(session, pass, pass->fitted, diags);
}

/* The pools that lack nodes get their next types, if the spec leaves them the choice. NULL: one has
 * none left. */
static RgShapes *next_shapes(
	RgSession *session, RgPass *pass, const json_t *lacking, RgDiags *found)
{
	json_t *pins = rg_pass_pins(pass), *all = json_object_get(pins, "lacking");
	if (!all)
		json_object_set_new(pins, "lacking", all = json_object());
	rg_json_foreach_member (name, type, lacking) {
		const RgPool *pool = rg_cluster_find_pool(pass->cluster, name);
		json_t *types = json_object_get(all, name);
		if (!pool || pool->instance_type || pool->market.reservation ||
			rg_json_has_text(types, json_string_value(type)))
			return NULL;
		if (!types)
			json_object_set_new(all, name, types = json_array());
		json_array_append(types, type);
	}
	return pass_make_shapes(session, pass, found);
}

/* `diags` gets the findings of the shapes that fit, or of all that do not. */
static bool fit_stock(RgSession *session, RgPass *pass, RgDiags *diags)
{
	g_autoptr(RgDiags) refused = rg_diags_new();
	for (;;) {
		const json_t *request = rg_fit_request(pass->shapes);
		g_autoptr(RgDiags) found = rg_diags_new(), next = rg_diags_new();
		json_auto_t *facts = NULL, *lacking = json_object();
		bool asked = !request || (facts = pass_resolve(session, pass, request,
						  "images, network and zones", found)) != NULL;
		if (asked && pass_fit_facts(session, pass, pass->shapes, facts, lacking, found)) {
			rg_diags_take_new(diags, found);
			return true;
		}
		rg_diags_take_new(refused, found);
		RgShapes *shapes = json_object_size(lacking)
					   ? next_shapes(session, pass, lacking, next)
					   : NULL;
		if (!shapes) {
			rg_diags_take_new(diags, refused);
			return false;
		}
		rg_fit_shapes_free(pass->shapes);
		pass->shapes = shapes;
		rg_diags_take_new(diags, next);
	}
}

static bool fit_shapes(RgSession *session, RgPass *pass, RgDiags *diags)
{
	if (!fit_stock(session, pass, diags))
		return false;
	pass->desired = rg_provider_lower(pass->provider, pass->fitted, diags);
	pass_locate(pass->cluster, diags);
	return pass->desired != NULL;
}

bool pass_fit_read(RgSession *session, RgPass *pass, bool read, RgDiags *diags)
{
	g_clear_pointer(&pass->shapes, rg_fit_shapes_free);
	pass->shapes = pass_make_shapes(session, pass, diags);
	if (pass->shapes && read)
		pass_begin_refresh(session, pass);
	bool ok = pass->shapes && fit_shapes(session, pass, diags);
	if (!ok && read) /* otherwise it would keep reporting progress */
		rg_refresh_drop(g_steal_pointer(&pass->reading));
	return ok;
}

bool rg_pass_fit(RgSession *session, RgPass *pass, RgDiags *diags)
{
	return pass_fit_read(session, pass, false, diags);
}
