/* One entry of the document's `nodes`: what a node is bought as, and what it gets. */
#include <math.h>
#include "fit/internal.h"

static const json_t *image_facts(const json_t *facts, const RgShape *shape)
{
	return json_object_get(json_object_get(facts, "images"), shape->image_key);
}

bool rg_fit_check_image(const json_t *facts, const RgShape *shape, RgDiags *diags)
{
	const RgPool *pool = shape->pool;
	const json_t *image = image_facts(facts, shape);
	const char *arch = rg_json_str(image, "arch", shape->type->arch);
	if (!rg_json_str(image, "id", NULL)) {
		RgDiag *diag = rg_diags_error(diags, "fit.bad-facts",
			"the provider returned nothing about image \"%s\"", shape->image_key);
		rg_diag_at(diag, pool->image ? pool->image_source : pool->source);
		return false;
	}
	if (!g_str_equal(arch, shape->type->arch)) {
		RgDiag *diag = rg_diags_error(diags, "fit.image-arch",
			"image \"%s\" is for %s, and %s is an %s host",
			rg_json_str(image, "id", NULL), arch, shape->type->name, shape->type->arch);
		rg_diag_at(diag, pool->image ? pool->image_source : pool->shape_source);
		return false;
	}
	int64_t least = rg_json_int(image, "min_disk_gb", 0);
	if (pool->disk.size_gb > 0 && pool->disk.size_gb < least) {
		RgDiag *diag = rg_diags_error(diags, "fit.disk-too-small",
			"a disk of %" G_GINT64_FORMAT
			" GB is smaller than the image's %" G_GINT64_FORMAT " GB",
			pool->disk.size_gb, least);
		rg_diag_at(diag, pool->disk.source);
		rg_diag_hint(diag, "use %" G_GINT64_FORMAT " GB or more", least);
		return false;
	}
	return true;
}

const char *rg_fit_image_of(const json_t *facts, const RgShape *shape)
{
	return shape->pinned_image ? shape->pinned_image
				   : rg_json_str(image_facts(facts, shape), "id", "");
}

const char *rg_fit_zone_id(const json_t *facts, const char *zone)
{
	return zone ? rg_json_str(json_object_get(facts, "zone_ids"), zone, zone) : NULL;
}

void rg_fit_set_price(
	const RgCluster *cluster, const json_t *facts, const RgFitNode *node, RgFitGroup *group)
{
	const RgShape *shape = group->as;
	const json_t *pin = node ? node->pin : NULL;
	bool same_market =
		g_str_equal(rg_json_str(pin, "market", "on-demand"), rg_fit_market_word(shape)) &&
		g_strcmp0(rg_json_str(pin, "reservation", NULL), shape->pool->market.reservation) ==
			0;
	bool stays = node && node->same_type && same_market && node->zone && node->image_id;
	const json_t *pinned = json_object_get(pin, "price_microusd_hour");
	const RgPrice *price =
		shape->is_spot ? rg_fit_spot_price(shape->type, cluster->provider.region,
					 rg_fit_zone_id(facts, group->zone))
			       : rg_catalog_find_price(shape->type, cluster->provider.region);
	group->price = RG_MONEY_UNKNOWN;
	group->reason = shape->reason;
	if (stays && pinned && !(price && price->is_current)) {
		if (json_is_integer(pinned))
			group->price = json_integer_value(pinned);
		group->price_date = rg_json_str(pin, "price_date", NULL);
		group->price_quality = rg_json_str(pin, "price_quality", NULL);
		group->reason = rg_json_str(pin, "reason", NULL);
		return;
	}
	if (rg_json_bool(shape->reservation, "prepaid", false)) {
		group->price = 0;
		return;
	}
	if (price) {
		group->price = price->microusd_hour;
		group->price_date = price->date;
		group->price_quality = price->quality;
	}
}

/* 32, not 32.0: as people write sizes. */
static json_t *size_json(double value)
{
	json_int_t whole = (json_int_t)value;
	return (double)whole == value ? json_integer(whole) : json_real(value);
}

/* MiB as GiB with two decimals. */
static json_t *gib_json(unsigned mib)
{
	return size_json(round(mib / 1024.0 * 100) / 100);
}

static json_t *offer_json(const RgFitGroup *group)
{
	const RgShape *shape = group->as;
	const RgInstanceType *type = shape->type;
	const RgMarket *market = &shape->pool->market;
	const RgGpuModel *gpu = type->gpu;
	json_t *offer = json_object();
	json_object_set_new(offer, "instance_type", json_string(type->name));
	json_object_set_new(offer, "zone", json_string(group->zone));
	json_object_set_new(offer, "market", json_string(rg_fit_market_word(shape)));
	if (market->reservation)
		json_object_set_new(offer, "reservation", json_string(market->reservation));
	json_t *start = json_object_get(shape->reservation, "start_s");
	if (start && g_str_equal(rg_json_str(shape->reservation, "state", ""), "planned"))
		json_object_set(offer, "start_s", start);
	if (shape->is_spot && market->max_microusd > 0)
		json_object_set_new(
			offer, "max_price_microusd_hour", json_integer(market->max_microusd));
	rg_json_set_str(offer, "gpu", gpu ? gpu->ray_type : NULL);
	json_object_set_new(offer, "gpus", json_integer(type->gpus));
	json_object_set_new(
		offer, "gpu_memory_gib", gpu ? gib_json(type->gpu_memory_mib) : json_null());
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

static json_t *disk_json(const json_t *facts, const RgShape *shape)
{
	const RgDisk *disk = &shape->pool->disk;
	int64_t least = rg_json_int(image_facts(facts, shape), "min_disk_gb", 0);
	int64_t size = disk->size_gb > 0 ? disk->size_gb : MAX(RG_DISK_DEFAULT_GIB, least);
	json_t *json = json_pack("{s:I, s:s?}", "size_gb", (json_int_t)size, "type", disk->type);
	if (disk->iops)
		json_object_set_new(json, "iops", json_integer(disk->iops));
	if (disk->throughput_mib_s)
		json_object_set_new(json, "throughput_mib_s", json_integer(disk->throughput_mib_s));
	return json;
}

/* NULL without wishes. */
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

json_t *rg_fit_node(const RgCluster *cluster, const json_t *facts, const RgFitGroup *group)
{
	const RgShape *shape = group->as;
	const RgPool *pool = shape->pool;
	const char *root = rg_json_str(image_facts(facts, shape), "root_device", NULL);
	json_t *env = json_object();
	json_object_update(env, pool->env);
	json_t *network = network_json(pool, shape->type);
	json_t *image = json_pack("{s:s, s:s, s:s?}", "key", shape->image_key, "id",
		group->image_id, "root_device", root);
	bool numbered = !pool->is_head && !pool->is_elastic;
	json_t *document = json_pack(
		"{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o*, s:o, s:o, s:o, s:o*, s:o*, s:O*, s:O*}",
		"pool", pool->name, "role", pool->is_head ? "head" : "worker", "origin",
		pool->origin, "indexes", numbered ? json_incref(group->indexes) : json_null(),
		"offer", offer_json(group), "image", image, "disk", disk_json(facts, shape),
		"network", network, "labels", rg_fit_labels(cluster, shape, group->zone),
		"resources", rg_fit_resources(shape), "env", env, "share", rg_fit_share_json(shape),
		"health", health_json(pool, shape->type), "prepare", pool->prepare, "config",
		shape->config);
	if (pool->num_cpus >= 0)
		json_object_set_new(document, "num_cpus", json_integer(pool->num_cpus));
	if (pool->ray_start)
		json_object_set(document, "ray_start", pool->ray_start);
	if (pool->gang)
		json_object_set_new(document, "gang", json_true());
	if (pool->max_unavailable > 1 || pool->max_surge)
		json_object_set_new(document, "replace",
			pool->max_surge ? json_pack("{s:i}", "max_surge", (int)pool->max_surge)
					: json_pack("{s:i}", "max_unavailable",
						  (int)pool->max_unavailable));
	if (shape->ray_image)
		rg_json_set_str(document, "ray_image", shape->ray_image);
	if (pool->is_elastic)
		json_object_update_new(document, json_pack("{s:i, s:i}", "min", (int)pool->nodes,
							 "max", (int)pool->nodes_max));
	return document;
}
