#include <string.h>
#include "gcp/sim/gce.h"

char *gce_scope(const RgSimCall *call)
{
	const char *zone = call_str(call, "zone"), *region = call_str(call, "region");
	return zone	? g_strconcat("zones/", zone, NULL)
	       : region ? g_strconcat("regions/", region, NULL)
			: g_strdup("global");
}

bool gce_check_scope(RgSimCall *call)
{
	const char *zone = call_str(call, "zone"), *region = call_str(call, "region");
	const char *of_zone = zone ? gce_region_of(call_data(call), zone) : NULL;
	if (zone && (!of_zone || g_str_equal(of_zone, zone)))
		return rg_sim_fail(call, 400, "invalid",
			"Invalid value for field 'zone': '%s'. Unknown zone.", zone);
	if (region && !json_object_get(call_data(call)->regions, region))
		return rg_sim_fail(call, 400, "invalid",
			"Invalid value for field 'region': '%s'. Unknown region.", region);
	return true;
}

json_t *gce_error(int http, const char *code, char *message)
{
	g_autofree char *text = message;
	return json_pack(
		"{s:i, s:[{s:s, s:s}]}", "http", http, "errors", "code", code, "message", text);
}

bool gce_fail_invalid(RgSimCall *call, const char *field, const char *value, const char *why)
{
	return rg_sim_fail(
		call, 400, "invalid", "Invalid value for field '%s': '%s'. %s", field, value, why);
}

bool gce_fail_required(RgSimCall *call, const char *field)
{
	return rg_sim_fail(call, 400, "required", "Required field '%s' not specified", field);
}

bool gce_fail_missing(RgSimCall *call, const char *project, const char *key)
{
	return rg_sim_fail(
		call, 404, "notFound", "The resource 'projects/%s/%s' was not found", project, key);
}

bool gce_fail_exists(RgSimCall *call, const char *key)
{
	return rg_sim_fail(call, 409, "alreadyExists",
		"The resource 'projects/%s/%s' already exists", call->place_name, key);
}

bool gce_fail_in_use(RgSimCall *call, const char *key, const char *user)
{
	return rg_sim_fail(call, 400, "resourceInUseByAnotherResource",
		"The resource 'projects/%s/%s' is already being used by 'projects/%s/%s'",
		call->place_name, key, call->place_name, user);
}

bool gce_fail_not_ready(RgSimCall *call, const char *key)
{
	return rg_sim_fail(call, 400, "resourceNotReady",
		"The resource 'projects/%s/%s' is not ready", call->place_name, key);
}

/* An action that waits answers more than once; the last answer counts. */
bool gce_answer(RgSimCall *call, json_t *answer)
{
	json_auto_t *whole = answer, *tree = NULL;
	if (call->service == GCE_COMPUTE && !gce_fields_read(call, &tree))
		return false;
	json_auto_t *picked = gce_fields_pick(tree, whole);
	g_autofree char *text = json_dumps(picked, JSON_COMPACT);
	g_string_assign(call->body, text);
	return true;
}
