/* Objects of the state: GetObject, PutObject on a condition, DeleteObject, ListObjectsV2. */
#include "aws/s3.h"
#include "aws/xml.h"
#include <string.h>

#define PAGES_MAX 10000

/* "Wed, 21 Oct 2015 07:28:00 GMT" (RFC 9110); 0: it is not one. */
static int64_t http_date(const char *text)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	static const guint places[] = {1, 3, 4, 5, 6};
	g_auto(GStrv) parts = g_strsplit_set(text, " :", -1);
	gint64 values[G_N_ELEMENTS(places)];
	if (g_strv_length(parts) != 8 || strlen(parts[2]) != 3)
		return 0;
	for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
		if (!g_ascii_string_to_signed(parts[places[i]], 10, 0, 9999, &values[i], NULL))
			return 0;
	}
	const char *at = strstr(months, parts[2]);
	g_autoptr(GDateTime) date =
		at ? g_date_time_new_utc((int)values[1], (int)(at - months) / 3 + 1, (int)values[0],
			     (int)values[2], (int)values[3], (double)values[4])
		   : NULL;
	return date ? g_date_time_to_unix(date) : 0;
}

static json_t *headers_of(const S3Reply *reply)
{
	return json_loadb(reply->answer.headers.data, reply->answer.headers.len, 0, NULL);
}

rgp_status aws_blob_get(const AwsCall *call, const json_t *input)
{
	g_auto(S3Reply) reply = {0};
	g_autofree char *key = aws_store_key(call->inst->store, mod_str(input, "name"));
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
	int64_t now_s = call->talk.host->now(call->talk.call) + reply.answer.skew_s;
	json_t *blob = json_pack("{s:s, s:I, s:I}", "version", mod_str(headers, "etag"),
		"modified_s", (json_int_t)http_date(mod_str(headers, "last-modified")), "now_s",
		(json_int_t)now_s);
	status = call->talk.host->result(call->talk.call, "content", reply.answer.body);
	rgp_status given = mod_give(&call->talk, "blob", blob);
	return status == RGP_OK ? given : status;
}

rgp_status aws_blob_put(const AwsCall *call, const struct rgp_args *args)
{
	json_auto_t *input = mod_input(&call->talk, args);
	g_auto(S3Reply) reply = {0};
	if (!input)
		return RGP_FAIL;
	const char *version = mod_str(input, "version");
	g_autofree char *key = aws_store_key(call->inst->store, mod_str(input, "name"));
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
	return mod_give(
		&call->talk, "blob", json_pack("{s:s}", "version", mod_str(headers, "etag")));
}

rgp_status aws_blob_delete(const AwsCall *call, const json_t *input)
{
	g_auto(S3Reply) reply = {0};
	g_autofree char *key = aws_store_key(call->inst->store, mod_str(input, "name"));
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
	size_t prefix; /* its length, of the store */
} Page;

static void take_record(void *data, const json_t *record)
{
	Page *page = data;
	const char *key = mod_str(record, "Key");
	if (strlen(key) > page->prefix)
		json_array_append_new(page->names, json_string(key + page->prefix));
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
	g_autofree char *whole = aws_store_key(call->inst->store, prefix);
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
	g_autofree char *base = aws_store_key(call->inst->store, "");
	Page page = {.names = json_array(), .prefix = strlen(base)};
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
	const struct rgp_diag note = {.size = sizeof note,
		.severity = 2,
		.summary = "the bucket of the state keeps no old versions of its objects",
		.hint = "enable versioning, so that a deleted or damaged state can be restored: "
			"aws "
			"s3api put-bucket-versioning --versioning-configuration Status=Enabled "
			"--bucket BUCKET"};
	call->talk.host->diag(call->talk.call, &note);
}

rgp_status aws_blob_list(const AwsCall *call, const json_t *input)
{
	g_autofree char *token = NULL;
	rgp_status status = list_page(call, mod_str(input, "prefix"), &token);
	for (unsigned pages = 1; status == RGP_OK && token && pages < PAGES_MAX; pages++)
		status = list_page(call, mod_str(input, "prefix"), &token);
	if (status != RGP_OK)
		return status;
	if (json_is_true(json_object_get(input, "advise")))
		advise(call);
	return mod_give_complete(&call->talk);
}
