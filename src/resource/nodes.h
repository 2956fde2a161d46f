/* Which Ray nodes a resource stands for: one for a machine, many for a resource that is a whole
 * cluster. Desired resources have `nodes` as `lower` returned them (provider.h). Recorded resources
 * have them in their pin: either the pin is that of one node of the group, or it is {"nodes":
 * [{pool, role, first, count or min and max, and the members of a pin}]}. */
#pragma once
#include "resource/resource.h"
#include "resource/schema.h"

/* Nodes of one pool; everything is borrowed from the resource. */
typedef struct {
	const char *pool;
	bool is_head;
	int64_t first;	   /* the index of the first in its pool; -1: the head, which has none */
	unsigned min, max; /* equal unless elastic */
	bool is_elastic;
	const json_t *pin; /* for recorded resources: what fit keeps about each of them; or NULL */
} RgPoolNodes;

/* What is wrong with the `nodes` that `lower` returned, as the end of a sentence; NULL: nothing. */
const char *rg_nodes_wrong(const json_t *nodes);
/* The number of pools that the resource has nodes of. */
size_t rg_nodes_pools(const RgResource *resource, const RgKind *kind);
RgPoolNodes rg_nodes_get(const RgResource *resource, size_t i);
/* How many of them run: for an elastic pool as the cloud reports it (`observed` may be NULL),
 * at least its minimum; more than its maximum after someone else's change. */
unsigned rg_nodes_now(const RgPoolNodes *nodes, const RgResource *observed);
/* One machine that is one node of its group. */
bool rg_nodes_are_plain(const RgResource *resource);
/* Whether the size of any of its pools is Ray's to choose. */
bool rg_nodes_are_elastic(const RgResource *resource);
/* In the form of `lower`, without pins; a new reference. */
json_t *rg_nodes_json(const RgResource *resource);
/* Whether any of them is in that pool. */
bool rg_nodes_has_pool(const RgResource *resource, const RgKind *kind, const char *pool);
/* The pool that the whole resource belongs to. */
const char *rg_resource_pool(const RgResource *resource);
