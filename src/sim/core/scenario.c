#include "sim/core/scenario.h"
#include "sim/core/cloud.h"
#include "sim/core/world.h"
#include "spec/document.h"

/* Enough for a day with a step every ten seconds. */
#define MAX_STEPS 10000
#define MAX_TYPES 200
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
	RgSimRealm *realm;   /* the cloud that `types` belong to */
	const json_t *types; /* may be NULL */
	GArray *steps;	     /* of Step, ordered by time; the first is the start */
	unsigned done;
	gint64 started_ms;
};

/* ---- reading */

/* The scenario being read: what is wrong, and the JSON pointer of the place. */
typedef struct {
	const RgSim *sim;
	char *problem;
	GString *pointer;
} Reading;

/* Adds the member, or the entry of it, to the problem's path. Returns false for the caller to
 * return. */
static bool reading_fail(Reading *reading, const char *name, gssize index, char *why)
{
	g_autofree char *entry = index < 0 ? g_strdup("") : g_strdup_printf("[%zd]", index);
	g_autofree char *place =
		index < 0 ? g_strdup_printf("/%s", name) : g_strdup_printf("/%s/%zd", name, index);
	reading->problem = g_strdup_printf("%s%s: %s", name, entry, why);
	g_string_prepend(reading->pointer, place);
	g_free(why);
	return false;
}

static bool read_reclaim(const json_t *rule, RgSimReclaim *reclaim, char **problem)
{
	json_t *ids = NULL;
	*reclaim = (RgSimReclaim){.left = G_MAXINT32, .notice_ms = -1};
	json_int_t notice_ms = 0;
	json_error_t error;
	int failed = json_unpack_ex(rg_json_unconst(rule), &error, 0, "{s?o, s?s, s?s, s?I, s?I !}",
		"instance_ids", &ids, "type", &reclaim->type, "zone", &reclaim->zone, "count",
		&reclaim->left, "notice_ms", &notice_ms);
	reclaim->ids = ids;
	if (json_object_get(rule, "notice_ms"))
		reclaim->notice_ms = notice_ms;
	if (failed)
		*problem = g_strdup_printf("not a reclaim: %s", error.text);
	else if ((ids && !json_is_array(ids)) || reclaim->left < 1 || notice_ms < 0 ||
		 notice_ms > 24 * 3600 * 1000)
		*problem = g_strdup("not a reclaim: instance_ids is a list, count from 1, "
				    "notice_ms from 0 to a day");
	return !*problem;
}

static bool check_reclaim(const json_t *rule, char **problem)
{
	RgSimReclaim unused;
	return read_reclaim(rule, &unused, problem);
}

static bool check_fault(const json_t *rule, char **problem)
{
	RgSimFaults scratch = {0};
	bool good = rg_sim_faults_add(&scratch, rule, problem) != 0;
	rg_sim_faults_clear(&scratch);
	return good;
}

typedef bool (*Check)(const json_t *value, char **problem);

/* `list` may be NULL. Adds the entry's path to the problem. */
static bool check_list(Reading *reading, const json_t *list, const char *name, Check check)
{
	if (list && !json_is_array(list)) {
		reading->problem = g_strdup_printf("%s is a list", name);
		return false;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		char *why = NULL;
		if (!check(json_array_get(list, i), &why))
			return reading_fail(reading, name, (gssize)i, why);
	}
	return true;
}

static bool check_parts(Reading *reading, const Step *step)
{
	char *why = NULL;
	json_auto_t *knobs = NULL;
	if (step->knobs) {
		knobs = rg_sim_knobs_change(
			reading->sim->clouds, reading->sim->first_knobs, step->knobs, &why);
		if (!knobs)
			return reading_fail(reading, "knobs", -1, why);
	}
	return check_list(reading, step->faults, "faults", check_fault) &&
	       check_list(reading, step->reclaims, "reclaims", check_reclaim);
}

static bool read_step(Reading *reading, const json_t *given, Step *step)
{
	double at_s = -1;
	int clear = 0;
	const char *note = NULL;
	json_t *knobs = NULL, *faults = NULL, *reclaims = NULL;
	json_error_t error;
	int failed = json_unpack_ex(rg_json_unconst(given), &error, 0,
		"{s:F, s?s, s?b, s?o, s?o, s?o !}", "at_s", &at_s, "note", &note, "clear_faults",
		&clear, "knobs", &knobs, "faults", &faults, "reclaims", &reclaims);
	if (failed)
		reading->problem = g_strdup(error.text);
	else if (!(at_s >= 0 && at_s <= MAX_AT_S))
		reading->problem = g_strdup("at_s is from 0 to 2592000 (30 days)");
	*step = (Step){(gint64)(at_s * 1000), clear, knobs, faults, reclaims};
	return !reading->problem && check_parts(reading, step);
}

static int compare_steps(const void *a, const void *b)
{
	const Step *left = a, *right = b;
	return (left->at_ms > right->at_ms) - (left->at_ms < right->at_ms);
}

static bool read_steps(Reading *reading, RgSimScenario *scenario, const json_t *list)
{
	if ((list && !json_is_array(list)) || json_array_size(list) > MAX_STEPS) {
		reading->problem = g_strdup_printf("steps is a list of at most %d", MAX_STEPS);
		return false;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		Step step;
		if (!read_step(reading, json_array_get(list, i), &step))
			return reading_fail(
				reading, "steps", (gssize)i, g_steal_pointer(&reading->problem));
		g_array_append_val(scenario->steps, step);
	}
	/* Steps with the same time keep their order. */
	g_array_sort(scenario->steps, compare_steps);
	return true;
}

static bool check_types(const RgSimRealm *realm, const json_t *types, char **problem)
{
	const char *name;
	json_t *type;
	if (!json_is_object(types) || json_object_size(types) > MAX_TYPES) {
		*problem = g_strdup_printf("instance_types is an object of at most %d", MAX_TYPES);
		return false;
	}
	json_object_foreach (rg_json_unconst(types), name, type) {
		g_autofree char *why = NULL;
		if (realm->cloud->type_check(realm->data, name, type, &why))
			continue;
		*problem = g_strdup_printf("instance_types.%s: %s", name, why);
		return false;
	}
	return true;
}

/* `instance_types` belong to the cloud that `cloud` names, or of those that take any to the last,
 * which serves all requests that no other claims. */
static bool read_types(
	Reading *reading, RgSimScenario *scenario, const char *cloud, const json_t *types)
{
	const GPtrArray *realms = reading->sim->realms;
	for (unsigned i = realms->len; i > 0 && !scenario->realm; i--) {
		RgSimRealm *realm = g_ptr_array_index(realms, i - 1);
		if (cloud ? g_str_equal(realm->cloud->name, cloud)
			  : realm->cloud->type_check != NULL)
			scenario->realm = realm;
	}
	if (!scenario->realm && !cloud && !types)
		return true;
	if (!scenario->realm)
		return reading_fail(reading, "cloud", -1,
			g_strdup_printf("there is no simulated cloud called %s", cloud));
	scenario->types = types;
	const RgSimCloud *found = scenario->realm->cloud;
	if (!types || (found->type_check && check_types(scenario->realm, types, &reading->problem)))
		return true;
	if (!reading->problem)
		reading->problem = g_strdup_printf("instance_types: %s takes none", found->name);
	g_string_assign(reading->pointer, "/instance_types");
	return false;
}

static bool read_document(Reading *reading, RgSimScenario *scenario)
{
	const char *description = NULL, *cloud = NULL;
	json_t *knobs = NULL, *faults = NULL, *steps = NULL, *types = NULL;
	json_error_t error;
	if (json_unpack_ex(scenario->document, &error, 0, "{s?s, s?s, s?o, s?o, s?o, s?o !}",
		    "description", &description, "cloud", &cloud, "knobs", &knobs, "faults",
		    &faults, "steps", &steps, "instance_types", &types) < 0) {
		reading->problem = g_strdup(error.text);
		return false;
	}
	Step start = {.knobs = knobs, .faults = faults};
	g_array_append_val(scenario->steps, start);
	return check_parts(reading, &start) && read_types(reading, scenario, cloud, types) &&
	       read_steps(reading, scenario, steps);
}

static void add_line(GString *lines, RgSource source, const char *file, const char *text)
{
	g_string_append_printf(lines, "%s%s:", lines->len ? "\n" : "", file);
	if (source.line)
		g_string_append_printf(lines, "%u:%u:", source.line, source.column);
	g_string_append_printf(lines, " %s", text);
}

static char *findings_text(const RgDiags *diags, const char *file)
{
	GString *lines = g_string_new(NULL);
	rg_diags_foreach (diag, diags) {
		add_line(lines, diag->source, file, diag->summary);
		if (diag->hint)
			g_string_append_printf(lines, "; %s", diag->hint);
	}
	return g_string_free(lines, FALSE);
}

RgSimScenario *rg_sim_scenario_read(
	const RgSim *sim, const char *file, const char *text, size_t len, char **problem)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgDocument) document = rg_document_load(file, text, len, diags);
	if (!document || rg_diags_has_errors(diags)) {
		*problem = findings_text(diags, file);
		return NULL;
	}
	RgSimScenario *scenario = g_new0(RgSimScenario, 1);
	scenario->document = json_deep_copy(document->value);
	scenario->steps = g_array_new(FALSE, FALSE, sizeof(Step));
	g_autoptr(GString) pointer = g_string_new(NULL);
	Reading reading = {.sim = sim, .pointer = pointer};
	if (read_document(&reading, scenario))
		return scenario;
	GString *line = g_string_new(NULL);
	add_line(line, rg_document_source(document, pointer->str), file, reading.problem);
	*problem = g_string_free(line, FALSE);
	g_free(reading.problem);
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

/* ---- running */

json_t *rg_sim_reclaim(RgSim *sim, const json_t *rule, char **problem)
{
	RgSimReclaim reclaim;
	if (!read_reclaim(rule, &reclaim, problem))
		return NULL;
	json_t *hit = json_array();
	rg_ptr_foreach (RgSimRealm, realm, sim->realms) {
		GHashTableIter iter;
		void *place;
		g_hash_table_iter_init(&iter, realm->places);
		while (realm->cloud->reclaim && g_hash_table_iter_next(&iter, NULL, &place))
			realm->cloud->reclaim(place, &reclaim, hit);
	}
	return hit;
}

/* Everything was checked when the document was read, so nothing can be refused here. */
static void step_carry_out(const Step *step, RgSim *sim)
{
	g_autofree char *problem = NULL;
	if (step->knobs) {
		json_t *old = sim->knobs;
		sim->knobs = rg_sim_knobs_change(sim->clouds, old, step->knobs, &problem);
		json_decref(old);
	}
	if (step->clear_faults)
		rg_sim_faults_clear(&sim->faults);
	for (size_t i = 0; i < json_array_size(step->faults); i++)
		rg_sim_faults_add(&sim->faults, json_array_get(step->faults, i), &problem);
	for (size_t i = 0; i < json_array_size(step->reclaims); i++)
		json_decref(rg_sim_reclaim(sim, json_array_get(step->reclaims, i), &problem));
	g_assert(!problem);
}

void rg_sim_scenario_start(RgSimScenario *scenario, RgSim *sim)
{
	const char *name;
	json_t *type;
	scenario->started_ms = sim->now_ms;
	scenario->done = 0;
	json_object_foreach (rg_json_unconst(scenario->types), name, type)
		scenario->realm->cloud->type_add(scenario->realm->data, name, type);
	rg_sim_scenario_run(scenario, sim);
}

void rg_sim_scenario_run(RgSimScenario *scenario, RgSim *sim)
{
	gint64 now_ms = sim->now_ms;
	while (scenario->done < scenario->steps->len) {
		const Step *step = &g_array_index(scenario->steps, Step, scenario->done);
		if (scenario->started_ms + step->at_ms > now_ms)
			break;
		/* At its own time: what was due before comes first, what it causes comes later. */
		sim->now_ms = scenario->started_ms + step->at_ms;
		rg_sim_world_run(sim);
		step_carry_out(step, sim);
		scenario->done++;
	}
	sim->now_ms = now_ms;
}

json_t *rg_sim_scenario_json(const RgSimScenario *scenario, gint64 now_ms)
{
	if (!scenario)
		return json_pack("{s:b}", "started", 0);
	/* The start is not a step of the file. */
	return json_pack("{s:b, s:f, s:i, s:i}", "started", 1, "elapsed_s",
		(double)(now_ms - scenario->started_ms) / 1000, "done",
		(int)MAX(scenario->done, 1) - 1, "steps", (int)scenario->steps->len - 1);
}
