/* clang-format off */
/* raygpu provider ABI, version 1.
 *
 * A provider module is a shared object (or the same source linked statically with RGP_STATIC) that
 * exports one function, raygpu_provider_v1(), which returns a static constant table. Only the
 * structs below, each of which begins with its size, and UTF-8 JSON cross the boundary. Rules:
 *  - Structs grow at the end only; a field exists if `size` covers it (RGP_HAS).
 *  - Neither side frees memory of the other. Arguments are valid until the call returns. Results
 *    go through host->result, which copies them.
 *  - The module opens no socket, starts no thread, does not read the environment or files itself,
 *    and writes to no file descriptor: http, env, read_file, exec, sleep_ms and log go through the
 *    host, with the rgp_call of the running call, on the thread that runs it.
 *  - schema, open and close are called by one thread at a time; the others by any thread, and
 *    concurrently if the module sets RGP_PARALLEL.
 *
 * The calls and what they mean are at the members of struct rgp_provider. schemas/calls.schema.json has the form
 * of each call's input (args->input, one JSON object) and of its results, which the module passes to host->result by
 * name; the host checks them when they arrive. Members that the schema does not name are ignored, except
 * where it refuses them.
 *
 * Failure of an item: "class" (RGP_CLASS_* by name), "code" (the cloud's), "message", "hint" (what to do about it),
 * "request_id", "attribute" (the one at fault), "definite": true if the cloud certainly did nothing. After a definite
 * "capacity" the nodes are requested in other zones, markets and types; a "quota" applies to all zones. A call that
 * fails as a whole calls host->diag and returns RGP_FAIL. */
/* clang-format on */
#ifndef RAYGPU_PROVIDER_H
#define RAYGPU_PROVIDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RGP_ABI_MAJOR 1
#define RGP_ABI_MINOR 1

typedef int32_t rgp_status;
#define RGP_OK 0
#define RGP_FAIL (-1)
#define RGP_CANCELED (-5)
#define RGP_UNSUPPORTED (-6)

#define RGP_CLASS_OK 0
#define RGP_CLASS_CAPACITY 1
#define RGP_CLASS_QUOTA 2
#define RGP_CLASS_DENIED 3
#define RGP_CLASS_THROTTLED 4
#define RGP_CLASS_CONFLICT 5
#define RGP_CLASS_INVALID 6
#define RGP_CLASS_TRANSIENT 7
#define RGP_CLASS_GONE 8
#define RGP_CLASS_UNKNOWN 9
#define RGP_CLASS_CANCELED 10

#define RGP_LOG_INFO 1
#define RGP_LOG_DEBUG 2

/* flags of struct rgp_provider */
#define RGP_PARALLEL 1u
/* flags of struct rgp_http_req */
#define RGP_HTTP_READING 1u   /* changes nothing on the server */
#define RGP_HTTP_HIDE_BODY 2u /* traces omit the bodies of request and answer */
#define RGP_HTTP_PROBE 4u /* nobody need answer: if nobody does, that is no reason of a failure */
/* flags of struct rgp_exec_req */
#define RGP_EXEC_READING 1u /* the program changes nothing in the cloud */

/* true if the struct that `p` points to is long enough to contain `field` */
#define RGP_HAS(p, field) ((p)->size >= offsetof(__typeof__(*(p)), field) + sizeof((p)->field))

struct rgp_bytes {
	const char *data;
	size_t len;
};

/* opaque: a running call (host's), an instance (module's) */
struct rgp_call;
struct rgp_inst;

struct rgp_http_req {
	uint32_t size, flags;
	const char *method, *url;
	const char *const *headers; /* "Name: value", NULL-ended; may be NULL */
	struct rgp_bytes body;
	/* JSON, empty = none: {"type": "aws_sigv4", "region", "service", "access_key",
	 * "secret_key", "session_token"?}, {"type": "bearer", "token"}, {"type": "basic", "user",
	 * "password"} or
	 * {"type": "none"}. Every member is text. */
	struct rgp_bytes auth;
	/* clang-format off */
	/* JSON, empty = the system's trust and the environment's proxy; every member is optional text:
	 *   "ca_file", "ca_pem"       certificate authorities to trust instead of the system's
	 *   "cert_file", "cert_pem"   client certificate, and its key in "key_file", "key_pem"
	 *   "server_name"             the name in the server's certificate, if it is not the URL's
	 *   "proxy_url"               the proxy to use; "" = none
	 *   "unix_socket"             path of the socket to connect to
	 * Requests to loopback and link-local addresses never use the environment's proxy. There
	 * is no way to disable verification. */
	/* clang-format on */
	struct rgp_bytes connection;
	const char *what;		/* name of the operation for traces, "RunInstances" */
	uint32_t timeout_ms, max_tries; /* 0 = the host's defaults */
	/* Called for each answer; must call no host function. Returns an RGP_CLASS_*. THROTTLED and
	 * TRANSIENT are retried by the host with back-off; all others are final. NULL: by
	 * status. */
	int32_t (*classify)(void *data, int32_t status, struct rgp_bytes body);
	void *classify_data;
};

/* The host's memory, valid until the next http or http_all of the same rgp_call, or its return. */
struct rgp_http_resp {
	uint32_t size;
	int32_t status;
	struct rgp_bytes body;
	struct rgp_bytes headers; /* JSON object: lower-case name -> value */
	int64_t skew_s;		  /* server's clock minus ours; 0 = unknown */
	uint32_t tries, reserved;
};

/* A program to run, without a shell. Its environment is raygpu's plus `env`. */
struct rgp_exec_req {
	uint32_t size, flags;
	const char *const *argv; /* NULL-ended */
	const char *const *env;	 /* "NAME=value", NULL-ended; may be NULL */
	struct rgp_bytes input;	 /* its standard input; may be empty */
	uint32_t timeout_ms;	 /* 0 = a minute */
	uint32_t reserved;
};

/* How a program ended; the host's memory, valid until the call returns. Since ABI 1.1. */
struct rgp_exec_resp {
	uint32_t size;
	int32_t status; /* its exit status; 128 + n: signal n ended it; -1: it did not end */
	struct rgp_bytes output; /* of its standard output, at most 1 MiB */
	struct rgp_bytes errors; /* the first 64 KiB of its standard error */
};

struct rgp_diag {
	uint32_t size;
	int32_t severity; /* 0 error, 1 warning, 2 note */
	int32_t class_;	  /* RGP_CLASS_* */
	uint32_t reserved;
	const char *summary, *detail, *hint; /* detail and hint may be NULL */
	const char *code, *request_id;	     /* the cloud's; may be NULL */
	const char *address, *attribute;     /* may be NULL */
	/* JSON pointer to the cause in the spec, "/provider/endpoint"; may be
	 * NULL */
	const char *origin;
};

struct rgp_host {
	uint32_t size, abi_major, abi_minor, reserved;
	/* RGP_OK: an answer arrived, whatever its status; RGP_FAIL: none arrived (the host reports
	 * the reason as a diagnostic); RGP_CANCELED. */
	rgp_status (*http)(struct rgp_call *, const struct rgp_http_req *, struct rgp_http_resp *);
	void (*diag)(struct rgp_call *, const struct rgp_diag *);
	rgp_status (*result)(struct rgp_call *, const char *slot, struct rgp_bytes json);
	void (*log)(struct rgp_call *, int32_t level, const char *message);
	int32_t (*canceled)(struct rgp_call *);
	/* RGP_CANCELED when cut short. The host ends a call whose answers bring nothing new for ten
	 * minutes, as an endless list; in create, update, remove, blob_put and blob_delete, time
	 * before a pause does not count, so the module limits how long it waits for a change. */
	rgp_status (*sleep_ms)(struct rgp_call *, uint32_t ms);
	/* NULL if unset; the host's memory, valid for the whole process */
	const char *(*env)(struct rgp_call *, const char *name);
	/* "~/" is the user's home; valid until the call returns; RGP_FAIL if unreadable (and no
	 * diagnostic) */
	rgp_status (*read_file)(struct rgp_call *, const char *path, struct rgp_bytes *content);
	/* Runs a program, such as a credential helper. *output is what it wrote to its standard
	 * output, at most 1 MiB, valid until the call returns. RGP_FAIL when it could not be run,
	 * exited with a status other than 0, or timed out. Reading calls may run only programs
	 * that are marked RGP_EXEC_READING. */
	rgp_status (*exec)(
		struct rgp_call *, const struct rgp_exec_req *, struct rgp_bytes *output);
	void (*secret)(struct rgp_call *, struct rgp_bytes); /* redact this from now on */
	int64_t (*now)(struct rgp_call *);		     /* Unix seconds */
	/* Sends n requests concurrently and returns when all have ended. RGP_OK: each got an
	 * answer; otherwise the status of the first without one, whose resps[i]->status is 0.
	 * `classify` may be called from other threads, but never concurrently for one request. */
	rgp_status (*http_all)(struct rgp_call *, const struct rgp_http_req *const *reqs, size_t n,
		struct rgp_http_resp *const *resps);
	/* Replaces a file at once, readable by its owner only; its folder must exist. For caches
	 * that the cloud's other tools share, such as a renewed sign-in. "~/" is the user's home;
	 * RGP_FAIL when it cannot be written (and no diagnostic). */
	rgp_status (*write_file)(struct rgp_call *, const char *path, struct rgp_bytes content);
	/* Runs n programs, up to 32 at a time, and returns when all have ended. RGP_OK: each ran to
	 * its end, whatever its exit status; else RGP_FAIL or RGP_CANCELED, and the status of those
	 * that could not be run, timed out or wrote too much is -1. Otherwise as exec. Since
	 * ABI 1.1. */
	rgp_status (*exec_all)(struct rgp_call *, const struct rgp_exec_req *const *reqs, size_t n,
		struct rgp_exec_resp *const *resps);
};

struct rgp_args {
	uint32_t size, flags;
	struct rgp_bytes input;	  /* JSON, followed by a NUL that len does not count */
	struct rgp_bytes content; /* of blob_put; since ABI 1.1 */
};

typedef rgp_status (*rgp_fn)(
	struct rgp_inst *, const struct rgp_host *, struct rgp_call *, const struct rgp_args *);

/* clang-format off */
struct rgp_provider {
	uint32_t size, abi_major, abi_minor, flags;
	const char *name, *version;

	/* required */

	/* "schema": the module's schema.json. Pure. */
	rgp_status (*schema)(const struct rgp_host *, struct rgp_call *);
	/* Makes an instance for a region, with the spec's settings. With "offline" only pure calls follow; with
	 * "store" only blob calls. */
	rgp_status (*open)(const struct rgp_host *, struct rgp_call *, const struct rgp_args *,
		struct rgp_inst **);
	void (*close)(struct rgp_inst *);
	/* "facts": images, zones, offered types, reservations and descriptions of types, as far as the input asks for them. The host keeps the
	 * facts and passes them to lower. It requests the place again when a setting with "x-raygpu-resolve" in the schema
	 * changes. If a setting with "x-raygpu-zones" is given, nodes are placed only in the zones that are its keys.
	 * "stock" is how many nodes are free, if they are finite: raygpu asks again before each plan that needs one of such
	 * a type, and plans no more than these. Two clusters may plan the same ones: create then fails, class capacity. It
	 * says nothing about nodes that are recorded but gone: create or preflight must.
	 * Reading calls only. */
	rgp_fn resolve;
	/* The fitted cluster (schemas/fitted.schema.json) as "resources". Pure: no host function but result.
	 * Resources of kinds with "node": true have "nodes", others do not. Together they stand for exactly the nodes of
	 * the fitted cluster: costs, budgets, policies and GPU counts are based on them, at the prices of the pools'
	 * offers. A machine has one object with "count" 1; a resource that is a whole cluster has one for each pool. An
	 * elastic pool (only if the schema has "elastic") has "min" and "max", in the fitted cluster and here.
	 * A node's "config" has its pool's settings of the schema's "pool_config", as in the spec; absent if there are
	 * none.
	 * Attribute values may contain expressions that the host resolves at apply:
	 * {"$ref": ADDRESS, "attr": NAME}, {"$join": [text or expression, ...]}, {"$gzip_base64": text or expression}.
	 * A node's "boot" is what it boots from, as the schema's "boot" defines; {"$ref": "@head", "attr": "address"} in it
	 * stands for the head's address: the module replaces it with a reference to its own resource and attribute. */
	rgp_fn lower;
	/* Every resource with the cluster's name, of any lineage, as "page" (any number); then known ids that it has not
	 * seen, by id; once "done". If an id of `known` is in no page, the cloud does not have it. An error or a
	 * truncated reply is a failed call, never a short list. If only some of the known resources cannot be read, such as
	 * machines that do not answer, these have the state "unknown" and the reason as "status" (since ABI 1.1): they are
	 * neither changed nor created again. With "rebuild" nothing is known, so the call fails instead. A resource of another lineage than "lineage" has that
	 * lineage as "lineage" and no "address", and so has a known id with another cluster's name: the host refuses
	 * to create a cluster under a name that is taken. If "lineage" is null, each resource has its "lineage" and its
	 * "address". "kinds" is one kind, or several with the same "listing" in the schema, because the cloud returns
	 * them together (one query over all resources). The module then returns one page per kind for each answer. Kinds
	 * that the cloud lists separately have no "listing": the host lists them concurrently. */
	rgp_fn list;
	/* One "item" per item: "done" with its id and computed attributes, or "failed". The same token with the same
	 * input returns the same resources, even after a lost answer. Partial success is normal: items that the cloud
	 * did not create are "failed", class capacity. "min_count" above 1: if the cloud supports it, create at least that
	 * many, or none; the host removes an incomplete gang. "marks" are the ownership tags of everything that is
	 * created; the host limits the items so that "indexes" fits. */
	rgp_fn create;
	/* One "item" per item; gone counts as done. What is not destroyed but, say, given back has its words in the schema:
	 * "removal". One with "replaced" is done when it no longer takes up what the new one
	 * needs: its quota, its place in a reservation, its name, its addresses.
	 *
	 * For ready, update and remove: "pending" means that the cloud is working on it, or refuses it while others use
	 * it. Its "code" and "message" may say why. Check once, do not wait: the host repeats the call after a while, with
	 * the current item, until it is "done" or "failed", or the kind's ready_timeout_s, update_timeout_s or
	 * remove_timeout_s expires. update and remove may return "pending" only for kinds that have the time-out.
	 * "observed" of an item is where to take the version from that guards a change (an ETag, a resourceVersion).
	 * The host passes "operation" of an outcome to the next call for the same resource: the same call after "pending",
	 * ready after a create or update that is "done". An outcome without it ends it. The host keeps it for one run:
	 * the first call after an interrupted run has none. A removal that is already in progress is then "pending"
	 * again, or "done" if the resource is gone; it does not fail. */
	rgp_fn remove;

	/* optional: NULL = not offered */

	/* "unsupported": the host replaces the resource. With "force" take over what others own, in clouds that know an
	 * owner for each part of a resource; without it such a part is a failure of class "conflict".
	 * If "changed" has "marks" (only kinds with "updates_marks" in the schema), the marks in the cloud name another
	 * address, "marks" of observed (absent: they are not raygpu's). The item has the "marks" to write; write also
	 * what makes `list` report "address". Only kinds with "removes_marks" in the schema: "marks" is null, and "changed"
	 * has nothing else, when raygpu no longer manages the resource. Remove all ownership tags, also from what was
	 * created and tagged with it, and its lease, which would end it; change nothing else; "attributes" is then
	 * empty. Repeating it does no harm. */
	rgp_fn update;
	/* Whether what was created works. "queued" (also of create, and as "state" of list): it waits in a queue of the cloud,
	 * perhaps for days, and "message" ("status" of list) says where, as in "position 3 of 7 in the queue gpu". That is not a
	 * failure, and no time-out ends it: apply ends, unless the user waits for capacity, and plan and drift say so. With
	 * "done", "changed" names attributes that the cloud did not take over from the create or update ("recorded" has their values): the host then calls update for them, once in this run. Such
	 * an item counts as ready. A "failed" one is final if it has the "id", is "definite" or of class denied; otherwise the
	 * host checks again. */
	rgp_fn ready;
	/* "page" and "done" like list: what was created under that token, in the order of creation (of the launch index);
	 * items have "address" if it is known. "unknown" means that it was created and may still exist: nothing is created
	 * in its place. If something was not searched, the call fails, because an empty answer counts as a proof. */
	rgp_fn find;
	/* "finding" (any number): what the cloud reports about these changes in advance: quota, permissions, capacity.
	 * Reading calls only (a dry run is one). An error is what the change would meet: the plan is not applied, and the
	 * run exits with the code of the error's class. The host calls it once per plan or apply that makes one of these
	 * changes. If it fails, the plan continues with a warning. About "permissions": a warning for each that is missing,
	 * and "tested"; a module whose cloud does not report them ignores it. */
	rgp_fn preflight;
	/* The unreadable attributes that cost one request per resource, "" = it has none; reading calls only. The host
	 * treats their values as secrets. */
	rgp_fn reveal;

	/* optional, since ABI 1.1 */

	/* "credentials", before the cloud is asked, so that it is known if the cloud refuses them (`raygpu doctor` shows
	 * it); and "account", which raygpu shows before a plan. The host records it in the state, and refuses to work on the
	 * cluster with credentials of another account. It runs concurrently with `list`. Reading calls only. */
	rgp_fn account;
	/* "item" with what the machine printed, as current as the cloud has it; "" = nothing yet. Reading calls only.
	 * Nodes that boot by cloud_init report there what they do (src/boot/README.md): raygpu waits for them after an apply
	 * only if the module offers the call. */
	rgp_fn console;
	/* "document": what the user must be allowed in the cloud for that task and spec, in the cloud's own form. Pure: no
	 * host function but result and diag. */
	rgp_fn permissions;
	/* "block" (any number): reserved capacity for a fixed time that the user can buy now. Reading calls only: raygpu
	 * never buys one. A duration or count that the cloud does not sell is a diagnostic of the class "invalid". */
	rgp_fn blocks;
	/* "item" for each machine that the cloud itself reports as not well (a failed status check, a maintenance event).
	 * One that is not returned is well. Reading calls only, and few: `raygpu drift` passes all machines of the
	 * cluster at once. */
	rgp_fn health;
	/* `export`, a keyword of C++. "document": the cluster as a file of a form of the schema's "exports". Pure: no host
	 * function but result and diag. The same input returns the same bytes. What is secret, such as Ray's token, is
	 * not in it. */
	rgp_fn export_form;
	/* Objects in which raygpu keeps its state, of modules whose schema has "stores"; all four or none. Reads and lists
	 * must show every write that was answered before.
	 * get: "blob", and "content": the bytes as they are, not JSON; neither if there is no such object.
	 * put: the bytes are in args->content; "blob", or nothing if the condition does not hold: then nothing was changed. A
	 * server that ignores conditions must be refused. If an answer is lost and the request is sent again, the condition
	 * may not hold because of the first one: the host finds out.
	 * delete: gone counts as done. list: "page" (any number), once "done". */
	rgp_fn blob_get, blob_put, blob_delete, blob_list;
	/* Elastic pools whose machines a group of the cloud launches and ends, as Ray asks: resources that stand for such
	 * pools are created and recorded; their machines are not, and `list` does not return them. Once for each pool of
	 * an item, "group": its desired number of machines, the template of new ones, and what the cloud refused since the
	 * last launch that succeeded. "page" (any number): members of one pool, each once, also those that start or leave;
	 * once "done". As many are "running" as "nodes" of list says. An item that the cloud does not have has neither. An
	 * error or a truncated reply is a failed call, never a short list. Reading calls only, and few: `raygpu drift`
	 * passes all such resources of a kind at once. */
	rgp_fn members;
	/* "item" for each resource of which the cloud reports a change that has not ended: "text" says which. The host calls
	 * it while a plan depends on an update whose end an interrupted run did not see: one that is not returned
	 * "changing_s" of the kind after it was sent has ended or never began, so nobody waits for it until
	 * update_timeout_s. If the cloud does not say, items are "failed", or the call fails. Reading calls only, and few: all
	 * such resources of a kind are passed at once. */
	rgp_fn changing;
	/* append below this line */
};
/* clang-format on */

#ifdef RGP_STATIC
#define RGP_ENTRY(name) const struct rgp_provider *raygpu_provider_v1_##name(void)
#elif defined(__GNUC__)
#define RGP_ENTRY(name)                                                                            \
	__attribute__((visibility("default"))) const struct rgp_provider *raygpu_provider_v1(void)
#else
#define RGP_ENTRY(name) const struct rgp_provider *raygpu_provider_v1(void)
#endif
/* const struct rgp_provider *raygpu_provider_v1(void): valid for the module's lifetime */
#ifndef RGP_STATIC
const struct rgp_provider *raygpu_provider_v1(void);
#endif

#ifdef __cplusplus
}
#endif
#endif
