/* Which of the permissions in permissions.json the caller has, in one call that itself needs none:
 * projects.testIamPermissions of the Cloud Resource Manager API (v1). It sees what is granted on
 * the project and above, so what people grant on one resource alone is left out. */
#include <string.h>
#include "common/preflight.h"
#include "gcp/kinds.h"

#define SERVICE "cloudresourcemanager.googleapis.com"
#define WHAT "projects.testIamPermissions"

/* A shared VPC: its own project has the grants on the subnetwork. */
static bool has_foreign_network(const json_t *about, const char *project)
{
	const char *subnetwork = mod_str(json_object_get(about, "config"), "subnetwork");
	g_autofree char *own = g_strdup_printf("projects/%s/", project);
	return strstr(subnetwork, "projects/") && !strstr(subnetwork, own);
}

static bool is_of_network(const char *permission)
{
	return g_str_has_prefix(permission, "compute.subnetworks.") ||
	       g_str_has_prefix(permission, "compute.routers.");
}

/* {permission: its entry} */
static json_t *wanted_of(const json_t *about, const char *project)
{
	json_auto_t *entries = gcp_permissions_needed(about);
	bool foreign = has_foreign_network(about, project);
	json_t *wanted = json_object();
	mod_foreach (entry, entries) {
		if (json_is_true(json_object_get(entry, "elsewhere")))
			continue;
		mod_foreach (name, json_object_get(entry, "permissions")) {
			const char *permission = json_string_value(name);
			if (!json_object_get(wanted, permission) &&
				!(foreign && is_of_network(permission)))
				json_object_set(wanted, permission, entry);
		}
	}
	return wanted;
}

static json_t *body_of(const json_t *wanted)
{
	json_t *names = json_array();
	mod_foreach_member (permission, entry, wanted)
		json_array_append_new(names, json_string(permission));
	return json_pack("{s:o}", "permissions", names);
}

static rgp_status give_missing(const GcpCall *call, const char *project, const char *permission,
	const char *task, const json_t *entry)
{
	const char *who = mod_has_text(json_object_get(entry, "for"), "plan") ? "plan" : task;
	const ModFinding finding = {
		.severity = "warning", .class_ = RGP_CLASS_DENIED, .code = "IAM_PERMISSION_DENIED"};
	g_autofree char *message = g_strdup_printf("%s is missing on project %s: %s cannot %s",
		permission, project, who, mod_str(entry, "to"));
	return mod_give_finding(&call->talk, &finding, message);
}

static rgp_status give_findings(const GcpCall *call, const char *project, const char *task,
	const json_t *wanted, const json_t *granted)
{
	rgp_status status = RGP_OK;
	mod_foreach_member (permission, entry, wanted)
		if (status == RGP_OK && !mod_has_text(granted, permission))
			status = give_missing(call, project, permission, task, entry);
	if (status == RGP_OK)
		status = mod_give(&call->talk, "tested",
			json_pack("{s:I}", "count", (json_int_t)json_object_size(wanted)));
	return status;
}

static rgp_status refuse(const GcpCall *call, const char *project, const ModFailure *failure)
{
	const char *code = failure->code ? failure->code : "";
	bool off =
		g_str_equal(code, "SERVICE_DISABLED") || g_str_equal(code, "accessNotConfigured");
	g_autofree char *summary =
		g_strdup_printf("%s refused " WHAT ": %s", call->inst->resources.cloud,
			failure->message ? failure->message : "there was no answer");
	g_autofree char *hint = g_strdup_printf(
		"enable it: gcloud services enable " SERVICE " --project %s", project);
	mod_report_text(&call->talk, failure->class_, summary, NULL, off ? hint : failure->hint);
	return RGP_FAIL;
}

rgp_status gcp_permissions_test(const GcpCall *call, const json_t *about)
{
	const char *project = gcp_project(call);
	if (!project)
		return RGP_FAIL;
	if (!call->inst->resources_base)
		return mod_refuse(call, NULL,
			"set " GCP_RESOURCES_ENV " to the URL of its Resource Manager",
			"Compute Engine is at %s, and its Resource Manager is not known",
			call->inst->base);
	json_auto_t *wanted = wanted_of(about, project), *body = body_of(wanted);
	g_autofree char *url = g_strdup_printf("v1/projects/%s:testIamPermissions", project);
	ModRestRequest request = gcp_change(call, WHAT, "POST", url, body);
	g_auto(ModRestAnswer) answer = {0};
	request.reading = true;
	rgp_status status = mod_rest_send(&call->talk, &call->inst->resources, &request, &answer);
	if (status != RGP_OK)
		return status;
	if (answer.failure.class_ != RGP_CLASS_OK)
		return refuse(call, project, &answer.failure);
	return give_findings(call, project, mod_str(about, "for"), wanted,
		json_object_get(answer.body, "permissions"));
}
