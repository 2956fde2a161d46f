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

static rgp_status refuse(const AwsCall *call, const AwsParameter *parameter,
	const struct rgp_http_resp *resp, const json_t *reply)
{
	const char *name = parameter->name, *origin = parameter->origin;
	/* "com.amazonaws.ssm#ParameterNotFound" or without the namespace. */
	const char *type = mod_str(reply, "__type"), *hash = strchr(type, '#');
	const char *code = hash ? hash + 1 : type, *message = mod_str(reply, "message");
	if (!*message)
		message = mod_str(reply, "Message");
	if (g_str_equal(code, "ParameterNotFound"))
		return mod_refuse(call, origin,
			"`aws ssm get-parameters-by-path --path PATH` lists them",
			"there is no SSM parameter %s in %s", name, call->inst->region);
	bool denied = g_str_has_prefix(code, "AccessDenied");
	g_autofree char *summary = g_strdup_printf("SSM refused GetParameter of %s (%s): %s", name,
		*code ? code : "no code", *message ? message : "it gave no reason");
	mod_report_origin(&call->talk, classify(NULL, resp->status, resp->body), origin, summary,
		denied ? "grant the caller ssm:GetParameter" : NULL);
	return RGP_FAIL;
}

static rgp_status read_value(const AwsCall *call, const AwsParameter *parameter,
	const struct rgp_http_resp *resp, json_t *ids)
{
	json_auto_t *reply = json_loadb(resp->body.data, resp->body.len, 0, NULL);
	if (resp->status < 200 || resp->status >= 300)
		return refuse(call, parameter, resp, reply);
	const char *value = mod_str(json_object_get(reply, "Parameter"), "Value");
	if (!g_str_has_prefix(value, "ami-") || strlen(value) > 64)
		return mod_refuse(call, parameter->origin,
			"use a parameter whose value is an image id",
			"the value of SSM parameter %s is not an image id (ami-...)",
			parameter->name);
	json_object_set_new(ids, parameter->name, json_string(value));
	return RGP_OK;
}

/* One of the concurrent requests. */
typedef struct {
	char *body;
	struct rgp_http_req req;
	struct rgp_http_resp resp;
} Sending;

static void prepare(
	const AwsCall *call, const AwsParameter *parameter, const char *auth, Sending *sending)
{
	static const char *const headers[] = {"Content-Type: application/x-amz-json-1.1",
		"X-Amz-Target: AmazonSSM.GetParameter", NULL};
	json_auto_t *params = json_pack("{s:s}", "Name", parameter->name);
	sending->body = json_dumps(params, JSON_COMPACT);
	sending->req = (struct rgp_http_req){
		.size = sizeof sending->req,
		.flags = RGP_HTTP_READING,
		.method = "POST",
		.url = call->inst->ssm_endpoint,
		.headers = headers,
		.body = mod_bytes(sending->body),
		.auth = mod_bytes(auth),
		.connection = mod_bytes(call->inst->connection),
		.what = "GetParameter",
		.classify = classify,
	};
	sending->resp.size = sizeof sending->resp;
}

/* At most EC2_TOGETHER_MAX of them. */
static rgp_status read_some(
	const AwsCall *call, const AwsParameter *const *parameters, size_t n, json_t *ids)
{
	Sending sendings[EC2_TOGETHER_MAX] = {{0}};
	const struct rgp_http_req *reqs[EC2_TOGETHER_MAX];
	struct rgp_http_resp *resps[EC2_TOGETHER_MAX];
	g_autofree char *auth = aws_credentials_get(call, "ssm");
	if (!auth)
		return call->talk.host->canceled(call->talk.call) ? RGP_CANCELED : RGP_FAIL;
	for (size_t i = 0; i < n; i++) {
		prepare(call, parameters[i], auth, &sendings[i]);
		reqs[i] = &sendings[i].req;
		resps[i] = &sendings[i].resp;
	}
	rgp_status status = call->talk.host->http_all(call->talk.call, reqs, n, resps);
	bool answered = status == RGP_OK;
	for (size_t i = 0; i < n; i++) {
		rgp_status here =
			answered ? read_value(call, parameters[i], resps[i], ids) : status;
		status = here != RGP_OK ? here : status;
		free(sendings[i].body);
	}
	return status;
}

rgp_status aws_parameters_read(const AwsCall *call, const GPtrArray *parameters, json_t *ids)
{
	rgp_status status = RGP_OK;
	for (guint at = 0; at < parameters->len && status == RGP_OK; at += EC2_TOGETHER_MAX)
		status = read_some(call, (const AwsParameter *const *)parameters->pdata + at,
			MIN(EC2_TOGETHER_MAX, parameters->len - at), ids);
	return status;
}
