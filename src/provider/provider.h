/* Host side of the provider ABI: finds, loads, checks and calls modules. Only this folder and
 * base/module.c use dlopen. Modules stay loaded until the process ends. Calls may come from any
 * thread; without RGP_PARALLEL the host serialises them. */
#pragma once
#include "base/embedded.h"
#include "http/http.h"
#include "resource/resource.h"
#include "resource/schema.h"

/* raygpu's own modules: cmd/ passes this table (a NULL name ends it). Their data is embedded; their
 * code is linked in, or loaded when a call needs it. Neither `entry` nor `file`: there is only
 * data. */
struct rgp_provider;
typedef struct {
	const char *name;
	const struct rgp_provider *(*entry)(void);
	const struct rg_embedded *data; /* schema.json, *.csv */
	const char *file;		/* NAME.so of this build; used without `entry` */
} RgBuiltinProvider;

typedef struct {
	const RgBuiltinProvider *builtins;
	GStrv directories; /* --provider-dir, RAYGPU_PROVIDER_PATH (absolute), libdir: in this order
			    */
	const char *(*env)(const char *name); /* the environment, from cmd/ */
	const char *home;
} RgProviderHostOptions;

typedef struct RgProviderHost RgProviderHost;
typedef struct RgProvider RgProvider; /* an opened instance of a module */

RgProviderHost *rg_provider_host_new(const RgProviderHostOptions *options);
void rg_provider_host_free(RgProviderHost *host);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgProviderHost, rg_provider_host_free)

/* A data file of a provider without loading its module: bytes borrowed from the host, NULL if there
 * is none (no diagnostic). DIR/NAME/FILE if the module is DIR/NAME.so, else embedded: data and
 * module always come from the same place. */
const char *rg_provider_data(
	RgProviderHost *host, const char *provider, const char *file, size_t *len);
bool rg_provider_has(RgProviderHost *host, const char *provider, const char *file);
/* Its checked schema (cached, borrowed); NULL and a diagnostic. */
const RgSchema *rg_provider_schema(RgProviderHost *host, const char *provider, RgDiags *diags);

/* Checks the spec's settings of a provider against its schema.json: false and
 * provider.bad-config. */
bool rg_provider_check_config(
	RgProviderHost *host, const char *provider, const json_t *config, RgDiags *diags);
/* The same of a pool's settings, which are at `origin` in the spec. */
bool rg_provider_check_pool(RgProviderHost *host, const char *provider, const char *origin,
	const json_t *settings, RgDiags *diags);

/* For `providers list`: JSON array of {name, version, abi (major, only if ok), file (path or
 * "built-in"), state: "ok" | "refused", reason: text or null}. A bad file is a row, not an
 * error. */
json_t *rg_provider_host_list(RgProviderHost *host);

/* All that have a module or data, by name: NULL-ended, the caller frees. Not all are usable. */
GStrv rg_provider_host_names(RgProviderHost *host);

/* Loads and opens. `region`, `config` from the spec. `http`: of its transport, whose rate limits,
 * secrets and hints are filled in from the module's schema; NULL: no network. NULL and
 * provider.not-found | provider.refused | provider.bad-config | http.module. */
RgProvider *rg_provider_open(RgProviderHost *host, const char *name, const char *region,
	const json_t *config, const RgHttpOptions *http, RgDiags *diags);
/* For blob calls only. `store`: as in provider.h's open; parameters that the schema does not have
 * are the caller's fault. */
RgProvider *rg_provider_open_store(RgProviderHost *host, const char *name, const json_t *store,
	const RgHttpOptions *http, RgDiags *diags);
/* The name of the provider whose schema has the URL scheme in "stores", g_free; NULL: none has. */
char *rg_provider_of_scheme(RgProviderHost *host, const char *scheme);
void rg_provider_close(RgProvider *provider);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgProvider, rg_provider_close)
const char *rg_provider_name(const RgProvider *provider);
const RgSchema *rg_provider_get_schema(const RgProvider *provider);
bool rg_provider_offers(const RgProvider *provider, const char *call); /* "update", "ready", ... */
/* The module that this thread has called, and which call, or that it loads (`*call` is unchanged);
 * NULL: none. */
const char *rg_provider_running(const char **call);
/* Waits like the provider's transport: false if canceled. Any thread. */
bool rg_provider_sleep(RgProvider *provider, unsigned ms);
/* How long to wait before asking about something that was begun: `ms`, in tests at most the
 * back-off for loopback addresses if all requests so far went to these. Any thread. */
unsigned rg_provider_patience_ms(const RgProvider *provider, unsigned ms);
/* How long the cloud may show what was before a change: consistency_s of the kind, in tests of a
 * cloud at loopback addresses at most loopback_wait_s of the transport. Any thread. */
int64_t rg_provider_consistency_s(const RgProvider *provider, const RgKind *kind);
/* The same of changing_s; 0: the module does not offer "changing" for this kind. */
int64_t rg_provider_changing_s(const RgProvider *provider, const RgKind *kind);

/* Class of a failure, by its name in provider.h. */
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

/* The outcome of one item of create, ready, update, remove. Verified: the address was requested,
 * returned once, attributes are in the schema. Items that the module forgot are FAILED, class
 * unknown, not definite. */
typedef struct {
	char *address;
	RgOutcome outcome;
	char *id;
	json_t *attributes; /* may be NULL */
	char *operation;    /* the cloud's operation, for the next call; or NULL */
	char *text;	    /* console: what the machine printed, UTF-8; health and
			     * changing; else NULL */
	bool stale;	    /* console: not what it printed last */
	json_t *changed;    /* ready: names of attributes that an update must set; NULL: none */
	RgClass class_;
	bool definite; /* the cloud certainly did nothing */
	bool queued;   /* DONE of create, PENDING of ready: in a queue of the cloud, as message says
			*/
	char *code, *message, *hint, *request_id, *attribute; /* each may be NULL */
} RgItemResult;

/* All calls: `input` as in provider.h. GPtrArray of RgItemResult*, one per item of the input, in
 * its order; never NULL, even if the call failed as a whole (then each item has the failure, and
 * diags has the module's message). */
GPtrArray *rg_provider_create(RgProvider *provider, const json_t *input, RgDiags *diags);
GPtrArray *rg_provider_ready(RgProvider *provider, const json_t *input, RgDiags *diags);
GPtrArray *rg_provider_update(RgProvider *provider, const json_t *input, RgDiags *diags);
GPtrArray *rg_provider_remove(RgProvider *provider, const json_t *input, RgDiags *diags);

/* Unreadable attributes from the cloud ("" = none), in `attributes`, which may contain secrets.
 * Only if the module offers "reveal". */
GPtrArray *rg_provider_reveal(RgProvider *provider, const json_t *input, RgDiags *diags);

/* What machines printed on their consoles, in `text`. Only if the module offers "console". */
GPtrArray *rg_provider_console(RgProvider *provider, const json_t *input, RgDiags *diags);
/* Machines that the cloud itself reports as not well: why, in `text`, which completes the address;
 * NULL: well. Only if the module offers "health". */
GPtrArray *rg_provider_health(RgProvider *provider, const json_t *input, RgDiags *diags);
/* Changes that have not ended, in `text`; NULL: the cloud shows none of this resource. Only if the
 * module offers "changing". */
GPtrArray *rg_provider_changing(RgProvider *provider, const json_t *input, RgDiags *diags);

/* What the cloud's groups have launched for the elastic pools of these RgResource* of one kind,
 * each with an id: an array of {"address", "pool", "wants", "template", "refused", "members"}
 * (schemas/ calls.schema.json: group and member; null: unknown), one of each elastic pool, a new
 * reference; NULL and diagnostics. Only if the module offers "members". */
json_t *rg_provider_members(
	RgProvider *provider, const char *kind, const GPtrArray *records, RgDiags *diags);

/* What a task needs to be allowed (raygpu/provider.h, permissions): a new reference; NULL and
 * diagnostics. Only if the module offers "permissions". */
json_t *rg_provider_permissions(RgProvider *provider, const json_t *input, RgDiags *diags);
/* A fitted cluster as the text of a file of that form, one of the schema's (rg_schema_exports);
 * g_free. NULL and diagnostics. Needs no network. Only if the module offers "export". */
char *rg_provider_export(
	RgProvider *provider, const char *form, const json_t *fitted, RgDiags *diags);
/* Reserved capacity that can be bought (raygpu/provider.h, blocks): an array, a new reference; NULL
 * and diagnostics. Only if the module offers "blocks". */
json_t *rg_provider_blocks(RgProvider *provider, const json_t *input, RgDiags *diags);
/* The account of the credentials; each is NULL if the module does not report it. */
typedef struct {
	char *id;
	char *acting;	   /* which credentials these are, in words */
	char *credentials; /* where they were found; also if the cloud does not accept them */
} RgAccount;
void rg_account_clear(RgAccount *account);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RgAccount, rg_account_clear)
/* False and diagnostics if it could not be determined. */
bool rg_provider_account(RgProvider *provider, RgAccount *account, RgDiags *diags);

typedef struct {
	const char *cluster;
	const char *container_image; /* as in provider.h; may be NULL */
	const json_t *updates;	     /* likewise */
	bool applies;
} RgPreflightAbout;
/* What the cloud reports in advance about planned creations, `creates` as in provider.h, as
 * findings: an error is one that the creation would meet. Findings have no place, but an origin in
 * the spec if it is known. `limits` (may be NULL) gets the "limit" of findings, by their address.
 * False with diagnostics, and no findings, if the cloud could not be
 * asked. Only if the module offers "preflight". */
bool rg_provider_preflight(RgProvider *provider, const RgPreflightAbout *about,
	const json_t *creates, RgDiags *findings, json_t *limits, RgDiags *diags);

/* Which of the permissions that rg_provider_permissions names for this input the user lacks, as
 * findings; `tested`: how many were tested, 0 if the module can't. False with diagnostics, and no
 * findings, if the cloud could not be asked. Only if the module offers "preflight". */
bool rg_provider_test_permissions(RgProvider *provider, const char *cluster,
	const json_t *permissions, RgDiags *findings, size_t *tested, RgDiags *diags);

/* Facts document, a new reference; NULL and diagnostics. */
json_t *rg_provider_resolve(RgProvider *provider, const json_t *wants, RgDiags *diags);
/* The facts of a provider without zones, as far as they are known without asking: everything is
 * offered, and images have the ids of the spec, or "none". A new reference. */
json_t *rg_provider_known_facts(const RgSchema *schema, const json_t *wants);
/* Desired resources of a fitted cluster: the module's, plus raygpu.secret.ray_token if the spec
 * requires token authentication. NULL and diagnostics. Needs no network. */
RgResourceSet *rg_provider_lower(RgProvider *provider, const json_t *fitted, RgDiags *diags);

/* One observed resource of a page: resource->presence is PRESENT or ABSENT ("gone"). The callback
 * takes ownership of the resource. Called on the thread of the call. */
typedef void (*RgObservedFn)(void *data, RgResource *resource);
/* What one call of `list` reads. */
typedef struct {
	const char *const *kinds; /* NULL-ended: one, or several of one listing (RgKind.listing) */
	const char *cluster, *lineage; /* lineage may be NULL */
	const json_t *known;	       /* {kind: [id, ...]}; NULL = none */
	bool rebuild; /* the state is lost: what cannot be asked may have anything */
} RgListing;
/* false and diagnostics if the read failed or ended without "done": then discard everything that
 * was passed on. */
bool rg_provider_list(RgProvider *provider, const RgListing *listing, RgObservedFn observed,
	void *data, RgDiags *diags);
bool rg_provider_find(RgProvider *provider, const char *kind, const char *token,
	const json_t *marks, RgObservedFn observed, void *data, RgDiags *diags);

/* Objects of a store (provider.h, blob_get). */
typedef struct {
	char *version;
	int64_t modified_s, now_s; /* of the server's clock; 0: unknown */
	GBytes *content;
} RgBlob;
void rg_blob_clear(RgBlob *blob);
/* ABSENT: there is none, or for a put, its condition does not hold. FAILED has diagnostics. */
typedef enum { RG_BLOB_DONE, RG_BLOB_ABSENT, RG_BLOB_FAILED } RgBlobResult;
RgBlobResult rg_provider_blob_get(
	RgProvider *provider, const char *name, RgBlob *blob, RgDiags *diags);
/* `version` NULL: it must not exist. *written (g_free): its new version. */
RgBlobResult rg_provider_blob_put(RgProvider *provider, const char *name, GBytes *content,
	const char *version, char **written, RgDiags *diags);
bool rg_provider_blob_delete(RgProvider *provider, const char *name, RgDiags *diags);
/* Appends names to `names` (char*); `advise`: notes about the place go to the diagnostics. */
bool rg_provider_blob_list(
	RgProvider *provider, const char *prefix, bool advise, GPtrArray *names, RgDiags *diags);
