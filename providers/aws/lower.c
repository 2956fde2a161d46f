/* lower: the fitted cluster (src/fit/README.md) -> desired resources. Pure. */
#include "aws/efa.h"
#include "aws/instance.h"
#include "common/lower.h"
#include <string.h>

/* Our own group, and the user's. */
static json_t *groups(const ModLowering *lowering)
{
	json_t *list = json_pack("[o]", mod_lower_ref(AWS_GROUP_ADDRESS, "group_id"));
	json_array_extend(list, mod_unconst(mod_lower_setting(lowering, "security_groups")));
	return list;
}

/* The spec's labels and a Name, unless the labels contain one. */
static json_t *tags_for(const ModLowering *lowering, const char *name)
{
	json_t *tags = mod_lower_labels(lowering);
	if (!json_object_get(tags, "Name")) {
		g_autofree char *text =
			g_strdup_printf("%s-%s", mod_str(lowering->fitted, "cluster"), name);
		json_object_set_new(tags, "Name", json_string(text));
	}
	return tags;
}

static bool has_efa(const ModLowering *lowering)
{
	mod_foreach (node, json_object_get(lowering->fitted, "nodes"))
		if (mod_int(json_object_get(node, "network"), "rdma") > 0)
			return true;
	return false;
}

static void add_group(ModLowering *lowering)
{
	const char *cluster = mod_str(lowering->fitted, "cluster");
	g_autofree char *description =
		g_strdup_printf("raygpu cluster %s: between its nodes only", cluster);
	/* EFA traffic is not IP traffic: a rule for 0.0.0.0/0 does not let it out, one that names
	 * the group does (EC2 user guide, "Prepare an EFA-enabled security group"). */
	json_t *rules = json_pack("[{s:s, s:s}]", "protocol", "all", "source", "0.0.0.0/0");
	if (has_efa(lowering))
		json_array_append_new(
			rules, json_pack("{s:s, s:s}", "protocol", "all", "source", "self"));
	mod_lower_add(lowering, AWS_GROUP, "nodes", "/provider",
		json_pack("{s:s, s:s, s:[{s:s, s:s}], s:o, s:o}", "description", description,
			"vpc_id", mod_str(mod_lower_facts(lowering), "vpc_id"), "ingress",
			"protocol", "all", "source", "self", "egress", rules, "tags",
			tags_for(lowering, "nodes")));
}

/* Port 22 of the head, for the networks of the spec: a group of its own, so that it is never open
 * on the workers. */
static void add_ssh_group(ModLowering *lowering)
{
	const json_t *networks = mod_lower_setting(lowering, "ssh_from"), *network;
	json_t *ingress = json_array();
	size_t i;
	json_array_foreach (networks, i, network)
		json_array_append_new(
			ingress, json_pack("{s:s, s:i, s:i, s:s}", "protocol", "tcp", "from_port",
					 22, "to_port", 22, "source", json_string_value(network)));
	g_autofree char *description = g_strdup_printf(
		"ssh to the head of raygpu cluster %s", mod_str(lowering->fitted, "cluster"));
	mod_lower_add(lowering, AWS_GROUP, "ssh", "/provider",
		json_pack("{s:s, s:s, s:o, s:[{s:s, s:s}], s:o}", "description", description,
			"vpc_id", mod_str(mod_lower_facts(lowering), "vpc_id"), "ingress", ingress,
			"egress", "protocol", "all", "source", "0.0.0.0/0", "tags",
			tags_for(lowering, "ssh")));
}

static json_t *head_groups(ModLowering *lowering)
{
	json_t *list = groups(lowering);
	if (!mod_lower_setting(lowering, "ssh_from"))
		return list;
	add_ssh_group(lowering);
	json_array_append_new(list, mod_lower_ref(AWS_GROUP ".ssh", "group_id"));
	return list;
}

static const char *subnet_of(ModLowering *lowering, const json_t *node)
{
	const char *zone = mod_str(json_object_get(node, "offer"), "zone");
	const char *subnet = mod_str(json_object_get(mod_lower_facts(lowering), "subnets"), zone);
	if (*subnet || lowering->status != RGP_OK)
		return subnet;
	mod_lower_refuse(lowering, node, "",
		"use other zones, or add a subnet there to provider.subnets (of the default VPC: "
		"`aws ec2 create-default-subnet --availability-zone ZONE`)",
		"the network has no subnet in zone %s", zone);
	return subnet;
}

static void add_interface(ModLowering *lowering, const json_t *node)
{
	g_autofree char *description = g_strdup_printf(
		"address of the head of raygpu cluster %s", mod_str(lowering->fitted, "cluster"));
	json_t *attributes = json_pack("{s:s, s:o, s:s, s:o}", "subnet_id",
		subnet_of(lowering, node), "security_groups", head_groups(lowering), "description",
		description, "tags", tags_for(lowering, "head"));
	if (json_is_true(json_object_get(json_object_get(node, "network"), "public_ip")))
		json_object_set_new(attributes, "public_ip", json_true());
	mod_lower_add(lowering, AWS_INTERFACE, "head", mod_str(node, "origin"), attributes);
}

/* USD per hour in RunInstances' form: "1.5". */
static json_t *price_text(int64_t microusd)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_string_printf(
		text, "%" G_GINT64_FORMAT ".%06d", microusd / 1000000, (int)(microusd % 1000000));
	while (g_str_has_suffix(text->str, "0"))
		g_string_truncate(text, text->len - 1);
	if (g_str_has_suffix(text->str, "."))
		g_string_truncate(text, text->len - 1);
	return json_string(text->str);
}

/* A Capacity Block is a market of its own (RunInstances' MarketType), another reservation is on
 * demand. */
static bool is_block(const ModLowering *lowering, const char *id)
{
	const json_t *facts = json_object_get(lowering->fitted, "facts");
	const json_t *known = json_object_get(json_object_get(facts, "reservations"), id);
	return json_is_true(json_object_get(known, "prepaid"));
}

static void set_reservation(const ModLowering *lowering, json_t *attributes, const char *id)
{
	json_object_set_new(attributes, "capacity_reservation", json_string(id));
	if (is_block(lowering, id))
		json_object_set_new(attributes, "market", json_string(AWS_BLOCK));
}

static void set_market(const ModLowering *lowering, json_t *attributes, const json_t *offer)
{
	const char *reservation = mod_str(offer, "reservation");
	if (*reservation)
		set_reservation(lowering, attributes, reservation);
	int64_t max = mod_int(offer, "max_price_microusd_hour");
	if (!g_str_equal(mod_str(offer, "market"), "spot"))
		return;
	json_object_set_new(attributes, "market", json_string("spot"));
	if (max > 0)
		json_object_set_new(attributes, "spot_max_price", price_text(max));
}

/* EC2 takes threads and cores together only (CpuOptionsRequest), and neither for bare metal (EC2
 * user guide, "Rules for specifying CPU options"). Types with one thread on each core have nothing
 * to switch off. */
static void set_threads(ModLowering *lowering, const json_t *node, json_t *attributes)
{
	json_int_t threads = mod_int(json_object_get(node, "config"), "threads_per_core");
	json_int_t vcpus = mod_int(json_object_get(node, "offer"), "vcpus");
	const char *type = mod_str(attributes, "instance_type");
	if (!threads || !aws_instance_has_threads(type))
		return;
	if (strstr(type, ".metal"))
		mod_lower_refuse(lowering, node, "/provider/threads_per_core",
			"remove it, or use a type that is not bare metal",
			"%s is bare metal, for which EC2 takes no threads_per_core", type);
	else if (vcpus < 2)
		mod_lower_refuse(lowering, node, "/provider/threads_per_core",
			"remove it, or give the type its vcpus in `catalog` of raygpu.yaml",
			"the number of cores of %s is not known", type);
	json_object_set_new(attributes, "threads_per_core", json_integer(threads));
	json_object_set_new(attributes, "core_count", json_integer(vcpus / 2));
}

/* The attributes for RunInstances, for the head and for workers. */
static json_t *instance_attributes(ModLowering *lowering, const json_t *node)
{
	const json_t *offer = json_object_get(node, "offer"), *disk = json_object_get(node, "disk");
	const json_t *image = json_object_get(node, "image");
	json_t *attributes = json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:s, s:o}",
		"instance_type", mod_str(offer, "instance_type"), "image_id", mod_str(image, "id"),
		"subnet_id", subnet_of(lowering, node), "availability_zone", mod_str(offer, "zone"),
		"root_device", mod_str(image, "root_device"), "disk_encrypted", true, "http_tokens",
		"required", "http_endpoint", "enabled", "instance_state", "running", "tags",
		tags_for(lowering, mod_str(node, "pool")));
	mod_lower_disk(node, attributes);
	if (mod_int(disk, "iops"))
		json_object_set(attributes, "disk_iops", json_object_get(disk, "iops"));
	if (mod_int(disk, "throughput_mib_s"))
		json_object_set(
			attributes, "disk_throughput", json_object_get(disk, "throughput_mib_s"));
	set_market(lowering, attributes, offer);
	set_threads(lowering, node, attributes);
	if (mod_lower_setting(lowering, "key_name"))
		json_object_set(attributes, "key_name",
			mod_unconst(mod_lower_setting(lowering, "key_name")));
	const char *profile = json_string_value(mod_lower_setting(lowering, "instance_profile"));
	aws_instance_profile_set(attributes, profile ? profile : "");
	mod_lower_user_data(lowering, node, attributes);
	aws_lease_lower(node, attributes);
	return attributes;
}

/* A Capacity Block has its instances close together and takes no placement group (EC2 user guide,
 * "Work with Capacity Blocks"). */
static void add_placement(ModLowering *lowering, const json_t *node, json_t *attributes)
{
	json_t *tags = tags_for(lowering, mod_str(node, "pool"));
	const ModPlacement group = {AWS_PLACEMENT, "group_name", "placement_group",
		json_pack("{s:s, s:o}", "strategy", "cluster", "tags", tags)};
	if (g_str_equal(mod_str(attributes, "market"), AWS_BLOCK))
		json_decref(group.own);
	else
		mod_lower_place(lowering, node, attributes, &group);
}

/* EFA interfaces, and a public address, which is not possible with several interfaces. */
static void set_network(ModLowering *lowering, const json_t *node, json_t *attributes)
{
	const json_t *network = json_object_get(node, "network");
	const char *type = mod_str(attributes, "instance_type");
	json_int_t efa = mod_int(network, "rdma");
	bool public = json_is_true(json_object_get(network, "public_ip"));
	if (efa > 0)
		json_object_set_new(attributes, "efa_interfaces", json_integer(efa));
	if (public)
		json_object_set_new(attributes, "public_ip", json_true());
	if (!public || efa <= 0 || aws_efa_count(type, efa) == 1 || lowering->status != RGP_OK)
		return;
	mod_lower_refuse(lowering, node, "/public_ip",
		"remove `public_ip` (a NAT gateway lets nodes fetch images), or remove `rdma`",
		"EC2 does not assign a public address to an instance with several interfaces, and "
		"%s has %" JSON_INTEGER_FORMAT " with EFA",
		type, aws_efa_count(type, efa));
}

static void add_node(ModLowering *lowering, const json_t *node)
{
	bool is_head = g_str_equal(mod_str(node, "role"), "head");
	if (is_head)
		add_interface(lowering, node);
	json_t *attributes = instance_attributes(lowering, node);
	if (is_head) {
		json_object_set_new(attributes, "network_interface",
			mod_lower_ref(AWS_HEAD_INTERFACE, "network_interface_id"));
	} else {
		json_object_set_new(attributes, "security_groups", groups(lowering));
		add_placement(lowering, node, attributes);
		set_network(lowering, node, attributes);
	}
	mod_lower_add_node(lowering, node, attributes);
}

/* A reservation reserves capacity in a placement group only if it was made in that group (EC2 user
 * guide, "Use Capacity Reservations with placement groups"), and those made in one are refused
 * (reservation.c). Once for each pool. */
static void warn_of_reservations(const ModLowering *lowering)
{
	const char *last = "";
	mod_foreach (node, json_object_get(lowering->fitted, "nodes")) {
		const json_t *network = json_object_get(node, "network");
		const char *pool = mod_str(node, "pool");
		const char *id = mod_str(json_object_get(node, "offer"), "reservation");
		bool gathered = *mod_str(network, "placement") || mod_int(network, "rdma") > 0;
		if (!*id || !gathered || is_block(lowering, id) || g_str_equal(pool, last))
			continue;
		g_autofree char *origin =
			g_strconcat(mod_str(node, "origin"), "/market/reservation", NULL);
		g_autofree char *summary = g_strdup_printf(
			"%s was not made in the placement group of pool %s: EC2 may not launch its "
			"nodes there",
			id, pool);
		mod_report_warning(lowering->talk, origin, summary,
			"remove `placement` and `rdma`; or use a Capacity Block, whose nodes are "
			"close together without a placement group");
		last = pool;
	}
}

rgp_status aws_lower(const AwsCall *call, const json_t *input)
{
	ModLowering lowering = {
		.talk = &call->talk,
		.fitted = input,
		.node_kind = AWS_INSTANCE,
		.head = AWS_HEAD_INTERFACE,
		.head_attribute = "private_ip",
	};
	const json_t *nodes = json_object_get(input, "nodes");
	aws_lease_warn(&lowering);
	warn_of_reservations(&lowering);
	add_group(&lowering);
	mod_foreach (node, nodes)
		add_node(&lowering, node);
	return mod_lower_give(&lowering);
}
