/* What an account has beside EC2: its quotas (Service Quotas) and its roles (IAM). */
#include "aws/sim/resources.h"

/* Where the knob `quotas` says nothing, the account has all its increases. */
#define AMPLE_VCPUS 1000000
#define MADE "2026-01-01T00:00:00Z"

static bool get_service_quota(RgSimCall *call)
{
	const char *service = call_str(call, "ServiceCode"), *code = call_str(call, "QuotaCode");
	g_autofree char *name = g_str_equal(service, "ec2") ? ec2_quota_name(code) : NULL;
	if (!name)
		return rg_sim_fail(call, 400, "NoSuchResourceException",
			"The request failed because the specified service quota does not exist.");
	const json_t *limit = json_object_get(json_object_get(call->sim->knobs, "quotas"), code);
	g_autofree char *arn = g_strdup_printf(
		"arn:aws:servicequotas:%s:" EC2_ACCOUNT ":ec2/%s", call->place->name, code);
	json_t *answer = json_pack("{s:{s:s, s:s, s:s, s:s, s:s, s:f, s:s, s:b, s:b, s:s}}",
		"Quota", "ServiceCode", "ec2", "ServiceName",
		"Amazon Elastic Compute Cloud (Amazon EC2)", "QuotaArn", arn, "QuotaCode", code,
		"QuotaName", name, "Value", limit ? (double)json_integer_value(limit) : AMPLE_VCPUS,
		"Unit", "None", "Adjustable", 1, "GlobalQuota", 0, "QuotaAppliedAtLevel",
		"ACCOUNT");
	return ec2_json_answer(call, answer);
}

/* A profile and its role, of one name. */
static bool get_instance_profile(RgSimCall *call)
{
	const char *name = call_str(call, "InstanceProfileName");
	if (!rg_sim_knobs_lists(json_object_get(call->sim->knobs, "instance_profiles"), name))
		return rg_sim_fail(
			call, 404, "NoSuchEntity", "Instance Profile %s cannot be found.", name);
	g_autofree char *arn =
		g_strconcat("arn:aws:iam::" EC2_ACCOUNT ":instance-profile/", name, NULL);
	g_autofree char *role = g_strconcat("arn:aws:iam::" EC2_ACCOUNT ":role/", name, NULL);
	g_autofree char *id = rg_sim_fixed_id("AIPA", "", arn);
	g_autofree char *role_id = rg_sim_fixed_id("AROA", "", role);
	json_auto_t *profile =
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:{s:{s:s, s:s, s:s, s:s, s:s}}}", "Path", "/",
			"InstanceProfileName", name, "InstanceProfileId", id, "Arn", arn,
			"CreateDate", MADE, "Roles", "member", "Path", "/", "RoleName", name,
			"RoleId", role_id, "Arn", role, "CreateDate", MADE);
	ec2_xml_value(call->body, "InstanceProfile", profile);
	return true;
}

/* Of one action and one resource; the knob role_denies has the decisions other than "allowed". */
static bool simulate_principal_policy(RgSimCall *call)
{
	g_autoptr(GPtrArray) actions = call_texts(call, "ActionNames.member");
	g_autoptr(GPtrArray) resources = call_texts(call, "ResourceArns.member");
	const json_t *denied = json_object_get(call->sim->knobs, "role_denies");
	ec2_xml_open(call->body, "EvaluationResults");
	rg_ptr_foreach (const char, action, actions) {
		json_auto_t *result = json_pack("{s:s, s:s, s:s}", "EvalActionName", action,
			"EvalResourceName", resources->len ? resources->pdata[0] : "*",
			"EvalDecision", rg_json_str(denied, action, "allowed"));
		ec2_xml_value(call->body, "member", result);
	}
	ec2_xml_close(call->body, "EvaluationResults");
	ec2_xml_text(call->body, "IsTruncated", "false");
	return true;
}

const RgSimAction ec2_account_actions[] = {
	{"GetInstanceProfile", get_instance_profile, false, "InstanceProfileName", IAM_API},
	{"SimulatePrincipalPolicy", simulate_principal_policy, false,
		"ActionNames PolicySourceArn ResourceArns", IAM_API},
	{"GetServiceQuota", get_service_quota, false, "QuotaCode ServiceCode", QUOTAS_API},
	{NULL},
};
