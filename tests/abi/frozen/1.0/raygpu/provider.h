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
 * open     input {"region", "config": {the spec's provider mapping without name and region}}
 * resolve  input {"images": [{"key", "image": id or null, "arch": "x86_64"}], "network": bool,
 *                 "instance_types": [...], "zones": [...]}
 *          gives "facts": {"images": {key: {"id", "name", "arch", "root_device", "min_disk_gb"}},
 *                 "network": {"vpc_id", "subnets": {zone: subnet_id}},
 *                 "offerings": {instance_type: [zone, ...]}}     reading calls only
 * lower    input the fitted cluster (schemas/fitted.schema.json)  gives "resources": [
 *                 {"address", "kind", "name", "index": n or null, "group": pool or null,
 *                  "origin": JSON pointer into the spec, "attributes": {...},
 *                  "depends_on": [address, ...]}]                pure: no host call but result
 *          Attribute values may hold expressions that the host resolves at apply:
 *          {"$ref": ADDRESS, "attr": NAME}, {"$join": [text or expression, ...]},
 *          {"$gzip_base64": text or expression}.
 * list     input {"kind", "cluster", "lineage", "known": [id, ...]}
 *          gives "page" (any number): {"resources": [{"id", "address": derived from the marks or
 *                 null, "attributes": {the schema's attributes, no others}, "state": "present" |
 *                 "gone" (the cloud says so itself, e.g. terminated), "token": text or null,
 *                 "status": the cloud's word}]}
 *          and once "done": {"complete": true}. Lists what carries our lineage, then reads known
 *          ids that were not seen again by id. Ids of `known` in no page: the cloud doesn't know them.
 *          An error or a cut reply is a failed call, never a short list.
 * create   input {"kind", "token": 32 hex digits, "min_count": n, "marks": {"cluster", "lineage",
 *                 "pool", "indexes": "0-3,7", "commit", "run", "labels": {...}},
 *                 "items": [{"address", "index"}], "attributes": {one object for all items}}
 *          gives "item" once per item: {"address", "outcome": "done" | "failed", "id",
 *                 "attributes": {computed ones}, + failure fields}
 *          The same token with the same input gives the same resources, also after a lost answer.
 *          Partial success is normal: items that the cloud didn't give are "failed", class capacity.
 * ready    input {"kind", "items": [{"address", "id"}]}
 *          gives "item": {"address", "outcome": "done" | "pending" | "failed", "attributes", ...}
 *          One look, no waiting: the host polls.
 * update   input {"kind", "items": [{"address", "id", "attributes": wanted, "prior": observed,
 *                 "changed": [attribute, ...]}]}
 *          gives "item": {"address", "outcome": "done" | "failed" | "unsupported", "attributes"}
 * remove   input {"kind", "items": [{"address", "id"}]}
 *          gives "item": {"address", "outcome": "done" | "failed"}; gone counts as done
 * find     input {"kind", "token", "marks"}
 *          gives "page" and "done" as list: what was made under that token, in the order of creation
 *          (of the launch index); items carry "address" where it is known
 * preflight input {"creates": [...]}     gives "findings": [...]  (no module implements it yet)
 *
 * Failure fields of an item: "class" (RGP_CLASS_* by name: "capacity", "quota", "denied",
 * "throttled", "conflict", "invalid", "transient", "gone", "canceled", "unknown"), "code" (the cloud's),
 * "message", "request_id", "retry_after_ms", "attribute" (the one to blame, or absent),
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
#define RGP_ABI_MINOR 0

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
#define RGP_HTTP_READING 1u /* changes nothing at the server */

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
	/* JSON: {"type": "aws_sigv4", "region", "service", "access_key", "secret_key",
	 * "session_token"?}; empty = unsigned */
	struct rgp_bytes auth;
	/* JSON: {"ca_file"?, "cert_file"?, "key_file"?}; empty = the system's trust */
	struct rgp_bytes tls;
	const char *what;		/* name of the operation for traces, "RunInstances" */
	uint32_t timeout_ms, max_tries; /* 0 = the host's defaults */
	/* Called for each answer, from the thread of the call: an RGP_CLASS_*. THROTTLED and
	 * TRANSIENT are retried by the host with back-off; everything else is final. NULL: by
	 * status. */
	int32_t (*classify)(void *data, int32_t status, struct rgp_bytes body);
	void *classify_data;
};

/* Host's memory, good until the next http call of the same rgp_call or its return. */
struct rgp_http_resp {
	uint32_t size;
	int32_t status;
	struct rgp_bytes body;
	struct rgp_bytes headers; /* JSON object: lower-case name -> value */
	int64_t skew_s;		  /* server's clock minus ours; 0 = unknown */
	uint32_t tries, reserved;
};

struct rgp_diag {
	uint32_t size;
	int32_t severity; /* 0 error, 1 warning, 2 note */
	int32_t class_;	  /* RGP_CLASS_* */
	uint32_t reserved;
	const char *summary, *detail, *hint; /* detail and hint may be NULL */
	const char *code, *request_id;	     /* the cloud's; may be NULL */
	const char *address, *attribute;     /* may be NULL */
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
	/* runs a credential helper through no shell; stdout, at most 1 MiB, until the call returns
	 */
	rgp_status (*exec)(struct rgp_call *, const char *const *argv, uint32_t timeout_ms,
		struct rgp_bytes *output);
	void (*secret)(struct rgp_call *, struct rgp_bytes); /* redact this from now on */
	int64_t (*now)(struct rgp_call *);		     /* Unix seconds */
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
	rgp_fn update, ready, find, preflight;
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
