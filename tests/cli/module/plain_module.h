/* What the modules of these tests share: they are built as third parties build theirs, with jansson
 * and the installed header alone. SCHEMA_JSON comes from the test. */
#pragma once
#include <jansson.h>
#include <raygpu/provider.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rgp_inst {
	char endpoint[256], region[64];
};

typedef struct {
	struct rgp_inst *inst;
	const struct rgp_host *host;
	struct rgp_call *call;
	json_t *input;
} Call;

static const char *text_of(const json_t *value)
{
	const char *text = json_string_value(value);
	return text != NULL ? text : "";
}

static const char *str(const json_t *object, const char *key)
{
	return text_of(json_object_get(object, key));
}

static rgp_status give(const Call *c, const char *slot, json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT);
	struct rgp_bytes bytes = {text, text != NULL ? strlen(text) : 0};
	rgp_status status = text != NULL ? c->host->result(c->call, slot, bytes) : RGP_FAIL;
	free(text);
	json_decref(value);
	return status;
}

typedef struct {
	int status;    /* 0 = no answer; the host has the reason */
	json_t *value; /* the caller's; NULL if the answer is not JSON */
} Reply;

static Reply request(const Call *c, const char *method, const char *path, const json_t *body)
{
	char url[600];
	snprintf(url, sizeof(url), "%s/%s", c->inst->endpoint, path);
	char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
	struct rgp_http_req req = {.size = sizeof(req),
		.flags = strcmp(method, "GET") == 0 ? RGP_HTTP_READING : 0,
		.method = method,
		.url = url,
		.body = {text, text != NULL ? strlen(text) : 0},
		.what = method};
	struct rgp_http_resp resp = {.size = sizeof(resp)};
	rgp_status status = c->host->http(c->call, &req, &resp);
	free(text);
	if (status != RGP_OK)
		return (Reply){0, NULL};
	return (Reply){resp.status, json_loadb(resp.body.data, resp.body.len, 0, NULL)};
}

static rgp_status call_schema(const struct rgp_host *host, struct rgp_call *call)
{
	return host->result(call, "schema", (struct rgp_bytes){SCHEMA_JSON, strlen(SCHEMA_JSON)});
}

static void call_close(struct rgp_inst *inst)
{
	free(inst);
}

static rgp_status call_open(const struct rgp_host *host, struct rgp_call *call,
	const struct rgp_args *args, struct rgp_inst **inst)
{
	json_t *input = json_loadb(args->input.data, args->input.len, 0, NULL);
	*inst = calloc(1, sizeof(**inst));
	snprintf((*inst)->endpoint, sizeof((*inst)->endpoint), "%s",
		str(json_object_get(input, "config"), "endpoint"));
	snprintf((*inst)->region, sizeof((*inst)->region), "%s", str(input, "region"));
	json_decref(input);
	host->log(call, RGP_LOG_DEBUG, "opened");
	return RGP_OK;
}

#define CALL(name, run)                                                                            \
	static rgp_status call_##name(struct rgp_inst *inst, const struct rgp_host *host,          \
		struct rgp_call *call, const struct rgp_args *args)                                \
	{                                                                                          \
		Call c = {inst, host, call, NULL};                                                 \
		c.input = json_loadb(args->input.data, args->input.len, 0, NULL);                  \
		rgp_status status = c.input != NULL ? (run) : RGP_FAIL;                            \
		json_decref(c.input);                                                              \
		return status;                                                                     \
	}
