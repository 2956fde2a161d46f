#include "common/oauth.h"
#include <string.h>
#include "common/errors.h"
#include "common/exchange.h"
#include "common/form.h"

json_t *mod_oauth_client_credentials(const char *id, const char *secret, const char *scope)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "grant_type", "client_credentials", "client_id",
		id, "client_secret", secret, "scope", scope);
}

json_t *mod_oauth_jwt_bearer(const char *assertion)
{
	return json_pack("{s:s, s:s}", "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer",
		"assertion", assertion);
}

json_t *mod_oauth_refresh(const char *id, const char *secret, const char *refresh_token)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "grant_type", "refresh_token", "client_id", id,
		"client_secret", secret, "refresh_token", refresh_token);
}

static void oauth_hide(const ModTalk *talk, const char *secret)
{
	if (*secret)
		talk->host->secret(talk->call, mod_bytes(secret));
}

static void oauth_hide_fields(const ModTalk *talk, const json_t *fields)
{
	static const char *const secrets[] = {
		"client_secret", "assertion", "client_assertion", "refresh_token", "subject_token"};
	for (size_t i = 0; i < G_N_ELEMENTS(secrets); i++)
		oauth_hide(talk, mod_str(fields, secrets[i]));
}

/* Some servers write numbers as text. */
static int64_t oauth_number(const json_t *answer, const char *key)
{
	const json_t *value = json_object_get(answer, key);
	return json_is_string(value) ? g_ascii_strtoll(json_string_value(value), NULL, 10)
				     : (int64_t)json_number_value(value);
}

/* RFC 6750, section 2.1: visible ASCII characters. */
static bool oauth_is_token(const char *text)
{
	const char *end = text;
	while (g_ascii_isgraph(*end))
		end++;
	return *text && !*end;
}

rgp_status mod_oauth_read(const ModTalk *talk, const char *source, struct rgp_bytes answer,
	char **auth, int64_t *expires_s)
{
	json_auto_t *value = json_loadb(answer.data ? answer.data : "", answer.len, 0, NULL);
	const char *token = mod_str(value, "access_token"), *type = mod_str(value, "token_type");
	int64_t lives_s = oauth_number(value, "expires_in");
	oauth_hide(talk, token);
	oauth_hide(talk, mod_str(value, "refresh_token"));
	if (!oauth_is_token(token) || (*type && g_ascii_strcasecmp(type, "Bearer"))) {
		g_autofree char *summary =
			g_strdup_printf("%s answered without a bearer token", source);
		mod_report_text(talk, RGP_CLASS_DENIED, summary, NULL, NULL);
		return RGP_FAIL;
	}
	json_auto_t *object = json_pack("{s:s, s:s}", "type", "bearer", "token", token);
	char *text = json_dumps(object, JSON_COMPACT);
	*auth = g_strdup(text);
	free(text);
	*expires_s = lives_s > 0 ? talk->host->now(talk->call) + lives_s
				 : oauth_number(value, "expires_on");
	return RGP_OK;
}

/* RFC 6749, section 5.2: "invalid_grant", and a text for people. */
static void oauth_report_refusal(
	const ModTalk *talk, const char *url, const struct rgp_http_resp *answer)
{
	json_auto_t *value =
		json_loadb(answer->body.data ? answer->body.data : "", answer->body.len, 0, NULL);
	const char *code = mod_str(value, "error"), *words = mod_str(value, "error_description");
	int32_t class_ = mod_class_of_status(answer->status);
	ModFailure failure = {0};
	mod_failure_set(&failure, class_ == RGP_CLASS_INVALID ? RGP_CLASS_DENIED : class_,
		*code ? code : NULL, "%s (HTTP status %d)", *words ? words : "no access token",
		(int)answer->status);
	mod_explain_skew(answer, url, &failure);
	g_autofree char *what =
		g_strdup_printf("%s refused a token%s%s", url, *code ? ": " : "", code);
	mod_report(talk, &failure, what);
	mod_failure_clear(&failure);
}

char *mod_oauth_basic(const ModTalk *talk, const char *id, const char *secret)
{
	g_autofree char *both = g_strconcat(id, ":", secret, NULL);
	g_autofree char *encoded = g_base64_encode((const guchar *)both, strlen(both));
	oauth_hide(talk, secret);
	oauth_hide(talk, encoded);
	return g_strconcat("Authorization: Basic ", encoded, NULL);
}

rgp_status mod_oauth_request(const ModTalk *talk, const char *url, const char *connection,
	const json_t *fields, char **auth, int64_t *expires_s)
{
	return mod_oauth_request_as(talk, url, connection, NULL, fields, auth, expires_s);
}

rgp_status mod_oauth_request_as(const ModTalk *talk, const char *url, const char *connection,
	const char *client, const json_t *fields, char **auth, int64_t *expires_s)
{
	const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded",
		"Accept: application/json", client, NULL};
	g_autoptr(GString) form = g_string_new(NULL);
	oauth_hide_fields(talk, fields);
	mod_form_add_members(form, fields);
	const struct rgp_http_req request = {
		.size = sizeof request,
		.flags = RGP_HTTP_READING | RGP_HTTP_HIDE_BODY, /* a plan needs a token too */
		.method = "POST",
		.url = url,
		.headers = headers,
		.body = {form->str, form->len},
		.connection = mod_bytes(connection),
		.what = "GetAccessToken",
	};
	struct rgp_http_resp answer = {.size = sizeof answer};
	rgp_status status = talk->host->http(talk->call, &request, &answer);
	if (status == RGP_OK && answer.status == 200)
		return mod_oauth_read(talk, url, answer.body, auth, expires_s);
	if (status == RGP_OK)
		oauth_report_refusal(talk, url, &answer);
	return status == RGP_CANCELED ? RGP_CANCELED : RGP_FAIL;
}
