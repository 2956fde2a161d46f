/* Describe filters: names given by EC2, each a path into the documents. A filter matches when any
 * of its values does (wildcards * and ?, escaped by a backslash), and all filters must match. */
#pragma once
#include <stdbool.h>
#include "sim/core/call.h"

typedef struct {
	const char *name;
	const char *path; /* dotted members; lists on the way are looked through */
} RgSimFilterName;

typedef struct RgSimFilters RgSimFilters;

/* Reads Filter.N of the request; tag:KEY, tag-key and tag-value are known for every kind. The table
 * ends with a NULL name. NULL and an error on the call for unknown names and too many values. */
RgSimFilters *rg_sim_filters_parse(RgSimCall *call, const RgSimFilterName *names);
void rg_sim_filters_free(RgSimFilters *filters);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgSimFilters, rg_sim_filters_free)

bool rg_sim_filters_match(const RgSimFilters *filters, const json_t *doc);
