#include "aws/s3.h"
#include "aws/credentials.h"
#include "aws/data.h"
#include "aws/endpoints.h"
#include "aws/xml.h"
#include "common/exchange.h"
#include "common/open.h"
#include <pthread.h>
#include <string.h>

#define REDIRECTS_MAX 3
#define HEADERS_MAX 8

struct AwsStore {
	ModBucket at;
	char *setting;	     /* the URL's endpoint, "" if it has none */
	char *sse, *kms_key; /* headers, or NULL */
	ModErrors *errors;
	bool path_style, path_named;
	pthread_mutex_t lock; /* what an answer can change */
	char *region, *endpoint;
};

static const AwsShape error_members[] = {
	{"Code"}, {"Message"}, {"RequestId"}, {"Region"}, {"Endpoint"}, {0}};
static const AwsShape error_shape = {"Error", error_members};

/* ---- the place */

/* As a label of a host name that a certificate for *.s3.REGION.amazonaws.com covers. */
static bool fits_host(const char *bucket)
{
	return g_regex_match_simple(
		"^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", bucket, G_REGEX_DOLLAR_ENDONLY, 0);
}

/* aws_endpoint_find needs the files of the chain; also after a redirect. */
static rgp_status find_endpoint(const AwsCall *call, AwsStore *store)
{
	const AwsService s3 = {"s3", "s3", store->setting, .place = "endpoint of the state's URL"};
	char *endpoint = NULL;
	bool named = false;
	g_auto(AwsChain) chain = aws_chain_open(call);
	rgp_status status = aws_endpoint_find(&chain, &s3, store->region, &endpoint, &named);
	if (status != RGP_OK)
		return status;
	if (*store->setting && !aws_endpoint_is_trusted(&call->talk, store->setting)) {
		g_free(endpoint);
		mod_bucket_refuse(&call->talk, "add the URL to RAYGPU_ALLOW_ENDPOINTS to allow it",
			g_strdup_printf("endpoint of the state's URL would get signed requests: "
					"\"%s\"",
				store->setting));
		return RGP_FAIL;
	}
	g_free(store->endpoint);
	store->endpoint = endpoint;
	if (!store->path_named)
		store->path_style = named || !fits_host(store->at.bucket);
	return RGP_OK;
}

static bool read_parameters(const AwsCall *call, AwsStore *store, const json_t *parameters)
{
	const char *addressing = mod_str(parameters, "addressing"),
		   *sse = mod_str(parameters, "sse");
	const char *kms_key = mod_str(parameters, "kms_key_id");
	if (*addressing && !g_str_equal(addressing, "path") && !g_str_equal(addressing, "virtual"))
		return mod_bucket_refuse(&call->talk,
			"the default is virtual for Amazon's own S3, and path otherwise",
			g_strdup("addressing in the state's URL must be path or virtual"));
	if (*sse && !g_str_equal(sse, "AES256") && !g_str_equal(sse, "aws:kms"))
		return mod_bucket_refuse(&call->talk,
			"without it, the bucket's own setting applies",
			g_strdup("sse in the state's URL must be AES256 or aws:kms"));
	if (strpbrk(kms_key, "\r\n"))
		return mod_bucket_refuse(
			&call->talk, "", g_strdup("kms_key_id in the state's URL is not a key"));
	store->path_named = *addressing != '\0';
	store->path_style = g_str_equal(addressing, "path");
	if (*kms_key && !*sse)
		sse = "aws:kms";
	if (*sse)
		store->sse = g_strconcat("x-amz-server-side-encryption: ", sse, NULL);
	if (*kms_key)
		store->kms_key =
			g_strconcat("x-amz-server-side-encryption-aws-kms-key-id: ", kms_key, NULL);
	return true;
}

const char *aws_store_region(const ModTalk *talk, const json_t *store)
{
	const char *region = mod_str(json_object_get(store, "parameters"), "region");
	if (!*region)
		region = mod_open_env(talk, "AWS_REGION");
	return *region ? region : mod_open_env(talk, "AWS_DEFAULT_REGION");
}

AwsStore *aws_store_open(const AwsCall *call, const json_t *given)
{
	const json_t *parameters = json_object_get(given, "parameters");
	AwsStore *store = g_new0(AwsStore, 1);
	pthread_mutex_init(&store->lock, NULL);
	store->errors = mod_errors_new(aws_data_find("s3_errors.csv")->data, NULL);
	store->region = g_strdup(call->inst->region);
	store->setting = g_strdup(mod_str(parameters, "endpoint"));
	if (mod_bucket_open(&call->talk, given, "s3://BUCKET/PREFIX?region=REGION", &store->at) &&
		read_parameters(call, store, parameters) && find_endpoint(call, store) == RGP_OK)
		return store;
	aws_store_free(store);
	return NULL;
}

void aws_store_free(AwsStore *store)
{
	if (!store)
		return;
	mod_errors_free(store->errors);
	pthread_mutex_destroy(&store->lock);
	mod_bucket_clear(&store->at);
	g_free(store->setting);
	g_free(store->sse);
	g_free(store->kms_key);
	g_free(store->region);
	g_free(store->endpoint);
	g_free(store);
}

const ModBucket *aws_store_at(const AwsCall *call)
{
	return &call->inst->store->at;
}

/* ---- a request */

static char *url_of(AwsStore *store, const S3Request *request, char **region)
{
	g_autofree char *key =
		request->key ? g_uri_escape_string(request->key, "/", false) : g_strdup("");
	pthread_mutex_lock(&store->lock);
	g_autofree char *endpoint = g_strdup(store->endpoint);
	*region = g_strdup(store->region);
	pthread_mutex_unlock(&store->lock);
	char *host = strstr(endpoint, "://") + strlen("://");
	g_autofree char *scheme = g_strndup(endpoint, (gsize)(host - endpoint));
	const char *mark = request->query ? "?" : "", *query = request->query ? request->query : "";
	if (store->path_style)
		return g_strconcat(endpoint, store->at.bucket, request->key ? "/" : "", key, mark,
			query, NULL);
	return g_strconcat(scheme, store->at.bucket, ".", host, key, mark, query, NULL);
}

static json_t *read_error(struct rgp_bytes body)
{
	g_autofree char *problem = NULL;
	return aws_xml_read(body, &error_shape, NULL, NULL, &problem);
}

static void read_failure(
	const void *data, int32_t status, struct rgp_bytes body, ModFailure *failure)
{
	json_auto_t *error = read_error(body);
	const char *code = mod_str(error, "Code"), *id = mod_str(error, "RequestId");
	if (*code)
		mod_errors_describe(data, code, mod_str(error, "Message"), failure);
	else
		mod_failure_set(failure, RGP_CLASS_UNKNOWN,
			status == 412	? "PreconditionFailed"
			: status == 404 ? "NoSuchKey"
					: NULL,
			"HTTP status %d without an answer of S3", (int)status);
	if (failure->class_ == RGP_CLASS_UNKNOWN)
		failure->class_ = status == 412	  ? RGP_CLASS_CONFLICT
				  : status == 404 ? RGP_CLASS_GONE
						  : mod_class_of_status(status);
	if (*id)
		failure->request_id = g_strdup(id);
}

static rgp_status send_once(const AwsCall *call, const S3Request *request, const char *url,
	const char *region, S3Reply *reply)
{
	AwsStore *store = call->inst->store;
	g_autofree char *auth = aws_credentials_get_for(call, "s3", region);
	if (!auth)
		return call->talk.host->canceled(call->talk.call) ? RGP_CANCELED : RGP_FAIL;
	g_autofree char *sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256,
		(const guchar *)(request->body.data ? request->body.data : ""), request->body.len);
	g_autofree char *sha256 = g_strconcat("x-amz-content-sha256: ", sum, NULL);
	bool puts = g_str_equal(request->method, "PUT");
	const char *headers[HEADERS_MAX] = {sha256};
	size_t n = 1;
	if (puts)
		headers[n++] = "Content-Type: application/octet-stream";
	if (request->condition)
		headers[n++] = request->condition;
	if (puts && store->sse)
		headers[n++] = store->sse;
	if (puts && store->kms_key)
		headers[n++] = store->kms_key;
	struct rgp_http_req http = {
		.size = sizeof http,
		.flags = RGP_HTTP_HIDE_BODY | (request->reading ? RGP_HTTP_READING : 0),
		.method = request->method,
		.url = url,
		.headers = headers,
		.body = request->body,
		.auth = mod_bytes(auth),
		.connection = mod_bytes(call->inst->connection),
		.what = request->what,
	};
	const ModReader reader = {read_failure, store->errors, "S3"};
	return mod_exchange(&call->talk, &reader, &http, &reply->answer, &reply->failure);
}

/* The region that an answer names, if it is another; g_free. */
static char *region_of(const S3Reply *reply, const char *region)
{
	json_auto_t *headers =
		json_loadb(reply->answer.headers.data, reply->answer.headers.len, 0, NULL);
	json_auto_t *error = read_error(reply->answer.body);
	const char *code = mod_str(error, "Code"), *named = mod_str(headers, "x-amz-bucket-region");
	int32_t status = reply->answer.status;
	bool redirects = status == 301 || status == 307 ||
			 g_str_equal(code, "AuthorizationHeaderMalformed") ||
			 g_str_equal(code, "PermanentRedirect");
	if (!*named)
		named = mod_str(error, "Region");
	return redirects && mod_is_region(named) && !g_str_equal(named, region) ? g_strdup(named)
										: NULL;
}

static rgp_status move_to(const AwsCall *call, char *region)
{
	AwsStore *store = call->inst->store;
	pthread_mutex_lock(&store->lock);
	g_free(store->region);
	store->region = region;
	rgp_status status = find_endpoint(call, store);
	pthread_mutex_unlock(&store->lock);
	return status;
}

rgp_status s3_send(const AwsCall *call, const S3Request *request, S3Reply *reply)
{
	rgp_status status = RGP_OK;
	for (unsigned tries = 0; status == RGP_OK; tries++) {
		g_autofree char *region = NULL;
		g_autofree char *url = url_of(call->inst->store, request, &region);
		s3_reply_clear(reply);
		status = send_once(call, request, url, region, reply);
		char *other = status == RGP_OK && reply->failure.class_ != RGP_CLASS_OK &&
					      tries < REDIRECTS_MAX
				      ? region_of(reply, region)
				      : NULL;
		if (!other)
			return status;
		status = move_to(call, other);
	}
	return status;
}

void s3_reply_clear(S3Reply *reply)
{
	mod_failure_clear(&reply->failure);
	*reply = (S3Reply){0};
}

rgp_status s3_report(const AwsCall *call, const S3Request *request, const S3Reply *reply)
{
	const ModFailure *failure = &reply->failure;
	g_autofree char *what =
		failure->code ? g_strdup_printf("S3 refused %s (%s)", request->what, failure->code)
			      : g_strdup_printf("S3's answer to %s", request->what);
	mod_report(&call->talk, failure, what);
	return RGP_FAIL;
}
