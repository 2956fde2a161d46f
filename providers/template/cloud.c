#include "cloud.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The cloud's error codes; for other codes the status decides. */
static const struct {
	const char *code, *class_name;
	int32_t class_;
} classes[] = {
	{"no_capacity", "capacity", RGP_CLASS_CAPACITY},
	{"quota", "quota", RGP_CLASS_QUOTA},
	{"denied", "denied", RGP_CLASS_DENIED},
	{"slow_down", "throttled", RGP_CLASS_THROTTLED},
	{"conflict", "conflict", RGP_CLASS_CONFLICT},
	{"invalid", "invalid", RGP_CLASS_INVALID},
	{"not_found", "gone", RGP_CLASS_GONE},
	{"busy", "transient", RGP_CLASS_TRANSIENT},
	{"canceled", "canceled", RGP_CLASS_CANCELED},
	{"", "unknown", RGP_CLASS_UNKNOWN},
};

const char *class_name(int32_t class_)
{
	size_t i = 0;
	while (classes[i].class_ != class_ && classes[i].class_ != RGP_CLASS_UNKNOWN)
		i++;
	return classes[i].class_name;
}

const char *str(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text != NULL ? text : "";
}

int is_word(const char *text)
{
	if (text == NULL)
		return 0;
	size_t len =
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
	return len > 0 && len <= 128 && text[len] == '\0';
}

rgp_status give(const Call *c, const char *slot, json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	struct rgp_bytes bytes = {text, text != NULL ? strlen(text) : 0};
	rgp_status status = text != NULL ? c->host->result(c->call, slot, bytes) : RGP_FAIL;
	free(text);
	json_decref(value);
	return status;
}

rgp_status fail(const Call *c, const Failure *why, const char *hint)
{
	struct rgp_diag diag = {.size = sizeof(diag),
		.class_ = why->class_,
		.summary = why->message,
		.hint = hint,
		.code = *why->code ? why->code : NULL};
	c->host->diag(c->call, &diag);
	return why->class_ == RGP_CLASS_CANCELED ? RGP_CANCELED : RGP_FAIL;
}

void set_failure(Failure *why, int32_t class_, const char *code, const char *message)
{
	*why = (Failure){.class_ = class_};
	snprintf(why->code, sizeof(why->code), "%s", code);
	snprintf(why->message, sizeof(why->message), "%s", message);
}

int32_t class_of_code(const char *code)
{
	size_t i = 0;
	while (classes[i].class_ != RGP_CLASS_UNKNOWN && strcmp(classes[i].code, code) != 0)
		i++;
	return classes[i].class_;
}

void read_failure(int32_t status, const json_t *reply, Failure *why)
{
	const json_t *error = json_object_get(reply, "error");
	const char *code = str(error, "code"), *message = str(error, "message");
	char text[64];
	snprintf(text, sizeof(text), "the cloud answered with status %d", (int)status);
	int32_t class_ = class_of_code(code);
	if (class_ == RGP_CLASS_UNKNOWN && (status == 401 || status == 403))
		class_ = RGP_CLASS_DENIED;
	else if (class_ == RGP_CLASS_UNKNOWN && status >= 500)
		class_ = RGP_CLASS_TRANSIENT;
	set_failure(why, class_, code, *message ? message : text);
	/* A 5xx may come after the change was made; so may any answer that our cloud did not
	 * write. */
	why->definite = status < 500 && *code != '\0';
}

json_t *request(const Call *c, const char *what, const char *method, const char *path,
	const json_t *body, Failure *why)
{
	char url[1536];
	if (snprintf(url, sizeof(url), "%s%s", c->inst->endpoint, path) >= (int)sizeof(url)) {
		set_failure(why, RGP_CLASS_INVALID, "", "the address is too long");
		return NULL;
	}
	const char *headers[] = {c->inst->authorization, "Content-Type: application/json", NULL};
	char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
	struct rgp_http_req req = {.size = sizeof(req),
		.flags = strcmp(method, "GET") == 0 ? RGP_HTTP_READING : 0,
		.method = method,
		.url = url,
		.headers = headers,
		.body = {text, text != NULL ? strlen(text) : 0},
		.what = what};
	struct rgp_http_resp resp = {.size = sizeof(resp)};
	rgp_status status = c->host->http(c->call, &req, &resp);
	free(text);
	if (status != RGP_OK) {
		set_failure(why, status == RGP_CANCELED ? RGP_CLASS_CANCELED : RGP_CLASS_TRANSIENT,
			"", "no answer came from the cloud");
		return NULL;
	}
	json_t *reply = json_loadb(resp.body.data, resp.body.len, JSON_REJECT_DUPLICATES, NULL);
	if (resp.status >= 200 && resp.status < 300 && json_is_object(reply))
		return reply;
	if (resp.status >= 200 && resp.status < 300)
		set_failure(why, RGP_CLASS_TRANSIENT, "", "the answer is cut or no JSON");
	else
		read_failure(resp.status, reply, why);
	json_decref(reply);
	return NULL;
}
