#pragma once
#include "pack/place.h"

#define BRUTE_NODES 16 /* at most */
#define BRUTE_GPUS 3   /* of a node, at most */
#define BRUTE_AMOUNTS 2

/* Whether all units of all tasks fit at once: nodes and GPUs are tried one by one. */
bool brute_fits(const RgPlaceProblem *problem);
