/* Injected failures: rules that catch matching requests before or after they took effect. Owned by
 * RgSim, used under its lock. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

typedef struct {
	gint64 id;
	char *action; /* glob */
	bool after;   /* commit, then lie */
	gint64 left;  /* requests that it will still catch; -1: all */
	gint64 skip;  /* matching requests that it lets pass first */
	double probability;
	int status; /* 0: not given */
	char *code; /* these may be NULL */
	char *message;
	char *body;
	char *content_type;
	gint64 truncate; /* -1: not */
	bool close;
	gint64 retry_after_s; /* -1: none */
} RgSimFault;

typedef struct RgSimFaults RgSimFaults;

RgSimFaults *rg_sim_faults_new(void);
void rg_sim_faults_free(RgSimFaults *faults);
void rg_sim_faults_clear(RgSimFaults *faults);
/* The new rule's id; 0 and *problem (g_free) when the description is not one. */
gint64 rg_sim_faults_add(RgSimFaults *faults, const json_t *rule, char **problem);
json_t *rg_sim_faults_json(const RgSimFaults *faults);

/* The rule that catches this request, used up by one; a copy, or NULL. */
RgSimFault *rg_sim_faults_take(RgSimFaults *faults, const char *action, GRand *random);
void rg_sim_fault_free(RgSimFault *fault);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgSimFault, rg_sim_fault_free)
/* Does it replace the reply, or only damage the true one (truncate)? */
bool rg_sim_fault_replaces(const RgSimFault *fault);
