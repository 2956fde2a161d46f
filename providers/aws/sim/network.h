/* Regions, zones, the default VPC and its subnets (one a zone), which every account has. */
#pragma once
#include "sim/core/call.h"

void rg_sim_network_seed(RgSimWorld *world, RgSimRegion *region);
/* The region's default VPC. Borrowed. */
json_t *rg_sim_network_default_vpc(const RgSimRegion *region);
/* The default subnet of a zone, or NULL. Borrowed. */
json_t *rg_sim_network_default_subnet(const RgSimRegion *region, const char *zone);

bool rg_sim_describe_vpcs(RgSimCall *call);
bool rg_sim_describe_subnets(RgSimCall *call);
bool rg_sim_describe_zones(RgSimCall *call);
bool rg_sim_describe_regions(RgSimCall *call);
