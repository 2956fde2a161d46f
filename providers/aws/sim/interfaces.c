#include "aws/sim/interfaces.h"
#include <arpa/inet.h>
#include "aws/sim/cards.h"
#include "aws/sim/describe.h"
#include "aws/sim/groups.h"
#include "aws/sim/instances.h"
#include "aws/sim/tags.h"
#include "aws/sim/tokens.h"
#include "aws/sim/xml.h"

/* The first four addresses of a subnet and its last one are AWS's. */
#define FIRST_HOST 4

static bool subnet_range(const json_t *subnet, guint32 *base, guint32 *size)
{
	g_auto(GStrv) parts = g_strsplit(rg_sim_doc_str(subnet, "cidrBlock"), "/", 2);
	struct in_addr address;
	guint64 bits = 0;
	if (g_strv_length(parts) != 2 || inet_pton(AF_INET, parts[0], &address) != 1 ||
		!g_ascii_string_to_unsigned(parts[1], 10, 8, 28, &bits, NULL))
		return false;
	*base = ntohl(address.s_addr);
	*size = 1U << (32 - bits);
	return true;
}

gint64 rg_sim_subnet_free(const RgSimRegion *region, const json_t *subnet)
{
	guint32 base = 0;
	guint32 size = 0;
	if (!subnet_range(subnet, &base, &size))
		return 0;
	gint64 left = (gint64)size - FIRST_HOST - 1;
	g_autoptr(GPtrArray) all = rg_sim_world_all(region, RG_SIM_INTERFACE);
	for (unsigned i = 0; i < all->len; i++) {
		const json_t *interface = g_ptr_array_index(all, i);
		if (*rg_sim_doc_str(interface, "privateIpAddress") &&
			g_str_equal(rg_sim_doc_str(interface, "subnetId"),
				rg_sim_doc_str(subnet, "subnetId")))
			left--;
	}
	return left;
}

static char *address_text(guint32 address)
{
	struct in_addr wire = {htonl(address)};
	char text[INET_ADDRSTRLEN];
	inet_ntop(AF_INET, &wire, text, sizeof(text));
	return g_strdup(text);
}

bool rg_sim_address_check(RgSimCall *call, const json_t *subnet, const char *address)
{
	guint32 base = 0;
	guint32 size = 0;
	struct in_addr wanted;
	if (!subnet_range(subnet, &base, &size) || inet_pton(AF_INET, address, &wanted) != 1 ||
		ntohl(wanted.s_addr) < base + FIRST_HOST || ntohl(wanted.s_addr) >= base + size - 1)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Address %s does not fall within the subnet's address range", address);
	if (g_hash_table_contains(call->region->addresses, address))
		return rg_sim_fail(
			call, 400, "InvalidIPAddress.InUse", "Address %s is in use.", address);
	return true;
}

/* The next free address in turn, so that an address is not given again at once. */
static char *take_address(RgSimRegion *region, const json_t *subnet, const char *wanted)
{
	guint32 base = 0;
	guint32 size = 0;
	if (wanted || !subnet_range(subnet, &base, &size))
		return g_strdup(wanted ? wanted : "0.0.0.0");
	const char *id = rg_sim_doc_str(subnet, "subnetId");
	guint32 hosts = size - FIRST_HOST - 1;
	guint32 start = GPOINTER_TO_UINT(g_hash_table_lookup(region->next_host, id));
	char *text = NULL;
	for (guint32 i = 0; i < hosts; i++) {
		guint32 host = (start + i) % hosts;
		g_free(text);
		text = address_text(base + FIRST_HOST + host);
		if (!g_hash_table_contains(region->addresses, text)) {
			g_hash_table_insert(
				region->next_host, g_strdup(id), GUINT_TO_POINTER(host + 1));
			break;
		}
	}
	return text;
}

static char *private_name(const RgSimRegion *region, const char *address)
{
	g_autofree char *dashed = g_strdelimit(g_strdup(address), ".", '-');
	if (g_str_equal(region->name, "us-east-1"))
		return g_strdup_printf("ip-%s.ec2.internal", dashed);
	return g_strdup_printf("ip-%s.%s.compute.internal", dashed, region->name);
}

/* Public addresses are of 198.18.0.0/15, which RFC 2544 keeps for tests: no client that trusts the
 * simulator can reach a stranger's machine. */
static json_t *association_new(RgSimWorld *world, const RgSimRegion *region)
{
	g_autofree char *address =
		address_text(0xc6120000U + 1 + (guint32)(++world->counter % 0x1fffeU));
	g_autofree char *dashed = g_strdelimit(g_strdup(address), ".", '-');
	g_autofree char *name =
		g_str_equal(region->name, "us-east-1")
			? g_strdup_printf("ec2-%s.compute-1.amazonaws.com", dashed)
			: g_strdup_printf("ec2-%s.%s.compute.amazonaws.com", dashed, region->name);
	return json_pack("{s:s, s:s, s:s}", "ipOwnerId", "amazon", "publicDnsName", name,
		"publicIp", address);
}

static json_t *attachment_json(RgSimWorld *world, const RgSimAttachment *attachment)
{
	g_autofree char *id = rg_sim_world_id(world, "eni-attach-");
	g_autofree char *now = rg_sim_time_text(world->now_ms);
	return json_pack("{s:s, s:s, s:b, s:I, s:I, s:s, s:s, s:s}", "attachTime", now,
		"attachmentId", id, "deleteOnTermination", attachment->delete_on_termination,
		"deviceIndex", (json_int_t)attachment->device, "networkCardIndex",
		(json_int_t)attachment->card, "instanceId", attachment->instance_id,
		"instanceOwnerId", RG_SIM_ACCOUNT, "status", "attached");
}

/* Addresses are listed twice in EC2's answers: on the interface, and in its list of one. An
 * EFA-only interface has none. */
static void show_addresses(json_t *interface)
{
	if (!json_object_get(interface, "privateIpAddress")) {
		json_object_set_new(interface, "privateIpAddressesSet", json_array());
		return;
	}
	json_t *entry = json_pack("{s:b, s:O, s:O}", "primary", 1, "privateDnsName",
		json_object_get(interface, "privateDnsName"), "privateIpAddress",
		json_object_get(interface, "privateIpAddress"));
	json_t *association = json_object_get(interface, "association");
	if (association)
		json_object_set(entry, "association", association);
	json_object_set_new(interface, "privateIpAddressesSet", json_pack("[o]", entry));
}

/* `id`: of the interface, which gets the next free address or the wanted one. */
static void give_address(
	RgSimCall *call, const RgSimInterfaceForm *form, json_t *interface, const char *id)
{
	if (!rg_sim_card_is_bare(form->interface_type)) {
		g_autofree char *address = take_address(call->region, form->subnet, form->address);
		g_autofree char *name = private_name(call->region, address);
		json_object_set_new(interface, "privateDnsName", json_string(name));
		json_object_set_new(interface, "privateIpAddress", json_string(address));
		g_hash_table_insert(
			call->region->addresses, g_steal_pointer(&address), g_strdup(id));
	}
	if (form->public_address)
		json_object_set_new(
			interface, "association", association_new(call->world, call->region));
	show_addresses(interface);
}

static json_t *interface_new(RgSimCall *call, const RgSimInterfaceForm *form)
{
	g_autofree char *id = rg_sim_world_id(call->world, "eni-");
	const char *hex = id + 4;
	g_autofree char *mac = g_strdup_printf(
		"02:%.2s:%.2s:%.2s:%.2s:%.2s", hex, hex + 2, hex + 4, hex + 6, hex + 8);
	json_t *interface = json_pack("{s:s, s:s, s:s, s:O, s:s, s:s, s:s}", "availabilityZone",
		rg_sim_doc_str(form->subnet, "availabilityZone"), "availabilityZoneId",
		rg_sim_doc_str(form->subnet, "availabilityZoneId"), "description",
		form->description ? form->description : "", "groupSet", form->groups,
		"interfaceType", form->interface_type ? form->interface_type : "interface",
		"macAddress", mac, "networkInterfaceId", id);
	json_auto_t *rest = json_pack("{s:s, s:b, s:b, s:s, s:s, s:O, s:s, s:[]}", "ownerId",
		RG_SIM_ACCOUNT, "requesterManaged", 0, "sourceDestCheck", 1, "status", "available",
		"subnetId", rg_sim_doc_str(form->subnet, "subnetId"), "tagSet", form->tags, "vpcId",
		rg_sim_doc_str(form->subnet, "vpcId"), "ipv6AddressesSet");
	json_object_update(interface, rest);
	give_address(call, form, interface, id);
	return interface;
}

const char *rg_sim_interface_add(
	RgSimCall *call, const RgSimInterfaceForm *form, const RgSimAttachment *attachment)
{
	json_t *interface = interface_new(call, form);
	if (attachment) {
		json_object_set_new(
			interface, "attachment", attachment_json(call->world, attachment));
		json_object_set_new(interface, "status", json_string("in-use"));
	}
	rg_sim_world_put(call->world, call->region, RG_SIM_INTERFACE, interface);
	return rg_sim_doc_str(interface, "networkInterfaceId");
}

void rg_sim_interface_attach(RgSimCall *call, const char *id, const RgSimAttachment *attachment)
{
	json_t *interface = rg_sim_world_edit(call->region, RG_SIM_INTERFACE, id);
	json_object_set_new(interface, "attachment", attachment_json(call->world, attachment));
	json_object_set_new(interface, "status", json_string("in-use"));
	bool primary = attachment->device == 0 && attachment->card == 0;
	if (primary && json_is_true(json_object_get(interface, "_autoPublic"))) {
		json_object_set_new(
			interface, "association", association_new(call->world, call->region));
		show_addresses(interface);
	}
	rg_sim_world_put(call->world, call->region, RG_SIM_INTERFACE, interface);
}

static void delete_interface(RgSimWorld *world, RgSimRegion *region, const json_t *interface)
{
	g_hash_table_remove(region->addresses, rg_sim_doc_str(interface, "privateIpAddress"));
	rg_sim_world_remove(
		world, region, RG_SIM_INTERFACE, rg_sim_doc_str(interface, "networkInterfaceId"));
}

void rg_sim_interface_release(RgSimWorld *world, RgSimRegion *region, const char *id)
{
	json_auto_t *interface = rg_sim_world_edit(region, RG_SIM_INTERFACE, id);
	if (!interface)
		return;
	const json_t *attachment = json_object_get(interface, "attachment");
	if (json_is_true(json_object_get(attachment, "deleteOnTermination"))) {
		delete_interface(world, region, interface);
		return;
	}
	json_object_del(interface, "attachment");
	json_object_del(interface, "association");
	show_addresses(interface);
	json_object_set_new(interface, "status", json_string("available"));
	rg_sim_world_put(world, region, RG_SIM_INTERFACE, json_incref(interface));
}

void rg_sim_interface_set_public(RgSimWorld *world, RgSimRegion *region, const char *id, bool on)
{
	json_t *interface = rg_sim_world_edit(region, RG_SIM_INTERFACE, id);
	if (!interface)
		return;
	if (on)
		json_object_set_new(interface, "association", association_new(world, region));
	else
		json_object_del(interface, "association");
	show_addresses(interface);
	rg_sim_world_put(world, region, RG_SIM_INTERFACE, interface);
}

void rg_sim_interfaces_restore(RgSimRegion *region)
{
	g_autoptr(GPtrArray) all = rg_sim_world_all(region, RG_SIM_INTERFACE);
	for (unsigned i = 0; i < all->len; i++) {
		const json_t *interface = g_ptr_array_index(all, i);
		const char *address = rg_sim_doc_str(interface, "privateIpAddress");
		if (*address)
			g_hash_table_insert(region->addresses, g_strdup(address),
				g_strdup(rg_sim_doc_str(interface, "networkInterfaceId")));
	}
}

static bool answer_interface(RgSimCall *call, const json_t *interface)
{
	rg_sim_xml_value(call->body, "networkInterface", interface);
	const char *token = rg_sim_param_str(call->params, "ClientToken");
	if (token)
		rg_sim_xml_text(call->body, "clientToken", token);
	return true;
}

bool rg_sim_create_interface(RgSimCall *call)
{
	const json_t *earlier = NULL;
	if (!rg_sim_token_check(call, "", &earlier))
		return false;
	if (earlier)
		return rg_sim_go(call) &&
		       answer_interface(call, json_object_get(earlier, "answer"));
	RgSimInterfaceForm form = {
		.description = rg_sim_param_str(call->params, "Description"),
		.address = rg_sim_param_str(call->params, "PrivateIpAddress"),
		.interface_type = rg_sim_param_str(call->params, "InterfaceType"),
	};
	form.subnet =
		rg_sim_call_find(call, RG_SIM_SUBNET, rg_sim_param_str(call->params, "SubnetId"));
	if (!form.subnet)
		return false;
	g_autoptr(GPtrArray) ids = rg_sim_param_texts(call->params, "SecurityGroupId");
	json_auto_t *groups = rg_sim_group_set(call, ids, rg_sim_doc_str(form.subnet, "vpcId"));
	json_auto_t *tags = rg_sim_tags_of_request(call, "network-interface", "network-interface");
	form.groups = groups;
	form.tags = tags;
	if (!groups || !tags ||
		(form.address && !rg_sim_address_check(call, form.subnet, form.address)))
		return false;
	if (rg_sim_subnet_free(call->region, form.subnet) < 1)
		return rg_sim_fail(call, 400, "InsufficientFreeAddressesInSubnet",
			"There are not enough free addresses in subnet '%s' to satisfy the "
			"request.",
			rg_sim_doc_str(form.subnet, "subnetId"));
	if (!rg_sim_go(call))
		return false;
	const char *id = rg_sim_interface_add(call, &form, NULL);
	json_t *interface = rg_sim_world_find(call->region, RG_SIM_INTERFACE, id);
	json_auto_t *made = json_pack("[s]", id);
	rg_sim_token_store(call, "", made, interface);
	return answer_interface(call, interface);
}

static bool fail_in_use(RgSimCall *call, const char *id)
{
	return rg_sim_fail(call, 400, "InvalidNetworkInterface.InUse",
		"Network interface '%s' is currently in use.", id);
}

bool rg_sim_delete_interface(RgSimCall *call)
{
	g_autofree char *id = g_strdup(rg_sim_param_str(call->params, "NetworkInterfaceId"));
	const json_t *interface = rg_sim_call_find(call, RG_SIM_INTERFACE, id);
	if (!interface)
		return false;
	if (!g_str_equal(rg_sim_doc_str(interface, "status"), "available"))
		return fail_in_use(call, id);
	if (!rg_sim_go(call))
		return false;
	delete_interface(call->world, call->region, interface);
	rg_sim_xml_text(call->body, "return", "true");
	return true;
}

bool rg_sim_describe_interfaces(RgSimCall *call)
{
	static const RgSimFilterName filters[] = {{"network-interface-id", "networkInterfaceId"},
		{"status", "status"}, {"subnet-id", "subnetId"}, {"vpc-id", "vpcId"},
		{"group-id", "groupSet.groupId"}, {"group-name", "groupSet.groupName"},
		{"availability-zone", "availabilityZone"}, {"description", "description"},
		{"private-ip-address", "privateIpAddress"}, {"private-dns-name", "privateDnsName"},
		{"addresses.private-ip-address", "privateIpAddressesSet.privateIpAddress"},
		{"mac-address", "macAddress"}, {"owner-id", "ownerId"},
		{"interface-type", "interfaceType"}, {"requester-managed", "requesterManaged"},
		{"attachment.instance-id", "attachment.instanceId"},
		{"attachment.attachment-id", "attachment.attachmentId"},
		{"attachment.device-index", "attachment.deviceIndex"},
		{"attachment.status", "attachment.status"},
		{"attachment.delete-on-termination", "attachment.deleteOnTermination"},
		{"association.public-ip", "association.publicIp"}, {NULL, NULL}};
	static const RgSimListing listing = {.set = "networkInterfaceSet",
		.kind = RG_SIM_INTERFACE,
		.ids = "NetworkInterfaceId",
		.filters = filters,
		.min_results = 5,
		.max_results = 1000};
	return rg_sim_describe(call, &listing);
}
