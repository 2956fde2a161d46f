/* How the simulator behaves: set by command-line options, changed while it runs through the control
 * endpoint. Plain values, read and written under RgSim's lock; raygpu-sim(1) explains each. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

typedef struct {
	gint64 boot_ms;
	gint64 shutdown_ms;
	gint64 terminated_ms; /* how long a terminated instance remains visible */
	gint64 consistency_ms;
	gint64 latency_ms;
	gint64 latency_jitter_ms;
	gint64 page_size;	    /* 0: no cap */
	gint64 clock_offset_s;	    /* the server's clock minus the true one */
	gint64 throttle;	    /* 1: EC2's request and resource buckets hold */
	gint64 verify;		    /* 0: signatures are looked at for form only */
	gint64 page_before_filter;  /* 1: a page counts what was looked at, so it may be empty */
	json_t *latency_by_action;  /* {action: ms} instead of latency_ms */
	json_t *capacity;	    /* {type: {zone: instances}}; absent: unlimited */
	json_t *quotas;		    /* {code: vCPUs}; absent: unlimited */
	json_t *buckets;	    /* {name: [size, tokens a second]} for throttle.c */
	json_t *spot_prices;	    /* {type: USD an hour}; absent: below any maximum */
	json_t *reject_access_keys; /* [access key id]: 401 AuthFailure */
	json_t *access_keys;	    /* {access key id: secret} that may ask */
	json_t *instance_profiles;  /* [name] that exist; "*" for all */
	json_t *roles;		    /* [ARN] that may be assumed; "*" for all */
	json_t *account;	    /* 12 digits: whose EC2 this is */
	json_t *parameters;	    /* {name: value} of SSM beside AWS's own */
} RgSimKnobs;

void rg_sim_knobs_init(RgSimKnobs *knobs);
void rg_sim_knobs_clear(RgSimKnobs *knobs);
void rg_sim_knobs_copy(RgSimKnobs *to, const RgSimKnobs *from);
/* All values as one object; the caller owns it. */
json_t *rg_sim_knobs_json(const RgSimKnobs *knobs);
/* Changes the members that are named. All or nothing: false and *problem (g_free) for an unknown
 * name, a wrong type or a value out of range. */
bool rg_sim_knobs_apply(RgSimKnobs *knobs, const json_t *changes, char **problem);

/* Instances of the type that fit in the zone at all; -1 when unlimited. */
gint64 rg_sim_knobs_capacity(const RgSimKnobs *knobs, const char *type, const char *zone);
bool rg_sim_knobs_lists(const json_t *list, const char *word);
