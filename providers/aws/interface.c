/* The kind aws.network_interface: the head's address, which outlives the head. */
#include "aws/kinds.h"
#include <string.h>

static const AwsShape group_members[] = {{"groupId"}, {0}};
static const AwsShape group_set[] = {{"item", group_members}, {0}};
static const AwsShape association_members[] = {{"ipOwnerId"}, {0}};
static const AwsShape interface_members[] = {
	{"networkInterfaceId"},
	{"subnetId"},
	{"description"},
	{"privateIpAddress"},
	{"status"},
	{"groupSet", group_set},
	{"association", association_members},
	{"tagSet", aws_tag_set},
	{0},
};
static const AwsShape interface_set[] = {{"item", interface_members, AWS_RECORD}, {0}};
static const AwsShape describe_members[] = {
	{"networkInterfaceSet", interface_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_interfaces = {"DescribeNetworkInterfacesResponse", describe_members};
static const AwsShape create_members[] = {{"networkInterface", interface_members}, {0}};
static const AwsShape create_interface = {"CreateNetworkInterfaceResponse", create_members};

static const Ec2Code young_codes[] = {
	{"InvalidGroup.NotFound", NULL, 60},
	{"InvalidSecurityGroupID.NotFound", NULL, 60},
	{"InvalidSubnetID.NotFound", NULL, 10},
	{"InvalidNetworkInterfaceID.NotFound", NULL, 30},
	{0},
};

static void interface_read(const json_t *record, AwsSeen *seen)
{
	json_t *groups = json_array();
	mod_foreach (group, json_object_get(record, "groupSet"))
		json_array_append_new(groups, json_string(mod_str(group, "groupId")));
	/* RunInstances' record has tagSet, CreateNetworkInterface's too */
	json_t *tags = aws_marks_read(json_object_get(record, "tagSet"), &seen->marks);
	seen->id = mod_str(record, "networkInterfaceId");
	seen->attributes = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "network_interface_id",
		seen->id, "subnet_id", mod_str(record, "subnetId"), "description",
		mod_str(record, "description"), "private_ip", mod_str(record, "privateIpAddress"),
		"security_groups", groups, "tags", tags);
	seen->status = mod_str(record, "status");
	/* an Elastic IP's owner is the account, and a free interface has no address to report */
	if (g_str_equal(seen->status, "in-use"))
		json_object_set_new(seen->attributes, "public_ip",
			json_boolean(g_str_equal(
				mod_str(json_object_get(record, "association"), "ipOwnerId"),
				"amazon")));
}

static void interface_readiness(const AwsCall *call, const json_t *record, ModFailure *failure)
{
	const char *status = mod_str(record, "status");
	if (strcmp(status, "available") && strcmp(status, "in-use"))
		mod_failure_set(failure, RGP_CLASS_TRANSIENT, NULL, "it is %s", status);
}

static bool interface_may_miss(const json_t *item)
{
	return json_is_true(json_object_get(json_object_get(item, "recorded"), "public_ip"));
}

/* Whether AssociatePublicIpAddress holds when it is set for a detached interface is not documented;
 * an instance that runs with it shows what came of it. */
static json_t *interface_missed(const json_t *item, const AwsSeen *seen, ModFailure *failure)
{
	json_t *missed = json_array();
	const json_t *there = json_object_get(seen->attributes, "public_ip");
	if (!json_is_true(json_object_get(item, "in_use")))
		return missed;
	if (!there)
		mod_failure_set(failure, RGP_CLASS_TRANSIENT, NULL, "it is %s", seen->status);
	else if (!json_is_true(there))
		json_array_append_new(missed, json_string("public_ip"));
	return missed;
}

/* One attribute per request: EC2 accepts no more. */
static rgp_status modify(
	const AwsCall *call, const char *id, const char *name, json_t *value, ModFailure *failure)
{
	json_auto_t *params = json_pack("{s:s, s:o}", "NetworkInterfaceId", id, name, value);
	const Ec2Request request = {.action = "ModifyNetworkInterfaceAttribute", .params = params};
	g_auto(Ec2Reply) reply = {0};
	rgp_status status = ec2_send_waiting(call, &request, young_codes, &reply);
	if (status == RGP_OK && reply.failure.class_ != RGP_CLASS_OK)
		mod_failure_copy(failure, &reply.failure);
	return status;
}

/* The interface exists without its public address: sent again with its token, the create completes
 * it. */
static rgp_status give_incomplete(
	const AwsCall *call, const json_t *items, const char *id, ModFailure *failure)
{
	failure->definite = false;
	return mod_give_failed(
		&call->talk, mod_str(json_array_get(items, 0), "address"), id, failure);
}

static rgp_status interface_create(const AwsCall *call, const json_t *input)
{
	const json_t *attributes = json_object_get(input, "attributes");
	const json_t *items = json_object_get(input, "items");
	json_auto_t *tags = aws_marks_tags(input);
	json_auto_t *params = json_pack("{s:s, s:s, s:O?, s:s, s:[o]}", "SubnetId",
		mod_str(attributes, "subnet_id"), "Description", mod_str(attributes, "description"),
		"SecurityGroupId", json_object_get(attributes, "security_groups"), "ClientToken",
		mod_str(input, "token"), "TagSpecification",
		aws_marks_spec("network-interface", tags));
	const Ec2Request request = {
		.action = "CreateNetworkInterface", .params = params, .shape = &create_interface};
	g_auto(Ec2Reply) reply = {0};
	rgp_status status = ec2_send_waiting(call, &request, young_codes, &reply);
	if (status != RGP_OK)
		return status;
	g_auto(AwsSeen) seen = {0};
	interface_read(json_object_get(reply.reply, "networkInterface"), &seen);
	if (reply.failure.class_ == RGP_CLASS_OK && !*seen.id)
		mod_failure_set(&reply.failure, RGP_CLASS_UNKNOWN, NULL,
			"the answer contains no interface id");
	if (reply.failure.class_ == RGP_CLASS_GONE)
		reply.failure.class_ = RGP_CLASS_INVALID;
	if (reply.failure.class_ != RGP_CLASS_OK)
		return mod_fail_items(call, items, &reply.failure);
	if (json_is_true(json_object_get(attributes, "public_ip")))
		status = modify(
			call, seen.id, "AssociatePublicIpAddress", json_true(), &reply.failure);
	if (status != RGP_OK)
		return status;
	if (reply.failure.class_ != RGP_CLASS_OK)
		return give_incomplete(call, items, seen.id, &reply.failure);
	return mod_give_item(&call->talk, mod_str(json_array_get(items, 0), "address"), "done",
		seen.id,
		json_pack("{s:s, s:O}", "network_interface_id", seen.id, "private_ip",
			json_object_get(seen.attributes, "private_ip")));
}

/* One attribute per request; stops at the first that fails. */
static rgp_status update_one(const AwsCall *call, const json_t *item, ModFailure *failure)
{
	const json_t *wanted = json_object_get(item, "attributes");
	const char *id = mod_str(item, "id");
	rgp_status status = RGP_OK;
	if (mod_is_changed(item, "security_groups"))
		status = modify(call, id, "SecurityGroupId",
			json_incref(json_object_get(wanted, "security_groups")), failure);
	if (status == RGP_OK && mod_is_changed(item, "description"))
		status = modify(call, id, "Description",
			json_pack("{s:s}", "Value", mod_str(wanted, "description")), failure);
	if (status == RGP_OK && mod_is_changed(item, "public_ip"))
		status = modify(call, id, "AssociatePublicIpAddress",
			json_boolean(json_is_true(json_object_get(wanted, "public_ip"))), failure);
	return status;
}

static rgp_status interface_update(const AwsCall *call, AwsUpdate *update)
{
	rgp_status status = RGP_OK;
	for (size_t i = 0; i < json_array_size(update->items) && status == RGP_OK; i++)
		status = update_one(call, json_array_get(update->items, i), &update->failures[i]);
	return status;
}

static rgp_status interface_remove(const AwsCall *call, const json_t *items)
{
	/* an interface is free when the instance that holds it has terminated */
	static const Ec2Code busy[] = {
		{"InvalidNetworkInterface.InUse"},
		{"InvalidParameterValue", "in use"},
		{"DependencyViolation"},
		{0},
	};
	static const Ec2Code gone[] = {{"InvalidNetworkInterfaceID.NotFound", NULL, 10}, {0}};
	return aws_delete_each(
		call, items, "DeleteNetworkInterface", "NetworkInterfaceId", busy, gone);
}

static const char *const changeable[] = {
	"tags", "marks", "security_groups", "description", "public_ip", NULL};

const AwsKind aws_interface_kind = {
	.kind = {AWS_INTERFACE, changeable},
	.describe = "DescribeNetworkInterfaces",
	.id_filter = "network-interface-id",
	.token_filter = "tag:" AWS_MARK_PREFIX "token",
	.shape = &describe_interfaces,
	.page = 1000,
	.shares_lineage = true,
	.read = interface_read,
	.readiness = interface_readiness,
	.missed = interface_missed,
	.may_miss = interface_may_miss,
	.create = interface_create,
	.update = interface_update,
	.remove = interface_remove,
};
