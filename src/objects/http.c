#include "objects/http.h"
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
	if (g_str_equal(url->scheme, "http") && !objects_is_loopback(place->address))
		return refuse_plain(place, diags);
	bool managed = strstr(where, FORGE_PATH) != NULL;
	g_autofree char *beside =
		managed ? g_strconcat(place->address, "/lock", NULL) : g_strdup(place->address);
	place->lock_address = g_strdup(value_of(host, url, "lock_address", beside));
	place->unlock_address =
		g_strdup(value_of(host, url, "unlock_address", place->lock_address));
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

/* The status; 0 after diagnostics. *answer: what JSON came, or NULL. */
static int ask(HttpPlace *place, const Ask *ask, json_t **answer, RgDiags *diags)
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
	RgHttpReply reply = {0};
	bool answered = rg_http_send(place->http, &request, &reply, why);
	int status = answered ? reply.status : 0;
	*answer = answered && reply.body && reply.body->len > 0
			  ? json_loadb((const char *)reply.body->data, reply.body->len, 0, NULL)
			  : NULL;
	if (!answered)
		objects_explain(place->shown, place->writes, why, diags);
	rg_http_reply_clear(&reply);
	free(text);
	return status;
}

static const char *hint_of(int status)
{
	switch (status) {
	case 401:
	case 403:
		return "give user and password in TF_HTTP_USERNAME and TF_HTTP_PASSWORD";
	case 413:
		return "let the server accept larger documents; nothing recorded is lost";
	case 507:
		return "free some disk space on the server; nothing recorded is lost";
	default:
		return "check the URL, and that it is a server of Terraform's HTTP backend "
		       "protocol; nothing recorded is lost";
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

json_t *http_read(HttpPlace *place, bool *absent, RgDiags *diags)
{
	const Ask get = {
		.method = "GET", .url = place->address, .what = "GetState", .reading = true};
	json_t *answer = NULL;
	int status = ask(place, &get, &answer, diags);
	*absent = status == 404 || status == 204 || (status == 200 && !answer);
	if (status == 200 && json_is_object(answer))
		return answer;
	json_decref(answer);
	if (status != 0 && !*absent)
		report(place, "read it", status, diags);
	return NULL;
}

RgObjectResult http_write(HttpPlace *place, const char *id, const json_t *document, RgDiags *diags)
{
	const char *mark = strchr(place->address, '?') ? "&" : "?";
	g_autofree char *url =
		id ? g_strconcat(place->address, mark, "ID=", id, NULL) : g_strdup(place->address);
	const Ask post = {
		.method = place->update_method, .url = url, .what = "PutState", .body = document};
	json_auto_t *answer = NULL;
	int status = ask(place, &post, &answer, diags);
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
	json_t *answer = NULL;
	int status = ask(place, &lock, &answer, diags);
	bool held = status == 409 || status == 423;
	if (held)
		*holder = g_steal_pointer(&answer);
	json_decref(answer);
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
	json_auto_t *answer = NULL;
	int status = ask(place, &unlock, &answer, diags);
	if (status != 0 && (status < 200 || status >= 300))
		report(place, "unlock it", status, diags);
	return status >= 200 && status < 300;
}
