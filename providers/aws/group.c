/* The kind aws.security_group. CreateSecurityGroup takes no ClientToken (named.h). */
#include "aws/group.h"
#include "aws/form.h"
#include "aws/named.h"
#include <string.h>

static const AwsShape group_members[] = {
	{"groupId"},
	{"groupName"},
	{"groupDescription"},
	{"vpcId"},
	{"ipPermissions", aws_ip_permissions},
	{"ipPermissionsEgress", aws_ip_permissions},
	{"tagSet", aws_tag_set},
	{0},
};
static const AwsShape group_set[] = {{"item", group_members, AWS_RECORD}, {0}};
static const AwsShape describe_members[] = {
	{"securityGroupInfo", group_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_groups = {"DescribeSecurityGroupsResponse", describe_members};
static const AwsShape create_members[] = {{"groupId"}, {0}};
static const AwsShape create_group = {"CreateSecurityGroupResponse", create_members};

static const Ec2Code young_codes[] = {{"InvalidGroup.NotFound", NULL, 60}, {0}};
static const Ec2Code duplicate_codes[] = {{"InvalidGroup.Duplicate"}, {0}};
static const Ec2Code rule_there[] = {{"InvalidPermission.Duplicate"}, {0}};
static const Ec2Code rule_gone[] = {{"InvalidPermission.NotFound"}, {0}};

static void group_read(const json_t *record, AwsSeen *seen)
{
	seen->id = mod_str(record, "groupId");
	json_t *tags = aws_marks_read(json_object_get(record, "tagSet"), &seen->marks);
	seen->attributes = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "group_id", seen->id,
		"group_name", mod_str(record, "groupName"), "description",
		mod_str(record, "groupDescription"), "vpc_id", mod_str(record, "vpcId"), "ingress",
		aws_rules_read(json_object_get(record, "ipPermissions"), seen->id), "egress",
		aws_rules_read(json_object_get(record, "ipPermissionsEgress"), seen->id), "tags",
		tags);
	seen->status = "available";
}

static void group_readiness(const AwsCall *call, const json_t *record, ModFailure *failure)
{
}

/* Adds or removes rules; rules that already exist, or are already gone, are accepted. One request
 * per rule only if the batch was refused because of one of them. */
static rgp_status send_rules(const AwsCall *call, const char *action, const char *group_id,
	const json_t *rules, ModFailure *failure)
{
	const Ec2Code *fine = g_str_has_prefix(action, "Authorize") ? rule_there : rule_gone;
	if (!json_array_size(rules) || failure->class_ != RGP_CLASS_OK)
		return RGP_OK;
	json_auto_t *params = json_pack("{s:s, s:o}", "GroupId", group_id, "IpPermissions",
		aws_rules_params(rules, group_id));
	const Ec2Request request = {.action = action, .params = params};
	g_auto(Ec2Reply) reply = {0};
	rgp_status status = ec2_send_waiting(call, &request, young_codes, &reply);
	if (status != RGP_OK || reply.failure.class_ == RGP_CLASS_OK)
		return status;
	if (!ec2_match(&reply.failure, fine)) {
		mod_failure_copy(failure, &reply.failure);
		return RGP_OK;
	}
	for (size_t i = 0; json_array_size(rules) > 1 && i < json_array_size(rules); i++) {
		json_auto_t *one = json_pack("[O]", json_array_get(rules, i));
		status = send_rules(call, action, group_id, one, failure);
		if (status != RGP_OK)
			return status;
	}
	return RGP_OK;
}

static rgp_status bring_rules(const AwsCall *call, const char *group_id, const char *direction,
	const json_t *prior, const json_t *wanted, ModFailure *failure)
{
	bool in = g_str_equal(direction, "ingress");
	json_auto_t *add = aws_rules_without(wanted, prior);
	json_auto_t *take = aws_rules_without(prior, wanted);
	rgp_status status = send_rules(call,
		in ? "AuthorizeSecurityGroupIngress" : "AuthorizeSecurityGroupEgress", group_id,
		add, failure);
	if (status != RGP_OK)
		return status;
	return send_rules(call, in ? "RevokeSecurityGroupIngress" : "RevokeSecurityGroupEgress",
		group_id, take, failure);
}

/* Filters for the group of that name in the VPC, a new reference. */
static json_t *by_name(const char *name, const char *vpc_id)
{
	json_t *filters = json_object();
	aws_form_filter(filters, "group-name", &name, 1);
	aws_form_filter(filters, "vpc-id", &vpc_id, 1);
	return filters;
}

static rgp_status make(
	const AwsCall *call, const json_t *input, const char *name, char **id, ModFailure *failure)
{
	const json_t *attributes = json_object_get(input, "attributes");
	json_auto_t *tags = aws_marks_tags(input);
	json_auto_t *params =
		json_pack("{s:s, s:s, s:s, s:[o]}", "GroupName", name, "GroupDescription",
			mod_str(attributes, "description"), "VpcId", mod_str(attributes, "vpc_id"),
			"TagSpecification", aws_marks_spec("security-group", tags));
	const Ec2Request request = {
		.action = "CreateSecurityGroup", .params = params, .shape = &create_group};
	g_auto(Ec2Reply) reply = {0};
	rgp_status status = ec2_send(call, &request, &reply);
	if (status != RGP_OK)
		return status;
	if (reply.failure.class_ == RGP_CLASS_OK && *mod_str(reply.reply, "groupId")) {
		*id = g_strdup(mod_str(reply.reply, "groupId"));
		return RGP_OK;
	}
	mod_failure_copy(failure, &reply.failure);
	if (ec2_match(failure, duplicate_codes)) {
		json_auto_t *filters = by_name(name, mod_str(attributes, "vpc_id"));
		return aws_adopt(call, &aws_group_kind, input, filters, id, failure);
	}
	if (failure->class_ == RGP_CLASS_OK)
		mod_failure_set(
			failure, RGP_CLASS_UNKNOWN, NULL, "the answer contains no group id");
	return RGP_OK;
}

/* What EC2 put into the group by itself, and what an earlier, lost call did. A group too new to be
 * visible has the one rule that EC2 adds to each. */
static json_t *rules_of(const json_t *record)
{
	if (!record)
		return json_pack("{s:[], s:[{s:s, s:s}]}", "ingress", "egress", "protocol", "all",
			"source", "0.0.0.0/0");
	g_auto(AwsSeen) seen = {0};
	group_read(record, &seen);
	return json_incref(seen.attributes);
}

static void keep_record(void *data, const json_t *record)
{
	json_t **last = data;
	json_decref(*last);
	*last = json_deep_copy(record);
}

/* Reads the rules and adds those of ingress at the same time: a new group has none. The result is
 * in *prior; an existing rule or a group that is too new is left to bring_rules. */
static rgp_status begin_rules(const AwsCall *call, const char *id, const char *name,
	const json_t *attributes, json_t **prior, ModFailure *failure)
{
	json_t *ingress = json_object_get(attributes, "ingress"), *found = NULL;
	json_auto_t *filters = by_name(name, mod_str(attributes, "vpc_id"));
	json_auto_t *params = json_pack(
		"{s:s, s:o}", "GroupId", id, "IpPermissions", aws_rules_params(ingress, id));
	const Ec2Request requests[] = {
		{.action = "DescribeSecurityGroups",
			.params = filters,
			.shape = &describe_groups,
			.record = keep_record,
			.data = &found,
			.reading = true},
		{.action = "AuthorizeSecurityGroupIngress", .params = params},
	};
	Ec2Reply replies[G_N_ELEMENTS(requests)] = {{0}};
	rgp_status status = ec2_send_all(call, requests, json_array_size(ingress) ? 2 : 1, replies);
	bool is_read = replies[0].failure.class_ == RGP_CLASS_OK &&
		       !*mod_str(replies[0].reply, "nextToken");
	if (status == RGP_OK && !is_read)
		status = aws_look_up(call, &aws_group_kind, filters, &found);
	*prior = rules_of(found);
	const ModFailure *added = &replies[1].failure;
	bool there_already = ec2_match(added, rule_there);
	bool again =
		ec2_match(added, young_codes) || (there_already && json_array_size(ingress) > 1);
	if (status == RGP_OK && added->class_ != RGP_CLASS_OK && !again && !there_already)
		mod_failure_copy(failure, added);
	if (status == RGP_OK && json_array_size(ingress) && !again) {
		json_t *there = json_object_get(*prior, "ingress");
		json_auto_t *more = aws_rules_without(ingress, there);
		json_array_extend(there, more);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(requests); i++)
		ec2_reply_clear(&replies[i]);
	json_decref(found);
	return status;
}

static rgp_status group_create(const AwsCall *call, const json_t *input)
{
	const json_t *attributes = json_object_get(input, "attributes");
	const char *address =
		mod_str(json_array_get(json_object_get(input, "items"), 0), "address");
	g_autofree char *id = NULL;
	g_autofree char *name = g_strdup_printf("raygpu-%s-%.*s",
		mod_str(json_object_get(input, "marks"), "cluster"), AWS_TOKEN_IN_NAME,
		mod_str(input, "token"));
	ModFailure failure = {0};
	json_auto_t *prior = NULL;
	rgp_status status = make(call, input, name, &id, &failure);
	if (status == RGP_OK && id)
		status = begin_rules(call, id, name, attributes, &prior, &failure);
	static const char *const directions[] = {"ingress", "egress"};
	for (size_t i = 0; i < G_N_ELEMENTS(directions) && status == RGP_OK && id; i++)
		status = bring_rules(call, id, directions[i], json_object_get(prior, directions[i]),
			json_object_get(attributes, directions[i]), &failure);
	if (status == RGP_OK && failure.class_ != RGP_CLASS_OK) {
		/* the group exists: sent again with its token, the create adopts and completes
		 * it */
		failure.definite = failure.definite && !id;
		status = mod_give_failed(&call->talk, address, id, &failure);
	} else if (status == RGP_OK) {
		status = mod_give_item(&call->talk, address, "done", id,
			json_pack("{s:s, s:s}", "group_id", id, "group_name", name));
	}
	mod_failure_clear(&failure);
	return status;
}

static rgp_status group_update(const AwsCall *call, AwsUpdate *update)
{
	static const char *const directions[] = {"ingress", "egress"};
	for (size_t i = 0; i < json_array_size(update->items); i++) {
		const json_t *item = json_array_get(update->items, i);
		for (size_t d = 0; d < G_N_ELEMENTS(directions); d++) {
			if (!mod_is_changed(item, directions[d]))
				continue;
			rgp_status status = bring_rules(call, mod_str(item, "id"), directions[d],
				json_object_get(json_object_get(item, "observed"), directions[d]),
				json_object_get(json_object_get(item, "attributes"), directions[d]),
				&update->failures[i]);
			if (status != RGP_OK)
				return status;
		}
	}
	return RGP_OK;
}

static rgp_status group_remove(const AwsCall *call, const json_t *items)
{
	static const Ec2Code busy[] = {{"DependencyViolation"}, {"InvalidGroup.InUse"}, {0}};
	static const Ec2Code gone[] = {
		{"InvalidGroup.NotFound", NULL, 10}, {"InvalidGroupId.Malformed", NULL, 0}, {0}};
	return aws_delete_each(call, items, "DeleteSecurityGroup", "GroupId", busy, gone);
}

static const char *const changeable[] = {"tags", "marks", "ingress", "egress", NULL};

const AwsKind aws_group_kind = {
	.kind = {AWS_GROUP, changeable},
	.describe = "DescribeSecurityGroups",
	.id_filter = "group-id",
	.token_filter = "tag:" AWS_MARK_PREFIX "token",
	.shape = &describe_groups,
	.page = 1000,
	.shares_lineage = true,
	.read = group_read,
	.readiness = group_readiness,
	.create = group_create,
	.update = group_update,
	.remove = group_remove,
};
