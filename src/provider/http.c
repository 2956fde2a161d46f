/* host->http: from the ABI's request to rg_http_send and back. What a call may send is decided
 * here: nothing in schema and lower, only reading requests in resolve, list, ready, find, open. */
#include "provider/internal.h"

#include <string.h>
#include "base/clock.h"

#define HEADERS_MAX 100
/* A server whose list never ends: so many answers without anything new, or so long. A filter that
 * finds little in a huge account makes empty pages too. */
#define BARREN_MAX 200
#define BARREN_MAX_MS (10 * 60 * 1000)

typedef struct {
	int32_t (*classify)(void *data, int32_t status, struct rgp_bytes body);
	void *data;
	int32_t told; /* what the module said last; -1: nothing */
} Classifier;

static RgHttpVerdict ask_module(void *data, int status, const char *body, size_t len)
{
	Classifier *classifier = data;
	classifier->told = classifier->classify(
		classifier->data, status, (struct rgp_bytes){body ? body : "", len});
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
	for (size_t i = 0; headers && headers[i]; i++) {
		if (i >= HEADERS_MAX || strpbrk(headers[i], "\r\n") || !strchr(headers[i], ':'))
			return false;
	}
	return true;
}

/* The members that `auth` must have, by its type; those in brackets may be missing. */
static const char *const auth_members[][8] = {
	{"aws_sigv4", "region", "service", "access_key", "secret_key", "[session_token]"},
	{"bearer", "token"},
	{"basic", "user", "password"},
	{"none"},
};
static const char *const connection_members[] = {"[ca_file]", "[ca_pem]", "[cert_file]",
	"[cert_pem]", "[key_file]", "[key_pem]", "[server_name]", "[proxy_url]", "[unix_socket]",
	NULL};

/* Every member is text, has a name of the list, and none of the list is missing. */
static bool has_members(const json_t *object, const char *const *members)
{
	size_t optional = 0, found = 0, known = 0;
	for (; members[known] != NULL; known++) {
		g_autofree char *name = g_strdup(members[known]);
		bool may_miss = name[0] == '[';
		if (may_miss)
			name[strlen(name) - 1] = '\0';
		const json_t *value = json_object_get(object, may_miss ? name + 1 : name);
		found += json_is_string(value);
		optional += may_miss && !value;
	}
	return found + optional == known && found == json_object_size(object);
}

static bool auth_is_right(const json_t *auth)
{
	json_auto_t *rest = json_copy(rg_json_unconst(auth));
	json_object_del(rest, "type");
	for (size_t i = 0; i < G_N_ELEMENTS(auth_members); i++) {
		if (g_str_equal(rg_json_str(auth, "type", ""), auth_members[i][0]))
			return has_members(rest, auth_members[i] + 1);
	}
	return false;
}

static bool connection_is_right(const json_t *connection)
{
	return has_members(connection, connection_members);
}

/* One JSON object of a request; true and NULL when empty. Parser's words could quote a secret, so
 * they are not shown. */
static bool parse_part(RgCall *call, const char *name, struct rgp_bytes bytes,
	bool (*is_right)(const json_t *), json_t **part)
{
	*part = NULL;
	if (!bytes.data || bytes.len == 0)
		return true;
	g_autoptr(RgDiags) unread = rg_diags_new();
	*part = rg_json_parse(bytes.data, bytes.len, name, "provider.bad-result", unread);
	if (json_is_object(*part) && is_right(*part))
		return true;
	json_decref(*part);
	*part = NULL;
	rg_call_bad(call, "\"%s\" of a request is not what the ABI describes", name);
	return false;
}

static bool may_send(RgCall *call, const struct rgp_http_req *req)
{
	const char *what = req->what ? req->what : req->method;
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
	call->reply_headers = reply->headers ? rg_json_canonical(reply->headers) : g_strdup("{}");
	struct rgp_http_resp full = {
		.size = resp->size,
		.status = reply->status,
		.body = {"", 0},
		.headers = {call->reply_headers, strlen(call->reply_headers)},
		.skew_s = reply->skew_s,
		.tries = reply->tries,
	};
	if (reply->body && reply->body->len > 0)
		full.body = (struct rgp_bytes){(const char *)reply->body->data, reply->body->len};
	memcpy(resp, &full, MIN(sizeof(full), resp->size));
}

void rg_call_has_news(RgCall *call)
{
	call->barren = 0;
}

static bool goes_on_for_ever(RgCall *call, const struct rgp_http_req *req)
{
	int64_t now_ms = rg_clock_monotonic_ms();
	if ((req->flags & RGP_HTTP_READING) == 0 || call->reply.status < 200 ||
		call->reply.status >= 300)
		return false;
	if (call->barren++ == 0)
		call->barren_ms = now_ms;
	if (call->barren <= BARREN_MAX && now_ms - call->barren_ms <= BARREN_MAX_MS)
		return false;
	RgDiag *diag = rg_diags_error(call->reasons, "http.bad-reply",
		"the answers to %s never end: %u in a row brought nothing new", call->verb,
		call->barren);
	rg_diag_hint(diag, "is the endpoint that of the cloud's API?");
	call->last = RG_CLASS_TRANSIENT;
	return true;
}

static rgp_status send_request(RgCall *call, const struct rgp_http_req *req, const json_t *auth,
	const json_t *connection, struct rgp_http_resp *resp)
{
	Classifier classifier = {req->classify, req->classify_data, -1};
	RgHttpRequest request = {
		.method = req->method,
		.url = req->url,
		.headers = req->headers,
		.body = req->body.data,
		.body_len = req->body.data ? req->body.len : 0,
		.reading = (req->flags & RGP_HTTP_READING) != 0,
		.hide_body = (req->flags & RGP_HTTP_HIDE_BODY) != 0,
		.timeout_ms = req->timeout_ms,
		.max_tries = req->max_tries,
		.auth = auth,
		.connection = connection,
		.classify = req->classify ? ask_module : NULL,
		.classify_data = &classifier,
		.what = req->what ? req->what : req->method,
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
	return goes_on_for_ever(call, req) ? RGP_FAIL : RGP_OK;
}

rgp_status rg_provider_http(
	struct rgp_call *handle, const struct rgp_http_req *req, struct rgp_http_resp *resp)
{
	RgCall *call = rg_call_enter(handle);
	if (!call)
		return RGP_FAIL;
	if (!req || !resp || !RGP_HAS(req, classify_data) || !RGP_HAS(resp, tries) ||
		!req->method || !req->url) {
		rg_call_bad(call, "a request is shorter than ABI 1.0 has it");
		return RGP_FAIL;
	}
	if (!may_send(call, req))
		return RGP_FAIL;
	if (!call->http) {
		rg_diags_error(call->reasons, "http.module",
			"%s needs the network, and this command opens none", call->verb);
		call->last = RG_CLASS_TRANSIENT;
		return RGP_FAIL;
	}
	json_t *auth, *connection = NULL;
	rgp_status status = RGP_FAIL;
	if (parse_part(call, "auth", req->auth, auth_is_right, &auth) &&
		parse_part(call, "connection", req->connection, connection_is_right, &connection))
		status = send_request(call, req, auth, connection, resp);
	json_decref(auth);
	json_decref(connection);
	return status;
}
