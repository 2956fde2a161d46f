#include "common/rest.h"
#include <string.h>
#include "common/exchange.h"

#define PAGES_MAX 100000

void mod_rest_answer_clear(ModRestAnswer *answer)
{
	json_decref(answer->body);
	json_decref(answer->headers);
	mod_failure_clear(&answer->failure);
	*answer = (ModRestAnswer){0};
}

json_t *mod_at(const json_t *value, const char *pointer)
{
	g_auto(GStrv) steps = g_strsplit(pointer, "/", -1);
	for (size_t i = 1; steps[0] && steps[i] && value; i++)
		value = json_is_array(value)
				? json_array_get(value, g_ascii_strtoull(steps[i], NULL, 10))
				: json_object_get(value, steps[i]);
	return mod_unconst(value);
}

/* ---- where a request goes */

static int rest_port(GUri *uri)
{
	if (g_uri_get_port(uri) > 0)
		return g_uri_get_port(uri);
	return g_str_equal(g_uri_get_scheme(uri), "https") ? 443 : 80;
}

static bool rest_same_origin(GUri *a, GUri *b)
{
	return g_str_equal(g_uri_get_scheme(a), g_uri_get_scheme(b)) && g_uri_get_host(a) &&
	       g_uri_get_host(b) && !g_ascii_strcasecmp(g_uri_get_host(a), g_uri_get_host(b)) &&
	       rest_port(a) == rest_port(b) && !g_uri_get_userinfo(b);
}

/* The URL for a relative or absolute one; NULL if it is invalid, or leads to another origin
 * (scheme, host and port) than the base. g_free. */
static char *rest_url(const char *base, const char *url)
{
	g_autofree char *folder = g_strconcat(base, g_str_has_suffix(base, "/") ? "" : "/", NULL);
	/* unchanged, so that curl parses what was compared; URL parsers disagree only about
	 * backslashes */
	GUriFlags flags = G_URI_FLAGS_ENCODED;
	g_autoptr(GUri) root = g_uri_parse(folder, flags, NULL);
	g_autoptr(GUri) whole = root && !strpbrk(url, "\\ \t\r\n")
					? g_uri_parse_relative(root, url, flags, NULL)
					: NULL;
	return whole && rest_same_origin(root, whole) ? g_uri_to_string(whole) : NULL;
}

static char *rest_target(const ModTalk *talk, const ModRest *rest, const ModRestRequest *request)
{
	char *url = rest_url(rest->base, request->url);
	if (url)
		return url;
	g_autofree char *summary =
		g_strdup_printf("%s: an answer of %s links to another server: %s", request->what,
			rest->cloud, request->url);
	mod_report_text(talk, RGP_CLASS_UNKNOWN, summary, NULL,
		"no credentials are sent there; check that the endpoint is that of the cloud's "
		"API");
	return NULL;
}

/* ---- reading an answer */

static const char *rest_text_at(const json_t *body, const char *pointer)
{
	const char *text = json_string_value(mod_at(body, pointer));
	return text && *text ? text : NULL;
}

static const char *rest_find_code(const ModRest *rest, const json_t *body)
{
	const char *first = NULL;
	for (size_t i = 0; rest->codes[i]; i++) {
		const char *code = rest_text_at(body, rest->codes[i]);
		if (code && mod_errors_find(rest->errors, code))
			return code;
		first = first ? first : code;
	}
	return first;
}

static void rest_read_failure(
	const void *data, int32_t status, struct rgp_bytes bytes, ModFailure *failure)
{
	const ModRest *rest = data;
	json_auto_t *body = json_loadb(bytes.data ? bytes.data : "", bytes.len, 0, NULL);
	const char *code = rest_find_code(rest, body), *message = NULL;
	for (size_t i = 0; rest->messages[i] && !message; i++)
		message = rest_text_at(body, rest->messages[i]);
	if (code) {
		mod_errors_describe(rest->errors, code, message ? message : "", failure);
		if (failure->class_ == RGP_CLASS_UNKNOWN)
			failure->class_ = mod_class_of_status(status);
	} else {
		mod_failure_set(failure, mod_class_of_status(status), NULL,
			"HTTP status %d with %s", (int)status,
			message ? message : "an answer without an error message");
	}
	if (rest->refine)
		rest->refine(status, body, failure);
}

/* A copy of the text without the `elided` ones. */
static GString *rest_elide(struct rgp_bytes text, const char *elided)
{
	GString *left = g_string_sized_new(text.len + 1);
	size_t length = strlen(elided);
	const char *at = text.data, *end = at + text.len, *found;
	for (; (found = memmem(at, (size_t)(end - at), elided, length)); at = found + length)
		g_string_append_len(left, at, found - at);
	return g_string_append_len(left, at, end - at);
}

static json_t *rest_parse(struct rgp_bytes body, const char *elided)
{
	g_autoptr(GString) left = elided ? rest_elide(body, elided) : NULL;
	if (left)
		body = (struct rgp_bytes){left->str, left->len};
	return json_loadb(body.data, body.len, JSON_REJECT_DUPLICATES, NULL);
}

static void rest_read_answer(const ModRest *rest, const ModRestRequest *request,
	const struct rgp_http_resp *resp, ModRestAnswer *answer)
{
	answer->status = resp->status;
	answer->skew_s = resp->skew_s;
	answer->headers = json_loadb(resp->headers.data, resp->headers.len, 0, NULL);
	if (request->raw && resp->status < 300) {
		answer->content = resp->body;
		return;
	}
	if (resp->body.len && request->text && resp->status < 300) {
		g_autofree char *valid = g_utf8_make_valid(resp->body.data, (gssize)resp->body.len);
		answer->body = json_string(valid);
	} else if (resp->body.len) {
		answer->body = rest_parse(resp->body, request->elided);
	}
	if (rest->request_id && !answer->failure.request_id)
		answer->failure.request_id = g_strdup(
			json_string_value(json_object_get(answer->headers, rest->request_id)));
	bool cut = resp->body.len && !answer->body;
	if (resp->status >= 200 && resp->status < 300 && cut)
		mod_failure_set(&answer->failure,
			request->reading ? RGP_CLASS_TRANSIENT : RGP_CLASS_UNKNOWN, NULL,
			"the answer is truncated or not JSON: HTTP status %d, %zu bytes",
			(int)resp->status, resp->body.len);
}

/* ---- sending */

/* A request in the host's form. */
typedef struct {
	char *url, *type, *body, *auth, *connection;
	GPtrArray *headers;
	struct rgp_http_req http;
	struct rgp_http_resp resp;
	ModTries tries;
} RestWire;

static void rest_wire_clear(RestWire *wire)
{
	g_free(wire->url);
	g_free(wire->type);
	free(wire->body);
	free(wire->auth);
	free(wire->connection);
	g_clear_pointer(&wire->headers, g_ptr_array_unref);
}

static char *rest_dump(const json_t *object)
{
	return object ? json_dumps(object, JSON_COMPACT) : NULL;
}

/* Splits a lease's value of an API whose leases connect. */
static void rest_wire_login(RestWire *wire, const char *value)
{
	json_auto_t *login = json_loads(value, 0, NULL);
	wire->auth = rest_dump(json_object_get(login, "auth"));
	wire->connection = rest_dump(json_object_get(login, "connection"));
	wire->http.auth = mod_bytes(wire->auth);
	wire->http.connection = mod_bytes(wire->connection);
}

/* Steals the URL. */
static void rest_wire_make(RestWire *wire, const ModRest *rest, const ModRestRequest *request,
	char *url, const char *auth)
{
	*wire = (RestWire){.url = url};
	wire->headers = g_ptr_array_new();
	wire->type = g_strconcat("Content-Type: ",
		request->content_type ? request->content_type : "application/json", NULL);
	wire->body = request->body ? json_dumps(request->body, JSON_COMPACT) : NULL;
	for (size_t i = 0; request->headers && request->headers[i]; i++)
		g_ptr_array_add(wire->headers, (char *)(uintptr_t)request->headers[i]);
	if (wire->body || request->content.data)
		g_ptr_array_add(wire->headers, wire->type);
	g_ptr_array_add(wire->headers, NULL);
	wire->http = (struct rgp_http_req){
		.size = sizeof wire->http,
		.flags = (request->reading ? RGP_HTTP_READING : 0) |
			 (request->hide_body ? RGP_HTTP_HIDE_BODY : 0),
		.method = request->method,
		.url = url,
		.headers = (const char *const *)wire->headers->pdata,
		.body = request->content.data ? request->content : mod_bytes(wire->body),
		.auth = mod_bytes(auth),
		.connection = mod_bytes(rest->connection),
		.what = request->what,
		.timeout_ms = request->timeout_ms,
		.max_tries = rest->max_tries,
	};
	if (rest->lease_connects && auth)
		rest_wire_login(wire, auth);
	wire->resp = (struct rgp_http_resp){.size = sizeof wire->resp};
}

static char *rest_auth(
	const ModTalk *talk, const ModRest *rest, unsigned *serial, rgp_status *status)
{
	char *auth = rest->lease ? mod_lease_get(rest->lease, talk, serial) : NULL;
	*status = auth || !rest->lease		     ? RGP_OK
		  : talk->host->canceled(talk->call) ? RGP_CANCELED
						     : RGP_FAIL;
	return auth;
}

rgp_status mod_rest_send(const ModTalk *talk, const ModRest *rest, const ModRestRequest *request,
	ModRestAnswer *answer)
{
	for (bool renewed = false;; renewed = true) {
		char *url = rest_target(talk, rest, request);
		unsigned serial = 0;
		rgp_status status = RGP_FAIL;
		g_autofree char *auth = url ? rest_auth(talk, rest, &serial, &status) : NULL;
		if (status != RGP_OK) {
			g_free(url);
			return status;
		}
		const ModReader reader = {rest_read_failure, rest, rest->cloud};
		RestWire wire;
		rest_wire_make(&wire, rest, request, url, auth);
		mod_rest_answer_clear(answer);
		status = mod_exchange(talk, &reader, &wire.http, &wire.resp, &answer->failure);
		if (status == RGP_OK)
			rest_read_answer(rest, request, &wire.resp, answer);
		rest_wire_clear(&wire);
		if (status != RGP_OK || answer->status != 401 || !rest->lease || renewed)
			return status;
		mod_lease_refuse(rest->lease, serial);
	}
}

#define TOGETHER_MAX 32

/* At most TOGETHER_MAX requests. */
static rgp_status rest_send_some(const ModTalk *talk, const ModRest *rest,
	const ModRestRequest *requests, size_t n, ModRestAnswer *answers)
{
	RestWire wires[TOGETHER_MAX] = {{0}};
	const struct rgp_http_req *reqs[TOGETHER_MAX];
	struct rgp_http_resp *resps[TOGETHER_MAX];
	const ModReader reader = {rest_read_failure, rest, rest->cloud};
	unsigned serial = 0;
	rgp_status status;
	g_autofree char *auth = rest_auth(talk, rest, &serial, &status);
	size_t made = 0;
	for (; made < n && status == RGP_OK; made++) {
		char *url = rest_target(talk, rest, &requests[made]);
		status = url ? RGP_OK : RGP_FAIL;
		rest_wire_make(&wires[made], rest, &requests[made], url, auth);
		mod_tries_watch(&wires[made].tries, &reader, &wires[made].http);
		reqs[made] = &wires[made].http;
		resps[made] = &wires[made].resp;
	}
	if (status == RGP_OK)
		status = talk->host->http_all(talk->call, reqs, n, resps);
	bool refused = false;
	for (size_t i = 0; i < made; i++) {
		mod_rest_answer_clear(&answers[i]);
		if (wires[i].resp.status) {
			mod_tries_judge(&wires[i].tries, &wires[i].resp, &answers[i].failure);
			rest_read_answer(rest, &requests[i], &wires[i].resp, &answers[i]);
		}
		refused |= answers[i].status == 401;
		rest_wire_clear(&wires[i]);
	}
	if (refused && rest->lease)
		mod_lease_refuse(rest->lease, serial);
	return status;
}

rgp_status mod_rest_send_all(const ModTalk *talk, const ModRest *rest,
	const ModRestRequest *requests, size_t n, ModRestAnswer *answers)
{
	rgp_status first = RGP_OK;
	for (size_t at = 0; at < n; at += TOGETHER_MAX) {
		rgp_status status = rest_send_some(
			talk, rest, requests + at, MIN(n - at, TOGETHER_MAX), answers + at);
		first = first == RGP_OK ? status : first;
		if (status == RGP_CANCELED)
			return status;
	}
	for (size_t i = 0; i < n && first == RGP_OK && rest->lease; i++)
		if (answers[i].status == 401)
			first = mod_rest_send(talk, rest, &requests[i], &answers[i]);
	return first;
}

rgp_status mod_rest_report(
	const ModTalk *talk, const ModRest *rest, const char *what, const ModFailure *failure)
{
	/* a server error is not a refusal */
	const char *did = failure->class_ == RGP_CLASS_TRANSIENT ? "failed in" : "refused";
	g_autofree char *summary = failure->code ? g_strdup_printf("%s %s %s (%s)", rest->cloud,
							   did, what, failure->code)
						 : g_strdup_printf("%s: %s", rest->cloud, what);
	mod_report(talk, failure, summary);
	return RGP_FAIL;
}

/* ---- lists */

/* The URL of the page that `next` names. */
static char *rest_next_url(
	const ModRestRequest *first, const ModRestPaging *paging, const char *next)
{
	if (!paging->parameter)
		return g_strdup(next);
	g_autofree char *escaped = g_uri_escape_string(next, NULL, FALSE);
	return g_strdup_printf("%s%s%s=%s", first->url, strchr(first->url, '?') ? "&" : "?",
		paging->parameter, escaped);
}

/* Puts the page after the one of the answer in its place. *more: there is one, or the answer now
 * has a failure. */
static rgp_status rest_turn_page(const ModTalk *talk, const ModRest *rest,
	const ModRestRequest *first, const ModRestPaging *paging, GHashTable *seen,
	ModRestAnswer *answer, bool *more)
{
	g_autofree char *next = g_strdup(rest_text_at(answer->body, paging->next));
	ModRestRequest turn = *first;
	*more = next != NULL;
	if (!next)
		return RGP_OK;
	if (!g_hash_table_add(seen, g_strdup(next)) || g_hash_table_size(seen) > PAGES_MAX) {
		mod_failure_set(&answer->failure, RGP_CLASS_UNKNOWN, NULL,
			"the same page was returned twice, so the list would never end");
		return RGP_OK;
	}
	g_autofree char *url = rest_next_url(first, paging, next);
	turn.url = url;
	turn.reading = true;
	return mod_rest_send(talk, rest, &turn, answer);
}

/* A proxy or another service may answer 200 with anything. */
static bool rest_is_page(const ModRestPaging *paging, ModRestAnswer *answer)
{
	const char *kind = json_string_value(json_object_get(answer->body, "kind"));
	if (answer->failure.class_ == RGP_CLASS_OK && paging->kind &&
		!(kind && g_str_has_suffix(kind, paging->kind)))
		mod_failure_set(&answer->failure, RGP_CLASS_UNKNOWN, NULL,
			"the answer with HTTP status %d is not a list: its kind is \"%s\"",
			(int)answer->status, kind ? kind : "");
	return answer->failure.class_ == RGP_CLASS_OK;
}

static GHashTable *rest_seen(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

rgp_status mod_rest_pages(const ModTalk *talk, const ModRest *rest, const ModRestRequest *request,
	const ModRestPaging *paging, rgp_status (*page)(void *data, const json_t *body), void *data)
{
	g_autoptr(GHashTable) seen = rest_seen();
	g_auto(ModRestAnswer) answer = {0};
	ModRestRequest first = *request;
	first.reading = true;
	rgp_status status = mod_rest_send(talk, rest, &first, &answer);
	for (bool more = true; status == RGP_OK && more;) {
		if (!rest_is_page(paging, &answer))
			return mod_rest_report(talk, rest, request->what, &answer.failure);
		status = page(data, answer.body);
		if (status == RGP_OK)
			status = rest_turn_page(talk, rest, &first, paging, seen, &answer, &more);
	}
	return status;
}

rgp_status mod_rest_complete(const ModTalk *talk, const ModRest *rest,
	const ModRestRequest *request, const ModRestPaging *paging, const char *items,
	ModRestAnswer *answer)
{
	g_autoptr(GHashTable) seen = rest_seen();
	json_auto_t *all = json_array();
	rgp_status status = RGP_OK;
	for (bool more = true; status == RGP_OK && more;) {
		if (!rest_is_page(paging, answer))
			return RGP_OK;
		json_array_extend(all, json_object_get(answer->body, items));
		status = rest_turn_page(talk, rest, request, paging, seen, answer, &more);
	}
	if (status == RGP_OK && json_is_object(answer->body))
		json_object_set(answer->body, items, all);
	return status;
}
