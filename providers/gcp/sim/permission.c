#include <string.h>
#include "gcp/sim/gce.h"

/* What a caller may do: everything but the knob denied_permissions; and whether the API is enabled
 * in the project at all (knob disabled_apis). Permissions: cloud.google.com/compute/docs/access/iam
 */

/* "instances.bulkInsert" as "compute.instances.create". g_free it. */
static char *permission_of(const char *action)
{
	static const struct {
		const char *method, *verb;
	} verbs[] = {{"insert", "create"}, {"bulkInsert", "create"}, {"aggregatedList", "list"},
		{"patch", "update"}, {"wait", "get"}};
	static const char *const internal[][2] = {
		{"addresses.insert", "createInternal"}, {"addresses.delete", "deleteInternal"}};
	const char *method = strchr(action, '.') + 1, *verb = method;
	for (gsize i = 0; i < G_N_ELEMENTS(verbs); i++) {
		if (g_str_equal(verbs[i].method, method))
			verb = verbs[i].verb;
	}
	for (gsize i = 0; i < G_N_ELEMENTS(internal); i++) { /* others are not simulated */
		if (g_str_equal(internal[i][0], action))
			verb = internal[i][1];
	}
	return g_strdup_printf("compute.%.*s.%s", (int)(method - 1 - action), action, verb);
}

static bool is_denied(const RgSimCall *call, const char *permission)
{
	return rg_json_has_text(
		json_object_get(call->sim->knobs, "denied_permissions"), permission);
}

static bool require(RgSimCall *call, const char *permission)
{
	rg_sim_log(call, "permission_log",
		json_pack("{s:s, s:s}", "permission", permission, "project", call->place_name));
	if (!is_denied(call, permission))
		return true;
	const char *path = call->request->path + strlen("/compute/v1/");
	return rg_sim_fail(
		call, 403, "forbidden", "Required '%s' permission for '%s'", permission, path);
}

/* What a new machine needs beyond compute.instances.create. */
static bool check_machine(RgSimCall *call)
{
	const json_t *body = call_body(call);
	const json_t *bulk = json_object_get(body, "instanceProperties");
	const json_t *given = bulk ? bulk : body;
	const json_t *interface = json_array_get(json_object_get(given, "networkInterfaces"), 0);
	const struct {
		const char *permission;
		bool needed;
	} more[] = {
		{"compute.disks.create", true},
		{"compute.subnetworks.use", true},
		{"compute.subnetworks.useExternalIp", json_object_get(interface, "accessConfigs")},
		{"compute.addresses.useInternal", json_object_get(interface, "networkIP")},
		{"compute.instances.setMetadata", json_object_get(given, "metadata")},
		{"compute.instances.setLabels", json_object_get(given, "labels")},
		{"compute.instances.setTags", json_object_get(given, "tags")},
		{"compute.instances.setServiceAccount", json_object_get(given, "serviceAccounts")},
		{"iam.serviceAccounts.actAs", json_object_get(given, "serviceAccounts")},
		{"compute.resourcePolicies.use", json_object_get(given, "resourcePolicies")},
	};
	for (gsize i = 0; i < G_N_ELEMENTS(more); i++) {
		if (more[i].needed && !require(call, more[i].permission))
			return false;
	}
	return true;
}

/* `entry` of the knob: in this project it is not enabled. */
static bool check_enabled(RgSimCall *call, const char *entry, const char *api, const char *host)
{
	if (!rg_sim_knobs_lists(json_object_get(call->sim->knobs, "disabled_apis"), entry))
		return true;
	return rg_sim_fail(call, 403, "accessNotConfigured",
		"%s API has not been used in project %s before or it is disabled. Enable it by "
		"visiting https://console.developers.google.com/apis/api/%s/overview?project=%s "
		"then retry.",
		api, call->place_name, host, call->place_name);
}

bool gce_permission_check(RgSimCall *call)
{
	const char *name = call->action->name;
	if (!check_enabled(call, call->place_name, "Compute Engine", "compute.googleapis.com"))
		return false;
	if (g_str_has_suffix(name, ".testIamPermissions"))
		return true;
	g_autofree char *permission = permission_of(name);
	bool makes =
		g_str_equal(name, "instances.insert") || g_str_equal(name, "instances.bulkInsert");
	bool rule = call->action->mutating && g_str_has_prefix(name, "firewalls.");
	bool address = g_str_equal(name, "addresses.insert");
	return require(call, permission) && (!makes || check_machine(call)) &&
	       (!rule || require(call, "compute.networks.updatePolicy")) &&
	       (!address || require(call, "compute.subnetworks.use"));
}

static bool test_permissions(RgSimCall *call)
{
	const json_t *asked = json_object_get(call_body(call), "permissions");
	json_t *granted = json_array();
	rg_json_foreach (permission, asked) {
		if (!is_denied(call, json_string_value(permission)))
			json_array_append(granted, permission);
	}
	return gce_answer(call, json_pack("{s:o}", "permissions", granted));
}

/* ---- cloudresourcemanager.googleapis.com: projects.testIamPermissions */

#define RESOURCES "/v1/projects/"
#define TEST ":testIamPermissions"
#define TESTED_MAX 100

char *gce_resources_project(const RgSimRequest *request)
{
	if (!g_str_equal(request->method, "POST") || !g_str_has_prefix(request->path, RESOURCES))
		return NULL;
	const char *name = request->path + strlen(RESOURCES);
	if (strchr(name, '/') || !g_str_has_suffix(name, TEST))
		return NULL;
	return g_strndup(name, strlen(name) - strlen(TEST));
}

bool gce_resources_check(RgSimCall *call)
{
	g_autofree char *entry = g_strconcat("cloudresourcemanager/", call->place_name, NULL);
	if (!rg_sim_knobs_lists(
		    json_object_get(call->sim->knobs, "google_projects"), call->place_name))
		return rg_sim_fail(
			call, 403, "PERMISSION_DENIED", "The caller does not have permission");
	return check_enabled(
		call, entry, "Cloud Resource Manager", "cloudresourcemanager.googleapis.com");
}

/* One that is not a permission's name fails the whole call. */
static bool test_project(RgSimCall *call)
{
	const json_t *asked = json_object_get(call_body(call), "permissions");
	if (!json_array_size(asked) || json_array_size(asked) > TESTED_MAX)
		return rg_sim_fail(call, 400, "INVALID_ARGUMENT",
			"From 1 to %d permissions can be tested.", TESTED_MAX);
	rg_json_foreach (permission, asked) {
		const char *name = json_string_value(permission);
		if (!name || !g_regex_match_simple(
				     "^[a-z]+([.][A-Za-z]+){2}$", name, G_REGEX_DOLLAR_ENDONLY, 0))
			return rg_sim_fail(call, 400, "INVALID_ARGUMENT",
				"Permission %s is not valid for this resource.", name ? name : "");
	}
	return test_permissions(call);
}

const RgSimAction gce_permission_actions[] = {
	{"resourcemanager.testIamPermissions", test_project, false, ".permissions"},
	{"instances.testIamPermissions", test_permissions, false, ".permissions"},
	{"subnetworks.testIamPermissions", test_permissions, false, ".permissions"},
	{NULL},
};
