/* Where instances fit: zones that offer a type, and the capacity that the knobs leave there. */
#pragma once
#include "sim/core/call.h"

/* Does it take a place (and count against quotas)? Stopped and terminated ones don't. */
bool rg_sim_placement_holds(const json_t *instance);
/* Instances of the type that still fit in the zone; G_MAXINT64 when unlimited. */
gint64 rg_sim_placement_free(const RgSimCall *call, const char *type, const char *zone);
/* Finds a zone with room for at least `min` of at most `max`: the wanted one, or any with a default
 * subnet when `wanted` is NULL. Sets the zone (borrowed) and how many fit; else Unsupported or
 * InsufficientInstanceCapacity on the call. */
bool rg_sim_place(RgSimCall *call, const char *type, const char *wanted, gint64 min, gint64 max,
	const char **zone, gint64 *count);
bool rg_sim_placement_fail_capacity(RgSimCall *call, const char *type, const char *zone);
