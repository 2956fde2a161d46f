/* Machine images: a few that every region has. Their ids depend on region and name only. */
#pragma once
#include "sim/core/call.h"

void rg_sim_images_seed(RgSimWorld *world, RgSimRegion *region);
bool rg_sim_describe_images(RgSimCall *call);
