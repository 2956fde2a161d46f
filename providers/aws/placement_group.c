/* The kind aws.placement_group: the nodes of one pool close to each other in one zone (strategy
 * cluster). Its id is its name, because EC2 launches into and deletes groups by name; tags need
 * another id, which is looked up. */
#include "aws/form.h"
#include "aws/named.h"
#include <string.h>

static const AwsShape group_members[] = {
	{"groupName"},
	{"groupId"},
	{"state"},
	{"strategy"},
	{"tagSet", aws_tag_set},
	{0},
};
static const AwsShape group_set[] = {{"item", group_members, AWS_RECORD}, {0}};
static const AwsShape describe_members[] = {{"placementGroupSet", group_set, AWS_DROP}, {0}};
static const AwsShape describe_groups = {"DescribePlacementGroupsResponse", describe_members};
static const AwsShape create_members[] = {{"placementGroup", group_members}, {0}};
static const AwsShape create_group = {"CreatePlacementGroupResponse", create_members};

static const Ec2Code duplicate_codes[] = {{"InvalidPlacementGroup.Duplicate"}, {0}};

static void group_read(const json_t *record, AwsSeen *seen)
{
	const char *state = mod_str(record, "state");
	json_t *tags = aws_marks_read(json_object_get(record, "tagSet"), &seen->marks);
	seen->id = mod_str(record, "groupName");
	seen->attributes = json_pack("{s:s, s:s, s:s, s:o}", "group_name", seen->id, "group_id",
		mod_str(record, "groupId"), "strategy", mod_str(record, "strategy"), "tags", tags);
	seen->gone = g_str_equal(state, "deleting") || g_str_equal(state, "deleted");
	seen->status = state;
}

static void group_readiness(const AwsCall *call, const json_t *record, ModFailure *failure)
{
	const char *state = mod_str(record, "state");
	if (g_str_equal(state, "available"))
		return;
	int32_t class_ = strcmp(state, "pending") ? RGP_CLASS_GONE : RGP_CLASS_TRANSIENT;
	mod_failure_set(failure, class_, NULL, "it is %s", state);
}

/* "research-train": a pool of one cluster; the token distinguishes states and generations. */
static char *name_of(const json_t *input)
{
	const char *address =
		mod_str(json_array_get(json_object_get(input, "items"), 0), "address");
	const char *pool = g_str_has_prefix(address, AWS_PLACEMENT ".")
				   ? address + strlen(AWS_PLACEMENT ".")
				   : address;
	return g_strdup_printf("raygpu-%s-%s-%.*s",
		mod_str(json_object_get(input, "marks"), "cluster"), pool, AWS_TOKEN_IN_NAME,
		mod_str(input, "token"));
}

static rgp_status make(const AwsCall *call, const json_t *input, const char *name, char **id,
	char **group_id, ModFailure *failure)
{
	json_auto_t *tags = aws_marks_tags(input);
	json_auto_t *params = json_pack("{s:s, s:s, s:[o]}", "GroupName", name, "Strategy",
		mod_str(json_object_get(input, "attributes"), "strategy"), "TagSpecification",
		aws_marks_spec("placement-group", tags));
	const Ec2Request request = {
		.action = "CreatePlacementGroup", .params = params, .shape = &create_group};
	g_auto(Ec2Reply) reply = {0};
	rgp_status status = ec2_send(call, &request, &reply);
	if (status != RGP_OK)
		return status;
	if (reply.failure.class_ == RGP_CLASS_OK) {
		const json_t *group = json_object_get(reply.reply, "placementGroup");
		*id = g_strdup(name);
		*group_id = g_strdup(mod_str(group, "groupId"));
		return RGP_OK;
	}
	mod_failure_copy(failure, &reply.failure);
	if (!ec2_match(failure, duplicate_codes))
		return RGP_OK;
	json_auto_t *filters = json_object();
	aws_form_filter(filters, "group-name", &name, 1);
	return aws_adopt(call, &aws_placement_kind, input, filters, id, failure);
}

static rgp_status group_create(const AwsCall *call, const json_t *input)
{
	const char *address =
		mod_str(json_array_get(json_object_get(input, "items"), 0), "address");
	g_autofree char *name = name_of(input), *id = NULL, *group_id = NULL;
	ModFailure failure = {0};
	rgp_status status = make(call, input, name, &id, &group_id, &failure);
	if (status == RGP_OK && id) {
		json_t *attributes = json_pack("{s:s}", "group_name", id);
		if (group_id && *group_id)
			json_object_set_new(attributes, "group_id", json_string(group_id));
		status = mod_give_item(&call->talk, address, "done", id, attributes);
	} else if (status == RGP_OK) {
		status = mod_give_failed(&call->talk, address, NULL, &failure);
	}
	mod_failure_clear(&failure);
	return status;
}

/* Only tags and marks can change; CreateTags requires pg-..., not the name. */
static rgp_status group_update(const AwsCall *call, AwsUpdate *update)
{
	rgp_status status = RGP_OK;
	size_t i;
	json_t *item;
	json_array_foreach (update->items, i, item) {
		const char *name = mod_str(item, "id");
		json_auto_t *filters = json_object();
		aws_form_filter(filters, "group-name", &name, 1);
		json_t *found = NULL;
		status = aws_look_up(call, &aws_placement_kind, filters, &found);
		json_auto_t *record = found;
		if (status != RGP_OK)
			break;
		if (record)
			json_object_set(item, AWS_TAGGED_ID, json_object_get(record, "groupId"));
		else
			mod_failure_set(&update->failures[i], RGP_CLASS_GONE, NULL,
				"EC2 has no placement group %s", name);
	}
	return status;
}

static rgp_status group_remove(const AwsCall *call, const json_t *items)
{
	/* it is free when the last instance in it has terminated */
	static const Ec2Code busy[] = {
		{"InvalidPlacementGroup.InUse"}, {"DependencyViolation"}, {0}};
	static const Ec2Code gone[] = {{"InvalidPlacementGroup.Unknown", NULL, 10}, {0}};
	return aws_delete_each(call, items, "DeletePlacementGroup", "GroupName", busy, gone);
}

static const char *const changeable[] = {"tags", "marks", NULL};

const AwsKind aws_placement_kind = {
	.kind = {AWS_PLACEMENT, changeable},
	.describe = "DescribePlacementGroups",
	.id_filter = "group-name",
	.token_filter = "tag:" AWS_MARK_PREFIX "token",
	.shape = &describe_groups,
	.shares_lineage = true,
	.read = group_read,
	.readiness = group_readiness,
	.create = group_create,
	.update = group_update,
	.remove = group_remove,
};
