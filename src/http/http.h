/* The HTTP transport. libcurl is slow to load, so this folder is an internal shared module
 * (raygpu-http.so) that rg_http_load opens when a command first needs it; callers see only the
 * table below. One RgHttp serves all threads; each rg_http call uses an easy handle of its thread.
 * It retries throttled and transient answers with full jitter and Retry-After, keeps to the rate
 * limit, redacts and traces. */
#pragma once
#include "base/json.h"

/* Classes of an answer; the same numbers as RGP_CLASS_* of the provider ABI. */
typedef enum {
	RG_HTTP_OK = 0,
	RG_HTTP_THROTTLED,
	RG_HTTP_TRANSIENT,
	RG_HTTP_FAILED, /* final: the caller checks status and body */
} RgHttpVerdict;

/* How a caller classifies an answer. NULL in a request means: 429 and 503 throttled, 500, 502, 504
 * transient, everything else final. */
typedef RgHttpVerdict (*RgHttpClassify)(void *data, int status, const char *body, size_t len);

#define RG_HTTP_TRY_MS 60000u
#define RG_HTTP_CALL_MS 300000u

typedef struct {
	const char *method, *url;
	const char *const *headers; /* "Name: value", NULL-ended; may be NULL */
	const char *body;	    /* may be NULL */
	size_t body_len;
	bool reading;	/* changes nothing at the server; a read-only transport allows only these
			   requests */
	bool hide_body; /* a trace shows neither this body nor the answer's */
	unsigned timeout_ms; /* of one try; 0 = RG_HTTP_TRY_MS */
	unsigned max_tries;  /* 0 = 6 */
	/* {"type": "aws_sigv4", "region", "service", "access_key", "secret_key", "session_token"?},
	 * {"type": "bearer", "token"}, {"type": "basic", "user", "password"}, {"type": "none"};
	 * NULL = none */
	const json_t *auth;
	/* {"ca_file"?, "ca_pem"?, "cert_file"?, "cert_pem"?, "key_file"?, "key_pem"?,
	 * "server_name"?, "proxy_url"?, "unix_socket"?} as in provider.h, or NULL */
	const json_t *connection;
	RgHttpClassify classify;
	void *classify_data;
	const char *what; /* "RunInstances", for traces and messages */
} RgHttpRequest;

typedef struct {
	int status; /* 0: no answer came */
	GByteArray *body;
	json_t *headers; /* lower-case name -> last value */
	unsigned tries;
	int64_t skew_s; /* server's Date minus our clock; 0 if unknown */
} RgHttpReply;

/* A try that ended. */
typedef struct {
	const char *url; /* without credentials and query */
	int status;	 /* 0: no answer came */
	bool dated;	 /* the answer has the server's time */
	int64_t skew_s;	 /* then: that minus our clock */
} RgHttpSeen;

typedef struct {
	bool read_only;
	const char *trace_path; /* append every exchange as a JSON line, redacted; NULL = none */
	/* What a trace must not show: {"names", "pointers", "headers"}, as in
	 * schemas/provider-schema.json; NULL = only what is built in. Needed until rg_http_open
	 * returns. */
	const json_t *secrets;
	const char *user_agent;
	const char *ca_bundle_env; /* the cloud's own variable, for the hint on certificates; must
				      outlive the transport; NULL = none */
	double requests_per_s;	   /* 0 = no limit */
	unsigned burst;
	/* The longest back-off for a loopback address, for tests; 0 = as for any other. It does not
	 * affect other hosts or Retry-After. */
	unsigned loopback_backoff_ms;
	/* How long a cloud at a loopback address may show what was before a change, for tests; 0 =
	 * as long as any other. Of the caller: the transport ignores it. */
	unsigned loopback_wait_s;
	/* All tries of a request and the waits between them, except waits for its turn; 0 =
	 * RG_HTTP_CALL_MS. */
	unsigned call_ms;
	bool (*canceled)(void *data); /* polled during waits and transfers; may be NULL */
	void *canceled_data;
	void (*on_retry)(void *data, const char *what, unsigned try_number, unsigned wait_ms,
		const char *why); /* may be NULL; any thread */
	void *on_retry_data;
	void (*on_try)(void *data, const RgHttpSeen *seen); /* may be NULL; any thread */
	void *on_try_data;
} RgHttpOptions;

typedef struct RgHttp RgHttp;

/* NULL and a diagnostic (http.module) if the module cannot be loaded. */
RgHttp *rg_http_open(const RgHttpOptions *options, RgDiags *diags);
/* Name and version of the library behind it; NULL and the same diagnostic. */
const char *rg_http_library(RgDiags *diags);
void rg_http_close(RgHttp *http);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgHttp, rg_http_close)

/* Sends and retries. true if an answer came (with any status); false: no answer, reason in diags
 * (http.connect, http.tls, http.timeout, http.bad-reply, provider.canceled, provider.read-only).
 * Always clear the reply. Any thread. */
bool rg_http_send(RgHttp *http, const RgHttpRequest *request, RgHttpReply *reply, RgDiags *diags);
void rg_http_reply_clear(RgHttpReply *reply);
/* Sleeps up to ms, less if canceled; false if canceled. */
bool rg_http_sleep(RgHttp *http, unsigned ms);
/* Number of requests sent: all, and those not marked as reading. Any thread. */
void rg_http_counts(RgHttp *http, uint64_t *requests, uint64_t *mutating);
/* Whether requests were sent, and all to loopback addresses. Any thread. */
bool rg_http_is_local(RgHttp *http);
