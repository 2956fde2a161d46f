/* EC2's request throttling: token buckets for each action of a Region, and for the instances that
 * four actions touch. Sizes and rates:
 * docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html Off unless the knob `throttle`
 * is 1. Owned by RgSim, used under its lock. */
#pragma once
#include "sim/core/call.h"

RgSimThrottle *rg_sim_throttle_new(void);
void rg_sim_throttle_free(RgSimThrottle *throttle);
/* All buckets full. */
void rg_sim_throttle_clear(RgSimThrottle *throttle);

/* One token for the request; false and RequestLimitExceeded on the call when its bucket is empty.
 */
bool rg_sim_throttle_request(RgSimCall *call, const char *region);
/* The same for the instances that it is about to touch: all of them or none. */
bool rg_sim_throttle_instances(RgSimCall *call, gint64 count);
