/* One request whose answers a module's own reader classifies: what the host's tries returned,
 * whether the cloud may still have acted, and whether a wrong clock is the cause. */
#pragma once
#include "common/talk.h"

/* Reads an unsuccessful answer into `failure`: class, code, message, request id, hint. */
typedef struct {
	void (*read)(const void *data, int32_t status, struct rgp_bytes body, ModFailure *failure);
	const void *data;
	const char *cloud; /* the sender of the answers, for messages: "EC2" */
} ModReader;

/* What the host's tries of one request return. */
typedef struct {
	const ModReader *reader;
	uint32_t answers;
	bool doubtful; /* an answer after which the cloud may still have acted */
} ModTries;

/* The two halves of mod_exchange, for requests that are sent concurrently: sets the request's
 * `classify`; reads its answer into `failure`. */
void mod_tries_watch(ModTries *tries, const ModReader *reader, struct rgp_http_req *request);
void mod_tries_judge(
	const ModTries *tries, const struct rgp_http_resp *answer, ModFailure *failure);

/* A wrong clock shows as one of several refusals; only the skew distinguishes it from a wrong key,
 * or from expired temporary credentials. If it is large, adds it to a failure of class denied. */
void mod_explain_skew(const struct rgp_http_resp *answer, const char *cloud, ModFailure *failure);

/* Sends `request`, and sets its `classify`. RGP_OK: an answer came; failure->class_ is RGP_CLASS_OK
 * for a status of 2xx, else failure has the reader's result, and says whether the cloud certainly
 * did nothing. RGP_FAIL: no answer came, and it is unknown whether the cloud acted.
 * RGP_CANCELED. */
rgp_status mod_exchange(const ModTalk *talk, const ModReader *reader, struct rgp_http_req *request,
	struct rgp_http_resp *answer, ModFailure *failure);
