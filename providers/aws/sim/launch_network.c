#include "aws/sim/cards.h"
#include "aws/sim/groups.h"
#include "aws/sim/launch_form.h"
#include "aws/sim/network.h"
#include "aws/sim/placement.h"
#include "aws/sim/quota.h"
#include "aws/sim/types.h"

static const char *subnet_zone(RgSimCall *call, const char *id)
{
	const json_t *subnet = rg_sim_call_find(call, RG_SIM_SUBNET, id);
	return subnet ? rg_sim_doc_str(subnet, "availabilityZone") : NULL;
}

const char *rg_sim_launch_zone(RgSimCall *call)
{
	const char *subnet = rg_sim_param_str(call->params, "SubnetId");
	const char *zone = rg_sim_param_str(call->params, "Placement.AvailabilityZone");
	g_autoptr(GPtrArray) entries = rg_sim_param_list(call->params, "NetworkInterface");
	for (unsigned i = 0; !subnet && i < entries->len; i++)
		subnet = rg_sim_param_str(g_ptr_array_index(entries, i), "SubnetId");
	if (subnet)
		return subnet_zone(call, subnet);
	return zone ? zone : "";
}

/* All places that the request names must be in one zone; notes it. */
static bool agree_on_zone(RgSimCall *call, RgSimLaunch *launch, const char *zone)
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
		if (rg_sim_param_at(call->params, excluded[i].parameter))
			return rg_sim_fail(call, 400, "InvalidParameterCombination",
				"Network interfaces and %s may not be specified on the same "
				"request",
				excluded[i].what);
	}
	return true;
}

static bool read_existing(
	RgSimCall *call, RgSimLaunch *launch, const json_t *entry, RgSimLaunchInterface *out)
{
	static const char *const own[] = {"SubnetId", "SecurityGroupId", "PrivateIpAddress",
		"AssociatePublicIpAddress", "Description"};
	for (size_t i = 0; i < G_N_ELEMENTS(own); i++) {
		if (rg_sim_param_at(entry, own[i]))
			return rg_sim_fail(call, 400, "InvalidParameterCombination",
				"A network interface may not specify both a network interface ID "
				"and %s",
				own[i]);
	}
	if (launch->max > 1)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"A network interface ID may only be specified when launching one instance");
	const json_t *interface = rg_sim_call_find(call, RG_SIM_INTERFACE, out->existing);
	if (!interface)
		return false;
	if (!g_str_equal(rg_sim_doc_str(interface, "status"), "available"))
		return rg_sim_fail(call, 400, "InvalidNetworkInterface.InUse",
			"Interface: [%s] in use.", out->existing);
	out->attachment.delete_on_termination =
		rg_sim_param_bool(entry, "DeleteOnTermination", false);
	return agree_on_zone(call, launch, rg_sim_doc_str(interface, "availabilityZone"));
}

static bool read_new(
	RgSimCall *call, RgSimLaunch *launch, const json_t *entry, RgSimLaunchInterface *out)
{
	const char *subnet = rg_sim_param_str(entry, "SubnetId");
	if (subnet) {
		out->form.subnet = rg_sim_call_find(call, RG_SIM_SUBNET, subnet);
		if (!out->form.subnet ||
			!agree_on_zone(
				call, launch, rg_sim_doc_str(out->form.subnet, "availabilityZone")))
			return false;
	}
	out->form.description = rg_sim_param_str(entry, "Description");
	out->form.address = rg_sim_param_str(entry, "PrivateIpAddress");
	out->form.interface_type = rg_sim_param_str(entry, "InterfaceType");
	out->form.tags = launch->interface_tags;
	out->attachment.delete_on_termination =
		rg_sim_param_bool(entry, "DeleteOnTermination", true);
	if (out->form.address && launch->max > 1)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"A private address may only be specified when launching one instance");
	return true;
}

static bool device_is_free(const RgSimLaunch *launch, const RgSimAttachment *wanted)
{
	for (unsigned i = 0; i < launch->interfaces->len; i++) {
		const RgSimAttachment *other =
			&g_array_index(launch->interfaces, RgSimLaunchInterface, i).attachment;
		if (other->device == wanted->device && other->card == wanted->card)
			return false;
	}
	return true;
}

static bool read_interface(RgSimCall *call, RgSimLaunch *launch, const json_t *entry)
{
	RgSimLaunchInterface out = {.existing = rg_sim_param_str(entry, "NetworkInterfaceId")};
	out.attachment.device = rg_sim_param_int(entry, "DeviceIndex", -1);
	out.attachment.card = rg_sim_param_int(entry, "NetworkCardIndex", 0);
	if (out.attachment.device < 0)
		return rg_sim_fail_missing(call, "NetworkInterface.DeviceIndex");
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

static bool read_interfaces(RgSimCall *call, RgSimLaunch *launch, const GPtrArray *entries)
{
	if (!check_exclusive(call))
		return false;
	for (unsigned i = 0; i < entries->len; i++) {
		if (!read_interface(call, launch, g_ptr_array_index(entries, i)))
			return false;
	}
	if (launch->interfaces->len > rg_sim_type_max_interfaces(launch->type_entry))
		return rg_sim_fail(call, 400, "AttachmentLimitExceeded",
			"Interface count %u exceeds the limit for %s", launch->interfaces->len,
			launch->type);
	if (!rg_sim_cards_check(call, launch))
		return false;
	RgSimAttachment first = {.device = 0, .card = 0};
	if (device_is_free(launch, &first))
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The primary network interface (device index 0) is missing");
	return true;
}

/* Without NetworkInterface.N the instance-level settings describe the only interface. */
static bool read_plain(RgSimCall *call, RgSimLaunch *launch)
{
	RgSimLaunchInterface out = {.form.tags = launch->interface_tags};
	const char *subnet = rg_sim_param_str(call->params, "SubnetId");
	out.form.address = rg_sim_param_str(call->params, "PrivateIpAddress");
	out.attachment.delete_on_termination = true;
	if (subnet) {
		out.form.subnet = rg_sim_call_find(call, RG_SIM_SUBNET, subnet);
		if (!out.form.subnet ||
			!agree_on_zone(
				call, launch, rg_sim_doc_str(out.form.subnet, "availabilityZone")))
			return false;
	}
	if (out.form.address && launch->max > 1)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"A private address may only be specified when launching one instance");
	g_array_append_val(launch->interfaces, out);
	return true;
}

/* Ids of the groups for the n-th interface; free the array. NULL and an error when a group's name
 * is unknown. */
static GPtrArray *group_ids(RgSimCall *call, const json_t *entry)
{
	if (entry)
		return rg_sim_param_texts(entry, "SecurityGroupId");
	g_autoptr(GPtrArray) ids = rg_sim_param_texts(call->params, "SecurityGroupId");
	g_autoptr(GPtrArray) names = rg_sim_param_texts(call->params, "SecurityGroup");
	for (unsigned i = 0; i < names->len; i++) {
		const json_t *group =
			rg_sim_group_of_params(call, NULL, g_ptr_array_index(names, i));
		if (!group)
			return NULL;
		g_ptr_array_add(ids, (void *)(guintptr)rg_sim_doc_str(group, "groupId"));
	}
	return g_steal_pointer(&ids);
}

/* What only the chosen zone decides: default subnet, groups of its VPC, public address. */
static bool finish_interface(
	RgSimCall *call, RgSimLaunch *launch, RgSimLaunchInterface *out, const json_t *entry)
{
	if (out->existing)
		return true;
	if (!out->form.subnet)
		out->form.subnet = rg_sim_network_default_subnet(call->region, launch->zone);
	if (!out->form.subnet)
		return rg_sim_fail(call, 400, "MissingInput",
			"No default subnet for availability zone: '%s'.", launch->zone);
	if (out->form.address && !rg_sim_address_check(call, out->form.subnet, out->form.address))
		return false;
	g_autoptr(GPtrArray) ids = group_ids(call, entry);
	out->groups =
		ids ? rg_sim_group_set(call, ids, rg_sim_doc_str(out->form.subnet, "vpcId")) : NULL;
	out->form.groups = out->groups;
	bool by_subnet = json_is_true(json_object_get(out->form.subnet, "mapPublicIpOnLaunch"));
	bool alone = launch->interfaces->len == 1;
	out->form.public_address =
		rg_sim_param_bool(entry, "AssociatePublicIpAddress", by_subnet && alone);
	if (out->form.public_address && !alone)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The associatePublicIPAddress parameter cannot be specified when launching "
			"with multiple network interfaces.");
	return out->groups != NULL;
}

static bool addresses_left(RgSimCall *call, const RgSimLaunch *launch)
{
	for (unsigned i = 0; i < launch->interfaces->len; i++) {
		const json_t *subnet =
			g_array_index(launch->interfaces, RgSimLaunchInterface, i).form.subnet;
		gint64 needed = 0;
		for (unsigned j = 0; subnet && j < launch->interfaces->len; j++) {
			const RgSimInterfaceForm *form =
				&g_array_index(launch->interfaces, RgSimLaunchInterface, j).form;
			if (form->subnet == subnet && !rg_sim_card_is_bare(form->interface_type))
				needed += launch->count;
		}
		if (subnet && rg_sim_subnet_free(call->region, subnet) < needed)
			return rg_sim_fail(call, 400, "InsufficientFreeAddressesInSubnet",
				"There are not enough free addresses in subnet '%s' to satisfy the "
				"requested number of instances.",
				rg_sim_doc_str(subnet, "subnetId"));
	}
	return true;
}

/* As many as the quota leaves, if that is enough. */
static bool within_quota(RgSimCall *call, RgSimLaunch *launch)
{
	const char *code = rg_sim_quota_code(launch->type, launch->spot);
	gint64 each = MAX(rg_sim_type_vcpus(launch->type_entry), 1);
	gint64 room = rg_sim_quota_left(call, code) / each;
	if (room < launch->min)
		return rg_sim_quota_fail(call, code);
	launch->count = MIN(launch->count, room);
	return true;
}

bool rg_sim_launch_place(RgSimCall *call, RgSimLaunch *launch)
{
	g_autoptr(GPtrArray) entries = rg_sim_param_list(call->params, "NetworkInterface");
	launch->interfaces = g_array_new(FALSE, TRUE, sizeof(RgSimLaunchInterface));
	launch->zone = rg_sim_param_str(call->params, "Placement.AvailabilityZone");
	bool read =
		entries->len ? read_interfaces(call, launch, entries) : read_plain(call, launch);
	if (!read ||
		!rg_sim_place(call, launch->type, launch->zone, launch->min, launch->max,
			&launch->zone, &launch->count) ||
		!within_quota(call, launch))
		return false;
	for (unsigned i = 0; i < launch->interfaces->len; i++) {
		const json_t *entry = entries->len ? g_ptr_array_index(entries, i) : NULL;
		if (!finish_interface(call, launch,
			    &g_array_index(launch->interfaces, RgSimLaunchInterface, i), entry))
			return false;
	}
	return addresses_left(call, launch);
}
