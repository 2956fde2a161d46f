/* What a machine that raygpu made prints on its console while it starts Ray, in the form of
 * raygpu's src/boot/README.md ("Reports"), which is a contract here: this code shares nothing with
 * the code that reads it. The clouds provide the facts of their machines. */
#pragma once
#include "sim/core/sim.h"

/* A machine of a cluster; texts are borrowed. */
typedef struct {
	const char *id;	  /* as the machine itself knows it */
	const char *host; /* what its GPUs are named after */
	gint64 gpus;
	gint64 booted_ms;    /* 0: it never ran */
	const json_t *fault; /* a rule of the knob node_faults; NULL: none */
	bool runs;
	bool is_head;
} RgSimNode;

/* Checks the knob node_faults: a list of {how, type, count, step, reason, gpu,
 * event}. */
bool rg_sim_are_node_faults(const json_t *value);
/* The first rule of the knob that matches the type and is not used up: `used` counts the machines
 * that have it. NULL: none. Borrowed from the knob. */
typedef gint64 (*RgSimRuleUse)(const void *data, const json_t *rule);
json_t *rg_sim_node_fault(const RgSim *sim, const char *type, RgSimRuleUse used, const void *data);

/* Appends what the machine has printed so far: steps spread over the knob join_ms, and when its
 * cluster has a head, that it joined. `nodes` (of RgSimNode) are all of its cluster; NULL: raygpu
 * did not make it. The head ends with a list of the members as it is now. */
void rg_sim_console_print(
	const RgSim *sim, const RgSimNode *node, const GArray *nodes, GString *text);
