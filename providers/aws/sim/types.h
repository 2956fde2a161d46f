/* Instance types and where they are offered (data/instance_types.json, offerings.json). */
#pragma once
#include "sim/core/call.h"

/* A member of the type's entry, or NULL for an unknown type. Borrowed. */
json_t *rg_sim_type_find(const RgSimData *data, const char *type);
const char *rg_sim_type_arch(const json_t *type);
gint64 rg_sim_type_vcpus(const json_t *type);
gint64 rg_sim_type_max_interfaces(const json_t *type);

bool rg_sim_describe_types(RgSimCall *call);
bool rg_sim_describe_offerings(RgSimCall *call);
