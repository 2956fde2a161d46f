/* Requests to a cloud's REST API: JSON in both directions, with a lease's credentials, which are
 * renewed once after a 401 and sent only to the API's own server. */
#pragma once
#include "common/errors.h"
#include "common/lease.h"

/* An API; all of it must live as long as the instance; any thread. */
typedef struct {
	const char *cloud;	/* for messages: "Azure" */
	const char *base;	/* "https://management.azure.com/", or with a path */
	const char *connection; /* as in struct rgp_http_req, or NULL */
	ModLease *lease;	/* its value is the `auth`; NULL: none */
	const ModErrors *errors;
	/* JSON pointers into an error's answer, NULL-ended. The failure's code is the first one
	 * that is in the table; if none is, the first one that exists. */
	const char *const *codes, *const *messages;
	const char *request_id; /* the header that contains it, in lower case; or NULL */
	uint32_t max_tries;	/* of a request that the API refuses for now; 0: the host's */
	/* The lease's value is {"auth", "connection"}, both optional: its credentials may be a
	 * client certificate. */
	bool lease_connects;
	/* Corrects what the table says of an error, from the whole answer (NULL: not JSON); or
	 * NULL. */
	void (*refine)(int32_t status, const json_t *body, ModFailure *failure);
} ModRest;

typedef struct {
	const char *what, *method; /* "VirtualMachines.Delete", "DELETE" */
	/* Relative to the base, with its query, or a link from an answer: an absolute URL. */
	const char *url;
	const char *const *headers; /* additional headers, or NULL */
	const json_t *body;	    /* or NULL */
	struct rgp_bytes content;   /* the body as it is, in place of a JSON one; or empty */
	const char *content_type;   /* of the body; NULL: application/json */
	/* Left out of the answer before it is parsed, wherever it is: what all links begin with, in
	 * long lists; or NULL. */
	const char *elided;
	bool reading, hide_body;
	bool raw;	     /* a good answer is not parsed: it is in the answer's `content` */
	bool text;	     /* the answer is not JSON: its body is one string, valid UTF-8 */
	uint32_t timeout_ms; /* 0: the host's */
} ModRestRequest;

/* The result; failure.class_ RGP_CLASS_OK: done. */
typedef struct {
	int32_t status;
	json_t *body;		  /* NULL: the answer had no body */
	json_t *headers;	  /* lower-case name -> value */
	struct rgp_bytes content; /* of a raw request: the host's, until the next request */
	int64_t skew_s;		  /* the server's clock minus ours; 0: unknown */
	ModFailure failure;
} ModRestAnswer;

void mod_rest_answer_clear(ModRestAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ModRestAnswer, mod_rest_answer_clear)

/* The value at a JSON pointer (RFC 6901, without escapes), borrowed; NULL: there is none. */
json_t *mod_at(const json_t *value, const char *pointer);

/* RGP_OK: an answer came, check answer->failure. RGP_FAIL: none came, there are no credentials, or
 * the URL leads to another server; the diagnostics have the reason. RGP_CANCELED. */
rgp_status mod_rest_send(const ModTalk *talk, const ModRest *rest, const ModRestRequest *request,
	ModRestAnswer *answer);

/* Sends them concurrently; one answer per request. RGP_OK: each got an answer. Otherwise the status
 * of the first without one, whose answer has the status 0. */
rgp_status mod_rest_send_all(const ModTalk *talk, const ModRest *rest,
	const ModRestRequest *requests, size_t n, ModRestAnswer *answers);

/* How an API continues a list: the pointer to the next page's token or link, and the query
 * parameter for the token; NULL: it is a link. `kind`: the end of the member "kind" of every page,
 * so that no other answer counts as an empty list; NULL: there is none. */
typedef struct {
	const char *next, *parameter, *kind;
} ModRestPaging;

/* Sends a reading request and follows it to the end; `page` gets each answer's body. Any failure is
 * reported and returns RGP_FAIL, including a page that leads back to an earlier one. */
rgp_status mod_rest_pages(const ModTalk *talk, const ModRest *rest, const ModRestRequest *request,
	const ModRestPaging *paging, rgp_status (*page)(void *data, const json_t *body),
	void *data);
/* Follows a list whose first page is the answer, for instance one of mod_rest_send_all: its array
 * `items` gets those of all pages. A failure of a later page is the answer's. */
rgp_status mod_rest_complete(const ModTalk *talk, const ModRest *rest,
	const ModRestRequest *request, const ModRestPaging *paging, const char *items,
	ModRestAnswer *answer);
/* The whole call fails because of this answer: a diagnostic, and RGP_FAIL. */
rgp_status mod_rest_report(
	const ModTalk *talk, const ModRest *rest, const char *what, const ModFailure *failure);
