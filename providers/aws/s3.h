/* raygpu's state in an S3 bucket, or one of another vendor's S3: the place that the URL names, and
 * one request to it. */
#pragma once
#include "aws/aws.h"
#include "common/blob.h"

typedef struct AwsStore AwsStore;

/* From open's "store"; NULL after a diagnostic. No network. */
AwsStore *aws_store_open(const AwsCall *call, const json_t *store);
void aws_store_free(AwsStore *store);
/* The region to open with: the URL's, or the environment's; "": neither. */
const char *aws_store_region(const ModTalk *talk, const json_t *store);
/* The place of the call's store. */
const ModBucket *aws_store_at(const AwsCall *call);

typedef struct {
	const char *method, *what; /* "GET", "GetObject" */
	const char *key;	   /* NULL: the bucket */
	const char *query;	   /* sorted and encoded; NULL: none */
	const char *condition;	   /* a header; NULL: none */
	struct rgp_bytes body;
	bool reading;
} S3Request;

/* failure.class_ RGP_CLASS_OK: it was done. `answer` is the host's: until the next request. */
typedef struct {
	struct rgp_http_resp answer;
	ModFailure failure;
} S3Reply;
void s3_reply_clear(S3Reply *reply);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(S3Reply, s3_reply_clear)

/* Goes on to the bucket's own region if S3 names it. RGP_OK: an answer came. */
rgp_status s3_send(const AwsCall *call, const S3Request *request, S3Reply *reply);
/* Reports why; returns RGP_FAIL. */
rgp_status s3_report(const AwsCall *call, const S3Request *request, const S3Reply *reply);

/* s3_blob.c: the calls. */
rgp_status aws_blob_get(const AwsCall *call, const json_t *input);
rgp_status aws_blob_put(const AwsCall *call, const struct rgp_args *args);
rgp_status aws_blob_delete(const AwsCall *call, const json_t *input);
rgp_status aws_blob_list(const AwsCall *call, const json_t *input);
