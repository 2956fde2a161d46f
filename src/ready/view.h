/* What is shown while an apply waits for nodes to join Ray, and what became of them: the words
 * between wait.c and those who show it. */
#pragma once
#include "base/json.h"

/* Nodes of one pool that were not known to have joined when the wait began. */
typedef struct {
	const char *pool;
	unsigned nodes, pulling, joined, failed; /* the others boot */
} RgReadyPool;

/* After each reading of the consoles. Borrowed. */
typedef struct {
	const RgReadyPool *pools; /* in the order of their addresses */
	size_t n;
	double seconds; /* since the wait began */
	int64_t left_s; /* until the time of the last node is over */
} RgReadyEvent;

typedef struct {
	unsigned awaited, joined;
	/* those that did not: [{"address", "pool", "final": it gave up by itself, "step": null or
	 * where, "reason", "gpus": [{"gpu", "serial"}] if these are the reason, "given_back": true
	 * if they failed before on another machine}]; never NULL after a wait. What replaces nodes
	 * begins here. */
	json_t *failed;
	bool interrupted; /* the rest is left to the next apply */
	bool unknown;	  /* the cloud does not show the consoles: nothing is known of the rest */
} RgReadyResult;
void rg_ready_result_clear(RgReadyResult *result);
