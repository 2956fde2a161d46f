/* Which Ray nodes a resource stands for: one of a machine, many of what a cloud keeps as one thing.
 * What is desired has `nodes` as `lower` returned them (provider.h); what is recorded has them in
 * its pin: the pin itself is that of one node of the group, or {"nodes": [{pool, role, first, count
 * or min and max, and the members of a pin}]}. */
#pragma once
#include "resource/resource.h"
#include "resource/schema.h"

/* Nodes of one pool; everything is borrowed from the resource. */
typedef struct {
	const char *pool;
	bool is_head;
	int64_t first;	   /* the number in its pool of the first; -1: the head, which has none */
	unsigned min, max; /* equal unless elastic */
	bool is_elastic;
	const json_t *pin; /* of what is recorded: what fit remembers of each of them; or NULL */
} RgPoolNodes;

/* What is wrong with the `nodes` that `lower` gave, as the rest of a sentence; NULL: nothing. */
const char *rg_nodes_wrong(const json_t *nodes);
/* How many pools the resource has nodes of. */
size_t rg_nodes_pools(const RgResource *resource, const RgKind *kind);
RgPoolNodes rg_nodes_get(const RgResource *resource, size_t i);
/* How many of them run: as the cloud reports it of an elastic pool (`observed` may be NULL), within
 * its range; at least its minimum. */
unsigned rg_nodes_now(const RgPoolNodes *nodes, const RgResource *observed);
/* One machine that is one node of its group. */
bool rg_nodes_are_plain(const RgResource *resource);
/* As `lower` says it, without pins; a new reference. */
json_t *rg_nodes_json(const RgResource *resource);
/* Whether any of them is of that pool. */
bool rg_nodes_has_pool(const RgResource *resource, const RgKind *kind, const char *pool);
/* The pool that a resource is for as a whole. */
const char *rg_resource_pool(const RgResource *resource);
