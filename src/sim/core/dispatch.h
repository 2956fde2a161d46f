/* From an HTTP request to its reply: the control endpoint under /_sim/, the API everywhere else.
 * Any thread; takes the simulator's lock itself and sleeps (latency) without it. */
#pragma once
#include "sim/core/sim.h"

typedef struct {
	const char *method;
	const char *path;
	const char *query;   /* after the "?", or "" */
	GHashTable *headers; /* lower-case name -> value; repeated ones joined by commas */
	const char *body;    /* ends with a NUL */
	size_t body_length;
} RgSimRequest;

typedef struct {
	int status;
	const char *content_type; /* borrowed from `own_type` or a literal */
	char *own_type;
	GString *body;
	char *request_id;
	gint64 retry_after_s; /* -1: none */
	gint64 truncate;      /* -1: not; else cut the connection after this many bytes */
	bool drop;	      /* close the connection without a reply */
	gint64 now_s;	      /* for the Date header */
} RgSimReply;

void rg_sim_serve(RgSim *sim, const RgSimRequest *request, RgSimReply *reply);
void rg_sim_reply_clear(RgSimReply *reply);
