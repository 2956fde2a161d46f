/* What all forms of a credentials file share: its checks, and acting as a service account. */
#include "gcp/credentials.h"
#include <string.h>
#include "base/loopback.h"
#include "common/oauth.h"

rgp_status gcp_key_refuse(
	const ModTalk *talk, const struct rgp_inst *inst, const char *hint, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *why = g_strdup_vprintf(format, args);
	va_end(args);
	g_autofree char *summary = g_strdup_printf(
		"the Google credentials %s cannot be used: %s", inst->key_path, why);
	const char *origin = *mod_str(inst->config, "credentials") ? "/provider/credentials" : NULL;
	mod_report_origin(talk, RGP_CLASS_DENIED, origin, summary, hint);
	return RGP_FAIL;
}

bool gcp_url_is_trusted(const char *url, const char *universe)
{
	g_autoptr(GUri) uri =
		strpbrk(url, "\\ \t\r\n") ? NULL : g_uri_parse(url, G_URI_FLAGS_NONE, NULL);
	const char *host = uri ? g_uri_get_host(uri) : NULL;
	if (!host || g_uri_get_userinfo(uri))
		return false;
	if (rg_is_loopback(host))
		return g_str_equal(g_uri_get_scheme(uri), "http") ||
		       g_str_equal(g_uri_get_scheme(uri), "https");
	g_autofree char *suffix = g_strconcat(".", universe, NULL);
	return g_str_equal(g_uri_get_scheme(uri), "https") && g_str_has_suffix(host, suffix) &&
	       (g_uri_get_port(uri) == -1 || g_uri_get_port(uri) == 443);
}

rgp_status gcp_key_url(const ModTalk *talk, const struct rgp_inst *inst, const json_t *key,
	const char *member, const char **url)
{
	*url = mod_str(key, member);
	if (gcp_url_is_trusted(*url, inst->universe))
		return RGP_OK;
	if (!**url)
		return gcp_key_refuse(talk, inst, GCP_LOGIN_AGAIN, "it has no %s", member);
	return gcp_key_refuse(talk, inst,
		"a file with such a URL may be forged; nothing was sent there",
		"its %s is %s, which is not an https URL of %s", member, *url, inst->universe);
}

rgp_status gcp_key_need(const ModTalk *talk, const struct rgp_inst *inst, const json_t *key,
	const char *const *names)
{
	for (; *names; names++)
		if (!*mod_str(key, *names))
			return gcp_key_refuse(talk, inst, GCP_LOGIN_AGAIN, "it has no %s", *names);
	return RGP_OK;
}

static char *bearer_header(const GcpToken *token)
{
	json_auto_t *auth = json_loads(token->auth, 0, NULL);
	return g_strconcat("Authorization: Bearer ", mod_str(auth, "token"), NULL);
}

static rgp_status impersonated_read(
	const ModTalk *talk, const char *url, struct rgp_bytes body, GcpToken *token)
{
	json_auto_t *answer = json_loadb(body.data ? body.data : "", body.len, 0, NULL);
	json_auto_t *plain = json_pack("{s:s, s:s}", "access_token", mod_str(answer, "accessToken"),
		"token_type", "Bearer");
	g_autoptr(GDateTime) end =
		g_date_time_new_from_iso8601(mod_str(answer, "expireTime"), NULL);
	char *text = json_dumps(plain, JSON_COMPACT);
	g_clear_pointer(&token->auth, g_free);
	rgp_status status = mod_oauth_read(
		talk, url, (struct rgp_bytes){text, strlen(text)}, &token->auth, &token->expires_s);
	token->expires_s = end ? g_date_time_to_unix(end) : 0;
	free(text);
	return status;
}

rgp_status gcp_impersonate(const ModTalk *talk, const struct rgp_inst *inst, const char *url,
	const json_t *delegates, int64_t lifetime_s, GcpToken *token)
{
	g_autofree char *authorization = bearer_header(token);
	g_autofree char *lifetime = g_strdup_printf("%" G_GINT64_FORMAT "s", lifetime_s);
	const char *const headers[] = {"Content-Type: application/json", authorization, NULL};
	json_auto_t *wish = json_pack("{s:[s], s:s}", "scope", GCP_SCOPE, "lifetime", lifetime);
	if (json_array_size(delegates))
		json_object_set(wish, "delegates", mod_unconst(delegates));
	char *body = json_dumps(wish, JSON_COMPACT);
	const struct rgp_http_req request = {.size = sizeof request,
		.flags = RGP_HTTP_READING | RGP_HTTP_HIDE_BODY,
		.method = "POST",
		.url = url,
		.headers = headers,
		.body = mod_bytes(body),
		.connection = mod_bytes(inst->connection),
		.what = "GenerateAccessToken"};
	struct rgp_http_resp answer = {.size = sizeof answer};
	rgp_status status = talk->host->http(talk->call, &request, &answer);
	free(body);
	if (status == RGP_OK && answer.status == 200)
		return impersonated_read(talk, url, answer.body, token);
	if (status != RGP_OK)
		return status == RGP_CANCELED ? status : RGP_FAIL;
	json_auto_t *error =
		json_loadb(answer.body.data ? answer.body.data : "", answer.body.len, 0, NULL);
	return gcp_key_refuse(talk, inst,
		"the caller needs the role Service Account Token Creator on that account",
		"%s answered with status %d: %s", url, (int)answer.status,
		mod_str(json_object_get(error, "error"), "message"));
}
