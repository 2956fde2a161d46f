/* Dependencies between addresses: order of creation (dependencies first) and of removal (reverse).
 * Edges come from depends_on and from $ref expressions. Pure. */
#pragma once
#include "resource/resource.h"

/* The addresses that `resource` must come after: depends_on and references, without duplicates,
 * sorted. */
GStrv rg_resource_dependencies(const RgResource *resource);
/* The same for many resources: those that share their attributes object and have equal depends_on
 * share the list. Lists are borrowed and live as long as the cache; so must the resources. */
typedef struct RgDependencies RgDependencies;
RgDependencies *rg_dependencies_new(void);
void rg_dependencies_free(RgDependencies *cache);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgDependencies, rg_dependencies_free)
GStrv rg_dependencies_get(RgDependencies *cache, const RgResource *resource);
/* Addresses of the set in an order in which every dependency inside the set comes first; otherwise
 * by address. NULL and provider.bad-result with the cycle if there is one. */
GPtrArray *rg_graph_order(const RgResourceSet *set, RgDiags *diags);
