/* clang-format off */
/* raygpu provider ABI, version 1 (not frozen before three providers live on it).
 *
 * A provider module is a shared object (or the same source linked statically with RGP_STATIC) that
 * exports one function, raygpu_provider_v1(), returning a static constant table. All that crosses
 * are the structs below, each starting with its size, and UTF-8 JSON bytes. Rules:
 *  - Structs only grow at the end; a field exists when `size` covers it (RGP_HAS).
 *  - Nobody frees the other side's memory. Arguments live until the call returns. Results go
 *    through host->result, which copies.
 *  - The module opens no socket, starts no thread, reads no environment and no file by itself, and
 *    writes to no descriptor: http, env, read_file, exec, sleep, log go through the host, with the
 *    rgp_call of the running call, from the thread that runs it.
 *  - schema, open, close come from one thread at a time; the rest from any thread, overlapping
 *    when the module sets RGP_PARALLEL.
 *
 * THE CALLS (args->input is one JSON object; "gives" are slots for host->result):
 *
 * schema   input {}                      gives "schema": the module's schema.json
 * open     input {"region" ("": the schema says that there are none), "config": {the spec's provider mapping without name and region}}
 * resolve  input {"images": [{"key", "image": id or null, "arch": "x86_64", "driver": "open" or
 *                 "proprietary" (GPUs older than Turing don't work with NVIDIA's open kernel
 *                 modules), "origin": JSON pointer into the spec}],
 *                 "place": bool, "instance_types": [...], "zones": [...]}
 *          gives "facts": {"images": {key: {"id", "name", "arch", "root_device", "min_disk_gb",
 *                 "driver": {"version": NVIDIA's, or an older one, or null, "modules": "open" or
 *                 "proprietary"} where the image's is known}},
 *                 "zones": [those that nodes can be placed in], "module": {what lower will need,
 *                 in any form}, "offerings": {instance_type: [zone, ...]}}  reading calls only.
 *          "zones" and "module" are needed only when "place" is true, and "module" is optional. The
 *          host keeps the facts and hands them to lower. It asks for the place again when a setting
 *          changes that the schema marks with "x-raygpu-resolve", and places nodes in zones that
 *          are keys of settings marked with "x-raygpu-zones" only.
 * lower    input the fitted cluster (schemas/fitted.schema.json)  gives "resources": [
 *                 {"address", "kind", "name", "index": n or null, "group": pool or null,
 *                  "origin": JSON pointer into the spec, "nodes": [which Ray nodes it stands for],
 *                  "attributes": {...},
 *                  "depends_on": [address, ...]}]                pure: no host call but result
 *          Nodes that differ in nothing but their index may stand as one: "address" without an index,
 *          "index" null, and "indexes": [n, ...].
 *          "nodes" has an object for each pool: {"pool", "role": "head" or "worker", "count": n}, or
 *          "min" and "max" in place of "count" for an elastic pool (only where the schema says
 *          "elastic"): the fitted cluster gives such a pool "min", "max" and no "indexes". A machine
 *          has one object with "count" 1, a resource that is a whole cluster one for each pool. With
 *          "first": n it says which number in the pool its first node has; absent: its index times
 *          "count". Resources of kinds with "node": true have "nodes", others don't; together they
 *          stand for the nodes of the fitted cluster, no more and no fewer: costs, budgets, policies
 *          and GPUs are counted by them, at the prices of the pools' offers.
 *          Attribute values may hold expressions that the host resolves at apply:
 *          {"$ref": ADDRESS, "attr": NAME}, {"$join": [text or expression, ...]},
 *          {"$gzip_base64": text or expression}. A node's "boot" is what it boots from, as the
 *          schema's "boot" says; {"$ref": "@head", "attr": "address"} in it stands for the head's
 *          address: the module puts a reference to its own resource and attribute there.
 * list     input {"kinds": [kind, ...], "cluster", "lineage", "known": {kind: [id, ...]}}
 *          gives "page" (any number): {"kind": of its resources (may be absent when one kind was asked
 *                 for), "resources": [{"id", "address": derived from the marks or
 *                 null, "attributes": {the schema's attributes, no others}, "state": "present" |
 *                 "gone" (the cloud says so itself, e.g. terminated), "token": text or null,
 *                 "status": the cloud's word, "nodes": {pool: how many run now, of an elastic
 *                 pool}, "shared": n}], "shared": [{attributes}, ...]}: what many
 *                 of a page have alike may stand once in its "shared"; "shared": n of a resource adds
 *                 those of the n-th (from 0) to its own "attributes", which win. Both are optional.
 *          and once "done": {"complete": true}. Lists what carries the cluster's name and a lineage,
 *          whichever it is, then reads known ids that were not seen again by id. Ids of `known` in no
 *          page: the cloud doesn't know them. An error or a cut reply is a failed call, never a short
 *          list. What carries another lineage than "lineage" reports it as "lineage", and it has
 *          no "address", nor has a known id that carries another cluster's name: the host refuses
 *          to create a cluster under a name that is taken. With "lineage" null (nothing was applied
 *          yet, or `raygpu state rebuild`) each resource has its "lineage" and its "address".
 *          "kinds" is one kind; or several of those that have the same word "listing" in the schema,
 *          because the cloud answers them together (one query over all resources). The module then
 *          gives the resources of one answer as one page a kind. Kinds that the cloud answers apart
 *          have no such word: the host lists them side by side.
 * create   input {"kind", "token": 32 hex digits, "min_count": n, "marks": {"cluster", "lineage",
 *                 "pool", "indexes": "0-3,7", "commit", "run", "labels": {...}},
 *                 "items": [{"address", "index"}], "attributes": {one object for all items}}
 *          gives "item" once per item: {"address", "outcome": "done" | "failed", "id",
 *                 "attributes": {computed ones}, "operation", + failure fields}
 *          "marks" are put on all that is made, under names of the module's own, so that list can
 *          tell them. Their values match the schema's "marks.value"; "indexes" has at most
 *          "marks.indexes_max" characters, or the call would have had fewer items.
 *          The same token with the same input gives the same resources, also after a lost answer.
 *          Partial success is normal: items that the cloud didn't give are "failed", class capacity.
 *          "min_count" above 1 (a gang pool): where the cloud can, it gives so many or none of them.
 *          What still comes short, the host removes again.
 * ready    input {"kind", "items": [ITEM, ...]}
 *          gives "item": {"address", "outcome": "done" | "pending" | "failed", "attributes", ...}
 * update   input {"kind", "items": [ITEM with "attributes": wanted, "changed": [attribute, ...]]}
 *          Where "changed" has "marks" (only kinds whose schema says "updates_marks"), the marks on it
 *          name another address, observed's "marks" (absent: none of ours): the item has "marks":
 *          {"cluster", "lineage", "pool"} to write, together with what makes `list` report "address".
 *          gives "item": {"address", "outcome": "done" | "pending" | "failed" | "unsupported",
 *                 "attributes"}
 * remove   input {"kind", "items": [ITEM, ...]}
 *          gives "item": {"address", "outcome": "done" | "pending" | "failed"}; gone counts as done
 *
 *          An ITEM of these three is {"address", "id", "recorded", "observed", "operation"}:
 *          "recorded": the attributes that it was last made or updated to, references resolved, and
 *                 the computed ones as the module's answers last gave them, in this run or before.
 *                 Without sensitive and unreadable attributes.
 *          "observed": the attributes that `list` reported when the plan was made, and over them those
 *                 that answers of this run gave; null when it was not seen. Without sensitive ones. The
 *                 version that guards a change (an ETag, a resourceVersion) is the one in here.
 *          "operation": the text of the module's last answer, below; absent in the first call.
 *          "pending": the cloud works on it. One look, no waiting: the host makes the same call again
 *          after a while, with the item as it then is, until it is "done" or "failed", or the kind's
 *          ready_timeout_s, update_timeout_s or remove_timeout_s is over. update and remove are "pending"
 *          only in kinds that have the time-out. A look that "failed" is the end when it has the "id",
 *          is "definite" or of class denied; else the host looks again.
 *          "operation" of an answer (text, at most 4096 bytes): the cloud's name of what it works on. The
 *          next call for the same thing brings it back: the same call after "pending", ready after a create
 *          or update that is "done". An answer without it ends it. The host keeps it for one run: after an
 *          interrupted one the first call has none, and a removal that is under way already is
 *          "pending" again, or "done" when the thing is gone; it does not fail.
 * find     input {"kind", "token", "marks"}
 *          gives "page" and "done" as list: what was made under that token, in the order of creation
 *          (of the launch index); items carry "address" where it is known
 * reveal   input {"kind", "items": [{"address", "id"}]}
 *          gives "item": {"address", "outcome": "done" | "failed", "attributes": those unreadable ones
 *          that cost a request a resource, "" = it has none}; reading calls only. The host takes their
 *          values for secrets.
 * account  input {}   gives "account": {"id": text}: whose resources the credentials reach, as the cloud
 *          names it; reading calls only. The host keeps it with the state, and works on a cluster
 *          with no other account's credentials. It runs beside `list`, so it may take as long.
 * preflight input {"creates": [{"kind", "group": pool or null, "count": n, "addresses": [...],
 *                 "attributes": {the wanted ones, with expressions}, "origin": JSON pointer into the
 *                 spec, "replaces": true when as many are removed for it}]}
 *          gives "finding" (any number): {"severity": "error" | "warning" | "note", "class", "message",
 *                 "detail", "hint", "code", "request_id", "address", "attribute", "origin"}
 *          What the cloud says of these creates before they are made: quota, permissions, capacity;
 *          reading calls only (a dry run is one). "severity", "class" and "message" are required. An
 *          error is what a create would meet: the plan is not applied, and ends with the exit code of
 *          its class. Without "origin" the one of "address" is taken. The host calls it once a plan or
 *          apply that creates something. When it fails, the plan goes on with a warning.
 *
 * Failure fields of an item: "class" (RGP_CLASS_* by name: "capacity", "quota", "denied",
 * "throttled", "conflict", "invalid", "transient", "gone", "canceled", "unknown"), "code" (the cloud's),
 * "message", "hint" (what to do about it), "request_id", "retry_after_ms", "attribute" (the one to
 * blame; both may be absent),
 * "definite": true when the cloud certainly did nothing. A call that fails as a whole calls
 * host->diag and returns RGP_FAIL. */
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
#define RGP_HTTP_READING 1u   /* changes nothing at the server */
#define RGP_HTTP_HIDE_BODY 2u /* traces show neither its body nor the answer's */
/* flags of struct rgp_exec_req */
#define RGP_EXEC_READING 1u /* the program changes nothing in the cloud */

/* true when the struct that `p` points to is long enough to hold `field` */
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
	 *   "ca_file", "ca_pem"       authorities to trust instead of the system's
	 *   "cert_file", "cert_pem"   client certificate, and its key in "key_file", "key_pem"
	 *   "server_name"             the name in the server's certificate, where it is not the URL's
	 *   "proxy_url"               the proxy to use; "" = none
	 *   "unix_socket"             path of the socket to connect to
	 * Loopback and link-local addresses are never asked through the environment's proxy. There
	 * is no way to switch verification off. */
	/* clang-format on */
	struct rgp_bytes connection;
	const char *what;		/* name of the operation for traces, "RunInstances" */
	uint32_t timeout_ms, max_tries; /* 0 = the host's defaults */
	/* Called for each answer, and calls no host function: gives an RGP_CLASS_*. THROTTLED and
	 * TRANSIENT are retried by the host with back-off; everything else is final. NULL: by
	 * status. */
	int32_t (*classify)(void *data, int32_t status, struct rgp_bytes body);
	void *classify_data;
};

/* Host's memory, good until the next http or http_all of the same rgp_call, or its return. */
struct rgp_http_resp {
	uint32_t size;
	int32_t status;
	struct rgp_bytes body;
	struct rgp_bytes headers; /* JSON object: lower-case name -> value */
	int64_t skew_s;		  /* server's clock minus ours; 0 = unknown */
	uint32_t tries, reserved;
};

/* A program to run, without a shell. It gets raygpu's environment and `env` on top of it. */
struct rgp_exec_req {
	uint32_t size, flags;
	const char *const *argv; /* NULL-ended */
	const char *const *env;	 /* "NAME=value", NULL-ended; may be NULL */
	struct rgp_bytes input;	 /* its standard input; may be empty */
	uint32_t timeout_ms;	 /* 0 = a minute */
	uint32_t reserved;
};

struct rgp_diag {
	uint32_t size;
	int32_t severity; /* 0 error, 1 warning, 2 note */
	int32_t class_;	  /* RGP_CLASS_* */
	uint32_t reserved;
	const char *summary, *detail, *hint; /* detail and hint may be NULL */
	const char *code, *request_id;	     /* the cloud's; may be NULL */
	const char *address, *attribute;     /* may be NULL */
	/* JSON pointer into the spec of what is to blame, "/provider/endpoint"; may be
	 * NULL */
	const char *origin;
};

struct rgp_host {
	uint32_t size, abi_major, abi_minor, reserved;
	/* RGP_OK: an answer came, whatever its status; RGP_FAIL: none did (the host has the reason
	 * and puts it into the diagnostics); RGP_CANCELED. */
	rgp_status (*http)(struct rgp_call *, const struct rgp_http_req *, struct rgp_http_resp *);
	void (*diag)(struct rgp_call *, const struct rgp_diag *);
	rgp_status (*result)(struct rgp_call *, const char *slot, struct rgp_bytes json);
	void (*log)(struct rgp_call *, int32_t level, const char *message);
	int32_t (*canceled)(struct rgp_call *);
	rgp_status (*sleep_ms)(struct rgp_call *, uint32_t ms); /* RGP_CANCELED when cut short */
	/* NULL when unset; the host's memory, good for the whole process */
	const char *(*env)(struct rgp_call *, const char *name);
	/* "~/" is the user's home; good until the call returns; RGP_FAIL when unreadable (and no
	 * diagnostic) */
	rgp_status (*read_file)(struct rgp_call *, const char *path, struct rgp_bytes *content);
	/* Runs a program, such as a credential helper. *output is what it wrote to its standard
	 * output, at most 1 MiB, good until the call returns. RGP_FAIL when it could not be run,
	 * ended with another status than 0, or took too long. Reading calls may run only programs
	 * that are marked RGP_EXEC_READING. */
	rgp_status (*exec)(
		struct rgp_call *, const struct rgp_exec_req *, struct rgp_bytes *output);
	void (*secret)(struct rgp_call *, struct rgp_bytes); /* redact this from now on */
	int64_t (*now)(struct rgp_call *);		     /* Unix seconds */
	/* Sends n requests side by side and returns when all have ended. RGP_OK: each got an
	 * answer; else the status of the first that got none, whose resps[i]->status is 0.
	 * `classify` may be called from other threads, for one request from one at a time. */
	rgp_status (*http_all)(struct rgp_call *, const struct rgp_http_req *const *reqs, size_t n,
		struct rgp_http_resp *const *resps);
};

struct rgp_args {
	uint32_t size, flags;
	struct rgp_bytes input; /* JSON, followed by a NUL that len does not count */
};

typedef rgp_status (*rgp_fn)(
	struct rgp_inst *, const struct rgp_host *, struct rgp_call *, const struct rgp_args *);

struct rgp_provider {
	uint32_t size, abi_major, abi_minor, flags;
	const char *name, *version;
	/* required */
	rgp_status (*schema)(const struct rgp_host *, struct rgp_call *);
	rgp_status (*open)(const struct rgp_host *, struct rgp_call *, const struct rgp_args *,
		struct rgp_inst **);
	void (*close)(struct rgp_inst *);
	rgp_fn resolve, lower, list, create, remove;
	/* optional: NULL = not offered */
	rgp_fn update, ready, find, preflight, reveal;
	rgp_fn account; /* since ABI 1.1 */
			/* append below this line */
};

#ifdef RGP_STATIC
#define RGP_ENTRY(name) const struct rgp_provider *raygpu_provider_v1_##name(void)
#elif defined(__GNUC__)
#define RGP_ENTRY(name)                                                                            \
	__attribute__((visibility("default"))) const struct rgp_provider *raygpu_provider_v1(void)
#else
#define RGP_ENTRY(name) const struct rgp_provider *raygpu_provider_v1(void)
#endif
/* const struct rgp_provider *raygpu_provider_v1(void): of the module's whole life */
#ifndef RGP_STATIC
const struct rgp_provider *raygpu_provider_v1(void);
#endif

#ifdef __cplusplus
}
#endif
#endif
