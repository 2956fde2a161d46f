/* DescribeInstances' and RunInstances' records -> attributes of aws.instance. Field names: EC2 API
 * 2016-11-15, shape Instance. */
#include "aws/efa.h"
#include "aws/instance.h"
#include <string.h>

static const AwsShape state_members[] = {{"name"}, {0}};
static const AwsShape reason_members[] = {{"code"}, {"message"}, {0}};
static const AwsShape placement_members[] = {{"availabilityZone"}, {"groupName"}, {0}};
static const AwsShape target_members[] = {{"capacityReservationId"}, {0}};
static const AwsShape specification_members[] = {
	{"capacityReservationTarget", target_members}, {0}};
static const AwsShape profile_members[] = {{"arn"}, {0}};
static const AwsShape metadata_members[] = {
	{"httpEndpoint"}, {"httpTokens"}, {"instanceMetadataTags"}, {0}};
static const AwsShape cpu_members[] = {{"coreCount"}, {"threadsPerCore"}, {0}};
static const AwsShape group_members[] = {{"groupId"}, {0}};
static const AwsShape group_set[] = {{"item", group_members}, {0}};
static const AwsShape attachment_members[] = {{"deviceIndex"}, {"networkCardIndex"}, {0}};
static const AwsShape interface_members[] = {{"networkInterfaceId", NULL, AWS_OWN},
	{"interfaceType"}, {"attachment", attachment_members}, {"groupSet", group_set}, {0}};
static const AwsShape interface_set[] = {{"item", interface_members}, {0}};
static const AwsShape volume_members[] = {{"volumeId", NULL, AWS_OWN}, {0}};
static const AwsShape device_members[] = {{"deviceName"}, {"ebs", volume_members}, {0}};
static const AwsShape device_set[] = {{"item", device_members}, {0}};

static const AwsShape instance_members[] = {
	{"instanceId", NULL, AWS_OWN},
	{"instanceType"},
	{"imageId"},
	{"subnetId"},
	{"privateIpAddress", NULL, AWS_OWN},
	{"privateDnsName", NULL, AWS_OWN},
	{"ipAddress", NULL, AWS_OWN},
	{"launchTime"},
	{"clientToken"},
	{"amiLaunchIndex", NULL, AWS_OWN},
	{"instanceLifecycle"},
	{"capacityReservationId"},
	{"capacityReservationSpecification", specification_members},
	{"keyName"},
	{"rootDeviceName"},
	{"instanceState", state_members},
	{"stateReason", reason_members},
	{"placement", placement_members},
	{"metadataOptions", metadata_members},
	{"cpuOptions", cpu_members},
	{"iamInstanceProfile", profile_members},
	{"groupSet", group_set},
	{"networkInterfaceSet", interface_set},
	{"blockDeviceMapping", device_set},
	{"tagSet", aws_tag_set},
	{0},
};
static const AwsShape instances_set[] = {{"item", instance_members, AWS_RECORD}, {0}};
static const AwsShape reservation_members[] = {{"instancesSet", instances_set, AWS_DROP}, {0}};
static const AwsShape reservation_set[] = {{"item", reservation_members, AWS_DROP}, {0}};
static const AwsShape describe_members[] = {
	{"reservationSet", reservation_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape run_members[] = {
	{"instancesSet", instances_set, AWS_DROP}, {"requestId"}, {0}};

const AwsShape aws_describe_instances = {"DescribeInstancesResponse", describe_members};
const AwsShape aws_run_instances = {"RunInstancesResponse", run_members};

static const char *state_of(const json_t *record)
{
	return mod_str(json_object_get(record, "instanceState"), "name");
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
	return g_str_equal(word, a) || g_str_equal(word, b);
}

bool aws_instance_is_gone(const json_t *record)
{
	return is_one_of(state_of(record), "terminated", "shutting-down");
}

bool aws_instance_is_terminated(const json_t *record)
{
	return g_str_equal(state_of(record), "terminated");
}

static void copy_text(json_t *attributes, const char *name, const json_t *from, const char *key)
{
	const char *text = mod_str(from, key);
	if (*text)
		json_object_set_new(attributes, name, json_string(text));
	else
		json_object_del(attributes, name);
}

/* The interface at device 0 of card 0; the first one if EC2 reports no indexes. */
static const json_t *primary_interface(const json_t *record)
{
	const json_t *set = json_object_get(record, "networkInterfaceSet");
	mod_foreach (interface, set) {
		const json_t *attachment = json_object_get(interface, "attachment");
		const char *card = mod_str(attachment, "networkCardIndex");
		if (g_str_equal(mod_str(attachment, "deviceIndex"), "0") &&
			(!*card || g_str_equal(card, "0")))
			return interface;
	}
	return json_array_get(set, 0);
}

static json_t *group_ids(const json_t *set)
{
	json_t *ids = json_array();
	mod_foreach (group, set)
		json_array_append_new(ids, json_string(mod_str(group, "groupId")));
	return ids;
}

static void read_network(const json_t *record, const ModMarks *marks, json_t *attributes)
{
	const json_t *interface = primary_interface(record);
	/* the head's groups belong to its interface, a separate resource (it has no index) */
	if (marks->name && !aws_marks_has_index(marks))
		return;
	json_int_t efa = aws_efa_seen(record);
	if (efa > 0)
		json_object_set_new(attributes, "efa_interfaces", json_integer(efa));
	const json_t *set = json_object_get(interface ? interface : record, "groupSet");
	if (set)
		json_object_set_new(attributes, "security_groups", group_ids(set));
}

/* pending will be running, stopping will be stopped: the attribute is the requested state */
static const char *settled_state(const char *state)
{
	if (is_one_of(state, "pending", "running"))
		return "running";
	return is_one_of(state, "stopping", "stopped") ? "stopped" : "terminated";
}

static const char *status_of(const json_t *record)
{
	const char *lifecycle = mod_str(record, "instanceLifecycle");
	const char *reason = mod_str(json_object_get(record, "stateReason"), "code");
	if (aws_instance_is_gone(record) && g_str_equal(reason, "Server.SpotInstanceTermination"))
		return "reclaimed by EC2 (spot)";
	if (aws_instance_is_gone(record) && g_str_equal(lifecycle, AWS_BLOCK) &&
		!g_str_has_prefix(reason, "Client."))
		return "ended by EC2 with its Capacity Block";
	if (aws_instance_is_gone(record) && g_str_equal(reason, "Client.InstanceInitiatedShutdown"))
		return "powered off from inside, as at the end of its lease";
	return state_of(record);
}

/* With several volumes, only the device name identifies the root. */
static const json_t *root_volume(const json_t *record)
{
	const json_t *set = json_object_get(record, "blockDeviceMapping");
	const char *root = mod_str(record, "rootDeviceName");
	mod_foreach (device, set)
		if (json_array_size(set) == 1 || g_str_equal(mod_str(device, "deviceName"), root))
			return json_object_get(device, "ebs");
	return NULL;
}

/* Of an instance that targets a reservation, the one that it is in. Others may be in an open one
 * that happens to match: nobody asked for that. */
static void read_reservation(const json_t *record, json_t *attributes)
{
	const json_t *specification = json_object_get(record, "capacityReservationSpecification");
	const json_t *target = json_object_get(specification, "capacityReservationTarget");
	if (!*mod_str(target, "capacityReservationId"))
		return;
	const char *in = mod_str(record, "capacityReservationId");
	copy_text(
		attributes, "capacity_reservation", *in ? record : target, "capacityReservationId");
}

/* EC2 user guide, "Supported CPU options for Amazon EC2 instance types": one thread per core have
 * T2, AMD processors of the 7th generation and later, HPC types, and Graviton (g after the
 * generation). */
bool aws_instance_has_threads(const char *type)
{
	return !g_regex_match_simple("^(t2|hpc[0-9]+[a-z]*|[cmr]([7-9]|[1-9][0-9])a[a-z]*|[a-z]+[0-"
				     "9]+g[a-z]*|a1|p6e[a-z0-9-]*)\\.",
		type, 0, 0);
}

/* Every instance reports its cores, also one that has those of its type. */
static void read_threads(const json_t *record, json_t *attributes)
{
	const json_t *options = json_object_get(record, "cpuOptions");
	const char *threads = mod_str(options, "threadsPerCore");
	if (!g_str_equal(threads, "1") ||
		!aws_instance_has_threads(mod_str(record, "instanceType")))
		return;
	json_object_set_new(attributes, "threads_per_core", json_integer(1));
	json_object_set_new(
		attributes, "core_count", json_integer(aws_xml_number(options, "coreCount")));
}

void aws_instance_read_own(const json_t *record, AwsSeen *seen)
{
	json_t *attributes = seen->attributes;
	copy_text(attributes, "private_ip", record, "privateIpAddress");
	copy_text(attributes, "private_dns", record, "privateDnsName");
	copy_text(attributes, "public_address", record, "ipAddress");
	copy_text(attributes, "network_interface", primary_interface(record), "networkInterfaceId");
	copy_text(attributes, "root_volume_id", root_volume(record), "volumeId");
	seen->id = mod_str(record, "instanceId");
	seen->place = g_ascii_strtoull(mod_str(record, "amiLaunchIndex"), NULL, 10);
}

void aws_instance_read(const json_t *record, AwsSeen *seen)
{
	json_t *tags = aws_marks_read(json_object_get(record, "tagSet"), &seen->marks);
	json_t *attributes = json_pack("{s:o}", "tags", tags);
	copy_text(attributes, "instance_type", record, "instanceType");
	copy_text(attributes, "image_id", record, "imageId");
	copy_text(attributes, "subnet_id", record, "subnetId");
	copy_text(attributes, "key_name", record, "keyName");
	copy_text(attributes, "launch_time", record, "launchTime");
	/* spot, scheduled, capacity-block; on-demand instances have none */
	copy_text(attributes, "market", record, "instanceLifecycle");
	read_reservation(record, attributes);
	copy_text(attributes, "availability_zone", json_object_get(record, "placement"),
		"availabilityZone");
	copy_text(attributes, "placement_group", json_object_get(record, "placement"), "groupName");
	copy_text(attributes, "http_tokens", json_object_get(record, "metadataOptions"),
		"httpTokens");
	copy_text(attributes, "http_endpoint", json_object_get(record, "metadataOptions"),
		"httpEndpoint");
	read_threads(record, attributes);
	aws_lease_read(record, attributes);
	aws_instance_profile_set(
		attributes, mod_str(json_object_get(record, "iamInstanceProfile"), "arn"));
	read_network(record, &seen->marks, attributes);
	const char *state = state_of(record), *token = mod_str(record, "clientToken");
	json_object_set_new(attributes, "instance_state", json_string(settled_state(state)));
	seen->attributes = attributes;
	aws_instance_read_own(record, seen);
	seen->gone = aws_instance_is_gone(record);
	seen->status = status_of(record);
	if (!seen->marks.token && *token)
		seen->marks.token = g_strdup(token);
}

void aws_instance_readiness(const AwsCall *call, const json_t *record, ModFailure *failure)
{
	const char *state = state_of(record);
	const json_t *reason = json_object_get(record, "stateReason");
	const char *code = mod_str(reason, "code"), *message = mod_str(reason, "message");
	if (g_str_equal(state, "running"))
		return;
	if (!aws_instance_is_gone(record)) {
		mod_failure_set(failure, RGP_CLASS_TRANSIENT, NULL, "it is %s", state);
		return;
	}
	if (*code) {
		mod_errors_describe(call->inst->errors, code, message, failure);
		g_autofree char *text = g_steal_pointer(&failure->message);
		failure->message = g_strdup_printf("EC2 ended the instance: %s", text);
		if (failure->class_ == RGP_CLASS_TRANSIENT)
			failure->class_ = RGP_CLASS_UNKNOWN;
	} else {
		mod_failure_set(failure, RGP_CLASS_GONE, NULL, "the instance is %s", state);
	}
}
