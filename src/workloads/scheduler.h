/* Ray's scheduler, which places what it is asked for one by one and moves nothing later. Its rules
 * are those of src/ray/raylet/scheduling/policy of Ray: scorer.cc, bundle_scheduling_policy.cc and
 * hybrid_scheduling_policy.cc. Pure; independent of specs, as pack/place.h, but the first two
 * amounts are CPUs and memory. */
#pragma once
#include "pack/place.h"

/* A bundle, or a task or actor, as it is printed. */
typedef struct {
	bool *pools;   /* where its selector admits it */
	unsigned gpus; /* in steps: whole GPUs or a part of one */
	int64_t *amounts;
} RgRayBundle;

/* What is submitted at once: equal tasks or actors, or equal placement groups. */
typedef struct {
	unsigned task, units;
	bool is_group;
	RgPlaceStrategy strategy;
	RgRayBundle *bundles; /* of one unit */
	unsigned n_bundles;
	unsigned nodes; /* out: with GPUs, on which a unit was placed, at most */
} RgRayAsk;

/* How ties are broken, which Ray leaves to chance: on the first of the nodes; on the last, tasks on
 * the nodes that are used least; or by chance, with this number as the seed. */
enum { RG_RAY_FIRST, RG_RAY_LAST, RG_RAY_CHANCE };

/* Whether all of it runs if it is submitted in this order (indexes of `asks`). *visits: how many
 * nodes may be looked at, and what is left; if that is 0, the answer is not known. */
bool rg_ray_places(const RgPlaceProblem *problem, RgRayAsk *asks, const unsigned *order, unsigned n,
	unsigned ties, unsigned *visits);
