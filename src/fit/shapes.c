#include <string.h>
#include "fit/internal.h"

/* "head" or "POOL/INDEX": the key of a node in pins. g_free the result. */
static char *pin_key(const char *pool, bool is_head, unsigned index)
{
	return is_head ? g_strdup("head") : g_strdup_printf("%s/%u", pool, index);
}

static void free_shape(void *data)
{
	RgShape *shape = data;
	g_clear_pointer(&shape->nodes_in, g_hash_table_unref);
	g_clear_pointer(&shape->slices, g_ptr_array_unref);
	g_clear_pointer(&shape->variants, g_ptr_array_unref);
	g_free(shape->nodes);
	g_free(shape->ray_image);
	g_free(shape->reason);
	g_free(shape);
}

void rg_fit_shapes_free(RgShapes *shapes)
{
	if (!shapes)
		return;
	g_ptr_array_unref(shapes->shapes);
	json_decref(shapes->settings);
	json_decref(shapes->zone_maps);
	json_decref(shapes->pool_settings);
	json_decref(shapes->pool_cpus);
	json_decref(shapes->pool_labels);
	json_decref(shapes->pool_limits);
	json_decref(shapes->lacking);
	json_decref(shapes->image);
	json_decref(shapes->reservations);
	json_decref(shapes->request);
	rg_mig_free(shapes->mig);
	rg_carbon_free(shapes->carbon);
	rg_compat_free(shapes->compat);
	g_free(shapes);
}

const json_t *rg_fit_request(const RgShapes *shapes)
{
	return shapes->request;
}

static void find_pins(RgShape *shape, const json_t *pins)
{
	const RgPool *pool = shape->pool;
	const json_t *nodes = json_object_get(pins, "nodes");
	const json_t *kept = json_object_get(pins, "kept");
	bool any = json_object_size(nodes) + json_object_size(kept) > 0;
	shape->nodes = g_new0(RgFitNode, MAX(rg_fit_wanted(pool), 1));
	for (unsigned i = 0; i < rg_fit_wanted(pool) && any; i++) {
		g_autofree char *key = pin_key(pool->name, pool->is_head, i);
		RgFitNode *node = &shape->nodes[i];
		node->pin = json_object_get(nodes, key);
		node->is_kept = !node->pin && json_object_get(kept, key);
		if (node->is_kept)
			node->pin = json_object_get(kept, key);
	}
}

/* By the pool, and by the zones for which the provider's settings are given. */
static bool is_admitted(const RgShapes *shapes, const RgShape *shape, const char *zone)
{
	rg_json_foreach (map, shapes->zone_maps) {
		if (!json_object_get(map, zone))
			return false;
	}
	return rg_fit_admits_zone(shape, zone);
}

/* What the node was got as stays, while the spec admits it: the plan proposes no move back. */
static RgShape *node_shape(
	RgShapes *shapes, const RgCluster *cluster, RgShape *shape, unsigned index)
{
	const json_t *pin = shape->nodes[index].pin;
	const char *name = rg_json_str(pin, "instance_type", NULL);
	const RgInstanceType *type = name ? rg_catalog_find_type(shapes->catalog, name) : NULL;
	bool first = rg_pool_is_spot(shape->pool, index);
	bool is_spot = g_str_equal(rg_json_str(pin, "market", "on-demand"), "spot");
	RgShape *as = NULL;
	if (shape->nodes[index].is_kept && type && rg_fit_lacks(shapes, shape->pool, type))
		type = NULL;
	if (type && rg_fit_admits_market(shape->pool, index, is_spot) &&
		(!shapes->reoptimize || is_spot == first) &&
		rg_fit_keeps_type(shapes, cluster, shape, type))
		as = rg_fit_variant(shapes, shape, type, is_spot);
	if (!as)
		as = rg_fit_variant(shapes, shape, shape->type, first);
	return as;
}

/* The zone stays while the spec admits it, the image while it was chosen for the same wish. */
static void read_pins(RgShapes *shapes, const RgCluster *cluster, RgShape *shape)
{
	const RgPool *pool = shape->pool;
	bool is_open = false;
	for (unsigned i = 0; i < rg_fit_count(pool); i++) {
		RgFitNode *node = &shape->nodes[i];
		RgShape *as = node_shape(shapes, cluster, shape, i);
		const char *zone = rg_json_str(node->pin, "zone", NULL);
		const char *key = rg_json_str(node->pin, "image_key", "");
		node->as = as;
		node->same_type =
			g_str_equal(rg_json_str(node->pin, "instance_type", ""), as->type->name);
		if (zone && is_admitted(shapes, shape, zone))
			node->zone = zone;
		if (!shapes->renew_images && g_str_equal(key, as->image_key))
			node->image_id = rg_json_str(node->pin, "image_id", NULL);
		if (!as->pinned_image)
			as->pinned_image = node->image_id;
		if (!node->pin || node->is_kept)
			is_open = true;
		if (!node->zone || !node->same_type)
			shape->homeless++;
		if (node->zone) {
			void *zone_key = (void *)(uintptr_t)node->zone;
			guint n =
				GPOINTER_TO_UINT(g_hash_table_lookup(shape->nodes_in, node->zone));
			g_hash_table_insert(shape->nodes_in, zone_key, GUINT_TO_POINTER(n + 1));
		}
	}
	if (is_open)
		rg_fit_open(shapes, cluster, shape);
}

static void add_shape(RgShapes *shapes, const RgCluster *cluster, const RgPool *pool,
	const json_t *pins, RgDiags *diags)
{
	RgShape *shape = g_new0(RgShape, 1);
	g_ptr_array_add(shapes->shapes, shape);
	shape->pool = pool;
	shape->config = json_object_get(shapes->pool_settings, pool->name);
	shape->cpus = json_object_get(shapes->pool_cpus, pool->name);
	shape->labels = json_object_get(shapes->pool_labels, pool->name);
	shape->nodes_in = g_hash_table_new(g_str_hash, g_str_equal);
	shape->variants = g_ptr_array_new_with_free_func(free_shape);
	find_pins(shape, pins);
	if (!rg_fit_choose_type(shapes, cluster, shape, diags))
		return;
	if (!rg_fit_share(shapes, shape, diags)) {
		shape->type = NULL;
		return;
	}
	rg_fit_choose_images(shapes, shape);
	read_pins(shapes, cluster, shape);
	rg_fit_gather(shape);
}

static bool has_key(const json_t *list, const char *key)
{
	rg_json_foreach (item, list) {
		if (g_str_equal(rg_json_str(item, "key", ""), key))
			return true;
	}
	return false;
}

static void ask_image(json_t *images, const RgShape *shape, const json_t *known)
{
	const RgPool *pool = shape->pool;
	if (json_object_get(known, shape->image_key) || has_key(images, shape->image_key))
		return;
	g_autofree char *origin = rg_json_pointer_add(pool->origin, "image");
	json_array_append_new(
		images, json_pack("{s:s, s:s?, s:s, s:s, s:s}", "key", shape->image_key, "image",
				pool->image, "arch", shape->type->arch, "driver",
				rg_fit_takes_open_driver(shape->type) ? "open" : "proprietary",
				"origin", origin));
}

static bool knows_type(const RgShape *shape, const json_t *known)
{
	return json_object_get(json_object_get(known, "offerings"), shape->type->name) != NULL;
}

/* How many are free was known of another day. */
static bool knows_enough(const RgShape *shape, const json_t *known)
{
	return knows_type(shape, known) &&
	       !json_object_get(json_object_get(known, "stock"), shape->type->name);
}

static bool takes_stock(const RgShape *shape)
{
	for (unsigned i = 0; i < rg_fit_count(shape->pool); i++)
		if (rg_fit_is_open(&shape->nodes[i], shape->nodes[i].zone))
			return true;
	return false;
}

/* Whether a known zone is left for the pool's open nodes. If not, the cloud may have one by now:
 * someone extended the network as advised, or a zone now offers the type. For a type that was never
 * asked about, only an existing node proves it. */
static bool pins_suffice(const RgShape *shape, const json_t *known)
{
	const RgPool *pool = shape->pool;
	if (shape->homeless == 0)
		return true;
	if (!knows_type(shape, known) && shape->homeless == rg_fit_count(pool))
		return false;
	rg_json_foreach (name, json_object_get(known, "zones")) {
		const char *zone = json_string_value(name);
		if (rg_fit_admits_zone(shape, zone) && rg_fit_zone_works(known, shape->type, zone))
			return true;
	}
	return false;
}

/* Other types are asked about when a node may need them, so that apply can move on without a
 * question. */
static void ask_variants(json_t *images, const json_t *kept, json_t *types, const RgShape *shape,
	const json_t *known)
{
	rg_ptr_foreach (const RgShape, variant, shape->variants) {
		ask_image(images, variant, kept);
		if (shape->opened && !knows_enough(variant, known) &&
			!rg_json_has_text(types, variant->type->name))
			json_array_append_new(types, json_string(variant->type->name));
	}
}

/* NULL when the pins answer everything, so that a plan without changes asks nothing. */
static json_t *make_request(const RgShapes *shapes, const json_t *pins)
{
	const json_t *known = json_object_get(pins, "facts");
	json_auto_t *images = json_array(), *types = json_array(), *zones = json_array();
	bool place = !json_object_get(known, "zones") || shapes->moved, any_zone = false;
	rg_ptr_foreach (const RgShape, shape, shapes->shapes) {
		const char *type = shape->type->name;
		if (rg_fit_count(shape->pool) == 0)
			continue;
		const json_t *kept = shapes->renew_images ? NULL : json_object_get(known, "images");
		ask_image(images, shape, kept);
		ask_variants(images, kept, types, shape, known);
		bool enough = pins_suffice(shape, known);
		place |= !enough;
		if (shape->homeless == 0 && !takes_stock(shape) && !shapes->moved)
			continue;
		if ((!enough || !knows_enough(shape, known)) && !rg_json_has_text(types, type))
			json_array_append_new(types, json_string(type));
		any_zone |= !shape->pool->zones;
		for (size_t z = 0; !any_zone && shape->pool->zones[z]; z++) {
			if (!rg_json_has_text(zones, shape->pool->zones[z]))
				json_array_append_new(zones, json_string(shape->pool->zones[z]));
		}
	}
	if (any_zone)
		json_array_clear(zones);
	if (json_array_size(images) == 0 && json_array_size(types) == 0 && !place)
		return NULL;
	json_t *limits = json_object_size(shapes->pool_limits) ? shapes->pool_limits : NULL;
	return json_pack("{s:O, s:b, s:O, s:O, s:O*}", "images", images, "place", place,
		"instance_types", types, "zones", zones, "pools", limits);
}

/* The names of GPUs that workloads select. */
static bool check_models(const RgCluster *cluster, const RgCatalog *catalog, RgDiags *diags)
{
	bool good = true;
	rg_ptr_foreach (const RgWorkload, workload, cluster->workloads) {
		for (guint k = 0; workload->models && workload->models[k]; k++) {
			g_autofree char *pointer =
				g_strdup_printf("%s/accelerators/%u", workload->origin, k);
			good &= rg_catalog_check_accelerator(catalog, workload->models[k],
				rg_cluster_source(cluster, pointer), diags);
		}
	}
	return good;
}

static bool is_named(const RgCluster *cluster, const char *type)
{
	const RgPool *pool;
	for (guint i = 0; (pool = rg_cluster_pool(cluster, i)) != NULL; i++)
		if (g_strcmp0(pool->instance_type, type) == 0)
			return true;
	return false;
}

/* A price for a misspelled type would be ignored unnoticed. */
static void warn_of_prices(const RgCluster *cluster, const RgCatalog *catalog, RgDiags *diags)
{
	g_autoptr(GPtrArray) types = rg_catalog_get_undescribed(catalog);
	rg_ptr_foreach (const RgInstanceType, type, types) {
		const RgPrice *price = type->prices->pdata[0];
		if (is_named(cluster, type->name))
			continue;
		RgDiag *diag = rg_diags_warning(diags, "catalog.doubtful-row",
			"%s has a price for %s, which is not in the catalog, and no pool names it",
			price->own, type->name);
		rg_catalog_hint_type(catalog, type->name, diag);
	}
}

RgShapes *rg_fit_shapes(
	const RgCluster *cluster, const RgCatalog *catalog, const json_t *pins, RgDiags *diags)
{
	if (!rg_catalog_check_region(
		    catalog, cluster->provider.region, cluster->provider.region_source, diags))
		return NULL;
	g_autoptr(RgShapes) shapes = g_new0(RgShapes, 1);
	shapes->cluster = cluster;
	shapes->catalog = catalog;
	shapes->shapes = g_ptr_array_new_with_free_func(free_shape);
	shapes->settings = json_incref(json_object_get(pins, "settings"));
	shapes->zone_maps = json_incref(json_object_get(pins, "zone_maps"));
	shapes->pool_settings = json_incref(json_object_get(pins, "pool_settings"));
	shapes->pool_cpus = json_incref(json_object_get(pins, "pool_cpus"));
	shapes->pool_labels = json_incref(json_object_get(pins, "pool_labels"));
	shapes->pool_limits = json_incref(json_object_get(pins, "pool_limits"));
	shapes->lacking = json_incref(json_object_get(pins, "lacking"));
	shapes->image = json_incref(json_object_get(pins, "image"));
	shapes->reservations = json_incref(json_object_get(pins, "reservations"));
	shapes->reoptimize = json_is_true(json_object_get(pins, "reoptimize"));
	shapes->renew_images = json_is_true(json_object_get(pins, "renew_images"));
	shapes->types_later = json_is_true(json_object_get(pins, "types_later"));
	if (!(shapes->compat = rg_compat_open(diags)))
		return NULL;
	if (cluster->optimize != RG_OPTIMIZE_COST && !(shapes->carbon = rg_carbon_open(diags)))
		return NULL;
	const json_t *known = rg_json_at(pins, "/facts");
	const json_t *settings = json_object_get(known, "settings");
	shapes->moved = json_is_object(known) && shapes->settings != settings &&
			!json_equal(shapes->settings, settings);
	add_shape(shapes, cluster, cluster->head, pins, diags);
	for (guint i = 0; i < cluster->pools->len; i++)
		add_shape(shapes, cluster, cluster->pools->pdata[i], pins, diags);
	warn_of_prices(cluster, catalog, diags);
	bool good = check_models(cluster, catalog, diags);
	for (guint i = 0; i < shapes->shapes->len; i++)
		good &= ((RgShape *)shapes->shapes->pdata[i])->type != NULL;
	if (!good)
		return NULL;
	shapes->request = make_request(shapes, pins);
	return g_steal_pointer(&shapes);
}
