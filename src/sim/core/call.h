/* One request: from HTTP (server.h) to a cloud that claims it, and back as a reply. The engine
 * counts it, delays it and injects faults; the cloud's functions (cloud.h) parse it, carry it out
 * and write the answer. */
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
	GPtrArray *headers; /* name, value, name, value, ... */
	GString *body;
	gint64 truncate; /* -1: no; else close the connection after this many bytes */
	bool drop;	 /* close the connection without a reply */
	gint64 now_s;	 /* for the Date header */
} RgSimReply;

typedef struct RgSimCall RgSimCall;

/* One of a cloud's actions. */
typedef struct {
	const char *name;
	/* Writes the answer to call->body, or fails. */
	bool (*run)(RgSimCall *call);
	bool mutating;
	/* Parameters that the simulator supports, separated by blanks; it refuses the API's other
	 * parameters by name, never ignores them. */
	const char *handled;
	int service;	       /* which of the cloud's APIs, in its own numbering */
	bool unsigned_allowed; /* the request itself proves the caller's identity */
} RgSimAction;

struct RgSimCall {
	RgSim *sim;
	RgSimRealm *realm;
	const RgSimRequest *request;
	/* What `admit` determines. */
	int service;
	json_t *params; /* owned */
	const RgSimAction *action;
	char *place_name; /* owned; a name, because a reset while the request is in flight creates
			     new places */
	char *caller;	  /* owned; the caller, NULL if anonymous */
	bool dry_run;
	/* While the action runs. */
	RgSimPlace *place;
	gint64 view_ms; /* the time that a reader sees */
	/* The outcome. */
	char *request_id;
	RgSimReply *reply; /* an action may set headers; `answer` does the rest */
	GString *body;
	bool answered;	 /* by `check`: the action need not run */
	gint64 again_ms; /* set by an action that waits for a change: it runs again at this time */
	gint64 since_ms; /* when it ran first */
	int status;	 /* 200 until rg_sim_fail, or until the action sets it */
	char *code;
	char *message;
};

/* Ends the call with an error; always returns false, so that actions can return it. */
bool rg_sim_fail(RgSimCall *call, int status, const char *code, const char *format, ...)
	G_GNUC_PRINTF(4, 5);
/* Adds a line with the action, the user agent and these members to the file that the knob names, if
 * it names one; steals `members`. */
void rg_sim_log(const RgSimCall *call, const char *knob, json_t *members);
/* Takes tokens from a bucket of the call's place, all of them or none: the knob `buckets` ({name:
 * [size, tokens per second]}) overrides the given figures. */
bool rg_sim_take_tokens(
	RgSimCall *call, const char *name, double size, double per_s, double tokens);

/* Any thread; takes the simulator's lock itself and sleeps (latency) without it. The control
 * endpoint is under /_sim. */
void rg_sim_serve(RgSim *sim, const RgSimRequest *request, RgSimReply *reply);
/* Sets a header of the reply; replaces one of the same name. */
void rg_sim_reply_header(RgSimReply *reply, const char *name, const char *value);
void rg_sim_reply_clear(RgSimReply *reply);
