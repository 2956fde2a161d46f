#include <string.h>
#include "gcp/sim/gce.h"

/* Instances: created one by one, started, stopped, deleted, preempted. */

/* cloud.google.com/compute/docs/instances/spot: 30 seconds for the guest to shut down. */
#define NOTICE_MS 30000

/* ---- insert */

static bool instance_insert(RgSimCall *call)
{
	const json_t *body = call_body(call);
	const char *name = rg_json_str(body, "name", NULL);
	g_autofree char *scope = gce_scope(call);
	GceMachine machine = {0};
	if (!gce_name_check(call, GCE_INSTANCE, scope, name) ||
		!gce_name_check(call, GCE_DISK, scope, name))
		return false;
	bool good = gce_machine_read(call, body, false, &machine);
	if (good) {
		g_autofree char *key = g_strjoin("/", scope, "instances", name, NULL);
		GceOperation operation = {.type = "insert", .scope = scope, .target_key = key};
		const json_t *instance = gce_machine_make(call, &machine, name, &operation.error);
		if (instance)
			gce_machine_effects(call->place, instance, &operation);
		else
			operation.ms = -1;
		good = gce_operate(call, &operation);
	}
	gce_machine_clear(&machine);
	return good;
}

/* ---- its life */

static bool has_status(const json_t *instance, const char *status)
{
	return g_str_equal(doc_str(instance, "status"), status);
}

static void set_status(RgSimPlace *place, const json_t *instance, const char *status)
{
	json_t *doc = json_copy(rg_json_unconst(instance));
	json_object_set_new(doc, "status", json_string(status));
	rg_sim_put(place, GCE_INSTANCE, doc);
}

static bool instance_delete(RgSimCall *call)
{
	const json_t *doc = gce_target(call, GCE_INSTANCE);
	if (!doc)
		return false;
	if (doc_is(doc, "deletionProtection"))
		return rg_sim_fail(call, 400, "invalid",
			"Invalid resource usage: 'Resource cannot be deleted if it's protected "
			"against "
			"deletion. Resource: projects/%s/%s'.",
			call->place_name, doc_str(doc, GCE_KEY));
	g_autofree char *scope = gce_scope(call);
	GceOperation operation = {.type = "delete",
		.scope = scope,
		.target = doc,
		.ms = doc_int(call->sim->knobs, "shutdown_ms"),
		.end = gce_effect_remove(NULL, GCE_INSTANCE, doc),
		.undo = gce_effect_set(NULL, GCE_INSTANCE, doc,
			json_pack("{s:O}", "status", json_object_get(doc, "status")))};
	bool good = gce_operate(call, &operation);
	set_status(call->place, doc, "STOPPING");
	return good;
}

static json_t *stopped(gint64 at_ms)
{
	g_autofree char *now = gce_time(at_ms);
	return json_pack(
		"{s:s, s:s, s:n}", "status", "TERMINATED", "lastStopTimestamp", now, "_bootedMs");
}

static bool instance_stop(RgSimCall *call)
{
	const json_t *doc = gce_target(call, GCE_INSTANCE);
	gint64 ms = doc_int(call->sim->knobs, "shutdown_ms");
	if (!doc)
		return false;
	bool runs = has_status(doc, "RUNNING");
	if (!runs && !has_status(doc, "TERMINATED"))
		return gce_fail_not_ready(call, doc_str(doc, GCE_KEY));
	g_autofree char *scope = gce_scope(call);
	GceOperation operation = {.type = "stop",
		.scope = scope,
		.target = doc,
		.ms = runs ? ms : -1,
		.undo = gce_effect_set(
			NULL, GCE_INSTANCE, doc, json_pack("{s:s}", "status", "RUNNING"))};
	if (runs)
		operation.end =
			gce_effect_set(NULL, GCE_INSTANCE, doc, stopped(call->sim->now_ms + ms));
	bool good = gce_operate(call, &operation);
	if (runs)
		set_status(call->place, doc, "STOPPING");
	return good;
}

/* The machine that a stopped instance would take again. */
static json_t *start_refusal(RgSimCall *call, const json_t *doc)
{
	const json_t *kept = json_object_get(doc, "_machine");
	const json_t *gpus = json_array_get(json_object_get(doc, "guestAccelerators"), 0);
	const char *type = gce_last(doc_str(doc, "machineType"));
	GceMachine machine = {.zone = doc_str(kept, "zone"),
		.type = type,
		.facts = gce_type_facts(call_data(call), type),
		.spot = doc_is(kept, "spot"),
		.label = g_strdup(doc_str(kept, "label")),
		.reservation = rg_json_str(doc, "_reservation", NULL)};
	if (gpus && strchr(machine.label, '+')) { /* attached ones */
		machine.accelerator = gce_last(doc_str(gpus, "acceleratorType"));
		machine.accelerators = doc_int(gpus, "acceleratorCount");
	}
	json_t *error = gce_quota_refusal(call->place, &machine);
	if (!error)
		error = gce_capacity_refusal(call->place, &machine);
	gce_machine_clear(&machine);
	return error;
}

static bool instance_start(RgSimCall *call)
{
	const json_t *doc = gce_target(call, GCE_INSTANCE);
	if (!doc)
		return false;
	if (!has_status(doc, "TERMINATED") && !has_status(doc, "RUNNING"))
		return gce_fail_not_ready(call, doc_str(doc, GCE_KEY));
	g_autofree char *scope = gce_scope(call);
	GceOperation operation = {.type = "start", .scope = scope, .target = doc, .ms = -1};
	if (has_status(doc, "RUNNING"))
		return gce_operate(call, &operation);
	operation.error = start_refusal(call, doc);
	if (operation.error)
		return gce_operate(call, &operation);
	gce_machine_effects(call->place, doc, &operation);
	json_decref(operation.undo);
	operation.undo =
		gce_effect_set(NULL, GCE_INSTANCE, doc, json_pack("{s:s}", "status", "TERMINATED"));
	bool good = gce_operate(call, &operation);
	set_status(call->place, doc, "PROVISIONING");
	return good;
}

/* ---- suspended: it keeps its memory, and its machine's capacity here */

static bool change_state(
	RgSimCall *call, const char *type, const char *from, const char *during, const char *to)
{
	const json_t *doc = gce_target(call, GCE_INSTANCE);
	if (!doc)
		return false;
	if (!has_status(doc, from))
		return gce_fail_not_ready(call, doc_str(doc, GCE_KEY));
	g_autofree char *scope = gce_scope(call);
	GceOperation operation = {.type = type,
		.scope = scope,
		.target = doc,
		.ms = doc_int(call->sim->knobs, "shutdown_ms"),
		.end = gce_effect_set(NULL, GCE_INSTANCE, doc, json_pack("{s:s}", "status", to)),
		.undo = gce_effect_set(
			NULL, GCE_INSTANCE, doc, json_pack("{s:s}", "status", from))};
	bool good = gce_operate(call, &operation);
	set_status(call->place, doc, during);
	return good;
}

static bool instance_suspend(RgSimCall *call)
{
	return change_state(call, "suspend", "RUNNING", "SUSPENDING", "SUSPENDED");
}

static bool instance_resume(RgSimCall *call)
{
	return change_state(call, "resume", "SUSPENDED", "PROVISIONING", "RUNNING");
}

/* ---- preemption */

static bool is_wanted(const RgSimReclaim *rule, const json_t *doc)
{
	const json_t *machine = json_object_get(doc, "_machine");
	return doc_is(machine, "spot") && !has_status(doc, "STOPPING") &&
	       !has_status(doc, "TERMINATED") &&
	       (!rule->ids || rg_json_has_text(rule->ids, doc_str(doc, "id")) ||
		       rg_json_has_text(rule->ids, doc_str(doc, "name"))) &&
	       (!rule->type || g_str_equal(rule->type, doc_str(machine, "label"))) &&
	       (!rule->zone || g_str_equal(rule->zone, doc_str(machine, "zone")));
}

static void preempt(RgSimPlace *place, const json_t *doc, gint64 ms)
{
	const json_t *scheduling = json_object_get(doc, "scheduling");
	bool gone = g_str_equal(doc_str(scheduling, "instanceTerminationAction"), "DELETE");
	g_autofree char *scope =
		g_strconcat("zones/", doc_str(json_object_get(doc, "_machine"), "zone"), NULL);
	GceOperation operation = {
		.type = "compute.instances.preempted", .scope = scope, .target = doc, .ms = ms};
	operation.end =
		gone ? gce_effect_remove(NULL, GCE_INSTANCE, doc)
		     : gce_effect_set(NULL, GCE_INSTANCE, doc, stopped(place->sim->now_ms + ms));
	gce_operation_system(place, &operation);
	set_status(place, doc, "STOPPING");
}

/* A guest that powers off leaves its instance TERMINATED, with its disks
 * (cloud.google.com/compute/docs/instances/stop-start-instance); the system event is
 * compute.instances.guestTerminate. */
void gce_lease_end(RgSimPlace *place, const char *key)
{
	const json_t *doc = rg_sim_find(place, GCE_INSTANCE, key);
	if (!g_str_equal(doc_str(doc, "status"), "RUNNING"))
		return;
	g_autofree char *scope =
		g_strconcat("zones/", doc_str(json_object_get(doc, "_machine"), "zone"), NULL);
	gint64 ms = doc_int(place->sim->knobs, "shutdown_ms");
	GceOperation operation = {.type = "compute.instances.guestTerminate",
		.scope = scope,
		.target = doc,
		.ms = ms,
		.end = gce_effect_set(NULL, GCE_INSTANCE, doc, stopped(place->sim->now_ms + ms))};
	gce_operation_system(place, &operation);
	json_t *changed = json_copy(rg_json_unconst(doc));
	json_object_set_new(changed, "status", json_string("STOPPING"));
	json_object_del(changed, "_due");
	rg_sim_put(place, GCE_INSTANCE, changed);
}

void gce_reclaim(RgSimPlace *place, RgSimReclaim *rule, json_t *hit)
{
	gint64 ms = rule->notice_ms < 0 ? NOTICE_MS : rule->notice_ms;
	const json_t *doc;
	for (unsigned at = 0; rule->left > 0 && (doc = rg_sim_next(place, GCE_INSTANCE, &at));) {
		if (!is_wanted(rule, doc))
			continue;
		json_array_append(hit, json_object_get(doc, "id"));
		preempt(place, doc, ms);
		rule->left--;
	}
}

const RgSimAction gce_instance_actions[] = {
	{"instances.aggregatedList", gce_aggregate, false, GCE_AGGREGATED},
	{"instances.delete", instance_delete, true, "requestId noGracefulShutdown"},
	{"instances.get", gce_get, false, ""},
	{"instances.insert", instance_insert, true,
		GCE_MACHINE(".") "requestId .name .deletionProtection .hostname"},
	{"instances.list", gce_list, false, GCE_LISTED},
	{"instances.resume", instance_resume, true, "requestId"},
	{"instances.start", instance_start, true, "requestId"},
	{"instances.stop", instance_stop, true, "requestId discardLocalSsd noGracefulShutdown"},
	{"instances.suspend", instance_suspend, true, "requestId"},
	{NULL},
};
