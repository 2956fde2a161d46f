/* A tiny cloud for the tests of src/apply: its resources are in a file (config.world), so that they
 * survive a killed process, and creates honour their token. It has the kinds cloud.net (created one
 * at a time), cloud.node (changed and removed only with its current version), cloud.disk (batches
 * of 400, ready at the second poll), cloud.vault (like cloud.disk, but visible after a minute) and
 * cloud.port, which a node attaches.
 *
 * config.script: {"create": [fault, ...], "ready": ..., ...}: the n-th call of a verb, counted over
 * all processes, gets the n-th fault; {} or the end of the list: none. Members of a fault:
 *   "sleep": MS      first; canceled: nothing is done, the call is canceled
 *   "kill": "before" | "after"   SIGKILL to the process, before or after the change
 *   "only": N        has room for that many items: capacity for the others, or for all if that is
 *                    less than min_count
 *   "short": N       the same, and creates them although min_count is higher
 *   "lose": true     makes the change, then the call fails as a whole
 *   "linger": MS     makes the change, then waits; canceled: the call is canceled
 *   "refuse": CLASS  makes nothing; each item fails with the class, definitely
 *   "doubt": CLASS   the same, not definite
 *   "half": true     creates it, and returns "failed" with the id
 *   "extra": true    a known token creates its missing items as well
 *   "hide": true     find shows nothing that may still be invisible: younger than its consistency_s
 *   "anonymous": true    find does not report addresses
 *   "silent": true   find reports that it cannot read what is there
 *   "unsupported": true  update is not possible
 *   "pending": true  update and remove: started, not done; the next call must have the operation
 *   "missed": true  ready: "range" of a port did not hold, if a node uses the port
 * The world has the input of the last ready, update and remove under these names.
 * config.log: a file with a line per call: "create ADDRESS... " etc. config.state: a state file;
 * each create checks that its journal row is in it, and logs "unjournalled" if not. With
 * CLOUD_WITHOUT_FIND in the environment it does not offer find. */
#include "cloud.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t world_lock = PTHREAD_MUTEX_INITIALIZER;

static const char schema_json[] =
	"{\"format\":1,\"provider\":\"cloud\","
	"\"config\":{\"type\":\"object\",\"properties\":{\"script\":{\"type\":\"object\"},"
	"\"world\":{\"type\":\"string\"},\"log\":{\"type\":\"string\"},"
	"\"state\":{\"type\":\"string\"}},\"additionalProperties\":false},"
	"\"boot\":{\"by\":\"nothing\"},\"marks\":{\"indexes_max\":11},\"limits\":{\"requests_per_"
	"s\":10000,\"burst\":1000},"
	"\"kinds\":{"
	"\"cloud.net\":{\"version\":1,\"consistency_s\":0,\"replay_s\":3600,"
	"\"batch\":{\"create\":1,\"update\":10,\"remove\":10},"
	"\"attributes\":{\"range\":{\"type\":\"string\",\"force_new\":true},"
	"\"net_id\":{\"type\":\"string\",\"computed\":true}}},"
	"\"cloud.disk\":{\"version\":1,\"node\":true,\"consistency_s\":1,\"replay_s\":3600,"
	"\"ready_timeout_s\":2,\"batch\":{\"create\":400,\"update\":50,\"remove\":400},"
	"\"attributes\":{\"size\":{\"type\":\"string\"},"
	"\"net_id\":{\"type\":\"string\",\"computed\":true},"
	"\"ip\":{\"type\":\"string\",\"computed\":true},"
	"\"booted\":{\"type\":\"string\",\"computed\":true}}},"
	"\"cloud.port\":{\"version\":1,\"consistency_s\":0,\"replay_s\":3600,"
	"\"ready_timeout_s\":20,\"batch\":{\"create\":1,\"update\":10,\"remove\":10},"
	"\"attributes\":{\"range\":{\"type\":\"string\"},"
	"\"ip\":{\"type\":\"string\",\"computed\":true},"
	"\"booted\":{\"type\":\"string\",\"computed\":true}}},"
	"\"cloud.vault\":{\"version\":1,\"consistency_s\":60,\"replay_s\":3600,"
	"\"batch\":{\"create\":400,\"update\":50,\"remove\":400},"
	"\"attributes\":{\"size\":{\"type\":\"string\"}}},"
	"\"cloud.node\":{\"version\":1,\"node\":true,\"consistency_s\":1,\"replay_s\":3600,"
	"\"ready_timeout_s\":60,\"update_timeout_s\":20,\"remove_timeout_s\":20,"
	"\"batch\":{\"create\":400,\"update\":50,\"remove\":400},"
	"\"attributes\":{\"size\":{\"type\":\"string\",\"required\":true,\"force_new\":true},"
	"\"net\":{\"type\":\"string\",\"force_new\":true},"
	"\"range\":{\"type\":\"string\",\"force_new\":true},"
	"\"port\":{\"type\":\"string\",\"force_new\":true,\"attaches\":true},"
	"\"tag\":{\"type\":\"string\"},\"note\":{\"type\":\"object\"},"
	"\"ip\":{\"type\":\"string\",\"computed\":true},"
	"\"key\":{\"type\":\"string\",\"sensitive\":true},"
	"\"version\":{\"type\":\"integer\",\"computed\":true},"
	"\"booted\":{\"type\":\"string\",\"computed\":true}}}}}";

/* ---- calls */

static void tell_version(const json_t *thing, json_t *attributes)
{
	if (!strcmp(text_of(thing, "kind"), "cloud.node"))
		json_object_set(attributes, "version", json_object_get(thing, "version"));
}

static void give_made(Run *run, const json_t *thing)
{
	char ip[80];
	snprintf(ip, sizeof(ip), "10.%s", text_of(thing, "id"));
	const char *name = strcmp(text_of(thing, "kind"), "cloud.net") ? "ip" : "net_id";
	json_t *computed = json_pack("{s:s}", name, ip);
	tell_version(thing, computed);
	if (has(run, "half")) {
		give_failed(run, text_of(thing, "address"), "invalid", 0, text_of(thing, "id"));
		json_t *last = json_array_get(run->results, json_array_size(run->results) - 1);
		json_object_set_new(json_array_get(last, 1), "attributes", computed);
		return;
	}
	give(run, "item",
		json_pack("{s:s, s:s, s:s, s:s, s:o}", "address", text_of(thing, "address"),
			"outcome", "done", "id", text_of(thing, "id"), "operation", "op-made",
			"attributes", computed));
}

static void create_item(Run *run, const char *address, int known, int may_make)
{
	json_t *thing =
		known ? find_thing(run, "token", text_of(run->input, "token"), address) : NULL;
	if (!thing && may_make && (!known || has(run, "extra")))
		thing = make_thing(run, address);
	if (!thing)
		give_failed(run, address, "capacity", 1, NULL);
	else if (json_is_true(json_object_get(thing, "gone")))
		give_failed(run, address, "gone", 1, NULL);
	else
		give_made(run, thing);
}

static json_int_t room_of(const Run *run)
{
	json_int_t least = json_integer_value(json_object_get(run->input, "min_count"));
	json_int_t only = json_integer_value(json_object_get(run->fault, "only"));
	if (has(run, "short"))
		return json_integer_value(json_object_get(run->fault, "short"));
	if (!has(run, "only"))
		return INT32_MAX;
	return only < least ? 0 : only;
}

static rgp_status create(Run *run)
{
	size_t i;
	const json_t *item;
	const char *refuse = text_of(run->fault, "refuse"), *doubt = text_of(run->fault, "doubt");
	int known = find_thing(run, "token", text_of(run->input, "token"), NULL) != NULL;
	json_int_t room = room_of(run);
	check_journal(run);
	json_array_foreach (json_object_get(run->input, "items"), i, item) {
		const char *address = text_of(item, "address");
		if (*refuse || *doubt)
			give_failed(run, address, *refuse ? refuse : doubt, *refuse, NULL);
		else
			create_item(run, address, known, (json_int_t)i < room);
	}
	return RGP_OK;
}

/* Until an update sets it. */
static json_t *missed_of(const Run *run, json_t *thing, const json_t *item)
{
	if (!json_is_true(json_object_get(item, "in_use")) || !has(run, "missed") ||
		json_integer_value(json_object_get(thing, "version")) > 1)
		return NULL;
	json_object_set_new(thing, "attributes", json_pack("{s:s}", "range", "none"));
	return json_pack("[s]", "range");
}

static rgp_status ready(Run *run)
{
	size_t i;
	const json_t *item;
	json_object_set(run->world, run->verb, run->input);
	json_array_foreach (json_object_get(run->input, "items"), i, item) {
		json_t *thing = thing_of_id(run, text_of(item, "id"));
		json_int_t looks = json_integer_value(json_object_get(thing, "looks"));
		int dead = json_is_true(json_object_get(thing, "gone"));
		json_object_set_new(thing, "looks", json_integer(looks + 1));
		if (dead || has(run, "refuse"))
			give_failed(
				run, text_of(item, "address"), "capacity", 0, text_of(item, "id"));
		else
			give(run, "item",
				json_pack("{s:s, s:s, s:s, s:{s:s}, s:o*}", "address",
					text_of(item, "address"), "id", text_of(item, "id"),
					"outcome", looks && !has(run, "never") ? "done" : "pending",
					"attributes", "booted", looks ? "yes" : "no", "changed",
					missed_of(run, thing, item)));
	}
	return RGP_OK;
}

/* Nobody may change these without the current version. */
static int is_guarded(const json_t *thing, const json_t *item)
{
	const json_t *known = json_object_get(json_object_get(item, "observed"), "version");
	return thing && !json_is_true(json_object_get(thing, "gone")) &&
	       !strcmp(text_of(thing, "kind"), "cloud.node") &&
	       !json_equal(known, json_object_get(thing, "version"));
}

static void change_item(const Run *run, json_t *thing, const json_t *item)
{
	json_int_t version = json_integer_value(json_object_get(thing, "version"));
	json_object_set_new(thing, "version", json_integer(version + 1));
	if (!strcmp(run->verb, "remove"))
		json_object_set_new(thing, "gone", json_true());
	else if (!has(run, "unsupported"))
		json_object_set(thing, "attributes", json_object_get(item, "attributes"));
}

/* Started again by a call without an operation; its version increases with it. */
static void give_pending(Run *run, json_t *thing, const json_t *item)
{
	char operation[32];
	json_int_t version = json_integer_value(json_object_get(thing, "version"));
	if (!json_object_get(item, "operation"))
		json_object_set_new(thing, "version", json_integer(++version));
	snprintf(operation, sizeof(operation), "op-%lld", (long long)version);
	json_object_set_new(thing, "operation", json_string(operation));
	json_t *computed = json_object();
	tell_version(thing, computed);
	give(run, "item",
		json_pack("{s:s, s:s, s:s, s:s, s:o}", "address", text_of(item, "address"),
			"outcome", "pending", "message", "others use it", "operation", operation,
			"attributes", computed));
}

static rgp_status change(Run *run)
{
	size_t i;
	const json_t *item;
	json_object_set(run->world, run->verb, run->input);
	json_array_foreach (json_object_get(run->input, "items"), i, item) {
		json_t *thing = thing_of_id(run, text_of(item, "id"));
		const char *refuse = text_of(run->fault, "refuse");
		const json_t *operation = json_object_get(item, "operation");
		if (is_guarded(thing, item) ||
			(operation && !json_equal(operation, json_object_get(thing, "operation"))))
			refuse = "conflict";
		if (*refuse) {
			give_failed(run, text_of(item, "address"), refuse, 1, text_of(item, "id"));
			continue;
		}
		if (has(run, "pending")) {
			give_pending(run, thing, item);
			continue;
		}
		change_item(run, thing, item);
		json_t *computed = json_object();
		tell_version(thing, computed);
		give(run, "item",
			json_pack("{s:s, s:s, s:o}", "address", text_of(item, "address"), "outcome",
				has(run, "unsupported") ? "unsupported" : "done", "attributes",
				computed));
	}
	return RGP_OK;
}

static void add_seen(const Run *run, json_t *list, const json_t *thing)
{
	json_t *attributes = json_copy(json_object_get(thing, "attributes"));
	const char *state = json_is_true(json_object_get(thing, "gone")) ? "gone"
			    : has(run, "silent")			 ? "unknown"
									 : "present";
	tell_version(thing, attributes);
	json_t *seen = json_pack("{s:s, s:s, s:s, s:o}", "id", text_of(thing, "id"), "state", state,
		"token", text_of(thing, "token"), "attributes", attributes);
	if (has(run, "silent"))
		json_object_set_new(seen, "status", json_string("no route to it"));
	if (!has(run, "anonymous"))
		json_object_set(seen, "address", json_object_get(thing, "address"));
	json_array_append_new(list, seen);
}

/* Simulates a cloud that keeps its consistency promise, however slow the test's machine is. */
static int is_hidden(const Run *run, const json_t *thing)
{
	int64_t window_ms = strcmp(text_of(thing, "kind"), "cloud.vault") ? 1000 : 60000;
	json_int_t made_ms = json_integer_value(json_object_get(thing, "made_ms"));
	return has(run, "hide") && now_ms() - made_ms < window_ms;
}

/* Resources of one kind. */
static void look_for(Run *run, const char *kind)
{
	size_t i;
	const json_t *thing;
	json_t *list = json_array();
	const char *token = text_of(run->input, "token"), *lineage = text_of(run->input, "lineage");
	json_array_foreach (json_object_get(run->world, "things"), i, thing) {
		int mine = *token ? !strcmp(text_of(thing, "token"), token)
				  : !strcmp(text_of(thing, "lineage"), lineage);
		if (mine && !is_hidden(run, thing) && !strcmp(text_of(thing, "kind"), kind))
			add_seen(run, list, thing);
	}
	give(run, "page", json_pack("{s:s, s:o}", "kind", kind, "resources", list));
}

static rgp_status look(Run *run)
{
	size_t i;
	const json_t *kind;
	json_array_foreach (json_object_get(run->input, "kinds"), i, kind)
		look_for(run, json_string_value(kind));
	if (json_object_get(run->input, "kind"))
		look_for(run, text_of(run->input, "kind"));
	give(run, "done", json_pack("{s:b}", "complete", 1));
	return RGP_OK;
}

static rgp_status do_locked(Run *run, rgp_status (*deed)(Run *run))
{
	pthread_mutex_lock(&world_lock);
	run->world = world_load(run);
	rgp_status status = deed(run);
	if (deed != look && deed != ready)
		world_save(run);
	/* what is passed later is the caller's own: the world belongs to the thread with the
	 * lock */
	json_t *results = json_deep_copy(run->results);
	json_decref(run->results);
	run->results = results;
	pthread_mutex_unlock(&world_lock);
	return status;
}

static rgp_status perform(struct rgp_inst *inst, const struct rgp_host *host, struct rgp_call *call,
	const struct rgp_args *args, const char *verb, rgp_status (*deed)(Run *run))
{
	Run run = {.inst = inst, .host = host, .call = call, .verb = verb};
	run.input = json_loads(args->input.data, 0, NULL);
	run.results = json_array();
	pthread_mutex_lock(&world_lock);
	run.world = world_load(&run);
	run.fault = count_call(&run);
	write_log(&run, verb);
	pthread_mutex_unlock(&world_lock);
	rgp_status status = nap(&run, "sleep");
	may_die(&run, "before");
	if (status == RGP_OK)
		status = do_locked(&run, deed);
	may_die(&run, "after");
	if (status == RGP_OK)
		status = nap(&run, "linger");
	if (status == RGP_OK && has(&run, "lose"))
		status = fail_call(&run);
	if (status == RGP_OK)
		give_all(&run);
	json_decref(run.results);
	pthread_mutex_lock(&world_lock);
	json_decref(run.input); /* the world keeps parts of it */
	pthread_mutex_unlock(&world_lock);
	return status;
}

#define CALL(verb, deed)                                                                           \
	static rgp_status call_##verb(struct rgp_inst *inst, const struct rgp_host *host,          \
		struct rgp_call *call, const struct rgp_args *args)                                \
	{                                                                                          \
		return perform(inst, host, call, args, #verb, deed);                               \
	}
CALL(create, create)
CALL(ready, ready)
CALL(update, change)
CALL(remove, change)
CALL(list, look)
CALL(find, look)

static rgp_status nothing(struct rgp_inst *inst, const struct rgp_host *host, struct rgp_call *call,
	const struct rgp_args *args)
{
	return RGP_UNSUPPORTED;
}

static rgp_status tell_schema(const struct rgp_host *host, struct rgp_call *call)
{
	return host->result(
		call, "schema", (struct rgp_bytes){schema_json, sizeof(schema_json) - 1});
}

static rgp_status open_inst(const struct rgp_host *host, struct rgp_call *call,
	const struct rgp_args *args, struct rgp_inst **out)
{
	struct rgp_inst *inst = calloc(1, sizeof(*inst));
	json_t *input = json_loads(args->input.data, 0, NULL);
	inst->config = json_incref(json_object_get(input, "config"));
	json_decref(input);
	*out = inst;
	return RGP_OK;
}

static void close_inst(struct rgp_inst *inst)
{
	json_decref(inst->config);
	free(inst);
}

#define TABLE(find_or_null)                                                                        \
	{                                                                                          \
		.size = sizeof(struct rgp_provider), .abi_major = RGP_ABI_MAJOR,                   \
		.abi_minor = RGP_ABI_MINOR, .flags = RGP_PARALLEL, .name = "cloud",                \
		.version = "0.1", .schema = tell_schema, .open = open_inst, .close = close_inst,   \
		.resolve = nothing, .lower = nothing, .list = call_list, .create = call_create,    \
		.remove = call_remove, .update = call_update, .ready = call_ready,                 \
		.find = find_or_null                                                               \
	}
static const struct rgp_provider with_find = TABLE(call_find);
static const struct rgp_provider without_find = TABLE(NULL);

RGP_ENTRY(cloud)
{
	return getenv("CLOUD_WITHOUT_FIND") ? &without_find : &with_find;
}
