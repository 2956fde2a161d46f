/* What a provider declares about its kinds (schemas/provider-schema.json), used by diff, refresh
 * and apply. The core kind raygpu.secret always exists. Immutable, any thread. */
#pragma once
#include "base/json.h"
#include "base/words.h"

/* Roles of attributes (schemas/provider-schema.json): the core never reads an attribute by its
 * name. */
#define RG_ROLE_INSTANCE_TYPE "instance_type"
#define RG_ROLE_ZONE "zone"
#define RG_ROLE_IMAGE "image"
#define RG_ROLE_MARKET "market"		  /* "on-demand" or "spot" */
#define RG_ROLE_RESERVATION "reservation" /* the id of the reserved capacity that it uses */
#define RG_ROLE_LABELS "labels" /* the map with the spec's labels; others may add their own */
#define RG_ROLE_POWER "power"	/* whether it is on; one that is off is started in place */
#define RG_ROLE_ADDRESS "address"
#define RG_ROLE_PUBLIC_ADDRESS "public_address"

typedef struct {
	const char *name, *type;
	const char *role; /* what the core may read from it: one of RG_ROLE_*; NULL = nothing */
	bool required, computed, force_new, sensitive, unreadable, create_only, ignore_drift, set;
	const char *pinned; /* computed: the recorded value must hold; what another one means; or
			       NULL */
	const char *field;  /* spec field that sets it, "disk.size"; or NULL */
	bool restarts;	    /* a change in place restarts the nodes that it stands for */
	bool detail;	    /* nothing that a user chose: shown only on request */
	bool partial;	    /* the cloud adds its own members to the value */
	bool gzip_base64;   /* a compressed text */
	bool attaches;	    /* it refers to a resource that is in use once this one is ready */
	const json_t *default_value; /* NULL = none */
} RgAttribute;

typedef struct {
	const char *name;    /* "cloud.node" */
	const char *listing; /* kinds with the same word are read in one call; NULL: separately */
	bool node;	     /* its resources stand for Ray nodes (nodes.h) */
	bool read_if_used;   /* not read if neither spec nor state has one */
	bool updates_marks;  /* `update` can rewrite the ownership marks */
	bool removes_marks;  /* `update` can remove them */
	bool tries_updates;  /* preflight is asked about updates too */
	bool runs_once;	     /* one that the cloud no longer has is not created again */
	bool create_finds;   /* they come with another resource; `create` finds those that exist */
	int64_t version, batch_create, batch_update, batch_remove, list_page;
	int64_t consistency_s, replay_s, ready_timeout_s;
	int64_t update_timeout_s, remove_timeout_s; /* 0: may not be pending */
	int64_t unseen_update_s; /* how long an update whose end was not seen may go on */
	int64_t changing_s;	 /* how long `changing` may not show one; 0: it shows none */
	/* requests per item; 0: a call is one request, however many items it has */
	struct {
		int64_t create, ready, update, remove;
	} requests;
	/* {"verb", "doing", "done"} of a removal; NULL: the resources are destroyed */
	const json_t *removal;
	GHashTable *attributes; /* char* -> RgAttribute* */
} RgKind;

typedef struct RgSchema RgSchema;

/* `document`: a parsed, already checked schema.json. */
RgSchema *rg_schema_new(const json_t *document, RgDiags *diags);
void rg_schema_free(RgSchema *schema);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgSchema, rg_schema_free)

const RgKind *rg_schema_kind(const RgSchema *schema, const char *kind); /* NULL if unknown */
/* What the cloud shows with the token `seen` may be of the create with `token`; NULL: not known. Of
 * kinds with create_finds it may have the token of the resource that it came with. */
bool rg_kind_is_of_create(const RgKind *kind, const char *token, const char *seen);
const RgAttribute *rg_kind_attribute(const RgKind *kind, const char *name);
/* The attribute with this role; NULL if the kind has none. */
const RgAttribute *rg_kind_with_role(const RgKind *kind, const char *role);
/* Whether people may not see it: it is declared sensitive, or it is unknown. */
bool rg_schema_hides(const RgSchema *schema, const char *kind, const char *attribute);
/* Names of the kinds in the order of the file (the order of reading); without raygpu.secret, which
 * no provider can list. */
GStrv rg_schema_kinds(const RgSchema *schema); /* borrowed */
/* The same, grouped by the call that reads them: GPtrArray of char * arrays, NULL-ended;
 * borrowed. */
const GPtrArray *rg_schema_listings(const RgSchema *schema);
/* What a node boots from (schemas/provider-schema.json), borrowed. */
const json_t *rg_schema_boot(const RgSchema *schema);
double rg_schema_requests_per_s(const RgSchema *schema);
unsigned rg_schema_burst(const RgSchema *schema);
/* The ways to forward ports to a head, a list (schemas/provider-schema.json); borrowed, NULL =
 * none. */
const json_t *rg_schema_connect(const RgSchema *schema);
/* {form: what it is} of files that the module can write for other tools; borrowed, NULL = none. */
const json_t *rg_schema_exports(const RgSchema *schema);
/* The cloud's own terms; borrowed. */
/* raygpu's own script starts Ray: it boots by cloud_init or script. */
bool rg_schema_runs_start_ray(const RgSchema *schema);
const RgWords *rg_schema_words(const RgSchema *schema);
/* It supports pools whose size Ray's autoscaler changes between two limits. */
bool rg_schema_elastic(const RgSchema *schema);
/* It starts the jobs of a spec. */
bool rg_schema_jobs(const RgSchema *schema);
/* Its resolve describes instance types that no table has. */
bool rg_schema_describes_types(const RgSchema *schema);
/* Its resolve describes the shapes of its inventory. */
bool rg_schema_describes_shapes(const RgSchema *schema);
/* Several workers can use the GPUs of one machine. */
bool rg_schema_shared_nodes(const RgSchema *schema);
/* False: the cloud has no regions, and an empty text stands for one. */
bool rg_schema_has_regions(const RgSchema *schema);
/* The zones, if the module fixes them, an array (empty: the cloud has none); NULL: resolve reports
 * them. */
const json_t *rg_schema_zones(const RgSchema *schema);
/* All nodes are in one zone whose name is empty. */
bool rg_schema_has_no_zones(const RgSchema *schema);
/* The form of its images (schemas/provider-schema.json); borrowed, NULL = anything. */
const json_t *rg_schema_image(const RgSchema *schema);
/* The form of ids of reserved capacity (same file); borrowed, NULL = it has no reservations. */
const json_t *rg_schema_reservation(const RgSchema *schema);
/* The labels that its resources can carry (schemas/provider-schema.json); borrowed, NULL = any. */
const json_t *rg_schema_labels(const RgSchema *schema);
/* Types of root disks, and the default (same file); borrowed, NULL = any. */
const json_t *rg_schema_disk(const RgSchema *schema);
/* The allowed values of its ownership marks (schemas/provider-schema.json); borrowed, NULL =
 * anything. */
const json_t *rg_schema_mark_form(const RgSchema *schema);
/* Maximum length of the mark with the indexes of a batch. */
size_t rg_schema_indexes_max(const RgSchema *schema);
/* What traces must not show: {"names", "pointers", "headers"} (same file); borrowed, NULL =
 * nothing. */
const json_t *rg_schema_secrets(const RgSchema *schema);
/* The environment variable with the path of a file of certificate authorities; borrowed, NULL =
 * none. */
const char *rg_schema_ca_bundle_env(const RgSchema *schema);
/* URL schemes of states that the module keeps (same file), by scheme; borrowed, NULL = none. */
const json_t *rg_schema_stores(const RgSchema *schema);
/* A spot node can have its own price limit. */
bool rg_schema_spot_max_price(const RgSchema *schema);
/* Zones are named after their region, so that one of another region can be recognized without the
 * cloud. */
bool rg_schema_zones_start_with_region(const RgSchema *schema);
/* The module's own config schema (JSON Schema), borrowed; NULL = it has no settings. */
const json_t *rg_schema_config(const RgSchema *schema);
/* The schema of its settings of single pools, complete in itself, borrowed; NULL = it has none. */
const json_t *rg_schema_pool_config(const RgSchema *schema);
/* Those of the settings of a pool that the module has: an object, a new reference. */
json_t *rg_schema_own_settings(const RgSchema *schema, const json_t *settings);
/* The part of a reported value that is compared: for a `partial` attribute, the members that the
 * spec or the record has, and in lists of equal length element by element; for others, all of it. A
 * new reference; NULL is absent. */
json_t *rg_attribute_cut(const RgAttribute *attribute, const json_t *observed, const json_t *wish,
	const json_t *record);
/* The value without what `ignore_tags` leaves to others: in a map of labels, the keys that match
 * one of `ignored` (an array of patterns, NULL: none). A new reference; NULL for NULL, and if
 * nothing is left. */
json_t *rg_attribute_without(
	const RgAttribute *attribute, const json_t *value, const json_t *ignored);
/* Whether two values of the attribute mean the same: lists of a `set` are compared without order
 * and duplicates. NULL is absent and equals only NULL; the caller fills in defaults. */
bool rg_attribute_equal(const RgAttribute *attribute, const json_t *a, const json_t *b);
