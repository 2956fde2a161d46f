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
	const char *lineage; /* of its cluster; "": raygpu did not make it */
} RgSimNode;
typedef RgSimNode (*RgSimNodeOf)(const RgSimPlace *place, const json_t *machine);

/* Checks the knob node_faults: a list of {how, type, count, step, reason, gpu,
 * event}. */
bool rg_sim_are_node_faults(const json_t *value);
/* The first rule of the knob that matches the type and is not used up by the place's machines,
 * documents of `kind` that have it as RG_SIM_FAULT. NULL: none. Borrowed from the knob. */
#define RG_SIM_FAULT "_fault"
json_t *rg_sim_node_fault(const RgSimPlace *place, unsigned kind, const char *type);

/* Appends what the machine has printed so far: steps spread over the knob join_ms, and when its
 * cluster has a head, that it joined. The others of its cluster are the place's documents of
 * `kind`. The head ends with a list of the members as it is now. `sim`: a copy may have another
 * time. */
void rg_sim_console_print(const RgSim *sim, const RgSimPlace *place, unsigned kind,
	RgSimNodeOf node_of, const json_t *machine, GString *text);
