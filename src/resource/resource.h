/* One thing in a cloud (or of raygpu itself) as the three sets know it: desired (lowered from the
 * spec), recorded (state), observed (reported by the cloud). diff compares three RgResourceSets of
 * these. A set owns its resources; attributes are shared json_t objects (equal objects of a pool
 * are interned to one) and must not be changed after the set was handed on. Not thread-safe while
 * being built, safe to read from any thread afterwards. */
#pragma once
#include "base/json.h"

#define RG_SECRET_KIND "raygpu.secret"
#define RG_SECRET_RAY_TOKEN "raygpu.secret.ray_token"
/* The ownership marks in the attributes of a change: the address that they name. */
#define RG_MARKS "marks"

typedef enum {
	RG_PRESENT,
	RG_ABSENT,  /* the cloud says so itself, or nothing of it is left after the consistency
		       window */
	RG_UNKNOWN, /* read failed, truncated, or too young to be trusted */
	RG_PENDING, /* recorded only: an open journal row creates it; id may be NULL */
} RgPresence;

typedef struct {
	char *address;	    /* "cloud.node.train[3]" */
	const char *kind;   /* interned: "cloud.node" */
	const char *name;   /* interned: "train" */
	int64_t index;	    /* -1: not indexed */
	const char *group;  /* interned pool name or NULL */
	const char *origin; /* interned JSON pointer into the spec, or NULL */
	char *id;	    /* the cloud's id; NULL for desired */
	json_t *attrs;	    /* desired: may contain expressions (expr.h).
			     * recorded: the desired attributes it was last created with or updated to
			     * (same      form).      observed: what the cloud reported, schema
			     * attributes      only */
	/* which nodes it stands for (nodes.h). desired: as `lower` gave them, NULL: none. observed:
	 * how many run, by pool, or NULL. recorded: they are in the pin */
	json_t *nodes;
	json_t *outputs;  /* recorded: computed attributes as last known; else NULL */
	GStrv depends_on; /* desired and recorded: addresses, may be NULL */
	RgPresence presence;
	/* recorded only */
	int64_t generation;	      /* 0, 1, ...: rises with each replacement */
	int64_t created_s, updated_s; /* Unix seconds */
	bool protect;		      /* the state's word: not to be destroyed or replaced */
	json_t *pin;		      /* offer and price of a node, or NULL (fit.h "pins") */
	char *run;		      /* pending: the run that left it open */
	bool leaving;  /* its removal was begun, and not seen to end (decide.md rows 19, 20) */
	bool updating; /* an update was begun, and not seen to end: it may yet show */
	const char *ownership; /* interned: "created", "adopted", "shared" */
	/* recorded: as they were last written; observed: as the cloud has them */
	bool mismarked;	 /* the ownership marks on it name another address than its own */
	char *marked_as; /* that address; NULL: they name none. Only when mismarked */
	/* observed only */
	char *status;	/* the cloud's word, "running" */
	char *token;	/* creation token in the marks, or NULL */
	char *lineage;	/* in the marks, when it is not the one that was asked for; or NULL */
	bool doubtful;	/* may be the view from before an update begun a moment ago */
	bool unmanaged; /* carries our lineage, but no record has its id */
} RgResource;

RgResource *rg_resource_new(const char *kind, const char *name, int64_t index);
void rg_resource_free(RgResource *resource);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgResource, rg_resource_free)

/* "kind.name" or "kind.name[index]"; g_free the result. */
char *rg_address_format(const char *kind, const char *name, int64_t index);
/* Takes an address apart; false when it is none. kind and name are g_free'd by the caller. */
bool rg_address_parse(const char *address, char **kind, char **name, int64_t *index);
/* Orders by kind, name, index number (train[2] before train[10]). */
int rg_address_compare(const char *a, const char *b);

typedef struct RgResourceSet RgResourceSet;

RgResourceSet *rg_resource_set_new(void);
void rg_resource_set_free(RgResourceSet *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgResourceSet, rg_resource_set_free)
/* Takes the resource; its address, kind and id must not change afterwards. false (and the resource
 * is freed) when the address is there already. */
bool rg_resource_set_add(RgResourceSet *set, RgResource *resource);
RgResource *rg_resource_set_find(const RgResourceSet *set, const char *address);
RgResource *rg_resource_set_find_id(const RgResourceSet *set, const char *kind, const char *id);
size_t rg_resource_set_size(const RgResourceSet *set);
/* In address order. Borrowed. */
RgResource *rg_resource_set_get(const RgResourceSet *set, size_t i);
/* Observed things whose address is taken or not known: kept beside the addressed ones. */
void rg_resource_set_add_extra(RgResourceSet *set, RgResource *resource);
const GPtrArray *rg_resource_set_extras(const RgResourceSet *set);
/* One shared object for equal attribute objects: steals `attrs`, returns a new reference. */
json_t *rg_resource_set_intern(RgResourceSet *set, json_t *attrs);

/* For rg_expr_resolve_known: an attribute of a recorded resource of the set `data`, as the cloud
 * made it, else as it was desired; a new reference, NULL when it is not known. */
json_t *rg_resource_set_value(void *data, const char *address, const char *attr);

/* From the array that a module's `lower` gives (provider.h). NULL and provider.bad-result when it
 * is not of that form. */
RgResourceSet *rg_resource_set_from_lowered(const json_t *resources, RgDiags *diags);
