#include "aws/sim/power.h"
#include "aws/sim/instances.h"
#include "aws/sim/lifecycle.h"
#include "aws/sim/placement.h"
#include "aws/sim/quota.h"
#include "aws/sim/spot.h"
#include "aws/sim/throttle.h"
#include "aws/sim/types.h"
#include "aws/sim/xml.h"

static const json_t *instance_at(const RgSimCall *call, const GPtrArray *ids, unsigned i)
{
	return rg_sim_world_find(call->region, RG_SIM_INSTANCE, g_ptr_array_index(ids, i));
}

static bool is_one_of(const char *state, const char *states)
{
	g_auto(GStrv) list = g_strsplit(states, " ", -1);
	return g_strv_contains((const char *const *)list, state);
}

/* All or nothing: every instance must be in one of the states. */
static bool check_states(
	RgSimCall *call, const GPtrArray *ids, const char *states, const char *done)
{
	for (unsigned i = 0; i < ids->len; i++) {
		if (!is_one_of(rg_sim_instance_state(instance_at(call, ids, i)), states))
			return rg_sim_fail(call, 400, "IncorrectInstanceState",
				"The instance '%s' is not in a state from which it can be %s.",
				(const char *)g_ptr_array_index(ids, i), done);
	}
	return true;
}

/* One entry of the answer, from before and after. */
static json_t *change_entry(const char *id, json_t *previous, const json_t *instance)
{
	json_t *current = json_object_get(instance, "instanceState");
	return json_pack("{s:s, s:O, s:O}", "instanceId", id, "currentState", current,
		"previousState", previous);
}

typedef void (*Change)(RgSimCall *call, json_t *instance);

static bool change_all(RgSimCall *call, const GPtrArray *ids, Change change)
{
	json_auto_t *changes = json_array();
	for (unsigned i = 0; i < ids->len; i++) {
		const char *id = g_ptr_array_index(ids, i);
		json_t *instance = rg_sim_world_edit(call->region, RG_SIM_INSTANCE, id);
		json_auto_t *previous = json_incref(json_object_get(instance, "instanceState"));
		change(call, instance);
		json_array_append_new(changes, change_entry(id, previous, instance));
		rg_sim_world_put(call->world, call->region, RG_SIM_INSTANCE, instance);
	}
	rg_sim_xml_value(call->body, "instancesSet", changes);
	return true;
}

static void give_reason(const RgSimCall *call, json_t *instance)
{
	g_autoptr(GDateTime) now = g_date_time_new_from_unix_utc(call->world->now_ms / 1000);
	g_autofree char *reason = g_date_time_format(now, "User initiated (%Y-%m-%d %H:%M:%S GMT)");
	json_object_set_new(instance, "reason", json_string(reason));
	json_object_set_new(instance, "stateReason",
		json_pack("{s:s, s:s}", "code", "Client.UserInitiatedShutdown", "message",
			"Client.UserInitiatedShutdown: User initiated shutdown"));
}

static void terminate(RgSimCall *call, json_t *instance)
{
	if (is_one_of(rg_sim_instance_state(instance), "shutting-down terminated"))
		return;
	rg_sim_instance_set_state(instance, "shutting-down");
	give_reason(call, instance);
	rg_sim_spot_close(call->world, call->region, instance, "instance-terminated-by-user",
		"Spot Instance terminated due to user-initiated termination.");
	json_object_set_new(instance, "_terminatedMs", json_integer(call->knobs->terminated_ms));
	rg_sim_instance_plan(call->world, call->region, instance,
		call->world->now_ms + call->knobs->shutdown_ms, "terminated");
}

bool rg_sim_terminate_instances(RgSimCall *call)
{
	g_autoptr(GPtrArray) ids = rg_sim_call_ids(call, RG_SIM_INSTANCE, "InstanceId");
	if (!ids)
		return false;
	for (unsigned i = 0; i < ids->len; i++) {
		if (json_is_true(
			    json_object_get(instance_at(call, ids, i), "_disableApiTermination")))
			return rg_sim_fail(call, 400, "OperationNotPermitted",
				"The instance '%s' may not be terminated. Modify its "
				"'disableApiTermination' instance attribute and try again.",
				(const char *)g_ptr_array_index(ids, i));
	}
	return rg_sim_go(call) && rg_sim_throttle_instances(call, ids->len) &&
	       change_all(call, ids, terminate);
}

static void stop(RgSimCall *call, json_t *instance)
{
	if (!g_str_equal(rg_sim_instance_state(instance), "running"))
		return;
	rg_sim_instance_set_state(instance, "stopping");
	give_reason(call, instance);
	rg_sim_instance_plan(call->world, call->region, instance,
		call->world->now_ms + call->knobs->shutdown_ms, "stopped");
}

static bool none_is_spot(RgSimCall *call, const GPtrArray *ids)
{
	for (unsigned i = 0; i < ids->len; i++) {
		const json_t *instance = instance_at(call, ids, i);
		if (*rg_sim_doc_str(instance, "spotInstanceRequestId"))
			return rg_sim_fail(call, 400, "UnsupportedOperation",
				"You can't stop the Spot Instance '%s' because it is associated "
				"with a one-time Spot Instance request. You can only stop Spot "
				"Instances associated with persistent Spot Instance requests.",
				rg_sim_doc_str(instance, "instanceId"));
	}
	return true;
}

bool rg_sim_stop_instances(RgSimCall *call)
{
	g_autoptr(GPtrArray) ids = rg_sim_call_ids(call, RG_SIM_INSTANCE, "InstanceId");
	return ids && check_states(call, ids, "running stopping stopped", "stopped") &&
	       none_is_spot(call, ids) && rg_sim_go(call) &&
	       rg_sim_throttle_instances(call, ids->len) && change_all(call, ids, stop);
}

static void start(RgSimCall *call, json_t *instance)
{
	if (!g_str_equal(rg_sim_instance_state(instance), "stopped"))
		return;
	rg_sim_instance_set_state(instance, "pending");
	json_object_set_new(instance, "reason", json_string(""));
	json_object_del(instance, "stateReason");
	rg_sim_instance_give_public(call->world, call->region, instance);
	rg_sim_instance_plan(call->world, call->region, instance,
		call->world->now_ms + call->knobs->boot_ms, "running");
}

/* A stopped instance gave its place back and competes for a new one. */
static bool places_left(RgSimCall *call, const GPtrArray *ids)
{
	g_autoptr(GHashTable) wanted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (unsigned i = 0; i < ids->len; i++) {
		const json_t *instance = instance_at(call, ids, i);
		if (!g_str_equal(rg_sim_instance_state(instance), "stopped"))
			continue;
		const char *type = rg_sim_doc_str(instance, "instanceType");
		const char *zone =
			rg_sim_doc_str(json_object_get(instance, "placement"), "availabilityZone");
		char *place = g_strconcat(type, "/", zone, NULL);
		int count = GPOINTER_TO_INT(g_hash_table_lookup(wanted, place)) + 1;
		g_hash_table_insert(wanted, place, GINT_TO_POINTER(count));
		if (rg_sim_placement_free(call, type, zone) < count)
			return rg_sim_placement_fail_capacity(call, type, zone);
	}
	return true;
}

static bool quota_left(RgSimCall *call, const GPtrArray *ids)
{
	g_autoptr(GHashTable) wanted = g_hash_table_new(g_str_hash, g_str_equal);
	for (unsigned i = 0; i < ids->len; i++) {
		const json_t *instance = instance_at(call, ids, i);
		const char *type = rg_sim_doc_str(instance, "instanceType");
		const char *code = rg_sim_quota_code(type, false);
		if (!code || !g_str_equal(rg_sim_instance_state(instance), "stopped"))
			continue;
		gint64 vcpus = GPOINTER_TO_INT(g_hash_table_lookup(wanted, code)) +
			       rg_sim_type_vcpus(rg_sim_type_find(call->world->data, type));
		g_hash_table_insert(wanted, (void *)(guintptr)code, GINT_TO_POINTER((int)vcpus));
		if (rg_sim_quota_left(call, code) < vcpus)
			return rg_sim_quota_fail(call, code);
	}
	return true;
}

bool rg_sim_start_instances(RgSimCall *call)
{
	g_autoptr(GPtrArray) ids = rg_sim_call_ids(call, RG_SIM_INSTANCE, "InstanceId");
	return ids && check_states(call, ids, "pending running stopped", "started") &&
	       places_left(call, ids) && quota_left(call, ids) && rg_sim_go(call) &&
	       rg_sim_throttle_instances(call, ids->len) && change_all(call, ids, start);
}

bool rg_sim_reboot_instances(RgSimCall *call)
{
	g_autoptr(GPtrArray) ids = rg_sim_call_ids(call, RG_SIM_INSTANCE, "InstanceId");
	if (!ids || !check_states(call, ids, "pending running", "rebooted") || !rg_sim_go(call))
		return false;
	rg_sim_xml_text(call->body, "return", "true");
	return true;
}
