#include "aws/sim/describe.h"
#include "aws/sim/resources.h"

/* An interface as an instance shows it: its attachment does not repeat the instance. */
static json_t *interface_view(const json_t *interface)
{
	static const char *const shown[] = {"association", "description", "groupSet",
		"ipv6AddressesSet", "macAddress", "networkInterfaceId", "ownerId", "privateDnsName",
		"privateIpAddress", "privateIpAddressesSet", "sourceDestCheck", "status",
		"subnetId", "vpcId", "interfaceType"};
	json_t *out = json_object();
	for (size_t i = 0; i < G_N_ELEMENTS(shown); i++) {
		json_t *value = json_object_get(interface, shown[i]);
		if (value)
			json_object_set(out, shown[i], value);
	}
	json_t *attachment = json_copy(json_object_get(interface, "attachment"));
	json_object_del(attachment, "instanceId");
	json_object_del(attachment, "instanceOwnerId");
	json_object_set_new(out, "attachment", attachment);
	return out;
}

static void show_no_network(json_t *instance)
{
	static const char *const gone[] = {"subnetId", "vpcId", "privateIpAddress", "ipAddress"};
	for (size_t i = 0; i < G_N_ELEMENTS(gone); i++)
		json_object_del(instance, gone[i]);
	json_object_set_new(instance, "privateDnsName", json_string(""));
	json_object_set_new(instance, "dnsName", json_string(""));
	json_object_set_new(instance, "groupSet", json_array());
}

static void show_primary(json_t *instance, const json_t *primary)
{
	static const char *const shared[] = {
		"subnetId", "vpcId", "privateIpAddress", "privateDnsName", "groupSet"};
	for (size_t i = 0; i < G_N_ELEMENTS(shared); i++)
		json_object_set(instance, shared[i], json_object_get(primary, shared[i]));
	const json_t *association = json_object_get(primary, "association");
	if (!association) {
		json_object_del(instance, "ipAddress");
		json_object_set_new(instance, "dnsName", json_string(""));
		return;
	}
	json_object_set(instance, "ipAddress", json_object_get(association, "publicIp"));
	json_object_set(instance, "dnsName", json_object_get(association, "publicDnsName"));
}

void ec2_instance_show_interfaces(const RgSimPlace *region, json_t *instance)
{
	json_t *set = json_array();
	rg_json_foreach (id, json_object_get(instance, "_interfaces")) {
		const json_t *interface = rg_sim_find(region, EC2_INTERFACE, json_string_value(id));
		if (!interface)
			continue;
		if (json_array_size(set) == 0)
			show_primary(instance, interface);
		json_array_append_new(set, interface_view(interface));
	}
	if (json_array_size(set) == 0)
		show_no_network(instance);
	json_object_set_new(instance, "networkInterfaceSet", set);
}

static const char *primary_id(const json_t *instance)
{
	return json_string_value(json_array_get(json_object_get(instance, "_interfaces"), 0));
}

void ec2_instance_drop_public(RgSimPlace *region, json_t *instance)
{
	bool had = json_object_get(instance, "ipAddress") != NULL;
	json_object_set_new(instance, "_public", json_boolean(had));
	if (had)
		ec2_interface_set_public(region, primary_id(instance), false);
	ec2_instance_show_interfaces(region, instance);
}

void ec2_instance_give_public(RgSimPlace *region, json_t *instance)
{
	if (doc_is(instance, "_public"))
		ec2_interface_set_public(region, primary_id(instance), true);
	ec2_instance_show_interfaces(region, instance);
}

void ec2_instance_refresh(RgSimPlace *region, const char *id)
{
	json_t *instance = rg_sim_edit(region, EC2_INSTANCE, id);
	if (!instance)
		return;
	ec2_instance_show_interfaces(region, instance);
	rg_sim_put(region, EC2_INSTANCE, instance);
}

/* Consecutive instances of one launch are one reservation. */
static void write_reservations(RgSimCall *call, const GPtrArray *page)
{
	const char *open = NULL;
	ec2_xml_open(call->body, "reservationSet");
	rg_ptr_foreach (const json_t, instance, page) {
		const char *id = doc_str(instance, "_reservationId");
		if (open && !g_str_equal(open, id))
			g_string_append(call->body, "</instancesSet></item>");
		if (!open || !g_str_equal(open, id)) {
			ec2_xml_open(call->body, "item");
			ec2_xml_text(call->body, "reservationId", id);
			ec2_xml_text(call->body, "ownerId", EC2_ACCOUNT);
			ec2_xml_text(call->body, "groupSet", "");
			ec2_xml_open(call->body, "instancesSet");
			open = id;
		}
		ec2_xml_value(call->body, "item", instance);
	}
	if (open)
		g_string_append(call->body, "</instancesSet></item>");
	ec2_xml_close(call->body, "reservationSet");
}

static const Ec2Filter instance_filters[] = {{"instance-id", "instanceId"},
	{"instance-state-name", "instanceState.name"},
	{"instance-state-code", "instanceState.code"}, {"instance-type", "instanceType"},
	{"instance-lifecycle", "instanceLifecycle"},
	{"spot-instance-request-id", "spotInstanceRequestId"},
	{"capacity-reservation-id", "capacityReservationId"},
	{"placement-group-name", "placement.groupName"}, {"image-id", "imageId"},
	{"architecture", "architecture"}, {"availability-zone", "placement.availabilityZone"},
	{"client-token", "clientToken"}, {"dns-name", "dnsName"}, {"group-id", "groupSet.groupId"},
	{"group-name", "groupSet.groupName"}, {"instance.group-id", "groupSet.groupId"},
	{"instance.group-name", "groupSet.groupName"}, {"hypervisor", "hypervisor"},
	{"iam-instance-profile.arn", "iamInstanceProfile.arn"}, {"ip-address", "ipAddress"},
	{"launch-index", "amiLaunchIndex"}, {"launch-time", "launchTime"},
	{"metadata-options.http-tokens", "metadataOptions.httpTokens"}, {"owner-id", "_ownerId"},
	{"private-dns-name", "privateDnsName"}, {"private-ip-address", "privateIpAddress"},
	{"reservation-id", "_reservationId"}, {"root-device-name", "rootDeviceName"},
	{"state-reason-code", "stateReason.code"}, {"subnet-id", "subnetId"}, {"vpc-id", "vpcId"},
	{"tenancy", "placement.tenancy"}, {"virtualization-type", "virtualizationType"},
	{"block-device-mapping.volume-id", "blockDeviceMapping.ebs.volumeId"},
	{"block-device-mapping.device-name", "blockDeviceMapping.deviceName"},
	{"block-device-mapping.delete-on-termination",
		"blockDeviceMapping.ebs.deleteOnTermination"},
	{"network-interface.network-interface-id", "networkInterfaceSet.networkInterfaceId"},
	{"network-interface.subnet-id", "networkInterfaceSet.subnetId"},
	{"network-interface.vpc-id", "networkInterfaceSet.vpcId"},
	{"network-interface.group-id", "networkInterfaceSet.groupSet.groupId"},
	{"network-interface.description", "networkInterfaceSet.description"},
	{"network-interface.status", "networkInterfaceSet.status"},
	{"network-interface.mac-address", "networkInterfaceSet.macAddress"},
	{"network-interface.private-dns-name", "networkInterfaceSet.privateDnsName"},
	{"network-interface.addresses.private-ip-address",
		"networkInterfaceSet.privateIpAddressesSet.privateIpAddress"},
	{"network-interface.attachment.attachment-id",
		"networkInterfaceSet.attachment.attachmentId"},
	{"network-interface.attachment.device-index", "networkInterfaceSet.attachment.deviceIndex"},
	{"network-interface.attachment.delete-on-termination",
		"networkInterfaceSet.attachment.deleteOnTermination"},
	{NULL}};

static bool describe_instances(RgSimCall *call)
{
	static const Ec2Listing listing = {.kind = EC2_INSTANCE,
		.ids = "InstanceId",
		.filters = instance_filters,
		.write = write_reservations};
	return ec2_describe(call, &listing);
}

/* The value of an attribute in the form of DescribeInstanceAttribute; NULL for an unknown one. */
static json_t *attribute_value(const RgSimCall *call, const json_t *instance, const char *name)
{
	static const struct {
		const char *attribute;
		const char *member;
	} plain[] = {{"instanceType", "instanceType"}, {"rootDeviceName", "rootDeviceName"},
		{"disableApiTermination", "_disableApiTermination"},
		{"instanceInitiatedShutdownBehavior", "_shutdownBehavior"},
		{"ebsOptimized", "ebsOptimized"}, {"sourceDestCheck", "sourceDestCheck"}};
	if (g_str_equal(name, "groupSet"))
		return json_incref(json_object_get(instance, "groupSet"));
	if (g_str_equal(name, "userData")) {
		const json_t *kept =
			rg_sim_find(call->place, EC2_USER_DATA, doc_str(instance, "_userData"));
		json_t *data = json_object_get(kept, "data");
		return data ? json_pack("{s:O}", "value", data) : json_object();
	}
	for (size_t i = 0; i < G_N_ELEMENTS(plain); i++) {
		if (g_str_equal(plain[i].attribute, name))
			return json_pack(
				"{s:O}", "value", json_object_get(instance, plain[i].member));
	}
	return NULL;
}

static bool describe_instance_attribute(RgSimCall *call)
{
	const char *id = call_str(call, "InstanceId");
	const char *name = call_str(call, "Attribute");
	if (!ec2_find(call, EC2_INSTANCE, id))
		return false;
	const json_t *instance = rg_sim_item_view(
		rg_sim_table_item(call->place->tables[EC2_INSTANCE], id), call->view_ms);
	if (!instance)
		return rg_sim_fail(call, 400, "InvalidInstanceID.NotFound",
			"The instance ID '%s' does not exist", id);
	json_auto_t *value = attribute_value(call, instance, name);
	if (!value)
		return ec2_fail_value(call, "attribute", name);
	if (!ec2_go(call))
		return false;
	ec2_xml_text(call->body, "instanceId", id);
	ec2_xml_value(call->body, name, value);
	return true;
}

static const char *wanted_value(const RgSimCall *call, const char *attribute, const char *path)
{
	const char *short_form = call_str(call, "Attribute");
	if (short_form && g_str_equal(short_form, attribute))
		return call_str(call, "Value");
	return call_str(call, path);
}

static bool modify_type(RgSimCall *call, json_t *instance)
{
	const char *type = wanted_value(call, "instanceType", "InstanceType.Value");
	if (!type)
		return true;
	if (!g_str_equal(ec2_instance_state(instance), "stopped"))
		return rg_sim_fail(call, 400, "IncorrectInstanceState",
			"The instance '%s' is not in the 'stopped' state.",
			doc_str(instance, "instanceId"));
	if (!ec2_type_find(call->place, type))
		return ec2_fail_value(call, "instanceType", type);
	json_object_set_new(instance, "instanceType", json_string(type));
	return true;
}

/* Attributes with a single member: a flag or a word. */
static void modify_plain(RgSimCall *call, json_t *instance)
{
	const char *protect =
		wanted_value(call, "disableApiTermination", "DisableApiTermination.Value");
	if (protect)
		json_object_set_new(instance, "_disableApiTermination",
			json_boolean(g_ascii_strcasecmp(protect, "true") == 0));
	const char *behaviour = wanted_value(call, "instanceInitiatedShutdownBehavior",
		"InstanceInitiatedShutdownBehavior.Value");
	if (behaviour)
		json_object_set_new(instance, "_shutdownBehavior", json_string(behaviour));
}

/* New groups go to the primary interface. */
static bool modify_groups(RgSimCall *call, const json_t *instance)
{
	g_autoptr(GPtrArray) ids = call_texts(call, "GroupId");
	const char *interface_id = primary_id(instance);
	if (ids->len == 0)
		return true;
	if (!interface_id)
		return rg_sim_fail(call, 400, "IncorrectInstanceState",
			"The instance '%s' has no network interface.",
			doc_str(instance, "instanceId"));
	if (json_array_size(json_object_get(instance, "_interfaces")) > 1)
		return rg_sim_fail(call, 400, "InvalidInstanceID",
			"There are multiple interfaces attached to instance '%s'. Please specify "
			"an interface ID for the operation instead.",
			doc_str(instance, "instanceId"));
	json_auto_t *groups = ec2_group_set(call, ids, doc_str(instance, "vpcId"));
	if (!groups || !ec2_go(call))
		return false;
	json_t *interface = rg_sim_edit(call->place, EC2_INTERFACE, interface_id);
	json_object_set(interface, "groupSet", groups);
	rg_sim_put(call->place, EC2_INTERFACE, interface);
	return true;
}

static bool modify_metadata(RgSimCall *call)
{
	static const struct {
		const char *parameter;
		const char *member;
	} words[] = {{"HttpTokens", "httpTokens"}, {"HttpEndpoint", "httpEndpoint"},
		{"InstanceMetadataTags", "instanceMetadataTags"}};
	const char *id = call_str(call, "InstanceId");
	gint64 hops = call_int(call, "HttpPutResponseHopLimit", 1);
	if (!ec2_find(call, EC2_INSTANCE, id))
		return false;
	if (hops < 1 || hops > 64)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"HttpPutResponseHopLimit is from 1 to 64");
	if (g_strcmp0(call_str(call, "InstanceMetadataTags"), "enabled") == 0 &&
		!ec2_tags_can_show(call,
			json_object_get(rg_sim_find(call->place, EC2_INSTANCE, id), "tagSet")))
		return false;
	if (!ec2_go(call))
		return false;
	json_t *instance = rg_sim_edit(call->place, EC2_INSTANCE, id);
	json_t *options = json_copy(json_object_get(instance, "metadataOptions"));
	if (!options) /* a manually written world */
		options = json_object();
	for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
		const char *word = call_str(call, words[i].parameter);
		if (word)
			json_object_set_new(options, words[i].member, json_string(word));
	}
	if (call_str(call, "HttpPutResponseHopLimit"))
		json_object_set_new(options, "httpPutResponseHopLimit", json_integer(hops));
	ec2_xml_text(call->body, "instanceId", id);
	ec2_xml_value(call->body, "instanceMetadataOptions", options);
	json_object_set_new(instance, "metadataOptions", options);
	ec2_lease_plan(call->place, instance);
	rg_sim_put(call->place, EC2_INSTANCE, instance);
	return true;
}

static bool modify_instance(RgSimCall *call)
{
	const char *id = call_str(call, "InstanceId");
	if (!ec2_find(call, EC2_INSTANCE, id))
		return false;
	json_auto_t *instance = rg_sim_edit(call->place, EC2_INSTANCE, id);
	if (!modify_type(call, instance) || !modify_groups(call, instance) || !ec2_go(call))
		return false;
	modify_plain(call, instance);
	ec2_instance_show_interfaces(call->place, instance);
	rg_sim_put(call->place, EC2_INSTANCE, json_incref(instance));
	return ec2_done(call);
}

const RgSimAction ec2_instance_actions[] = {
	{"DescribeInstanceAttribute", describe_instance_attribute, false,
		"Attribute DryRun InstanceId"},
	{"DescribeInstances", describe_instances, false, "InstanceId" PAGED},
	{"ModifyInstanceAttribute", modify_instance, true,
		"Attribute DisableApiTermination DryRun GroupId InstanceId "
		"InstanceInitiatedShutdownBehavior InstanceType Value"},
	{"ModifyInstanceMetadataOptions", modify_metadata, true,
		"DryRun HttpEndpoint HttpPutResponseHopLimit HttpTokens InstanceId "
		"InstanceMetadataTags"},
	{NULL},
};
