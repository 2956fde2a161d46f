#include "sim/core/control.h"
#include "sim/core/cloud.h"
#include "sim/core/world.h"
#include "sim/core/worldfile.h"

#define SKIP_MAX_S (INT64_C(3650) * 86400)

/* A request at the endpoint, under the simulator's lock. */
typedef struct {
	RgSim *sim;
	const RgSimRequest *request;
	const json_t *given; /* the request's JSON; NULL without a body, and for a scenario */
	char *problem;	     /* set by a handler that returns NULL */
	char *text;	     /* instead of the handler's result */
} Control;

/* The answer, which the caller owns. */
typedef json_t *(*Handler)(Control *control);

static json_t *get_ready(Control *control)
{
	return json_pack("{s:b}", "ready", 1);
}

static json_t *get_world(Control *control)
{
	control->text = rg_sim_worldfile_text(control->sim);
	return json_null();
}

static json_t *get_counters(Control *control)
{
	return json_deep_copy(control->sim->counters);
}

static json_t *reset_counters(Control *control)
{
	json_decref(control->sim->counters);
	control->sim->counters = rg_sim_counters_new();
	return get_counters(control);
}

static json_t *get_knobs(Control *control)
{
	return json_incref(control->sim->knobs);
}

static json_t *put_knobs(Control *control)
{
	RgSim *sim = control->sim;
	json_t *knobs =
		rg_sim_knobs_change(sim->clouds, sim->knobs, control->given, &control->problem);
	if (!knobs)
		return NULL;
	json_decref(sim->knobs);
	sim->knobs = knobs;
	return get_knobs(control);
}

static json_t *get_faults(Control *control)
{
	const json_t *rules = control->sim->faults.rules;
	return rules ? json_deep_copy(rules) : json_array();
}

static json_t *add_fault(Control *control)
{
	gint64 id = rg_sim_faults_add(&control->sim->faults, control->given, &control->problem);
	return id ? json_pack("{s:I}", "id", (json_int_t)id) : NULL;
}

static json_t *clear_faults(Control *control)
{
	rg_sim_faults_clear(&control->sim->faults);
	return get_faults(control);
}

static json_t *control_reclaim(Control *control)
{
	json_t *hit = rg_sim_reclaim(control->sim, control->given, &control->problem);
	return hit ? json_pack("{s:o}", "instance_ids", hit) : NULL;
}

/* The world's time, not that of its clients: what is due until then happens, each at its time. */
static json_t *skip_time(Control *control)
{
	RgSim *sim = control->sim;
	json_t *seconds = json_object_get(control->given, "seconds");
	gint64 skip_s = json_integer_value(seconds);
	if (json_object_size(control->given) != 1 || skip_s < 0 || skip_s > SKIP_MAX_S ||
		!json_is_integer(seconds)) {
		control->problem = g_strdup("give {\"seconds\": N}, N from 0 to 315360000");
		return NULL;
	}
	sim->skipped_ms += skip_s * 1000;
	rg_sim_world_enter(sim);
	rg_sim_world_run(sim);
	return json_pack("{s:I}", "now_s", (json_int_t)(sim->now_ms / 1000));
}

static json_t *get_scenario(Control *control)
{
	return rg_sim_scenario_json(control->sim->scenario, control->sim->now_ms);
}

static json_t *put_scenario(Control *control)
{
	const RgSimRequest *request = control->request;
	RgSimScenario *scenario = rg_sim_scenario_read(control->sim, "the scenario", request->body,
		request->body_length, &control->problem);
	if (!scenario)
		return NULL;
	rg_sim_play(control->sim, scenario);
	return get_scenario(control);
}

static json_t *forget_scenario(Control *control)
{
	rg_sim_play(control->sim, NULL);
	return get_scenario(control);
}

static json_t *control_reset(Control *control)
{
	rg_sim_reset(control->sim);
	return get_ready(control);
}

static json_t *get_index(Control *control);

static const struct {
	const char *method;
	const char *path;
	Handler handler;
	const char *what;
} routes[] = {
	{"GET", "/_sim/", get_index, "this list"},
	{"GET", "/_sim/ready", get_ready, "answers as soon as the server does"},
	{"GET", "/_sim/world", get_world, "the whole world, also written to its file"},
	{"GET", "/_sim/counters", get_counters, "requests since the start or the last reset"},
	{"POST", "/_sim/counters/reset", reset_counters, "counters to 0"},
	{"GET", "/_sim/knobs", get_knobs, "behaviour"},
	{"PUT", "/_sim/knobs", put_knobs, "changes the knobs that are given"},
	{"GET", "/_sim/faults", get_faults, "faults that are still to come"},
	{"POST", "/_sim/faults", add_fault, "adds a fault"},
	{"DELETE", "/_sim/faults", clear_faults, "forgets all faults"},
	{"POST", "/_sim/reclaim", control_reclaim, "announces the end of spot instances"},
	{"POST", "/_sim/skip", skip_time, "lets time pass at once for what it simulates"},
	{"GET", "/_sim/scenario", get_scenario, "how far the scenario is"},
	{"PUT", "/_sim/scenario", put_scenario, "starts a scenario"},
	{"DELETE", "/_sim/scenario", forget_scenario, "ends it; what it did stays"},
	{"POST", "/_sim/reset", control_reset,
		"empty world, first knobs, no faults, counters to 0"},
};

static json_t *get_index(Control *control)
{
	json_t *list = json_array();
	for (size_t i = 0; i < G_N_ELEMENTS(routes); i++)
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s}", "method", routes[i].method, "path",
				      routes[i].path, "what", routes[i].what));
	return json_pack("{s:s, s:o}", "server", "raygpu-sim", "control", list);
}

static Handler find_handler(const RgSimRequest *request, bool *path_known)
{
	const char *path = g_str_equal(request->path, "/_sim") ? "/_sim/" : request->path;
	*path_known = false;
	for (size_t i = 0; i < G_N_ELEMENTS(routes); i++) {
		if (!g_str_equal(routes[i].path, path))
			continue;
		*path_known = true;
		if (g_str_equal(routes[i].method, request->method))
			return routes[i].handler;
	}
	return NULL;
}

/* Runs the handler under the lock; NULL and control->problem if it refuses. */
static json_t *control_handle(Control *control, Handler handler)
{
	RgSim *sim = control->sim;
	json_auto_t *given = NULL;
	json_error_t error;
	if (control->request->body_length && handler != put_scenario) {
		given = json_loadb(control->request->body, control->request->body_length,
			JSON_REJECT_DUPLICATES, &error);
		if (!given) {
			control->problem = g_strdup_printf("line %d: %s", error.line, error.text);
			return NULL;
		}
	}
	control->given = given;
	rg_sim_enter(sim);
	json_t *answer = handler(control);
	rg_sim_leave(sim);
	return answer;
}

void rg_sim_control(RgSim *sim, const RgSimRequest *request, RgSimReply *reply)
{
	bool path_known;
	Handler handler = find_handler(request, &path_known);
	Control control = {.sim = sim, .request = request};
	json_auto_t *answer = NULL;
	reply->status = !path_known ? 404 : !handler ? 405 : 400;
	if (!handler)
		control.problem = g_strdup_printf("no %s %s here; GET /_sim/ lists what there is",
			request->method, request->path);
	else if (handler == get_world && sim->saver &&
		 !rg_sim_saver_flush(sim->saver, &control.problem))
		reply->status = 500;
	else if ((answer = control_handle(&control, handler)))
		reply->status = 200;
	if (!answer)
		answer = json_pack("{s:s}", "error", control.problem);
	g_free(control.problem);
	g_autofree char *text = control.text ? control.text : json_dumps(answer, JSON_INDENT(2));
	g_string_append(reply->body, text);
	g_string_append_c(reply->body, '\n');
	rg_sim_reply_header(reply, "Content-Type", "application/json");
}
