/* What is wrong with machines: the faults that they get at launch, their status checks and
 * scheduled events, and which GPUs they have. */
#include "aws/sim/resources.h"
#include "aws/sim/describe.h"
#include <string.h>
#include "sim/core/console.h"

/* ---- at launch */

static const char *zone_of(const json_t *instance)
{
	return doc_str(json_object_get(instance, "placement"), "availabilityZone");
}

static bool is_free(const RgSimPlace *region, const char *host)
{
	rg_sim_foreach (other, region, EC2_INSTANCE) {
		if (g_str_equal(doc_str(other, "_host"), host) &&
			!g_str_equal(ec2_instance_state(other), "terminated"))
			return false;
	}
	return true;
}

/* With the knob same_hosts: that of an instance of the same type and zone which has ended. */
static const char *free_host(const RgSimPlace *region, const json_t *instance)
{
	rg_sim_foreach (other, region, EC2_INSTANCE) {
		const char *host = doc_str(other, "_host");
		if (*host && g_str_equal(zone_of(other), zone_of(instance)) &&
			g_str_equal(doc_str(other, "instanceType"),
				doc_str(instance, "instanceType")) &&
			is_free(region, host))
			return host;
	}
	return NULL;
}

void ec2_health_at_launch(const RgSimCall *call, json_t *instance)
{
	const char *host =
		doc_int(call->sim->knobs, "same_hosts") ? free_host(call->place, instance) : NULL;
	json_object_set_new(
		instance, "_host", json_string(host ? host : doc_str(instance, "instanceId")));
	json_t *rule =
		rg_sim_node_fault(call->place, EC2_INSTANCE, doc_str(instance, "instanceType"));
	if (rule)
		json_object_set(instance, "_fault", rule);
}

/* ---- what comes of it */

static bool has_fault(const json_t *instance, const char *how)
{
	return g_str_equal(doc_str(json_object_get(instance, "_fault"), "how"), how);
}

bool ec2_lacks_capacity(const json_t *instance)
{
	return has_fault(instance, "no-capacity");
}

/* ---- DescribeInstanceStatus */

static bool status_wanted(const RgSimCall *call, const json_t *status)
{
	const char *state = doc_str(json_object_get(status, "instanceState"), "name");
	return call_bool(call, "IncludeAllInstances", false) || g_str_equal(state, "running");
}

static json_t *check_of(const char *passed, const char *status)
{
	return json_pack("{s:[{s:s, s:s}], s:s}", "details", "name", "reachability", "status",
		passed, "status", status);
}

/* An event in a week, of its kind. */
static json_t *events_of(const RgSimCall *call, const json_t *instance)
{
	const char *code =
		rg_json_str(json_object_get(instance, "_fault"), "event", "instance-retirement");
	g_autofree char *when = ec2_time_text(call->sim->now_ms + 7 * 86400 * 1000LL);
	return json_pack("[{s:s, s:s, s:s+, s:s}]", "code", code, "description",
		"The instance is running on degraded hardware", "instanceEventId",
		"instance-event-0", doc_str(instance, "instanceId") + strlen("i-"), "notBefore",
		when);
}

static json_t *status_of(const RgSimCall *call, const json_t *instance)
{
	bool runs = g_str_equal(ec2_instance_state(instance), "running");
	json_auto_t *check = !runs ? json_pack("{s:s}", "status", "not-applicable")
			     : has_fault(instance, "impaired") ? check_of("failed", "impaired")
							       : check_of("passed", "ok");
	json_t *status = json_pack("{s:s, s:s, s:O, s:O, s:O}", "availabilityZone",
		zone_of(instance), "instanceId", doc_str(instance, "instanceId"), "instanceState",
		json_object_get(instance, "instanceState"), "instanceStatus", check, "systemStatus",
		check);
	if (has_fault(instance, "scheduled"))
		json_object_set_new(status, "eventsSet", events_of(call, instance));
	return status;
}

/* Not those of DescribeInstances: EC2 API reference. */
static const Ec2Filter status_filters[] = {{"availability-zone", "availabilityZone"},
	{"event.code", "eventsSet.code"}, {"event.description", "eventsSet.description"},
	{"event.instance-event-id", "eventsSet.instanceEventId"},
	{"instance-state-code", "instanceState.code"},
	{"instance-state-name", "instanceState.name"},
	{"instance-status.reachability", "instanceStatus.details.status"},
	{"instance-status.status", "instanceStatus.status"},
	{"system-status.reachability", "systemStatus.details.status"},
	{"system-status.status", "systemStatus.status"}, {NULL}};

static bool describe_instance_status(RgSimCall *call)
{
	static const Ec2Listing listing = {.kind = EC2_INSTANCE,
		.ids = "InstanceId",
		.set = "instanceStatusSet",
		.filters = status_filters,
		.view = status_of,
		.wanted = status_wanted};
	return ec2_describe(call, &listing);
}

const RgSimAction ec2_health_actions[] = {
	{"DescribeInstanceStatus", describe_instance_status, false,
		"IncludeAllInstances InstanceId" PAGED},
	{NULL},
};
