/* clang-format off */
/* raygpu provider ABI, version 1 (not frozen until three providers use it).
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
 * THE CALLS (args->input is one JSON object; "returns" names the slots for host->result):
 *
 * schema   input {}                      returns "schema": the module's schema.json
 * open     input {"region" ("" if the schema has "regions": false), "config": {the spec's provider mapping without name and region},
 *                 "offline": true if only pure calls follow, which need no credentials; else absent,
 *                 "store": {"scheme", "place": what follows SCHEME:// up to the query, "parameters": {of the
 *                 query, text}} if only blob calls follow: such an instance has no settings of a spec}
 * resolve  input {"images": [{"key", "image": id or null, "arch": "x86_64", "driver": "open" or
 *                 "proprietary" (GPUs older than Turing do not work with NVIDIA's open kernel
 *                 modules), "origin": JSON pointer into the spec}],
 *                 "place": bool, "instance_types": [...], "zones": [...],
 *                 "reservations": [{"id", "origin", "own_image": true if the spec names the nodes'
 *                 image}], only if the schema has "reservation"}
 *          returns "facts": {"images": {key: {"id", "name", "arch", "root_device", "min_disk_gb",
 *                 "driver": {"version": NVIDIA's, or an older one, or null, "modules": "open" or
 *                 "proprietary"}, if the image's driver is known, "deprecated": date from which the
 *                 cloud no longer recommends it, "YYYY-MM-DD...", if it has one}},
 *                 "zones": [zones that nodes can be placed in], "zone_ids": {zone: its name in
 *                 prices.csv} (optional: the names are the same), "module": {data for lower, in any
 *                 form}, "offerings": {instance_type: [zone, ...]}, "reservations": {id: null if there
 *                 is none, or {"what": the cloud's term for it, "state": "usable", "planned" (it
 *                 starts later) or "over", "status": the cloud's word for that, "instance_type",
 *                 "zone", "total": nodes, "free": how many more fit, "prepaid": true if its nodes cost
 *                 nothing in addition, "start_s", "end_s", "clear_s": from when the cloud ends its
 *                 nodes (absent: they stay), "refused": why nodes cannot use it, if they cannot,
 *                 "others": [the same of reservations with this id in other zones], if the id is
 *                 unique in a zone only}}}
 *                 Reading calls only.
 *          "zones" and "module" are needed only if "place" is true, and "module" is optional. The
 *          host keeps the facts and passes them to lower. It requests the place again when a
 *          setting with "x-raygpu-resolve" in the schema changes. If a setting with
 *          "x-raygpu-zones" is given, nodes are placed only in the zones that are its keys.
 * lower    input the fitted cluster (schemas/fitted.schema.json)  returns "resources": [
 *                 {"address", "kind", "name", "index": n or null, "group": pool or null,
 *                  "origin": JSON pointer into the spec, "nodes": [the Ray nodes it stands for],
 *                  "attributes": {...}, "restart": what a change of an attribute with "restarts" in the
 *                  schema does to running work, for the plan (optional),
 *                  "depends_on": [address, ...]}]                Pure: no host function but result.
 *          Nodes that differ only in their index may be returned as one: "address" without an index,
 *          "index" null, and "indexes": [n, ...].
 *          "nodes" has an object for each pool: {"pool", "role": "head" or "worker", "count": n}, or
 *          "min" and "max" instead of "count" for an elastic pool (only if the schema has
 *          "elastic"): in the fitted cluster such a pool has "min", "max" and no "indexes". A machine
 *          has one object with "count" 1; a resource that is a whole cluster has one for each pool.
 *          "first": n is the index of its first node in the pool; the default is its own index times
 *          "count". Resources of kinds with "node": true have "nodes", others do not. Together they
 *          stand for exactly the nodes of the fitted cluster: costs, budgets, policies and GPU
 *          counts are based on them, at the prices of the pools' offers.
 *          Attribute values may contain expressions that the host resolves at apply:
 *          {"$ref": ADDRESS, "attr": NAME}, {"$join": [text or expression, ...]},
 *          {"$gzip_base64": text or expression}. A node's "boot" is what it boots from, as the
 *          schema's "boot" defines; {"$ref": "@head", "attr": "address"} in it stands for the head's
 *          address: the module replaces it with a reference to its own resource and attribute.
 * list     input {"kinds": [kind, ...], "cluster", "lineage", "known": {kind: [id, ...]}}
 *          returns "page" (any number): {"kind": of its resources (optional if one kind was
 *                 requested), "resources": [{"id", "address": derived from the marks, or
 *                 null, "attributes": {the schema's attributes, no others}, "state": "present" |
 *                 "gone" (the cloud itself reports it so, e.g. as terminated), "token": text or null,
 *                 "status": the cloud's term, "nodes": {pool: number of running nodes, of an elastic
 *                 pool}, "shared": n}], "shared": [{...}, ...]}: members that many resources of a
 *                 page have in common, such as "state" or some of the "attributes", may be written
 *                 once in its "shared"; "shared": n of a resource adds the members and attributes
 *                 of element n (from 0) to its own, which take precedence. Both are optional.
 *          and once "done": {"complete": true}. It lists every resource with the cluster's name,
 *          of any lineage, then reads known ids that it has not seen by id. If an id of `known` is in
 *          no page, the cloud does not have it. An error or a truncated reply is a failed call, never
 *          a short list. A resource of another lineage than "lineage" has that lineage as "lineage"
 *          and no "address", and so has a known id with another cluster's name: the host refuses
 *          to create a cluster under a name that is taken. If "lineage" is null (nothing has been
 *          applied, or `raygpu state rebuild`), each resource has its "lineage" and its "address".
 *          "kinds" is one kind, or several with the same "listing" in the schema,
 *          because the cloud returns them together (one query over all resources). The module then
 *          returns one page per kind for each answer. Kinds that the cloud lists separately
 *          have no "listing": the host lists them concurrently.
 * create   input {"kind", "token": 32 hex digits, "min_count": n, "marks": {"cluster", "lineage",
 *                 "pool", "indexes": "0-3,7", "commit", "run", "labels": {...}},
 *                 "items": [{"address", "index"}], "attributes": {one object for all items}}
 *          returns "item" once per item: {"address", "outcome": "done" | "failed", "id",
 *                 "attributes": {computed ones}, "operation", + failure fields}
 *          "marks" are the ownership tags of everything that is created, under names that the module
 *          chooses, so that list can recognize it. Their values match the schema's "marks.value";
 *          "indexes" has at most "marks.indexes_max" characters: the host limits the items accordingly.
 *          The same token with the same input returns the same resources, even after a lost answer.
 *          Partial success is normal: items that the cloud did not create are "failed", class capacity.
 *          "min_count" above 1 (a gang pool): if the cloud supports it, create at least that many, or
 *          none. The host removes an incomplete gang.
 * ready    input {"kind", "items": [ITEM with "in_use": true if a resource whose attribute with "attaches" in
 *                 the schema refers to it is ready], "no_wait": true if the user does not wait for nodes to
 *                 start, else absent: what exists is then "done"}
 *          returns "item": {"address", "outcome": "done" | "pending" | "failed", "attributes", ...}
 *          With "done", "changed": [attribute, ...] names attributes that can be changed in place and that the
 *          cloud did not take over from the create or update ("recorded" has their values). The host then calls
 *          update for them, once in this run. Such an item counts as ready.
 * update   input {"kind", "items": [ITEM with "attributes": desired, "changed": [attribute, ...]], "force": true
 *                 if the user lets raygpu take over what others own, in clouds that know an owner for each
 *                 part of a resource; else absent: such a part is then a failure of class "conflict"}
 *          If "changed" has "marks" (only kinds with "updates_marks" in the schema), the marks in the cloud
 *          name another address, "marks" of observed (absent: they are not raygpu's). The item has the
 *          "marks" to write, {"cluster", "lineage", "pool"}; write also what makes `list` report "address".
 *          Only kinds with "removes_marks" in the schema: "marks" is null, and "changed" has nothing else, when
 *          raygpu no longer manages the resource. Remove all ownership tags, also from what was created and
 *          tagged with it, and its lease, which would end it; change nothing else; "attributes" is then empty. Repeating it does no harm.
 *          returns "item": {"address", "outcome": "done" | "pending" | "failed" | "unsupported",
 *                 "attributes"}
 * remove   input {"kind", "items": [ITEM with "replaced": true if another is created in its place]}
 *          returns "item": {"address", "outcome": "done" | "pending" | "failed"}; gone counts as done.
 *          One with "replaced" is done when it no longer takes up what the new one needs: its quota,
 *          its place in a reservation, its name, its addresses.
 *
 *          An ITEM of these three is {"address", "id", "recorded", "observed", "operation"}:
 *          "recorded": the attributes of its last create or update, with references resolved, and
 *                 the computed ones that the module last returned, in this run or before.
 *                 Without sensitive and unreadable attributes.
 *          "observed": the attributes that `list` reported when the plan was made, overlaid with those
 *                 returned in this run; null if it was not seen. Without sensitive ones. Take the
 *                 version that guards a change (an ETag, a resourceVersion) from here.
 *          "operation": the text that the module last returned, see below; absent in the first call.
 *          "pending": the cloud is working on it, or refuses it while others use it. Its "code" and
 *          "message" may say why. Check once, do not wait: the host repeats the call after a while,
 *          with the current item, until it is "done" or "failed", or the kind's ready_timeout_s,
 *          update_timeout_s or remove_timeout_s expires. update and remove may return "pending"
 *          only for kinds that have the time-out. A "failed" ready is final if it has the "id",
 *          is "definite" or of class denied; otherwise the host checks again.
 *          "operation" in an outcome (text, at most 4096 bytes): the cloud's name of the operation. The
 *          host passes it to the next call for the same resource: the same call after "pending", ready
 *          after a create or update that is "done". An outcome without it ends it. The host keeps it
 *          for one run: the first call after an interrupted run has none. A removal that is already in
 *          progress is then "pending" again, or "done" if the resource is gone; it does not fail.
 * find     input {"kind", "token", "marks"}
 *          returns "page" and "done" like list: what was created under that token, in the order of
 *          creation (of the launch index); items have "address" if it is known
 * reveal   input {"kind", "items": [{"address", "id"}]}
 *          returns "item": {"address", "outcome": "done" | "failed", "attributes": the unreadable ones
 *          that cost one request per resource, "" = it has none}; reading calls only. The host treats
 *          their values as secrets.
 * account  input {}   returns "credentials": {"from": where they were found, in words, without a secret} (optional; before
 *          the cloud is asked, so that it is known if the cloud refuses them; `raygpu doctor` shows it), and
 *          "account": {"id": text, "acting": text}: the account that the credentials belong to, as the
 *          cloud names it; reading calls only. "acting" is optional: which credentials these are and where they come
 *          from, in words, without a secret; raygpu shows it before a plan. The host records it in the state, and refuses to work on
 *          the cluster with credentials of another account. It runs concurrently with `list`.
 * console  input {"kind", "items": [{"address", "id"}]}
 *          returns "item": {"address", "outcome": "done" | "failed", "text": what the machine printed on its
 *          console, in order, as current as the cloud has it; "" = nothing yet, "stale": true if that is
 *          not what it printed last (as of its boot)}; at most the last 64 KiB or so; reading calls only. Nodes that boot by cloud_init report there what they do
 *          (src/boot/README.md): raygpu waits for them after an apply only if the module offers the call.
 * blocks   input {"instance_types": [...], "count": nodes, "hours": n, "from_s" and "to_s": Unix times that it
 *                 starts after and ends before, each optional}
 *          returns "block" (any number): {"id", "instance_type", "zone", "count", "start_s", "end_s",
 *                 "fee_microusd" (of all its nodes), "currency"}: reserved capacity for a fixed time that the user
 *          can buy now. Reading calls only: raygpu never buys one. A duration or count that the cloud does not
 *          sell is a diagnostic of the class "invalid".
 * health   input {"kind", "items": [{"address", "id"}]}
 *          returns "item" for each machine that the cloud itself reports as not well (a failed status check, a
 *          maintenance event): {"address", "outcome": "done" | "failed", "text": what, as the end of a sentence that
 *          begins with the address}. One that is not returned is well. Reading calls only, and few: `raygpu drift`
 *          passes all machines of the cluster at once.
 * permissions input {"for": task, "account": id or null, "config": as of open, "spec": the checked spec as JSON,
 *                 "with": {option: text or true}, "places": [{"region", "config"}] that the cluster may be in;
 *                 without it, the region of open}
 *          returns "document": what the user must be allowed in the cloud for that task ("plan", "apply", and others that
 *          the module knows) and this spec, in the cloud's own form. Pure: no host function but result and diag.
 * export   input {"form": one of the schema's "exports", "fitted": the fitted cluster, as for lower}
 *          returns "document": {"text": the cluster as a file of that form, in UTF-8}. Pure: no host function but
 *          result and diag. The same input returns the same bytes. What is secret, such as Ray's token, is not in it.
 * blob_get, blob_put, blob_delete, blob_list: objects in which raygpu keeps its state, of modules whose schema
 *          has "stores"; all four or none. "name" is relative to the URL that "store" of open has: characters
 *          of [A-Za-z0-9._~-], with slashes between. A "version" is text that changes with the content of the
 *          object; the host only passes it back. Reads and lists must show every write that was answered before.
 * blob_get input {"name"}   returns "blob": {"version", "modified_s" and "now_s": Unix times of the server's clock,
 *                 when it was written and when it answered; optional, but without them the lock of a dead run
 *                 never expires}, and "content": the bytes as they are, not JSON; neither if there is no such object
 * blob_put input {"name", "version": the object is replaced only if it still has this version; null: it is
 *                 created, and must not exist}, and the bytes in args->content
 *          returns "blob": {"version"}; none if the condition does not hold, then nothing was changed. A server that
 *          ignores conditions must be refused. If an answer is lost and the request is sent again, the
 *          condition may not hold because of the first one: the host finds out.
 * blob_delete input {"name"}   returns nothing; gone counts as done
 * blob_list input {"prefix" of names, "advise": true if the module should report, as diagnostics of severity note, what
 *                 about the place is not advisable; else absent}
 *          returns "page" (any number): {"names": [name, ...]}, and once "done": {"complete": true}
 * preflight input {"cluster", "applies": true if the run goes on to create them, "container_image": that the
 *                 nodes pull as themselves, without a login of the spec; absent if it is unknown or not so,
 *                 "creates": [{"kind", "group": pool or null, "count": n, "addresses": [...],
 *                 "attributes": {desired ones, with expressions}, "origin": JSON pointer into the
 *                 spec, "replaces": true if as many are removed for it}],
 *                 "updates": [{"kind", "address", "id", "attributes", "observed", "origin", "changed": as for
 *                 update}], of kinds with "tries_updates" in the schema; absent if there are none,
 *                 "permissions": the input of that call, if a user asks which permissions are missing (`raygpu
 *                 doctor`); then "creates" is empty. A module whose cloud does not report them ignores it}
 *          returns "finding" (any number): {"severity": "error" | "warning" | "note", "class", "message",
 *                 "detail", "hint", "code", "request_id", "address", "attribute", "origin",
 *                 "limit": of a quota that instance types share, {"market", "types": a regular expression,
 *                 "free": vCPUs, "wanted": vCPUs of these creates}: it applies to other types that match too};
 *                 and, about "permissions", a warning for each that is missing, and "tested": {"count": of all
 *                 that were tested}
 *          What the cloud reports about these changes in advance: quota, permissions, capacity. Reading
 *          calls only (a dry run is one). "severity", "class" and "message" are required. An error is
 *          what the change would meet: the plan is not applied, and the run exits with the code of the
 *          error's class. The default "origin" is that of "address". The host calls it once per plan or
 *          apply that makes one of these changes. If it fails, the plan continues with a warning.
 *
 * Failure fields of an item: "class" (RGP_CLASS_* by name: "capacity", "quota", "denied",
 * "throttled", "conflict", "invalid", "transient", "gone", "canceled", "unknown"), "code" (the cloud's),
 * "message", "hint" (what to do about it; optional), "request_id", "retry_after_ms", "attribute" (the
 * one at fault; optional), "definite": true if the cloud certainly did nothing. After a definite
 * "capacity" the nodes are requested in other zones, markets and types; a "quota" applies to all
 * zones. A call that fails as a whole calls host->diag and returns RGP_FAIL. */
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
	rgp_status (*sleep_ms)(struct rgp_call *, uint32_t ms); /* RGP_CANCELED when cut short */
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
};

struct rgp_args {
	uint32_t size, flags;
	struct rgp_bytes input;	  /* JSON, followed by a NUL that len does not count */
	struct rgp_bytes content; /* of blob_put; since ABI 1.1 */
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
	rgp_fn account;	    /* since ABI 1.1 */
	rgp_fn console;	    /* since ABI 1.1 */
	rgp_fn permissions; /* since ABI 1.1 */
	rgp_fn blocks;	    /* since ABI 1.1 */
	rgp_fn health;	    /* since ABI 1.1 */
	rgp_fn export_form; /* `export`, a keyword of C++; since ABI 1.1 */
	rgp_fn blob_get, blob_put, blob_delete, blob_list; /* since ABI 1.1 */
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
/* const struct rgp_provider *raygpu_provider_v1(void): valid for the module's lifetime */
#ifndef RGP_STATIC
const struct rgp_provider *raygpu_provider_v1(void);
#endif

#ifdef __cplusplus
}
#endif
#endif
