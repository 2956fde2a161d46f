/* The facts that the simulated EC2 starts from (JSON files in data/, carried inside the program):
 * parameters of every action, instance types, where they are offered, regions and zones, first
 * images. Read-only after rg_sim_data_new, so any thread may look, but for the types that a
 * scenario brings (own_types.h), which RgSim's lock guards. Owned by RgSim. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

typedef struct {
	json_t *requests;      /* {action: {members, required}} */
	json_t *types;	       /* [DescribeInstanceTypes entry] in wire spelling */
	json_t *type_by_name;  /* {name: entry} */
	json_t *offerings;     /* {type: {region: [zone id]}} */
	json_t *regions;       /* [{name, opt_in, zones: [{name, id}]}] */
	json_t *parameters;    /* {SSM name: {image: glob, owner}} */
	json_t *own_types;     /* {name: entry} of the scenario */
	json_t *own_offerings; /* {type: {region: [zone id]}} of these */
	json_t *images;	       /* [{name, owner, alias?, arch, created, root_gb, description}] */
} RgSimData;

/* Aborts when the embedded files are broken, which a build cannot survive. */
RgSimData *rg_sim_data_new(void);
void rg_sim_data_free(RgSimData *data);

/* The region's entry, or NULL for an unknown region. Borrowed. */
json_t *rg_sim_data_region(const RgSimData *data, const char *region);
/* The zone's entry by name ("us-east-1a"), or NULL. Borrowed. */
json_t *rg_sim_data_zone(const RgSimData *data, const char *region, const char *zone);
/* Is the type offered in the zone? Types without a table are offered everywhere. */
bool rg_sim_data_offered(
	const RgSimData *data, const char *type, const char *region, const char *zone_id);
