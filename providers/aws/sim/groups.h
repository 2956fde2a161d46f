/* Security groups. */
#pragma once
#include "sim/core/call.h"

/* The default group of a new VPC. */
void rg_sim_groups_seed(RgSimWorld *world, RgSimRegion *region, const char *vpc_id);
/* The group by id, or by name in the default VPC; NULL and an error on the call. Borrowed. */
json_t *rg_sim_group_of_params(RgSimCall *call, const char *id, const char *name);
/* [{groupId, groupName}] of the ids in a list parameter, or of the VPC's default group when the
 * list is empty. NULL and an error when one does not exist or is of another VPC. */
json_t *rg_sim_group_set(RgSimCall *call, const GPtrArray *ids, const char *vpc_id);

bool rg_sim_create_group(RgSimCall *call);
bool rg_sim_delete_group(RgSimCall *call);
bool rg_sim_describe_groups(RgSimCall *call);
