/* Keys of a role from STS (API 2011-06-15): AssumeRole, signed with other keys, and
 * AssumeRoleWithWebIdentity, unsigned, with the token that a CI or Kubernetes writes to a file. */
#include "aws/form.h"
#include "aws/keys.h"
#include "aws/xml.h"
#include <string.h>

#define STS_VERSION "2011-06-15"
#define HINT_TRUST "the role's trust policy has to allow the caller"

static const AwsShape keys_members[] = {
	{"AccessKeyId"}, {"SecretAccessKey"}, {"SessionToken"}, {"Expiration"}, {0}};
static const AwsShape result_members[] = {{"Credentials", keys_members}, {0}};
static const AwsShape plain_members[] = {{"AssumeRoleResult", result_members}, {0}};
static const AwsShape web_members[] = {{"AssumeRoleWithWebIdentityResult", result_members}, {0}};
static const AwsShape plain_response = {"AssumeRoleResponse", plain_members};
static const AwsShape web_response = {"AssumeRoleWithWebIdentityResponse", web_members};

/* One request in progress. */
typedef struct {
	const AwsCall *call;
	const AwsRole *role;
	const char *action;
	const AwsShape *shape;
	char *form, *auth; /* auth NULL: unsigned */
} Assuming;

static int32_t classify(void *data, int32_t status, struct rgp_bytes body)
{
	const Assuming *assuming = data;
	if (status >= 200 && status < 300)
		return RGP_CLASS_OK;
	ModFailure failure = {0};
	aws_errors_read(assuming->call->inst->errors, status, body, &failure);
	int32_t class_ = failure.class_;
	mod_failure_clear(&failure);
	return class_;
}

static AwsSearch read_keys(const Assuming *assuming, struct rgp_bytes body, AwsKeys *keys)
{
	const AwsCall *call = assuming->call;
	g_autofree char *problem = NULL;
	json_auto_t *reply = aws_xml_read(body, assuming->shape, NULL, NULL, &problem);
	const json_t *result = json_object_get(reply, assuming->shape->kids[0].name);
	const json_t *given = json_object_get(result, "Credentials");
	char *text = json_dumps(given ? given : reply, JSON_COMPACT | JSON_ENCODE_ANY);
	g_autofree char *source =
		g_strdup_printf("STS, on the request for %s,", assuming->role->arn);
	AwsSearch search = aws_keys_from_json(call, source, mod_bytes(text), "SessionToken", keys);
	free(text);
	return search;
}

static AwsSearch tell_refusal(const Assuming *assuming, const struct rgp_http_resp *resp)
{
	ModFailure failure = {0};
	aws_errors_read(assuming->call->inst->errors, resp->status, resp->body, &failure);
	g_autofree char *what = g_strdup_printf("%s requests %s, and STS refused %s%s%s%s",
		assuming->role->asked_by, assuming->role->arn, assuming->action,
		failure.code ? " (" : "", failure.code ? failure.code : "",
		failure.code ? ")" : "");
	if (failure.class_ != RGP_CLASS_TRANSIENT && failure.class_ != RGP_CLASS_THROTTLED) {
		failure.class_ = RGP_CLASS_DENIED;
		failure.hint = HINT_TRUST;
	}
	mod_report(&assuming->call->talk, &failure, what);
	mod_failure_clear(&failure);
	return AWS_KEYS_BROKEN;
}

static AwsSearch send(Assuming *assuming, AwsKeys *keys)
{
	static const char *const headers[] = {
		"Content-Type: application/x-www-form-urlencoded; charset=utf-8", NULL};
	const AwsCall *call = assuming->call;
	const struct rgp_http_req http = {
		.size = sizeof http,
		.flags = RGP_HTTP_READING, /* it creates keys, and changes nothing */
		.method = "POST",
		.url = call->inst->sts_endpoint,
		.headers = headers,
		.body = mod_bytes(assuming->form),
		.auth = mod_bytes(assuming->auth),
		.connection = mod_bytes(call->inst->connection),
		.what = assuming->action,
		.classify = classify,
		.classify_data = assuming,
	};
	struct rgp_http_resp resp = {.size = sizeof resp};
	rgp_status status = call->talk.host->http(call->talk.call, &http, &resp);
	if (status == RGP_CANCELED)
		return AWS_KEYS_CANCELED;
	if (status != RGP_OK)
		return aws_keys_broken(call, "check the network and AWS_ENDPOINT_URL_STS",
			"%s requests %s, and STS did not answer at %s", assuming->role->asked_by,
			assuming->role->arn, call->inst->sts_endpoint);
	if (resp.status >= 200 && resp.status < 300)
		return read_keys(assuming, resp.body, keys);
	return tell_refusal(assuming, &resp);
}

/* Read again for every request, because its writer renews it. A new string, NULL: unreadable. */
static char *read_token(const AwsCall *call, const char *path)
{
	struct rgp_bytes text = {0};
	if (call->talk.host->read_file(call->talk.call, path, &text) != RGP_OK)
		return NULL;
	char *token = g_strchomp(g_strndup(text.data, text.len));
	aws_keys_hide(call, token);
	return token;
}

static AwsSearch add_web_identity(const Assuming *assuming, json_t *params)
{
	const char *path = assuming->role->token_file;
	g_autofree char *token = read_token(assuming->call, path);
	if (token && *token && g_utf8_validate(token, -1, NULL)) {
		json_object_set_new(params, "WebIdentityToken", json_string(token));
		return AWS_KEYS_FOUND;
	}
	return aws_keys_broken(assuming->call, "give the absolute path of a file with the token",
		"%s names the token file %s, which %s", assuming->role->asked_by, path,
		token ? "contains no token" : "cannot be read");
}

AwsSearch aws_keys_assume(
	const AwsCall *call, const AwsRole *role, const AwsKeys *source, AwsKeys *keys)
{
	bool web = role->token_file != NULL;
	g_autofree char *session = role->session ? g_strdup(role->session)
						 : g_strdup_printf("raygpu-%" G_GINT64_FORMAT,
							   call->talk.host->now(call->talk.call));
	json_auto_t *params =
		json_pack("{s:s, s:s}", "RoleArn", role->arn, "RoleSessionName", session);
	if (!params)
		return aws_keys_broken(call, NULL, "%s is not UTF-8 text", role->asked_by);
	if (role->external_id)
		json_object_set_new(params, "ExternalId", json_string(role->external_id));
	if (role->duration)
		json_object_set_new(params, "DurationSeconds", json_string(role->duration));
	Assuming assuming = {
		.call = call,
		.role = role,
		.action = web ? "AssumeRoleWithWebIdentity" : "AssumeRole",
		.shape = web ? &web_response : &plain_response,
	};
	AwsSearch search = web ? add_web_identity(&assuming, params) : AWS_KEYS_FOUND;
	if (search != AWS_KEYS_FOUND)
		return search;
	assuming.form = aws_form_format_version(assuming.action, STS_VERSION, params);
	assuming.auth = web ? NULL : aws_auth_format(call, "sts", source);
	search = send(&assuming, keys);
	g_free(assuming.form);
	g_free(assuming.auth);
	return search;
}

AwsSearch aws_keys_from_web_identity_env(const AwsCall *call, AwsKeys *keys)
{
	const AwsRole role = {
		.arn = aws_keys_env(call, "AWS_ROLE_ARN"),
		.session = aws_keys_env(call, "AWS_ROLE_SESSION_NAME"),
		.token_file = aws_keys_env(call, "AWS_WEB_IDENTITY_TOKEN_FILE"),
		.asked_by = "the environment",
	};
	if (!role.token_file)
		return AWS_KEYS_NOT_HERE;
	if (!role.arn)
		return aws_keys_broken(call, "set AWS_ROLE_ARN to the role to assume",
			"AWS_WEB_IDENTITY_TOKEN_FILE is set but AWS_ROLE_ARN is not");
	return aws_keys_assume(call, &role, NULL, keys);
}
