#include "aws/ec2.h"
#include "aws/credentials.h"
#include "aws/form.h"
#include "common/exchange.h"
#include "common/open.h"
#include <string.h>

#define PAGES_MAX 100000

void ec2_reply_clear(Ec2Reply *reply)
{
	json_decref(reply->reply);
	mod_failure_clear(&reply->failure);
	*reply = (Ec2Reply){0};
}

static void read_success(
	const Ec2Request *request, const struct rgp_http_resp *resp, Ec2Reply *reply)
{
	g_autofree char *problem = NULL;
	if (!request->shape && !(request->api && !request->api->version))
		return;
	if (request->api && !request->api->version) {
		reply->reply = json_loadb(resp->body.data, resp->body.len, 0, NULL);
		problem = g_strdup("it is not JSON");
	} else {
		reply->reply = aws_xml_read(
			resp->body, request->shape, request->record, request->data, &problem);
	}
	if (reply->reply)
		return;
	mod_failure_set(&reply->failure, request->reading ? RGP_CLASS_TRANSIENT : RGP_CLASS_UNKNOWN,
		NULL, "truncated reply: HTTP status %d, %zu bytes: %s", (int)resp->status,
		resp->body.len, problem);
	reply->failure.hint = request->reading
				      ? "it was ignored: try again"
				      : "whether EC2 acted is unknown: the next run checks";
}

static void read_failure(
	const void *errors, int32_t status, struct rgp_bytes body, ModFailure *failure)
{
	aws_errors_read(errors, status, body, failure);
}

static void read_json_failure(
	const void *errors, int32_t status, struct rgp_bytes body, ModFailure *failure)
{
	aws_errors_read_json(errors, status, body, failure);
}

/* One of the requests that are sent concurrently. */
typedef struct {
	char *form, *target, *auth;
	const char *headers[3];
	ModReader reader;
	ModTries tries;
	struct rgp_http_req req;
	struct rgp_http_resp resp;
} Sending;

static const AwsApi *api_of(const AwsCall *call, const Ec2Request *request, AwsApi *ec2)
{
	*ec2 = (AwsApi){
		.service = "ec2", .endpoint = call->inst->endpoint, .version = AWS_EC2_VERSION};
	return request->api ? request->api : ec2;
}

static void write_body(const AwsApi *api, const Ec2Request *request, Sending *sending)
{
	if (api->version) {
		sending->form =
			aws_form_format_version(request->action, api->version, request->params);
		sending->headers[0] =
			"Content-Type: application/x-www-form-urlencoded; charset=utf-8";
		return;
	}
	char *text = json_dumps(request->params, JSON_COMPACT);
	sending->form = g_strdup(text);
	free(text);
	sending->target = g_strdup_printf("X-Amz-Target: %s.%s", api->target, request->action);
	sending->headers[0] = "Content-Type: application/x-amz-json-1.1";
	sending->headers[1] = sending->target;
}

/* False: there are no credentials. */
static bool prepare(const AwsCall *call, const Ec2Request *request, Sending *sending)
{
	AwsApi ec2;
	const AwsApi *api = api_of(call, request, &ec2);
	sending->auth = aws_credentials_get_for(call, api->service, api->region);
	write_body(api, request, sending);
	sending->reader = (ModReader){api->version ? read_failure : read_json_failure,
		call->inst->errors, request->api ? "AWS" : "EC2"};
	sending->req = (struct rgp_http_req){
		.size = sizeof sending->req,
		.flags = request->reading ? RGP_HTTP_READING : 0,
		.method = "POST",
		.url = api->endpoint,
		.headers = sending->headers,
		.body = mod_bytes(sending->form),
		.auth = mod_bytes(sending->auth),
		.connection = mod_bytes(call->inst->connection),
		.what = request->action,
		.timeout_ms = api->timeout_ms,
		.max_tries = api->tries,
	};
	mod_tries_watch(&sending->tries, &sending->reader, &sending->req);
	sending->resp.size = sizeof sending->resp;
	return sending->auth != NULL;
}

static void read_reply(const Ec2Request *request, const Sending *sending, Ec2Reply *reply)
{
	const struct rgp_http_resp *resp = &sending->resp;
	if (!resp->status)
		mod_failure_set(&reply->failure, RGP_CLASS_TRANSIENT, NULL, "no answer came");
	else if (resp->status >= 200 && resp->status < 300)
		read_success(request, resp, reply);
	else
		mod_tries_judge(&sending->tries, resp, &reply->failure);
}

rgp_status ec2_send_all(
	const AwsCall *call, const Ec2Request *requests, size_t n, Ec2Reply *replies)
{
	const struct rgp_http_req *reqs[EC2_TOGETHER_MAX];
	struct rgp_http_resp *resps[EC2_TOGETHER_MAX];
	g_autofree Sending *sendings = g_new0(Sending, n);
	bool keys = true;
	for (size_t i = 0; i < n; i++) {
		ec2_reply_clear(&replies[i]);
		keys = keys && prepare(call, &requests[i], &sendings[i]);
		reqs[i] = &sendings[i].req;
		resps[i] = &sendings[i].resp;
	}
	rgp_status status = keys ? call->talk.host->http_all(call->talk.call, reqs, n, resps)
			    : call->talk.host->canceled(call->talk.call) ? RGP_CANCELED
									 : RGP_FAIL;
	for (size_t i = 0; i < n; i++) {
		if (keys)
			read_reply(&requests[i], &sendings[i], &replies[i]);
		g_free(sendings[i].form);
		g_free(sendings[i].target);
		g_free(sendings[i].auth);
	}
	return status;
}

rgp_status ec2_send(const AwsCall *call, const Ec2Request *request, Ec2Reply *reply)
{
	return ec2_send_all(call, request, 1, reply);
}

const Ec2Code *ec2_match(const ModFailure *failure, const Ec2Code *codes)
{
	for (; failure->code && codes->code; codes++)
		if (g_str_equal(failure->code, codes->code) &&
			(!codes->word || strstr(failure->message, codes->word)))
			return codes;
	return NULL;
}

rgp_status ec2_send_waiting(
	const AwsCall *call, const Ec2Request *request, const Ec2Code *codes, Ec2Reply *reply)
{
	ModBackoff backoff = mod_backoff_start(&call->talk, 0);
	int64_t start_s = backoff.deadline_s;
	bool doubtful = false; /* an earlier attempt may have succeeded */
	for (bool told = false;; told = true) {
		rgp_status status = ec2_send(call, request, reply);
		const Ec2Code *code = status == RGP_OK ? ec2_match(&reply->failure, codes) : NULL;
		doubtful |= code && !reply->failure.definite;
		reply->failure.definite &= !doubtful;
		if (!code)
			return status;
		if (!told) {
			g_autofree char *message = g_strdup_printf(
				"%s waits: %s", request->action, reply->failure.message);
			call->talk.host->log(call->talk.call, RGP_LOG_INFO, message);
		}
		backoff.deadline_s =
			start_s + mod_open_wait_s(&call->talk, call->inst->endpoint, code->limit_s);
		status = mod_backoff_wait(&call->talk, &backoff);
		if (status != RGP_OK)
			return status == RGP_CANCELED ? RGP_CANCELED : RGP_OK;
	}
}

rgp_status ec2_report(const AwsCall *call, const char *action, const ModFailure *failure)
{
	/* a server error of EC2 is not a refusal */
	const char *did = failure->class_ == RGP_CLASS_TRANSIENT ? "failed in" : "refused";
	g_autofree char *what =
		failure->code ? g_strdup_printf("EC2 %s %s (%s)", did, action, failure->code)
			      : g_strdup_printf("EC2's answer to %s", action);
	mod_report(&call->talk, failure, what);
	return RGP_FAIL;
}

/* Takes the token of the next page from an answer; sets `done` if there is none. */
static rgp_status turn_page(const AwsCall *call, Ec2Pages *pages, Ec2Reply *reply)
{
	AwsCall placed = *call;
	placed.talk.origin = pages->origin;
	if (reply->failure.class_ != RGP_CLASS_OK)
		return ec2_report(&placed, pages->request.action, &reply->failure);
	const char *token = mod_str(reply->reply, "nextToken");
	pages->done = !*token;
	json_object_set_new(pages->params, "NextToken", json_string(token));
	if (pages->done || (g_hash_table_add(pages->seen, g_strdup(token)) &&
				   g_hash_table_size(pages->seen) < PAGES_MAX))
		return RGP_OK;
	mod_failure_set(&reply->failure, RGP_CLASS_UNKNOWN, NULL,
		"the same page token was returned twice, so the list would never end");
	return ec2_report(&placed, pages->request.action, &reply->failure);
}

/* An earlier one of the round failed with the same text: keys that EC2 does not know need not be
 * reported twice. */
static bool is_told(const Ec2Reply *replies, size_t n)
{
	const ModFailure *failure = &replies[n].failure;
	for (size_t i = 0; i < n && failure->code; i++)
		if (!g_strcmp0(failure->code, replies[i].failure.code) &&
			!g_strcmp0(failure->message, replies[i].failure.message))
			return true;
	return false;
}

/* One page of each request that has more, at most EC2_TOGETHER_MAX of them; *n: how many. */
static rgp_status read_round(const AwsCall *call, Ec2Pages *const *all, size_t n_all, size_t *n)
{
	Ec2Pages *open[EC2_TOGETHER_MAX];
	Ec2Request requests[EC2_TOGETHER_MAX];
	Ec2Reply replies[EC2_TOGETHER_MAX] = {{0}};
	for (size_t i = *n = 0; i < n_all && *n < EC2_TOGETHER_MAX; i++) {
		if (all[i]->done)
			continue;
		requests[*n] = all[i]->request;
		requests[*n].params = all[i]->params;
		requests[*n].reading = true;
		open[(*n)++] = all[i];
	}
	rgp_status status = *n ? ec2_send_all(call, requests, *n, replies) : RGP_OK;
	bool answered = status == RGP_OK;
	for (size_t i = 0; i < *n; i++) {
		if (is_told(replies, i))
			continue;
		rgp_status here = answered ? turn_page(call, open[i], &replies[i]) : status;
		if (here == RGP_OK && open[i]->page_done)
			here = open[i]->page_done(open[i]->request.data);
		status = status == RGP_OK ? here : status;
	}
	for (size_t i = 0; i < *n; i++)
		ec2_reply_clear(&replies[i]);
	return status;
}

rgp_status ec2_pages_all(const AwsCall *call, Ec2Pages *const *all, size_t n_all)
{
	rgp_status status = RGP_OK;
	size_t n = 1;
	for (size_t i = 0; i < n_all; i++)
		all[i]->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	while (status == RGP_OK && n)
		status = read_round(call, all, n_all, &n);
	for (size_t i = 0; i < n_all; i++)
		g_clear_pointer(&all[i]->seen, g_hash_table_unref);
	return status;
}

rgp_status ec2_pages(const AwsCall *call, const Ec2Request *request, json_t *params,
	rgp_status (*page_done)(void *data))
{
	Ec2Pages pages = {.request = *request,
		.params = params,
		.origin = call->talk.origin,
		.page_done = page_done};
	Ec2Pages *const one = &pages;
	return ec2_pages_all(call, &one, 1);
}

void ec2_collect(void *data, const json_t *record)
{
	json_array_append_new(data, json_deep_copy(record));
}
