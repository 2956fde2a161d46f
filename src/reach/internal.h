/* Private to src/reach. */
#pragma once
#include "base/json.h"
#include "reach/reach.h"

/* The record of the head; NULL: there is none. */
const RgResource *reach_head(const RgSchema *schema, const RgSnapshot *snapshot);
/* Of a record the computed attribute in this role; NULL: it has none. */
const char *reach_value(const RgSchema *schema, const RgResource *resource, const char *role);
