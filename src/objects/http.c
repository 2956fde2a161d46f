#include "objects/http.h"
#include "base/loopback.h"
#include "base/redact.h"
#include "http/http.h"
#include <string.h>

#define FORGE_PATH "/terraform/state/" /* of managed states, whose locks are at ADDRESS/lock */

static const char *value_of(
	const RgObjectsHost *host, const ObjectsUrl *url, const char *name, const char *otherwise)
{
	g_autofree char *upper = g_ascii_strup(name, -1);
	g_autofree char *variable = g_strconcat("TF_HTTP_", upper, NULL);
	const char *own = rg_json_str(url->parameters, name, NULL), *set = host->env(variable);
	return own && *own ? own : set && *set ? set : otherwise;
}

static bool is_encrypted(const char *address)
{
	g_autofree char *scheme = g_uri_parse_scheme(address);
	return g_strcmp0(scheme, "https") == 0 || rg_is_loopback_url(address);
}

static bool refuse_plain(const HttpPlace *place, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "state.unknown-store",
		"the state \"%s\" would be sent without encryption", place->shown);
	rg_diag_hint(diag, "use https: the state holds secrets");
	return false;
}

static void take_user(
	HttpPlace *place, const RgObjectsHost *host, const ObjectsUrl *url, const char *user)
{
	g_auto(GStrv) parts = g_strsplit(user, ":", 2);
	g_autofree char *name = g_uri_unescape_string(parts[0] ? parts[0] : "", NULL);
	g_autofree char *word = g_uri_unescape_string(parts[0] && parts[1] ? parts[1] : "", NULL);
	const char *set = host->env("TF_HTTP_USERNAME"), *secret = host->env("TF_HTTP_PASSWORD");
	const char *own = name && *name ? name : set && *set ? set : NULL;
	const char *password = word && *word ? word : secret ? secret : "";
	if (!own)
		return;
	rg_redact_add(password, strlen(password));
	place->auth =
		json_pack("{s:s, s:s, s:s}", "type", "basic", "user", own, "password", password);
}

bool http_place_open(HttpPlace *place, const RgObjectsHost *host, const ObjectsUrl *url,
	const RgRemoteOpen *how, RgDiags *diags)
{
	const char *at = strrchr(url->place, '@'), *where = at ? at + 1 : url->place;
	g_autofree char *user = at ? g_strndup(url->place, (gsize)(at - url->place)) : g_strdup("");
	place->shown = g_strdup(how->shown);
	place->writes = how->writes;
	place->address = g_strconcat(url->scheme, "://", where, NULL);
	bool managed = strstr(where, FORGE_PATH) != NULL;
	g_autofree char *beside =
		managed ? g_strconcat(place->address, "/lock", NULL) : g_strdup(place->address);
	place->lock_address = g_strdup(value_of(host, url, "lock_address", beside));
	place->unlock_address =
		g_strdup(value_of(host, url, "unlock_address", place->lock_address));
	if (!is_encrypted(place->address) || !is_encrypted(place->lock_address) ||
		!is_encrypted(place->unlock_address))
		return refuse_plain(place, diags);
	place->update_method = g_strdup(value_of(host, url, "update_method", "POST"));
	place->lock_method =
		g_strdup(value_of(host, url, "lock_method", managed ? "POST" : "LOCK"));
	place->unlock_method =
		g_strdup(value_of(host, url, "unlock_method", managed ? "DELETE" : "UNLOCK"));
	take_user(place, host, url, user);
	RgHttpOptions options = objects_http(host, how);
	place->http = rg_http_open(&options, diags);
	return place->http != NULL;
}

void http_place_clear(HttpPlace *place)
{
	rg_http_close(place->http);
	json_decref(place->auth);
	g_free(place->address);
	g_free(place->lock_address);
	g_free(place->unlock_address);
	g_free(place->update_method);
	g_free(place->lock_method);
	g_free(place->unlock_method);
	g_free(place->shown);
	*place = (HttpPlace){0};
}

/* ---- requests */

typedef struct {
	const char *method, *url, *what;
	const json_t *body;
	bool reading;
} Ask;

/* The status; 0 after diagnostics. Always clear the reply. */
static int ask(HttpPlace *place, const Ask *ask, RgHttpReply *reply, RgDiags *diags)
{
	static const char *const headers[] = {"Content-Type: application/json", NULL};
	char *text = ask->body ? json_dumps(ask->body, JSON_COMPACT) : NULL;
	const RgHttpRequest request = {.method = ask->method,
		.url = ask->url,
		.headers = text ? headers : NULL,
		.body = text,
		.body_len = text ? strlen(text) : 0,
		.reading = ask->reading,
		.hide_body = true,
		.auth = place->auth,
		.what = ask->what};
	g_autoptr(RgDiags) why = rg_diags_new();
	bool answered = rg_http_send(place->http, &request, reply, why);
	if (!answered)
		objects_explain(place->shown, place->writes, why, diags);
	free(text);
	return answered ? reply->status : 0;
}

static size_t length_of(const RgHttpReply *reply)
{
	return reply->body ? reply->body->len : 0;
}

/* Of an answer whose body is not needed. */
static int ask_status(HttpPlace *place, const Ask *what, RgDiags *diags)
{
	RgHttpReply reply = {0};
	int status = ask(place, what, &reply, diags);
	rg_http_reply_clear(&reply);
	return status;
}

static const char *hint_of(int status)
{
	switch (status) {
	case 401:
	case 403:
		return "give user and password in TF_HTTP_USERNAME and TF_HTTP_PASSWORD";
	case 413:
		return "let the server accept larger documents; your state is safe";
	case 507:
		return "free some disk space on the server; your state is safe";
	default:
		return "check the URL, and that it is a server of Terraform's HTTP backend "
		       "protocol; your state is safe";
	}
}

static void report(const HttpPlace *place, const char *what, int status, RgDiags *diags)
{
	const char *usual = place->writes ? "state.unwritable" : "state.unreadable";
	RgDiag *diag = rg_diags_error(diags,
		status == 401 || status == 403	 ? "state.denied"
		: status >= 500 && status != 507 ? "state.unreachable"
						 : usual,
		"the server of the state \"%s\" refused to %s: HTTP status %d", place->shown, what,
		status);
	rg_diag_hint(diag, "%s", hint_of(status));
}

/* Names no part of the answer: it may be half of a state. */
static json_t *refuse_answer(const HttpPlace *place, const RgHttpReply *reply, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "state.corrupt",
		"the server of the state \"%s\" sent a document that is not a state", place->shown);
	rg_diag_detail(diag, "the answer has %zu bytes of %s that are not a whole JSON object",
		length_of(reply), rg_json_str(reply->headers, "content-type", "unknown type"));
	rg_diag_hint(diag, "check the URL, and that no proxy or login page answers in place of the "
			   "server; nothing was written");
	return NULL;
}

static json_t *parse_document(const HttpPlace *place, const RgHttpReply *reply, RgDiags *diags)
{
	g_autoptr(RgDiags) unused = rg_diags_new();
	json_auto_t *document = rg_json_parse((const char *)reply->body->data, reply->body->len,
		place->shown, "state.corrupt", unused);
	return json_is_object(document) ? g_steal_pointer(&document)
					: refuse_answer(place, reply, diags);
}

json_t *http_read(HttpPlace *place, bool *absent, RgDiags *diags)
{
	const Ask get = {
		.method = "GET", .url = place->address, .what = "GetState", .reading = true};
	RgHttpReply reply = {0};
	int status = ask(place, &get, &reply, diags);
	bool empty = length_of(&reply) == 0;
	*absent = status == 404 || status == 204 || (status == 200 && empty);
	json_t *document = status == 200 && !empty ? parse_document(place, &reply, diags) : NULL;
	if (status != 0 && status != 200 && !*absent)
		report(place, "read it", status, diags);
	rg_http_reply_clear(&reply);
	return document;
}

RgObjectResult http_write(HttpPlace *place, const char *id, const json_t *document, RgDiags *diags)
{
	const char *mark = strchr(place->address, '?') ? "&" : "?";
	g_autofree char *url =
		id ? g_strconcat(place->address, mark, "ID=", id, NULL) : g_strdup(place->address);
	const Ask post = {
		.method = place->update_method, .url = url, .what = "PutState", .body = document};
	int status = ask_status(place, &post, diags);
	if (status >= 200 && status < 300)
		return RG_OBJECT_DONE;
	if (status == 409 || status == 423)
		return RG_OBJECT_CONFLICT;
	if (status != 0)
		report(place, "write it", status, diags);
	return RG_OBJECT_FAILED;
}

RgObjectResult http_lock(HttpPlace *place, const json_t *info, json_t **holder, RgDiags *diags)
{
	const Ask lock = {.method = place->lock_method,
		.url = place->lock_address,
		.what = "LockState",
		.body = info};
	RgHttpReply reply = {0};
	int status = ask(place, &lock, &reply, diags);
	bool held = status == 409 || status == 423;
	if (held && length_of(&reply) > 0)
		*holder = json_loadb((const char *)reply.body->data, reply.body->len, 0, NULL);
	rg_http_reply_clear(&reply);
	if (held) /* by us: the first answer was lost */
		return g_str_equal(rg_json_str(*holder, "ID", ""), rg_json_str(info, "ID", "?"))
			       ? RG_OBJECT_DONE
			       : RG_OBJECT_CONFLICT;
	if (status >= 200 && status < 300)
		return RG_OBJECT_DONE;
	if (status != 0)
		report(place, "lock it", status, diags);
	return RG_OBJECT_FAILED;
}

bool http_unlock(HttpPlace *place, const json_t *info, RgDiags *diags)
{
	const char *mark = strchr(place->unlock_address, '?') ? "&" : "?";
	g_autofree char *url = g_str_equal(place->unlock_method, "DELETE")
				       ? g_strconcat(place->unlock_address, mark,
						 "ID=", rg_json_str(info, "ID", ""), NULL)
				       : g_strdup(place->unlock_address);
	const Ask unlock = {
		.method = place->unlock_method, .url = url, .what = "UnlockState", .body = info};
	int status = ask_status(place, &unlock, diags);
	if (status != 0 && (status < 200 || status >= 300))
		report(place, "unlock it", status, diags);
	return status >= 200 && status < 300;
}
