#include <arpa/inet.h>
#include "aws/sim/describe.h"
#include "aws/sim/resources.h"

/* The first four addresses of a subnet and its last one are AWS's. */
#define FIRST_HOST 4

/* For a region: what would take too long to look up in its documents. */
typedef struct {
	GHashTable *used;      /* private addresses */
	GHashTable *next_host; /* subnet id -> next host number to try */
} Addresses;

static Addresses *addresses_of(RgSimPlace *region)
{
	if (region->own)
		return region->own;
	Addresses *addresses = region->own = g_new(Addresses, 1);
	addresses->used = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	addresses->next_host = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	rg_sim_foreach (interface, region, EC2_INTERFACE)
		g_hash_table_add(addresses->used, g_strdup(doc_str(interface, "privateIpAddress")));
	return addresses;
}

void ec2_addresses_free(RgSimPlace *region)
{
	Addresses *addresses = region->own;
	if (!addresses)
		return;
	g_hash_table_unref(addresses->used);
	g_hash_table_unref(addresses->next_host);
	g_free(addresses);
}

static bool subnet_range(const json_t *subnet, guint32 *base, guint32 *size)
{
	g_auto(GStrv) parts = g_strsplit(doc_str(subnet, "cidrBlock"), "/", 2);
	struct in_addr address;
	guint64 bits = 0;
	if (g_strv_length(parts) != 2 || inet_pton(AF_INET, parts[0], &address) != 1 ||
		!g_ascii_string_to_unsigned(parts[1], 10, 8, 28, &bits, NULL))
		return false;
	*base = ntohl(address.s_addr);
	*size = 1U << (32 - bits);
	return true;
}

gint64 ec2_subnet_free(const RgSimPlace *region, const json_t *subnet)
{
	guint32 base = 0;
	guint32 size = 0;
	if (!subnet_range(subnet, &base, &size))
		return 0;
	gint64 left = (gint64)size - FIRST_HOST - 1;
	const char *id = doc_str(subnet, "subnetId");
	rg_sim_foreach (interface, region, EC2_INTERFACE) {
		if (g_str_equal(doc_str(interface, "subnetId"), id) &&
			*doc_str(interface, "privateIpAddress"))
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

bool ec2_address_check(RgSimCall *call, const json_t *subnet, const char *address)
{
	guint32 base = 0;
	guint32 size = 0;
	struct in_addr wanted;
	if (!subnet_range(subnet, &base, &size) || inet_pton(AF_INET, address, &wanted) != 1 ||
		ntohl(wanted.s_addr) < base + FIRST_HOST || ntohl(wanted.s_addr) >= base + size - 1)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"Address %s does not fall within the subnet's address range", address);
	if (g_hash_table_contains(addresses_of(call->place)->used, address))
		return rg_sim_fail(
			call, 400, "InvalidIPAddress.InUse", "Address %s is in use.", address);
	return true;
}

/* The next free address in turn, so that an address is not reused immediately. */
static char *take_address(RgSimPlace *region, const json_t *subnet, const char *wanted)
{
	guint32 base = 0;
	guint32 size = 0;
	if (wanted || !subnet_range(subnet, &base, &size))
		return g_strdup(wanted ? wanted : "0.0.0.0");
	const char *id = doc_str(subnet, "subnetId");
	const Addresses *addresses = addresses_of(region);
	guint32 hosts = size - FIRST_HOST - 1;
	guint32 start = GPOINTER_TO_UINT(g_hash_table_lookup(addresses->next_host, id));
	char *text = NULL;
	for (guint32 i = 0; i < hosts; i++) {
		guint32 host = (start + i) % hosts;
		g_free(text);
		text = address_text(base + FIRST_HOST + host);
		if (!g_hash_table_contains(addresses->used, text)) {
			g_hash_table_insert(
				addresses->next_host, g_strdup(id), GUINT_TO_POINTER(host + 1));
			break;
		}
	}
	return text;
}

static char *private_name(const RgSimPlace *region, const char *address)
{
	g_autofree char *dashed = g_strdelimit(g_strdup(address), ".", '-');
	if (g_str_equal(region->name, "us-east-1"))
		return g_strdup_printf("ip-%s.ec2.internal", dashed);
	return g_strdup_printf("ip-%s.%s.compute.internal", dashed, region->name);
}

/* Public addresses are from 198.18.0.0/15, which RFC 2544 reserves for tests: no client that trusts
 * the simulator can reach someone else's machine. */
static json_t *association_new(RgSimPlace *region)
{
	g_autofree char *address =
		address_text(0xc6120000U + 1 + (guint32)(++region->sim->counter % 0x1fffeU));
	g_autofree char *dashed = g_strdelimit(g_strdup(address), ".", '-');
	g_autofree char *name =
		g_str_equal(region->name, "us-east-1")
			? g_strdup_printf("ec2-%s.compute-1.amazonaws.com", dashed)
			: g_strdup_printf("ec2-%s.%s.compute.amazonaws.com", dashed, region->name);
	return json_pack("{s:s, s:s, s:s}", "ipOwnerId", "amazon", "publicDnsName", name,
		"publicIp", address);
}

static json_t *attachment_json(RgSim *sim, const Ec2Attachment *attachment)
{
	g_autofree char *id = rg_sim_id(sim, "eni-attach-");
	g_autofree char *now = ec2_time_text(sim->now_ms);
	return json_pack("{s:s, s:s, s:b, s:I, s:I, s:s, s:s, s:s}", "attachTime", now,
		"attachmentId", id, "deleteOnTermination", attachment->delete_on_termination,
		"deviceIndex", (json_int_t)attachment->device, "networkCardIndex",
		(json_int_t)attachment->card, "instanceId", attachment->instance_id,
		"instanceOwnerId", EC2_ACCOUNT, "status", "attached");
}

/* EC2's answers list an address twice: on the interface, and in its list of one. An EFA-only
 * interface has none. */
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

/* `id`: of the interface, which gets the next free address or the requested one. */
static void give_address(
	RgSimCall *call, const Ec2InterfaceForm *form, json_t *interface, const char *id)
{
	if (!ec2_is_bare(form->interface_type)) {
		g_autofree char *address = take_address(call->place, form->subnet, form->address);
		g_autofree char *name = private_name(call->place, address);
		json_object_set_new(interface, "privateDnsName", json_string(name));
		json_object_set_new(interface, "privateIpAddress", json_string(address));
		g_hash_table_add(addresses_of(call->place)->used, g_steal_pointer(&address));
	}
	if (form->public_address)
		json_object_set_new(interface, "association", association_new(call->place));
	show_addresses(interface);
}

static json_t *interface_new(RgSimCall *call, const Ec2InterfaceForm *form)
{
	g_autofree char *id = rg_sim_id(call->sim, "eni-");
	const char *hex = id + 4;
	g_autofree char *mac = g_strdup_printf(
		"02:%.2s:%.2s:%.2s:%.2s:%.2s", hex, hex + 2, hex + 4, hex + 6, hex + 8);
	json_t *interface = json_pack("{s:s, s:s, s:s, s:O, s:s, s:s, s:s}", "availabilityZone",
		doc_str(form->subnet, "availabilityZone"), "availabilityZoneId",
		doc_str(form->subnet, "availabilityZoneId"), "description",
		form->description ? form->description : "", "groupSet", form->groups,
		"interfaceType", form->interface_type ? form->interface_type : "interface",
		"macAddress", mac, "networkInterfaceId", id);
	json_auto_t *rest = json_pack("{s:s, s:b, s:b, s:s, s:s, s:O, s:s, s:[]}", "ownerId",
		EC2_ACCOUNT, "requesterManaged", 0, "sourceDestCheck", 1, "status", "available",
		"subnetId", doc_str(form->subnet, "subnetId"), "tagSet", form->tags, "vpcId",
		doc_str(form->subnet, "vpcId"), "ipv6AddressesSet");
	json_object_update(interface, rest);
	give_address(call, form, interface, id);
	return interface;
}

const char *ec2_interface_add(
	RgSimCall *call, const Ec2InterfaceForm *form, const Ec2Attachment *attachment)
{
	json_t *interface = interface_new(call, form);
	if (attachment) {
		json_object_set_new(
			interface, "attachment", attachment_json(call->sim, attachment));
		json_object_set_new(interface, "status", json_string("in-use"));
	}
	rg_sim_put(call->place, EC2_INTERFACE, interface);
	return doc_str(interface, "networkInterfaceId");
}

void ec2_interface_attach(RgSimCall *call, const char *id, const Ec2Attachment *attachment)
{
	json_t *interface = rg_sim_edit(call->place, EC2_INTERFACE, id);
	json_object_set_new(interface, "attachment", attachment_json(call->sim, attachment));
	json_object_set_new(interface, "status", json_string("in-use"));
	bool primary = attachment->device == 0 && attachment->card == 0;
	if (primary && doc_is(interface, "_autoPublic")) {
		json_object_set_new(interface, "association", association_new(call->place));
		show_addresses(interface);
	}
	rg_sim_put(call->place, EC2_INTERFACE, interface);
}

static void remove_interface(RgSimPlace *region, const json_t *interface)
{
	g_hash_table_remove(addresses_of(region)->used, doc_str(interface, "privateIpAddress"));
	rg_sim_remove(region, EC2_INTERFACE, doc_str(interface, "networkInterfaceId"));
}

void ec2_interface_release(RgSimPlace *region, const char *id)
{
	json_auto_t *interface = rg_sim_edit(region, EC2_INTERFACE, id);
	if (!interface)
		return;
	const json_t *attachment = json_object_get(interface, "attachment");
	if (doc_is(attachment, "deleteOnTermination")) {
		remove_interface(region, interface);
		return;
	}
	json_object_del(interface, "attachment");
	json_object_del(interface, "association");
	show_addresses(interface);
	json_object_set_new(interface, "status", json_string("available"));
	rg_sim_put(region, EC2_INTERFACE, json_incref(interface));
}

void ec2_interface_set_public(RgSimPlace *region, const char *id, bool on)
{
	json_t *interface = rg_sim_edit(region, EC2_INTERFACE, id);
	if (!interface)
		return;
	if (on)
		json_object_set_new(interface, "association", association_new(region));
	else
		json_object_del(interface, "association");
	show_addresses(interface);
	rg_sim_put(region, EC2_INTERFACE, interface);
}

static bool answer_interface(RgSimCall *call, const json_t *interface)
{
	ec2_xml_value(call->body, "networkInterface", interface);
	const char *token = call_str(call, "ClientToken");
	if (token)
		ec2_xml_text(call->body, "clientToken", token);
	return true;
}

static bool create_interface(RgSimCall *call)
{
	const json_t *earlier = NULL;
	if (!ec2_token_check(call, "", &earlier))
		return false;
	if (earlier)
		return ec2_go(call) && answer_interface(call, json_object_get(earlier, "answer"));
	Ec2InterfaceForm form = {
		.description = call_str(call, "Description"),
		.address = call_str(call, "PrivateIpAddress"),
		.interface_type = call_str(call, "InterfaceType"),
	};
	form.subnet = ec2_find(call, EC2_SUBNET, call_str(call, "SubnetId"));
	if (!form.subnet)
		return false;
	g_autoptr(GPtrArray) ids = call_texts(call, "SecurityGroupId");
	json_auto_t *groups = ec2_group_set(call, ids, doc_str(form.subnet, "vpcId"));
	json_auto_t *tags = ec2_tags_of_request(call, "network-interface", "network-interface");
	form.groups = groups;
	form.tags = tags;
	if (!groups || !tags ||
		(form.address && !ec2_address_check(call, form.subnet, form.address)))
		return false;
	if (ec2_subnet_free(call->place, form.subnet) < 1)
		return rg_sim_fail(call, 400, "InsufficientFreeAddressesInSubnet",
			"There are not enough free addresses in subnet '%s' to satisfy the "
			"request.",
			doc_str(form.subnet, "subnetId"));
	if (!ec2_go(call))
		return false;
	const char *id = ec2_interface_add(call, &form, NULL);
	json_t *interface = rg_sim_find(call->place, EC2_INTERFACE, id);
	json_auto_t *made = json_pack("[s]", id);
	ec2_token_store(call, "", made, interface);
	return answer_interface(call, interface);
}

static bool fail_in_use(RgSimCall *call, const char *id)
{
	return rg_sim_fail(call, 400, "InvalidNetworkInterface.InUse",
		"Network interface '%s' is currently in use.", id);
}

static bool delete_interface(RgSimCall *call)
{
	g_autofree char *id = g_strdup(call_str(call, "NetworkInterfaceId"));
	const json_t *interface = ec2_find(call, EC2_INTERFACE, id);
	if (!interface)
		return false;
	if (!g_str_equal(doc_str(interface, "status"), "available"))
		return fail_in_use(call, id);
	if (!ec2_go(call))
		return false;
	remove_interface(call->place, interface);
	return ec2_done(call);
}

/* ---- ModifyNetworkInterfaceAttribute */

static bool modify_attachment(RgSimCall *call, json_t *interface)
{
	const char *wanted = call_str(call, "Attachment.AttachmentId");
	const json_t *old = json_object_get(interface, "attachment");
	if (!call_has(call, "Attachment"))
		return true;
	if (!wanted || !g_str_equal(doc_str(old, "attachmentId"), wanted))
		return rg_sim_fail(call, 400, "InvalidAttachmentID.NotFound",
			"The attachment ID '%s' does not exist", wanted ? wanted : "");
	json_t *attachment = json_copy(rg_json_unconst(old));
	json_object_set_new(attachment, "deleteOnTermination",
		json_boolean(call_bool(call, "Attachment.DeleteOnTermination", false)));
	json_object_set_new(interface, "attachment", attachment);
	return true;
}

static bool modify_members(RgSimCall *call, json_t *interface)
{
	g_autoptr(GPtrArray) ids = call_texts(call, "SecurityGroupId");
	if (ids->len) {
		json_t *groups = ec2_group_set(call, ids, doc_str(interface, "vpcId"));
		if (!groups)
			return false;
		json_object_set_new(interface, "groupSet", groups);
	}
	const char *description = call_str(call, "Description.Value");
	if (description)
		json_object_set_new(interface, "description", json_string(description));
	if (call_has(call, "SourceDestCheck"))
		json_object_set_new(interface, "sourceDestCheck",
			json_boolean(call_bool(call, "SourceDestCheck.Value", true)));
	if (call_has(call, "AssociatePublicIpAddress"))
		json_object_set_new(interface, "_autoPublic",
			json_boolean(call_bool(call, "AssociatePublicIpAddress", false) &&
				     (json_object_get(interface, "attachment") ||
					     doc_int(call->sim->knobs, "detached_public_ip"))));
	return modify_attachment(call, interface);
}

/* AssociatePublicIpAddress may be set for any interface and takes effect if it is the primary one
 * of an instance (EC2 API, ModifyNetworkInterfaceAttribute): immediately, or when the instance
 * starts. */
static void follow_public(RgSimCall *call, const json_t *interface)
{
	const json_t *attachment = json_object_get(interface, "attachment");
	bool on = doc_is(interface, "_autoPublic");
	if (!attachment || doc_int(attachment, "deviceIndex") != 0 ||
		doc_int(attachment, "networkCardIndex") != 0)
		return;
	json_t *instance =
		rg_sim_edit(call->place, EC2_INSTANCE, doc_str(attachment, "instanceId"));
	if (!instance)
		return;
	const char *state = ec2_instance_state(instance);
	bool runs = g_str_equal(state, "pending") || g_str_equal(state, "running");
	json_object_set_new(instance, "_public", json_boolean(on));
	rg_sim_put(call->place, EC2_INSTANCE, instance);
	if (runs && on != (json_object_get(interface, "association") != NULL))
		ec2_interface_set_public(call->place, doc_str(interface, "networkInterfaceId"), on);
}

static bool modify_interface(RgSimCall *call)
{
	const char *id = call_str(call, "NetworkInterfaceId");
	if (!ec2_find(call, EC2_INTERFACE, id))
		return false;
	json_auto_t *interface = rg_sim_edit(call->place, EC2_INTERFACE, id);
	if (!modify_members(call, interface) || !ec2_go(call))
		return false;
	rg_sim_put(call->place, EC2_INTERFACE, json_incref(interface));
	if (call_has(call, "AssociatePublicIpAddress"))
		follow_public(call, interface);
	ec2_instance_refresh(
		call->place, doc_str(json_object_get(interface, "attachment"), "instanceId"));
	return ec2_done(call);
}

static bool describe_interfaces(RgSimCall *call)
{
	static const Ec2Filter filters[] = {{"network-interface-id", "networkInterfaceId"},
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
		{"association.public-ip", "association.publicIp"}, {NULL}};
	static const Ec2Listing listing = {
		"networkInterfaceSet", EC2_INTERFACE, "NetworkInterfaceId", filters};
	return ec2_describe(call, &listing);
}

const RgSimAction ec2_interface_actions[] = {
	{"CreateNetworkInterface", create_interface, true,
		"DryRun ClientToken Description InterfaceType PrivateIpAddress SecurityGroupId "
		"SubnetId TagSpecification"},
	{"DeleteNetworkInterface", delete_interface, true, "DryRun NetworkInterfaceId"},
	{"DescribeNetworkInterfaces", describe_interfaces, false, "NetworkInterfaceId" PAGED},
	{"ModifyNetworkInterfaceAttribute", modify_interface, true,
		"AssociatePublicIpAddress Attachment.AttachmentId Attachment.DeleteOnTermination "
		"Description DryRun NetworkInterfaceId SecurityGroupId SourceDestCheck"},
	{NULL},
};
