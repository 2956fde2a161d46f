#include "sim/core/control.h"
#include <string.h>
#include "aws/sim/spot.h"

typedef struct {
	RgSim *sim;
	const RgSimRequest *request;
	const json_t *given; /* the request's JSON; NULL without a body, and of a scenario */
	RgSimReply *reply;
} Control;

typedef void (*Handler)(Control *control);

static void answer(Control *control, int status, json_t *value)
{
	char *text = json_dumps(value, JSON_INDENT(2));
	control->reply->status = status;
	g_string_assign(control->reply->body, text ? text : "null");
	g_string_append_c(control->reply->body, '\n');
	g_free(text);
	json_decref(value);
}

static void answer_problem(Control *control, int status, char *problem)
{
	answer(control, status, json_pack("{s:s}", "error", problem));
	g_free(problem);
}

static void get_ready(Control *control)
{
	answer(control, 200, json_pack("{s:b}", "ready", 1));
}

static void get_world(Control *control)
{
	RgSim *sim = control->sim;
	char *problem = NULL;
	if (sim->saver && !rg_sim_saver_flush(sim->saver, &problem)) {
		answer_problem(control, 500, problem);
		return;
	}
	rg_sim_enter(sim);
	g_autofree char *text = rg_sim_worldfile_text(sim->world);
	rg_sim_leave(sim);
	g_string_assign(control->reply->body, text);
}

static void get_counters(Control *control)
{
	rg_sim_enter(control->sim);
	json_t *counters = rg_sim_counters_json(control->sim->counters);
	rg_sim_leave(control->sim);
	answer(control, 200, counters);
}

static void reset_counters(Control *control)
{
	rg_sim_enter(control->sim);
	rg_sim_counters_reset(control->sim->counters);
	rg_sim_leave(control->sim);
	get_counters(control);
}

static void get_knobs(Control *control)
{
	rg_sim_enter(control->sim);
	json_t *knobs = rg_sim_knobs_json(&control->sim->knobs);
	rg_sim_leave(control->sim);
	answer(control, 200, knobs);
}

static void put_knobs(Control *control)
{
	char *problem = NULL;
	rg_sim_enter(control->sim);
	bool done = rg_sim_knobs_apply(&control->sim->knobs, control->given, &problem);
	rg_sim_leave(control->sim);
	if (done)
		get_knobs(control);
	else
		answer_problem(control, 400, problem);
}

static void get_faults(Control *control)
{
	rg_sim_enter(control->sim);
	json_t *faults = rg_sim_faults_json(control->sim->faults);
	rg_sim_leave(control->sim);
	answer(control, 200, faults);
}

static void add_fault(Control *control)
{
	char *problem = NULL;
	rg_sim_enter(control->sim);
	gint64 id = rg_sim_faults_add(control->sim->faults, control->given, &problem);
	rg_sim_leave(control->sim);
	if (id)
		answer(control, 200, json_pack("{s:I}", "id", (json_int_t)id));
	else
		answer_problem(control, 400, problem);
}

static void clear_faults(Control *control)
{
	rg_sim_enter(control->sim);
	rg_sim_faults_clear(control->sim->faults);
	rg_sim_leave(control->sim);
	get_faults(control);
}

static void reclaim(Control *control)
{
	char *problem = NULL;
	RgSim *sim = control->sim;
	rg_sim_enter(sim);
	json_t *hit = rg_sim_spot_reclaim(sim->world, &sim->knobs, control->given, &problem);
	rg_sim_leave(sim);
	if (hit)
		answer(control, 200, json_pack("{s:o}", "instance_ids", hit));
	else
		answer_problem(control, 400, problem);
}

static void get_scenario(Control *control)
{
	RgSim *sim = control->sim;
	rg_sim_enter(sim);
	json_t *state = rg_sim_scenario_json(sim->scenario, sim->world->now_ms);
	rg_sim_leave(sim);
	answer(control, 200, state);
}

static void put_scenario(Control *control)
{
	char *problem = NULL;
	const RgSimRequest *request = control->request;
	RgSimScenario *scenario = rg_sim_scenario_read(
		control->sim->data, "the scenario", request->body, request->body_length, &problem);
	if (!scenario) {
		answer_problem(control, 400, problem);
		return;
	}
	rg_sim_play(control->sim, scenario);
	get_scenario(control);
}

static void forget_scenario(Control *control)
{
	rg_sim_play(control->sim, NULL);
	get_scenario(control);
}

static void reset(Control *control)
{
	rg_sim_reset(control->sim);
	get_ready(control);
}

static void get_index(Control *control);

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
	{"POST", "/_sim/reclaim", reclaim, "announces the end of spot instances"},
	{"GET", "/_sim/scenario", get_scenario, "how far the scenario is"},
	{"PUT", "/_sim/scenario", put_scenario, "starts a scenario"},
	{"DELETE", "/_sim/scenario", forget_scenario, "ends it; what it did stays"},
	{"POST", "/_sim/reset", reset, "empty world, first knobs, no faults, counters to 0"},
};

static void get_index(Control *control)
{
	json_t *list = json_array();
	for (size_t i = 0; i < G_N_ELEMENTS(routes); i++)
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s}", "method", routes[i].method, "path",
				      routes[i].path, "what", routes[i].what));
	answer(control, 200, json_pack("{s:s, s:o}", "server", "raygpu-sim", "control", list));
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

void rg_sim_control(RgSim *sim, const RgSimRequest *request, RgSimReply *reply)
{
	bool path_known;
	Handler handler = find_handler(request, &path_known);
	Control control = {.sim = sim, .reply = reply, .request = request};
	reply->content_type = "application/json";
	json_error_t error;
	json_auto_t *given = NULL;
	if (request->body_length && handler != put_scenario) {
		given = json_loadb(
			request->body, request->body_length, JSON_REJECT_DUPLICATES, &error);
		if (!given) {
			answer_problem(&control, 400,
				g_strdup_printf("line %d: %s", error.line, error.text));
			return;
		}
	}
	control.given = given;
	if (handler)
		handler(&control);
	else
		answer_problem(&control, path_known ? 405 : 404,
			g_strdup_printf("no %s %s here; GET /_sim/ lists what there is",
				request->method, request->path));
}
