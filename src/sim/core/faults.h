/* Injected failures: rules that match requests before or after they take effect. A rule is JSON,
 * {id, action, when, left, skip, probability, status, code, message, body, content_type, truncate,
 * close, retry_after}; raygpu-sim(1) explains the members. Used under RgSim's lock. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

typedef struct {
	json_t *rules; /* pending ones; NULL: none yet */
	gint64 last_id;
} RgSimFaults;

void rg_sim_faults_clear(RgSimFaults *faults);
/* The new rule's id; 0 and *problem (g_free) if the description is invalid. */
gint64 rg_sim_faults_add(RgSimFaults *faults, const json_t *rule, char **problem);
/* The rule that matches this request, with its count decremented; NULL: none. json_decref it. */
json_t *rg_sim_faults_take(RgSimFaults *faults, const char *action, GRand *random);
/* Does it apply after the action took effect? */
bool rg_sim_fault_is_late(const json_t *fault);
/* Does it replace the reply, or only damage the true one (truncate)? */
bool rg_sim_fault_replaces(const json_t *fault);
