/* What a provider says of its kinds (schemas/provider-schema.json), looked up by diff, refresh and
 * apply. The core kind raygpu.secret is always there. Immutable, any thread. */
#pragma once
#include "base/json.h"
#include "base/words.h"

/* Roles of attributes (schemas/provider-schema.json): the core reads no attribute by its name. */
#define RG_ROLE_INSTANCE_TYPE "instance_type"
#define RG_ROLE_ZONE "zone"
#define RG_ROLE_IMAGE "image"
#define RG_ROLE_MARKET "market" /* "on-demand" or "spot" */
#define RG_ROLE_LABELS "labels" /* the map with the spec's labels; others may add theirs */

typedef struct {
	const char *name, *type;
	const char *role; /* what the core may read from it: one of RG_ROLE_*; NULL = nothing */
	bool required, computed, force_new, sensitive, unreadable, create_only, ignore_drift, set;
	const char *field; /* what of the spec decides it, "disk.size"; NULL = nothing alone */
	bool detail;	   /* says nothing that anybody chose: shown on request only */
	bool partial;	   /* the cloud adds members of its own to the value */
	bool gzip_base64;  /* a compressed text */
	const json_t *default_value; /* NULL = none */
} RgAttribute;

typedef struct {
	const char *name;    /* "cloud.node" */
	const char *listing; /* kinds with the same word are read in one call; NULL: alone */
	bool node;	     /* its resources stand for Ray nodes (nodes.h) */
	bool read_if_used;   /* not read when neither spec nor state has one */
	bool updates_marks;  /* `update` can rewrite the ownership marks */
	int64_t version, batch_create, batch_update, batch_remove, list_page;
	int64_t consistency_s, replay_s, ready_timeout_s;
	int64_t update_timeout_s, remove_timeout_s; /* 0: may not be pending */
	/* requests that an item costs; 0: a call costs one, however many items it has */
	struct {
		int64_t create, ready, update, remove;
	} requests;
	GHashTable *attributes; /* char* -> RgAttribute* */
} RgKind;

typedef struct RgSchema RgSchema;

/* `document`: a parsed, already checked schema.json. */
RgSchema *rg_schema_new(const json_t *document, RgDiags *diags);
void rg_schema_free(RgSchema *schema);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgSchema, rg_schema_free)

const RgKind *rg_schema_kind(const RgSchema *schema, const char *kind); /* NULL when unknown */
const RgAttribute *rg_kind_attribute(const RgKind *kind, const char *name);
/* The attribute that has the role; NULL when the kind has none. */
const RgAttribute *rg_kind_with_role(const RgKind *kind, const char *role);
/* Whether people may not see it: it is said to be sensitive, or nothing is known of it. */
bool rg_schema_hides(const RgSchema *schema, const char *kind, const char *attribute);
/* Names of the kinds in the order of the file (their reading order); without raygpu.secret, which
 * no provider can list. */
GStrv rg_schema_kinds(const RgSchema *schema); /* borrowed */
/* The same in the groups of which each is read in one call: GPtrArray of char * arrays,
 * NULL-ended; borrowed. */
const GPtrArray *rg_schema_listings(const RgSchema *schema);
/* What a node boots from (schemas/provider-schema.json), borrowed. */
const json_t *rg_schema_boot(const RgSchema *schema);
double rg_schema_requests_per_s(const RgSchema *schema);
unsigned rg_schema_burst(const RgSchema *schema);
/* What the cloud's users call things; borrowed. */
const RgWords *rg_schema_words(const RgSchema *schema);
/* It can make pools whose number of nodes Ray's autoscaler moves between two limits. */
bool rg_schema_elastic(const RgSchema *schema);
/* False: the cloud has none, and what stands for a region is an empty text. */
bool rg_schema_has_regions(const RgSchema *schema);
/* The zones that the module fixes, an array (empty: the cloud has none); NULL: resolve reports
 * them. */
const json_t *rg_schema_zones(const RgSchema *schema);
/* All nodes are in one zone whose name is empty. */
bool rg_schema_has_no_zones(const RgSchema *schema);
/* What its images look like (schemas/provider-schema.json); borrowed, NULL = anything. */
const json_t *rg_schema_image(const RgSchema *schema);
/* Which labels its resources can carry (schemas/provider-schema.json); borrowed, NULL = any. */
const json_t *rg_schema_labels(const RgSchema *schema);
/* Types of root disks, and which is the default (the same); borrowed, NULL = any. */
const json_t *rg_schema_disk(const RgSchema *schema);
/* What the values of its ownership marks can hold (schemas/provider-schema.json); borrowed, NULL =
 * anything. */
const json_t *rg_schema_mark_form(const RgSchema *schema);
/* Characters of the mark with the indexes of a batch. */
size_t rg_schema_indexes_max(const RgSchema *schema);
/* Names whose values traces must not show, a list of texts; borrowed, NULL = none. */
const json_t *rg_schema_secrets(const RgSchema *schema);
/* The environment variable that names a file of certificate authorities; borrowed, NULL = none. */
const char *rg_schema_ca_bundle_env(const RgSchema *schema);
/* A spot node can have a price limit of its own. */
bool rg_schema_spot_max_price(const RgSchema *schema);
/* Zones are named after their region, so that a foreign one can be recognized without the cloud. */
bool rg_schema_zones_start_with_region(const RgSchema *schema);
/* A module's own config schema (JSON Schema), borrowed; NULL = takes no settings. */
const json_t *rg_schema_config(const RgSchema *schema);
/* What is compared of a reported value: of a `partial` attribute the members that the spec or the
 * record has, in lists of equal length element by element; of others all. A new reference; NULL is
 * absent. */
json_t *rg_attribute_cut(const RgAttribute *attribute, const json_t *observed, const json_t *wish,
	const json_t *record);
/* The value without what `ignore_tags` leaves to others: of a map of labels the keys that match one
 * of `ignored` (an array of patterns, NULL: none). A new reference; NULL for NULL, and when nothing
 * is left. */
json_t *rg_attribute_without(
	const RgAttribute *attribute, const json_t *value, const json_t *ignored);
/* Whether two values of the attribute mean the same: lists of a `set` without order and doubles.
 * NULL is absent and equals only NULL; defaults are the caller's to put in. */
bool rg_attribute_equal(const RgAttribute *attribute, const json_t *a, const json_t *b);
