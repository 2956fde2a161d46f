/* The account that the credentials belong to, from STS: GetCallerIdentity needs no permission. */
#include "aws/account.h"
#include "aws/credentials.h"
#include "aws/form.h"
#include "aws/xml.h"

#define STS_VERSION "2011-06-15"
/* Requested together with the list, which must not wait long for an STS behind a firewall. */
#define TIMEOUT_MS 10000
#define TRIES 2

static const AwsShape result_members[] = {{"Account"}, {0}};
static const AwsShape members[] = {{"GetCallerIdentityResult", result_members}, {0}};
static const AwsShape response = {"GetCallerIdentityResponse", members};

static int32_t classify(void *data, int32_t status, struct rgp_bytes body)
{
	ModFailure failure = {0};
	if (status >= 200 && status < 300)
		return RGP_CLASS_OK;
	aws_errors_read(data, status, body, &failure);
	int32_t class_ = failure.class_;
	mod_failure_clear(&failure);
	return class_;
}

static rgp_status read_answer(const AwsCall *call, const struct rgp_http_resp *resp)
{
	ModFailure failure = {0};
	if (resp->status < 200 || resp->status >= 300) {
		aws_errors_read(call->inst->errors, resp->status, resp->body, &failure);
		mod_report(&call->talk, &failure, "STS refused GetCallerIdentity");
		mod_failure_clear(&failure);
		return RGP_FAIL;
	}
	g_autofree char *problem = NULL;
	json_auto_t *reply = aws_xml_read(resp->body, &response, NULL, NULL, &problem);
	const char *id = mod_str(json_object_get(reply, members[0].name), "Account");
	if (*id)
		return mod_give(&call->talk, "account", json_pack("{s:s}", "id", id));
	mod_failure_set(&failure, RGP_CLASS_TRANSIENT, NULL, "it contains no account%s%s",
		problem ? ": " : "", problem ? problem : "");
	mod_report(&call->talk, &failure, "the answer of STS to GetCallerIdentity");
	mod_failure_clear(&failure);
	return RGP_FAIL;
}

rgp_status aws_account(const AwsCall *call, const json_t *input)
{
	static const char *const headers[] = {
		"Content-Type: application/x-www-form-urlencoded; charset=utf-8", NULL};
	g_autofree char *auth = aws_credentials_get(call, "sts");
	if (!auth)
		return call->talk.host->canceled(call->talk.call) ? RGP_CANCELED : RGP_FAIL;
	g_autofree char *from = aws_credentials_from(call);
	if (*from)
		mod_give(&call->talk, "credentials", json_pack("{s:s}", "from", from));
	g_autofree char *form = aws_form_format_version("GetCallerIdentity", STS_VERSION, NULL);
	const struct rgp_http_req http = {
		.size = sizeof http,
		.flags = RGP_HTTP_READING,
		.method = "POST",
		.url = call->inst->account_endpoint,
		.headers = headers,
		.body = mod_bytes(form),
		.auth = mod_bytes(auth),
		.connection = mod_bytes(call->inst->connection),
		.what = "GetCallerIdentity",
		.timeout_ms = TIMEOUT_MS,
		.max_tries = TRIES,
		.classify = classify,
		.classify_data = call->inst->errors,
	};
	struct rgp_http_resp resp = {.size = sizeof resp};
	rgp_status status = call->talk.host->http(call->talk.call, &http, &resp);
	return status == RGP_OK ? read_answer(call, &resp) : status;
}
