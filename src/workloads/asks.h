/* The printed options of all workloads as what Ray is asked for: read by asks.c, played by start.c.
 */
#pragma once
#include "workloads/demand.h"
#include "workloads/scheduler.h"

typedef struct {
	const RgDemand *demand;
	const RgPlaceProblem *problem;
	GArray *asks;	   /* RgRayAsk */
	GPtrArray *owned;  /* what they point to */
	unsigned *some, n; /* those that are looked at, and how many; with room for all */
	unsigned *order;   /* of these */
	unsigned visits;   /* nodes that may still be looked at */
} RgAsks;

/* Of the tasks from `from` and before `to`. `options`: of each task, rg_fit_options; borrowed until
 * rg_asks_clear. */
void rg_asks_init(
	RgAsks *asks, const RgDemand *demand, const json_t *options, unsigned from, unsigned to);
void rg_asks_clear(RgAsks *asks);
const RgRayAsk *rg_asks_at(const RgAsks *asks, unsigned i);
