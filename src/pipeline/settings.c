/* Compares a spec's settings for its provider module with what the module's schema.json allows:
 * before the module is loaded, so that `validate` reports it too, and at the lines of the spec. */
#include <string.h>
#include "pipeline/internal.h"

static bool zone_is_in(const char *zone, const char *region)
{
	return g_str_has_prefix(zone, region) && !g_str_equal(zone, region);
}

static RgDiag *hint_zone(RgDiag *diag, const RgWords *words, const char *region)
{
	return rg_diag_hint(diag, "a cluster lives in one %s; the names of its %ss begin with %s",
		words->region, words->zone, region);
}

/* A zone of a pool that the provider's schema.json excludes; NULL: none. */
static RgDiag *check_zone(
	const RgProviderRef *place, const RgSchema *schema, const char *zone, RgDiags *diags)
{
	const RgWords *words = rg_schema_words(schema);
	const json_t *fixed = rg_schema_zones(schema);
	if (rg_schema_zones_start_with_region(schema) && !zone_is_in(zone, place->region))
		return hint_zone(rg_diags_error(diags, "spec.conflict",
					 "the %s \"%s\" is not in the %s \"%s\"", words->zone, zone,
					 words->region, place->region),
			words, place->region);
	if (!fixed || rg_json_has_text(fixed, zone))
		return NULL;
	RgDiag *diag = rg_diags_error(
		diags, "spec.conflict", "%s has no %s \"%s\"", place->name, words->zone, zone);
	if (rg_schema_has_no_zones(schema))
		return rg_diag_hint(diag, "it has no %ss: remove `zones`", words->zone);
	g_autofree char *known = pass_list(fixed);
	return rg_diag_hint(diag, "its %ss are %s", words->zone, known);
}

static bool check_zones(
	const RgCluster *cluster, const RgSchema *schema, const RgPool *pool, RgDiags *diags)
{
	bool ok = true;
	for (size_t i = 0; pool->zones && pool->zones[i]; i++) {
		RgDiag *diag = check_zone(&cluster->provider, schema, pool->zones[i], diags);
		g_autofree char *origin = g_strdup_printf("%s/zones/%zu", pool->origin, i);
		if (diag)
			rg_diag_origin(diag, origin);
		ok = ok && !diag;
	}
	return ok;
}

static void report_no_region(const RgProviderRef *place, const RgWords *words, RgDiags *diags)
{
	static const char *const wanted[] = {"region", NULL};
	const char *meant = NULL;
	rg_json_foreach_member (key, value, place->config)
		meant = meant || !rg_nearest_word(key, wanted) ? meant : key;
	RgDiag *diag = rg_diags_error(diags, "spec.missing-key", "provider has no \"region\"");
	rg_diag_at(diag, place->source);
	if (meant)
		rg_diag_hint(diag, "did you mean `region` instead of \"%s\"?", meant);
	else
		rg_diag_hint(diag, "add region: the %s of %s for the cluster", words->region,
			place->name);
}

/* A spec names a region if and only if its provider has regions. */
static bool check_region(const RgProviderRef *place, const RgSchema *schema, RgDiags *diags)
{
	const RgWords *words = rg_schema_words(schema);
	bool named = *place->region, needed = rg_schema_has_regions(schema);
	if (needed && !named)
		report_no_region(place, words, diags);
	else if (named && !needed)
		rg_diag_hint(rg_diag_at(rg_diags_error(diags, "spec.conflict", "%s has no %ss",
						place->name, words->region),
				     place->region_source),
			"remove `region`");
	return named == needed;
}

/* A setting whose keys are zones (x-raygpu-zones in the module's schema.json): they are in the
 * region, and no two have the same value, because what is given for a zone is in that zone. */
static bool check_zone_map(const RgCluster *cluster, const RgWords *words, const char *name,
	json_t *map, RgDiags *diags)
{
	const char *region = cluster->provider.region;
	bool ok = true;
	g_autoptr(GHashTable) zones_of = g_hash_table_new(g_str_hash, g_str_equal);
	g_autofree char *base = g_strconcat("/provider/", name, NULL);
	rg_json_foreach_member (zone, value, map) {
		const char *given = json_string_value(value);
		const char *other = given ? g_hash_table_lookup(zones_of, given) : NULL;
		RgDiag *diag = NULL;
		if (!zone_is_in(zone, region))
			diag = hint_zone(
				rg_diags_error(diags, "spec.conflict",
					"the %s \"%s\" of provider.%s is not in the %s \"%s\"",
					words->zone, zone, name, words->region, region),
				words, region);
		else if (other)
			diag = rg_diag_hint(
				rg_diags_error(diags, "spec.conflict",
					"\"%s\" is given for %s and for %s in provider.%s", given,
					other, zone, name),
				"use a different one for each %s", words->zone);
		else if (given)
			g_hash_table_insert(
				zones_of, (void *)(uintptr_t)given, (void *)(uintptr_t)zone);
		if (!diag)
			continue;
		g_autofree char *origin = rg_json_pointer_add(base, zone);
		rg_diag_origin(diag, origin);
		ok = false;
	}
	return ok;
}

static bool check_zone_maps(const RgCluster *cluster, const RgSchema *schema, RgDiags *diags)
{
	json_t *settings = json_object_get(rg_schema_config(schema), "properties");
	bool ok = true;
	rg_json_foreach_member (name, rule, settings) {
		json_t *map = json_object_get(cluster->provider.config, name);
		if (json_is_true(json_object_get(rule, "x-raygpu-zones")))
			ok = check_zone_map(cluster, rg_schema_words(schema), name, map, diags) &&
			     ok;
	}
	return ok;
}

/* Without an attribute for the market, a module would create spot nodes on demand, whatever the
 * plan says. */
static bool sells_spot(const RgSchema *schema)
{
	GStrv kinds = rg_schema_kinds(schema);
	for (size_t i = 0; kinds[i] != NULL; i++) {
		const RgKind *kind = rg_schema_kind(schema, kinds[i]);
		if (kind->node && rg_kind_with_role(kind, RG_ROLE_MARKET))
			return true;
	}
	return false;
}

static bool check_markets(const RgCluster *cluster, const RgSchema *schema, RgDiags *diags)
{
	bool ok = true, sold = sells_spot(schema), limited = rg_schema_spot_max_price(schema);
	for (guint i = 0; i < cluster->pools->len && !(sold && limited); i++) {
		const RgPool *pool = g_ptr_array_index(cluster->pools, i);
		if (!pool->market.is_spot || (sold && pool->market.max_microusd == 0))
			continue;
		RgDiag *diag = rg_diags_error(diags, "spec.conflict",
			sold ? "the provider %s has no price limit for spot nodes (pool %s)"
			     : "the provider %s does not support spot nodes (pool %s)",
			cluster->provider.name, pool->name);
		rg_diag_at(diag, pool->market.source);
		rg_diag_hint(diag, sold ? "remove `max_price`: `market: spot`"
					: "remove `market`: its nodes are bought on demand");
		ok = false;
	}
	return ok;
}

bool pass_check_elastic(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags)
{
	g_autoptr(RgDiags) unsaid = rg_diags_new(); /* rg_pass_check_settings reports it */
	const RgSchema *schema = rg_provider_schema(providers, cluster->provider.name, unsaid);
	bool good = true;
	for (guint i = 0; schema && !rg_schema_elastic(schema) && i < cluster->pools->len; i++) {
		const RgPool *pool = g_ptr_array_index(cluster->pools, i);
		if (!pool->is_elastic)
			continue;
		RgDiag *diag = rg_diags_error(diags, "spec.not-supported-yet",
			"the provider %s does not support elastic pools (pool %s)",
			cluster->provider.name, pool->name);
		rg_diag_at(diag, pool->nodes_source);
		rg_diag_hint(diag, "use a fixed number of nodes; `raygpu fit` checks the range");
		good = false;
	}
	return good;
}

bool pass_check_jobs(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags)
{
	g_autoptr(RgDiags) unsaid = rg_diags_new(); /* rg_pass_check_settings reports it */
	const RgSchema *schema = rg_provider_schema(providers, cluster->provider.name, unsaid);
	if (!schema || rg_schema_jobs(schema) || json_object_size(cluster->jobs) == 0)
		return true;
	RgDiag *diag = rg_diags_error(diags, "spec.not-supported-yet",
		"the provider %s cannot start jobs: its cloud has no API that starts one exactly "
		"once",
		cluster->provider.name);
	rg_diag_at(diag, rg_cluster_source(cluster, "/jobs"));
	rg_diag_hint(diag, "remove `jobs`, and submit them with `ray job submit` through `raygpu "
			   "connect`");
	return false;
}

static bool check_reservation(
	const RgCluster *cluster, const RgSchema *schema, const RgPool *pool, RgDiags *diags)
{
	const json_t *rule = rg_schema_reservation(schema);
	const char *id = pool->market.reservation;
	if (!id || (rule && pass_fits(rule, id)))
		return true;
	RgDiag *diag;
	if (rule)
		diag = rg_diag_hint(
			rg_diags_error(diags, "spec.bad-pattern",
				"\"%s\" is not a reservation of %s", id, cluster->provider.name),
			"it must be %s", rg_json_str(rule, "expected", ""));
	else
		diag = rg_diag_hint(
			rg_diags_error(diags, "spec.conflict",
				"the provider %s does not support reservations (pool %s)",
				cluster->provider.name, pool->name),
			"remove `market`: its nodes are bought on demand");
	rg_diag_at(diag, pool->market.source);
	return false;
}

static bool check_share(
	const RgCluster *cluster, const RgSchema *schema, const RgPool *pool, RgDiags *diags)
{
	if (g_strcmp0(pool->share.of, "gpu") != 0 || rg_schema_shared_nodes(schema))
		return true;
	RgDiag *diag = rg_diags_error(diags, "spec.conflict",
		"a node of the provider %s is one worker, which has all of its GPUs (pool %s)",
		cluster->provider.name, pool->name);
	rg_diag_at(diag, pool->share.source);
	rg_diag_hint(diag, "remove `share`; `share: {time_slices: 4}` has tasks share GPUs");
	return false;
}

static bool check_image(
	const RgCluster *cluster, const RgSchema *schema, const RgPool *pool, RgDiags *diags)
{
	const json_t *rule = rg_schema_image(schema);
	if (!pool->image || pass_fits(rule, pool->image))
		return true;
	RgDiag *diag = rg_diags_error(diags, "spec.bad-pattern", "\"%s\" is not an image of %s",
		pool->image, cluster->provider.name);
	rg_diag_at(diag, pool->image_source);
	rg_diag_hint(diag, "it must be %s", rg_json_str(rule, "expected", ""));
	return false;
}

/* {"settings", "zone_maps", "pool_settings", "pool_cpus", "pool_labels", "pool_limits", "image"} of
 * the pins (fit.h), as marked in the module's schema; a new reference. */
static json_t *resolve_settings(const RgCluster *cluster, const RgSchema *schema)
{
	json_t *settings = json_object_get(rg_schema_config(schema), "properties");
	json_auto_t *deciding = json_object(), *maps = json_array();
	rg_json_foreach_member (name, rule, settings) {
		json_t *value = json_object_get(cluster->provider.config, name);
		if (value && json_is_true(json_object_get(rule, "x-raygpu-resolve")))
			json_object_set(deciding, name, value);
		if (value && json_is_true(json_object_get(rule, "x-raygpu-zones")))
			json_array_append(maps, value);
	}
	return json_pack("{s:O*, s:O, s:o, s:o, s:o, s:o, s:O*}", "settings",
		json_object_size(deciding) > 0 ? deciding : NULL, "zone_maps", maps,
		"pool_settings", pass_pool_settings(cluster, schema), "pool_cpus",
		pass_pool_cpus(cluster, schema), "pool_labels",
		pass_pool_marked(cluster, schema, "x-raygpu-labels"), "pool_limits",
		pass_pool_marked(cluster, schema, "x-raygpu-stock"), "image",
		rg_schema_image(schema));
}

bool pass_check_config(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags)
{
	const RgProviderRef *place = &cluster->provider;
	const RgSchema *schema = rg_provider_schema(providers, place->name, diags);
	if (!schema)
		return false;
	bool ok = check_region(place, schema, diags) &&
		  rg_provider_check_config(providers, place->name, place->config, diags);
	ok = pass_check_pool_settings(providers, cluster, schema, diags) && ok;
	if (rg_schema_zones_start_with_region(schema))
		ok = check_zone_maps(cluster, schema, diags) && ok;
	pass_locate(cluster, diags);
	return ok;
}

/* For the head and each pool. */
static bool check_pools(const RgCluster *cluster, const RgSchema *schema, RgDiags *diags,
	bool (*check)(const RgCluster *, const RgSchema *, const RgPool *, RgDiags *))
{
	bool ok = check(cluster, schema, cluster->head, diags);
	for (guint i = 0; i < cluster->pools->len; i++)
		ok = check(cluster, schema, cluster->pools->pdata[i], diags) && ok;
	return ok;
}

/* Where the pool has it: its own, or the cluster's. */
static char *prepare_pointer(const RgCluster *cluster, const RgPool *pool, const char *name)
{
	g_autofree char *own = rg_json_pointer_add(pool->origin, name);
	return g_hash_table_contains(cluster->sources, own) ? g_steal_pointer(&own)
							    : rg_json_pointer_add("", name);
}

/* Commands and mounts need raygpu's own script on the machine; each place is reported once. */
static bool check_prepare(const RgCluster *cluster, const RgSchema *schema, RgDiags *diags)
{
	const RgPool *pool;
	g_autoptr(GHashTable) told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (guint i = 0;
		!rg_schema_runs_start_ray(schema) && (pool = rg_cluster_pool(cluster, i)) != NULL;
		i++) {
		rg_json_foreach_member (name, value, pool->prepare) {
			char *pointer = prepare_pointer(cluster, pool, name);
			if (!g_hash_table_add(told, pointer))
				continue;
			RgDiag *diag = rg_diags_error(diags, "boot.bad-value",
				"`%s` is not supported on %s", name, cluster->provider.name);
			rg_diag_origin(diag, pointer);
			rg_diag_hint(diag, "put what Ray needs into the container image");
		}
	}
	return !g_hash_table_size(told);
}

bool pass_check_place(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags)
{
	const RgSchema *schema = rg_provider_schema(providers, cluster->provider.name, diags);
	if (!schema)
		return false;
	bool ok = check_pools(cluster, schema, diags, check_zones);
	ok = check_pools(cluster, schema, diags, check_image) && ok;
	ok = check_markets(cluster, schema, diags) && ok;
	ok = check_pools(cluster, schema, diags, check_reservation) && ok;
	ok = check_pools(cluster, schema, diags, check_share) && ok;
	ok = pass_check_labels(cluster, schema, diags) && ok;
	ok = pass_check_marks(cluster, schema, diags) && ok;
	ok = check_pools(cluster, schema, diags, pass_check_disk) && ok;
	ok = pass_check_registry(cluster, schema, diags) && ok;
	ok = check_prepare(cluster, schema, diags) && ok;
	pass_locate(cluster, diags);
	return ok;
}

bool rg_pass_check_settings(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags)
{
	const char *name = cluster->provider.name;
	if (!rg_provider_has(providers, name, "schema.json")) {
		RgDiag *diag = rg_diags_error(
			diags, "provider.not-found", "there is no provider \"%s\"", name);
		rg_diag_origin(diag, "/provider/name");
		rg_diag_hint(diag, "`raygpu providers list` lists the available ones");
		pass_locate(cluster, diags);
		return false;
	}
	bool ok = pass_check_config(providers, cluster, diags);
	return pass_check_place(providers, cluster, diags) && ok;
}

/* ---- spec -> shapes */

RgShapes *pass_fit_shapes(
	RgTables *tables, const RgCluster *cluster, const json_t *known, RgDiags *diags)
{
	g_autoptr(RgDiags) first = rg_diags_new();
	const RgProviderRef *place = &cluster->provider;
	if (!rg_tables_have(tables, place->name, "schema.json"))
		return NULL;
	/* the pins, together with the spec's settings that the module's schema marks */
	const RgSchema *schema = rg_tables_schema(tables, place->name);
	json_auto_t *pins = known ? json_copy(rg_json_unconst(known)) : json_object();
	json_auto_t *settings = schema ? resolve_settings(cluster, schema) : NULL;
	if (settings)
		json_object_update(pins, settings);
	const RgCatalog *catalog = rg_tables_catalog(tables, place->name, place->region, first);
	RgShapes *shapes = catalog ? rg_fit_shapes(cluster, catalog, pins, first) : NULL;
	if (shapes) {
		rg_diags_take_new(diags, first);
		return shapes;
	}
	catalog = rg_tables_catalog(tables, place->name, NULL, diags);
	return catalog ? rg_fit_shapes(cluster, catalog, pins, diags) : NULL;
}
