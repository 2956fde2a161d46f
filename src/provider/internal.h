/* Shared by the files of src/provider: a module as found and loaded, an opened instance, and one
 * running call. Order: find -> load -> check -> call (host, http, exec serve it) -> items | pages |
 * lower. A host owns its modules and the handles of all calls; a call is on the stack of the thread
 * that makes it. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "abi/raygpu/provider.h"
#include "base/json_schema.h"
#include "provider/provider.h"

/* Why a module cannot be used, and what to do about it. Both NULL: it can. */
typedef struct {
	char *reason, *remedy;
} RgRefusal;
void rg_refusal_clear(RgRefusal *refusal);
/* Sets reason (`format`) and remedy once; returns false, so that a check can return it. */
bool rg_refuse(RgRefusal *refusal, const char *remedy, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* One provider by name: the first file of that name in the directories, or the built-in one. */
typedef struct {
	char *name;
	char *file;			  /* NULL: built in */
	const RgBuiltinProvider *builtin; /* NULL: a file */
	bool loaded;			  /* loading was tried: table or refusal is set */
	const struct rgp_provider *table;
	RgRefusal refusal;
	RgSchema *data_schema; /* from the data file, without loading the module */
	RgSchema *schema;      /* from the module's own `schema` call */
	bool checked;	       /* `schema` or refusal is set */
} RgModule;

struct RgProviderHost {
	const RgBuiltinProvider *builtins;
	GStrv directories;
	const char *(*env)(const char *name);
	char *home;
	pthread_mutex_t lock; /* the tables below; schema, open and close calls */
	GHashTable *modules;  /* name -> RgModule* */
	GHashTable *files;    /* path -> GBytes* */
	pthread_mutex_t handles_lock;
	RgJsonSchema *calls; /* schemas/calls.schema.json, once it is needed */
	GPtrArray *handles;  /* struct rgp_call*: never reused, so that a stale one is recognized */
};

struct RgProvider {
	RgProviderHost *host;
	RgModule *module;
	RgHttp *http; /* NULL: no network */
	unsigned loopback_backoff_ms, loopback_wait_s;
	struct rgp_inst *inst;
	pthread_mutex_t turn; /* held during a call unless the module sets RGP_PARALLEL */
};

/* find.c */
bool rg_builtin_has_code(const RgBuiltinProvider *builtin); /* NULL has none */
/* NULL and the reason (what was searched, and where) if there is none. */
RgModule *rg_provider_module_find(RgProviderHost *host, const char *name, RgDiags *diags);
/* True if modules may be loaded from the directory; else `why` (g_free) unless it does not
 * exist. */
bool rg_provider_module_dir_is_usable(const char *dir, char **why);
void rg_provider_module_free(RgModule *module);
/* The data file, borrowed from the host's cache; NULL if there is none. */
const char *rg_provider_module_data(
	RgProviderHost *host, const char *name, const char *file, size_t *len);

/* load.c */
bool rg_provider_module_name_is_valid(const char *name);
/* Sets table or refusal, once. */
bool rg_provider_module_load(RgModule *module);
/* The name of the module that this thread is loading; NULL: none. */
const char *rg_provider_module_loading(void);

/* provider.c: loads and checks once; false if refused. Requires the host's lock. */
bool rg_provider_module_make_ready(RgProviderHost *host, RgModule *module);

/* check.c */
/* Checks a schema.json against schemas/provider-schema.json and for what that cannot express. */
RgSchema *rg_provider_module_check_schema(
	const char *name, const char *where, json_t *document, RgRefusal *why);
bool rg_provider_module_check_config(
	const char *name, const RgSchema *schema, const json_t *config, RgDiags *diags);
/* Of a pool, whose `provider` is at `origin` in the spec. */
bool rg_provider_module_check_pool(const char *name, const RgSchema *schema, const char *origin,
	const json_t *settings, RgDiags *diags);

typedef struct RgCall RgCall;
/* Gets each result of a running call, as schemas/calls.schema.json has it; it may change `value`
 * but needs a reference to keep it. Reports other faults through rg_call_bad. Only an "item" comes
 * also if parts of it are wrong. */
typedef void (*RgSlotFn)(RgCall *call, const char *slot, json_t *value);

/* What a call may use of the host. */
#define RG_CALL_READS 1u   /* environment, files, helpers, reading requests */
#define RG_CALL_CHANGES 2u /* also requests that change something */
#define RG_CALL_PAGES 4u   /* results are passed on as they come: the limit applies to each */

struct rgp_call {
	pthread_t thread;
	_Atomic(RgCall *) live; /* NULL after the call returned */
	atomic_bool misused;	/* came from another thread */
};

struct RgCall {
	RgProviderHost *host;
	const RgModule *module;
	const RgSchema *schema; /* NULL in `schema` itself */
	RgHttp *http;
	const char *verb;
	unsigned flags;
	RgSlotFn slot;
	json_t *given;		  /* set of the results that come once, and have */
	struct rgp_bytes content; /* for args->content */
	GBytes **answer; /* gets the result "content", which is not JSON; NULL: there is none */
	void *data;
	RgDiags *diags;
	RgDiags *reasons; /* why requests and helpers failed: reported only if the call fails */
	struct rgp_call *handle;
	GPtrArray *kept;      /* memory lent to the module until the call returns */
	GPtrArray *exchanges; /* the newest requests and their answers: http.c */
	size_t result_bytes;
	unsigned barren;   /* consecutive answers with nothing new: http.c */
	unsigned repeats;  /* of these, answers to requests that were sent before */
	GHashTable *asked; /* digests of the requests of these; NULL: none */
	int64_t barren_ms; /* since when */
	unsigned bad_count, diag_count, errors;
	RgClass last;			   /* how the newest request ended */
	int last_status;		   /* its HTTP status; 0: no answer or no request */
	rgp_status status;		   /* of the whole call, after rg_call_end */
	RgClass class_;			   /* of the failure of the whole call */
	char *message, *code, *request_id; /* of that failure; may be NULL */
};

/* call.c */
/* The module's function, NULL if it does not offer the call; and what it may use of the host. */
rgp_fn rg_call_function(const struct rgp_provider *table, const char *verb, unsigned *flags);
/* Prepares `call`; the caller first sets everything not named here. */
void rg_call_begin(RgCall *call);
/* Evaluates how it ended: adds diagnostics if it failed without a message, sets status, class_, and
 * invalidates the module's handle. True if the call as a whole succeeded. */
bool rg_call_end(RgCall *call, rgp_status status);
void rg_call_clear(RgCall *call);
/* begin, the module's function, end. `call` may be NULL-initialised except for slot and data; clear
 * it afterwards. */
bool rg_call_make(
	RgCall *call, RgProvider *provider, const char *verb, const json_t *input, RgDiags *diags);
/* The running call of a handle, or NULL if it may not be used (here, now). */
RgCall *rg_call_enter(struct rgp_call *handle);
/* Keeps memory until the call returns; returns it. */
void *rg_call_keep(RgCall *call, void *memory);
/* The answers contained something new, or the module waits for a change: it is not an endless
 * list. */
void rg_call_has_news(RgCall *call);
/* The newest request of the call got no answer or was refused (401, 403). */
bool rg_call_was_refused(const RgCall *call);
/* A handler for calls that return one result, or none: stores it (json_t **data). */
void rg_call_take_one(RgCall *call, const char *slot, json_t *value);
/* results.c */
const char *rg_call_provider(const RgCall *call);
/* The module broke a rule: provider.bad-result, and the call fails as a whole. */
void rg_call_bad(RgCall *call, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* What follows: against schemas/calls.schema.json. */
/* False after rg_call_bad: not a result of the call, one too many, or not of its form. */
bool rg_result_fits(RgCall *call, const char *slot, const json_t *value);
/* rg_call_bad for each result that the call must have returned and has not. */
void rg_results_are_all(RgCall *call);
/* Ends the program if raygpu itself breaks the contract, and RAYGPU_CHECK_CALLS is set: in tests.
 */
void rg_call_check_input(const RgCall *call, const json_t *input);
/* counted.c: false with rg_call_bad if lowered resources do not stand for the fitted nodes. */
bool rg_lowered_nodes_are_counted(RgCall *call, const RgResourceSet *set, const json_t *fitted);
/* Not empty, not huge, no control characters. NULL is not sound. */
bool rg_provider_id_is_sound(const char *id);
bool rg_call_canceled(RgCall *call);
bool rg_call_sleep(RgCall *call, unsigned ms);

/* host.c, http.c, exec.c */
extern const struct rgp_host rg_provider_services;
rgp_status rg_provider_http(
	struct rgp_call *handle, const struct rgp_http_req *req, struct rgp_http_resp *resp);
rgp_status rg_provider_http_all(struct rgp_call *handle, const struct rgp_http_req *const *reqs,
	size_t n, struct rgp_http_resp *const *resps);
rgp_status rg_provider_exec(
	struct rgp_call *handle, const struct rgp_exec_req *req, struct rgp_bytes *output);
rgp_status rg_provider_exec_all(struct rgp_call *handle, const struct rgp_exec_req *const *reqs,
	size_t n, struct rgp_exec_resp *const *resps);

/* class.c */
RgClass rg_class_find(const char *name, bool *known);
RgClass rg_class_of_code(const char *diag_code);

/* text.c: makes a module's text safe to show: valid UTF-8, no control characters except line feeds,
 * short, secrets replaced. NULL stays NULL. */
char *rg_text_clean(const char *text);

/* attrs.c */
/* Removes null, unknown and wrongly typed members from `attributes`; each of the latter two is
 * rg_call_bad. True if nothing was wrong. `whose` is for the message. */
bool rg_attributes_verify(RgCall *call, const RgKind *kind, json_t *attributes, const char *whose);
/* Value of the attribute's type, or (if allowed) an expression. */
bool rg_attribute_fits(const RgAttribute *attribute, const json_t *value);
