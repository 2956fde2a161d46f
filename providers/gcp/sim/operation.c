#include "gcp/sim/gce.h"
#include <string.h>

/* Operations: what a request started, and how it goes on. PENDING, then RUNNING after a quarter of
 * its time, then DONE. What it does to documents is in it as lists of effects, so that it survives
 * a restart of the simulator. */

/* ---- effects */

static json_t *add_effect(
	json_t *list, const char *what, unsigned kind, const json_t *doc, json_t *set)
{
	if (!list)
		list = json_array();
	json_array_append_new(
		list, json_pack("{s:s, s:i, s:s, s:s, s:o*}", "do", what, "kind", (int)kind, "key",
			      doc_str(doc, GCE_KEY), "id", doc_str(doc, "id"), "set", set));
	return list;
}

json_t *gce_effect_show(json_t *list, unsigned kind, const json_t *doc)
{
	return add_effect(list, "set", kind, doc, json_pack("{s:n}", "_hidden"));
}

json_t *gce_effect_remove(json_t *list, unsigned kind, const json_t *doc)
{
	return add_effect(list, "remove", kind, doc, NULL);
}

json_t *gce_effect_set(json_t *list, unsigned kind, const json_t *doc, json_t *set)
{
	return add_effect(list, "set", kind, doc, set);
}

json_t *gce_effect_set_from(const char *status, const json_t *doc, unsigned kind, json_t *set)
{
	json_t *list = gce_effect_set(NULL, kind, doc, set);
	json_object_set_new(json_array_get(list, 0), "from", json_string(status));
	return list;
}

static void apply_set(RgSimPlace *place, unsigned kind, const char *key, const json_t *set)
{
	json_t *doc = rg_sim_edit(place, kind, key);
	rg_json_foreach_member (name, value, set) {
		if (json_is_null(value))
			json_object_del(doc, name);
		else
			json_object_set(doc, name, value);
	}
	if (kind == GCE_INSTANCE)
		gce_lease_plan(place, doc);
	rg_sim_put(place, kind, doc);
}

/* A document that has gone, or another one under its name, is left alone. */
static void apply_effects(RgSimPlace *place, const json_t *list)
{
	rg_json_foreach (effect, list) {
		unsigned kind = (unsigned)doc_int(effect, "kind");
		const char *key = doc_str(effect, "key");
		const json_t *doc = kind < GCE_KINDS ? rg_sim_find(place, kind, key) : NULL;
		const char *from = rg_json_str(effect, "from", NULL);
		if (!doc || !g_str_equal(doc_str(doc, "id"), doc_str(effect, "id")) ||
			(from && !g_str_equal(from, doc_str(doc, "status"))))
			continue;
		if (g_str_equal(doc_str(effect, "do"), "remove"))
			gce_remove(place, kind, key);
		else
			apply_set(place, kind, key, json_object_get(effect, "set"));
	}
}

/* ---- the knob operation_faults */

bool gce_are_operation_faults(const json_t *value)
{
	rg_json_foreach (rule, value) {
		if (json_unpack_ex(rule, NULL, JSON_VALIDATE_ONLY | JSON_STRICT,
			    "{s?s, s?s, s?I, s?I, s:s, s?s, s?b, s?s}", "type", "target", "count",
			    "status", "code", "message", "never", "leaves"))
			return false;
	}
	return json_is_array(value);
}

static const json_t *find_rule(const RgSimPlace *place, const char *type, const char *key)
{
	rg_json_foreach (rule, json_object_get(place->sim->knobs, "operation_faults")) {
		if (g_pattern_match_simple(rg_json_str(rule, "type", "*"), type) &&
			g_pattern_match_simple(rg_json_str(rule, "target", "*"), gce_last(key)) &&
			rg_sim_count(place, GCE_OPERATION, "_rule", rule) <
				rg_json_int(rule, "count", G_MAXINT64))
			return rule;
	}
	return NULL;
}

static json_t *error_of_rule(const json_t *rule)
{
	const char *code = doc_str(rule, "code");
	g_autofree char *otherwise = g_strdup_printf("The operation failed: %s", code);
	return gce_error((int)rg_json_int(rule, "status", 503), code,
		g_strdup(rg_json_str(rule, "message", otherwise)));
}

/* ---- starting */

static json_t *operation_new(RgSimPlace *place, const GceOperation *wanted, const char *user)
{
	RgSim *sim = place->sim;
	g_autofree char *id = gce_number(sim);
	g_autofree char *hash = rg_sim_id(sim, "");
	g_autofree char *name = g_strdup_printf(
		"operation-%" G_GINT64_FORMAT "-%.13s-%.4s", sim->now_ms, hash, hash + 13);
	g_autofree char *key = g_strjoin("/", wanted->scope, "operations", name, NULL);
	g_autofree char *self = gce_link(place, key);
	g_autofree char *target = gce_link(
		place, wanted->target ? doc_str(wanted->target, GCE_KEY) : wanted->target_key);
	g_autofree char *now = gce_time(sim->now_ms);
	json_t *doc = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:s}", GCE_KEY,
		key, "kind", "compute#operation", "id", id, "name", name, "operationType",
		wanted->type, "targetLink", target, "status", "PENDING", "user", user, "insertTime",
		now, "progress", 0, "selfLink", self);
	g_autofree char *scope = gce_link(place, wanted->scope);
	if (!g_str_equal(wanted->scope, "global"))
		json_object_set_new(
			doc, *wanted->scope == 'z' ? "zone" : "region", json_string(scope));
	if (wanted->target && *doc_str(wanted->target, "id"))
		json_object_set(doc, "targetId", json_object_get(wanted->target, "id"));
	if (wanted->group)
		json_object_set_new(doc, "operationGroupId", json_string(wanted->group));
	return doc;
}

/* An instance that a failed operation leaves behind, as one that was preempted while it started. */
static void leave(GceOperation *wanted, const json_t *rule)
{
	const char *status = rg_json_str(rule, "leaves", NULL);
	if (!status || !wanted->target || !json_array_size(wanted->undo))
		return;
	json_decref(wanted->undo);
	wanted->undo = gce_effect_set(
		NULL, GCE_INSTANCE, wanted->target, json_pack("{s:s}", "status", status));
}

static json_t *start(RgSimPlace *place, GceOperation *wanted, const char *user)
{
	RgSim *sim = place->sim;
	const char *key = wanted->target ? doc_str(wanted->target, GCE_KEY) : wanted->target_key;
	const json_t *rule = wanted->error ? NULL : find_rule(place, wanted->type, key);
	json_t *doc = operation_new(place, wanted, user);
	gint64 ms = wanted->ms < 0 ? doc_int(sim->knobs, "operation_ms") : wanted->ms;
	if (rule)
		json_object_set(doc, "_rule", rg_json_unconst(rule));
	if (rule && !doc_is(rule, "never"))
		wanted->error = error_of_rule(rule);
	leave(wanted, rule);
	const struct {
		const char *name;
		json_t *value;
	} parts[] = {{"_begin", wanted->begin},
		{"_end", wanted->error ? wanted->undo : wanted->end}, {"_finally", wanted->finally},
		{"_error", wanted->error}};
	for (gsize i = 0; i < G_N_ELEMENTS(parts); i++) {
		if (parts[i].value)
			json_object_set(doc, parts[i].name, parts[i].value);
	}
	json_decref(wanted->begin);
	json_decref(wanted->end);
	json_decref(wanted->undo);
	json_decref(wanted->finally);
	json_decref(wanted->error);
	json_object_set_new(doc, "_ms", json_integer(ms));
	rg_sim_plan(place, GCE_OPERATION, doc, sim->now_ms + ms / 4, "RUNNING");
	rg_sim_put(place, GCE_OPERATION, doc);
	return doc;
}

json_t *gce_operation_start(RgSimCall *call, GceOperation *operation)
{
	return start(call->place, operation,
		operation->user ? operation->user
		: call->caller	? call->caller
				: "");
}

void gce_operation_system(RgSimPlace *place, GceOperation *operation)
{
	start(place, operation, "system");
}

/* ---- requestId */

/* Which request it is, without the parameters that do not change it. */
static char *request_print(const RgSimCall *call)
{
	json_auto_t *rest = json_copy(call->params);
	json_object_del(rest, "requestId");
	json_object_del(rest, "fields");
	json_object_del(rest, "prettyPrint");
	json_object_del(rest, "alt");
	json_object_set_new(rest, "method", json_string(call->action->name));
	return rg_json_digest(rest);
}

static bool is_request_id(const char *text)
{
	return g_uuid_string_is_valid(text) &&
	       !g_str_equal(text, "00000000-0000-0000-0000-000000000000");
}

bool gce_request_is_known(RgSimCall *call, bool *done)
{
	const char *id = call_str(call, "requestId");
	*done = false;
	if (!id)
		return false;
	if (!is_request_id(id)) {
		gce_fail_invalid(call, "requestId", id, "It must be a UUID that is not zero.");
		return true;
	}
	const json_t *known = rg_sim_find(call->place, GCE_REQUEST, id);
	if (!known)
		return false;
	g_autofree char *print = request_print(call);
	const json_t *operation =
		rg_sim_find(call->place, GCE_OPERATION, doc_str(known, "operation"));
	if (!g_str_equal(print, doc_str(known, "print")))
		gce_fail_invalid(call, "requestId", id, "It was used for another request.");
	else if (!operation)
		return false;
	else
		*done = gce_answer(call, json_incref(rg_json_unconst(operation)));
	return true;
}

static void remember(RgSimCall *call, const json_t *operation)
{
	const char *id = call_str(call, "requestId");
	gint64 keep_s = doc_int(call->sim->knobs, "request_id_s");
	if (!id || !keep_s)
		return;
	g_autofree char *print = request_print(call);
	json_t *doc = json_pack("{s:s, s:s, s:s}", GCE_KEY, id, "operation",
		doc_str(operation, GCE_KEY), "print", print);
	rg_sim_plan(call->place, GCE_REQUEST, doc, call->sim->now_ms + keep_s * 1000, "gone");
	rg_sim_put(call->place, GCE_REQUEST, doc);
}

bool gce_operate(RgSimCall *call, GceOperation *operation)
{
	json_t *doc = gce_operation_start(call, operation);
	remember(call, doc);
	return gce_answer(call, json_incref(doc));
}

bool gce_operate_on(RgSimCall *call, const char *type, const json_t *doc, json_t *end, json_t *undo)
{
	g_autofree char *scope = gce_scope(call);
	return gce_operate(call, &(GceOperation){.type = type,
					 .scope = scope,
					 .target = doc,
					 .ms = -1,
					 .end = end,
					 .undo = undo});
}

/* ---- its life */

static void run_on(RgSimPlace *place, json_t *operation)
{
	RgSim *sim = place->sim;
	g_autofree char *now = gce_time(sim->now_ms);
	gint64 ms = doc_int(operation, "_ms");
	json_object_set_new(operation, "status", json_string("RUNNING"));
	json_object_set_new(operation, "startTime", json_string(now));
	apply_effects(place, json_object_get(operation, "_begin"));
	if (doc_is(json_object_get(operation, "_rule"), "never"))
		json_object_del(operation, "_due");
	else
		rg_sim_plan(place, GCE_OPERATION, operation, sim->now_ms + ms - ms / 4, "DONE");
	rg_sim_put(place, GCE_OPERATION, operation);
}

static const char *http_text(gint64 status)
{
	static const struct {
		gint64 status;
		const char *text;
	} texts[] = {{400, "BAD REQUEST"}, {403, "FORBIDDEN"}, {404, "NOT FOUND"},
		{409, "CONFLICT"}, {412, "PRECONDITION FAILED"}, {500, "INTERNAL SERVER ERROR"},
		{503, "SERVICE UNAVAILABLE"}};
	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		if (texts[i].status == status)
			return texts[i].text;
	}
	return "ERROR";
}

static void end_well_or_badly(RgSimPlace *place, json_t *operation)
{
	RgSim *sim = place->sim;
	g_autofree char *now = gce_time(sim->now_ms);
	const json_t *error = json_object_get(operation, "_error");
	apply_effects(place, json_object_get(operation, "_end"));
	json_object_set_new(operation, "status", json_string("DONE"));
	json_object_set_new(operation, "progress", json_integer(100));
	json_object_set_new(operation, "endTime", json_string(now));
	json_object_update(operation, json_object_get(operation, "_finally"));
	if (error) {
		gint64 http = doc_int(error, "http");
		json_object_set_new(operation, "httpErrorStatusCode", json_integer(http));
		json_object_set_new(operation, "httpErrorMessage", json_string(http_text(http)));
		json_object_set_new(operation, "error",
			json_pack("{s:O}", "errors", json_object_get(error, "errors")));
	}
	json_object_del(operation, "_begin");
	json_object_del(operation, "_end");
	json_object_del(operation, "_finally");
	json_object_del(operation, "_error");
	rg_sim_plan(place, GCE_OPERATION, operation,
		sim->now_ms + doc_int(sim->knobs, "operation_keep_ms"), "gone");
	rg_sim_put(place, GCE_OPERATION, operation);
}

void gce_operation_due(RgSimPlace *place, unsigned kind, const char *key, const char *state)
{
	if (g_str_equal(state, "gone"))
		rg_sim_remove(place, kind, key);
	else if (g_str_equal(state, "RUNNING"))
		run_on(place, rg_sim_edit(place, kind, key));
	else
		end_well_or_badly(place, rg_sim_edit(place, kind, key));
}

/* ---- its methods */

/* Answers when it is done, or with how far it is when the time is over: at most 2 minutes. */
static bool operation_wait(RgSimCall *call)
{
	json_t *operation = gce_target(call, GCE_OPERATION);
	if (!operation)
		return false;
	gint64 end_ms = call->since_ms + doc_int(call->sim->knobs, "wait_ms");
	gint64 due_ms = doc_int(json_object_get(operation, "_due"), "at");
	if (!g_str_equal(doc_str(operation, "status"), "DONE") && call->sim->now_ms < end_ms)
		call->again_ms = due_ms ? CLAMP(due_ms, call->sim->now_ms + 1, end_ms) : end_ms;
	return gce_answer(call, json_incref(operation));
}

static bool operation_delete(RgSimCall *call)
{
	const json_t *operation = gce_target(call, GCE_OPERATION);
	if (!operation)
		return false;
	if (!g_str_equal(doc_str(operation, "status"), "DONE"))
		return gce_fail_not_ready(call, doc_str(operation, GCE_KEY));
	rg_sim_remove(call->place, GCE_OPERATION, doc_str(operation, GCE_KEY));
	call->status = 204;
	return true;
}

const RgSimAction gce_operation_actions[] = {
	{"globalOperations.aggregatedList", gce_aggregate, false, GCE_AGGREGATED},
	{"globalOperations.delete", operation_delete, true, ""},
	{"globalOperations.get", gce_get, false, ""},
	{"globalOperations.list", gce_list, false, GCE_LISTED},
	{"globalOperations.wait", operation_wait, false, ""},
	{"regionOperations.delete", operation_delete, true, ""},
	{"regionOperations.get", gce_get, false, ""},
	{"regionOperations.list", gce_list, false, GCE_LISTED},
	{"regionOperations.wait", operation_wait, false, ""},
	{"zoneOperations.delete", operation_delete, true, ""},
	{"zoneOperations.get", gce_get, false, ""},
	{"zoneOperations.list", gce_list, false, GCE_LISTED},
	{"zoneOperations.wait", operation_wait, false, ""},
	{NULL},
};
