/* The lease of an instance, as its own timer sees it: EC2 user guide, "View tags for your EC2
 * instances using instance metadata" and "Change instance initiated shutdown behavior". */
#include <string.h>
#include "aws/sim/resources.h"
#include "sim/core/lease.h"

#define LEASE_TAG "raygpu:expires"
#define LEASE_PATH "/meta-data/tags/instance/" LEASE_TAG
#define DUE "lease ends"

bool ec2_lease_is_watched(const char *user_data)
{
	gsize len = 0;
	g_autofree guchar *raw = g_base64_decode(user_data ? user_data : "", &len);
	return rg_sim_lease_is_watched(raw, len, LEASE_PATH);
}

bool ec2_shows_tags(const json_t *instance)
{
	const json_t *options = json_object_get(instance, "metadataOptions");
	return g_str_equal(doc_str(options, "instanceMetadataTags"), "enabled");
}

bool ec2_tags_can_show(RgSimCall *call, const json_t *tags)
{
	rg_json_foreach (tag, tags) {
		const char *key = doc_str(tag, "key");
		bool reserved = g_str_equal(key, ".") || g_str_equal(key, "..") ||
				g_str_equal(key, "_index");
		if (reserved ||
			!g_regex_match_simple("^[0-9a-zA-Z\\-_+=,.@:]{1,255}\\z", key, 0, 0))
			return rg_sim_fail(call, 400, "InvalidParameterValue",
				"'%s' is not a valid tag key. Tag keys must match pattern "
				"([0-9a-zA-Z\\-_+=,.@:]{1,255}), and must not be a reserved name "
				"('.', '..', '_index')",
				key);
	}
	return true;
}

void ec2_lease_plan(RgSimPlace *region, json_t *instance)
{
	const json_t *due = json_object_get(instance, "_due");
	const json_t *options = json_object_get(instance, "metadataOptions");
	const json_t *tag = rg_sim_entry(json_object_get(instance, "tagSet"), "key", LEASE_TAG);
	if (due && !g_str_equal(doc_str(due, "state"), DUE))
		return;
	json_object_del(instance, "_due");
	if (!g_str_equal(ec2_instance_state(instance), "running") ||
		!doc_is(instance, "_watchesLease") || !ec2_shows_tags(instance) ||
		!g_str_equal(doc_str(options, "httpEndpoint"), "enabled"))
		return;
	gint64 at_ms = rg_sim_lease_end_ms(doc_str(tag, "value"), region->sim->now_ms);
	if (at_ms)
		ec2_instance_plan(region, instance, at_ms, DUE);
}

bool ec2_lease_ends(const char *state)
{
	return g_str_equal(state, DUE);
}

/* A one-time Spot instance cannot be stopped. */
void ec2_lease_end(RgSimPlace *region, json_t *instance)
{
	bool stops = g_str_equal(doc_str(instance, "_shutdownBehavior"), "stop") &&
		     !*doc_str(instance, "spotInstanceRequestId");
	gint64 ends_ms = region->sim->now_ms + doc_int(region->sim->knobs, "shutdown_ms");
	ec2_instance_set_state(instance, stops ? "stopping" : "shutting-down");
	json_object_set_new(instance, "stateReason",
		json_pack("{s:s, s:s}", "code", "Client.InstanceInitiatedShutdown", "message",
			"Client.InstanceInitiatedShutdown: Instance initiated shutdown"));
	if (!stops) {
		ec2_spot_close(region, instance, "instance-terminated-by-user",
			"Spot Instance terminated due to user-initiated termination.");
		json_object_set_new(instance, "_terminatedMs",
			json_integer(doc_int(region->sim->knobs, "terminated_ms")));
	}
	ec2_instance_plan(region, instance, ends_ms, stops ? "stopped" : "terminated");
}
