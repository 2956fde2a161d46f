/* Tags: given at creation (TagSpecification), changed and listed by their own actions. */
#pragma once
#include "sim/core/call.h"

/* The tagSet for one resource type out of the request's TagSpecification list; an empty list when
 * it has none. NULL and an error on the call when a tag is not allowed, or when a specification
 * names a type that is not in `types` (blank-separated). */
json_t *rg_sim_tags_of_request(RgSimCall *call, const char *type, const char *types);

bool rg_sim_create_tags(RgSimCall *call);
bool rg_sim_delete_tags(RgSimCall *call);
bool rg_sim_describe_tags(RgSimCall *call);
