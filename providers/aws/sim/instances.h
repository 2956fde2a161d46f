/* Instances: listing, attributes, and how their documents show the interfaces they hold (ids in
 * "_interfaces", first one first). launch.h makes them, power.h starts and ends them. */
#pragma once
#include "sim/core/call.h"

/* Rewrites, in a document being edited, all that EC2 shows of the interfaces: networkInterfaceSet,
 * groupSet, subnet, VPC, addresses. The caller puts it into the world. */
void rg_sim_instance_show_interfaces(const RgSimRegion *region, json_t *instance);
/* Takes the public address away (stopped) or gives a new one (started), and shows it. */
void rg_sim_instance_drop_public(RgSimWorld *world, RgSimRegion *region, json_t *instance);
void rg_sim_instance_give_public(RgSimWorld *world, RgSimRegion *region, json_t *instance);
/* After one of its interfaces changed; an empty or unknown id is ignored. */
void rg_sim_instance_refresh(RgSimWorld *world, RgSimRegion *region, const char *id);
/* Keeps a text (base64) once, however many instances have it; its digest, g_free it. */
char *rg_sim_user_data_keep(RgSimCall *call, const char *text);

bool rg_sim_describe_instances(RgSimCall *call);
bool rg_sim_describe_instance_status(RgSimCall *call);
bool rg_sim_describe_instance_attribute(RgSimCall *call);
bool rg_sim_modify_instance(RgSimCall *call);
bool rg_sim_modify_metadata(RgSimCall *call);
