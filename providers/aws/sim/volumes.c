#include "aws/sim/volumes.h"
#include "aws/sim/describe.h"

json_t *rg_sim_volume_new(RgSimCall *call, const char *zone, const char *instance_id,
	const char *device, const json_t *form)
{
	g_autofree char *id = rg_sim_world_id(call->world, "vol-");
	g_autofree char *now = rg_sim_time_text(call->world->now_ms);
	const char *type = rg_sim_doc_str(form, "type");
	json_t *volume = json_pack("{s:s, s:O, s:s, s:s, s:s, s:s}", "volumeId", id, "size",
		json_object_get(form, "size"), "snapshotId", rg_sim_doc_str(form, "snapshot"),
		"availabilityZone", zone, "status", "in-use", "createTime", now);
	json_t *attachment = json_pack("{s:s, s:s, s:s, s:s, s:s, s:O}", "volumeId", id,
		"instanceId", instance_id, "device", device, "status", "attached", "attachTime",
		now, "deleteOnTermination", json_object_get(form, "delete"));
	json_object_set_new(volume, "attachmentSet", json_pack("[o]", attachment));
	json_object_set_new(volume, "tagSet", json_array());
	json_object_set_new(volume, "volumeType", json_string(type));
	if (g_str_equal(type, "gp3")) {
		json_object_set_new(volume, "iops", json_integer(3000));
		json_object_set_new(volume, "throughput", json_integer(125));
	}
	json_object_set(volume, "encrypted", json_object_get(form, "encrypted"));
	json_object_set_new(volume, "multiAttachEnabled", json_false());
	return volume;
}

void rg_sim_volume_release(RgSimWorld *world, RgSimRegion *region, const char *volume_id)
{
	json_t *volume = rg_sim_world_edit(region, RG_SIM_VOLUME, volume_id);
	if (!volume)
		return;
	const json_t *attachment = json_array_get(json_object_get(volume, "attachmentSet"), 0);
	if (json_is_true(json_object_get(attachment, "deleteOnTermination"))) {
		json_decref(volume);
		rg_sim_world_remove(world, region, RG_SIM_VOLUME, volume_id);
		return;
	}
	json_object_set_new(volume, "attachmentSet", json_array());
	json_object_set_new(volume, "status", json_string("available"));
	rg_sim_world_put(world, region, RG_SIM_VOLUME, volume);
}

bool rg_sim_describe_volumes(RgSimCall *call)
{
	static const RgSimFilterName filters[] = {{"volume-id", "volumeId"}, {"status", "status"},
		{"size", "size"}, {"volume-type", "volumeType"},
		{"availability-zone", "availabilityZone"}, {"encrypted", "encrypted"},
		{"snapshot-id", "snapshotId"},
		{"attachment.instance-id", "attachmentSet.instanceId"},
		{"attachment.device", "attachmentSet.device"},
		{"attachment.status", "attachmentSet.status"},
		{"attachment.delete-on-termination", "attachmentSet.deleteOnTermination"},
		{NULL, NULL}};
	static const RgSimListing listing = {.set = "volumeSet",
		.kind = RG_SIM_VOLUME,
		.ids = "VolumeId",
		.filters = filters,
		.min_results = 5,
		.max_results = 1000};
	return rg_sim_describe(call, &listing);
}
