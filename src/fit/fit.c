#include "fit/fit.h"
#include <string.h>
#include "fit/internal.h"

/* Shared by all steps of one fitting. */
typedef struct {
	const RgCluster *cluster;
	const RgShapes *shapes;
	json_t *facts;
	RgDiags *diags;
} Fit;

/* Nodes of a pool that are equal in everything that the document contains. Borrowed texts. */
typedef struct {
	const char *zone, *image_id, *price_date, *price_quality, *reason;
	int64_t price;
	json_t *indexes;
} Group;

static const char *place_of(const RgCluster *cluster)
{
	return rg_place_name(cluster->provider.name, cluster->provider.region);
}

static void free_group(void *data)
{
	Group *group = data;
	json_decref(group->indexes);
	g_free(group);
}

static bool is_at_home(const Fit *fit, const RgShape *shape, const RgFitNode *node)
{
	if (!node->zone)
		return false;
	/* a user's own network may lack the zone in which the node was */
	if (node->same_type)
		return !fit->shapes->moved || rg_fit_has_zone(fit->facts, node->zone);
	return rg_fit_zone_works(fit->facts, shape->type, node->zone);
}

/* `chosen` NULL: all nodes have their zone. Nodes with a placement move together. */
static const char *zone_of(
	const Fit *fit, const RgShape *shape, const RgFitNode *node, const char *chosen)
{
	if (rg_fit_is_gathered(shape->pool) && chosen)
		return chosen;
	return is_at_home(fit, shape, node) ? node->zone : chosen;
}

/* Where the first pool with nodes is, or will be: Ray's head communicates with all of them. */
static const char *first_pool_zone(const Fit *fit, const char *const *chosen)
{
	for (guint i = 1; i < fit->shapes->shapes->len; i++) {
		const RgShape *shape = fit->shapes->shapes->pdata[i];
		if (rg_fit_count(shape->pool) == 0)
			continue;
		return zone_of(fit, shape, &shape->nodes[0], chosen[i]);
	}
	return NULL;
}

static bool has_homeless(const Fit *fit, const RgShape *shape)
{
	bool all_settled = shape->homeless == 0 && !fit->shapes->moved;
	for (unsigned i = 0; i < rg_fit_count(shape->pool) && !all_settled; i++) {
		if (!is_at_home(fit, shape, &shape->nodes[i]))
			return true;
	}
	return false;
}

/* Fills `chosen` with the zone of each shape's homeless nodes; the head's comes last, because it
 * follows the workers. */
static bool choose_zones(const Fit *fit, const char **chosen)
{
	const GPtrArray *shapes = fit->shapes->shapes;
	bool good = true;
	for (guint step = 1; step <= shapes->len; step++) {
		guint i = step % shapes->len;
		const RgShape *shape = shapes->pdata[i];
		if (!has_homeless(fit, shape))
			continue;
		const char *beside = i == 0 ? first_pool_zone(fit, chosen) : NULL;
		chosen[i] = rg_fit_choose_zone(
			fit->shapes, shape, fit->facts, beside, place_of(fit->cluster), fit->diags);
		good &= chosen[i] != NULL;
	}
	return good;
}

static const json_t *image_facts(const Fit *fit, const RgShape *shape)
{
	return json_object_get(json_object_get(fit->facts, "images"), shape->image_key);
}

static bool check_image(const Fit *fit, const RgShape *shape)
{
	const RgPool *pool = shape->pool;
	const json_t *image = image_facts(fit, shape);
	const char *arch = rg_json_str(image, "arch", shape->type->arch);
	if (!rg_json_str(image, "id", NULL)) {
		RgDiag *diag = rg_diags_error(fit->diags, "fit.bad-facts",
			"the provider returned nothing about image \"%s\"", shape->image_key);
		rg_diag_at(diag, pool->image ? pool->image_source : pool->source);
		return false;
	}
	if (!g_str_equal(arch, shape->type->arch)) {
		RgDiag *diag = rg_diags_error(fit->diags, "fit.image-arch",
			"image \"%s\" is for %s, and %s is an %s host",
			rg_json_str(image, "id", NULL), arch, shape->type->name, shape->type->arch);
		rg_diag_at(diag, pool->image ? pool->image_source : pool->shape_source);
		return false;
	}
	int64_t least = rg_json_int(image, "min_disk_gb", 0);
	if (pool->disk.size_gb > 0 && pool->disk.size_gb < least) {
		RgDiag *diag = rg_diags_error(fit->diags, "fit.disk-too-small",
			"a disk of %" G_GINT64_FORMAT
			" GB is smaller than the image's %" G_GINT64_FORMAT " GB",
			pool->disk.size_gb, least);
		rg_diag_at(diag, pool->disk.source);
		rg_diag_hint(diag, "use %" G_GINT64_FORMAT " GB or more", least);
		return false;
	}
	return true;
}

/* Pinned for nodes that do not change, today's for all others. */
static void set_price(const Fit *fit, const RgShape *shape, const RgFitNode *node, Group *group)
{
	const json_t *pin = node->pin;
	const RgMarket *market = &shape->pool->market;
	bool same_market =
		g_str_equal(rg_json_str(pin, "market", "on-demand"), rg_market_word(market));
	bool stays = node->same_type && same_market && node->zone && node->image_id;
	const json_t *pinned = json_object_get(pin, "price_microusd_hour");
	group->price = RG_MONEY_UNKNOWN;
	group->reason = shape->reason;
	if (stays && pinned) {
		if (json_is_integer(pinned))
			group->price = json_integer_value(pinned);
		group->price_date = rg_json_str(pin, "price_date", NULL);
		group->price_quality = rg_json_str(pin, "price_quality", NULL);
		group->reason = rg_json_str(pin, "reason", NULL);
		return;
	}
	const RgPrice *price =
		market->is_spot
			? rg_fit_spot_price(shape->type, fit->cluster->provider.region, group->zone)
			: rg_catalog_find_price(shape->type, fit->cluster->provider.region);
	if (price) {
		group->price = price->microusd_hour;
		group->price_date = price->date;
		group->price_quality = price->quality;
	}
}

static Group *find_group(const GPtrArray *groups, const Group *like)
{
	for (guint i = 0; i < groups->len; i++) {
		Group *group = groups->pdata[i];
		if (group->price == like->price && g_strcmp0(group->zone, like->zone) == 0 &&
			g_str_equal(group->image_id, like->image_id) &&
			g_strcmp0(group->price_date, like->price_date) == 0 &&
			g_strcmp0(group->price_quality, like->price_quality) == 0)
			return group;
	}
	return NULL;
}

static GPtrArray *make_groups(const Fit *fit, const RgShape *shape, const char *chosen)
{
	GPtrArray *groups = g_ptr_array_new_with_free_func(free_group);
	for (unsigned i = 0; i < rg_fit_count(shape->pool); i++) {
		Group like = {0};
		like.zone = zone_of(fit, shape, &shape->nodes[i], chosen);
		like.image_id =
			shape->nodes[i].image_id ? shape->nodes[i].image_id : shape->pinned_image;
		if (!like.image_id)
			like.image_id = rg_json_str(image_facts(fit, shape), "id", "");
		set_price(fit, shape, &shape->nodes[i], &like);
		Group *group = find_group(groups, &like);
		if (!group) {
			group = g_memdup2(&like, sizeof like);
			group->indexes = json_array();
			g_ptr_array_add(groups, group);
		}
		json_array_append_new(group->indexes, json_integer(i));
	}
	return groups;
}

/* 32, not 32.0: as people write sizes. */
static json_t *size_json(double value)
{
	json_int_t whole = (json_int_t)value;
	return (double)whole == value ? json_integer(whole) : json_real(value);
}

static json_t *offer_json(const RgShape *shape, const Group *group)
{
	const RgInstanceType *type = shape->type;
	const RgMarket *market = &shape->pool->market;
	const RgGpuModel *gpu = type->gpu;
	json_t *offer = json_object();
	json_object_set_new(offer, "instance_type", json_string(type->name));
	json_object_set_new(offer, "zone", json_string(group->zone));
	json_object_set_new(offer, "market", json_string(rg_market_word(market)));
	if (market->max_microusd > 0)
		json_object_set_new(
			offer, "max_price_microusd_hour", json_integer(market->max_microusd));
	rg_json_set_str(offer, "gpu", gpu ? gpu->ray_type : NULL);
	json_object_set_new(offer, "gpus", json_integer(type->gpus));
	json_object_set_new(
		offer, "gpu_memory_gib", gpu ? size_json(type->gpu_memory_gib) : json_null());
	json_object_set_new(offer, "vcpus", type->vcpus ? json_integer(type->vcpus) : json_null());
	json_object_set_new(offer, "memory_gib",
		type->memory_gib > 0 ? size_json(type->memory_gib) : json_null());
	json_object_set_new(offer, "price_microusd_hour",
		group->price != RG_MONEY_UNKNOWN ? json_integer(group->price) : json_null());
	rg_json_set_str(offer, "price_date", group->price_date);
	rg_json_set_str(offer, "price_quality", group->price_quality);
	if (group->reason)
		rg_json_set_str(offer, "reason", group->reason);
	return offer;
}

static json_t *disk_json(const Fit *fit, const RgShape *shape)
{
	const RgDisk *disk = &shape->pool->disk;
	int64_t least = rg_json_int(image_facts(fit, shape), "min_disk_gb", 0);
	int64_t size = disk->size_gb > 0 ? disk->size_gb : MAX(RG_DISK_DEFAULT_GIB, least);
	json_t *json = json_pack("{s:I, s:s?}", "size_gb", (json_int_t)size, "type", disk->type);
	if (disk->iops)
		json_object_set_new(json, "iops", json_integer(disk->iops));
	if (disk->throughput_mib_s)
		json_object_set_new(json, "throughput_mib_s", json_integer(disk->throughput_mib_s));
	return json;
}

/* NULL without requirements. */
static json_t *network_json(const RgPool *pool, const RgInstanceType *type)
{
	if (!pool->public_ip && !pool->placement && !pool->rdma)
		return NULL;
	json_t *network = json_object();
	if (pool->public_ip)
		json_object_set_new(network, "public_ip", json_true());
	if (pool->placement)
		json_object_set_new(network, "placement", json_string("cluster"));
	if (pool->rdma)
		json_object_set_new(network, "rdma", json_integer(type->rdma_adapters));
	return network;
}

/* NULL: no gate. */
static json_t *health_json(const RgPool *pool, const RgInstanceType *type)
{
	if (!pool->gate || !type->gpu || type->gpus == 0)
		return NULL;
	json_t *health = json_object();
	if (pool->diag)
		json_object_set_new(health, "diag", json_integer(pool->diag));
	/* slices do not use it */
	if (type->gpus > 1 && type->gpu->nvlink_gb_s > 0 && !pool->share.mig)
		json_object_set_new(health, "nvlink", json_true());
	return health;
}

static json_t *node_json(const Fit *fit, const RgShape *shape, const Group *group)
{
	const RgPool *pool = shape->pool;
	const char *root = rg_json_str(image_facts(fit, shape), "root_device", NULL);
	json_t *env = json_object();
	json_object_update(env, pool->env);
	json_t *network = network_json(pool, shape->type);
	json_t *image = json_pack("{s:s, s:s, s:s?}", "key", shape->image_key, "id",
		group->image_id, "root_device", root);
	bool numbered = !pool->is_head && !pool->is_elastic;
	json_t *document = json_pack(
		"{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o*, s:o, s:o, s:o, s:o*, s:o*}", "pool",
		pool->name, "role", pool->is_head ? "head" : "worker", "origin", pool->origin,
		"indexes", numbered ? json_incref(group->indexes) : json_null(), "offer",
		offer_json(shape, group), "image", image, "disk", disk_json(fit, shape), "network",
		network, "labels", rg_fit_labels(fit->cluster, shape, group->zone), "resources",
		rg_fit_resources(shape), "env", env, "share", rg_fit_share_json(shape), "health",
		health_json(pool, shape->type));
	if (pool->is_elastic)
		json_object_update_new(document, json_pack("{s:i, s:i}", "min", (int)pool->nodes,
							 "max", (int)pool->nodes_max));
	return document;
}

/* Spot prices change: only the cloud knows whether it sells at the limit now. */
static void warn_above_limit(const Fit *fit, const RgShape *shape, const Group *group)
{
	const RgMarket *market = &shape->pool->market;
	g_autofree char *limit = rg_money_exact(market->max_microusd);
	g_autofree char *price = rg_money_exact(group->price);
	RgDiag *diag = rg_diags_warning(fit->diags, "fit.above-max-price",
		"max_price is %s USD per hour, and %s cost %s on spot at the last known price (%s)",
		limit, shape->type->name, price, group->price_date ? group->price_date : "?");
	rg_diag_at(diag, market->source);
	rg_diag_detail(diag, "the cloud creates no node below its current price");
	rg_diag_hint(diag, "raise max_price, or remove it to pay up to the on-demand price");
}

static void add_nodes(const Fit *fit, const RgShape *shape, const char *chosen, json_t *nodes)
{
	g_autoptr(GPtrArray) groups = make_groups(fit, shape, chosen);
	const Group *dear = NULL;
	bool unpriced = false;
	for (guint i = 0; i < groups->len; i++) {
		const Group *group = groups->pdata[i];
		json_array_append_new(nodes, node_json(fit, shape, group));
		unpriced |= group->price == RG_MONEY_UNKNOWN;
		if (group->price != RG_MONEY_UNKNOWN && shape->pool->market.max_microusd > 0 &&
			group->price > shape->pool->market.max_microusd)
			dear = group;
	}
	if (dear)
		warn_above_limit(fit, shape, dear);
	if (unpriced) {
		RgDiag *diag = rg_diags_warning(fit->diags, "catalog.no-price",
			"no %sprice is known for %s in %s",
			shape->pool->market.is_spot ? "spot " : "", shape->type->name,
			place_of(fit->cluster));
		rg_diag_at(diag, shape->pool->shape_source);
		rg_diag_detail(diag, "sums do not include the cost of these nodes");
	}
}

static json_t *document(const Fit *fit, const char *lineage, json_t *nodes)
{
	const RgCluster *cluster = fit->cluster;
	json_t *config = json_object(), *labels = json_object();
	json_object_update(config, cluster->provider.config);
	json_object_update(labels, cluster->labels);
	json_t *scope = json_pack("{s:s, s:s, s:o}", "provider", cluster->provider.name, "region",
		cluster->provider.region, "config", config);
	return json_pack("{s:i, s:s, s:s?, s:o, s:o, s:O, s:o, s:O}", "format", 1, "cluster",
		cluster->name, "lineage", lineage, "scope", scope, "labels", labels, "facts",
		fit->facts, "ray",
		json_pack("{s:s, s:s?, s:s, s:s}", "version", cluster->ray.version, "python",
			cluster->ray.python, "image", cluster->ray.image, "auth",
			cluster->ray.auth_token ? "token" : "none"),
		"nodes", nodes);
}

json_t *rg_fit(const RgCluster *cluster, const RgShapes *shapes, const json_t *facts,
	const json_t *pins, const char *lineage, RgDiags *diags)
{
	json_auto_t *merged = rg_fit_merge_facts(shapes, facts, pins);
	json_auto_t *nodes = json_array();
	Fit fit = {cluster, shapes, merged, diags};
	const GPtrArray *all = shapes->shapes;
	g_autofree const char **chosen = g_new0(const char *, all->len);
	if (!json_is_array(json_object_get(merged, "zones"))) {
		RgDiag *diag = rg_diags_error(diags, "fit.bad-facts",
			"the provider did not report which zones can be used");
		rg_diag_at(diag, cluster->provider.source);
		return NULL;
	}
	bool good = true;
	for (guint i = 0; i < all->len; i++) {
		const RgShape *shape = all->pdata[i];
		good &= rg_fit_count(shape->pool) == 0 || check_image(&fit, shape);
	}
	good &= choose_zones(&fit, chosen);
	if (!good)
		return NULL;
	for (guint i = 0; i < all->len; i++)
		add_nodes(&fit, all->pdata[i], chosen[i], nodes);
	return document(&fit, lineage, nodes);
}
