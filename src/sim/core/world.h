/* The world that the simulated EC2 manages: per region a table for each kind of resource, the
 * clock as of the current request, and what falls due by itself. RgSim owns it; every access
 * happens under RgSim's lock. Documents have the spelling of EC2's answers; members that begin with
 * "_" are the simulator's and never leave through the API. */
#pragma once
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include "aws/sim/data.h"
#include "sim/core/table.h"

#define RG_SIM_ACCOUNT "123456789012"

typedef enum {
	RG_SIM_INSTANCE,
	RG_SIM_INTERFACE,
	RG_SIM_VOLUME,
	RG_SIM_GROUP,
	RG_SIM_VPC,
	RG_SIM_SUBNET,
	RG_SIM_IMAGE,
	RG_SIM_PLACEMENT, /* placement groups */
	RG_SIM_SPOT,	  /* spot instance requests */
	RG_SIM_RESOURCES,
	RG_SIM_TOKEN = RG_SIM_RESOURCES, /* ClientTokens and what they made */
	RG_SIM_USER_DATA,		 /* texts by digest: a batch of instances shares one */
	RG_SIM_KINDS,
} RgSimKind;

typedef struct {
	const char *table; /* its name in the world file */
	const char *id_member;
	const char *prefix; /* of ids; NULL when it is no resource */
	const char *tag_type;
	const char *not_found; /* error code, and its text with one %s */
	const char *not_found_text;
	const char *malformed;
} RgSimKindInfo;

typedef struct {
	char *name;
	const json_t *entry; /* of data->regions */
	RgSimTable *tables[RG_SIM_KINDS];
	GHashTable *addresses; /* private address in use -> interface id */
	GHashTable *next_host; /* subnet id -> host number to try next */
} RgSimRegion;

typedef struct {
	const RgSimData *data;
	guint64 seed;
	guint64 counter; /* behind every generated id */
	gint64 now_ms;	 /* Unix time of the current request; never runs backwards */
	gint64 keep_since_ms;
	GHashTable *regions; /* name -> RgSimRegion */
	GSequence *due;	     /* lifecycle.c's */
	guint64 changes;     /* grows with each change; what the saver compares */
} RgSimWorld;

extern const RgSimKindInfo rg_sim_kinds[RG_SIM_KINDS];

RgSimWorld *rg_sim_world_new(const RgSimData *data, guint64 seed);
void rg_sim_world_free(RgSimWorld *world);

/* Takes the time and forgets what no reader can see any more. Call first under the lock. */
void rg_sim_world_enter(RgSimWorld *world, gint64 consistency_ms);
/* A region with its default network and images, made on first use; NULL for an unknown name. */
RgSimRegion *rg_sim_world_region(RgSimWorld *world, const char *name);
/* The same without the seeds, for loading. */
RgSimRegion *rg_sim_world_region_bare(RgSimWorld *world, const char *name);

/* "i-" plus 17 hex digits: the n-th id of a seed is always the same. g_free it. */
char *rg_sim_world_id(RgSimWorld *world, const char *prefix);
/* An id that depends on the words only, for what every world has (networks, images). g_free it. */
char *rg_sim_world_fixed_id(const char *prefix, const char *region, const char *word);

/* The truth, borrowed; NULL when absent. */
json_t *rg_sim_world_find(const RgSimRegion *region, RgSimKind kind, const char *id);
/* Creates or changes the document under its own id; takes it. */
void rg_sim_world_put(RgSimWorld *world, RgSimRegion *region, RgSimKind kind, json_t *doc);
void rg_sim_world_remove(RgSimWorld *world, RgSimRegion *region, RgSimKind kind, const char *id);
/* A copy to change and put back: members are shared, so replace them, never change them. */
json_t *rg_sim_world_edit(const RgSimRegion *region, RgSimKind kind, const char *id);
/* True documents (json_t *, borrowed) in order of creation. Free the array. */
GPtrArray *rg_sim_world_all(const RgSimRegion *region, RgSimKind kind);

/* The kind that an id's prefix says; RG_SIM_KINDS when none. */
RgSimKind rg_sim_kind_of(const char *id);
/* Is it prefix-8hex or prefix-17hex? */
bool rg_sim_kind_is_id(RgSimKind kind, const char *id);
/* EC2's form of an instant: 2026-11-21T09:47:02.000Z. g_free it. */
char *rg_sim_time_text(gint64 unix_ms);
/* Text member of a document; "" when absent. */
const char *rg_sim_doc_str(const json_t *doc, const char *member);
