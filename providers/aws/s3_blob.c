/* Objects of the state: GetObject, PutObject on a condition, DeleteObject, ListObjectsV2. */
#include "aws/s3.h"
#include "aws/xml.h"

#define PAGES_MAX 10000

static json_t *headers_of(const S3Reply *reply)
{
	return json_loadb(reply->answer.headers.data, reply->answer.headers.len, 0, NULL);
}

rgp_status aws_blob_get(const AwsCall *call, const json_t *input)
{
	g_auto(S3Reply) reply = {0};
	g_autofree char *key = mod_bucket_key(aws_store_at(call), mod_str(input, "name"));
	const S3Request request = {
		.method = "GET", .what = "GetObject", .key = key, .reading = true};
	rgp_status status = s3_send(call, &request, &reply);
	if (status != RGP_OK)
		return status;
	if (reply.failure.class_ == RGP_CLASS_GONE)
		return RGP_OK;
	if (reply.failure.class_ != RGP_CLASS_OK)
		return s3_report(call, &request, &reply);
	json_auto_t *headers = headers_of(&reply);
	return mod_give_blob(&call->talk, headers, mod_str(headers, "etag"), reply.answer.skew_s,
		reply.answer.body);
}

rgp_status aws_blob_put(const AwsCall *call, const struct rgp_args *args)
{
	json_auto_t *input = mod_input(&call->talk, args);
	g_auto(S3Reply) reply = {0};
	if (!input)
		return RGP_FAIL;
	const char *version = mod_str(input, "version");
	g_autofree char *key = mod_bucket_key(aws_store_at(call), mod_str(input, "name"));
	g_autofree char *condition =
		*version ? g_strconcat("If-Match: ", version, NULL) : g_strdup("If-None-Match: *");
	const S3Request request = {.method = "PUT",
		.what = "PutObject",
		.key = key,
		.condition = condition,
		.body = args->content};
	rgp_status status = s3_send(call, &request, &reply);
	if (status != RGP_OK)
		return status;
	/* to replace an object that is gone */
	if (reply.failure.class_ == RGP_CLASS_CONFLICT || reply.failure.class_ == RGP_CLASS_GONE)
		return RGP_OK;
	if (reply.failure.class_ != RGP_CLASS_OK)
		return s3_report(call, &request, &reply);
	json_auto_t *headers = headers_of(&reply);
	return mod_give_version(&call->talk, mod_str(headers, "etag"));
}

rgp_status aws_blob_delete(const AwsCall *call, const json_t *input)
{
	g_auto(S3Reply) reply = {0};
	g_autofree char *key = mod_bucket_key(aws_store_at(call), mod_str(input, "name"));
	const S3Request request = {.method = "DELETE", .what = "DeleteObject", .key = key};
	rgp_status status = s3_send(call, &request, &reply);
	bool done = reply.failure.class_ == RGP_CLASS_OK || reply.failure.class_ == RGP_CLASS_GONE;
	return status != RGP_OK || done ? status : s3_report(call, &request, &reply);
}

/* ---- listing */

static const AwsShape contents[] = {{"Key"}, {0}};
static const AwsShape list_members[] = {
	{"NextContinuationToken"}, {"Contents", contents, AWS_RECORD}, {0}};
static const AwsShape list_shape = {"ListBucketResult", list_members};
static const AwsShape versioning_members[] = {{"Status"}, {0}};
static const AwsShape versioning_shape = {"VersioningConfiguration", versioning_members};

typedef struct {
	json_t *names;
	const ModBucket *at;
} Page;

static void take_record(void *data, const json_t *record)
{
	Page *page = data;
	mod_bucket_add_name(page->at, mod_str(record, "Key"), page->names);
}

static rgp_status no_listing(const AwsCall *call, const char *problem)
{
	mod_report_text(&call->talk, RGP_CLASS_TRANSIENT, "S3's answer to ListObjectsV2 is not one",
		problem, "check that the endpoint is an S3 API");
	return RGP_FAIL;
}

/* One page; *token: of the next one, g_free. */
static rgp_status list_page(const AwsCall *call, const char *prefix, char **token)
{
	g_auto(S3Reply) reply = {0};
	g_autofree char *whole = mod_bucket_key(aws_store_at(call), prefix);
	g_autofree char *escaped = g_uri_escape_string(whole, NULL, false);
	g_autofree char *after = *token ? g_uri_escape_string(*token, NULL, false) : NULL;
	g_autofree char *query = g_strconcat(after ? "continuation-token=" : "", after ? after : "",
		after ? "&" : "", "list-type=2&prefix=", escaped, NULL);
	const S3Request request = {
		.method = "GET", .what = "ListObjectsV2", .query = query, .reading = true};
	rgp_status status = s3_send(call, &request, &reply);
	g_clear_pointer(token, g_free);
	if (status != RGP_OK)
		return status;
	if (reply.failure.class_ != RGP_CLASS_OK)
		return s3_report(call, &request, &reply);
	g_autofree char *problem = NULL;
	Page page = {.names = json_array(), .at = aws_store_at(call)};
	json_auto_t *answer =
		aws_xml_read(reply.answer.body, &list_shape, take_record, &page, &problem);
	if (!answer) {
		json_decref(page.names);
		return no_listing(call, problem);
	}
	const char *next = mod_str(answer, "NextContinuationToken");
	*token = *next ? g_strdup(next) : NULL;
	return mod_give(&call->talk, "page", json_pack("{s:o}", "names", page.names));
}

/* A wrong answer, or no permission to ask, is no reason to stop. */
static void advise(const AwsCall *call)
{
	g_auto(S3Reply) reply = {0};
	const S3Request request = {.method = "GET",
		.what = "GetBucketVersioning",
		.query = "versioning=",
		.reading = true};
	if (s3_send(call, &request, &reply) != RGP_OK || reply.failure.class_ != RGP_CLASS_OK)
		return;
	g_autofree char *problem = NULL;
	json_auto_t *answer =
		aws_xml_read(reply.answer.body, &versioning_shape, NULL, NULL, &problem);
	if (!answer || g_str_equal(mod_str(answer, "Status"), "Enabled"))
		return;
	mod_bucket_note(&call->talk, "the bucket of the state keeps no old versions of its objects",
		"enable versioning, so that a deleted or damaged state can be restored: aws "
		"s3api put-bucket-versioning --versioning-configuration Status=Enabled "
		"--bucket BUCKET");
}

rgp_status aws_blob_list(const AwsCall *call, const json_t *input)
{
	g_autofree char *token = NULL;
	rgp_status status = list_page(call, mod_str(input, "prefix"), &token);
	for (unsigned pages = 1; status == RGP_OK && token; pages++)
		status = pages < PAGES_MAX
				 ? list_page(call, mod_str(input, "prefix"), &token)
				 : no_listing(call, "the list has too many pages, or never ends");
	if (status != RGP_OK)
		return status;
	if (json_is_true(json_object_get(input, "advise")))
		advise(call);
	return mod_give_complete(&call->talk);
}
