#include "common/talk.h"
#include <string.h>

#define BACKOFF_FIRST_MS 250
#define BACKOFF_MOST_MS 8000

static const char *const class_names[] = {
	[RGP_CLASS_OK] = "ok",
	[RGP_CLASS_CAPACITY] = "capacity",
	[RGP_CLASS_QUOTA] = "quota",
	[RGP_CLASS_DENIED] = "denied",
	[RGP_CLASS_THROTTLED] = "throttled",
	[RGP_CLASS_CONFLICT] = "conflict",
	[RGP_CLASS_INVALID] = "invalid",
	[RGP_CLASS_TRANSIENT] = "transient",
	[RGP_CLASS_GONE] = "gone",
	[RGP_CLASS_UNKNOWN] = "unknown",
	[RGP_CLASS_CANCELED] = "canceled",
};

const char *mod_class_name(int32_t class_)
{
	if (class_ < 0 || (size_t)class_ >= G_N_ELEMENTS(class_names))
		return class_names[RGP_CLASS_UNKNOWN];
	return class_names[class_];
}

int32_t mod_class_parse(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(class_names); i++)
		if (g_str_equal(name, class_names[i]))
			return (int32_t)i;
	return RGP_CLASS_UNKNOWN;
}

void mod_failure_clear(ModFailure *failure)
{
	g_free(failure->code);
	g_free(failure->message);
	g_free(failure->request_id);
	*failure = (ModFailure){0};
}

void mod_failure_set(ModFailure *failure, int32_t class_, const char *code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *message = g_strdup_vprintf(format, args);
	va_end(args);
	char *kept_code = g_strdup(code); /* may be failure->code itself */
	mod_failure_clear(failure);
	failure->class_ = class_;
	failure->code = kept_code;
	failure->message = message;
}

void mod_failure_copy(ModFailure *to, const ModFailure *from)
{
	ModFailure copy = *from;
	copy.code = g_strdup(from->code);
	copy.message = g_strdup(from->message);
	copy.request_id = g_strdup(from->request_id);
	mod_failure_clear(to);
	*to = copy;
}

struct rgp_bytes mod_bytes(const char *text)
{
	return (struct rgp_bytes){text, text ? strlen(text) : 0};
}

int mod_compare_texts(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *mod_str(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

int64_t mod_int(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

bool mod_has_text(const json_t *list, const char *text)
{
	mod_foreach (member, list)
		if (json_is_string(member) && g_str_equal(json_string_value(member), text))
			return true;
	return false;
}

bool mod_are_texts(const json_t *list)
{
	mod_foreach (member, list)
		if (!json_is_string(member))
			return false;
	return true;
}

static void put(const ModTalk *talk, const struct rgp_diag *diag)
{
	if (talk->quiet)
		talk->host->log(talk->call, RGP_LOG_INFO, diag->summary);
	else
		talk->host->diag(talk->call, diag);
}

void mod_report_text(const ModTalk *talk, int32_t class_, const char *summary, const char *detail,
	const char *hint)
{
	struct rgp_diag diag = {
		.size = sizeof diag,
		.class_ = class_,
		.summary = summary,
		.detail = detail,
		.hint = hint,
	};
	put(talk, &diag);
}

void mod_report_origin(const ModTalk *talk, int32_t class_, const char *origin, const char *summary,
	const char *hint)
{
	struct rgp_diag diag = {
		.size = sizeof diag,
		.class_ = class_,
		.summary = summary,
		.hint = hint,
		.origin = origin && *origin ? origin : NULL,
	};
	put(talk, &diag);
}

void mod_report_warning(
	const ModTalk *talk, const char *origin, const char *summary, const char *hint)
{
	const struct rgp_diag diag = {.size = sizeof diag,
		.severity = 1,
		.summary = summary,
		.hint = hint,
		.origin = origin};
	put(talk, &diag);
}

void mod_report(const ModTalk *talk, const ModFailure *failure, const char *what)
{
	g_autofree char *summary = g_strdup_printf("%s: %s", what, failure->message);
	struct rgp_diag diag = {
		.size = sizeof diag,
		.class_ = failure->class_,
		.summary = summary,
		.hint = failure->hint,
		.code = failure->code,
		.request_id = failure->request_id,
		.attribute = failure->attribute,
		.origin = failure->class_ == RGP_CLASS_INVALID ? talk->origin : NULL,
	};
	put(talk, &diag);
}

json_t *mod_input(const ModTalk *talk, const struct rgp_args *args)
{
	json_error_t error;
	json_t *input =
		json_loadb(args->input.data, args->input.len, JSON_REJECT_DUPLICATES, &error);
	if (json_is_object(input))
		return input;
	json_decref(input);
	mod_report_text(
		talk, RGP_CLASS_INVALID, "the call's input is not a JSON object", error.text, NULL);
	return NULL;
}

rgp_status mod_give(const ModTalk *talk, const char *slot, json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT);
	json_decref(value);
	rgp_status status = talk->host->result(talk->call, slot, mod_bytes(text));
	free(text);
	return status;
}

rgp_status mod_give_complete(const ModTalk *talk)
{
	return mod_give(talk, "done", json_pack("{s:b}", "complete", true));
}

rgp_status mod_give_item(const ModTalk *talk, const char *address, const char *outcome,
	const char *id, json_t *attributes)
{
	json_t *item = json_pack("{s:s, s:s}", "address", address, "outcome", outcome);
	if (id && *id)
		json_object_set_new(item, "id", json_string(id));
	if (attributes)
		json_object_set_new(item, "attributes", attributes);
	return mod_give(talk, "item", item);
}

rgp_status mod_give_pending(
	const ModTalk *talk, const char *address, const char *id, const ModFailure *why)
{
	return mod_give(talk, "item",
		json_pack("{s:s, s:s, s:s, s:s?, s:s?}", "address", address, "outcome", "pending",
			"id", id, "code", why->code, "message", why->message));
}

rgp_status mod_give_failed(
	const ModTalk *talk, const char *address, const char *id, const ModFailure *failure)
{
	json_t *item = json_pack("{s:s, s:s, s:s, s:b, s:s?}", "address", address, "outcome",
		"failed", "class", mod_class_name(failure->class_), "definite", failure->definite,
		"code", failure->code);
	if (failure->message)
		json_object_set_new(item, "message", json_string(failure->message));
	if (failure->hint)
		json_object_set_new(item, "hint", json_string(failure->hint));
	if (failure->request_id)
		json_object_set_new(item, "request_id", json_string(failure->request_id));
	if (failure->attribute)
		json_object_set_new(item, "attribute", json_string(failure->attribute));
	if (id && *id)
		json_object_set_new(item, "id", json_string(id));
	return mod_give(talk, "item", item);
}

ModBackoff mod_backoff_start(const ModTalk *talk, int64_t limit_s)
{
	return (ModBackoff){
		.next_ms = BACKOFF_FIRST_MS,
		.deadline_s = talk->host->now(talk->call) + limit_s,
	};
}

rgp_status mod_backoff_wait(const ModTalk *talk, ModBackoff *backoff)
{
	if (talk->host->canceled(talk->call))
		return RGP_CANCELED;
	if (talk->host->now(talk->call) >= backoff->deadline_s)
		return RGP_FAIL;
	uint32_t wait_ms = backoff->next_ms;
	backoff->next_ms = MIN(backoff->next_ms * 2, BACKOFF_MOST_MS);
	return talk->host->sleep_ms(talk->call, wait_ms);
}
