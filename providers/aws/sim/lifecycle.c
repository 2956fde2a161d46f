#include "aws/sim/resources.h"

static json_t *state_json(const char *state)
{
	static const struct {
		const char *name;
		int code;
	} states[] = {{"pending", 0}, {"running", 16}, {"shutting-down", 32}, {"terminated", 48},
		{"stopping", 64}, {"stopped", 80}};
	size_t i = 0;
	while (i + 1 < G_N_ELEMENTS(states) && !g_str_equal(states[i].name, state))
		i++;
	return json_pack("{s:i, s:s}", "code", states[i].code, "name", states[i].name);
}

const char *ec2_instance_state(const json_t *instance)
{
	return doc_str(json_object_get(instance, "instanceState"), "name");
}

void ec2_instance_set_state(json_t *instance, const char *state)
{
	json_object_set_new(instance, "instanceState", state_json(state));
	json_object_del(instance, "_due");
}

void ec2_instance_plan(RgSimPlace *region, json_t *instance, gint64 at_ms, const char *state)
{
	rg_sim_plan(region, EC2_INSTANCE, instance, at_ms, state);
}

bool ec2_instance_runs(const json_t *instance)
{
	const char *state = ec2_instance_state(instance);
	return g_str_equal(state, "pending") || g_str_equal(state, "running");
}

/* ---- events that happen by themselves */

/* Interfaces and volumes are deleted or become free; a terminated instance shows none of them. */
static void let_go(RgSimPlace *region, json_t *instance)
{
	rg_json_foreach (entry, json_object_get(instance, "_interfaces"))
		ec2_interface_release(region, json_string_value(entry));
	rg_json_foreach (entry, json_object_get(instance, "blockDeviceMapping"))
		ec2_volume_release(region, doc_str(json_object_get(entry, "ebs"), "volumeId"));
	json_object_set_new(instance, "_interfaces", json_array());
	json_object_set_new(instance, "blockDeviceMapping", json_array());
	ec2_instance_show_interfaces(region, instance);
}

/* EC2 user guide, "Troubleshoot instance launch issues": "Instance terminates immediately". */
static void end_while_pending(const RgSimPlace *region, json_t *instance)
{
	json_object_set_new(instance, "_terminatedMs",
		json_integer(doc_int(region->sim->knobs, "terminated_ms")));
	json_object_set_new(instance, "reason", json_string("Server.InsufficientInstanceCapacity"));
	json_object_set_new(instance, "stateReason",
		json_pack("{s:s, s:s}", "code", "Server.InsufficientInstanceCapacity", "message",
			"Server.InsufficientInstanceCapacity: Insufficient capacity to satisfy "
			"instance request"));
}

static void instance_apply(RgSimPlace *region, json_t *instance, const char *state)
{
	if (g_str_equal(state, "running") && ec2_lacks_capacity(instance)) {
		end_while_pending(region, instance);
		state = "terminated";
	}
	if (g_str_equal(state, "reclaimed"))
		ec2_spot_take(region, instance);
	else if (ec2_lease_ends(state))
		ec2_lease_end(region, instance);
	else
		ec2_instance_set_state(instance, state);
	if (g_str_equal(state, "running"))
		json_object_set_new(instance, "_bootedMs", json_integer(region->sim->now_ms));
	ec2_lease_plan(region, instance);
	if (g_str_equal(state, "stopped"))
		ec2_instance_drop_public(region, instance);
	if (g_str_equal(state, "terminated")) {
		let_go(region, instance);
		gint64 stays = doc_int(instance, "_terminatedMs");
		ec2_instance_plan(region, instance, region->sim->now_ms + stays, "gone");
	}
	rg_sim_put(region, EC2_INSTANCE, instance);
}

void ec2_instance_due(RgSimPlace *region, unsigned kind, const char *id, const char *state)
{
	if (kind == EC2_RESERVATION)
		ec2_reservation_due(region, id, state);
	else if (g_str_equal(state, "gone"))
		rg_sim_remove(region, kind, id);
	else
		instance_apply(region, rg_sim_edit(region, kind, id), state);
}

/* ---- stopping, starting, rebooting and ending */

static const json_t *instance_at(const RgSimCall *call, const GPtrArray *ids, unsigned i)
{
	return rg_sim_find(call->place, EC2_INSTANCE, g_ptr_array_index(ids, i));
}

static bool is_one_of(const char *state, const char *states)
{
	g_auto(GStrv) list = g_strsplit(states, " ", -1);
	return g_strv_contains((const char *const *)list, state);
}

/* All or none: every instance must be in one of the states. */
static bool check_states(
	RgSimCall *call, const GPtrArray *ids, const char *states, const char *done)
{
	for (unsigned i = 0; i < ids->len; i++) {
		if (!is_one_of(ec2_instance_state(instance_at(call, ids, i)), states))
			return rg_sim_fail(call, 400, "IncorrectInstanceState",
				"The instance '%s' is not in a state from which it can be %s.",
				(const char *)g_ptr_array_index(ids, i), done);
	}
	return true;
}

/* One entry of the answer, with the state before and after. */
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
	rg_ptr_foreach (const char, id, ids) {
		json_t *instance = rg_sim_edit(call->place, EC2_INSTANCE, id);
		json_auto_t *previous = json_incref(json_object_get(instance, "instanceState"));
		change(call, instance);
		json_array_append_new(changes, change_entry(id, previous, instance));
		rg_sim_put(call->place, EC2_INSTANCE, instance);
	}
	ec2_xml_value(call->body, "instancesSet", changes);
	return true;
}

static void give_reason(const RgSimCall *call, json_t *instance)
{
	g_autoptr(GDateTime) now = g_date_time_new_from_unix_utc(call->sim->now_ms / 1000);
	g_autofree char *reason = g_date_time_format(now, "User initiated (%Y-%m-%d %H:%M:%S GMT)");
	json_object_set_new(instance, "reason", json_string(reason));
	json_object_set_new(instance, "stateReason",
		json_pack("{s:s, s:s}", "code", "Client.UserInitiatedShutdown", "message",
			"Client.UserInitiatedShutdown: User initiated shutdown"));
}

static void instance_terminate(RgSimCall *call, json_t *instance)
{
	if (is_one_of(ec2_instance_state(instance), "shutting-down terminated"))
		return;
	ec2_instance_set_state(instance, "shutting-down");
	give_reason(call, instance);
	ec2_spot_close(call->place, instance, "instance-terminated-by-user",
		"Spot Instance terminated due to user-initiated termination.");
	json_object_set_new(instance, "_terminatedMs",
		json_integer(doc_int(call->sim->knobs, "terminated_ms")));
	ec2_instance_plan(call->place, instance,
		call->sim->now_ms + doc_int(call->sim->knobs, "shutdown_ms"), "terminated");
}

static bool terminate_instances(RgSimCall *call)
{
	g_autoptr(GPtrArray) ids = ec2_ids(call, EC2_INSTANCE, "InstanceId");
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
	return ec2_go(call) && ec2_throttle_instances(call, ids->len) &&
	       change_all(call, ids, instance_terminate);
}

static void instance_stop(RgSimCall *call, json_t *instance)
{
	if (!g_str_equal(ec2_instance_state(instance), "running"))
		return;
	ec2_instance_set_state(instance, "stopping");
	give_reason(call, instance);
	ec2_instance_plan(call->place, instance,
		call->sim->now_ms + doc_int(call->sim->knobs, "shutdown_ms"), "stopped");
}

static bool none_is_spot(RgSimCall *call, const GPtrArray *ids)
{
	for (unsigned i = 0; i < ids->len; i++) {
		const json_t *instance = instance_at(call, ids, i);
		if (*doc_str(instance, "spotInstanceRequestId"))
			return rg_sim_fail(call, 400, "UnsupportedOperation",
				"You can't stop the Spot Instance '%s' because it is associated "
				"with a one-time Spot Instance request. You can only stop Spot "
				"Instances associated with persistent Spot Instance requests.",
				doc_str(instance, "instanceId"));
	}
	return true;
}

static bool stop_instances(RgSimCall *call)
{
	g_autoptr(GPtrArray) ids = ec2_ids(call, EC2_INSTANCE, "InstanceId");
	return ids && check_states(call, ids, "running stopping stopped", "stopped") &&
	       none_is_spot(call, ids) && ec2_go(call) && ec2_throttle_instances(call, ids->len) &&
	       change_all(call, ids, instance_stop);
}

static void instance_start(RgSimCall *call, json_t *instance)
{
	if (!g_str_equal(ec2_instance_state(instance), "stopped"))
		return;
	ec2_instance_set_state(instance, "pending");
	json_object_set_new(instance, "reason", json_string(""));
	json_object_del(instance, "stateReason");
	ec2_instance_give_public(call->place, instance);
	ec2_instance_plan(call->place, instance,
		call->sim->now_ms + doc_int(call->sim->knobs, "boot_ms"), "running");
}

/* A stopped instance has released its capacity and competes for it again. */
static bool places_left(RgSimCall *call, const GPtrArray *ids)
{
	g_autoptr(GHashTable) wanted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (unsigned i = 0; i < ids->len; i++) {
		const json_t *instance = instance_at(call, ids, i);
		if (!g_str_equal(ec2_instance_state(instance), "stopped"))
			continue;
		bool reserved;
		if (!ec2_reservation_starts(call, instance, &reserved))
			return false;
		if (reserved)
			continue;
		const char *type = doc_str(instance, "instanceType");
		const char *zone =
			doc_str(json_object_get(instance, "placement"), "availabilityZone");
		char *place = g_strconcat(type, "/", zone, NULL);
		int count = GPOINTER_TO_INT(g_hash_table_lookup(wanted, place)) + 1;
		g_hash_table_insert(wanted, place, GINT_TO_POINTER(count));
		const Ec2Machine machine = {type, *doc_str(instance, "instanceLifecycle") != '\0'};
		if (ec2_capacity_left(call, &machine, zone) < count)
			return ec2_fail_capacity(call, &machine, zone);
	}
	return true;
}

static bool quota_left(RgSimCall *call, const GPtrArray *ids)
{
	g_autoptr(GHashTable) wanted = g_hash_table_new(g_str_hash, g_str_equal);
	for (unsigned i = 0; i < ids->len; i++) {
		const json_t *instance = instance_at(call, ids, i);
		const char *type = doc_str(instance, "instanceType");
		const char *code = ec2_quota_code(type, false);
		if (!code || !g_str_equal(ec2_instance_state(instance), "stopped"))
			continue;
		gint64 vcpus = GPOINTER_TO_INT(g_hash_table_lookup(wanted, code)) +
			       ec2_type_vcpus(ec2_type_find(call->place, type));
		g_hash_table_insert(wanted, (void *)(guintptr)code, GINT_TO_POINTER((int)vcpus));
		if (ec2_quota_left(call, code) < vcpus)
			return ec2_fail_quota(call, code);
	}
	return true;
}

static bool start_instances(RgSimCall *call)
{
	g_autoptr(GPtrArray) ids = ec2_ids(call, EC2_INSTANCE, "InstanceId");
	return ids && check_states(call, ids, "pending running stopped", "started") &&
	       places_left(call, ids) && quota_left(call, ids) && ec2_go(call) &&
	       ec2_throttle_instances(call, ids->len) && change_all(call, ids, instance_start);
}

static bool reboot_instances(RgSimCall *call)
{
	g_autoptr(GPtrArray) ids = ec2_ids(call, EC2_INSTANCE, "InstanceId");
	if (!ids || !check_states(call, ids, "pending running", "rebooted") || !ec2_go(call))
		return false;
	return ec2_done(call);
}

const RgSimAction ec2_lifecycle_actions[] = {
	{"RebootInstances", reboot_instances, true, "DryRun InstanceId"},
	{"StartInstances", start_instances, true, "DryRun InstanceId"},
	{"StopInstances", stop_instances, true, "DryRun Force InstanceId"},
	{"TerminateInstances", terminate_instances, true, "DryRun Force InstanceId"},
	{NULL},
};
