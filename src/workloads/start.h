/* Whether Ray starts what was placed, with the options that are printed: they are simulated
 * (scheduler.h), and those that constrain Ray least are printed with which everything starts. */
#pragma once
#include "workloads/demand.h"

typedef enum {
	RG_START_ANY_ORDER,
	RG_START_IN_ORDER,
	RG_START_UNCERTAIN, /* a placement exists, but Ray's scheduler may not find it */
} RgStartHow;

/* RgStart: see demand.h */
struct RgStart {
	RgStartHow how;
	RgOptionForm form;
	json_t *options; /* of each workload: rg_fit_options */
	unsigned *order; /* of the tasks, for RG_START_IN_ORDER */
	unsigned *nodes; /* of each task: on which a group was, at most; 0: it is none */
};

RgStart *rg_start_new(const RgDemand *demand, const RgPlaced *placed);
void rg_start_free(RgStart *start);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgStart, rg_start_free)
/* On how many nodes the GPUs of a packed group would fit, if NVLink connects GPUs there and Ray
 * puts them on more; 0: it does not. */
unsigned rg_start_leaves_nvlink(
	const RgStart *start, const RgDemand *demand, const RgPlaced *placed, unsigned task);
/* Of each pool whether Ray may start a unit of the task there, with the options that are printed,
 * although it must not: its release has no label selectors, or ignores them. g_free. */
bool *rg_start_strays(const RgStart *start, const RgDemand *demand, unsigned task);
/* "any_order", "in_order", "uncertain". */
const char *rg_start_word(RgStartHow how);
