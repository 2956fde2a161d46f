/* lower: the fitted cluster (src/fit/README.md) -> desired resources. Pure. */
#include "aws/efa.h"
#include "aws/instance.h"
#include <string.h>

typedef struct {
	const AwsCall *call;
	const json_t *fitted;
	json_t *resources;
	rgp_status status;
} Lowering;

static const json_t *setting(const Lowering *lowering, const char *name)
{
	const json_t *scope = json_object_get(lowering->fitted, "scope");
	return json_object_get(json_object_get(scope, "config"), name);
}

/* Our own group, and the user's. */
static json_t *groups(const Lowering *lowering)
{
	json_t *list = json_pack("[{s:s, s:s}]", "$ref", AWS_GROUP_ADDRESS, "attr", "group_id");
	json_array_extend(list, mod_unconst(setting(lowering, "security_groups")));
	return list;
}

/* The spec's labels and a Name, unless the labels contain one. */
static json_t *tags_for(const Lowering *lowering, const char *name)
{
	json_t *tags = json_copy(json_object_get(lowering->fitted, "labels"));
	if (!tags)
		tags = json_object();
	if (!json_object_get(tags, "Name")) {
		g_autofree char *text =
			g_strdup_printf("%s-%s", mod_str(lowering->fitted, "cluster"), name);
		json_object_set_new(tags, "Name", json_string(text));
	}
	return tags;
}

/* boot does not know which resource carries the head's address and writes "@head". */
static json_t *with_head(const json_t *value)
{
	size_t i;
	json_t *member;
	const char *key;
	json_t *copy;
	if (json_is_array(value)) {
		copy = json_array();
		json_array_foreach (value, i, member)
			json_array_append_new(copy, with_head(member));
		return copy;
	}
	if (!json_is_object(value))
		return json_incref(mod_unconst(value));
	copy = json_object();
	json_object_foreach (mod_unconst(value), key, member)
		json_object_set_new(copy, key, with_head(member));
	if (g_str_equal(mod_str(copy, "$ref"), "@head"))
		json_object_update_new(copy,
			json_pack("{s:s, s:s}", "$ref", AWS_HEAD_INTERFACE, "attr", "private_ip"));
	return copy;
}

static void collect_refs(const json_t *value, GPtrArray *refs)
{
	size_t i;
	json_t *member;
	const char *key;
	json_array_foreach (value, i, member)
		collect_refs(member, refs);
	const char *ref = mod_str(value, "$ref");
	if (*ref && !g_ptr_array_find_with_equal_func(refs, ref, g_str_equal, NULL))
		g_ptr_array_add(refs, (char *)(uintptr_t)ref);
	json_object_foreach (mod_unconst(value), key, member)
		collect_refs(member, refs);
}

typedef struct {
	const char *kind, *name, *origin, *group; /* group NULL: not of a pool */
	json_t *indexes;			  /* of a pool's nodes; NULL: none */
	json_t *attributes, *depends_on;
} Wanted;

static json_t *depends_on(const json_t *attributes)
{
	g_autoptr(GPtrArray) refs = g_ptr_array_new();
	collect_refs(attributes, refs);
	g_ptr_array_sort(refs, mod_compare_texts);
	json_t *list = json_array();
	for (guint i = 0; i < refs->len; i++)
		json_array_append_new(list, json_string(refs->pdata[i]));
	return list;
}

static void add(Lowering *lowering, const Wanted *wanted)
{
	g_autofree char *address = g_strdup_printf("%s.%s", wanted->kind, wanted->name);
	json_t *resource = json_pack("{s:s, s:s, s:s, s:n, s:s?, s:s, s:O, s:O}", "address",
		address, "kind", wanted->kind, "name", wanted->name, "index", "group",
		wanted->group, "origin", wanted->origin, "attributes", wanted->attributes,
		"depends_on", wanted->depends_on);
	if (wanted->indexes)
		json_object_set(resource, "indexes", wanted->indexes);
	if (g_str_equal(wanted->kind, AWS_INSTANCE))
		json_object_set_new(resource, "nodes",
			json_pack("[{s:s, s:s, s:i}]", "pool", wanted->group, "role",
				wanted->indexes ? "worker" : "head", "count", 1));
	json_array_append_new(lowering->resources, resource);
}

static void add_single(Lowering *lowering, const char *kind, const char *name, const char *origin,
	json_t *attributes)
{
	json_auto_t *owned = attributes;
	json_auto_t *dependencies = depends_on(attributes);
	const Wanted wanted = {
		.kind = kind,
		.name = name,
		.origin = origin,
		.attributes = owned,
		.depends_on = dependencies,
	};
	add(lowering, &wanted);
}

static bool has_efa(const Lowering *lowering)
{
	const json_t *node;
	size_t i;
	json_array_foreach (json_object_get(lowering->fitted, "nodes"), i, node)
		if (mod_int(json_object_get(node, "network"), "rdma") > 0)
			return true;
	return false;
}

/* What resolve found (network.c). */
static const json_t *network_of(const Lowering *lowering)
{
	return json_object_get(json_object_get(lowering->fitted, "facts"), "module");
}

static void add_group(Lowering *lowering)
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
	add_single(lowering, AWS_GROUP, "nodes", "/provider",
		json_pack("{s:s, s:s, s:[{s:s, s:s}], s:o, s:o}", "description", description,
			"vpc_id", mod_str(network_of(lowering), "vpc_id"), "ingress", "protocol",
			"all", "source", "self", "egress", rules, "tags",
			tags_for(lowering, "nodes")));
}

/* Port 22 of the head, for the networks of the spec: a group of its own, so that it is never open
 * on the workers. */
static void add_ssh_group(Lowering *lowering)
{
	const json_t *networks = setting(lowering, "ssh_from"), *network;
	json_t *ingress = json_array();
	size_t i;
	json_array_foreach (networks, i, network)
		json_array_append_new(
			ingress, json_pack("{s:s, s:i, s:i, s:s}", "protocol", "tcp", "from_port",
					 22, "to_port", 22, "source", json_string_value(network)));
	g_autofree char *description = g_strdup_printf(
		"ssh to the head of raygpu cluster %s", mod_str(lowering->fitted, "cluster"));
	add_single(lowering, AWS_GROUP, "ssh", "/provider",
		json_pack("{s:s, s:s, s:o, s:[{s:s, s:s}], s:o}", "description", description,
			"vpc_id", mod_str(network_of(lowering), "vpc_id"), "ingress", ingress,
			"egress", "protocol", "all", "source", "0.0.0.0/0", "tags",
			tags_for(lowering, "ssh")));
}

static json_t *head_groups(Lowering *lowering)
{
	json_t *list = groups(lowering);
	if (!setting(lowering, "ssh_from"))
		return list;
	add_ssh_group(lowering);
	json_array_append_new(
		list, json_pack("{s:s, s:s}", "$ref", AWS_GROUP ".ssh", "attr", "group_id"));
	return list;
}

static const char *subnet_of(Lowering *lowering, const json_t *node)
{
	const char *zone = mod_str(json_object_get(node, "offer"), "zone");
	const char *subnet = mod_str(json_object_get(network_of(lowering), "subnets"), zone);
	if (*subnet || lowering->status != RGP_OK)
		return subnet;
	g_autofree char *summary = g_strdup_printf("the network has no subnet in zone %s", zone);
	mod_report_origin(&lowering->call->talk, RGP_CLASS_INVALID, mod_str(node, "origin"),
		summary,
		"use other zones, or add a subnet there to provider.subnets (of the default VPC: "
		"`aws ec2 create-default-subnet --availability-zone ZONE`)");
	lowering->status = RGP_FAIL;
	return subnet;
}

static void add_interface(Lowering *lowering, const json_t *node)
{
	g_autofree char *description = g_strdup_printf(
		"address of the head of raygpu cluster %s", mod_str(lowering->fitted, "cluster"));
	json_t *attributes = json_pack("{s:s, s:o, s:s, s:o}", "subnet_id",
		subnet_of(lowering, node), "security_groups", head_groups(lowering), "description",
		description, "tags", tags_for(lowering, "head"));
	if (json_is_true(json_object_get(json_object_get(node, "network"), "public_ip")))
		json_object_set_new(attributes, "public_ip", json_true());
	add_single(lowering, AWS_INTERFACE, "head", mod_str(node, "origin"), attributes);
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

static void set_market(json_t *attributes, const json_t *offer)
{
	int64_t max = mod_int(offer, "max_price_microusd_hour");
	if (!g_str_equal(mod_str(offer, "market"), "spot"))
		return;
	json_object_set_new(attributes, "market", json_string("spot"));
	if (max > 0)
		json_object_set_new(attributes, "spot_max_price", price_text(max));
}

/* The attributes for RunInstances, for the head and for workers. */
static json_t *instance_attributes(Lowering *lowering, const json_t *node)
{
	const json_t *offer = json_object_get(node, "offer"), *disk = json_object_get(node, "disk");
	const json_t *image = json_object_get(node, "image");
	json_t *attributes = json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:o}",
		"instance_type", mod_str(offer, "instance_type"), "image_id", mod_str(image, "id"),
		"subnet_id", subnet_of(lowering, node), "availability_zone", mod_str(offer, "zone"),
		"root_device", mod_str(image, "root_device"), "disk_encrypted", true, "http_tokens",
		"required", "instance_state", "running", "tags",
		tags_for(lowering, mod_str(node, "pool")));
	if (mod_int(disk, "size_gb"))
		json_object_set(attributes, "disk_size_gb", json_object_get(disk, "size_gb"));
	if (*mod_str(disk, "type"))
		json_object_set(attributes, "disk_type", json_object_get(disk, "type"));
	if (mod_int(disk, "iops"))
		json_object_set(attributes, "disk_iops", json_object_get(disk, "iops"));
	if (mod_int(disk, "throughput_mib_s"))
		json_object_set(
			attributes, "disk_throughput", json_object_get(disk, "throughput_mib_s"));
	set_market(attributes, offer);
	if (setting(lowering, "key_name"))
		json_object_set(attributes, "key_name", mod_unconst(setting(lowering, "key_name")));
	const char *profile = json_string_value(setting(lowering, "instance_profile"));
	aws_instance_profile_set(attributes, profile ? profile : "");
	const json_t *user_data = json_object_get(json_object_get(node, "boot"), "user_data");
	if (user_data)
		json_object_set_new(attributes,
			json_object_get(user_data, "$gzip_base64") ? "user_data_base64"
								   : "user_data",
			with_head(user_data));
	return attributes;
}

static void add_head(Lowering *lowering, const json_t *node)
{
	json_auto_t *attributes = instance_attributes(lowering, node);
	json_object_set_new(attributes, "network_interface",
		json_pack(
			"{s:s, s:s}", "$ref", AWS_HEAD_INTERFACE, "attr", "network_interface_id"));
	json_auto_t *dependencies = depends_on(attributes);
	const Wanted wanted = {
		.kind = AWS_INSTANCE,
		.name = "head",
		.origin = mod_str(node, "origin"),
		.group = "head",
		.attributes = attributes,
		.depends_on = dependencies,
	};
	add(lowering, &wanted);
}

/* One group per pool, however many groups of equal nodes the pool has. */
static void add_placement(Lowering *lowering, const json_t *node, json_t *attributes)
{
	const char *pool = mod_str(node, "pool");
	if (!*mod_str(json_object_get(node, "network"), "placement"))
		return;
	g_autofree char *address = g_strconcat(AWS_PLACEMENT ".", pool, NULL);
	g_autofree char *origin = g_strconcat(mod_str(node, "origin"), "/network", NULL);
	json_object_set_new(attributes, "placement_group",
		json_pack("{s:s, s:s}", "$ref", address, "attr", "group_name"));
	const json_t *other;
	size_t i;
	json_array_foreach (lowering->resources, i, other)
		if (g_str_equal(mod_str(other, "address"), address))
			return;
	add_single(lowering, AWS_PLACEMENT, pool, origin,
		json_pack("{s:s, s:o}", "strategy", "cluster", "tags", tags_for(lowering, pool)));
}

/* EFA interfaces, and a public address, which is not possible with several interfaces. */
static void set_network(Lowering *lowering, const json_t *node, json_t *attributes)
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
	g_autofree char *origin = g_strconcat(mod_str(node, "origin"), "/public_ip", NULL);
	g_autofree char *summary = g_strdup_printf("EC2 does not assign a public address to an "
						   "instance with several interfaces, and %s has "
						   "%" JSON_INTEGER_FORMAT " with EFA",
		type, aws_efa_count(type, efa));
	mod_report_origin(&lowering->call->talk, RGP_CLASS_INVALID, origin, summary,
		"remove `public_ip` (a NAT gateway lets nodes fetch images), or remove `rdma`");
	lowering->status = RGP_FAIL;
}

static void add_workers(Lowering *lowering, const json_t *node)
{
	json_auto_t *attributes = instance_attributes(lowering, node);
	json_object_set_new(attributes, "security_groups", groups(lowering));
	add_placement(lowering, node, attributes);
	set_network(lowering, node, attributes);
	json_auto_t *dependencies = depends_on(attributes);
	const Wanted wanted = {
		.kind = AWS_INSTANCE,
		.name = mod_str(node, "pool"),
		.origin = mod_str(node, "origin"),
		.group = mod_str(node, "pool"),
		.indexes = json_object_get(node, "indexes"),
		.attributes = attributes,
		.depends_on = dependencies,
	};
	if (json_array_size(wanted.indexes))
		add(lowering, &wanted);
}

rgp_status aws_lower(const AwsCall *call, const json_t *input)
{
	json_auto_t *resources = json_array();
	Lowering lowering = {.call = call, .fitted = input, .resources = resources};
	const json_t *nodes = json_object_get(input, "nodes"), *node;
	size_t i;
	add_group(&lowering);
	json_array_foreach (nodes, i, node) {
		if (g_str_equal(mod_str(node, "role"), "head")) {
			add_interface(&lowering, node);
			add_head(&lowering, node);
		} else {
			add_workers(&lowering, node);
		}
	}
	if (lowering.status != RGP_OK)
		return lowering.status;
	return mod_give(&call->talk, "resources", json_incref(resources));
}
