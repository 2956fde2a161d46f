#include "aws/sim/launch.h"
#include "aws/sim/instances.h"
#include "aws/sim/launch_form.h"
#include "aws/sim/lifecycle.h"
#include "aws/sim/placement_group.h"
#include "aws/sim/spot.h"
#include "aws/sim/throttle.h"
#include "aws/sim/tokens.h"
#include "aws/sim/types.h"
#include "aws/sim/volumes.h"
#include "aws/sim/xml.h"

static json_t *metadata_options(const RgSimCall *call, const RgSimLaunch *launch)
{
	bool v2 = g_str_equal(rg_sim_doc_str(launch->image, "imdsSupport"), "v2.0");
	const char *tokens = rg_sim_param_str(call->params, "MetadataOptions.HttpTokens");
	const char *endpoint = rg_sim_param_str(call->params, "MetadataOptions.HttpEndpoint");
	const char *tags = rg_sim_param_str(call->params, "MetadataOptions.InstanceMetadataTags");
	gint64 hops = rg_sim_param_int(
		call->params, "MetadataOptions.HttpPutResponseHopLimit", v2 ? 2 : 1);
	return json_pack("{s:s, s:s, s:I, s:s, s:s, s:s}", "state", "applied", "httpTokens",
		tokens ? tokens
		: v2   ? "required"
		       : "optional",
		"httpPutResponseHopLimit", (json_int_t)hops, "httpEndpoint",
		endpoint ? endpoint : "enabled", "httpProtocolIpv6", "disabled",
		"instanceMetadataTags", tags ? tags : "disabled");
}

static void set_profile(const RgSimCall *call, json_t *instance)
{
	const char *name = rg_sim_param_str(call->params, "IamInstanceProfile.Name");
	const char *given = rg_sim_param_str(call->params, "IamInstanceProfile.Arn");
	if (!name && !given)
		return;
	g_autofree char *arn =
		given ? g_strdup(given)
		      : g_strconcat(
				"arn:aws:iam::" RG_SIM_ACCOUNT ":instance-profile/", name, NULL);
	g_autofree char *id = rg_sim_world_fixed_id("AIPA", "", arn);
	json_object_set_new(
		instance, "iamInstanceProfile", json_pack("{s:s, s:s}", "arn", arn, "id", id));
}

/* The part of an instance's document that all of a launch share, but for ids. */
static json_t *instance_new(
	const RgSimCall *call, const RgSimLaunch *launch, const char *id, gint64 index)
{
	g_autofree char *now = rg_sim_time_text(call->world->now_ms);
	const char *token = rg_sim_param_str(call->params, "ClientToken");
	json_t *instance = json_pack("{s:s, s:s, s:s, s:b, s:b, s:s, s:s}", "instanceId", id,
		"architecture", rg_sim_type_arch(launch->type_entry), "clientToken",
		token ? token : "", "ebsOptimized",
		rg_sim_param_bool(call->params, "EbsOptimized", false), "enaSupport", 1,
		"hypervisor", "xen", "imageId", rg_sim_doc_str(launch->image, "imageId"));
	json_auto_t *rest = json_pack("{s:s, s:s, s:s, s:b, s:s, s:I, s:[], s:s, s:s, s:{s:s, s:s, "
				      "s:s}, s:{s:s}, s:s, s:s}",
		"rootDeviceName", rg_sim_doc_str(launch->image, "rootDeviceName"), "rootDeviceType",
		"ebs", "platformDetails", "Linux/UNIX", "sourceDestCheck", 1, "reason", "",
		"amiLaunchIndex", (json_int_t)index, "productCodes", "instanceType", launch->type,
		"launchTime", now, "placement", "availabilityZone", launch->zone, "groupName", "",
		"tenancy", "default", "monitoring", "state",
		rg_sim_param_bool(call->params, "Monitoring.Enabled", false) ? "enabled"
									     : "disabled",
		"virtualizationType", "hvm", "usageOperation", "RunInstances");
	json_object_update(instance, rest);
	set_profile(call, instance);
	if (launch->placement) {
		json_t *placement = json_object_get(instance, "placement");
		json_object_set(
			placement, "groupName", json_object_get(launch->placement, "groupName"));
		json_object_set(
			placement, "groupId", json_object_get(launch->placement, "groupId"));
	}
	json_object_set_new(instance, "hibernationOptions", json_pack("{s:b}", "configured", 0));
	json_object_set_new(instance, "metadataOptions", metadata_options(call, launch));
	json_object_set(instance, "tagSet", launch->instance_tags);
	return instance;
}

static void set_own_members(
	RgSimCall *call, const RgSimLaunch *launch, json_t *instance, const char *reservation)
{
	const char *behaviour = rg_sim_param_str(call->params, "InstanceInitiatedShutdownBehavior");
	json_object_set_new(instance, "_reservationId", json_string(reservation));
	json_object_set_new(instance, "_ownerId", json_string(RG_SIM_ACCOUNT));
	json_object_set_new(
		instance, "_shutdownBehavior", json_string(behaviour ? behaviour : "stop"));
	json_object_set_new(instance, "_disableApiTermination",
		json_boolean(rg_sim_param_bool(call->params, "DisableApiTermination", false)));
	if (launch->user_data) {
		g_autofree char *digest = rg_sim_user_data_keep(call, launch->user_data);
		json_object_set_new(instance, "_userData", json_string(digest));
	}
}

static void add_interfaces(RgSimCall *call, const RgSimLaunch *launch, json_t *instance)
{
	json_t *ids = json_array();
	for (unsigned i = 0; i < launch->interfaces->len; i++) {
		const RgSimLaunchInterface *wanted =
			&g_array_index(launch->interfaces, RgSimLaunchInterface, i);
		RgSimAttachment attachment = wanted->attachment;
		attachment.instance_id = rg_sim_doc_str(instance, "instanceId");
		const char *id = wanted->existing;
		if (id)
			rg_sim_interface_attach(call, id, &attachment);
		else
			id = rg_sim_interface_add(call, &wanted->form, &attachment);
		/* The primary one leads the list, wherever the request put it. */
		bool primary = attachment.device == 0 && attachment.card == 0;
		json_array_insert_new(ids, primary ? 0 : json_array_size(ids), json_string(id));
	}
	json_object_set_new(instance, "_interfaces", ids);
	rg_sim_instance_show_interfaces(call->region, instance);
}

static void add_volumes(RgSimCall *call, const RgSimLaunch *launch, json_t *instance)
{
	json_t *mappings = json_array();
	const char *instance_id = rg_sim_doc_str(instance, "instanceId");
	size_t i;
	json_t *device;
	json_array_foreach (launch->devices, i, device) {
		const char *name = rg_sim_doc_str(device, "device");
		json_t *volume = rg_sim_volume_new(call, launch->zone, instance_id, name, device);
		json_object_set(volume, "tagSet", launch->volume_tags);
		json_array_append_new(mappings,
			json_pack("{s:s, s:{s:O, s:O, s:s, s:O}}", "deviceName", name, "ebs",
				"attachTime", json_object_get(volume, "createTime"),
				"deleteOnTermination", json_object_get(device, "delete"), "status",
				"attached", "volumeId", json_object_get(volume, "volumeId")));
		rg_sim_world_put(call->world, call->region, RG_SIM_VOLUME, volume);
	}
	json_object_set_new(instance, "blockDeviceMapping", mappings);
}

/* Makes the instances; the list of their ids. */
static json_t *carry_out(RgSimCall *call, const RgSimLaunch *launch)
{
	json_t *ids = json_array();
	g_autofree char *reservation = rg_sim_world_id(call->world, "r-");
	for (gint64 i = 0; i < launch->count; i++) {
		g_autofree char *id = rg_sim_world_id(call->world, "i-");
		json_t *instance = instance_new(call, launch, id, i);
		set_own_members(call, launch, instance, reservation);
		rg_sim_instance_set_state(instance, "pending");
		add_volumes(call, launch, instance);
		add_interfaces(call, launch, instance);
		if (launch->spot)
			rg_sim_spot_add(call, launch, instance);
		rg_sim_instance_plan(call->world, call->region, instance,
			call->world->now_ms + call->knobs->boot_ms, "running");
		rg_sim_world_put(call->world, call->region, RG_SIM_INSTANCE, instance);
		json_array_append_new(ids, json_string(id));
	}
	return ids;
}

static void answer(RgSimCall *call, const json_t *ids)
{
	const char *first = json_string_value(json_array_get(ids, 0));
	const json_t *head = rg_sim_world_find(call->region, RG_SIM_INSTANCE, first);
	rg_sim_xml_text(call->body, "reservationId", rg_sim_doc_str(head, "_reservationId"));
	rg_sim_xml_text(call->body, "ownerId", RG_SIM_ACCOUNT);
	rg_sim_xml_text(call->body, "groupSet", "");
	rg_sim_xml_open(call->body, "instancesSet");
	for (size_t i = 0; i < json_array_size(ids); i++) {
		const char *id = json_string_value(json_array_get(ids, i));
		rg_sim_xml_value(
			call->body, "item", rg_sim_world_find(call->region, RG_SIM_INSTANCE, id));
	}
	rg_sim_xml_close(call->body, "instancesSet");
}

/* A repeated request: what it made the first time, as it is now. One terminated instance is enough
 * to refuse; AWS documents the error for a single instance and is silent about batches. */
static bool answer_again(RgSimCall *call, const json_t *ids)
{
	for (size_t i = 0; i < json_array_size(ids); i++) {
		const json_t *instance = rg_sim_world_find(
			call->region, RG_SIM_INSTANCE, json_string_value(json_array_get(ids, i)));
		if (!instance || g_str_equal(rg_sim_instance_state(instance), "terminated"))
			return rg_sim_fail(call, 400, "IdempotentInstanceTerminated",
				"The client token you have provided is associated with a "
				"terminated "
				"instance. Please use a different client token.");
	}
	answer(call, ids);
	return true;
}

static bool launch_new(RgSimCall *call, RgSimLaunch *launch, const char *zone)
{
	if (!rg_sim_launch_read(call, launch) || !rg_sim_launch_place(call, launch) ||
		!rg_sim_placement_group_fits(call, launch) || !rg_sim_go(call) ||
		!rg_sim_throttle_instances(call, launch->count))
		return false;
	json_auto_t *ids = carry_out(call, launch);
	rg_sim_token_store(call, zone, ids, NULL);
	answer(call, ids);
	return true;
}

bool rg_sim_run_instances(RgSimCall *call)
{
	/* The token comes first: a repeated request names an interface that is in use by now. */
	const char *zone = rg_sim_launch_zone(call);
	const json_t *earlier = NULL;
	if (!zone || !rg_sim_token_check(call, zone, &earlier))
		return false;
	if (earlier)
		return rg_sim_go(call) && answer_again(call, json_object_get(earlier, "ids"));
	RgSimLaunch launch = {0};
	bool done = launch_new(call, &launch, zone);
	rg_sim_launch_clear(&launch);
	return done;
}
