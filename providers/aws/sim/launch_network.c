#include "aws/sim/launch.h"

/* ---- network cards of the type and EFA interfaces on them: networkInfo of DescribeInstanceTypes
 */

/* "efa" has an EFA and an ordinary device, "efa-only" only the former (EC2 API, shape
 * InstanceNetworkInterfaceSpecification). */
static bool is_efa(const char *type)
{
	return g_strcmp0(type, "efa") == 0 || ec2_is_bare(type);
}

bool ec2_is_bare(const char *interface_type)
{
	return g_strcmp0(interface_type, "efa-only") == 0;
}

static gint64 network_member(const json_t *type, const char *name, gint64 otherwise)
{
	const json_t *value = json_object_get(json_object_get(type, "networkInfo"), name);
	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

static gint64 max_efa(const json_t *type)
{
	const json_t *info = json_object_get(json_object_get(type, "networkInfo"), "efaInfo");
	return doc_int(info, "maximumEfaInterfaces");
}

/* Devices of one card: from its entry in the type, else from the type. */
static gint64 max_devices(const json_t *type, gint64 card)
{
	const json_t *cards = json_object_get(json_object_get(type, "networkInfo"), "networkCards");
	rg_json_foreach (entry, cards) {
		if (doc_int(entry, "networkCardIndex") == card)
			return json_integer_value(
				json_object_get(entry, "maximumNetworkInterfaces"));
	}
	return ec2_type_max_interfaces(type);
}

/* For a type with more cards than EFA interfaces (p6-b300: 17 and 16), the first card supports none
 * (AWS's engineers in aws-parallelcluster issue 7143). */
static bool takes_efa(const json_t *type, gint64 card)
{
	return card > 0 || network_member(type, "maximumNetworkCards", 1) <= max_efa(type);
}

static bool check_place(RgSimCall *call, const Ec2Launch *launch, const Ec2Attachment *place)
{
	gint64 cards = network_member(launch->type_entry, "maximumNetworkCards", 1);
	if (place->card < 0 || place->card >= cards)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"The specified number '%" G_GINT64_FORMAT
			"' for the network card index exceeds the maximum number of network cards "
			"supported by %s. Specify a number from 0 to %" G_GINT64_FORMAT
			", and try again.",
			place->card, launch->type, cards - 1);
	gint64 devices = max_devices(launch->type_entry, place->card);
	if (place->device >= devices)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"The specified number '%" G_GINT64_FORMAT
			"' for the device index exceeds the maximum number of network interfaces "
			"supported by the network card at network card index %" G_GINT64_FORMAT
			". The maximum devices for this network card is %" G_GINT64_FORMAT
			". Specify a number from 0 to %" G_GINT64_FORMAT ", and try again.",
			place->device, place->card, devices, devices - 1);
	return true;
}

static bool has_earlier_efa(const Ec2Launch *launch, unsigned n, gint64 card)
{
	for (unsigned i = 0; i < n; i++) {
		const Ec2LaunchInterface *other =
			&g_array_index(launch->interfaces, Ec2LaunchInterface, i);
		if (is_efa(other->form.interface_type) && other->attachment.card == card)
			return true;
	}
	return false;
}

static bool check_efa(RgSimCall *call, const Ec2Launch *launch, unsigned n)
{
	const Ec2LaunchInterface *wanted =
		&g_array_index(launch->interfaces, Ec2LaunchInterface, n);
	const char *kind = wanted->form.interface_type;
	gint64 card = wanted->attachment.card;
	if (!is_efa(kind))
		return !kind || g_str_equal(kind, "interface") ||
		       rg_sim_fail(call, 400, "InvalidParameterValue",
			       "Invalid value '%s' for InterfaceType.", kind);
	if (!max_efa(launch->type_entry))
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"%s instances do not support Elastic Fabric Adapters.", launch->type);
	if (!takes_efa(launch->type_entry, card))
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The network card at network card index %" G_GINT64_FORMAT
			" of %s does not support Elastic Fabric Adapters.",
			card, launch->type);
	if (ec2_is_bare(kind) && card == 0 && wanted->attachment.device == 0)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"An EFA-only network interface cannot be the primary network interface.");
	if (has_earlier_efa(launch, n, card))
		return rg_sim_fail(call, 400, "AttachmentLimitExceeded",
			"EFA count 2 exceeds the limit of 1 for the network card at network card "
			"index %" G_GINT64_FORMAT,
			card);
	return true;
}

/* Every interface is on a card of the type, with a device index and of a kind that the card
 * supports; otherwise an error on the call. */
static bool check_cards(RgSimCall *call, const Ec2Launch *launch)
{
	for (unsigned i = 0; i < launch->interfaces->len; i++) {
		const Ec2Attachment *place =
			&g_array_index(launch->interfaces, Ec2LaunchInterface, i).attachment;
		if (!check_place(call, launch, place) || !check_efa(call, launch, i))
			return false;
	}
	return true;
}

/* ---- zone, subnets and interfaces */

const char *ec2_launch_zone(RgSimCall *call)
{
	const char *subnet = call_str(call, "SubnetId");
	const char *zone = call_str(call, "Placement.AvailabilityZone");
	g_autoptr(GPtrArray) entries = call_list(call, "NetworkInterface");
	for (unsigned i = 0; !subnet && i < entries->len; i++)
		subnet = ec2_param_str(g_ptr_array_index(entries, i), "SubnetId");
	if (!subnet)
		return zone ? zone : "";
	const json_t *found = ec2_find(call, EC2_SUBNET, subnet);
	return found ? doc_str(found, "availabilityZone") : NULL;
}

/* All places in the request must be in one zone; stores it. */
static bool agree_on_zone(RgSimCall *call, Ec2Launch *launch, const char *zone)
{
	if (launch->zone && !g_str_equal(launch->zone, zone))
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The request names two Availability Zones, %s and %s", launch->zone, zone);
	launch->zone = zone;
	return true;
}

/* Interface and instance-level settings exclude each other. */
static bool check_exclusive(RgSimCall *call)
{
	static const struct {
		const char *parameter;
		const char *what;
	} excluded[] = {{"SubnetId", "an instance-level subnet ID"},
		{"SecurityGroupId", "instance-level security groups"},
		{"SecurityGroup", "instance-level security groups"},
		{"PrivateIpAddress", "an instance-level private address"}};
	for (size_t i = 0; i < G_N_ELEMENTS(excluded); i++) {
		if (call_has(call, excluded[i].parameter))
			return rg_sim_fail(call, 400, "InvalidParameterCombination",
				"Network interfaces and %s may not be specified on the same "
				"request",
				excluded[i].what);
	}
	return true;
}

static bool read_existing(
	RgSimCall *call, Ec2Launch *launch, const json_t *entry, Ec2LaunchInterface *out)
{
	static const char *const own[] = {"SubnetId", "SecurityGroupId", "PrivateIpAddress",
		"AssociatePublicIpAddress", "Description"};
	for (size_t i = 0; i < G_N_ELEMENTS(own); i++) {
		if (ec2_param_at(entry, own[i]))
			return rg_sim_fail(call, 400, "InvalidParameterCombination",
				"A network interface may not specify both a network interface ID "
				"and %s",
				own[i]);
	}
	if (launch->max > 1)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"A network interface ID may only be specified when launching one instance");
	const json_t *interface = ec2_find(call, EC2_INTERFACE, out->existing);
	if (!interface)
		return false;
	if (!g_str_equal(doc_str(interface, "status"), "available"))
		return rg_sim_fail(call, 400, "InvalidNetworkInterface.InUse",
			"Interface: [%s] in use.", out->existing);
	out->attachment.delete_on_termination = ec2_param_bool(entry, "DeleteOnTermination", false);
	return agree_on_zone(call, launch, doc_str(interface, "availabilityZone"));
}

static bool read_new(
	RgSimCall *call, Ec2Launch *launch, const json_t *entry, Ec2LaunchInterface *out)
{
	const char *subnet = ec2_param_str(entry, "SubnetId");
	if (subnet) {
		out->form.subnet = ec2_find(call, EC2_SUBNET, subnet);
		if (!out->form.subnet ||
			!agree_on_zone(call, launch, doc_str(out->form.subnet, "availabilityZone")))
			return false;
	}
	out->form.description = ec2_param_str(entry, "Description");
	out->form.address = ec2_param_str(entry, "PrivateIpAddress");
	out->form.interface_type = ec2_param_str(entry, "InterfaceType");
	out->form.tags = launch->interface_tags;
	out->attachment.delete_on_termination = ec2_param_bool(entry, "DeleteOnTermination", true);
	if (out->form.address && launch->max > 1)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"A private address may only be specified when launching one instance");
	return true;
}

static bool device_is_free(const Ec2Launch *launch, const Ec2Attachment *wanted)
{
	for (unsigned i = 0; i < launch->interfaces->len; i++) {
		const Ec2Attachment *other =
			&g_array_index(launch->interfaces, Ec2LaunchInterface, i).attachment;
		if (other->device == wanted->device && other->card == wanted->card)
			return false;
	}
	return true;
}

static bool read_interface(RgSimCall *call, Ec2Launch *launch, const json_t *entry)
{
	Ec2LaunchInterface out = {.existing = ec2_param_str(entry, "NetworkInterfaceId")};
	out.attachment.device = ec2_param_int(entry, "DeviceIndex", -1);
	out.attachment.card = ec2_param_int(entry, "NetworkCardIndex", 0);
	if (out.attachment.device < 0)
		return ec2_fail_missing(call, "NetworkInterface.DeviceIndex");
	if (!device_is_free(launch, &out.attachment))
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The device index %" G_GINT64_FORMAT " is given twice",
			out.attachment.device);
	bool done = out.existing ? read_existing(call, launch, entry, &out)
				 : read_new(call, launch, entry, &out);
	if (done)
		g_array_append_val(launch->interfaces, out);
	return done;
}

static bool read_interfaces(RgSimCall *call, Ec2Launch *launch, const GPtrArray *entries)
{
	if (!check_exclusive(call))
		return false;
	for (unsigned i = 0; i < entries->len; i++) {
		if (!read_interface(call, launch, g_ptr_array_index(entries, i)))
			return false;
	}
	if (launch->interfaces->len > ec2_type_max_interfaces(launch->type_entry))
		return rg_sim_fail(call, 400, "AttachmentLimitExceeded",
			"Interface count %u exceeds the limit for %s", launch->interfaces->len,
			launch->type);
	if (!check_cards(call, launch))
		return false;
	Ec2Attachment first = {.device = 0, .card = 0};
	if (device_is_free(launch, &first))
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The primary network interface (device index 0) is missing");
	return true;
}

/* Without NetworkInterface.N the instance-level settings describe the only interface. */
static bool read_plain(RgSimCall *call, Ec2Launch *launch)
{
	Ec2LaunchInterface out = {0};
	bool done = read_new(call, launch, call->params, &out);
	if (done)
		g_array_append_val(launch->interfaces, out);
	return done;
}

/* Ids of the groups for the n-th interface; free the array. NULL and an error if a group's name is
 * unknown. */
static GPtrArray *group_ids(RgSimCall *call, const json_t *entry)
{
	if (entry)
		return ec2_param_texts(entry, "SecurityGroupId");
	g_autoptr(GPtrArray) ids = call_texts(call, "SecurityGroupId");
	g_autoptr(GPtrArray) names = call_texts(call, "SecurityGroup");
	for (unsigned i = 0; i < names->len; i++) {
		const json_t *group = ec2_group_of_params(call, NULL, g_ptr_array_index(names, i));
		if (!group)
			return NULL;
		g_ptr_array_add(ids, (void *)(guintptr)doc_str(group, "groupId"));
	}
	return g_steal_pointer(&ids);
}

/* What depends on the chosen zone: default subnet, groups of its VPC, public address. */
static bool finish_interface(
	RgSimCall *call, Ec2Launch *launch, Ec2LaunchInterface *out, const json_t *entry)
{
	if (out->existing)
		return true;
	if (!out->form.subnet)
		out->form.subnet = ec2_default_subnet(call->place, launch->zone);
	if (!out->form.subnet)
		return rg_sim_fail(call, 400, "MissingInput",
			"No default subnet for availability zone: '%s'.", launch->zone);
	if (out->form.address && !ec2_address_check(call, out->form.subnet, out->form.address))
		return false;
	g_autoptr(GPtrArray) ids = group_ids(call, entry);
	out->groups = ids ? ec2_group_set(call, ids, doc_str(out->form.subnet, "vpcId")) : NULL;
	out->form.groups = out->groups;
	bool by_subnet = doc_is(out->form.subnet, "mapPublicIpOnLaunch");
	bool alone = launch->interfaces->len == 1;
	out->form.public_address =
		ec2_param_bool(entry, "AssociatePublicIpAddress", by_subnet && alone);
	if (out->form.public_address && !alone)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The associatePublicIPAddress parameter cannot be specified when launching "
			"with multiple network interfaces.");
	return out->groups != NULL;
}

static bool addresses_left(RgSimCall *call, const Ec2Launch *launch)
{
	for (unsigned i = 0; i < launch->interfaces->len; i++) {
		const json_t *subnet =
			g_array_index(launch->interfaces, Ec2LaunchInterface, i).form.subnet;
		gint64 needed = 0;
		for (unsigned j = 0; subnet && j < launch->interfaces->len; j++) {
			const Ec2InterfaceForm *form =
				&g_array_index(launch->interfaces, Ec2LaunchInterface, j).form;
			if (form->subnet == subnet && !ec2_is_bare(form->interface_type))
				needed += launch->count;
		}
		if (subnet && ec2_subnet_free(call->place, subnet) < needed)
			return rg_sim_fail(call, 400, "InsufficientFreeAddressesInSubnet",
				"There are not enough free addresses in subnet '%s' to satisfy the "
				"requested number of instances.",
				doc_str(subnet, "subnetId"));
	}
	return true;
}

/* As many as the quota allows, if that is enough. */
static bool within_quota(RgSimCall *call, Ec2Launch *launch)
{
	const char *code = ec2_quota_code(launch->type, launch->spot);
	gint64 each = MAX(ec2_type_vcpus(launch->type_entry), 1);
	gint64 room = ec2_quota_left(call, code) / each;
	if (room < launch->min)
		return ec2_fail_quota(call, code);
	launch->count = MIN(launch->count, room);
	return true;
}

bool ec2_launch_place(RgSimCall *call, Ec2Launch *launch)
{
	g_autoptr(GPtrArray) entries = call_list(call, "NetworkInterface");
	launch->interfaces = g_array_new(FALSE, TRUE, sizeof(Ec2LaunchInterface));
	launch->zone = call_str(call, "Placement.AvailabilityZone");
	const Ec2Machine machine = {launch->type, launch->spot};
	bool read =
		entries->len ? read_interfaces(call, launch, entries) : read_plain(call, launch);
	if (!read)
		return false;
	if (launch->reservation) {
		if (!ec2_reservation_place(call, launch))
			return false;
	} else if (!ec2_choose_zone(call, &machine, launch->zone, launch->min, launch->max,
			   &launch->zone, &launch->count) ||
		   !within_quota(call, launch)) {
		return false;
	}
	for (unsigned i = 0; i < launch->interfaces->len; i++) {
		const json_t *entry = entries->len ? g_ptr_array_index(entries, i) : NULL;
		if (!finish_interface(call, launch,
			    &g_array_index(launch->interfaces, Ec2LaunchInterface, i), entry))
			return false;
	}
	return addresses_left(call, launch);
}
