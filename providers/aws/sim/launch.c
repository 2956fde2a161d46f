#include "aws/sim/describe.h"
#include "aws/sim/launch.h"

static json_t *metadata_options(const RgSimCall *call, const Ec2Launch *launch)
{
	bool v2 = g_str_equal(doc_str(launch->image, "imdsSupport"), "v2.0");
	const char *tokens = call_str(call, "MetadataOptions.HttpTokens");
	const char *endpoint = call_str(call, "MetadataOptions.HttpEndpoint");
	const char *tags = call_str(call, "MetadataOptions.InstanceMetadataTags");
	gint64 hops = call_int(call, "MetadataOptions.HttpPutResponseHopLimit", v2 ? 2 : 1);
	return json_pack("{s:s, s:s, s:I, s:s, s:s, s:s}", "state", "applied", "httpTokens",
		tokens ? tokens
		: v2   ? "required"
		       : "optional",
		"httpPutResponseHopLimit", (json_int_t)hops, "httpEndpoint",
		endpoint ? endpoint : "enabled", "httpProtocolIpv6", "disabled",
		"instanceMetadataTags", tags ? tags : "disabled");
}

/* Types whose entry names no cores have two threads on each. */
static gint64 type_threads(const json_t *type)
{
	gint64 threads = doc_int(json_object_get(type, "vCpuInfo"), "defaultThreadsPerCore");
	return threads ? threads : 2;
}

static json_t *cpu_options(const RgSimCall *call, const json_t *type)
{
	gint64 threads = type_threads(type);
	return json_pack("{s:I, s:I}", "coreCount",
		(json_int_t)call_int(call, "CpuOptions.CoreCount", ec2_type_vcpus(type) / threads),
		"threadsPerCore", (json_int_t)call_int(call, "CpuOptions.ThreadsPerCore", threads));
}

/* Both or none; what the type has at most; not of bare metal (EC2 user guide, "Rules for specifying
 * CPU options"). */
static bool check_cpu_options(RgSimCall *call, const json_t *type)
{
	gint64 most = type_threads(type), cores = ec2_type_vcpus(type) / most;
	gint64 threads = call_int(call, "CpuOptions.ThreadsPerCore", 0);
	gint64 count = call_int(call, "CpuOptions.CoreCount", 0);
	if (call_has(call, "CpuOptions.CoreCount") != call_has(call, "CpuOptions.ThreadsPerCore"))
		return ec2_fail_missing(
			call, threads ? "CpuOptions.CoreCount" : "CpuOptions.ThreadsPerCore");
	if (call_has(call, "CpuOptions.CoreCount") &&
		json_is_true(json_object_get(type, "bareMetal")))
		return rg_sim_fail(call, 400, "UnsupportedOperation",
			"The %s instance type does not support specifying CpuOptions.",
			doc_str(type, "instanceType"));
	if (!call_has(call, "CpuOptions.CoreCount") ||
		(threads >= 1 && threads <= most && count >= 1 && count <= cores))
		return true;
	return rg_sim_fail(call, 400, "InvalidParameterValue",
		"%" G_GINT64_FORMAT " cores with %" G_GINT64_FORMAT
		" threads are not valid CPU options of %s.",
		count, threads, doc_str(type, "instanceType"));
}

static void set_profile(const RgSimCall *call, json_t *instance)
{
	const char *name = call_str(call, "IamInstanceProfile.Name");
	const char *given = call_str(call, "IamInstanceProfile.Arn");
	if (!name && !given)
		return;
	g_autofree char *arn =
		given ? g_strdup(given)
		      : g_strconcat("arn:aws:iam::" EC2_ACCOUNT ":instance-profile/", name, NULL);
	g_autofree char *id = rg_sim_fixed_id("AIPA", "", arn);
	json_object_set_new(
		instance, "iamInstanceProfile", json_pack("{s:s, s:s}", "arn", arn, "id", id));
}

/* The part of an instance's document that all instances of a launch share, except for ids. */
static json_t *instance_new(
	const RgSimCall *call, const Ec2Launch *launch, const char *id, gint64 index)
{
	g_autofree char *now = ec2_time_text(call->sim->now_ms);
	const char *token = call_str(call, "ClientToken");
	json_t *instance = json_pack("{s:s, s:s, s:s, s:b, s:b, s:s, s:s}", "instanceId", id,
		"architecture", ec2_type_arch(launch->type_entry), "clientToken",
		token ? token : "", "ebsOptimized", call_bool(call, "EbsOptimized", false),
		"enaSupport", 1, "hypervisor", "xen", "imageId", doc_str(launch->image, "imageId"));
	json_auto_t *rest = json_pack("{s:s, s:s, s:s, s:b, s:s, s:I, s:[], s:s, s:s, s:{s:s, s:s, "
				      "s:s}, s:{s:s}, s:s, s:s}",
		"rootDeviceName", doc_str(launch->image, "rootDeviceName"), "rootDeviceType", "ebs",
		"platformDetails", "Linux/UNIX", "sourceDestCheck", 1, "reason", "",
		"amiLaunchIndex", (json_int_t)index, "productCodes", "instanceType", launch->type,
		"launchTime", now, "placement", "availabilityZone", launch->zone, "groupName", "",
		"tenancy", "default", "monitoring", "state",
		call_bool(call, "Monitoring.Enabled", false) ? "enabled" : "disabled",
		"virtualizationType", "hvm", "usageOperation", "RunInstances");
	json_object_update(instance, rest);
	json_object_set_new(instance, "cpuOptions", cpu_options(call, launch->type_entry));
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

/* Stores a text (base64) once, however many instances have it; its digest, g_free it. */
static char *keep_user_data(RgSimCall *call, const char *text)
{
	char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
	if (!rg_sim_find(call->place, EC2_USER_DATA, digest))
		rg_sim_put(call->place, EC2_USER_DATA,
			json_pack("{s:s, s:s}", "digest", digest, "data", text));
	return digest;
}

static void set_own_members(
	RgSimCall *call, const Ec2Launch *launch, json_t *instance, const char *reservation)
{
	const char *behaviour = call_str(call, "InstanceInitiatedShutdownBehavior");
	if (call_has(call, "KeyName"))
		json_object_set_new(instance, "keyName", json_string(call_str(call, "KeyName")));
	json_object_set_new(instance, "_reservationId", json_string(reservation));
	json_object_set_new(instance, "_ownerId", json_string(EC2_ACCOUNT));
	ec2_health_at_launch(call, instance);
	json_object_set_new(
		instance, "_shutdownBehavior", json_string(behaviour ? behaviour : "stop"));
	json_object_set_new(instance, "_disableApiTermination",
		json_boolean(call_bool(call, "DisableApiTermination", false)));
	if (launch->user_data) {
		g_autofree char *digest = keep_user_data(call, launch->user_data);
		json_object_set_new(instance, "_userData", json_string(digest));
		json_object_set_new(instance, "_watchesLease", json_boolean(launch->watches_lease));
	}
}

static void add_interfaces(RgSimCall *call, const Ec2Launch *launch, json_t *instance)
{
	json_t *ids = json_array();
	for (unsigned i = 0; i < launch->interfaces->len; i++) {
		const Ec2LaunchInterface *wanted =
			&g_array_index(launch->interfaces, Ec2LaunchInterface, i);
		Ec2Attachment attachment = wanted->attachment;
		attachment.instance_id = doc_str(instance, "instanceId");
		const char *id = wanted->existing;
		if (id)
			ec2_interface_attach(call, id, &attachment);
		else
			id = ec2_interface_add(call, &wanted->form, &attachment);
		/* The primary one comes first in the list, wherever the request put it. */
		bool primary = attachment.device == 0 && attachment.card == 0;
		json_array_insert_new(ids, primary ? 0 : json_array_size(ids), json_string(id));
	}
	json_object_set_new(instance, "_interfaces", ids);
	ec2_instance_show_interfaces(call->place, instance);
}

/* An attached volume's document for one block device of a launch; not yet stored. `form` is the
 * requested {size, type, encrypted, delete, snapshot?}. */
static json_t *volume_new(RgSimCall *call, const char *zone, const char *instance_id,
	const char *device, const json_t *form)
{
	g_autofree char *id = rg_sim_id(call->sim, "vol-");
	g_autofree char *now = ec2_time_text(call->sim->now_ms);
	const char *type = doc_str(form, "type");
	json_t *volume = json_pack("{s:s, s:O, s:s, s:s, s:s, s:s}", "volumeId", id, "size",
		json_object_get(form, "size"), "snapshotId", doc_str(form, "snapshot"),
		"availabilityZone", zone, "status", "in-use", "createTime", now);
	json_t *attachment = json_pack("{s:s, s:s, s:s, s:s, s:s, s:O}", "volumeId", id,
		"instanceId", instance_id, "device", device, "status", "attached", "attachTime",
		now, "deleteOnTermination", json_object_get(form, "delete"));
	json_object_set_new(volume, "attachmentSet", json_pack("[o]", attachment));
	json_object_set_new(volume, "tagSet", json_array());
	json_object_set_new(volume, "volumeType", json_string(type));
	if (g_str_equal(type, "gp3"))
		json_object_update_new(
			volume, json_pack("{s:i, s:i}", "iops", 3000, "throughput", 125));
	json_auto_t *chosen = json_pack("{s:O*, s:O*}", "iops", json_object_get(form, "iops"),
		"throughput", json_object_get(form, "throughput"));
	json_object_update(volume, chosen);
	json_object_set(volume, "encrypted", json_object_get(form, "encrypted"));
	json_object_set_new(volume, "multiAttachEnabled", json_false());
	return volume;
}

static void add_volumes(RgSimCall *call, const Ec2Launch *launch, json_t *instance)
{
	json_t *mappings = json_array();
	const char *instance_id = doc_str(instance, "instanceId");
	rg_json_foreach (device, launch->devices) {
		const char *name = doc_str(device, "device");
		json_t *volume = volume_new(call, launch->zone, instance_id, name, device);
		json_object_set(volume, "tagSet", launch->volume_tags);
		json_array_append_new(mappings,
			json_pack("{s:s, s:{s:O, s:O, s:s, s:O}}", "deviceName", name, "ebs",
				"attachTime", json_object_get(volume, "createTime"),
				"deleteOnTermination", json_object_get(device, "delete"), "status",
				"attached", "volumeId", json_object_get(volume, "volumeId")));
		rg_sim_put(call->place, EC2_VOLUME, volume);
	}
	json_object_set_new(instance, "blockDeviceMapping", mappings);
}

/* Creates the instances; returns the list of their ids. */
static json_t *launch_carry_out(RgSimCall *call, const Ec2Launch *launch)
{
	json_t *ids = json_array();
	g_autofree char *reservation = rg_sim_id(call->sim, "r-");
	for (gint64 i = 0; i < launch->count; i++) {
		g_autofree char *id = rg_sim_id(call->sim, "i-");
		json_t *instance = instance_new(call, launch, id, i);
		set_own_members(call, launch, instance, reservation);
		ec2_instance_set_state(instance, "pending");
		add_volumes(call, launch, instance);
		add_interfaces(call, launch, instance);
		ec2_reservation_give(call->place, launch, instance);
		if (launch->spot)
			ec2_spot_add(call, launch, instance);
		ec2_instance_plan(call->place, instance,
			call->sim->now_ms + doc_int(call->sim->knobs, "boot_ms"), "running");
		rg_sim_put(call->place, EC2_INSTANCE, instance);
		json_array_append_new(ids, json_string(id));
	}
	return ids;
}

static void launch_answer(RgSimCall *call, const json_t *ids)
{
	const char *first = json_string_value(json_array_get(ids, 0));
	const json_t *head = rg_sim_find(call->place, EC2_INSTANCE, first);
	ec2_xml_text(call->body, "reservationId", doc_str(head, "_reservationId"));
	ec2_xml_text(call->body, "ownerId", EC2_ACCOUNT);
	ec2_xml_text(call->body, "groupSet", "");
	ec2_xml_open(call->body, "instancesSet");
	for (size_t i = 0; i < json_array_size(ids); i++) {
		const char *id = json_string_value(json_array_get(ids, i));
		ec2_xml_value(call->body, "item", rg_sim_find(call->place, EC2_INSTANCE, id));
	}
	ec2_xml_close(call->body, "instancesSet");
}

/* A repeated request: what it created the first time, in its current state. One terminated instance
 * is enough to refuse; AWS documents the error for a single instance and does not mention
 * batches. */
static bool launch_answer_again(RgSimCall *call, const json_t *ids)
{
	for (size_t i = 0; i < json_array_size(ids); i++) {
		const json_t *instance = rg_sim_find(
			call->place, EC2_INSTANCE, json_string_value(json_array_get(ids, i)));
		if (!instance || g_str_equal(ec2_instance_state(instance), "terminated"))
			return rg_sim_fail(call, 400, "IdempotentInstanceTerminated",
				"The client token you have provided is associated with a "
				"terminated "
				"instance. Please use a different client token.");
	}
	launch_answer(call, ids);
	return true;
}

static bool launch_new(RgSimCall *call, Ec2Launch *launch, const char *zone)
{
	if (!ec2_launch_read(call, launch) || !check_cpu_options(call, launch->type_entry) ||
		!ec2_launch_place(call, launch) || !ec2_placement_group_fits(call, launch) ||
		!ec2_go(call) || !ec2_throttle_instances(call, launch->count))
		return false;
	json_auto_t *ids = launch_carry_out(call, launch);
	ec2_token_store(call, zone, ids, NULL);
	launch_answer(call, ids);
	return true;
}

static bool run_instances(RgSimCall *call)
{
	/* The token is checked first: a repeated request names an interface that is in use by
	 * now. */
	const char *zone = ec2_launch_zone(call);
	const json_t *earlier = NULL;
	if (!zone || !ec2_token_check(call, zone, &earlier))
		return false;
	if (earlier)
		return ec2_go(call) && launch_answer_again(call, json_object_get(earlier, "ids"));
	Ec2Launch launch = {0};
	bool done = launch_new(call, &launch, zone);
	ec2_launch_clear(&launch);
	return done;
}

/* ---- volumes: created by launches, deleted with their instance if they are marked so */

void ec2_volume_release(RgSimPlace *region, const char *volume_id)
{
	json_t *volume = rg_sim_edit(region, EC2_VOLUME, volume_id);
	if (!volume)
		return;
	const json_t *attachment = json_array_get(json_object_get(volume, "attachmentSet"), 0);
	if (doc_is(attachment, "deleteOnTermination")) {
		json_decref(volume);
		rg_sim_remove(region, EC2_VOLUME, volume_id);
		return;
	}
	json_object_set_new(volume, "attachmentSet", json_array());
	json_object_set_new(volume, "status", json_string("available"));
	rg_sim_put(region, EC2_VOLUME, volume);
}

static bool describe_volumes(RgSimCall *call)
{
	static const Ec2Filter filters[] = {{"volume-id", "volumeId"}, {"status", "status"},
		{"size", "size"}, {"volume-type", "volumeType"},
		{"availability-zone", "availabilityZone"}, {"encrypted", "encrypted"},
		{"snapshot-id", "snapshotId"},
		{"attachment.instance-id", "attachmentSet.instanceId"},
		{"attachment.device", "attachmentSet.device"},
		{"attachment.status", "attachmentSet.status"},
		{"attachment.delete-on-termination", "attachmentSet.deleteOnTermination"}, {NULL}};
	static const Ec2Listing listing = {"volumeSet", EC2_VOLUME, "VolumeId", filters};
	return ec2_describe(call, &listing);
}

const RgSimAction ec2_launch_actions[] = {
	{"DescribeVolumes", describe_volumes, false, "VolumeId" PAGED},
	{"RunInstances", run_instances, true,
		"BlockDeviceMapping.DeviceName BlockDeviceMapping.Ebs.DeleteOnTermination "
		"BlockDeviceMapping.Ebs.Encrypted BlockDeviceMapping.Ebs.Iops "
		"BlockDeviceMapping.Ebs.Throughput BlockDeviceMapping.Ebs.VolumeSize "
		"BlockDeviceMapping.Ebs.VolumeType "
		"CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId "
		"ClientToken CpuOptions.CoreCount CpuOptions.ThreadsPerCore DisableApiTermination "
		"DryRun "
		"EbsOptimized IamInstanceProfile ImageId InstanceInitiatedShutdownBehavior "
		"InstanceMarketOptions.MarketType InstanceMarketOptions.SpotOptions.MaxPrice "
		"InstanceMarketOptions.SpotOptions.SpotInstanceType "
		"InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior "
		"InstanceType KeyName MaxCount MetadataOptions.HttpEndpoint "
		"MetadataOptions.HttpPutResponseHopLimit MetadataOptions.HttpTokens "
		"MetadataOptions.InstanceMetadataTags MinCount Monitoring "
		"NetworkInterface.AssociatePublicIpAddress NetworkInterface.DeleteOnTermination "
		"NetworkInterface.Description NetworkInterface.DeviceIndex "
		"NetworkInterface.InterfaceType NetworkInterface.NetworkCardIndex "
		"NetworkInterface.NetworkInterfaceId NetworkInterface.PrivateIpAddress "
		"NetworkInterface.SecurityGroupId NetworkInterface.SubnetId "
		"Placement.AvailabilityZone Placement.GroupId Placement.GroupName PrivateIpAddress "
		"SecurityGroup SecurityGroupId "
		"SubnetId "
		"TagSpecification UserData"},
	{NULL},
};
