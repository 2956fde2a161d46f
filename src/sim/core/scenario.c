#include "sim/core/scenario.h"
#include "aws/sim/lifecycle.h"
#include "aws/sim/own_types.h"
#include "sim/core/sim.h"
#include "aws/sim/spot.h"

/* Enough for a day with a step every ten seconds. */
#define MAX_STEPS 10000
#define MAX_AT_S (30 * 24 * 3600.0)

/* Owned by the document. */
typedef struct {
	gint64 at_ms; /* after the start */
	bool clear_faults;
	const json_t *knobs; /* these may be NULL */
	const json_t *faults;
	const json_t *reclaims;
} Step;

struct RgSimScenario {
	json_t *document;
	const json_t *types; /* may be NULL */
	GArray *steps;	     /* of Step, in order of time; the first is the start */
	unsigned done;
	gint64 started_ms;
};

static bool check_knobs(const json_t *knobs, char **problem)
{
	RgSimKnobs scratch;
	rg_sim_knobs_init(&scratch);
	bool good = rg_sim_knobs_apply(&scratch, knobs, problem);
	rg_sim_knobs_clear(&scratch);
	return good;
}

static bool check_fault(const json_t *rule, char **problem)
{
	RgSimFaults *scratch = rg_sim_faults_new();
	bool good = rg_sim_faults_add(scratch, rule, problem) != 0;
	rg_sim_faults_free(scratch);
	return good;
}

/* What is wrong, and the JSON pointer of where. */
typedef struct {
	char *text;
	GString *pointer;
} Problem;

/* Says that it was found in this member, or in this entry of it. false for the caller to return. */
static bool within(Problem *problem, const char *name, gssize index, char *why)
{
	g_autofree char *entry = index < 0 ? g_strdup("") : g_strdup_printf("[%zd]", index);
	g_autofree char *place =
		index < 0 ? g_strdup_printf("/%s", name) : g_strdup_printf("/%s/%zd", name, index);
	problem->text = g_strdup_printf("%s%s: %s", name, entry, why);
	g_string_prepend(problem->pointer, place);
	g_free(why);
	return false;
}

typedef bool (*Check)(const json_t *value, char **problem);

/* `list` may be NULL. The problem gets the entry's path. */
static bool check_list(const json_t *list, const char *name, Check check, Problem *problem)
{
	if (list && !json_is_array(list)) {
		problem->text = g_strdup_printf("%s is a list", name);
		return false;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		char *why = NULL;
		if (!check(json_array_get(list, i), &why))
			return within(problem, name, (gssize)i, why);
	}
	return true;
}

static bool check_parts(const Step *step, Problem *problem)
{
	char *why = NULL;
	if (step->knobs && !check_knobs(step->knobs, &why))
		return within(problem, "knobs", -1, why);
	return check_list(step->faults, "faults", check_fault, problem) &&
	       check_list(step->reclaims, "reclaims", rg_sim_spot_reclaim_check, problem);
}

static bool read_step(const json_t *given, Step *step, Problem *problem)
{
	double at_s = -1;
	int clear = 0;
	const char *note = NULL;
	json_t *knobs = NULL, *faults = NULL, *reclaims = NULL;
	json_error_t error;
	int unpacked = json_unpack_ex((json_t *)(guintptr)given, &error, 0,
		"{s:F, s?s, s?b, s?o, s?o, s?o !}", "at_s", &at_s, "note", &note, "clear_faults",
		&clear, "knobs", &knobs, "faults", &faults, "reclaims", &reclaims);
	if (unpacked < 0) {
		problem->text = g_strdup(error.text);
		return false;
	}
	if (!(at_s >= 0 && at_s <= MAX_AT_S)) {
		problem->text = g_strdup("at_s is from 0 to 2592000 (30 days)");
		return false;
	}
	*step = (Step){.at_ms = (gint64)(at_s * 1000),
		.clear_faults = clear,
		.knobs = knobs,
		.faults = faults,
		.reclaims = reclaims};
	return check_parts(step, problem);
}

static int compare_steps(const void *a, const void *b)
{
	const Step *left = a;
	const Step *right = b;
	return (left->at_ms > right->at_ms) - (left->at_ms < right->at_ms);
}

static bool read_steps(RgSimScenario *scenario, const json_t *list, Problem *problem)
{
	if ((list && !json_is_array(list)) || json_array_size(list) > MAX_STEPS) {
		problem->text = g_strdup_printf("steps is a list of at most %d", MAX_STEPS);
		return false;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		Step step;
		if (!read_step(json_array_get(list, i), &step, problem))
			return within(problem, "steps", (gssize)i, g_steal_pointer(&problem->text));
		g_array_append_val(scenario->steps, step);
	}
	/* Steps of the same instant keep their order. */
	g_array_sort(scenario->steps, compare_steps);
	return true;
}

static bool read_document(RgSimScenario *scenario, const RgSimData *data, Problem *problem)
{
	const char *description = NULL;
	json_t *knobs = NULL, *faults = NULL, *steps = NULL, *types = NULL;
	json_error_t error;
	if (json_unpack_ex(scenario->document, &error, 0, "{s?s, s?o, s?o, s?o, s?o !}",
		    "description", &description, "knobs", &knobs, "faults", &faults, "steps",
		    &steps, "instance_types", &types) < 0) {
		problem->text = g_strdup(error.text);
		return false;
	}
	Step start = {.knobs = knobs, .faults = faults};
	if (!check_parts(&start, problem))
		return false;
	if (!rg_sim_own_types_check(data, types, &problem->text)) {
		g_string_assign(problem->pointer, "/instance_types");
		return false;
	}
	scenario->types = types;
	g_array_append_val(scenario->steps, start);
	return read_steps(scenario, steps, problem);
}

RgSimScenario *rg_sim_scenario_new(
	const RgSimData *data, const json_t *document, char **problem, char **pointer)
{
	RgSimScenario *scenario = g_new0(RgSimScenario, 1);
	Problem found = {.pointer = g_string_new(NULL)};
	scenario->document = json_deep_copy(document);
	scenario->steps = g_array_new(FALSE, FALSE, sizeof(Step));
	bool good = read_document(scenario, data, &found);
	char *place = g_string_free(found.pointer, FALSE);
	if (good || !pointer)
		g_free(place);
	else
		*pointer = place;
	if (good)
		return scenario;
	*problem = found.text;
	rg_sim_scenario_free(scenario);
	return NULL;
}

void rg_sim_scenario_free(RgSimScenario *scenario)
{
	if (!scenario)
		return;
	g_array_unref(scenario->steps);
	json_decref(scenario->document);
	g_free(scenario);
}

/* Everything was checked when the document was read, so nothing here can be refused. */
static void carry_out(const Step *step, RgSim *sim)
{
	g_autofree char *problem = NULL;
	if (step->knobs)
		rg_sim_knobs_apply(&sim->knobs, step->knobs, &problem);
	if (step->clear_faults)
		rg_sim_faults_clear(sim->faults);
	for (size_t i = 0; i < json_array_size(step->faults); i++)
		rg_sim_faults_add(sim->faults, json_array_get(step->faults, i), &problem);
	for (size_t i = 0; i < json_array_size(step->reclaims); i++)
		json_decref(rg_sim_spot_reclaim(
			sim->world, &sim->knobs, json_array_get(step->reclaims, i), &problem));
	g_assert(!problem);
}

void rg_sim_scenario_start(RgSimScenario *scenario, RgSim *sim)
{
	scenario->started_ms = sim->world->now_ms;
	scenario->done = 0;
	rg_sim_own_types_add(sim->data, scenario->types);
	rg_sim_scenario_run(scenario, sim);
}

void rg_sim_scenario_run(RgSimScenario *scenario, RgSim *sim)
{
	gint64 now_ms = sim->world->now_ms;
	while (scenario->done < scenario->steps->len) {
		const Step *step = &g_array_index(scenario->steps, Step, scenario->done);
		if (scenario->started_ms + step->at_ms > now_ms)
			break;
		/* In its own time: what was due before comes first, what it sets off later. */
		sim->world->now_ms = scenario->started_ms + step->at_ms;
		rg_sim_lifecycle_run(sim->world);
		carry_out(step, sim);
		scenario->done++;
	}
	sim->world->now_ms = now_ms;
}

json_t *rg_sim_scenario_json(const RgSimScenario *scenario, gint64 now_ms)
{
	if (!scenario)
		return json_pack("{s:b}", "started", 0);
	/* The start is no step of the file. */
	return json_pack("{s:b, s:f, s:i, s:i}", "started", 1, "elapsed_s",
		(double)(now_ms - scenario->started_ms) / 1000, "done",
		(int)MAX(scenario->done, 1) - 1, "steps", (int)scenario->steps->len - 1);
}
