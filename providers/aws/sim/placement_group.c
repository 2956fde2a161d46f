#include "aws/sim/describe.h"
#include "aws/sim/launch.h"

#define MAX_PARTITIONS 7

static json_t *placement_group_find(RgSimCall *call, const char *name)
{
	json_t *group = rg_sim_find_by(call->place, EC2_PLACEMENT, "groupName", name);
	if (!group)
		rg_sim_fail(call, 400, "InvalidPlacementGroup.Unknown",
			"The Placement Group '%s' is unknown.", name);
	return group;
}

/* An instance of the group that uses capacity; NULL if the group is empty. */
static const json_t *placement_group_member(const RgSimPlace *region, const char *name)
{
	rg_sim_foreach (instance, region, EC2_INSTANCE) {
		const json_t *placement = json_object_get(instance, "placement");
		if (g_str_equal(doc_str(placement, "groupName"), name) && ec2_takes_place(instance))
			return instance;
	}
	return NULL;
}

static bool type_supports(const json_t *type, const char *strategy)
{
	const json_t *info = json_object_get(type, "placementGroupInfo");
	const json_t *list = json_object_get(info, "supportedStrategies");
	return !info || rg_json_has_text(list, strategy); /* not set for every type */
}

/* EC2's text for cluster groups: dstackai/dstack#2872. */
static bool refuse_type(RgSimCall *call, const Ec2Launch *launch)
{
	const char *strategy = doc_str(launch->placement, "strategy");
	g_autofree char *name = g_strdup(strategy);
	name[0] = g_ascii_toupper(name[0]);
	return rg_sim_fail(call, 400, "InvalidParameterCombination",
		"%s placement groups are not supported by the '%s' instance type. Specify a "
		"supported instance type or change the placement group strategy, and try again.",
		name, launch->type);
}

bool ec2_placement_group_read(RgSimCall *call, Ec2Launch *launch)
{
	const char *name = call_str(call, "Placement.GroupName");
	const char *id = call_str(call, "Placement.GroupId");
	if (name && id)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The parameters GroupName and GroupId cannot be used together");
	if (!name && !id)
		return true;
	launch->placement =
		id ? ec2_find(call, EC2_PLACEMENT, id) : placement_group_find(call, name);
	if (!launch->placement)
		return false;
	if (!type_supports(launch->type_entry, doc_str(launch->placement, "strategy")))
		return refuse_type(call, launch);
	return true;
}

bool ec2_placement_group_fits(RgSimCall *call, const Ec2Launch *launch)
{
	if (!launch->placement || !g_str_equal(doc_str(launch->placement, "strategy"), "cluster"))
		return true;
	const json_t *other =
		placement_group_member(call->place, doc_str(launch->placement, "groupName"));
	const char *zone = doc_str(json_object_get(other, "placement"), "availabilityZone");
	if (!other || g_str_equal(zone, launch->zone))
		return true;
	/* EC2's text: bcbio/bcbio-nextgen-vm#45 */
	return rg_sim_fail(call, 400, "InvalidPlacementGroup.InUse",
		"The placement group '%s' is in use in another availability zone: %s",
		doc_str(launch->placement, "groupName"), zone);
}

static bool check_form(RgSimCall *call, const char *name, const char *strategy)
{
	bool partitions = call_str(call, "PartitionCount") != NULL;
	gint64 count = call_int(call, "PartitionCount", 2);
	if (!name || !*name)
		return ec2_fail_missing(call, "GroupName");
	if (g_utf8_strlen(name, -1) > 255)
		return ec2_fail_value(call, "groupName", name);
	if (partitions && !g_str_equal(strategy, "partition"))
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"PartitionCount is for the strategy partition only");
	if (count < 1 || count > MAX_PARTITIONS)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"PartitionCount is from 1 to %d", MAX_PARTITIONS);
	if (rg_sim_find_by(call->place, EC2_PLACEMENT, "groupName", name))
		return rg_sim_fail(call, 400, "InvalidPlacementGroup.Duplicate",
			"The Placement Group '%s' already exists.", name);
	return true;
}

static bool create_placement_group(RgSimCall *call)
{
	const char *name = call_str(call, "GroupName");
	const char *given = call_str(call, "Strategy");
	const char *strategy = given ? given : "cluster";
	if (!check_form(call, name, strategy))
		return false;
	json_auto_t *tags = ec2_tags_of_request(call, "placement-group", "placement-group");
	if (!tags || !ec2_go(call))
		return false;
	g_autofree char *id = rg_sim_id(call->sim, "pg-");
	g_autofree char *arn = g_strdup_printf(
		"arn:aws:ec2:%s:" EC2_ACCOUNT ":placement-group/%s", call->place->name, name);
	json_t *group = json_pack("{s:s, s:s, s:s, s:s, s:s, s:O}", "groupName", name, "state",
		"available", "strategy", strategy, "groupId", id, "groupArn", arn, "tagSet", tags);
	if (g_str_equal(strategy, "partition"))
		json_object_set_new(
			group, "partitionCount", json_integer(call_int(call, "PartitionCount", 2)));
	if (g_str_equal(strategy, "spread"))
		json_object_set_new(group, "spreadLevel", json_string("rack"));
	ec2_xml_value(call->body, "placementGroup", group);
	rg_sim_put(call->place, EC2_PLACEMENT, group);
	return true;
}

static bool delete_placement_group(RgSimCall *call)
{
	const char *name = call_str(call, "GroupName");
	const json_t *group = placement_group_find(call, name);
	if (!group)
		return false;
	if (placement_group_member(call->place, name))
		return rg_sim_fail(call, 400, "InvalidPlacementGroup.InUse",
			"The placement group '%s' is in use and may not be deleted.", name);
	if (!ec2_go(call))
		return false;
	g_autofree char *id = g_strdup(doc_str(group, "groupId"));
	rg_sim_remove(call->place, EC2_PLACEMENT, id);
	return ec2_done(call);
}

static bool name_wanted(const RgSimCall *call, const json_t *group)
{
	return ec2_is_asked(call, "GroupName", doc_str(group, "groupName"));
}

static bool describe_placement_groups(RgSimCall *call)
{
	static const Ec2Filter filters[] = {{"group-name", "groupName"}, {"state", "state"},
		{"strategy", "strategy"}, {"group-arn", "groupArn"},
		{"spread-level", "spreadLevel"}, {NULL}};
	static const Ec2Listing listing = {
		"placementGroupSet", EC2_PLACEMENT, "GroupId", filters, .wanted = name_wanted};
	g_autoptr(GPtrArray) names = call_texts(call, "GroupName");
	for (unsigned i = 0; i < names->len; i++) {
		if (!placement_group_find(call, g_ptr_array_index(names, i)))
			return false;
	}
	return ec2_describe(call, &listing);
}

const RgSimAction ec2_placement_group_actions[] = {
	{"CreatePlacementGroup", create_placement_group, true,
		"DryRun GroupName PartitionCount Strategy TagSpecification"},
	{"DeletePlacementGroup", delete_placement_group, true, "DryRun GroupName"},
	{"DescribePlacementGroups", describe_placement_groups, false,
		"DryRun Filter GroupId GroupName"},
	{NULL},
};
