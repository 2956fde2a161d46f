#include <string.h>
#include "aws/sim/ec2.h"
#include "aws/sim/resources.h"

/* The knob `request_log`: each request, and the resources that it named with their tags at that
 * time, one JSON object per line. Policies are evaluated against it. */

static json_t *tags_by_key(const json_t *doc)
{
	json_t *tags = json_object();
	rg_json_foreach (tag, json_object_get(doc, "tagSet"))
		json_object_set_new(tags, doc_str(tag, "key"), json_string(doc_str(tag, "value")));
	return tags;
}

static void add_doc(json_t *resources, unsigned kind, const char *id, const json_t *doc)
{
	json_array_append_new(
		resources, json_pack("{s:s, s:s, s:o}", "type", ec2_resources[kind].tag_type, "id",
				   id, "tags", tags_by_key(doc)));
}

/* Every id in the parameters that there is. */
static void add_ids(const RgSimCall *call, const json_t *params, json_t *resources)
{
	const char *text = json_string_value(params);
	unsigned kind = text ? ec2_kind_of(text) : EC2_KINDS;
	if (kind < EC2_RESOURCES && ec2_is_id(kind, text)) {
		const json_t *doc = rg_sim_find(call->place, kind, text);
		if (doc)
			add_doc(resources, kind, text, doc);
	}
	rg_json_foreach_member (key, member, params)
		add_ids(call, member, resources);
}

/* Placement groups go by their names. */
static void add_placement_group(const RgSimCall *call, json_t *resources)
{
	const char *name = call_str(call, "Placement.GroupName");
	const json_t *group;
	if (!name)
		name = call_str(call, "GroupName");
	for (unsigned at = 0; name && (group = rg_sim_next(call->place, EC2_PLACEMENT, &at));)
		if (g_str_equal(doc_str(group, "groupName"), name))
			add_doc(resources, EC2_PLACEMENT, name, group);
}

static json_t *resources_of(const RgSimCall *call)
{
	json_t *resources = json_array();
	add_ids(call, call->params, resources);
	add_placement_group(call, resources);
	return resources;
}

bool ec2_requests_check(RgSimCall *call)
{
	static const char *const services[AWS_APIS] = {[EC2_API] = "ec2",
		[STS_API] = "sts",
		[IAM_API] = "iam",
		[SSM_API] = "ssm",
		[QUOTAS_API] = "servicequotas",
		[SSO_API] = "sso"};
	if (!ec2_params_check(call))
		return false;
	if (*doc_str(call->sim->knobs, "request_log") && !call->dry_run) /* whose refusal is an
									    answer too */
		rg_sim_log(call, "request_log",
			json_pack("{s:s, s:s, s:O, s:o}", "service", services[call->service],
				"region", call->place->name, "params", call->params, "resources",
				resources_of(call)));
	return true;
}
