/* One request on its way through the API: made by dispatch.c, given to an action's handler, turned
 * into XML by dispatch.c again. A handler writes the members of its answer to `body`, or fails.
 * Lives during one request, under the simulator's lock. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include "sim/core/knobs.h"
#include "aws/sim/params.h"
#include "sim/core/world.h"

typedef struct RgSimCall RgSimCall;
typedef struct RgSimThrottle RgSimThrottle;

typedef enum {
	RG_SIM_EC2,
	RG_SIM_STS,
	RG_SIM_SSM,
	RG_SIM_SERVICES,
} RgSimService;

typedef struct {
	const char *name;
	bool (*run)(RgSimCall *call);
	bool mutating;
	/* Parameters that the simulator acts on, separated by blanks; what else the API knows is
	 * refused by name, never ignored. */
	const char *handled;
	RgSimService service;
	bool unsigned_allowed; /* the request itself carries the proof of who asks */
} RgSimAction;

struct RgSimCall {
	RgSimService service;
	RgSimWorld *world;
	RgSimRegion *region;
	const RgSimKnobs *knobs;
	RgSimThrottle *throttle;
	const RgSimAction *action;
	const json_t *params;
	gint64 view_ms; /* the instant that a reader sees */
	char *caller;	/* ARN of who signed; NULL when nobody did. The dispatcher frees it */
	GString *body;
	int status; /* 200 until rg_sim_fail */
	char *code;
	char *message;
};

/* Ends the call with an EC2 error; always false, so that handlers can return it. */
bool rg_sim_fail(RgSimCall *call, int status, const char *code, const char *format, ...)
	G_GNUC_PRINTF(4, 5);
bool rg_sim_fail_missing(RgSimCall *call, const char *parameter);
bool rg_sim_fail_value(RgSimCall *call, const char *parameter, const char *value);
/* For a mutating handler, after its checks and before its first change: with DryRun the call ends
 * here (412 DryRunOperation). */
bool rg_sim_go(RgSimCall *call);

/* The true document of an id that a parameter names; NULL and the kind's error otherwise. */
json_t *rg_sim_call_find(RgSimCall *call, RgSimKind kind, const char *id);
/* A list of ids that must all exist; NULL and an error otherwise. Texts borrowed, free the array.
 */
GPtrArray *rg_sim_call_ids(RgSimCall *call, RgSimKind kind, const char *parameter);
