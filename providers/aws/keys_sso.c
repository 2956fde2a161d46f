/* Keys of a role from IAM Identity Center (SSO), with the token that `aws sso login` left in its
 * cache, ~/.aws/sso/cache/SHA1.json; as in botocore (credentials.py SSOProvider, tokens.py, 1.43).
 * A token that is about to expire is renewed and written back, because a refresh token may be valid
 * only once, and the AWS CLI and the SDKs share the file. */
#include "aws/endpoints.h"
#include "common/open.h"
#include <string.h>

#define RENEW_BEFORE_S (15 * 60) /* tokens.py, _REFRESH_WINDOW */
#define CACHE_FOLDER "~/.aws/sso/cache/"
#define TIMEOUT_MS 30000

/* Texts are owned; NULL if not set. */
typedef struct {
	const AwsChain *chain;
	const char *profile;
	char *session; /* from [sso-session NAME]; NULL: the older form, without renewal */
	char *start_url, *region, *account, *role;
	char *path; /* of the cache */
	json_t *cache;
} Sso;

static void sso_clear(Sso *sso)
{
	g_free(sso->session);
	g_free(sso->start_url);
	g_free(sso->region);
	g_free(sso->account);
	g_free(sso->role);
	g_free(sso->path);
	json_decref(sso->cache);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Sso, sso_clear)

static char *sso_value(const Sso *sso, const char *key)
{
	g_autofree char *section =
		sso->session ? g_strconcat("sso-session ", sso->session, NULL) : NULL;
	char *value = section ? aws_chain_section_value(sso->chain, section, key) : NULL;
	return value ? value : aws_chain_value(sso->chain, sso->profile, key);
}

static AwsSearch sso_read_settings(Sso *sso)
{
	sso->start_url = sso_value(sso, "sso_start_url");
	sso->region = sso_value(sso, "sso_region");
	sso->account = sso_value(sso, "sso_account_id");
	sso->role = sso_value(sso, "sso_role_name");
	const struct {
		const char *key, *value;
	} needed[] = {{"sso_start_url", sso->start_url}, {"sso_region", sso->region},
		{"sso_account_id", sso->account}, {"sso_role_name", sso->role}};
	for (size_t i = 0; i < G_N_ELEMENTS(needed); i++)
		if (!needed[i].value)
			return aws_keys_broken(sso->chain->call,
				"run `aws configure sso` to complete the profile",
				"the AWS profile \"%s\" uses SSO, but has no %s", sso->profile,
				needed[i].key);
	if (mod_is_region(sso->region))
		return AWS_KEYS_FOUND;
	return aws_keys_broken(sso->chain->call, "write it like us-east-1",
		"sso_region of the AWS profile \"%s\" is not a region: \"%s\"", sso->profile,
		sso->region);
}

G_GNUC_PRINTF(2, 3)
static AwsSearch sso_sign_in(const Sso *sso, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *why = g_strdup_vprintf(format, args);
	va_end(args);
	g_autofree char *hint = g_strdup_printf("run `aws sso login --profile %s`", sso->profile);
	return aws_keys_broken(
		sso->chain->call, hint, "the AWS profile \"%s\" uses SSO, %s", sso->profile, why);
}

static AwsSearch sso_read_cache(Sso *sso)
{
	static const char *const secrets[] = {"accessToken", "refreshToken", "clientSecret"};
	const AwsCall *call = sso->chain->call;
	g_autofree char *sum = g_compute_checksum_for_string(
		G_CHECKSUM_SHA1, sso->session ? sso->session : sso->start_url, -1);
	struct rgp_bytes text = {0};
	sso->path = g_strconcat(CACHE_FOLDER, sum, ".json", NULL);
	if (call->talk.host->read_file(call->talk.call, sso->path, &text) != RGP_OK)
		return sso_sign_in(sso, "and nobody is signed in (there is no %s)", sso->path);
	sso->cache = json_loadb(text.data, text.len, 0, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(secrets); i++)
		aws_keys_hide(call, mod_str(sso->cache, secrets[i]));
	if (*mod_str(sso->cache, "accessToken"))
		return AWS_KEYS_FOUND;
	return sso_sign_in(sso, "and %s contains no access token", sso->path);
}

/* Unix seconds; the CLI of 2020 wrote "2020-06-17T10:02:08UTC". */
static int64_t sso_time(const json_t *cache, const char *key)
{
	g_autofree char *text = g_strdup(mod_str(cache, key));
	if (g_str_has_suffix(text, "UTC"))
		text[strlen(text) - strlen("UTC")] = '\0'; /* UTC is assumed without a zone */
	return aws_keys_time(text);
}

static rgp_status sso_send(const Sso *sso, const AwsService *service, struct rgp_http_req *http,
	const char *path, struct rgp_http_resp *resp)
{
	const AwsCall *call = sso->chain->call;
	g_autofree char *endpoint = NULL;
	rgp_status status = aws_endpoint_find(sso->chain, service, sso->region, &endpoint, NULL);
	if (status != RGP_OK)
		return status;
	g_autofree char *url = g_strconcat(endpoint, path, NULL);
	http->size = sizeof *http;
	/* creates keys and tokens, and changes nothing in the cloud */
	http->flags = RGP_HTTP_READING | RGP_HTTP_HIDE_BODY;
	http->url = url;
	http->connection = mod_bytes(call->inst->connection);
	http->timeout_ms = TIMEOUT_MS;
	*resp = (struct rgp_http_resp){.size = sizeof *resp};
	return call->talk.host->http(call->talk.call, http, resp);
}

/* The service's message about a refusal: OAuth's members (OIDC) or a message (portal). */
static char *sso_reason(const struct rgp_http_resp *resp)
{
	json_auto_t *said = json_loadb(resp->body.data, resp->body.len, 0, NULL);
	const char *text = mod_str(said, "error_description");
	if (!*text)
		text = mod_str(said, "message");
	if (!*text)
		text = mod_str(said, "error");
	return g_strdup_printf("HTTP status %d%s%s", (int)resp->status, *text ? ": " : "", text);
}

static void sso_save(Sso *sso)
{
	const ModTalk *talk = &sso->chain->call->talk;
	char *text = json_dumps(sso->cache, JSON_COMPACT);
	bool saved = RGP_HAS(talk->host, write_file) &&
		     talk->host->write_file(talk->call, sso->path, mod_bytes(text)) == RGP_OK;
	if (!saved)
		talk->host->log(talk->call, RGP_LOG_INFO,
			"the renewed SSO token could not be written to the cache of the AWS CLI");
	free(text);
}

static bool sso_take_token(Sso *sso, const struct rgp_http_resp *resp)
{
	const AwsCall *call = sso->chain->call;
	json_auto_t *token = json_loadb(resp->body.data, resp->body.len, 0, NULL);
	const char *access = mod_str(token, "accessToken");
	const char *refresh = mod_str(token, "refreshToken");
	aws_keys_hide(call, access);
	aws_keys_hide(call, refresh);
	g_autoptr(GDateTime) end = g_date_time_new_from_unix_utc(
		call->talk.host->now(call->talk.call) + mod_int(token, "expiresIn"));
	if (!*access || !end)
		return false;
	g_autofree char *until = g_date_time_format(end, "%Y-%m-%dT%H:%M:%SZ");
	json_object_set_new(sso->cache, "accessToken", json_string(access));
	json_object_set_new(sso->cache, "expiresAt", json_string(until));
	if (*refresh)
		json_object_set_new(sso->cache, "refreshToken", json_string(refresh));
	sso_save(sso);
	return true;
}

static bool sso_can_renew(const Sso *sso, int64_t now_s)
{
	return sso->session && *mod_str(sso->cache, "refreshToken") &&
	       *mod_str(sso->cache, "clientId") && *mod_str(sso->cache, "clientSecret") &&
	       sso_time(sso->cache, "registrationExpiresAt") > now_s;
}

/* API of IAM Identity Center OIDC, CreateToken. `why` is what was wrong; g_free. */
static rgp_status sso_renew(Sso *sso, char **why)
{
	static const AwsService oidc = {"sso_oidc", "oidc", ""};
	static const char *const headers[] = {"Content-Type: application/json", NULL};
	json_auto_t *ask =
		json_pack("{s:s, s:s, s:s, s:s}", "clientId", mod_str(sso->cache, "clientId"),
			"clientSecret", mod_str(sso->cache, "clientSecret"), "grantType",
			"refresh_token", "refreshToken", mod_str(sso->cache, "refreshToken"));
	char *body = json_dumps(ask, JSON_COMPACT);
	struct rgp_http_req http = {.method = "POST",
		.headers = headers,
		.body = mod_bytes(body),
		.what = "CreateToken"};
	struct rgp_http_resp resp;
	rgp_status status = sso_send(sso, &oidc, &http, "token", &resp);
	free(body);
	if (status != RGP_OK)
		*why = g_strdup("no answer");
	else if (resp.status != 200)
		*why = sso_reason(&resp);
	else if (!sso_take_token(sso, &resp))
		*why = g_strdup("an answer without a token");
	return status;
}

static AwsSearch sso_freshen(Sso *sso)
{
	const AwsCall *call = sso->chain->call;
	int64_t now_s = call->talk.host->now(call->talk.call);
	int64_t expires_s = sso_time(sso->cache, "expiresAt");
	g_autofree char *why = NULL;
	if (expires_s - now_s >= RENEW_BEFORE_S)
		return AWS_KEYS_FOUND;
	if (sso_can_renew(sso, now_s) && sso_renew(sso, &why) == RGP_CANCELED)
		return AWS_KEYS_CANCELED;
	else if (sso_time(sso->cache, "expiresAt") > now_s)
		return AWS_KEYS_FOUND;
	return sso_sign_in(sso, "and the sign-in has expired%s%s%s",
		why ? " and could not be renewed (" : "", why ? why : "", why ? ")" : "");
}

static AwsSearch sso_take_keys(const Sso *sso, const struct rgp_http_resp *resp, AwsKeys *keys)
{
	json_auto_t *answer = json_loadb(resp->body.data, resp->body.len, 0, NULL);
	const json_t *given = json_object_get(answer, "roleCredentials");
	aws_keys_hide(sso->chain->call, mod_str(given, "secretAccessKey"));
	aws_keys_hide(sso->chain->call, mod_str(given, "sessionToken"));
	if (!*mod_str(given, "accessKeyId") || !*mod_str(given, "secretAccessKey"))
		return aws_keys_broken(sso->chain->call, NULL,
			"the SSO portal answered without keys for the role %s", sso->role);
	*keys = (AwsKeys){
		.access_key = g_strdup(mod_str(given, "accessKeyId")),
		.secret_key = g_strdup(mod_str(given, "secretAccessKey")),
		.session_token = g_strdup(mod_str(given, "sessionToken")),
		.expires_s = mod_int(given, "expiration") / 1000,
	};
	return AWS_KEYS_FOUND;
}

/* API of the SSO portal, GetRoleCredentials. */
static AwsSearch sso_fetch(const Sso *sso, AwsKeys *keys)
{
	static const AwsService portal = {"sso", "portal.sso", ""};
	g_autofree char *role = g_uri_escape_string(sso->role, NULL, false);
	g_autofree char *account = g_uri_escape_string(sso->account, NULL, false);
	g_autofree char *path =
		g_strdup_printf("federation/credentials?role_name=%s&account_id=%s", role, account);
	g_autofree char *bearer =
		g_strconcat("x-amz-sso_bearer_token: ", mod_str(sso->cache, "accessToken"), NULL);
	const char *const headers[] = {bearer, NULL};
	struct rgp_http_req http = {
		.method = "GET", .headers = headers, .what = "GetRoleCredentials"};
	struct rgp_http_resp resp;
	rgp_status status = sso_send(sso, &portal, &http, path, &resp);
	if (status == RGP_CANCELED)
		return AWS_KEYS_CANCELED;
	if (status != RGP_OK)
		return aws_keys_broken(sso->chain->call, "check the network and sso_region",
			"the SSO portal in %s did not answer", sso->region);
	if (resp.status == 200)
		return sso_take_keys(sso, &resp, keys);
	g_autofree char *why = sso_reason(&resp);
	if (resp.status == 401)
		return sso_sign_in(sso, "and the portal does not accept the sign-in (%s)", why);
	return aws_keys_broken(sso->chain->call,
		"check sso_account_id and sso_role_name: `aws sso list-account-roles`",
		"the SSO portal gave no keys for the role %s of account %s (%s)", sso->role,
		sso->account, why);
}

AwsSearch aws_keys_from_sso(const AwsChain *chain, const char *profile, AwsKeys *keys)
{
	g_auto(Sso) sso = {.chain = chain, .profile = profile};
	sso.session = aws_chain_value(chain, profile, "sso_session");
	AwsSearch search = sso_read_settings(&sso);
	if (search == AWS_KEYS_FOUND)
		search = sso_read_cache(&sso);
	if (search == AWS_KEYS_FOUND)
		search = sso_freshen(&sso);
	return search == AWS_KEYS_FOUND ? sso_fetch(&sso, keys) : search;
}
