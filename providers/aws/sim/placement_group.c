#include "aws/sim/placement_group.h"
#include "aws/sim/describe.h"
#include "aws/sim/placement.h"
#include "aws/sim/tags.h"
#include "aws/sim/xml.h"

#define MAX_PARTITIONS 7

static json_t *find_by_name(const RgSimRegion *region, const char *name)
{
	g_autoptr(GPtrArray) all = rg_sim_world_all(region, RG_SIM_PLACEMENT);
	for (unsigned i = 0; i < all->len; i++) {
		json_t *group = g_ptr_array_index(all, i);
		if (g_str_equal(rg_sim_doc_str(group, "groupName"), name))
			return group;
	}
	return NULL;
}

static json_t *find(RgSimCall *call, const char *name)
{
	json_t *group = find_by_name(call->region, name);
	if (!group)
		rg_sim_fail(call, 400, "InvalidPlacementGroup.Unknown",
			"The Placement Group '%s' is unknown.", name);
	return group;
}

/* An instance of the group that takes a place; NULL when it is empty. */
static const json_t *member(const RgSimRegion *region, const char *name)
{
	g_autoptr(GPtrArray) all = rg_sim_world_all(region, RG_SIM_INSTANCE);
	for (unsigned i = 0; i < all->len; i++) {
		const json_t *instance = g_ptr_array_index(all, i);
		const json_t *placement = json_object_get(instance, "placement");
		if (g_str_equal(rg_sim_doc_str(placement, "groupName"), name) &&
			rg_sim_placement_holds(instance))
			return instance;
	}
	return NULL;
}

static bool supports(const json_t *type, const char *strategy)
{
	const json_t *info = json_object_get(type, "placementGroupInfo");
	const json_t *list = json_object_get(info, "supportedStrategies");
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (g_str_equal(json_string_value(json_array_get(list, i)), strategy))
			return true;
	}
	return !info; /* not told for this type */
}

/* As EC2 words it for cluster groups: dstackai/dstack#2872. */
static bool refuse_type(RgSimCall *call, const RgSimLaunch *launch)
{
	const char *strategy = rg_sim_doc_str(launch->placement, "strategy");
	g_autofree char *name = g_strdup(strategy);
	name[0] = g_ascii_toupper(name[0]);
	return rg_sim_fail(call, 400, "InvalidParameterCombination",
		"%s placement groups are not supported by the '%s' instance type. Specify a "
		"supported instance type or change the placement group strategy, and try again.",
		name, launch->type);
}

bool rg_sim_placement_group_read(RgSimCall *call, RgSimLaunch *launch)
{
	const char *name = rg_sim_param_str(call->params, "Placement.GroupName");
	const char *id = rg_sim_param_str(call->params, "Placement.GroupId");
	if (name && id)
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"The parameters GroupName and GroupId cannot be used together");
	if (!name && !id)
		return true;
	launch->placement = id ? rg_sim_call_find(call, RG_SIM_PLACEMENT, id) : find(call, name);
	if (!launch->placement)
		return false;
	if (!supports(launch->type_entry, rg_sim_doc_str(launch->placement, "strategy")))
		return refuse_type(call, launch);
	return true;
}

bool rg_sim_placement_group_fits(RgSimCall *call, const RgSimLaunch *launch)
{
	if (!launch->placement ||
		!g_str_equal(rg_sim_doc_str(launch->placement, "strategy"), "cluster"))
		return true;
	const json_t *other = member(call->region, rg_sim_doc_str(launch->placement, "groupName"));
	const char *zone = rg_sim_doc_str(json_object_get(other, "placement"), "availabilityZone");
	if (!other || g_str_equal(zone, launch->zone))
		return true;
	/* EC2's words: bcbio/bcbio-nextgen-vm#45 */
	return rg_sim_fail(call, 400, "InvalidPlacementGroup.InUse",
		"The placement group '%s' is in use in another availability zone: %s",
		rg_sim_doc_str(launch->placement, "groupName"), zone);
}

static bool check_form(RgSimCall *call, const char *name, const char *strategy)
{
	bool partitions = rg_sim_param_str(call->params, "PartitionCount") != NULL;
	gint64 count = rg_sim_param_int(call->params, "PartitionCount", 2);
	if (!name || !*name)
		return rg_sim_fail_missing(call, "GroupName");
	if (g_utf8_strlen(name, -1) > 255)
		return rg_sim_fail_value(call, "groupName", name);
	if (partitions && !g_str_equal(strategy, "partition"))
		return rg_sim_fail(call, 400, "InvalidParameterCombination",
			"PartitionCount is for the strategy partition only");
	if (count < 1 || count > MAX_PARTITIONS)
		return rg_sim_fail(call, 400, "InvalidParameterValue",
			"PartitionCount is from 1 to %d", MAX_PARTITIONS);
	if (find_by_name(call->region, name))
		return rg_sim_fail(call, 400, "InvalidPlacementGroup.Duplicate",
			"The Placement Group '%s' already exists.", name);
	return true;
}

bool rg_sim_create_placement_group(RgSimCall *call)
{
	const char *name = rg_sim_param_str(call->params, "GroupName");
	const char *given = rg_sim_param_str(call->params, "Strategy");
	const char *strategy = given ? given : "cluster";
	if (!check_form(call, name, strategy))
		return false;
	json_auto_t *tags = rg_sim_tags_of_request(call, "placement-group", "placement-group");
	if (!tags || !rg_sim_go(call))
		return false;
	g_autofree char *id = rg_sim_world_id(call->world, "pg-");
	g_autofree char *arn = g_strdup_printf(
		"arn:aws:ec2:%s:" RG_SIM_ACCOUNT ":placement-group/%s", call->region->name, name);
	json_t *group = json_pack("{s:s, s:s, s:s, s:s, s:s, s:O}", "groupName", name, "state",
		"available", "strategy", strategy, "groupId", id, "groupArn", arn, "tagSet", tags);
	if (g_str_equal(strategy, "partition"))
		json_object_set_new(group, "partitionCount",
			json_integer(rg_sim_param_int(call->params, "PartitionCount", 2)));
	if (g_str_equal(strategy, "spread"))
		json_object_set_new(group, "spreadLevel", json_string("rack"));
	rg_sim_xml_value(call->body, "placementGroup", group);
	rg_sim_world_put(call->world, call->region, RG_SIM_PLACEMENT, group);
	return true;
}

bool rg_sim_delete_placement_group(RgSimCall *call)
{
	const char *name = rg_sim_param_str(call->params, "GroupName");
	const json_t *group = find(call, name);
	if (!group)
		return false;
	if (member(call->region, name))
		return rg_sim_fail(call, 400, "InvalidPlacementGroup.InUse",
			"The placement group '%s' is in use and may not be deleted.", name);
	if (!rg_sim_go(call))
		return false;
	g_autofree char *id = g_strdup(rg_sim_doc_str(group, "groupId"));
	rg_sim_world_remove(call->world, call->region, RG_SIM_PLACEMENT, id);
	rg_sim_xml_text(call->body, "return", "true");
	return true;
}

static bool name_wanted(const RgSimCall *call, const json_t *group)
{
	g_autoptr(GPtrArray) names = rg_sim_param_texts(call->params, "GroupName");
	return names->len == 0 || g_ptr_array_find_with_equal_func(names,
					  rg_sim_doc_str(group, "groupName"), g_str_equal, NULL);
}

bool rg_sim_describe_placement_groups(RgSimCall *call)
{
	static const RgSimFilterName filters[] = {{"group-name", "groupName"}, {"state", "state"},
		{"strategy", "strategy"}, {"group-arn", "groupArn"},
		{"spread-level", "spreadLevel"}, {NULL, NULL}};
	static const RgSimListing listing = {.set = "placementGroupSet",
		.kind = RG_SIM_PLACEMENT,
		.ids = "GroupId",
		.filters = filters,
		.min_results = 5,
		.max_results = 1000,
		.wanted = name_wanted};
	g_autoptr(GPtrArray) names = rg_sim_param_texts(call->params, "GroupName");
	for (unsigned i = 0; i < names->len; i++) {
		if (!find(call, g_ptr_array_index(names, i)))
			return false;
	}
	return rg_sim_describe(call, &listing);
}
