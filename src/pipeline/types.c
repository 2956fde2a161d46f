/* Instance types that a spec names and no table has: the cloud describes them, once. What it says
 * is kept with the facts of the state, so that later plans need not ask again. And the shapes of an
 * inventory, and where it has the nodes that there are. */
#include "pipeline/internal.h"
#include "resource/nodes.h"

static bool is_listed(const json_t *wanted, const char *name)
{
	rg_json_foreach (one, wanted)
		if (g_str_equal(rg_json_str(one, "name", ""), name))
			return true;
	return false;
}

static void want(json_t *wanted, const RgCatalog *catalog, const char *name, const char *origin)
{
	if (name && rg_catalog_may_ask(catalog, name) && !is_listed(wanted, name))
		json_array_append_new(
			wanted, json_pack("{s:s, s:s}", "name", name, "origin", origin));
}

/* The pool's, and that of the reservation that it names, in whichever zone it is. */
static void want_of_pool(
	json_t *wanted, const RgCatalog *catalog, const RgPool *pool, const json_t *pins)
{
	g_autofree char *origin = g_strconcat(pool->origin, "/instance_type", NULL);
	g_autofree char *reserved = g_strconcat(pool->origin, "/market/reservation", NULL);
	const json_t *reservation = NULL;
	if (pool->market.reservation && !rg_pool_is_empty(pool))
		reservation = json_object_get(
			json_object_get(pins, "reservations"), pool->market.reservation);
	want(wanted, catalog, pool->instance_type, origin);
	want(wanted, catalog, rg_json_str(reservation, "instance_type", NULL), reserved);
	rg_json_foreach (other, json_object_get(reservation, "others"))
		want(wanted, catalog, rg_json_str(other, "instance_type", NULL), reserved);
}

static json_t *wanted_of(const RgCluster *cluster, const RgCatalog *catalog, const json_t *pins)
{
	json_t *wanted = json_array();
	const RgPool *pool;
	for (guint i = 0; (pool = rg_cluster_pool(cluster, i)) != NULL; i++)
		want_of_pool(wanted, catalog, pool, pins);
	return wanted;
}

/* What the plan is based on, since no table says it. */
static void tell(const RgCatalog *catalog, const json_t *one, RgDiags *diags)
{
	const RgInstanceType *type = rg_catalog_find_type(catalog, rg_json_str(one, "name", ""));
	if (!type)
		return; /* fit reports it */
	g_autofree char *gpus =
		type->gpu ? g_strdup_printf(", %u %s", type->gpus, type->gpu->name) : g_strdup("");
	RgDiag *diag = rg_diags_note(diags, "catalog.unlisted-type",
		"no table has %s: the cloud reports %u vCPUs, %g GiB%s", type->name, type->vcpus,
		type->memory_gib, gpus);
	rg_diag_origin(diag, rg_json_str(one, "origin", NULL));
}

/* An answer without a type that was asked about says that there is none. */
static json_t *answer_of(const json_t *wanted, const json_t *facts)
{
	json_t *types = json_object();
	rg_json_foreach (one, wanted) {
		const char *name = rg_json_str(one, "name", "");
		json_t *row = json_object_get(json_object_get(facts, "types"), name);
		json_object_set_new(types, name, row ? json_incref(row) : json_null());
	}
	return types;
}

static json_t *ids_of(const RgSnapshot *snapshot)
{
	json_t *ids = json_array();
	rg_resource_foreach (record, snapshot->recorded) {
		if (record->id && rg_nodes_pools(record, NULL))
			json_array_append_new(ids, json_string(record->id));
	}
	return ids;
}

/* An inventory that was corrected says where its nodes have been all the time. */
static void correct_zones(const RgSnapshot *snapshot, json_t *pins, const json_t *zones)
{
	rg_resource_foreach (record, snapshot->recorded) {
		json_t *zone = record->id ? json_object_get(zones, record->id) : NULL;
		json_auto_t *its = json_pack("{s:{}}", "nodes");
		if (!zone)
			continue;
		rg_pins_add(its, record);
		rg_json_foreach_member (key, pin, json_object_get(its, "nodes")) {
			json_t *corrected = json_copy(pin);
			json_object_set(corrected, "zone", zone);
			json_object_set_new(json_object_get(pins, "nodes"), key, corrected);
		}
	}
}

/* They are asked about each time: an inventory is part of the spec, and the module answers without
 * a connection. */
static bool ask_shapes(RgSession *session, RgPass *pass, json_t *pins, RgDiags *diags)
{
	const RgProviderRef *place = &pass->cluster->provider;
	if (!pass->provider || !rg_schema_describes_shapes(rg_provider_get_schema(pass->provider)))
		return true;
	json_auto_t *request = json_pack("{s:[], s:b, s:[], s:[], s:b, s:o}", "images", "place",
		false, "instance_types", "zones", "shapes", true, "nodes", ids_of(pass->snapshot));
	json_auto_t *facts = pass_resolve(session, pass, request, "inventory", diags);
	correct_zones(pass->snapshot, pins, json_object_get(facts, "node_zones"));
	return facts && rg_tables_describe_shapes(pass_tables(session, pass), place->name,
				place->region, json_object_get(facts, "shapes"), diags);
}

bool pass_ask_types(RgSession *session, RgPass *pass, json_t *pins, RgDiags *diags)
{
	RgTables *tables = pass_tables(session, pass);
	const RgProviderRef *place = &pass->cluster->provider;
	g_autoptr(RgDiags) unsaid = rg_diags_new(); /* fit reports what is wrong with the tables */
	const RgCatalog *catalog = rg_tables_catalog(tables, place->name, place->region, unsaid);
	json_auto_t *wanted = catalog ? wanted_of(pass->cluster, catalog, pins) : NULL;
	if (json_array_size(wanted)) {
		json_auto_t *request = json_pack("{s:[], s:b, s:[], s:[], s:O}", "images", "place",
			false, "instance_types", "zones", "types", wanted);
		json_auto_t *facts = pass_resolve(session, pass, request, "instance types", diags);
		if (!facts)
			return false;
		json_auto_t *answer = answer_of(wanted, facts);
		rg_tables_describe(tables, place->name, answer);
		rg_json_foreach (one, wanted)
			tell(catalog, one, diags);
		pass_locate(pass->cluster, diags);
	}
	json_object_set(pins, "types", rg_tables_described(tables, place->name));
	return ask_shapes(session, pass, pins, diags);
}
