/* --trace FILE: one JSON object per line for every try, with all secrets removed. Lines are written
 * whole under a lock. Thread-safe. */
#pragma once
#include <pthread.h>
#include "http/hide.h"
#include "http/module.h"

typedef struct {
	pthread_mutex_t lock;
	int fd; /* -1 = no trace */
	const RgHttpHost *host;
	RgHide hide;
	bool failed; /* a write failed; logged once */
} RgTrace;

/* One try and its result. */
typedef struct {
	const RgHttpRequest *request;
	const RgHttpReply *reply;
	unsigned try_number;
	int64_t duration_ms;
	const char *error; /* NULL if an answer came */
} RgTraceEntry;

/* Creates the file with mode 0600 or appends to it; false and a diagnostic if that fails. */
bool rg_trace_open(
	RgTrace *trace, const RgHttpOptions *options, const RgHttpHost *host, RgDiags *diags);
void rg_trace_close(RgTrace *trace);
void rg_trace_write(RgTrace *trace, const RgTraceEntry *entry);
