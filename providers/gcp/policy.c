/* The kind gcp.resource_policy: the nodes of one pool close to each other (compact placement).
 * Fields: compute.v1, schemas ResourcePolicy, ResourcePolicyGroupPlacementPolicy. */
#include "gcp/kinds.h"

static void policy_read(const json_t *record, GcpSeen *seen)
{
	const json_t *placement = json_object_get(record, "groupPlacementPolicy");
	seen->attributes = json_pack("{s:s, s:s}", "collocation", mod_str(placement, "collocation"),
		"policy_name", mod_str(record, "name"));
}

static json_t *policy_body(const GcpCall *call, const json_t *input, const char *name)
{
	const json_t *attributes = json_object_get(input, "attributes");
	g_autofree char *text = gcp_marks_text(input, call->inst->region);
	return json_pack("{s:s, s:s, s:{s:s}}", "name", name, "description", text,
		"groupPlacementPolicy", "collocation", mod_str(attributes, "collocation"));
}

static const char *const changeable[] = {NULL};

const GcpKind gcp_policy_kind = {
	.kind = {GCP_POLICY, changeable},
	GCP_NAMED,
	.methods = "resourcePolicies",
	.fields = "id,name,description,status,groupPlacementPolicy",
	.described = true,
	.read = policy_read,
	.body = policy_body,
};
