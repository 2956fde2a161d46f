/* SSM GetParameter: JSON 1.1 (API 2014-11-06). */
#include "aws/parameter.h"
#include "aws/credentials.h"
#include "aws/resolve.h"
#include <string.h>

static int32_t classify(void *data, int32_t status, struct rgp_bytes body)
{
	if (status >= 200 && status < 300)
		return RGP_CLASS_OK;
	json_auto_t *reply = json_loadb(body.data, body.len, 0, NULL);
	if (strstr(mod_str(reply, "__type"), "Throttling"))
		return RGP_CLASS_THROTTLED;
	if (status >= 500)
		return RGP_CLASS_TRANSIENT;
	return status == 401 || status == 403 ? RGP_CLASS_DENIED : RGP_CLASS_INVALID;
}

/* "com.amazonaws.ssm#ParameterNotFound" or without the namespace. */
static const char *code_of(const json_t *reply)
{
	const char *type = mod_str(reply, "__type"), *hash = strchr(type, '#');
	return hash ? hash + 1 : type;
}

static rgp_status refuse(const AwsCall *call, const char *name, const char *origin,
	const struct rgp_http_resp *resp, const json_t *reply)
{
	const char *code = code_of(reply), *message = mod_str(reply, "message");
	if (!*message)
		message = mod_str(reply, "Message");
	if (g_str_equal(code, "ParameterNotFound"))
		return aws_refuse(call, origin,
			"`aws ssm get-parameters-by-path --path PATH` lists them",
			"there is no SSM parameter %s in %s", name, call->inst->region);
	bool denied = g_str_has_prefix(code, "AccessDenied");
	g_autofree char *summary = g_strdup_printf("SSM refused GetParameter of %s (%s): %s", name,
		*code ? code : "no code", *message ? message : "it gave no reason");
	mod_report_origin(&call->talk, classify(NULL, resp->status, resp->body), origin, summary,
		denied ? "allow ssm:GetParameter to the caller" : NULL);
	return RGP_FAIL;
}

static rgp_status read_value(const AwsCall *call, const char *name, const char *origin,
	const struct rgp_http_resp *resp, char **id)
{
	json_auto_t *reply = json_loadb(resp->body.data, resp->body.len, 0, NULL);
	if (resp->status < 200 || resp->status >= 300)
		return refuse(call, name, origin, resp, reply);
	const char *value = mod_str(json_object_get(reply, "Parameter"), "Value");
	if (!g_str_has_prefix(value, "ami-") || strlen(value) > 64)
		return aws_refuse(call, origin, "name a parameter whose value is an image id",
			"SSM parameter %s holds no image id (ami-...)", name);
	*id = g_strdup(value);
	return RGP_OK;
}

rgp_status aws_parameter_image(const AwsCall *call, const char *name, const char *origin, char **id)
{
	static const char *const headers[] = {"Content-Type: application/x-amz-json-1.1",
		"X-Amz-Target: AmazonSSM.GetParameter", NULL};
	g_autofree char *auth = aws_credentials_get(call, "ssm");
	json_auto_t *params = json_pack("{s:s}", "Name", name);
	if (!auth || !params)
		return call->talk.host->canceled(call->talk.call) ? RGP_CANCELED : RGP_FAIL;
	char *body = json_dumps(params, JSON_COMPACT);
	const struct rgp_http_req http = {
		.size = sizeof http,
		.flags = RGP_HTTP_READING,
		.method = "POST",
		.url = call->inst->ssm_endpoint,
		.headers = headers,
		.body = mod_bytes(body),
		.auth = mod_bytes(auth),
		.connection = mod_bytes(call->inst->connection),
		.what = "GetParameter",
		.classify = classify,
	};
	struct rgp_http_resp resp = {.size = sizeof resp};
	rgp_status status = call->talk.host->http(call->talk.call, &http, &resp);
	free(body);
	return status == RGP_OK ? read_value(call, name, origin, &resp, id) : status;
}
