/* One try of one request by libcurl, in the calling thread. Each thread keeps one easy handle (and
 * its open connections) as long as the thread or the transport exists. */
#pragma once
#include <pthread.h>
#include "http/module.h"

typedef struct {
	pthread_key_t key; /* the calling thread's Handle */
	pthread_mutex_t lock;
	GPtrArray *handles; /* of all threads; under lock */
} RgEasyPool;

/* How a try without an answer ended. */
typedef enum {
	RG_TRY_ANSWERED,
	RG_TRY_CANCELED,
	RG_TRY_UNREACHABLE, /* refused, no such host, no route */
	RG_TRY_TLS,	    /* refused by verification: never retried */
	RG_TRY_TLS_CONNECT, /* the handshake broke */
	RG_TRY_CERTIFICATE, /* the server refused the client certificate */
	RG_TRY_TIMEOUT,
	RG_TRY_BROKEN, /* the connection broke before the answer was complete */
	RG_TRY_TOO_BIG,
	RG_TRY_UNUSABLE, /* the request itself: URL, certificate file */
} RgTryEnd;

typedef struct {
	RgTryEnd end;
	char *reason; /* libcurl's or the system's message, NULL if answered; owned */
} RgTryResult;

bool rg_easy_pool_init(RgEasyPool *pool, RgDiags *diags);
/* No thread may be in rg_easy_try any more. */
void rg_easy_pool_clear(RgEasyPool *pool);

/* Fills status, body and headers of the reply if answered. */
RgTryResult rg_easy_try(RgEasyPool *pool, const RgHttpOptions *options,
	const RgHttpRequest *request, RgHttpReply *reply);
