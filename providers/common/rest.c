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

char *mod_rest_url(const char *base, const char *url)
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
	char *url = mod_rest_url(rest->base, request->url);
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
}

static void rest_read_answer(const ModRest *rest, const ModRestRequest *request,
	const struct rgp_http_resp *resp, ModRestAnswer *answer)
{
	answer->status = resp->status;
	answer->headers = json_loadb(resp->headers.data, resp->headers.len, 0, NULL);
	if (resp->body.len)
		answer->body =
			json_loadb(resp->body.data, resp->body.len, JSON_REJECT_DUPLICATES, NULL);
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

static rgp_status rest_send_once(const ModTalk *talk, const ModRest *rest,
	const ModRestRequest *request, const char *url, const char *auth, ModRestAnswer *answer)
{
	g_autoptr(GPtrArray) headers = g_ptr_array_new();
	g_autofree char *type = g_strconcat("Content-Type: ",
		request->content_type ? request->content_type : "application/json", NULL);
	char *body = request->body ? json_dumps(request->body, JSON_COMPACT) : NULL;
	for (size_t i = 0; request->headers && request->headers[i]; i++)
		g_ptr_array_add(headers, (char *)(uintptr_t)request->headers[i]);
	if (body)
		g_ptr_array_add(headers, type);
	g_ptr_array_add(headers, NULL);
	struct rgp_http_req http = {
		.size = sizeof http,
		.flags = (request->reading ? RGP_HTTP_READING : 0) |
			 (request->hide_body ? RGP_HTTP_HIDE_BODY : 0),
		.method = request->method,
		.url = url,
		.headers = (const char *const *)headers->pdata,
		.body = mod_bytes(body),
		.auth = mod_bytes(auth),
		.connection = mod_bytes(rest->connection),
		.what = request->what,
	};
	const ModReader reader = {rest_read_failure, rest, rest->cloud};
	struct rgp_http_resp resp;
	mod_rest_answer_clear(answer);
	rgp_status status = mod_exchange(talk, &reader, &http, &resp, &answer->failure);
	if (status == RGP_OK)
		rest_read_answer(rest, request, &resp, answer);
	free(body);
	return status;
}

rgp_status mod_rest_send(const ModTalk *talk, const ModRest *rest, const ModRestRequest *request,
	ModRestAnswer *answer)
{
	g_autofree char *url = rest_target(talk, rest, request);
	if (!url)
		return RGP_FAIL;
	for (bool renewed = false;; renewed = true) {
		unsigned serial = 0;
		g_autofree char *auth =
			rest->lease ? mod_lease_get(rest->lease, talk, &serial) : NULL;
		if (rest->lease && !auth)
			return talk->host->canceled(talk->call) ? RGP_CANCELED : RGP_FAIL;
		rgp_status status = rest_send_once(talk, rest, request, url, auth, answer);
		if (status != RGP_OK || answer->status != 401 || !rest->lease || renewed)
			return status;
		mod_lease_refuse(rest->lease, serial);
	}
}

rgp_status mod_rest_report(
	const ModTalk *talk, const ModRest *rest, const char *what, const ModFailure *failure)
{
	g_autofree char *summary =
		g_strdup_printf("%s: %s%s%s%s", rest->cloud, what, failure->code ? " (" : "",
			failure->code ? failure->code : "", failure->code ? ")" : "");
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

static rgp_status rest_page(const ModTalk *talk, const ModRest *rest, const ModRestRequest *request,
	ModRestAnswer *answer)
{
	rgp_status status = mod_rest_send(talk, rest, request, answer);
	if (status == RGP_OK && answer->failure.class_ != RGP_CLASS_OK)
		return mod_rest_report(talk, rest, request->what, &answer->failure);
	return status;
}

rgp_status mod_rest_pages(const ModTalk *talk, const ModRest *rest, const ModRestRequest *request,
	const ModRestPaging *paging, rgp_status (*page)(void *data, const json_t *body), void *data)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autofree char *url = g_strdup(request->url);
	for (;;) {
		g_auto(ModRestAnswer) answer = {0};
		ModRestRequest turn = *request;
		turn.url = url;
		turn.reading = true;
		rgp_status status = rest_page(talk, rest, &turn, &answer);
		if (status == RGP_OK)
			status = page(data, answer.body);
		const char *next = rest_text_at(answer.body, paging->next);
		if (status != RGP_OK || !next)
			return status;
		if (!g_hash_table_add(seen, g_strdup(next)) ||
			g_hash_table_size(seen) > PAGES_MAX) {
			mod_failure_set(&answer.failure, RGP_CLASS_UNKNOWN, NULL,
				"the same page was returned twice, so the list would never end");
			return mod_rest_report(talk, rest, request->what, &answer.failure);
		}
		g_free(url);
		url = rest_next_url(request, paging, next);
	}
}
