/* Placement groups. A cluster group keeps its instances in one zone; spread and partition groups
 * are kept and shown, but put no limit on anything. */
#pragma once
#include "aws/sim/launch_form.h"

/* Finds the group that Placement names into launch->placement, and asks whether the type may be in
 * it. */
bool rg_sim_placement_group_read(RgSimCall *call, RgSimLaunch *launch);
/* Does the chosen zone fit with the group's other instances? */
bool rg_sim_placement_group_fits(RgSimCall *call, const RgSimLaunch *launch);

bool rg_sim_create_placement_group(RgSimCall *call);
bool rg_sim_delete_placement_group(RgSimCall *call);
bool rg_sim_describe_placement_groups(RgSimCall *call);
