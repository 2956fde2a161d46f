/* host->http: from the ABI's request to rg_http_send and back. What a call may send is decided
 * here: nothing in schema and lower, only reading requests in resolve, list, ready, find, open. */
#include "provider/internal.h"

#include <string.h>

#define HEADERS_MAX 100

typedef struct {
	int32_t (*classify)(void *data, int32_t status, struct rgp_bytes body);
	void *data;
	int32_t told; /* what the module said last; -1: nothing */
} Classifier;

static RgHttpVerdict ask_module(void *data, int status, const char *body, size_t len)
{
	Classifier *classifier = data;
	classifier->told = classifier->classify(
		classifier->data, status, (struct rgp_bytes){body != NULL ? body : "", len});
	if (classifier->told == RGP_CLASS_OK)
		return RG_HTTP_OK;
	if (classifier->told == RGP_CLASS_THROTTLED)
		return RG_HTTP_THROTTLED;
	return classifier->told == RGP_CLASS_TRANSIENT ? RG_HTTP_TRANSIENT : RG_HTTP_FAILED;
}

static RgClass class_by_status(int status)
{
	if (status == 401 || status == 403)
		return RG_CLASS_DENIED;
	if (status == 429 || status == 503)
		return RG_CLASS_THROTTLED;
	if (status >= 500)
		return RG_CLASS_TRANSIENT;
	return status < 400 ? RG_CLASS_OK : RG_CLASS_INVALID;
}

static bool headers_are_sound(const char *const *headers)
{
	for (size_t i = 0; headers != NULL && headers[i] != NULL; i++) {
		if (i >= HEADERS_MAX || strpbrk(headers[i], "\r\n") != NULL ||
			strchr(headers[i], ':') == NULL)
			return false;
	}
	return true;
}

/* The JSON of `auth` or `tls`; true and NULL when empty. Parser's words could quote a secret, so
 * they are not shown. */
static bool parse_part(RgCall *call, const char *name, struct rgp_bytes bytes, json_t **part)
{
	*part = NULL;
	if (bytes.data == NULL || bytes.len == 0)
		return true;
	g_autoptr(RgDiags) unread = rg_diags_new();
	*part = rg_json_parse(bytes.data, bytes.len, name, "provider.bad-result", unread);
	if (json_is_object(*part) && json_object_get(*part, "insecure") == NULL)
		return true;
	json_decref(*part);
	*part = NULL;
	rg_call_bad(call, "\"%s\" of a request is not what the ABI describes", name);
	return false;
}

static bool may_send(RgCall *call, const struct rgp_http_req *req)
{
	const char *what = req->what != NULL ? req->what : req->method;
	g_autofree char *name = rg_text_clean(what);
	if ((call->flags & RG_CALL_READS) == 0)
		rg_call_bad(call, "it sent %s, but %s must be pure", name, call->verb);
	else if ((call->flags & RG_CALL_CHANGES) == 0 && (req->flags & RGP_HTTP_READING) == 0)
		rg_call_bad(call, "it sent %s, which is not marked as reading, in %s", name,
			call->verb);
	else if (!headers_are_sound(req->headers))
		rg_call_bad(call, "%s has headers that are none", name);
	else
		return true;
	return false;
}

static void fill_reply(RgCall *call, struct rgp_http_resp *resp)
{
	const RgHttpReply *reply = &call->reply;
	g_free(call->reply_headers);
	call->reply_headers =
		reply->headers != NULL ? rg_json_canonical(reply->headers) : g_strdup("{}");
	struct rgp_http_resp full = {
		.size = resp->size,
		.status = reply->status,
		.body = {"", 0},
		.headers = {call->reply_headers, strlen(call->reply_headers)},
		.skew_s = reply->skew_s,
		.tries = reply->tries,
	};
	if (reply->body != NULL && reply->body->len > 0)
		full.body = (struct rgp_bytes){(const char *)reply->body->data, reply->body->len};
	memcpy(resp, &full, MIN(sizeof(full), resp->size));
}

static rgp_status send_request(RgCall *call, const struct rgp_http_req *req, const json_t *auth,
	const json_t *tls, struct rgp_http_resp *resp)
{
	Classifier classifier = {req->classify, req->classify_data, -1};
	RgHttpRequest request = {
		.method = req->method,
		.url = req->url,
		.headers = req->headers,
		.body = req->body.data,
		.body_len = req->body.data != NULL ? req->body.len : 0,
		.reading = (req->flags & RGP_HTTP_READING) != 0,
		.timeout_ms = req->timeout_ms,
		.max_tries = req->max_tries,
		.auth = auth,
		.tls = tls,
		.classify = req->classify != NULL ? ask_module : NULL,
		.classify_data = &classifier,
		.what = req->what != NULL ? req->what : req->method,
	};
	rg_http_reply_clear(&call->reply);
	memset(&call->reply, 0, sizeof(call->reply));
	if (!rg_http_send(call->http, &request, &call->reply, call->reasons)) {
		bool canceled = rg_call_canceled(call);
		call->last = canceled ? RG_CLASS_CANCELED : RG_CLASS_TRANSIENT;
		call->last_status = 0;
		return canceled ? RGP_CANCELED : RGP_FAIL;
	}
	bool told = classifier.told >= RGP_CLASS_OK && classifier.told <= RGP_CLASS_CANCELED;
	call->last_status = call->reply.status;
	call->last = told ? (RgClass)classifier.told : class_by_status(call->reply.status);
	/* No module may turn a refusal into a yes. */
	if (call->reply.status == 401 || call->reply.status == 403)
		call->last = call->last == RG_CLASS_THROTTLED ? call->last : RG_CLASS_DENIED;
	fill_reply(call, resp);
	return RGP_OK;
}

rgp_status rg_provider_http(
	struct rgp_call *handle, const struct rgp_http_req *req, struct rgp_http_resp *resp)
{
	RgCall *call = rg_call_enter(handle);
	if (call == NULL)
		return RGP_FAIL;
	if (req == NULL || resp == NULL || !RGP_HAS(req, classify_data) || !RGP_HAS(resp, tries) ||
		req->method == NULL || req->url == NULL) {
		rg_call_bad(call, "a request is shorter than ABI 1.0 has it");
		return RGP_FAIL;
	}
	if (!may_send(call, req))
		return RGP_FAIL;
	if (call->http == NULL) {
		rg_diags_error(call->reasons, "http.module",
			"%s needs the network, and this command opens none", call->verb);
		call->last = RG_CLASS_TRANSIENT;
		return RGP_FAIL;
	}
	json_t *auth, *tls = NULL;
	rgp_status status = RGP_FAIL;
	if (parse_part(call, "auth", req->auth, &auth) && parse_part(call, "tls", req->tls, &tls))
		status = send_request(call, req, auth, tls, resp);
	json_decref(auth);
	json_decref(tls);
	return status;
}
