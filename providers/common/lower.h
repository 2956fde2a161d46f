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
json_t *mod_lower_ref(const char *address, const char *attribute);

typedef struct {
	const char *kind, *name, *origin;
	const char *group;  /* NULL: not of a pool */
	json_t *indexes;    /* of a pool's nodes; NULL: none */
	json_t *attributes; /* stolen */
} ModWanted;

/* With its dependencies. A pool without indexes is not added. */
void mod_lower_add(ModLowering *lowering, const ModWanted *wanted);
bool mod_lower_has(const ModLowering *lowering, const char *address);
/* A finding about the node's `field` ("/network", or ""): nothing is given. */
void mod_lower_refuse(ModLowering *lowering, const json_t *node, const char *field,
	const char *hint, const char *format, ...) G_GNUC_PRINTF(5, 6);
/* The end: gives the resources, unless something was refused. Frees them. */
rgp_status mod_lower_give(ModLowering *lowering);
