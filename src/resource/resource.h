/* One resource in a cloud (or of raygpu itself) as one of the three sets has it: desired (lowered
 * from the spec), recorded (state), observed (reported by the cloud). diff compares three
 * RgResourceSets. A set owns its resources; attributes are shared json_t objects (equal objects of
 * a pool are interned to one) and must not be changed once the set has been passed on. Not
 * thread-safe while it is built, safe to read from any thread afterwards. */
#pragma once
#include "base/json.h"

#define RG_SECRET_KIND "raygpu.secret"
#define RG_SECRET_RAY_TOKEN "raygpu.secret.ray_token"
/* The ownership marks among the attributes of a change: the address that they contain. */
#define RG_MARKS "marks"

typedef enum {
	RG_PRESENT,
	RG_ABSENT, /* the cloud reports it so, or nothing of it is left after the consistency window
		    */
	RG_UNKNOWN, /* the read failed or was truncated, or the resource is too new to rely on */
	RG_PENDING, /* recorded only: an open journal row creates it; id may be NULL */
} RgPresence;

typedef struct {
	char *address;	    /* "cloud.node.train[3]" */
	const char *kind;   /* interned: "cloud.node" */
	const char *name;   /* interned: "train" */
	int64_t index;	    /* -1: not indexed */
	const char *group;  /* interned pool name or NULL */
	const char *origin; /* interned JSON pointer into the spec, or NULL */
	/* desired: what a change of an attribute with `restarts` does to what runs; interned, NULL:
	 * it is not said */
	const char *restart;
	char *id;      /* the cloud's id; NULL for desired ones */
	json_t *attrs; /* desired: may contain expressions (expr.h).
			* recorded: the desired attributes of its last create or update (same form).
			* observed: what the cloud reported, only attributes of the schema */
	/* which nodes it stands for (nodes.h). desired: from `lower`, NULL: none. observed: how
	 * many run, by pool, or NULL. recorded: they are in the pin */
	json_t *nodes;
	/* recorded: computed attributes as last known; else NULL. Read them with
	 * rg_resource_outputs: of what was loaded only the text is here until then */
	json_t *outputs_json;
	char *outputs_text;
	GStrv depends_on; /* desired and recorded: addresses, may be NULL */
	RgPresence presence;
	/* recorded only */
	int64_t generation;	      /* 0, 1, ...: increases with each replacement */
	int64_t created_s, updated_s; /* Unix seconds */
	bool protect;		      /* recorded: must not be destroyed or replaced */
	json_t *pin;		      /* offer and price of a node, or NULL (fit.h "pins") */
	/* of a node: {"at_s", "gpus", "driver"} once it joined Ray, {}: an apply still has to see
	 * it join; NULL: that is not awaited (imported, or recorded by an older version) */
	json_t *joined;
	char *run;     /* pending: the run that left it open */
	bool leaving;  /* its removal started and its end was not seen (decide.md rows 19, 20) */
	bool updating; /* an update started and its end was not seen: it may still take effect */
	guint updates; /* updating: so many attributes; 0: that is unknown */
	const char *ownership; /* interned: "created", "adopted", "shared" */
	/* recorded: as last written; observed: as the cloud has them */
	bool mismarked;	 /* its ownership marks contain another address than its own */
	char *marked_as; /* that address; NULL: they contain none. Only if mismarked */
	/* observed only */
	char *status;  /* the cloud's term, "running"; of RG_UNKNOWN: why only this one is */
	char *token;   /* creation token in the marks, or NULL */
	char *lineage; /* in the marks, if it differs from the requested one; or NULL */
	bool doubtful; /* may be the view from before an update that started a moment ago */
	bool unended;  /* doubtful only because of an update whose end was not seen: the view itself
			  is  new enough */
	bool unmanaged; /* carries our lineage, but no record has its id */
} RgResource;

RgResource *rg_resource_new(const char *kind, const char *name, int64_t index);
void rg_resource_free(RgResource *resource);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgResource, rg_resource_free)

/* Its computed attributes, borrowed; NULL: it has none. Any thread. A state has thousands of
 * resources, and most commands need the outputs of a few. */
json_t *rg_resource_outputs(const RgResource *resource);
/* Whether one of them is this text; usually known without reading all. */
bool rg_resource_output_is(const RgResource *resource, const char *name, const char *text);

/* Of RG_UNKNOWN: "NAME cannot be read: STATUS"; g_free the result. */
char *rg_resource_unread(const RgResource *resource, const char *name);

/* "kind.name" or "kind.name[index]"; g_free the result. */
char *rg_address_format(const char *kind, const char *name, int64_t index);
/* The address of a resource while its successor is created at its own: "kind.train[3]" of
 * generation 1 moves to "kind.train~1[3]". No spec can contain it. g_free the result. */
char *rg_address_former(const char *address, int64_t generation);
/* The address that it had; NULL if it is not such an address. g_free the result. */
char *rg_address_successor(const char *address);
/* Parses an address; false if it is not one. The caller g_frees kind and name. */
bool rg_address_parse(const char *address, char **kind, char **name, int64_t *index);
/* Orders by kind, name, index number (train[2] before train[10]). */
int rg_address_compare(const char *a, const char *b);

typedef struct RgResourceSet RgResourceSet;

RgResourceSet *rg_resource_set_new(void);
void rg_resource_set_free(RgResourceSet *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgResourceSet, rg_resource_set_free)
/* Takes the resource; its address must not change afterwards. false (and the resource
 * is freed) if the address already exists. */
bool rg_resource_set_add(RgResourceSet *set, RgResource *resource);
RgResource *rg_resource_set_find(const RgResourceSet *set, const char *address);
size_t rg_resource_set_size(const RgResourceSet *set);
/* In address order. Borrowed. */
RgResource *rg_resource_set_get(const RgResourceSet *set, size_t i);
/* rg_resource_foreach (resource, set): what the body adds comes in its place in the order. */
#define rg_resource_foreach(resource, set)                                                         \
	for (size_t resource##_at = 0, resource##_on = 1; resource##_on; resource##_on = 0)        \
		for (RgResource * resource; resource##_at < rg_resource_set_size(set) &&           \
					    (resource = rg_resource_set_get(set, resource##_at));  \
			resource##_at++)
/* Empties the set, so that addresses may change: a new set in *set, and the resources
 * (RgResource*), which the caller adds to it again. */
GPtrArray *rg_resource_set_release(RgResourceSet **set);
/* Observed resources whose address is taken or unknown: kept separately. */
void rg_resource_set_add_extra(RgResourceSet *set, RgResource *resource);
const GPtrArray *rg_resource_set_extras(const RgResourceSet *set);
/* One shared object for equal attribute objects: steals `attrs`, returns a new reference. */
json_t *rg_resource_set_intern(RgResourceSet *set, json_t *attrs);

/* For rg_expr_resolve_known: an attribute of a recorded resource in the set `data`, its computed
 * value or else its desired one; a new reference, NULL if unknown. */
json_t *rg_resource_set_value(void *data, const char *address, const char *attr);

/* From the array that a module's `lower` returns (provider.h). NULL and provider.bad-result if it
 * does not have that form. */
RgResourceSet *rg_resource_set_from_lowered(const json_t *resources, RgDiags *diags);
