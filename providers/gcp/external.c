/* Credentials of another identity provider (AIP-4117): its token comes from a file, a URL or a
 * program, and STS exchanges it for Google's. */
#include <string.h>
#include "common/oauth.h"
#include "gcp/credentials.h"

#define EXECUTABLES "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES"
#define EXECUTABLE_MS 30000

/* What credential_source.format says about a text: the token. g_free; NULL: it has none. */
static char *token_in(const json_t *format, struct rgp_bytes text)
{
	if (strcmp(mod_str(format, "type"), "json"))
		return text.len ? g_strchomp(g_strndup(text.data, text.len)) : NULL;
	json_auto_t *value = json_loadb(text.data ? text.data : "", text.len, 0, NULL);
	const char *token = mod_str(value, mod_str(format, "subject_token_field_name"));
	return *token ? g_strdup(token) : NULL;
}

static rgp_status from_file(
	const ModTalk *talk, const struct rgp_inst *inst, const json_t *source, char **token)
{
	const char *path = mod_str(source, "file");
	struct rgp_bytes text = {0};
	if (talk->host->read_file(talk->call, path, &text) != RGP_OK)
		return gcp_key_refuse(talk, inst, NULL,
			"the file %s of its credential_source cannot be read", path);
	*token = token_in(json_object_get(source, "format"), text);
	return *token ? RGP_OK
		      : gcp_key_refuse(talk, inst, NULL, "the file %s holds no token", path);
}

static rgp_status from_url(
	const ModTalk *talk, const struct rgp_inst *inst, const json_t *source, char **token)
{
	const char *url = mod_str(source, "url");
	g_autoptr(GPtrArray) headers = g_ptr_array_new_with_free_func(g_free);
	mod_foreach_member (name, value, json_object_get(source, "headers")) {
		const char *text = json_string_value(value);
		if (!text || strpbrk(text, "\r\n") || strpbrk(name, ": \r\n"))
			return gcp_key_refuse(
				talk, inst, NULL, "its credential_source has an invalid header");
		talk->host->secret(talk->call, mod_bytes(text));
		g_ptr_array_add(headers, g_strdup_printf("%s: %s", name, text));
	}
	g_ptr_array_add(headers, NULL);
	const struct rgp_http_req request = {.size = sizeof request,
		.flags = RGP_HTTP_READING | RGP_HTTP_HIDE_BODY,
		.method = "GET",
		.url = url,
		.headers = (const char *const *)headers->pdata,
		.what = "GetSubjectToken"};
	struct rgp_http_resp answer = {.size = sizeof answer};
	rgp_status status = talk->host->http(talk->call, &request, &answer);
	if (status == RGP_CANCELED)
		return status;
	if (status == RGP_OK && answer.status == 200)
		*token = token_in(json_object_get(source, "format"), answer.body);
	return *token ? RGP_OK
		      : gcp_key_refuse(talk, inst, NULL,
				"the URL of its credential_source returned no token (status %d)",
				status == RGP_OK ? (int)answer.status : 0);
}

/* The program's answer: {"version": 1, "success": true, "token_type", "id_token" or
 * "saml_response", "expiration_time"}, or "success": false with "code" and "message". */
static rgp_status read_program(
	const ModTalk *talk, const struct rgp_inst *inst, struct rgp_bytes output, char **token)
{
	json_auto_t *answer = json_loadb(output.data ? output.data : "", output.len, 0, NULL);
	const char *id = mod_str(answer, "id_token"), *saml = mod_str(answer, "saml_response");
	int64_t end_s = mod_int(answer, "expiration_time");
	if (!json_is_true(json_object_get(answer, "success")))
		return gcp_key_refuse(talk, inst, NULL, "its program failed: %s %s",
			mod_str(answer, "code"), mod_str(answer, "message"));
	if (end_s && end_s <= talk->host->now(talk->call))
		return gcp_key_refuse(talk, inst, NULL, "its program returned an expired token");
	*token = *id || *saml ? g_strdup(*id ? id : saml) : NULL;
	return *token ? RGP_OK : gcp_key_refuse(talk, inst, NULL, "its program returned no token");
}

/* "NAME@PROJECT..." of ".../serviceAccounts/NAME@PROJECT...:generateAccessToken"; g_free. NULL: no
 * account is impersonated. */
static char *impersonated_email(const json_t *key)
{
	const char *url = mod_str(key, "service_account_impersonation_url");
	const char *start = strrchr(url, '/');
	const char *end = start ? strrchr(start, ':') : NULL;
	return end ? g_strndup(start + 1, (size_t)(end - start - 1)) : NULL;
}

/* The environment of a program (google-auth-library: PluggableAuthHandler). */
static GStrv program_env(const json_t *key)
{
	g_autoptr(GStrvBuilder) env = g_strv_builder_new();
	g_autofree char *audience =
		g_strconcat("GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE=", mod_str(key, "audience"), NULL);
	g_autofree char *type = g_strconcat(
		"GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE=", mod_str(key, "subject_token_type"), NULL);
	g_autofree char *email = impersonated_email(key);
	g_autofree char *account =
		g_strconcat("GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL=", email, NULL);
	g_strv_builder_add_many(env, audience, type, "GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE=0", NULL);
	if (email)
		g_strv_builder_add(env, account);
	return g_strv_builder_end(env);
}

static rgp_status from_program(const ModTalk *talk, const struct rgp_inst *inst, const json_t *key,
	const json_t *program, char **token)
{
	const char *allowed = talk->host->env(talk->call, EXECUTABLES);
	const char *command = mod_str(program, "command");
	g_auto(GStrv) argv = NULL;
	struct rgp_bytes output = {0};
	if (g_strcmp0(allowed, "1"))
		return gcp_key_refuse(talk, inst,
			"set " EXECUTABLES "=1 if you trust the file and the program",
			"it runs the program \"%s\"", command);
	if (!g_shell_parse_argv(command, NULL, &argv, NULL))
		return gcp_key_refuse(talk, inst, NULL, "its command \"%s\" is invalid", command);
	g_auto(GStrv) env = program_env(key);
	int64_t timeout_ms = mod_int(program, "timeout_millis");
	const struct rgp_exec_req request = {.size = sizeof request,
		.flags = RGP_EXEC_READING,
		.argv = (const char *const *)argv,
		.env = (const char *const *)env,
		.timeout_ms = timeout_ms > 0 ? (uint32_t)MIN(timeout_ms, 120000) : EXECUTABLE_MS};
	rgp_status status = talk->host->exec(talk->call, &request, &output);
	if (status == RGP_CANCELED)
		return status;
	if (status != RGP_OK)
		return gcp_key_refuse(talk, inst, NULL, "its program \"%s\" failed", command);
	return read_program(talk, inst, output, token);
}

static rgp_status subject_token(
	const ModTalk *talk, const struct rgp_inst *inst, const json_t *key, char **token)
{
	const json_t *source = json_object_get(key, "credential_source");
	const json_t *program = json_object_get(source, "executable");
	const char *vendor = mod_str(source, "environment_id");
	if (g_str_has_prefix(vendor, "aws"))
		return gcp_key_refuse(talk, inst,
			"write the token to a file with another program and use a "
			"credential_source with `file`, or use a service account's key",
			"federation with the keys of AWS is not supported");
	if (json_object_get(source, "certificate"))
		return gcp_key_refuse(talk, inst,
			"use a credential_source with file, url or executable",
			"federation with X.509 certificates is not supported");
	if (*mod_str(source, "file"))
		return from_file(talk, inst, source, token);
	if (*mod_str(source, "url"))
		return from_url(talk, inst, source, token);
	if (program)
		return from_program(talk, inst, key, program, token);
	return gcp_key_refuse(
		talk, inst, NULL, "its credential_source has neither file, url nor executable");
}

/* RFC 8693 with Google's parameters (sts.googleapis.com, v1 token). */
static json_t *exchange_fields(const json_t *key, const char *token, bool has_client)
{
	json_t *fields = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "grant_type",
		"urn:ietf:params:oauth:grant-type:token-exchange", "audience",
		mod_str(key, "audience"), "scope", GCP_SCOPE, "requested_token_type",
		"urn:ietf:params:oauth:token-type:access_token", "subject_token_type",
		mod_str(key, "subject_token_type"), "subject_token", token);
	const char *user_project = mod_str(key, "workforce_pool_user_project");
	/* a client implies its project */
	if (*user_project && !has_client) {
		json_auto_t *options = json_pack("{s:s}", "userProject", user_project);
		char *text = json_dumps(options, JSON_COMPACT);
		json_object_set_new(fields, "options", json_string(text));
		free(text);
	}
	return fields;
}

/* The header of the OAuth client that the file names; NULL: none. g_free. */
static char *client_of(const ModTalk *talk, const json_t *key)
{
	const char *id = mod_str(key, "client_id");
	return *id ? mod_oauth_basic(talk, id, mod_str(key, "client_secret")) : NULL;
}

rgp_status gcp_token_authorized(
	const ModTalk *talk, const struct rgp_inst *inst, const json_t *key, GcpToken *token)
{
	static const char *const members[] = {"client_id", "client_secret", "refresh_token", NULL};
	const char *url;
	if (gcp_key_need(talk, inst, key, members) != RGP_OK ||
		gcp_key_url(talk, inst, key, "token_url", &url) != RGP_OK)
		return RGP_FAIL;
	g_autofree char *client = client_of(talk, key);
	json_auto_t *fields = json_pack("{s:s, s:s}", "grant_type", "refresh_token",
		"refresh_token", mod_str(key, "refresh_token"));
	return mod_oauth_request_as(
		talk, url, inst->connection, client, fields, &token->auth, &token->expires_s);
}

rgp_status gcp_token_external(
	const ModTalk *talk, const struct rgp_inst *inst, const json_t *key, GcpToken *token)
{
	bool impersonates = *mod_str(key, "service_account_impersonation_url") != '\0';
	const char *url, *account = NULL;
	if (gcp_key_url(talk, inst, key, "token_url", &url) != RGP_OK)
		return RGP_FAIL;
	if (impersonates && gcp_key_url(talk, inst, key, "service_account_impersonation_url",
				    &account) != RGP_OK)
		return RGP_FAIL;
	if (!*mod_str(key, "audience") || !*mod_str(key, "subject_token_type"))
		return gcp_key_refuse(
			talk, inst, NULL, "it has no audience or no subject_token_type");
	g_autofree char *subject = NULL;
	rgp_status status = subject_token(talk, inst, key, &subject);
	if (status != RGP_OK)
		return status;
	g_autofree char *client = client_of(talk, key);
	json_auto_t *fields = exchange_fields(key, subject, client != NULL);
	status = mod_oauth_request_as(
		talk, url, inst->connection, client, fields, &token->auth, &token->expires_s);
	if (status != RGP_OK || !impersonates)
		return status;
	int64_t lifetime_s = mod_int(
		json_object_get(key, "service_account_impersonation"), "token_lifetime_seconds");
	return gcp_impersonate(
		talk, inst, account, NULL, lifetime_s > 0 ? lifetime_s : 3600, token);
}
