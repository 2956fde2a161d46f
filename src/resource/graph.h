/* Dependencies between addresses: order of creation (dependencies first) and of removal (reverse).
 * Edges come from depends_on and from $ref expressions. Pure. */
#pragma once
#include "resource/resource.h"

/* The addresses that `resource` must come after: depends_on and refs, without duplicates, sorted.
 */
GStrv rg_resource_dependencies(const RgResource *resource);
/* Addresses of the set in an order in which every dependency inside the set comes first; among the
 * free ones by address. NULL and provider.bad-result naming the cycle when there is one. */
GPtrArray *rg_graph_order(const RgResourceSet *set, RgDiags *diags);
