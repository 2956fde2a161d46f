/* lower: the fitted cluster (src/fit/README.md) -> desired resources. Pure. */
#include "common/lower.h"
#include "ssh/ssh.h"

#define DISK_DEFAULT_GB 100 /* of a spec that says nothing */

/* What cannot be asked of a machine that is there. */
static void check(ModLowering *lowering, const json_t *node)
{
	const json_t *disk = json_object_get(node, "disk");
	const json_t *network = json_object_get(node, "network");
	if (g_str_equal(mod_str(json_object_get(node, "offer"), "market"), "spot"))
		mod_lower_refuse(lowering, node, "/market", "remove `market`",
			"machines that are there are not sold as spot");
	if (*mod_str(disk, "type") || mod_int(disk, "size_gb") != DISK_DEFAULT_GB)
		mod_lower_refuse(lowering, node, "/disk", "remove `disk`",
			"the disks of a machine that is there are what they are");
	if (json_is_true(json_object_get(network, "public_ip")))
		mod_lower_refuse(lowering, node, "/public_ip", "remove it",
			"a machine that is there keeps its addresses");
	if (mod_int(network, "rdma") > 0)
		mod_lower_refuse(lowering, node, "/network/rdma", "remove `rdma`",
			"RDMA devices of machines that are there are not supported");
}

static void add_node(ModLowering *lowering, const json_t *node)
{
	const json_t *offer = json_object_get(node, "offer");
	json_t *attributes = json_pack("{s:s, s:s}", "shape", mod_str(offer, "instance_type"),
		"rack", mod_str(offer, "zone"));
	json_t *labels = json_object_get(json_object_get(node, "config"), "labels");
	if (json_object_size(labels))
		json_object_set(attributes, "labels", labels);
	json_object_set_new(attributes, "script",
		mod_lower_with_head(
			lowering, json_object_get(json_object_get(node, "boot"), "script")));
	check(lowering, node);
	mod_lower_add_node(lowering, node, attributes);
}

rgp_status ssh_lower(const ModCall *call, const json_t *input)
{
	ModLowering lowering = {.talk = &call->talk,
		.fitted = input,
		.node_kind = SSH_NODE,
		.head = SSH_NODE ".head",
		.head_attribute = "address"};
	mod_foreach (node, json_object_get(input, "nodes"))
		add_node(&lowering, node);
	return mod_lower_give(&lowering);
}
