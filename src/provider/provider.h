/* Host side of the provider ABI: find, load, check and call modules. The one place besides
 * base/module.c that uses dlopen. Modules stay loaded until the process ends. Calls may come from
 * any thread; without RGP_PARALLEL the host serialises them. */
#pragma once
#include "base/embedded.h"
#include "http/http.h"
#include "resource/resource.h"
#include "resource/schema.h"

/* Linked-in modules: cmd/ hands this table over (NULL name ends it). */
struct rgp_provider;
typedef struct {
	const char *name;
	const struct rgp_provider *(*entry)(void); /* NULL: data alone, the module comes later */
	const struct rg_embedded *data;		   /* schema.json, *.csv */
} RgBuiltinProvider;

typedef struct {
	const RgBuiltinProvider *builtins;
	GStrv directories; /* --provider-dir, RAYGPU_PROVIDER_PATH (absolute), libdir: in that order
			    */
	const char *(*env)(const char *name); /* the environment, from cmd/ */
	const char *home;
} RgProviderHostOptions;

typedef struct RgProviderHost RgProviderHost;
typedef struct RgProvider RgProvider; /* an opened instance of a module */

RgProviderHost *rg_provider_host_new(const RgProviderHostOptions *options);
void rg_provider_host_free(RgProviderHost *host);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgProviderHost, rg_provider_host_free)

/* A data file of a provider without loading its module: bytes borrowed from the host, NULL when
 * there is none (no diagnostic). DIR/NAME/FILE when the module is DIR/NAME.so, else embedded: data
 * and module are never of two places. */
const char *rg_provider_data(
	RgProviderHost *host, const char *provider, const char *file, size_t *len);
/* Its checked schema (cached, borrowed); NULL and a diagnostic. */
const RgSchema *rg_provider_schema(RgProviderHost *host, const char *provider, RgDiags *diags);

/* The spec's settings of a provider against its schema.json: false and provider.bad-config. */
bool rg_provider_check_config(
	RgProviderHost *host, const char *provider, const json_t *config, RgDiags *diags);

/* For `providers list`: JSON array of {name, version, abi (major, only when ok), file (path or
 * "built-in"), state: "ok" | "refused", reason: text or null}. A bad file is a row, not an error.
 */
json_t *rg_provider_host_list(RgProviderHost *host);

/* All that have a module or data, by name: NULL-ended, the caller frees. Not every one is usable.
 */
GStrv rg_provider_host_names(RgProviderHost *host);

/* Loads and opens. `region`, `config` from the spec. `http`: of its transport, whose rate limits,
 * secrets and hints are filled in from the module's schema; NULL: no network. NULL and
 * provider.not-found | provider.refused | provider.bad-config | http.module. */
RgProvider *rg_provider_open(RgProviderHost *host, const char *name, const char *region,
	const json_t *config, const RgHttpOptions *http, RgDiags *diags);
void rg_provider_close(RgProvider *provider);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgProvider, rg_provider_close)
const char *rg_provider_name(const RgProvider *provider);
const RgSchema *rg_provider_get_schema(const RgProvider *provider);
bool rg_provider_offers(const RgProvider *provider, const char *call); /* "update", "ready", ... */
/* Waits as the provider's transport does: false when canceled. Any thread. */
bool rg_provider_sleep(RgProvider *provider, unsigned ms);

/* Class of a failure, by the names of provider.h. */
typedef enum {
	RG_CLASS_OK,
	RG_CLASS_CAPACITY,
	RG_CLASS_QUOTA,
	RG_CLASS_DENIED,
	RG_CLASS_THROTTLED,
	RG_CLASS_CONFLICT,
	RG_CLASS_INVALID,
	RG_CLASS_TRANSIENT,
	RG_CLASS_GONE,
	RG_CLASS_UNKNOWN,
	RG_CLASS_CANCELED,
} RgClass;
const char *rg_class_name(RgClass class_);
/* The diagnostic code of a failure of this class, "provider.capacity". */
const char *rg_class_code(RgClass class_);

typedef enum {
	RG_OUTCOME_DONE,
	RG_OUTCOME_PENDING,
	RG_OUTCOME_FAILED,
	RG_OUTCOME_UNSUPPORTED
} RgOutcome;

/* What became of one item of create, ready, update, remove. Verified: the address was asked for,
 * given once, attributes are of the schema. Items that the module forgot come back FAILED,
 * class unknown, not definite. */
typedef struct {
	char *address;
	RgOutcome outcome;
	char *id;
	json_t *attributes; /* may be NULL */
	char *operation;    /* what the cloud works on, for the next call; or NULL */
	RgClass class_;
	bool definite;					      /* the cloud certainly did nothing */
	char *code, *message, *hint, *request_id, *attribute; /* each may be NULL */
} RgItemResult;

/* All calls: `input` as in provider.h. GPtrArray of RgItemResult*, one per item of the input, in
 * its order; never NULL, also when the call failed as a whole (then each item carries the
 * failure, and diags has the module's words). */
GPtrArray *rg_provider_create(RgProvider *provider, const json_t *input, RgDiags *diags);
GPtrArray *rg_provider_ready(RgProvider *provider, const json_t *input, RgDiags *diags);
GPtrArray *rg_provider_update(RgProvider *provider, const json_t *input, RgDiags *diags);
GPtrArray *rg_provider_remove(RgProvider *provider, const json_t *input, RgDiags *diags);

/* Unreadable attributes as the cloud has them ("" = none), in `attributes`: secrets may be in them.
 * Only when the module offers "reveal". */
GPtrArray *rg_provider_reveal(RgProvider *provider, const json_t *input, RgDiags *diags);

/* Whose resources the credentials reach: *id (g_free) stays NULL when the module doesn't report it.
 * False and diagnostics when it could not find out. */
bool rg_provider_account(RgProvider *provider, char **id, RgDiags *diags);

/* What the cloud says beforehand of things that are to be created, `creates` as in provider.h, as
 * findings: an error is one that the creation would meet. Without a place, but with an origin in
 * the spec where that is known. False with diagnostics, and no findings, when it could not be
 * asked. Only when the module offers "preflight". */
bool rg_provider_preflight(
	RgProvider *provider, const json_t *creates, RgDiags *findings, RgDiags *diags);

/* Facts document, a new reference; NULL and diagnostics. */
json_t *rg_provider_resolve(RgProvider *provider, const json_t *wants, RgDiags *diags);
/* Desired resources of a fitted cluster: the module's plus raygpu.secret.ray_token when the spec
 * requires token authentication. NULL and diagnostics. Needs no network. */
RgResourceSet *rg_provider_lower(RgProvider *provider, const json_t *fitted, RgDiags *diags);

/* One observed thing as a page has it: resource->presence is PRESENT or ABSENT ("gone"). The
 * callback takes the resource. Called from the thread of the call. */
typedef void (*RgObservedFn)(void *data, RgResource *resource);
/* What one call of `list` reads. */
typedef struct {
	const char *const *kinds; /* NULL-ended: one, or several of one listing (RgKind.listing) */
	const char *cluster, *lineage; /* lineage may be NULL */
	const json_t *known;	       /* {kind: [id, ...]}; NULL = none */
} RgListing;
/* false and diagnostics when the reading failed or ended without "done": then what was handed over
 * must be thrown away. */
bool rg_provider_list(RgProvider *provider, const RgListing *listing, RgObservedFn observed,
	void *data, RgDiags *diags);
bool rg_provider_find(RgProvider *provider, const char *kind, const char *token,
	const json_t *marks, RgObservedFn observed, void *data, RgDiags *diags);
