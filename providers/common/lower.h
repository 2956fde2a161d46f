/* What every module's `lower` does: the fitted cluster (src/fit/README.md) -> desired resources
 * with references, dependencies and the nodes that they stand for. Pure. */
#pragma once
#include "common/talk.h"

typedef struct {
	const ModTalk *talk;
	const json_t *fitted;
	const char *node_kind; /* of the resources that stand for one node: "aws.instance" */
	/* the resource and its attribute that has the head's address: the meaning of "@head", which
	 * boot writes because it does not know it */
	const char *head, *head_attribute;
	const char *const *first; /* addresses that all nodes depend on, NULL-ended; NULL: none */
	json_t *resources;	  /* what was added so far; owned */
	rgp_status status;	  /* of refusals */
} ModLowering;

/* A setting of the spec's provider mapping; NULL: it is absent. */
const json_t *mod_lower_setting(const ModLowering *lowering, const char *name);
/* What the module's own resolve left for lower: facts.module. */
const json_t *mod_lower_facts(const ModLowering *lowering);
/* A copy of the spec's labels. */
json_t *mod_lower_labels(const ModLowering *lowering);
/* Sets what the node has of these members: user data, under "user_data", or "user_data_base64" if
 * boot compressed it; the disk's size and type. */
void mod_lower_user_data(const ModLowering *lowering, const json_t *node, json_t *attributes);
void mod_lower_disk(const json_t *node, json_t *attributes);
/* A copy of what boot wrote, with the head's address in place of "@head"; a new reference. */
json_t *mod_lower_with_head(const ModLowering *lowering, const json_t *value);
json_t *mod_lower_ref(const char *address, const char *attribute);

/* A resource of which the cluster has one, with its dependencies; steals `attributes`. */
void mod_lower_add(ModLowering *lowering, const char *kind, const char *name, const char *origin,
	json_t *attributes);
/* The head, or the nodes of a pool; steals `attributes`. */
void mod_lower_add_node(ModLowering *lowering, const json_t *node, json_t *attributes);
/* What holds the nodes of a pool close together, if the node asks for it: one resource a pool,
 * however many groups of equal nodes the pool has. `attribute` of the nodes refers to its `name`;
 * steals `own`, its attributes. */
typedef struct {
	const char *kind, *name, *attribute;
	json_t *own;
} ModPlacement;
void mod_lower_place(ModLowering *lowering, const json_t *node, json_t *attributes,
	const ModPlacement *placement);
/* A finding about the node's `field` ("/network", or ""): nothing is given. */
void mod_lower_refuse(ModLowering *lowering, const json_t *node, const char *field,
	const char *hint, const char *format, ...) G_GNUC_PRINTF(5, 6);
/* The end: gives the resources, unless something was refused. Frees them. */
rgp_status mod_lower_give(ModLowering *lowering);
