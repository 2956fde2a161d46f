#include "gcp/credentials.h"
#include <string.h>
#include "common/jwt.h"
#include "common/oauth.h"

#define ASSERTION_S 3600
#define DEFAULT_TOKEN_URI "https://oauth2.googleapis.com/token"

/* ---- where the file is */

static const char *key_env(const ModTalk *talk, const char *name)
{
	const char *value = talk->host->env(talk->call, name);
	return value && *value ? value : NULL;
}

static char *well_known_path(const ModTalk *talk)
{
	const char *folder = key_env(talk, "CLOUDSDK_CONFIG");
	return g_strconcat(folder ? folder : "~/.config/gcloud",
		"/application_default_credentials.json", NULL);
}

static void key_read(const ModTalk *talk, struct rgp_inst *inst, bool optional)
{
	struct rgp_bytes text = {0};
	if (talk->host->read_file(talk->call, inst->key_path, &text) != RGP_OK) {
		if (optional)
			g_clear_pointer(&inst->key_path, g_free);
		else
			inst->key_fault = g_strdup("it cannot be read");
		return;
	}
	inst->key = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(inst->key)) {
		json_decref(inst->key);
		inst->key = NULL;
		inst->key_fault = g_strdup("it is not a JSON object");
	}
}

static void key_read_common(const ModTalk *talk, struct rgp_inst *inst)
{
	const char *universe = mod_str(inst->key, "universe_domain");
	const char *quota = key_env(talk, "GOOGLE_CLOUD_QUOTA_PROJECT");
	if (!quota && *mod_str(inst->key, "quota_project_id"))
		quota = mod_str(inst->key, "quota_project_id");
	if (*universe && strcmp(universe, GCP_UNIVERSE)) {
		/* the file alone may not choose who gets its secrets */
		const char *agreed = key_env(talk, "GOOGLE_CLOUD_UNIVERSE_DOMAIN");
		if (!agreed || strcmp(agreed, universe))
			inst->key_fault = g_strdup_printf(
				"its universe_domain is %s: set GOOGLE_CLOUD_UNIVERSE_DOMAIN=%s "
				"if that is intended",
				universe, universe);
		else
			inst->universe = g_strdup(universe);
	}
	if (!inst->universe)
		inst->universe = g_strdup(GCP_UNIVERSE);
	if (quota && !strpbrk(quota, "\r\n"))
		inst->user_project = g_strconcat("X-Goog-User-Project: ", quota, NULL);
}

void gcp_credentials_find(const ModTalk *talk, struct rgp_inst *inst)
{
	const char *named = mod_str(inst->config, "credentials");
	const char *path = *named ? named : key_env(talk, "GOOGLE_APPLICATION_CREDENTIALS");
	inst->key_path = path ? g_strdup(path) : well_known_path(talk);
	key_read(talk, inst, !path);
	key_read_common(talk, inst);
}

/* ---- the forms of the file */

/* RFC 7523, and Google's "Using OAuth 2.0 for Server to Server Applications": iss, scope, aud = the
 * token URL, exp at most an hour after iat. */
static rgp_status token_service_account(
	const ModTalk *talk, const struct rgp_inst *inst, const json_t *key, GcpToken *token)
{
	static const char *const members[] = {"client_email", "private_key", NULL};
	json_auto_t *with_uri = json_pack("{s:s}", "token_uri", DEFAULT_TOKEN_URI);
	const char *url;
	if (*mod_str(key, "token_uri"))
		json_object_set(with_uri, "token_uri", json_object_get(key, "token_uri"));
	if (gcp_key_need(talk, inst, key, members) != RGP_OK ||
		gcp_key_url(talk, inst, with_uri, "token_uri", &url) != RGP_OK)
		return RGP_FAIL;
	const char *pem = mod_str(key, "private_key");
	talk->host->secret(talk->call, mod_bytes(pem));
	json_int_t now_s = talk->host->now(talk->call);
	json_auto_t *header = json_pack("{s:s, s:s}", "alg", "RS256", "typ", "JWT");
	if (*mod_str(key, "private_key_id"))
		json_object_set(header, "kid", json_object_get(key, "private_key_id"));
	json_auto_t *claims =
		json_pack("{s:s, s:s, s:s, s:I, s:I}", "iss", mod_str(key, "client_email"), "scope",
			GCP_SCOPE, "aud", url, "iat", now_s, "exp", now_s + ASSERTION_S);
	g_autofree char *problem = NULL;
	g_autofree char *assertion = mod_jwt_sign(header, claims, mod_bytes(pem), &problem);
	if (!assertion)
		return gcp_key_refuse(talk, inst, NULL, "%s", problem);
	json_auto_t *fields = mod_oauth_jwt_bearer(assertion);
	return mod_oauth_request(
		talk, url, inst->connection, fields, &token->auth, &token->expires_s);
}

static rgp_status token_user(
	const ModTalk *talk, const struct rgp_inst *inst, const json_t *key, GcpToken *token)
{
	static const char *const members[] = {"client_id", "client_secret", "refresh_token", NULL};
	json_auto_t *with_uri = json_pack("{s:s}", "token_uri", DEFAULT_TOKEN_URI);
	const char *url;
	if (*mod_str(key, "token_uri"))
		json_object_set(with_uri, "token_uri", json_object_get(key, "token_uri"));
	if (gcp_key_need(talk, inst, key, members) != RGP_OK ||
		gcp_key_url(talk, inst, with_uri, "token_uri", &url) != RGP_OK)
		return RGP_FAIL;
	json_auto_t *fields = mod_oauth_refresh(mod_str(key, "client_id"),
		mod_str(key, "client_secret"), mod_str(key, "refresh_token"));
	return mod_oauth_request(
		talk, url, inst->connection, fields, &token->auth, &token->expires_s);
}

static rgp_status token_of(
	const ModTalk *talk, const struct rgp_inst *inst, const json_t *key, GcpToken *token);

static rgp_status token_impersonated(
	const ModTalk *talk, const struct rgp_inst *inst, const json_t *key, GcpToken *token)
{
	const json_t *source = json_object_get(key, "source_credentials");
	const char *url;
	if (gcp_key_url(talk, inst, key, "service_account_impersonation_url", &url) != RGP_OK)
		return RGP_FAIL;
	if (g_str_equal(mod_str(source, "type"), "impersonated_service_account"))
		return gcp_key_refuse(talk, inst, "list the accounts in `delegates`",
			"its source is impersonated too");
	rgp_status status = token_of(talk, inst, source, token);
	return status == RGP_OK ? gcp_impersonate(talk, inst, url,
					  json_object_get(key, "delegates"), ASSERTION_S, token)
				: status;
}

static rgp_status token_of(
	const ModTalk *talk, const struct rgp_inst *inst, const json_t *key, GcpToken *token)
{
	const char *type = mod_str(key, "type");
	if (g_str_equal(type, "service_account"))
		return token_service_account(talk, inst, key, token);
	if (g_str_equal(type, "authorized_user"))
		return token_user(talk, inst, key, token);
	if (g_str_equal(type, "impersonated_service_account"))
		return token_impersonated(talk, inst, key, token);
	if (g_str_equal(type, "external_account"))
		return gcp_token_external(talk, inst, key, token);
	if (g_str_equal(type, "external_account_authorized_user"))
		return gcp_token_authorized(talk, inst, key, token);
	return gcp_key_refuse(talk, inst, GCP_LOGIN_AGAIN,
		"type \"%s\" is not supported: it must be service_account, authorized_user, "
		"external_account, external_account_authorized_user or "
		"impersonated_service_account",
		type);
}

static rgp_status lease_get(const ModTalk *talk, const void *data, char **value, int64_t *expires_s)
{
	const struct rgp_inst *inst = data;
	GcpToken token = {0};
	rgp_status status;
	if (inst->key_fault)
		status = gcp_key_refuse(talk, inst, GCP_LOGIN_AGAIN, "%s", inst->key_fault);
	else if (inst->key)
		status = token_of(talk, inst, inst->key, &token);
	else
		status = gcp_token_metadata(talk, inst, &token);
	if (status != RGP_OK) {
		g_free(token.auth);
		return status;
	}
	*value = token.auth;
	*expires_s = token.expires_s;
	return RGP_OK;
}

ModLease *gcp_credentials_lease(const struct rgp_inst *inst)
{
	const ModLeaseSource source = {lease_get, inst, "the Google access token"};
	return mod_lease_new(&source);
}
