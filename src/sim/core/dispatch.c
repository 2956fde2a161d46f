#include "sim/core/dispatch.h"
#include <string.h>
#include "aws/sim/actions.h"
#include "aws/sim/auth.h"
#include "sim/core/control.h"
#include "aws/sim/model.h"
#include "aws/sim/protocol.h"

#define STOP_SEEN_US 50000 /* how late a sleeping request sees that the server stops */

/* A request between its arrival and its reply. */
typedef struct {
	RgSim *sim;
	const RgSimRequest *request;
	json_t *params;
	RgSimCall call;
	RgSimFault *fault;
	gint64 latency_ms;
	char *request_id;
	char *region; /* by name: a reset while the request travels makes new worlds */
} Handling;

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
	const RgSimKnobs *knobs = &sim->knobs;
	const json_t *own = json_object_get(knobs->latency_by_action, action);
	gint64 latency = own ? json_integer_value(own) : knobs->latency_ms;
	if (knobs->latency_jitter_ms)
		latency += (gint64)(g_rand_double(sim->random) * (double)knobs->latency_jitter_ms);
	return latency;
}

/* Everything that can be said without touching the world: is it an action, who asks, where. */
static bool admit(Handling *handling)
{
	RgSimCall *call = &handling->call;
	const char *name = rg_sim_param_str(handling->params, "Action");
	const RgSimAction *action = rg_sim_action_find(
		name, rg_sim_param_str(handling->params, "Version"), call->service);
	call->action = action;
	bool known = rg_sim_auth_check(call, handling->request, &handling->region);
	call->action = known ? action : NULL;
	if (!known)
		return false;
	if (!name)
		return rg_sim_fail(call, 400, "MissingAction",
			"The request is missing an action or a required parameter.");
	if (!action && call->service == RG_SIM_SSM)
		return rg_sim_fail(
			call, 400, "UnknownOperationException", "The operation is unknown");
	if (!action)
		return rg_sim_fail(call, 400, "InvalidAction",
			"The action %s is not valid for this web service.", name);
	return true;
}

/* First turn under the lock: admission, and what is going to happen to the request. */
static bool arrive(Handling *handling)
{
	RgSim *sim = handling->sim;
	rg_sim_enter(sim);
	handling->request_id = make_request_id(sim);
	handling->call.world = sim->world;
	handling->call.knobs = &sim->knobs;
	handling->call.throttle = sim->throttle;
	bool admitted = admit(handling);
	bool passed = admitted && rg_sim_throttle_request(&handling->call, handling->region);
	if (passed) {
		const char *name = handling->call.action->name;
		handling->fault = rg_sim_faults_take(sim->faults, name, sim->random);
		handling->latency_ms = choose_latency(sim, name);
	} else {
		rg_sim_counters_add(
			sim->counters, handling->call.action, false, RG_SIM_COUNT_ERROR);
	}
	rg_sim_leave(sim);
	return passed;
}

/* Second turn: the action itself. */
static void carry_out(Handling *handling)
{
	RgSim *sim = handling->sim;
	RgSimCall *call = &handling->call;
	rg_sim_enter(sim);
	call->world = sim->world;
	call->region = rg_sim_world_region(sim->world, handling->region);
	call->view_ms = sim->world->now_ms - sim->knobs.consistency_ms;
	bool before = handling->fault && !handling->fault->after;
	bool dry_run = rg_sim_param_bool(handling->params, "DryRun", false);
	RgSimOutcome outcome = RG_SIM_COUNT_INJECTED;
	if (!before) {
		bool done = rg_sim_model_check(call) && call->action->run(call);
		if (!done && !call->code) /* a hand-made world lacks something */
			rg_sim_fail(call, 500, "InternalError", "An internal error has occurred");
		outcome = handling->fault ? RG_SIM_COUNT_INJECTED
			  : done	  ? RG_SIM_COUNT_OK
					  : RG_SIM_COUNT_ERROR;
	}
	rg_sim_counters_add(sim->counters, call->action, dry_run, outcome);
	rg_sim_leave(sim);
}

static void true_reply(const Handling *handling, RgSimReply *reply)
{
	const RgSimCall *call = &handling->call;
	reply->status = call->code ? call->status : 200;
	reply->content_type = rg_sim_protocol_type(call->service);
	if (call->code)
		rg_sim_protocol_error(call->service, call->status, call->code, call->message,
			handling->request_id, reply->body);
	else
		rg_sim_protocol_success(call, handling->request_id, reply->body);
}

static void false_reply(const Handling *handling, RgSimReply *reply)
{
	RgSimFault *fault = handling->fault;
	const char *code = fault->code ? fault->code : "InternalError";
	reply->status = fault->status ? fault->status : 500;
	reply->retry_after_s = fault->retry_after_s;
	reply->truncate = fault->truncate;
	reply->drop = fault->close;
	reply->own_type = g_steal_pointer(&fault->content_type);
	reply->content_type = reply->own_type ? reply->own_type
			      : fault->body   ? "text/html"
					      : rg_sim_protocol_type(handling->call.service);
	if (fault->body)
		g_string_append(reply->body, fault->body);
	else
		rg_sim_protocol_error(handling->call.service, reply->status, code,
			fault->message ? fault->message : "An internal error has occurred",
			handling->request_id, reply->body);
}

static void make_reply(const Handling *handling, RgSimReply *reply)
{
	if (handling->fault && rg_sim_fault_replaces(handling->fault)) {
		false_reply(handling, reply);
		return;
	}
	true_reply(handling, reply);
	if (handling->fault) {
		reply->truncate = handling->fault->truncate;
		reply->drop = handling->fault->close;
	}
}

/* Half of the latency lies before the action and half behind it, as on a real way there and back.
 */
static void travel(const Handling *handling)
{
	gint64 end_us = g_get_monotonic_time() + handling->latency_ms * 500, left_us;
	while ((left_us = end_us - g_get_monotonic_time()) > 0 &&
		!g_atomic_int_get(&handling->sim->stopping))
		g_usleep((gulong)MIN(left_us, STOP_SEEN_US));
}

static void handle(Handling *handling, RgSimReply *reply)
{
	if (arrive(handling)) {
		travel(handling);
		carry_out(handling);
		travel(handling);
	}
	make_reply(handling, reply);
}

static void serve_api(RgSim *sim, const RgSimRequest *request, RgSimReply *reply)
{
	g_autofree char *problem = NULL;
	json_auto_t *params = rg_sim_protocol_parse(request, &problem);
	Handling handling = {.sim = sim, .request = request, .params = params};
	handling.call = (RgSimCall){.service = rg_sim_protocol_service(request, params),
		.params = params,
		.status = 200,
		.body = g_string_new(NULL)};
	if (params) {
		handle(&handling, reply);
	} else {
		rg_sim_enter(sim);
		handling.request_id = make_request_id(sim);
		rg_sim_counters_add(sim->counters, NULL, false, RG_SIM_COUNT_ERROR);
		rg_sim_leave(sim);
		bool json = handling.call.service == RG_SIM_SSM;
		rg_sim_fail(&handling.call, 400,
			json ? "SerializationException" : "MalformedQueryString",
			"The %s contains a syntax error: %s", json ? "body" : "query string",
			problem);
		true_reply(&handling, reply);
	}
	reply->request_id = handling.request_id;
	g_string_free(handling.call.body, TRUE);
	g_free(handling.region);
	g_free(handling.call.caller);
	g_free(handling.call.code);
	g_free(handling.call.message);
	rg_sim_fault_free(handling.fault);
}

void rg_sim_serve(RgSim *sim, const RgSimRequest *request, RgSimReply *reply)
{
	*reply = (RgSimReply){.status = 200,
		.body = g_string_new(NULL),
		.retry_after_s = -1,
		.truncate = -1,
		.now_s = g_get_real_time() / G_USEC_PER_SEC};
	if (g_str_has_prefix(request->path, "/_sim"))
		rg_sim_control(sim, request, reply);
	else
		serve_api(sim, request, reply);
	pthread_mutex_lock(&sim->lock);
	reply->now_s += sim->knobs.clock_offset_s;
	/* the world is kept as of the default account, of the same length */
	const char *account = json_string_value(sim->knobs.account);
	if (!g_str_equal(account, RG_SIM_ACCOUNT) && !g_str_has_prefix(request->path, "/_sim"))
		g_string_replace(reply->body, RG_SIM_ACCOUNT, account, 0);
	pthread_mutex_unlock(&sim->lock);
}

void rg_sim_reply_clear(RgSimReply *reply)
{
	g_string_free(reply->body, TRUE);
	g_free(reply->own_type);
	g_free(reply->request_id);
}
