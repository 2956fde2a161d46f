/* EBS volumes: made by launches, listed, and deleted with their instance where they say so. */
#pragma once
#include "sim/core/call.h"

/* An attached volume's document for one block device of a launch; not yet stored. `form` is the
 * wanted {size, type, encrypted, delete, snapshot?}. */
json_t *rg_sim_volume_new(RgSimCall *call, const char *zone, const char *instance_id,
	const char *device, const json_t *form);
/* Ends the attachment when the instance ends: deleted, or available. */
void rg_sim_volume_release(RgSimWorld *world, RgSimRegion *region, const char *volume_id);
bool rg_sim_describe_volumes(RgSimCall *call);
