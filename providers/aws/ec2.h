/* One EC2 request: parameters -> form -> host's http -> answer as JSON, or a failure. */
#pragma once
#include "aws/aws.h"
#include "aws/xml.h"

/* Another AWS API than EC2, for requests that are sent concurrently with EC2's. */
typedef struct {
	const char *service, *region; /* as signatures name them; region NULL: the instance's */
	const char *endpoint;
	const char *version; /* of its forms; NULL: JSON 1.1, whose whole answer is the reply */
	const char *target;  /* of JSON: what stands before the action in X-Amz-Target */
	uint32_t timeout_ms, tries;
} AwsApi;

typedef struct {
	const AwsApi *api; /* NULL: EC2 */
	const char *action;
	const json_t *params;  /* under their wire names (form.h); may be NULL */
	const AwsShape *shape; /* of a successful answer; NULL: nothing is read */
	AwsRecordFn record;    /* may be NULL: records are kept */
	void *data;
	bool reading; /* changes nothing at EC2 */
} Ec2Request;

/* The result. failure.class_ RGP_CLASS_OK: done, `reply` has what the shape keeps (NULL without a
 * shape). failure.definite says whether EC2 certainly did nothing. */
typedef struct {
	json_t *reply;
	ModFailure failure;
} Ec2Reply;

void ec2_reply_clear(Ec2Reply *reply);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Ec2Reply, ec2_reply_clear)

/* RGP_OK: an answer came, check reply->failure. RGP_FAIL: none came, or there are no credentials;
 * the diagnostics have the reason, and it is unknown whether EC2 acted. RGP_CANCELED. */
rgp_status ec2_send(const AwsCall *call, const Ec2Request *request, Ec2Reply *reply);

#define EC2_TOGETHER_MAX 32

/* An Ec2Request.record whose data is an array: adds a copy of each. */
void ec2_collect(void *data, const json_t *record);

/* The same for n concurrent requests, at most EC2_TOGETHER_MAX. RGP_OK: all were answered;
 * otherwise a reply without an answer is transient and has no code, and without credentials no
 * reply is valid. */
rgp_status ec2_send_all(
	const AwsCall *call, const Ec2Request *requests, size_t n, Ec2Reply *replies);

/* A temporary error: its code, a word that its message must contain or NULL, and how many seconds
 * to wait for it. Tables end with a NULL code. */
typedef struct {
	const char *code, *word;
	int64_t limit_s;
} Ec2Code;
/* The row that the failure matches, or NULL. */
const Ec2Code *ec2_match(const ModFailure *failure, const Ec2Code *codes);

/* Sends again while the answer is one of `codes` and its time is not over, or until canceled. */
rgp_status ec2_send_waiting(
	const AwsCall *call, const Ec2Request *request, const Ec2Code *codes, Ec2Reply *reply);

/* A reading request of any number of pages. */
typedef struct {
	Ec2Request request;		     /* without params */
	json_t *params;			     /* borrowed; gets NextToken */
	const char *origin;		     /* of the spec's value that it checks; may be NULL */
	rgp_status (*page_done)(void *data); /* runs after each complete page; may be NULL */
	bool done;
	GHashTable *seen; /* page tokens; NULL outside ec2_pages_all */
} Ec2Pages;

/* Reads them concurrently, each to its end. Every failure is reported and returns RGP_FAIL. */
rgp_status ec2_pages_all(const AwsCall *call, Ec2Pages *const *all, size_t n_all);

/* Sends a reading request and follows nextToken to the end; `page_done` (may be NULL) runs after
 * each complete page. Adds NextToken to params. Any failure is reported and returns RGP_FAIL. */
rgp_status ec2_pages(const AwsCall *call, const Ec2Request *request, json_t *params,
	rgp_status (*page_done)(void *data));

/* The whole call fails because of this answer: a diagnostic, and RGP_FAIL. */
rgp_status ec2_report(const AwsCall *call, const char *action, const ModFailure *failure);
