/* A module that does what its settings say, valid or not: the tests of src/provider and src/refresh
 * drive it through the real loader.
 *
 * config.script: {"VERB KIND" or "VERB": [step, ...]}; each call of that verb takes the next step,
 * the last one repeats. A step is a list of actions, each an array:
 *   ["result", SLOT, JSON]   ["raw", SLOT, TEXT]        return a result
 *   ["huge", SLOT, BYTES]    ["deep", SLOT, LEVELS]     ["utf8", SLOT]
 *   ["null", SLOT]           ["noslot"]                 no bytes, no name
 *   ["nodes", FROM, TO]      a page of scripted.node.p[FROM..TO-1] with ids i-FROM...
 *   ["thread", SLOT, JSON]   from a thread of its own   ["late", SLOT, JSON] with the last handle
 *   ["diag", {severity, class, summary, detail, hint, code, request_id, address, attribute}]
 *   ["sleep", MS]  ["spin", N]: N times http until it fails, canceled or not
 *   ["http", METHOD, URL, READING, AUTH, CONNECTION] ["env", NAME] ["read", PATH]
 *   ["exec", ARG, ...] ["all", URL, ...]: concurrent reading requests
 *   ["exec_all", SHELL TEXT, ...]: concurrent programs
 *   ["run", READING, [NAME=VALUE, ...], INPUT, ARG, ...] ["secret", TEXT]: report their result as a
 *   note
 *   ["status", N]            the return value of the call, RGP_OK otherwise
 * config.journal: a file that gets a line "VERB KIND known..." for each call. */
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "raygpu/provider.h"

struct rgp_inst {
	json_t *config, *counters;
	_Atomic(struct rgp_call *) last;
	pthread_mutex_t lock;
};

typedef struct {
	struct rgp_inst *inst;
	const struct rgp_host *host;
	struct rgp_call *call;
	rgp_status status;
} Run;

static const char schema_json[] =
	"{\"format\":1,\"provider\":\"scripted\","
	"\"config\":{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"script\"],"
	"\"properties\":{\"script\":{\"type\":\"object\"},\"journal\":{\"type\":\"string\","
	"\"description\":\"a path\"}}},"
	"\"boot\":{\"by\":\"nothing\"},\"limits\":{\"requests_per_s\":100,\"burst\":10},"
	"\"kinds\":{"
	"\"scripted.group\":{\"version\":1,\"consistency_s\":30,"
	"\"batch\":{\"create\":1,\"update\":1,\"remove\":1},"
	"\"attributes\":{\"rules\":{\"type\":\"list\",\"set\":true}}},"
	"\"scripted.node\":{\"version\":1,\"node\":true,\"consistency_s\":30,"
	"\"update_timeout_s\":60,\"changing_s\":40,"
	"\"batch\":{\"create\":100,\"update\":1,\"remove\":100},"
	"\"attributes\":{\"size\":{\"type\":\"string\",\"required\":true,\"force_new\":true},"
	"\"reached\":{\"type\":\"string\",\"computed\":true,\"role\":\"address\"},"
	"\"tags\":{\"type\":\"map\"},\"count\":{\"type\":\"integer\",\"default\":1},"
	"\"group\":{\"type\":\"string\"},\"protect\":{\"type\":\"boolean\"},"
	"\"ip\":{\"type\":\"string\",\"computed\":true},"
	"\"user_data\":{\"type\":\"string\",\"unreadable\":true},"
	"\"password\":{\"type\":\"string\",\"sensitive\":true},"
	"\"commit\":{\"type\":\"string\",\"create_only\":true}}},"
	"\"scripted.disk\":{\"version\":1,\"read_if_used\":true,\"listing\":\"query\","
	"\"batch\":{\"create\":1,\"update\":1,\"remove\":1},\"attributes\":{}},"
	"\"scripted.port\":{\"version\":1,\"read_if_used\":true,\"listing\":\"query\","
	"\"consistency_s\":30,\"update_timeout_s\":60,\"update_ends_with_run\":true,"
	"\"batch\":{\"create\":1,\"update\":1,\"remove\":1},"
	"\"attributes\":{\"size\":{\"type\":\"string\"}}}}}";

static rgp_status give(
	Run *run, struct rgp_call *call, const char *slot, const char *text, size_t n)
{
	return run->host->result(call, slot, (struct rgp_bytes){text, n});
}

static void give_json(Run *run, struct rgp_call *call, const char *slot, const json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	give(run, call, slot, text, strlen(text));
	free(text);
}

static void give_filled(Run *run, const char *slot, size_t len, int deep)
{
	char *text = malloc(len + 2);
	memset(text, deep ? '[' : 'x', len);
	if (!deep)
		text[0] = text[len - 1] = '"';
	give(run, run->call, slot, text, len);
	free(text);
}

static void note(Run *run, const char *text)
{
	struct rgp_diag diag = {.size = sizeof(diag), .severity = 2, .summary = text};
	run->host->diag(run->call, &diag);
}

static void say(Run *run, const json_t *told)
{
#define MEMBER(name) json_string_value(json_object_get(told, name))
	struct rgp_diag diag = {
		.size = sizeof(diag),
		.severity = (int32_t)json_integer_value(json_object_get(told, "severity")),
		.class_ = (int32_t)json_integer_value(json_object_get(told, "class")),
		.summary = MEMBER("summary"),
		.detail = MEMBER("detail"),
		.hint = MEMBER("hint"),
		.code = MEMBER("code"),
		.request_id = MEMBER("request_id"),
		.address = MEMBER("address"),
		.attribute = MEMBER("attribute"),
	};
	run->host->diag(run->call, &diag);
}

static void give_nodes(Run *run, int64_t from, int64_t to)
{
	json_t *list = json_array();
	for (int64_t i = from; i < to; i++) {
		char id[32], address[64];
		snprintf(id, sizeof(id), "i-%lld", (long long)i);
		snprintf(address, sizeof(address), "scripted.node.p[%lld]", (long long)i);
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:s, s:{s:s, s:s}}", "id", id, "address",
				      address, "state", "present", "status", "running",
				      "attributes", "size", "big", "ip", id));
	}
	json_t *page = json_pack("{s:o}", "resources", list);
	give_json(run, run->call, "page", page);
	json_decref(page);
}

typedef struct {
	Run *run;
	const json_t *action;
} Elsewhere;

static void *give_elsewhere(void *data)
{
	Elsewhere *elsewhere = data;
	give_json(elsewhere->run, elsewhere->run->call,
		json_string_value(json_array_get(elsewhere->action, 1)),
		json_array_get(elsewhere->action, 2));
	return NULL;
}

static void send_http(Run *run, const json_t *action)
{
	struct rgp_http_resp resp = {.size = sizeof(resp)};
	char *auth = json_dumps(json_array_get(action, 4), 0);
	char *connection = json_dumps(json_array_get(action, 5), 0);
	struct rgp_http_req req = {
		.size = sizeof(req),
		.flags = json_is_true(json_array_get(action, 3)) ? RGP_HTTP_READING : 0,
		.method = json_string_value(json_array_get(action, 1)),
		.url = json_string_value(json_array_get(action, 2)),
		.max_tries = 1,
		.timeout_ms = 5000,
		.auth = {auth, auth ? strlen(auth) : 0},
		.connection = {connection, connection ? strlen(connection) : 0},
		.what = "Thing",
	};
	rgp_status status = run->host->http(run->call, &req, &resp);
	char text[256];
	snprintf(text, sizeof(text), "http %d status %d body %.*s", status, resp.status,
		status == RGP_OK && resp.body.len < 100 ? (int)resp.body.len : 0,
		status == RGP_OK ? resp.body.data : "");
	note(run, text);
	free(auth);
	free(connection);
}

/* The texts of the array after `from`, NULL-ended. */
static void take_texts(const json_t *array, size_t from, const char *texts[8])
{
	for (size_t i = from; i < json_array_size(array) && i < from + 7; i++)
		texts[i - from] = json_string_value(json_array_get(array, i));
}

#define ALL_MAX 70

/* The results in one note: "all 0: 200 hello, 403 no". */
static void send_all(Run *run, const json_t *action)
{
	struct rgp_http_req reqs[ALL_MAX] = {{0}};
	struct rgp_http_resp resps[ALL_MAX] = {{0}};
	const struct rgp_http_req *req[ALL_MAX];
	struct rgp_http_resp *resp[ALL_MAX];
	char text[512];
	size_t n = json_array_size(action) - 1, len = 0;
	for (size_t i = 0; i < n && i < ALL_MAX; i++) {
		reqs[i] = (struct rgp_http_req){.size = sizeof(reqs[i]),
			.flags = RGP_HTTP_READING,
			.method = "GET",
			.url = json_string_value(json_array_get(action, i + 1)),
			.max_tries = 1,
			.timeout_ms = 5000};
		resps[i].size = sizeof(resps[i]);
		req[i] = &reqs[i];
		resp[i] = &resps[i];
	}
	rgp_status status = run->host->http_all(run->call, req, n, resp);
	len += (size_t)snprintf(text, sizeof(text), "all %d:", status);
	for (size_t i = 0; i < n && len < sizeof(text) - 64; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, " %d %.*s", resps[i].status,
			(int)resps[i].body.len, resps[i].body.data);
	note(run, text);
}

static void run_helper(Run *run, const json_t *action, int plain)
{
	const char *argv[8] = {NULL}, *env[8] = {NULL};
	const char *input = plain ? NULL : json_string_value(json_array_get(action, 3));
	struct rgp_bytes output = {"", 0};
	struct rgp_exec_req req = {.size = sizeof(req), .argv = argv, .timeout_ms = 700};
	if (plain || json_is_true(json_array_get(action, 1)))
		req.flags = RGP_EXEC_READING;
	if (!plain) {
		take_texts(json_array_get(action, 2), 0, env);
		req.env = env;
		req.input = (struct rgp_bytes){input, input ? strlen(input) : 0};
	}
	take_texts(action, plain ? 1 : 4, argv);
	rgp_status status = run->host->exec(run->call, &req, &output);
	char text[256];
	snprintf(text, sizeof(text), "exec %d length %zu: %.60s", status, output.len, output.data);
	note(run, text);
}

/* One note for each: its exit status, standard output and standard error. */
static void run_many(Run *run, const json_t *action)
{
	enum { MANY = 80 };
	static const struct rgp_exec_resp none = {.size = sizeof(none), .status = 77};
	const char *argv[MANY][4] = {{NULL}};
	struct rgp_exec_req reqs[MANY];
	struct rgp_exec_resp resps[MANY];
	const struct rgp_exec_req *req[MANY];
	struct rgp_exec_resp *resp[MANY];
	size_t n = json_array_size(action) - 1;
	for (size_t i = 0; i < n && i < MANY; i++) {
		argv[i][0] = "sh";
		argv[i][1] = "-c";
		argv[i][2] = json_string_value(json_array_get(action, i + 1));
		reqs[i] = (struct rgp_exec_req){.size = sizeof(reqs[i]),
			.flags = RGP_EXEC_READING,
			.argv = argv[i],
			.timeout_ms = 700};
		resps[i] = none;
		req[i] = &reqs[i];
		resp[i] = &resps[i];
	}
	rgp_status status = run->host->exec_all(run->call, req, n, resp);
	for (size_t i = 0; i < n; i++) {
		char text[256];
		snprintf(text, sizeof(text), "%d: %d [%.*s] [%.*s]", status, resps[i].status,
			(int)resps[i].output.len, resps[i].output.data, (int)resps[i].errors.len,
			resps[i].errors.data);
		note(run, text);
	}
}

static void read_file(Run *run, const char *path)
{
	struct rgp_bytes content = {"", 0};
	rgp_status status = run->host->read_file(run->call, path, &content);
	char text[256];
	snprintf(
		text, sizeof(text), "read %d length %zu: %.60s", status, content.len, content.data);
	note(run, text);
}

static void give_something(Run *run, const char *verb, const json_t *action)
{
	const char *slot = json_string_value(json_array_get(action, 1));
	const json_t *value = json_array_get(action, 2);
	size_t number = (size_t)json_integer_value(value);
	if (strcmp(verb, "result") == 0)
		give_json(run, run->call, slot, value);
	else if (strcmp(verb, "late") == 0)
		give_json(run, run->inst->last, slot, value);
	else if (strcmp(verb, "raw") == 0)
		give(run, run->call, slot, json_string_value(value), json_string_length(value));
	else if (strcmp(verb, "huge") == 0)
		give_filled(run, slot, number, 0);
	else if (strcmp(verb, "deep") == 0)
		give_filled(run, slot, number, 1);
	else if (strcmp(verb, "utf8") == 0)
		give(run, run->call, slot, "\"\xff\xfe\"", 4);
	else if (strcmp(verb, "null") == 0)
		give(run, run->call, slot, NULL, 7);
	else if (strcmp(verb, "noslot") == 0)
		give(run, run->call, NULL, "1", 1);
}

static void act(Run *run, const json_t *action)
{
	const char *verb = json_string_value(json_array_get(action, 0));
	const json_t *first = json_array_get(action, 1);
	const char *text = json_string_value(first);
	pthread_t thread;
	Elsewhere elsewhere = {run, action};
	if (strcmp(verb, "nodes") == 0)
		give_nodes(run, json_integer_value(first),
			json_integer_value(json_array_get(action, 2)));
	else if (strcmp(verb, "thread") == 0 &&
		 pthread_create(&thread, NULL, give_elsewhere, &elsewhere) == 0)
		pthread_join(thread, NULL);
	else if (strcmp(verb, "diag") == 0)
		say(run, first);
	else if (strcmp(verb, "sleep") == 0)
		run->host->sleep_ms(run->call, (uint32_t)json_integer_value(first));
	else if (strcmp(verb, "http") == 0)
		send_http(run, action);
	else if (strcmp(verb, "env") == 0) {
		const char *value = run->host->env(run->call, text);
		note(run, value ? value : "(unset)");
	} else if (strcmp(verb, "read") == 0)
		read_file(run, text);
	else if (strcmp(verb, "all") == 0)
		send_all(run, action);
	else if (strcmp(verb, "exec") == 0 || strcmp(verb, "run") == 0)
		run_helper(run, action, strcmp(verb, "exec") == 0);
	else if (strcmp(verb, "exec_all") == 0)
		run_many(run, action);
	else if (strcmp(verb, "secret") == 0)
		run->host->secret(run->call, (struct rgp_bytes){text, strlen(text)});
	else if (strcmp(verb, "status") == 0)
		run->status = (rgp_status)json_integer_value(first);
	else
		give_something(run, verb, action);
}

static const json_t *next_step(struct rgp_inst *inst, const char *verb, const char *kind)
{
	char key[128];
	json_t *script = json_object_get(inst->config, "script");
	snprintf(key, sizeof(key), "%s %s", verb, kind);
	if (json_object_get(script, key) == NULL)
		snprintf(key, sizeof(key), "%s", verb);
	pthread_mutex_lock(&inst->lock);
	json_t *steps = json_object_get(script, key);
	size_t n = (size_t)json_integer_value(json_object_get(inst->counters, key));
	json_object_set_new(inst->counters, key, json_integer((json_int_t)n + 1));
	pthread_mutex_unlock(&inst->lock);
	size_t count = json_array_size(steps);
	return count > 0 ? json_array_get(steps, n < count ? n : count - 1) : NULL;
}

/* The kind of the input, the first one of a list's, or "-". */
static const char *kind_of(const json_t *input)
{
	const char *kind = json_string_value(json_object_get(input, "kind"));
	const json_t *first = json_array_get(json_object_get(input, "kinds"), 0);
	return kind ? kind : first ? json_string_value(first) : "-";
}

static void write_journal(struct rgp_inst *inst, const char *verb, const json_t *input)
{
	const char *path = json_string_value(json_object_get(inst->config, "journal"));
	const char *kind = kind_of(input);
	FILE *file = path ? fopen(path, "a") : NULL;
	if (file == NULL)
		return;
	fprintf(file, "%s %s", verb, kind);
	size_t i;
	json_t *id;
	json_array_foreach (json_object_get(json_object_get(input, "known"), kind), i, id)
		fprintf(file, " %s", json_string_value(id));
	fprintf(file, "\n");
	fclose(file);
}

static rgp_status play(struct rgp_inst *inst, const struct rgp_host *host, struct rgp_call *call,
	const struct rgp_args *args, const char *verb)
{
	Run run = {inst, host, call, RGP_OK};
	json_t *input = json_loads(args->input.data, 0, NULL);
	const char *kind = kind_of(input);
	size_t i;
	json_t *action;
	write_journal(inst, verb, input);
	const json_t *step = next_step(inst, verb, kind);
	json_array_foreach (step, i, action)
		act(&run, action);
	/* A list that the script does not mention is empty. */
	if (step == NULL && strcmp(verb, "list") == 0)
		give(&run, call, "done", "{\"complete\":true}", 17);
	inst->last = call;
	json_decref(input);
	return run.status;
}

#define PLAY(verb)                                                                                 \
	static rgp_status play_##verb(struct rgp_inst *inst, const struct rgp_host *host,          \
		struct rgp_call *call, const struct rgp_args *args)                                \
	{                                                                                          \
		return play(inst, host, call, args, #verb);                                        \
	}
PLAY(resolve)
PLAY(lower)
PLAY(list)
PLAY(create)
PLAY(remove)
PLAY(update)
PLAY(ready)
PLAY(find)
PLAY(preflight)
PLAY(members)
PLAY(changing)

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
	inst->counters = json_object();
	pthread_mutex_init(&inst->lock, NULL);
	json_decref(input);
	*out = inst;
	return play(inst, host, call, args, "open");
}

static void close_inst(struct rgp_inst *inst)
{
	json_decref(inst->config);
	json_decref(inst->counters);
	pthread_mutex_destroy(&inst->lock);
	free(inst);
}

static const struct rgp_provider table = {
	.size = sizeof(table),
	.abi_major = RGP_ABI_MAJOR,
	.abi_minor = RGP_ABI_MINOR,
	.flags = RGP_PARALLEL,
	.name = "scripted",
	.version = "0.1",
	.schema = tell_schema,
	.open = open_inst,
	.close = close_inst,
	.resolve = play_resolve,
	.lower = play_lower,
	.list = play_list,
	.create = play_create,
	.remove = play_remove,
	.update = play_update,
	.ready = play_ready,
	.find = play_find,
	.preflight = play_preflight,
	.members = play_members,
	.changing = play_changing,
};

RGP_ENTRY(scripted)
{
	return &table;
}
