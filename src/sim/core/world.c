#include "sim/core/world.h"
#include <string.h>
#include "aws/sim/images.h"
#include "aws/sim/lifecycle.h"
#include "aws/sim/network.h"

const RgSimKindInfo rg_sim_kinds[RG_SIM_KINDS] = {
	[RG_SIM_INSTANCE] = {"instances", "instanceId", "i-", "instance",
		"InvalidInstanceID.NotFound", "The instance ID '%s' does not exist",
		"InvalidInstanceID.Malformed"},
	[RG_SIM_INTERFACE] = {"network_interfaces", "networkInterfaceId", "eni-",
		"network-interface", "InvalidNetworkInterfaceID.NotFound",
		"The networkInterface ID '%s' does not exist",
		"InvalidNetworkInterfaceId.Malformed"},
	[RG_SIM_VOLUME] = {"volumes", "volumeId", "vol-", "volume", "InvalidVolume.NotFound",
		"The volume '%s' does not exist.", "InvalidVolumeID.Malformed"},
	[RG_SIM_GROUP] = {"security_groups", "groupId", "sg-", "security-group",
		"InvalidGroup.NotFound", "The security group '%s' does not exist",
		"InvalidGroupId.Malformed"},
	[RG_SIM_VPC] = {"vpcs", "vpcId", "vpc-", "vpc", "InvalidVpcID.NotFound",
		"The vpc ID '%s' does not exist", "InvalidVpcID.Malformed"},
	[RG_SIM_SUBNET] = {"subnets", "subnetId", "subnet-", "subnet", "InvalidSubnetID.NotFound",
		"The subnet ID '%s' does not exist", "InvalidSubnetID.Malformed"},
	[RG_SIM_IMAGE] = {"images", "imageId", "ami-", "image", "InvalidAMIID.NotFound",
		"The image id '[%s]' does not exist", "InvalidAMIID.Malformed"},
	[RG_SIM_PLACEMENT] = {"placement_groups", "groupId", "pg-", "placement-group",
		"InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.",
		"InvalidPlacementGroupId.Malformed"},
	[RG_SIM_SPOT] = {"spot_requests", "spotInstanceRequestId", "sir-", "spot-instances-request",
		"InvalidSpotInstanceRequestID.NotFound",
		"The spot instance request ID '%s' does not exist",
		"InvalidSpotInstanceRequestID.Malformed"},
	[RG_SIM_TOKEN] = {"client_tokens", "key", NULL, NULL, NULL, NULL, NULL},
	[RG_SIM_USER_DATA] = {"user_data", "digest", NULL, NULL, NULL, NULL, NULL},
};

static void region_free(void *data)
{
	RgSimRegion *region = data;
	for (int kind = 0; kind < RG_SIM_KINDS; kind++)
		rg_sim_table_free(region->tables[kind]);
	g_hash_table_unref(region->addresses);
	g_hash_table_unref(region->next_host);
	g_free(region->name);
	g_free(region);
}

RgSimWorld *rg_sim_world_new(const RgSimData *data, guint64 seed)
{
	RgSimWorld *world = g_new0(RgSimWorld, 1);
	world->data = data;
	world->seed = seed;
	world->regions = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, region_free);
	world->due = rg_sim_lifecycle_queue_new();
	rg_sim_world_enter(world, 0);
	return world;
}

void rg_sim_world_free(RgSimWorld *world)
{
	if (!world)
		return;
	g_sequence_free(world->due);
	g_hash_table_unref(world->regions);
	g_free(world);
}

void rg_sim_world_enter(RgSimWorld *world, gint64 consistency_ms)
{
	world->now_ms = MAX(world->now_ms, g_get_real_time() / 1000);
	world->keep_since_ms = world->now_ms - consistency_ms;
	GHashTableIter iter;
	void *region;
	g_hash_table_iter_init(&iter, world->regions);
	while (g_hash_table_iter_next(&iter, NULL, &region)) {
		for (int kind = 0; kind < RG_SIM_KINDS; kind++)
			rg_sim_table_purge(
				((RgSimRegion *)region)->tables[kind], world->keep_since_ms);
	}
}

RgSimRegion *rg_sim_world_region_bare(RgSimWorld *world, const char *name)
{
	RgSimRegion *region = g_hash_table_lookup(world->regions, name);
	if (region)
		return region;
	const json_t *entry = rg_sim_data_region(world->data, name);
	if (!entry)
		return NULL;
	region = g_new0(RgSimRegion, 1);
	region->name = g_strdup(name);
	region->entry = entry;
	region->addresses = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	region->next_host = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (int kind = 0; kind < RG_SIM_KINDS; kind++)
		region->tables[kind] = rg_sim_table_new();
	g_hash_table_insert(world->regions, region->name, region);
	return region;
}

RgSimRegion *rg_sim_world_region(RgSimWorld *world, const char *name)
{
	RgSimRegion *region = rg_sim_world_region_bare(world, name);
	if (!region || region->tables[RG_SIM_VPC]->order->len)
		return region;
	/* What every account has from the start was there long before any reader's delay. */
	gint64 now_ms = world->now_ms;
	world->now_ms = 0;
	rg_sim_network_seed(world, region);
	rg_sim_images_seed(world, region);
	world->now_ms = now_ms;
	return region;
}

static char *make_id(const char *prefix, const char *text)
{
	g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
	return g_strdup_printf("%s%.17s", prefix, digest);
}

char *rg_sim_world_id(RgSimWorld *world, const char *prefix)
{
	g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT "/%s%" G_GUINT64_FORMAT,
		world->seed, prefix, ++world->counter);
	return make_id(prefix, text);
}

char *rg_sim_world_fixed_id(const char *prefix, const char *region, const char *word)
{
	g_autofree char *text = g_strconcat(prefix, region, "/", word, NULL);
	return make_id(prefix, text);
}

json_t *rg_sim_world_find(const RgSimRegion *region, RgSimKind kind, const char *id)
{
	return rg_sim_table_find(region->tables[kind], id);
}

void rg_sim_world_put(RgSimWorld *world, RgSimRegion *region, RgSimKind kind, json_t *doc)
{
	const char *id = rg_sim_doc_str(doc, rg_sim_kinds[kind].id_member);
	rg_sim_table_put(region->tables[kind], id, doc, world->now_ms, world->keep_since_ms);
	world->changes++;
}

void rg_sim_world_remove(RgSimWorld *world, RgSimRegion *region, RgSimKind kind, const char *id)
{
	rg_sim_table_remove(region->tables[kind], id, world->now_ms);
	world->changes++;
}

json_t *rg_sim_world_edit(const RgSimRegion *region, RgSimKind kind, const char *id)
{
	return json_copy(rg_sim_world_find(region, kind, id));
}

GPtrArray *rg_sim_world_all(const RgSimRegion *region, RgSimKind kind)
{
	GPtrArray *out = g_ptr_array_new();
	const RgSimTable *table = region->tables[kind];
	for (unsigned i = 0; i < table->order->len; i++) {
		const RgSimItem *item = g_ptr_array_index(table->order, i);
		json_t *doc = rg_sim_item_view(item, G_MAXINT64);
		if (doc)
			g_ptr_array_add(out, doc);
	}
	return out;
}

RgSimKind rg_sim_kind_of(const char *id)
{
	int kind = 0;
	while (kind < RG_SIM_RESOURCES && !g_str_has_prefix(id, rg_sim_kinds[kind].prefix))
		kind++;
	return kind < RG_SIM_RESOURCES ? (RgSimKind)kind : RG_SIM_KINDS;
}

bool rg_sim_kind_is_id(RgSimKind kind, const char *id)
{
	const char *prefix = rg_sim_kinds[kind].prefix;
	if (!g_str_has_prefix(id, prefix))
		return false;
	const char *digits = id + strlen(prefix);
	size_t length = strlen(digits);
	return (length == 8 || length == 17) && strspn(digits, "0123456789abcdef") == length;
}

char *rg_sim_time_text(gint64 unix_ms)
{
	g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc(unix_ms / 1000);
	return g_date_time_format(when, "%Y-%m-%dT%H:%M:%S.000Z");
}

const char *rg_sim_doc_str(const json_t *doc, const char *member)
{
	const char *text = json_string_value(json_object_get(doc, member));
	return text ? text : "";
}
