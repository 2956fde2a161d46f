#include <string.h>
#include "aws/sim/describe.h"
#include "aws/sim/launch.h"

#define MAX_USER_DATA 16384
/* The resource bucket of RunInstances holds 1,000 (EC2 developer guide, "Request throttling"). */
#define MAX_INSTANCES 1000

static bool read_counts(RgSimCall *call, Ec2Launch *launch)
{
	launch->min = call_int(call, "MinCount", 0);
	launch->max = call_int(call, "MaxCount", 0);
	if (launch->min < 1)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Value (%" G_GINT64_FORMAT
			") for parameter minCount is invalid. It must be "
			"greater than 0.",
			launch->min);
	if (launch->max < launch->min)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The parameter minCount (%" G_GINT64_FORMAT ") may not be larger than "
			"maxCount (%" G_GINT64_FORMAT ").",
			launch->min, launch->max);
	if (launch->max > MAX_INSTANCES)
		return rg_sim_fail(call, 400, "ResourceCountExceeded",
			"You have requested more instances (%" G_GINT64_FORMAT ") than one request "
			"may launch (%d).",
			launch->max, MAX_INSTANCES);
	return true;
}

static bool read_image_and_type(RgSimCall *call, Ec2Launch *launch)
{
	const char *image = call_str(call, "ImageId");
	launch->type = call_str(call, "InstanceType");
	if (!image)
		return ec2_fail_missing(call, "ImageId");
	if (!launch->type)
		return ec2_fail_missing(call, "InstanceType");
	launch->type_entry = ec2_type_find(call->place, launch->type);
	if (!launch->type_entry)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Invalid value '%s' for InstanceType.", launch->type);
	launch->image = ec2_find(call, EC2_IMAGE, image);
	if (!launch->image)
		return false;
	const char *arch = ec2_type_arch(launch->type_entry);
	const char *image_arch = doc_str(launch->image, "architecture");
	if (!g_str_equal(arch, image_arch))
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"The architecture '%s' of the specified instance type does not match the "
			"architecture '%s' of the specified AMI. Specify an instance type and an "
			"AMI that have matching architectures, and try again.",
			arch, image_arch);
	return true;
}

/* g_base64_decode skips invalid characters, so encode again and compare. */
static bool is_base64(const char *text, gsize *decoded_length)
{
	g_autofree guchar *raw = g_base64_decode(text, decoded_length);
	g_autofree char *again = g_base64_encode(raw, *decoded_length);
	return g_str_equal(again, text);
}

static bool read_user_data(RgSimCall *call, Ec2Launch *launch)
{
	const char *given = call_str(call, "UserData");
	if (!given || !*given)
		return true;
	g_auto(GStrv) lines = g_strsplit_set(given, "\r\n\t ", -1);
	launch->user_data = g_strjoinv("", lines);
	gsize length = 0;
	if (!is_base64(launch->user_data, &length))
		return rg_sim_fail(call, 400, "InvalidUserData.Malformed",
			"Invalid BASE64 encoding of user data.");
	if (length > MAX_USER_DATA)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"User data is limited to %d bytes", MAX_USER_DATA);
	launch->watches_lease = ec2_lease_is_watched(launch->user_data);
	return true;
}

static json_t *device_new(const char *name, const json_t *ebs)
{
	json_t *size = json_object_get(ebs, "volumeSize");
	const char *type = doc_str(ebs, "volumeType");
	return json_pack("{s:s, s:I, s:s, s:b, s:b, s:s}", "device", name, "size",
		(json_int_t)json_integer_value(size), "type", *type ? type : "gp2", "encrypted",
		doc_is(ebs, "encrypted"), "delete",
		!json_is_false(json_object_get(ebs, "deleteOnTermination")), "snapshot",
		doc_str(ebs, "snapshotId"));
}

/* EC2 also uses this message for st1 and sc1 as root disks (aws/aws-sdk#542). */
static bool check_disk_type(RgSimCall *call, const char *type, const json_t *entry, bool is_root)
{
	if (!ec2_param_str(entry, "Ebs.Iops") &&
		(g_str_equal(type, "io1") || g_str_equal(type, "io2")))
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The parameter iops must be specified for %s volumes.", type);
	if (is_root && (g_str_equal(type, "st1") || g_str_equal(type, "sc1")))
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The parameter iops is not supported for %s volumes.", type);
	return true;
}

/* What a type has by itself, and what one may choose; 0: nothing. EBS user guide, "Amazon EBS
 * volume types", gp3 since September 2025. */
static const struct {
	const char *type;
	gint64 least_iops, most_iops, iops_per_gib, least_mib_s, most_mib_s;
} disk_types[] = {{"gp3", 3000, 80000, 500, 125, 2000}, {"io1", 100, 64000, 50, 0, 0},
	{"io2", 100, 256000, 1000, 0, 0}};

static bool read_performance(RgSimCall *call, json_t *device, const json_t *entry)
{
	gint64 iops = ec2_param_int(entry, "Ebs.Iops", 0);
	gint64 mib_s = ec2_param_int(entry, "Ebs.Throughput", 0);
	const char *type = doc_str(device, "type");
	gsize i = 0;
	while (i < G_N_ELEMENTS(disk_types) && !g_str_equal(disk_types[i].type, type))
		i++;
	if (i == G_N_ELEMENTS(disk_types))
		return (!iops && !mib_s) ||
		       rg_sim_fail(call, 400, "InvalidParameterCombination",
			       "The parameter %s is not supported for %s volumes.",
			       iops ? "iops" : "throughput", type);
	iops = iops ? iops : disk_types[i].least_iops;
	mib_s = mib_s ? mib_s : disk_types[i].least_mib_s;
	if (iops < disk_types[i].least_iops || iops > disk_types[i].most_iops ||
		iops > MAX(disk_types[i].least_iops,
			       doc_int(device, "size") * disk_types[i].iops_per_gib) ||
		mib_s < disk_types[i].least_mib_s || mib_s > disk_types[i].most_mib_s ||
		(mib_s && mib_s * 4 > iops))
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"%" G_GINT64_FORMAT " iops and %" G_GINT64_FORMAT
			" MiB/s are not valid for this %s volume.",
			iops, mib_s, type);
	json_object_set_new(device, "iops", json_integer(iops));
	if (mib_s)
		json_object_set_new(device, "throughput", json_integer(mib_s));
	return true;
}

static bool override_device(RgSimCall *call, json_t *device, const json_t *entry)
{
	gint64 least = doc_int(device, "size");
	gint64 size = ec2_param_int(entry, "Ebs.VolumeSize", least);
	const char *snapshot = doc_str(device, "snapshot");
	if (*snapshot && size < least)
		return rg_sim_fail(call, 400, "InvalidBlockDeviceMapping",
			"Volume of size %" G_GINT64_FORMAT "GB is smaller than snapshot '%s', "
			"expect size >= %" G_GINT64_FORMAT "GB",
			size, snapshot, least);
	if (size < 1 || size > 65536)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Volume of %" G_GINT64_FORMAT "GiB is too small or too large.", size);
	const char *type = ec2_param_str(entry, "Ebs.VolumeType");
	if (type && !check_disk_type(call, type, entry, *snapshot != '\0'))
		return false;
	json_object_set_new(device, "size", json_integer(size));
	if (type)
		json_object_set_new(device, "type", json_string(type));
	if (!read_performance(call, device, entry))
		return false;
	bool encrypted = doc_is(device, "encrypted");
	bool delete = doc_is(device, "delete");
	json_object_set_new(device, "encrypted",
		json_boolean(ec2_param_bool(entry, "Ebs.Encrypted", encrypted)));
	json_object_set_new(device, "delete",
		json_boolean(ec2_param_bool(entry, "Ebs.DeleteOnTermination", delete)));
	return true;
}

/* The image's disks, changed and extended by BlockDeviceMapping.N. */
static bool read_devices(RgSimCall *call, Ec2Launch *launch)
{
	launch->devices = json_array();
	rg_json_foreach (mapping, json_object_get(launch->image, "blockDeviceMapping"))
		json_array_append_new(launch->devices, device_new(doc_str(mapping, "deviceName"),
							       json_object_get(mapping, "ebs")));
	g_autoptr(GPtrArray) given = call_list(call, "BlockDeviceMapping");
	rg_ptr_foreach (const json_t, entry, given) {
		const char *name = ec2_param_str(entry, "DeviceName");
		if (!name)
			return ec2_fail_missing(call, "BlockDeviceMapping.DeviceName");
		if (!ec2_param_at(entry, "Ebs") || ec2_param_at(entry, "NoDevice") ||
			ec2_param_at(entry, "VirtualName"))
			return rg_sim_fail(call, 400, "UnsupportedOperation",
				"raygpu-sim simulates block devices with Ebs only");
		json_t *device = rg_sim_entry(launch->devices, "device", name);
		if (!device && !ec2_param_str(entry, "Ebs.VolumeSize"))
			return rg_sim_fail(call, 400, "MissingParameter",
				"The request must contain the parameter size or snapshotId");
		if (!device) {
			device = json_pack("{s:s, s:i, s:s, s:b, s:b, s:s}", "device", name, "size",
				1, "type", "gp2", "encrypted", 0, "delete", 1, "snapshot", "");
			json_array_append_new(launch->devices, device);
		}
		if (!override_device(call, device, entry))
			return false;
	}
	return true;
}

static bool read_tags(RgSimCall *call, Ec2Launch *launch)
{
	static const char types[] = "instance volume network-interface spot-instances-request";
	launch->instance_tags = ec2_tags_of_request(call, "instance", types);
	launch->volume_tags =
		launch->instance_tags ? ec2_tags_of_request(call, "volume", types) : NULL;
	launch->interface_tags =
		launch->volume_tags ? ec2_tags_of_request(call, "network-interface", types) : NULL;
	launch->spot_tags = launch->interface_tags
				    ? ec2_tags_of_request(call, "spot-instances-request", types)
				    : NULL;
	return launch->spot_tags != NULL;
}

static bool check_rest(RgSimCall *call)
{
	const char *key = call_str(call, "KeyName");
	if (key && !rg_sim_knobs_lists(json_object_get(call->sim->knobs, "key_pairs"), key))
		return rg_sim_fail(call, 400, "InvalidKeyPair.NotFound",
			"The key pair '%s' does not exist", key);
	const char *profile = call_str(call, "IamInstanceProfile.Name");
	if (profile && !rg_sim_knobs_lists(
			       json_object_get(call->sim->knobs, "instance_profiles"), profile))
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Value (%s) for parameter iamInstanceProfile.name is invalid. Invalid IAM "
			"Instance Profile name",
			profile);
	return true;
}

static bool check_shown(RgSimCall *call, const Ec2Launch *launch)
{
	const char *shown = call_str(call, "MetadataOptions.InstanceMetadataTags");
	return g_strcmp0(shown, "enabled") != 0 || ec2_tags_can_show(call, launch->instance_tags);
}

bool ec2_launch_read(RgSimCall *call, Ec2Launch *launch)
{
	return read_counts(call, launch) && read_image_and_type(call, launch) &&
	       read_user_data(call, launch) && read_devices(call, launch) &&
	       read_tags(call, launch) && check_shown(call, launch) && check_rest(call) &&
	       ec2_spot_read(call, launch) && ec2_reservation_read(call, launch) &&
	       ec2_placement_group_read(call, launch);
}

void ec2_launch_clear(Ec2Launch *launch)
{
	g_free(launch->user_data);
	json_decref(launch->devices);
	json_decref(launch->instance_tags);
	json_decref(launch->volume_tags);
	json_decref(launch->interface_tags);
	json_decref(launch->spot_tags);
	for (unsigned i = 0; launch->interfaces && i < launch->interfaces->len; i++)
		json_decref(g_array_index(launch->interfaces, Ec2LaunchInterface, i).groups);
	g_clear_pointer(&launch->interfaces, g_array_unref);
}
