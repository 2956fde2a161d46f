/* host->http and http_all: from the ABI's requests to rg_http_send and back. This file decides what
 * a call may send: nothing in schema and lower, only reading requests in resolve, list, ready,
 * find, open. */
#include "provider/internal.h"

#include <string.h>
#include "base/clock.h"

#define HEADERS_MAX 100
#define TOGETHER_MAX 64 /* requests per http_all */
/* A server whose list never ends: this many answers without anything new, this many of them to
 * requests that were sent before, or this much time. A filter that matches little in a huge account
 * also produces empty pages, each with another token. */
#define BARREN_MAX 5000
#define REPEATS_MAX 200
#define BARREN_MAX_MS (10 * 60 * 1000)

/* One request in flight. It may run on its own thread: everything else belongs to the call. */
typedef struct {
	RgHttp *http;
	const struct rgp_http_req *req;
	struct rgp_http_resp *resp;
	json_t *auth, *connection;
	int32_t told; /* the last result of the module's classify; -1: none */
	RgHttpReply reply;
	char *headers; /* of the reply, as JSON */
	RgDiags *reasons;
	bool answered;
} Exchange;

static void exchange_free(gpointer data)
{
	Exchange *exchange = data;
	json_decref(exchange->auth);
	json_decref(exchange->connection);
	rg_http_reply_clear(&exchange->reply);
	g_free(exchange->headers);
	rg_diags_free(exchange->reasons);
	g_free(exchange);
}

static RgHttpVerdict ask_module(void *data, int status, const char *body, size_t len)
{
	Exchange *exchange = data;
	exchange->told = exchange->req->classify(
		exchange->req->classify_data, status, (struct rgp_bytes){body ? body : "", len});
	if (exchange->told == RGP_CLASS_OK)
		return RG_HTTP_OK;
	if (exchange->told == RGP_CLASS_THROTTLED)
		return RG_HTTP_THROTTLED;
	return exchange->told == RGP_CLASS_TRANSIENT ? RG_HTTP_TRANSIENT : RG_HTTP_FAILED;
}

static bool headers_are_sound(const char *const *headers)
{
	for (size_t i = 0; headers && headers[i]; i++) {
		if (i >= HEADERS_MAX || strpbrk(headers[i], "\r\n") || !strchr(headers[i], ':'))
			return false;
	}
	return true;
}

/* The members of `auth` by its type; those in brackets are optional. */
static const char *const auth_members[][8] = {
	{"aws_sigv4", "region", "service", "access_key", "secret_key", "[session_token]"},
	{"bearer", "token"},
	{"basic", "user", "password"},
	{"none"},
};
static const char *const connection_members[] = {"[ca_file]", "[ca_pem]", "[cert_file]",
	"[cert_pem]", "[key_file]", "[key_pem]", "[server_name]", "[proxy_url]", "[unix_socket]",
	NULL};

/* Every member is text with a name from the list, and no required one is missing. */
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

/* One JSON object of a request; true and NULL if empty. The parser's message could quote a secret,
 * so it is not shown. */
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
		rg_call_bad(call, "%s has malformed headers", name);
	else
		return true;
	return false;
}

static void fill_reply(Exchange *exchange)
{
	const RgHttpReply *reply = &exchange->reply;
	struct rgp_http_resp *resp = exchange->resp;
	exchange->headers = reply->headers ? rg_json_canonical(reply->headers) : g_strdup("{}");
	struct rgp_http_resp full = {
		.size = resp->size,
		.status = reply->status,
		.body = {"", 0},
		.headers = {exchange->headers, strlen(exchange->headers)},
		.skew_s = reply->skew_s,
		.tries = reply->tries,
	};
	if (reply->body && reply->body->len > 0)
		full.body = (struct rgp_bytes){(const char *)reply->body->data, reply->body->len};
	memcpy(resp, &full, MIN(sizeof(full), resp->size));
}

void rg_call_has_news(RgCall *call)
{
	call->barren = call->repeats = 0;
	g_clear_pointer(&call->asked, g_hash_table_unref);
}

static bool was_asked(RgCall *call, const struct rgp_http_req *req)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	g_checksum_update(sum, (const guchar *)req->url, (gssize)strlen(req->url));
	if (req->body.len)
		g_checksum_update(sum, (const guchar *)req->body.data, (gssize)req->body.len);
	if (!call->asked)
		call->asked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return !g_hash_table_add(call->asked, g_strdup(g_checksum_get_string(sum)));
}

static bool goes_on_for_ever(RgCall *call, const Exchange *exchange)
{
	int64_t now_ms = rg_clock_monotonic_ms();
	int status = exchange->reply.status;
	if ((exchange->req->flags & RGP_HTTP_READING) == 0 || status < 200 || status >= 300)
		return false;
	if (call->barren++ == 0)
		call->barren_ms = now_ms;
	call->repeats += was_asked(call, exchange->req);
	if (call->barren <= BARREN_MAX && call->repeats <= REPEATS_MAX &&
		now_ms - call->barren_ms <= BARREN_MAX_MS)
		return false;
	RgDiag *diag = rg_diags_error(call->reasons, "http.bad-reply",
		"the answers to %s never end: %u in a row contained nothing new", call->verb,
		call->barren);
	rg_diag_hint(diag, "check that the endpoint is that of the cloud's API");
	call->last = RG_CLASS_TRANSIENT;
	return true;
}

static void *run_exchange(void *data)
{
	Exchange *exchange = data;
	const struct rgp_http_req *req = exchange->req;
	const RgHttpRequest request = {
		.method = req->method,
		.url = req->url,
		.headers = req->headers,
		.body = req->body.data,
		.body_len = req->body.data ? req->body.len : 0,
		.reading = (req->flags & RGP_HTTP_READING) != 0,
		.hide_body = (req->flags & RGP_HTTP_HIDE_BODY) != 0,
		.timeout_ms = req->timeout_ms,
		.max_tries = req->max_tries,
		.auth = exchange->auth,
		.connection = exchange->connection,
		.classify = req->classify ? ask_module : NULL,
		.classify_data = exchange,
		.what = req->what ? req->what : req->method,
	};
	exchange->answered =
		rg_http_send(exchange->http, &request, &exchange->reply, exchange->reasons);
	return NULL;
}

/* The first of them runs on the call's own thread. */
static void run_exchanges(const GPtrArray *exchanges)
{
	pthread_t threads[TOGETHER_MAX];
	bool started[TOGETHER_MAX] = {false};
	for (guint i = 1; i < exchanges->len; i++)
		started[i] =
			pthread_create(&threads[i], NULL, run_exchange, exchanges->pdata[i]) == 0;
	for (guint i = 0; i < exchanges->len; i++) {
		if (started[i])
			pthread_join(threads[i], NULL);
		else
			run_exchange(exchanges->pdata[i]);
	}
}

static RgClass class_of(const Exchange *exchange)
{
	int status = exchange->reply.status;
	bool told = exchange->told >= RGP_CLASS_OK && exchange->told <= RGP_CLASS_CANCELED;
	/* No module may turn a refusal into a success. */
	if ((status == 401 || status == 403) && exchange->told != RGP_CLASS_THROTTLED)
		return RG_CLASS_DENIED;
	if (told)
		return (RgClass)exchange->told;
	if (status == 429 || status == 503)
		return RG_CLASS_THROTTLED;
	if (status >= 500)
		return RG_CLASS_TRANSIENT;
	return status < 400 ? RG_CLASS_OK : RG_CLASS_INVALID;
}

/* Stores the result of one in the module's answer and in the call. */
static rgp_status finish_exchange(RgCall *call, Exchange *exchange)
{
	if (exchange->answered || !(exchange->req->flags & RGP_HTTP_PROBE))
		rg_diags_take_all(call->reasons, exchange->reasons);
	if (!exchange->answered) {
		bool canceled = rg_call_canceled(call);
		call->last = canceled ? RG_CLASS_CANCELED : RG_CLASS_TRANSIENT;
		call->last_status = exchange->resp->status = 0;
		return canceled ? RGP_CANCELED : RGP_FAIL;
	}
	fill_reply(exchange);
	if (!rg_call_was_refused(call)) { /* by another of them */
		call->last_status = exchange->reply.status;
		call->last = class_of(exchange);
	}
	return RGP_OK;
}

/* Adds the request to the call's exchanges; false if it must not be sent. */
static bool prepare(RgCall *call, const struct rgp_http_req *req, struct rgp_http_resp *resp)
{
	if (!req || !resp || !RGP_HAS(req, classify_data) || !RGP_HAS(resp, tries) ||
		!req->method || !req->url) {
		rg_call_bad(call, "a request is shorter than in ABI 1.0");
		return false;
	}
	Exchange *exchange = g_new0(Exchange, 1);
	*exchange = (Exchange){.http = call->http,
		.req = req,
		.resp = resp,
		.told = -1,
		.reasons = rg_diags_new()};
	g_ptr_array_add(call->exchanges, exchange);
	return may_send(call, req) &&
	       parse_part(call, "auth", req->auth, auth_is_right, &exchange->auth) &&
	       parse_part(call, "connection", req->connection, connection_is_right,
		       &exchange->connection);
}

rgp_status rg_provider_http_all(struct rgp_call *handle, const struct rgp_http_req *const *reqs,
	size_t n, struct rgp_http_resp *const *resps)
{
	RgCall *call = rg_call_enter(handle);
	if (!call)
		return RGP_FAIL;
	if (!reqs || !resps || n == 0 || n > TOGETHER_MAX) {
		rg_call_bad(
			call, "it sent %zu requests at once: 1 to %d are allowed", n, TOGETHER_MAX);
		return RGP_FAIL;
	}
	g_clear_pointer(&call->exchanges, g_ptr_array_unref);
	call->exchanges = g_ptr_array_new_with_free_func(exchange_free);
	for (size_t i = 0; i < n; i++) {
		if (!prepare(call, reqs[i], resps[i]))
			return RGP_FAIL;
	}
	call->last = RG_CLASS_OK;
	if (!call->http) {
		rg_diags_error(call->reasons, "http.module",
			"%s needs the network, but this command does not use it", call->verb);
		call->last = RG_CLASS_TRANSIENT;
		return RGP_FAIL;
	}
	run_exchanges(call->exchanges);
	rgp_status all = RGP_OK;
	for (size_t i = 0; i < n; i++) {
		rgp_status status = finish_exchange(call, call->exchanges->pdata[i]);
		all = all == RGP_OK ? status : all;
	}
	return all == RGP_OK && goes_on_for_ever(call, call->exchanges->pdata[0]) ? RGP_FAIL : all;
}

rgp_status rg_provider_http(
	struct rgp_call *handle, const struct rgp_http_req *req, struct rgp_http_resp *resp)
{
	return rg_provider_http_all(handle, &req, 1, &resp);
}
