#include "render/stream/stream.h"
#include "base/redact.h"
#include "render/stream/stream_internal.h"
#include <string.h>

/* Messages of the stream but its summaries (stream_summary.c). */

json_t *message_new(const char *type, const char *level, const char *text)
{
	json_t *message = json_object();
	g_autofree char *valid = g_utf8_make_valid(text, -1);
	g_autofree char *safe = rg_redact(valid, strlen(valid));
	rg_json_set_str(message, "@level", level);
	rg_json_set_str(message, "@message", g_strchomp(safe));
	/* readers of Terraform's stream look for its name */
	rg_json_set_str(message, "@module", "terraform.ui");
	json_object_set_new(message, "@timestamp", json_null());
	rg_json_set_str(message, "type", type);
	json_object_set_new(message, "raygpu", json_object());
	return message;
}

void message_set_name(json_t *object, const char *key, const char *name)
{
	g_autofree char *valid = name ? g_utf8_make_valid(name, -1) : NULL;
	rg_json_set_str(object, key, valid);
}

void rg_message_set(json_t *message, const char *key, json_t *value)
{
	json_object_set_new(json_object_get(message, "raygpu"), key, value);
}

static void set_own_text(json_t *message, const char *key, const char *text)
{
	if (text)
		rg_json_set_str(json_object_get(message, "raygpu"), key, text);
}

json_t *rg_message_version(const char *command, const char *version)
{
	g_autofree char *text = g_strdup_printf("raygpu %s", version);
	json_t *message = message_new("version", "info", text);
	rg_json_set_str(message, "ui", RG_STREAM_UI);
	rg_json_set_str(json_object_get(message, "raygpu"), "version", version);
	rg_json_set_str(json_object_get(message, "raygpu"), "command", command);
	rg_message_set(message, "format", json_integer(1));
	return message;
}

json_t *rg_message_log(const char *text)
{
	return message_new("log", "info", text);
}

/* ---- diagnostics */

/* Keys of Terraform's diagnostics; the others are ours. */
static bool is_terraforms(const char *key)
{
	static const char *const keys[] = {
		"severity", "summary", "detail", "address", "range", "snippet", NULL};
	return g_strv_contains(keys, key);
}

json_t *rg_message_diag(json_t *row)
{
	const char *severity = rg_json_str(row, "severity", "error");
	bool note = g_str_equal(severity, "note"), error = g_str_equal(severity, "error");
	g_autofree char *text = g_strdup_printf("%s: %s",
		note	? "Note"
		: error ? "Error"
			: "Warning",
		rg_json_str(row, "summary", ""));
	json_t *message = message_new(note ? "log" : "diagnostic",
		note	? "info"
		: error ? "error"
			: "warn",
		text);
	json_t *theirs = json_object();
	rg_json_foreach_member (key, value, row) {
		if (!note && is_terraforms(key))
			json_object_set(theirs, key, value);
		else if (!json_is_null(value))
			rg_message_set(message, key, json_incref(value));
	}
	if (note)
		json_decref(theirs);
	else
		json_object_set_new(message, "diagnostic", theirs);
	return message;
}

/* ---- resources and what is planned for them */

static json_t *resource_json(const char *address, const char *kind)
{
	g_autofree char *parsed = NULL, *name = NULL;
	int64_t index = -1;
	json_t *resource = json_object();
	rg_address_parse(address, &parsed, &name, &index);
	const char *type = parsed ? parsed : kind ? kind : "";
	g_autofree char *provider = g_strndup(type, strcspn(type, "."));
	rg_json_set_str(resource, "addr", address);
	rg_json_set_str(resource, "module", "");
	rg_json_set_str(resource, "resource", address);
	rg_json_set_str(resource, "implied_provider", provider);
	rg_json_set_str(resource, "resource_type", type);
	rg_json_set_str(resource, "resource_name", name ? name : "");
	json_object_set_new(
		resource, "resource_key", index >= 0 ? json_integer(index) : json_null());
	return resource;
}

/* Words of raygpu and of Terraform: planned, and of a hook. */
typedef struct {
	const char *own, *planned, *hook;
} Words;

static Words words_of(RgAction action)
{
	switch (action) {
	case RG_ACTION_CREATE:
		return (Words){"create", "create", "create"};
	case RG_ACTION_UPDATE:
		return (Words){"update", "update", "update"};
	case RG_ACTION_REPLACE:
		return (Words){"replace", "replace", "replace"};
	case RG_ACTION_DELETE:
		return (Words){"delete", "delete", "delete"};
	case RG_ACTION_RECORD:
		return (Words){"record", "noop", "noop"};
	case RG_ACTION_FORGET:
		return (Words){"forget", "remove", "noop"};
	case RG_ACTION_RELEASE:
		return (Words){"release", "remove", "noop"};
	case RG_ACTION_STOP:
		return (Words){"stop", "noop", "noop"};
	case RG_ACTION_NONE:
		break;
	}
	return (Words){"none", "noop", "noop"};
}

static json_t *change_message(const char *type, const char *text, const char *address,
	const char *kind, const char *action, const char *reason)
{
	json_t *message = message_new(type, "info", text), *change = json_object();
	json_object_set_new(change, "resource", resource_json(address, kind));
	rg_json_set_str(change, "action", action);
	if (reason)
		rg_json_set_str(change, "reason", reason);
	json_object_set_new(message, "change", change);
	return message;
}

static void set_change(json_t *message, const RgPlanChange *change)
{
	set_own_text(message, "action", words_of(change->action).own);
	set_own_text(message, "pool", rg_plan_change_pool(change));
	set_own_text(message, "id", change->id);
}

/* terraform show -json says "replace_because_cannot_update", its stream "cannot_update". */
static const char *reason_of(const RgPlanChange *change)
{
	if (!change->reason)
		return NULL;
	return g_str_equal(change->reason, "replace_because_cannot_update") ? "cannot_update"
	       : g_str_equal(change->reason, "replace_by_request")	    ? "requested"
									    : change->reason;
}

json_t *rg_message_planned(const RgPlanChange *change)
{
	if (!rg_plan_change_shows(change) || change->action == RG_ACTION_STOP)
		return NULL;
	bool imports = change->action == RG_ACTION_NONE; /* and nothing else */
	const char *imported = rg_json_str(change->import, "id", NULL);
	const char *own = words_of(change->action).own;
	if (change->action == RG_ACTION_DELETE)
		own = rg_json_str(change->removal, "verb", own);
	g_autofree char *text =
		g_strdup_printf("%s: Plan to %s", change->address, imports ? "import" : own);
	json_t *message = change_message("planned_change", text, change->address, change->kind,
		imports ? "import" : words_of(change->action).planned, reason_of(change));
	set_change(message, change);
	if (imports)
		set_own_text(message, "action", "import");
	if (imported)
		json_object_set_new(json_object_get(message, "change"), "importing",
			json_pack("{s:s}", "id", imported));
	if (change->price_microusd_hour != RG_MONEY_UNKNOWN && change->price_microusd_hour)
		rg_message_set(message, "microusd_hour", json_integer(change->price_microusd_hour));
	return message;
}

static json_t *drift_message(const char *address, const char *kind, bool gone)
{
	const char *action = gone ? "delete" : "update";
	g_autofree char *text = g_strdup_printf("%s: Drift detected (%s)", address, action);
	return change_message("resource_drift", text, address, kind, action, NULL);
}

json_t *rg_message_drifted(const RgPlanChange *change)
{
	if (!change->drifted)
		return NULL;
	json_t *message = drift_message(change->address, change->kind, rg_plan_change_gone(change));
	set_change(message, change);
	return message;
}

json_t *rg_message_drift(const RgDriftItem *item)
{
	bool outside = item->type == RG_DRIFT_UNMANAGED;
	json_t *message;
	if (item->type == RG_DRIFT_MISSING || item->type == RG_DRIFT_CHANGED) {
		message = drift_message(item->address, item->kind, item->type == RG_DRIFT_MISSING);
	} else {
		g_autofree char *text = g_strdup_printf("%s%s%s: %s",
			item->address ? item->address : item->kind, item->address ? "" : " ",
			item->address ? ""
			: item->id    ? item->id
				      : "",
			outside	       ? "Not managed by raygpu"
			: item->reason ? item->reason
				       : "Does not work");
		message = message_new(
			outside ? "raygpu_unmanaged" : "raygpu_unhealthy", "info", text);
	}
	rg_message_set(message, "drift", rg_render_drift_item(item));
	return message;
}

/* ---- what happens */

static json_t *hook_json(const RgEvent *event, bool with_id, bool timed)
{
	json_t *hook = json_object();
	json_object_set_new(hook, "resource", resource_json(event->address, NULL));
	rg_json_set_str(hook, "action", words_of(event->action).hook);
	if (with_id && event->id) {
		rg_json_set_str(hook, "id_key", "id");
		rg_json_set_str(hook, "id_value", event->id);
	}
	if (timed)
		json_object_set_new(
			hook, "elapsed_seconds", json_integer((json_int_t)event->seconds));
	return hook;
}

static const char *type_of(RgEventType type)
{
	switch (type) {
	case RG_EVENT_START:
		return "apply_start";
	case RG_EVENT_STILL:
		return "apply_progress";
	case RG_EVENT_DONE:
	case RG_EVENT_QUEUED: /* it exists: Terraform would have waited */
		return "apply_complete";
	case RG_EVENT_FAILED:
		return "apply_errored";
	case RG_EVENT_REPLAY:
		return "raygpu_replayed";
	case RG_EVENT_BLOCKED:
		return "raygpu_blocked";
	case RG_EVENT_MOVE:
		return "raygpu_moved";
	case RG_EVENT_GANG:
		return "raygpu_gang";
	case RG_EVENT_INTERRUPT:
		return "raygpu_interrupted";
	case RG_EVENT_TIME:
		break;
	}
	return NULL;
}

static bool has_hook(RgEventType type)
{
	return type == RG_EVENT_START || type == RG_EVENT_STILL || type == RG_EVENT_DONE ||
	       type == RG_EVENT_QUEUED || type == RG_EVENT_FAILED;
}

static void set_failure(json_t *message, const RgDiag *diag)
{
	if (!diag)
		return;
	g_autofree char *valid = g_utf8_make_valid(diag->summary, -1);
	g_autofree char *safe = rg_redact(valid, strlen(valid));
	json_t *error = json_object();
	rg_json_set_str(error, "code", diag->code);
	rg_json_set_str(error, "summary", safe);
	rg_message_set(message, "error", error);
}

json_t *rg_message_event(const RgEvent *event)
{
	const char *type = type_of(event->type);
	if (!type)
		return NULL;
	bool warns = event->type == RG_EVENT_INTERRUPT || event->type == RG_EVENT_GANG ||
		     event->type == RG_EVENT_BLOCKED;
	g_autofree char *text = rg_render_event(event);
	json_t *message = message_new(type, warns ? "warn" : "info", text);
	if (has_hook(event->type) && event->address)
		json_object_set_new(message, "hook",
			hook_json(event,
				event->type != RG_EVENT_STILL && event->type != RG_EVENT_FAILED,
				event->type != RG_EVENT_START));
	else
		set_own_text(message, "address", event->address);
	if (event->address)
		set_own_text(message, "action", words_of(event->action).own);
	set_own_text(message, "pool", event->pool);
	if (event->type == RG_EVENT_STILL)
		set_own_text(message, "waits_for", event->text);
	if (event->type == RG_EVENT_QUEUED)
		set_own_text(message, "queued", event->text ? event->text : "");
	if (event->type == RG_EVENT_BLOCKED)
		set_own_text(message, "failed", event->text);
	set_failure(message, event->diag);
	rg_message_set(message, "done", json_integer(event->done));
	rg_message_set(message, "total", json_integer(event->total));
	return message;
}

json_t *rg_message_ready(const RgReadyEvent *event)
{
	g_autofree char *pools = rg_render_ready(event);
	g_autofree char *text = g_strdup_printf("Ray: %s", pools);
	json_t *message = message_new("raygpu_ready", "info", text), *rows = json_array();
	for (size_t i = 0; i < event->n; i++) {
		const RgReadyPool *pool = &event->pools[i];
		json_t *row = json_object();
		rg_json_set_str(row, "pool", pool->pool);
		json_object_set_new(row, "nodes", json_integer(pool->nodes));
		json_object_set_new(row, "joined", json_integer(pool->joined));
		json_object_set_new(row, "pulling", json_integer(pool->pulling));
		json_object_set_new(row, "failed", json_integer(pool->failed));
		json_array_append_new(rows, row);
	}
	rg_message_set(message, "pools", rows);
	rg_message_set(message, "elapsed_seconds", json_integer((json_int_t)event->seconds));
	return message;
}

/* ---- outputs */

/* As Terraform writes the types of values. */
static json_t *type_json(const json_t *value)
{
	if (json_is_string(value))
		return json_string("string");
	if (json_is_number(value))
		return json_string("number");
	if (json_is_boolean(value))
		return json_string("bool");
	if (json_is_null(value))
		return json_string("dynamic");
	bool list = json_is_array(value);
	json_t *parts = list ? json_array() : json_object();
	rg_json_foreach (part, value)
		json_array_append_new(parts, type_json(part));
	rg_json_foreach_member (key, part, value)
		json_object_set_new(parts, key, type_json(part));
	return json_pack("[s, o]", list ? "tuple" : "object", parts);
}

json_t *rg_message_outputs(const json_t *outputs, const char *secret)
{
	json_t *all = json_object();
	rg_json_foreach_member (name, value, outputs)
		json_object_set_new(all, name,
			json_pack("{s:b, s:o, s:O}", "sensitive", 0, "type", type_json(value),
				"value", value));
	if (secret)
		json_object_set_new(
			all, secret, json_pack("{s:b, s:s}", "sensitive", 1, "type", "string"));
	g_autofree char *text = g_strdup_printf("Outputs: %zu", json_object_size(all));
	json_t *message = message_new("outputs", "info", text);
	json_object_set_new(message, "outputs", all);
	return message;
}
