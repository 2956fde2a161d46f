#include "sim/core/call.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "sim/core/cloud.h"
#include "sim/core/control.h"
#include "sim/core/world.h"

#define STOP_SEEN_US 50000 /* how late a sleeping request notices that the server stops */

typedef struct {
	double tokens;
	gint64 at_ms;
} Bucket;

bool rg_sim_fail(RgSimCall *call, int status, const char *code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *message = g_strdup_vprintf(format, args);
	va_end(args);
	call->status = status;
	g_free(call->code);
	call->code = g_strdup(code);
	g_free(call->message);
	call->message = g_steal_pointer(&message);
	return false;
}

void rg_sim_log(const RgSimCall *call, const char *knob, json_t *members)
{
	const char *path = json_string_value(json_object_get(call->sim->knobs, knob));
	const char *agent = g_hash_table_lookup(call->request->headers, "user-agent");
	json_auto_t *line = members;
	if (!path || !*path)
		return;
	json_object_set_new(line, "action", json_string(call->action->name));
	json_object_set_new(line, "agent", json_string(agent ? agent : ""));
	g_autofree char *text = json_dumps(line, JSON_COMPACT);
	g_autofree char *whole = g_strconcat(text, "\n", NULL);
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, whole, strlen(whole)) < 0)
		g_printerr("raygpu-sim: %s: %s\n", path, g_strerror(errno));
	if (fd >= 0)
		close(fd);
}

bool rg_sim_take_tokens(RgSimCall *call, const char *name, double size, double per_s, double tokens)
{
	RgSim *sim = call->sim;
	const json_t *own = json_object_get(json_object_get(sim->knobs, "buckets"), name);
	if (own) {
		size = json_number_value(json_array_get(own, 0));
		per_s = json_number_value(json_array_get(own, 1));
	}
	g_autofree char *key =
		g_strjoin("/", call->realm->cloud->name, call->place_name, name, NULL);
	Bucket *bucket = g_hash_table_lookup(sim->buckets, key);
	if (!bucket) {
		bucket = g_new(Bucket, 1);
		*bucket = (Bucket){size, sim->now_ms};
		g_hash_table_insert(sim->buckets, g_steal_pointer(&key), bucket);
	}
	bucket->tokens += (double)(sim->now_ms - bucket->at_ms) * per_s / 1000;
	bucket->tokens = MIN(bucket->tokens, size);
	bucket->at_ms = sim->now_ms;
	if (bucket->tokens < tokens)
		return false;
	bucket->tokens -= tokens;
	return true;
}

/* ---- counting */

typedef enum {
	OK,
	FAILED,
	INJECTED, /* an injected fault answered */
} Outcome;

static void add_one(json_t *counts, const char *name, bool it_counts)
{
	json_object_set_new(counts, name, json_integer(doc_int(counts, name) + it_counts));
}

static void count_outcome(json_t *counts, Outcome outcome)
{
	add_one(counts, "requests", true);
	add_one(counts, "errors", outcome != OK);
	add_one(counts, "injected", outcome == INJECTED);
}

/* As counters and faults know it: dry runs apart, or a fault would be spent on one that is not
 * meant.
 */
static char *call_name(const RgSimCall *call)
{
	return g_strconcat(call->action->name, call->dry_run ? ":dry_run" : NULL, NULL);
}

static void call_count(const RgSimCall *call, Outcome outcome)
{
	json_t *counters = call->sim->counters;
	count_outcome(counters, outcome);
	if (!call->action) {
		add_one(counters, "refused", true);
		return;
	}
	add_one(counters,
		call->dry_run		 ? "dry_run"
		: call->action->mutating ? "mutating"
					 : "reading",
		true);
	json_t *actions = json_object_get(counters, "actions");
	g_autofree char *name = call_name(call);
	json_t *own = json_object_get(actions, name);
	if (!own) {
		own = json_object();
		json_object_set_new(actions, name, own);
	}
	count_outcome(own, outcome);
}

/* ---- from arrival to reply */

static char *make_request_id(RgSim *sim)
{
	g_autofree char *text = g_strdup_printf(
		"%" G_GUINT64_FORMAT "/%" G_GUINT64_FORMAT, sim->seed, ++sim->requests);
	g_autofree char *hex = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
	return g_strdup_printf(
		"%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

static gint64 choose_latency(RgSim *sim, const char *action)
{
	gint64 latency = rg_json_int(json_object_get(sim->knobs, "latency_by_action"), action,
		doc_int(sim->knobs, "latency_ms"));
	gint64 jitter = doc_int(sim->knobs, "latency_jitter_ms");
	return latency + (jitter ? (gint64)(g_rand_double(sim->random) * (double)jitter) : 0);
}

/* Writes the true answer, or the one that the fault replaces it with. */
static void call_answer(RgSimCall *call, const json_t *fault)
{
	RgSimReply *reply = call->reply;
	if (fault) {
		reply->truncate = doc_int(fault, "truncate");
		reply->drop = doc_is(fault, "close");
	}
	if (!fault || !rg_sim_fault_replaces(fault)) {
		call->realm->cloud->answer(call);
		return;
	}
	int status = (int)doc_int(fault, "status");
	const char *body = rg_json_str(fault, "body", NULL);
	rg_sim_fail(call, status ? status : 500, rg_json_str(fault, "code", "InternalError"), "%s",
		rg_json_str(fault, "message", "An internal error has occurred"));
	g_ptr_array_set_size(reply->headers, 0);
	call->realm->cloud->answer(call);
	if (body) {
		g_string_assign(reply->body, body);
		rg_sim_reply_header(reply, "Content-Type", "text/html");
	}
	if (json_object_get(fault, "content_type"))
		rg_sim_reply_header(reply, "Content-Type", doc_str(fault, "content_type"));
	gint64 retry_after_s = doc_int(fault, "retry_after");
	g_autofree char *wait = g_strdup_printf("%" G_GINT64_FORMAT, retry_after_s);
	if (retry_after_s >= 0)
		rg_sim_reply_header(reply, "Retry-After", wait);
}

/* First turn under the lock: admission, and what will happen to the request. */
static bool call_arrive(RgSimCall *call, json_t **fault, gint64 *latency_ms)
{
	RgSim *sim = call->sim;
	rg_sim_enter(sim);
	call->request_id = make_request_id(sim);
	bool admitted = call->realm->cloud->admit(call);
	if (admitted) {
		g_autofree char *name = call_name(call);
		*fault = rg_sim_faults_take(&sim->faults, name, sim->random);
		*latency_ms = choose_latency(sim, name);
	} else {
		call_count(call, FAILED);
		call_answer(call, NULL);
	}
	rg_sim_leave(sim);
	return admitted;
}

/* Half of the latency comes before the action and half after it, as on a real network. */
static void call_travel(RgSim *sim, gint64 latency_ms)
{
	gint64 end_us = g_get_monotonic_time() + latency_ms * 500, left_us;
	while ((left_us = end_us - g_get_monotonic_time()) > 0 && !g_atomic_int_get(&sim->stopping))
		g_usleep((gulong)MIN(left_us, STOP_SEEN_US));
}

/* Runs the action, in the world as it is now. */
static bool call_run(RgSimCall *call)
{
	RgSim *sim = call->sim;
	const RgSimCloud *cloud = call->realm->cloud;
	call->place = rg_sim_place(call->realm, call->place_name);
	call->view_ms = sim->now_ms - doc_int(sim->knobs, "consistency_ms");
	call->again_ms = 0;
	bool done = (!cloud->check || cloud->check(call)) &&
		    (call->answered || call->action->run(call));
	if (!done && !call->code) /* a manually written world lacks something */
		rg_sim_fail(call, 500, "InternalError", "An internal error has occurred");
	return done;
}

/* Lets others have the lock until the time has come, or the server stops. */
static void call_pause(RgSimCall *call)
{
	RgSim *sim = call->sim;
	gint64 wait_ms = call->again_ms - sim->now_ms;
	rg_sim_leave(sim);
	g_usleep((gulong)CLAMP(wait_ms * 1000, 1000, STOP_SEEN_US));
	rg_sim_enter(sim);
}

/* Second turn: the action itself. */
static void call_carry_out(RgSimCall *call, const json_t *fault)
{
	RgSim *sim = call->sim;
	rg_sim_enter(sim);
	call->since_ms = sim->now_ms;
	Outcome outcome = fault ? INJECTED : OK;
	if (!fault || rg_sim_fault_is_late(fault)) {
		bool done;
		while ((done = call_run(call)) && call->again_ms > sim->now_ms &&
			!g_atomic_int_get(&sim->stopping))
			call_pause(call);
		outcome = !done && !fault ? FAILED : outcome;
	}
	call_count(call, outcome);
	call_answer(call, fault);
	rg_sim_leave(sim);
}

static void serve_cloud(RgSimRealm *realm, const RgSimRequest *request, RgSimReply *reply)
{
	RgSim *sim = realm->sim;
	RgSimCall call = {.sim = sim,
		.realm = realm,
		.request = request,
		.reply = reply,
		.body = g_string_new(NULL),
		.status = 200};
	json_auto_t *fault = NULL;
	gint64 latency_ms = 0;
	if (call_arrive(&call, &fault, &latency_ms)) {
		call_travel(sim, latency_ms);
		call_carry_out(&call, fault);
		call_travel(sim, latency_ms);
	}
	json_decref(call.params);
	g_string_free(call.body, TRUE);
	g_free(call.place_name);
	g_free(call.caller);
	g_free(call.request_id);
	g_free(call.code);
	g_free(call.message);
}

static RgSimRealm *find_realm(RgSim *sim, const RgSimRequest *request)
{
	rg_ptr_foreach (RgSimRealm, realm, sim->realms) {
		if (realm->cloud->claims(request))
			return realm;
	}
	return NULL;
}

static void call_refuse(RgSimReply *reply)
{
	reply->status = 405;
	g_string_assign(reply->body, "no simulated cloud serves this request\n");
	rg_sim_reply_header(reply, "Content-Type", "text/plain");
}

void rg_sim_serve(RgSim *sim, const RgSimRequest *request, RgSimReply *reply)
{
	*reply = (RgSimReply){.status = 200,
		.headers = g_ptr_array_new_with_free_func(g_free),
		.body = g_string_new(NULL),
		.truncate = -1,
		.now_s = g_get_real_time() / G_USEC_PER_SEC};
	bool control = g_str_has_prefix(request->path, "/_sim");
	RgSimRealm *realm = control ? NULL : find_realm(sim, request);
	if (control)
		rg_sim_control(sim, request, reply);
	else if (realm)
		serve_cloud(realm, request, reply);
	else
		call_refuse(reply);
	pthread_mutex_lock(&sim->lock);
	reply->now_s += doc_int(sim->knobs, "clock_offset_s");
	pthread_mutex_unlock(&sim->lock);
}
