/* candidates: what may be asked for, in which order, when the nodes that a plan creates can't be
 * had. After the plan knows which are created, before boot and apply. Pure; same input, same
 * bytes. */
#pragma once
#include "fit/policy.h"

typedef struct {
	const RgCluster *cluster;
	RgShapes *shapes;
	const json_t *fitted; /* of rg_fit */
	const json_t *made;   /* {pool or "head": number of its nodes that are created} */
	/* there are nodes that know the head by its address, which is one of its zone */
	bool head_stays;
	const RgLimits *limits;
	size_t n_limits;
} RgCandidatesInput;

/* A new reference, of the head and the pools in `made` in the order of the file:
 *   [{"pool", "floor": nodes of the lowest indexes that are bought on demand,
 *     "whole": all of its created nodes are of one candidate,
 *     "candidates": [{"node": entry of the document's `nodes` without indexes,
 *                     "floor": the same of the nodes below the floor; absent: as "node"}],
 *     "left_out": [{"instance_type", "market", "why"}]: what policy, image or driver rule out}] */
json_t *rg_fit_candidates(const RgCandidatesInput *input);
