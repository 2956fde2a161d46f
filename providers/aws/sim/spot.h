/* Spot: one-time requests, which RunInstances makes and fulfils at once, and what ends them: the
 * user, a cancellation, or the market taking the instance back (the control endpoint's reclaim). */
#pragma once
#include "aws/sim/launch_form.h"

/* Reads InstanceMarketOptions into launch->spot and ->max_price. */
bool rg_sim_spot_read(RgSimCall *call, RgSimLaunch *launch);
/* The request behind a spot instance that is being launched; notes it on the instance. */
void rg_sim_spot_add(RgSimCall *call, const RgSimLaunch *launch, json_t *instance);
/* The instance ends: its request, if it has one, is closed with the status. */
void rg_sim_spot_close(RgSimWorld *world, RgSimRegion *region, const json_t *instance,
	const char *status, const char *message);
/* The two minutes are over: the instance, being edited, is shut down by the market. */
void rg_sim_spot_take(RgSimWorld *world, RgSimRegion *region, json_t *instance);
/* Announces the end of spot instances: {instance_ids | type, zone, count, notice_ms}. The ids of
 * those it hit, in every region; NULL and *problem (g_free) when the description is not one. */
json_t *rg_sim_spot_reclaim(
	RgSimWorld *world, const RgSimKnobs *knobs, const json_t *rule, char **problem);
/* Is it such a description? */
bool rg_sim_spot_reclaim_check(const json_t *rule, char **problem);

bool rg_sim_describe_spot(RgSimCall *call);
bool rg_sim_cancel_spot(RgSimCall *call);
