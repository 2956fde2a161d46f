#include "aws/sim/images.h"
#include "aws/sim/describe.h"
#include "aws/sim/xml.h"

static json_t *image_new(const RgSimRegion *region, const json_t *seed)
{
	const char *name = rg_sim_doc_str(seed, "name");
	const char *owner = rg_sim_doc_str(seed, "owner");
	const char *alias = rg_sim_doc_str(seed, "alias");
	g_autofree char *id = rg_sim_world_fixed_id("ami-", region->name, name);
	g_autofree char *snapshot = rg_sim_world_fixed_id("snap-", region->name, name);
	g_autofree char *location = g_strconcat(*alias ? alias : owner, "/", name, NULL);
	const char *root =
		json_object_get(seed, "root") ? rg_sim_doc_str(seed, "root") : "/dev/sda1";
	json_t *disk = json_pack("{s:s, s:{s:b, s:i, s:s, s:O, s:s, s:i, s:b}}", "deviceName", root,
		"ebs", "deleteOnTermination", 1, "iops", 3000, "snapshotId", snapshot, "volumeSize",
		json_object_get(seed, "root_gb"), "volumeType", "gp3", "throughput", 125,
		"encrypted", 0);
	json_t *image =
		json_pack("{s:s, s:s, s:[o], s:s, s:b, s:s}", "platformDetails", "Linux/UNIX",
			"usageOperation", "RunInstances", "blockDeviceMapping", disk, "description",
			rg_sim_doc_str(seed, "description"), "enaSupport", 1, "hypervisor", "xen");
	if (*alias)
		json_object_set_new(image, "imageOwnerAlias", json_string(alias));
	json_auto_t *rest = json_pack(
		"{s:s, s:s, s:s, s:s, s:[], s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s}",
		"name", name, "rootDeviceName", root, "rootDeviceType", "ebs", "sriovNetSupport",
		"simple", "tagSet", "virtualizationType", "hvm", "bootMode", "uefi-preferred",
		"imdsSupport", "v2.0", "imageId", id, "imageLocation", location, "imageState",
		"available", "imageOwnerId", owner, "isPublic", 1, "creationDate",
		rg_sim_doc_str(seed, "created"), "architecture", rg_sim_doc_str(seed, "arch"));
	json_object_set_new(rest, "imageType", json_string("machine"));
	json_object_update(image, rest);
	return image;
}

void rg_sim_images_seed(RgSimWorld *world, RgSimRegion *region)
{
	size_t i;
	json_t *seed;
	json_array_foreach (world->data->images, i, seed)
		rg_sim_world_put(world, region, RG_SIM_IMAGE, image_new(region, seed));
}

/* Owner.N: an account, an alias, or "self". */
static bool owner_wanted(const RgSimCall *call, const json_t *image)
{
	g_autoptr(GPtrArray) owners = rg_sim_param_texts(call->params, "Owner");
	for (unsigned i = 0; i < owners->len; i++) {
		const char *owner = g_ptr_array_index(owners, i);
		if (g_str_equal(owner, "self"))
			owner = RG_SIM_ACCOUNT;
		if (g_str_equal(owner, rg_sim_doc_str(image, "imageOwnerId")) ||
			g_str_equal(owner, rg_sim_doc_str(image, "imageOwnerAlias")))
			return true;
	}
	return owners->len == 0;
}

bool rg_sim_describe_images(RgSimCall *call)
{
	static const RgSimFilterName filters[] = {{"name", "name"}, {"image-id", "imageId"},
		{"architecture", "architecture"}, {"state", "imageState"},
		{"owner-id", "imageOwnerId"}, {"owner-alias", "imageOwnerAlias"},
		{"root-device-type", "rootDeviceType"}, {"root-device-name", "rootDeviceName"},
		{"virtualization-type", "virtualizationType"}, {"is-public", "isPublic"},
		{"image-type", "imageType"}, {"hypervisor", "hypervisor"},
		{"description", "description"}, {"ena-support", "enaSupport"},
		{"creation-date", "creationDate"}, {"platform-details", "platformDetails"},
		{"boot-mode", "bootMode"},
		{"block-device-mapping.volume-type", "blockDeviceMapping.ebs.volumeType"},
		{NULL, NULL}};
	static const RgSimListing listing = {.set = "imagesSet",
		.kind = RG_SIM_IMAGE,
		.ids = "ImageId",
		.filters = filters,
		.min_results = 1,
		.max_results = 1000,
		.wanted = owner_wanted};
	return rg_sim_describe(call, &listing);
}
