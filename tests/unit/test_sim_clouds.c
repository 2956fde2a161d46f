/* Two clouds on one port, the second one tiny: JSON over REST, machines in projects, nothing like
 * EC2. */
#include <string.h>
#include "aws/sim/cloud.h"
#include "sim/core/call.h"
#include <glib/gstdio.h>
#include "sim/core/world.h"

enum { MACHINE, KINDS };
static const RgSimKind tiny_kinds[KINDS] = {{"machines", "name"}};
static const RgSimKnob tiny_knobs[] = {{"tiny_most", 2, 0, 9}, {NULL}};

static bool tiny_claims(const RgSimRequest *request)
{
	return g_str_has_prefix(request->path, "/tiny/");
}

static bool tiny_has_place(const void *data, const char *name)
{
	return g_str_has_prefix(name, "project-");
}

static bool make_machine(RgSimCall *call)
{
	const char *name = doc_str(call->params, "name");
	gint64 room = doc_int(call->sim->knobs, "tiny_most");
	for (unsigned at = 0; rg_sim_next(call->place, MACHINE, &at);)
		room--;
	if (room < 1)
		return rg_sim_fail(call, 429, "QUOTA", "no room for %s", name);
	json_t *doc = json_pack("{s:s, s:s}", "name", name, "state", "booting");
	rg_sim_plan(call->place, MACHINE, doc,
		call->sim->now_ms + doc_int(call->sim->knobs, "boot_ms"), "up");
	rg_sim_put(call->place, MACHINE, doc);
	rg_sim_reply_header(call->reply, "Location", call->request->path);
	call->status = 201;
	return true;
}

static bool show_machine(RgSimCall *call)
{
	const json_t *doc =
		rg_sim_find(call->place, MACHINE, strrchr(call->request->path, '/') + 1);
	if (!doc)
		return rg_sim_fail(call, 404, "NOT_FOUND", "no such machine");
	g_string_append(call->body, doc_str(doc, "state"));
	return true;
}

static bool drop_machine(RgSimCall *call)
{
	rg_sim_remove(call->place, MACHINE, strrchr(call->request->path, '/') + 1);
	return true;
}

static const struct {
	const char *method;
	RgSimAction action;
} tiny_actions[] = {{"PUT", {"machines.put", make_machine, true}},
	{"GET", {"machines.get", show_machine, false}},
	{"DELETE", {"machines.delete", drop_machine, true}}};

/* /tiny/PROJECT/machines/NAME */
static bool tiny_admit(RgSimCall *call)
{
	g_auto(GStrv) parts = g_strsplit(call->request->path, "/", -1);
	call->place_name = g_strdup(parts[2]);
	call->params = json_loadb(call->request->body, call->request->body_length, 0, NULL);
	if (!tiny_has_place(NULL, call->place_name))
		return rg_sim_fail(call, 403, "FORBIDDEN", "not your project");
	for (size_t i = 0; i < G_N_ELEMENTS(tiny_actions); i++) {
		if (g_str_equal(tiny_actions[i].method, call->request->method))
			call->action = &tiny_actions[i].action;
	}
	return call->action || rg_sim_fail(call, 405, "METHOD", "no such method");
}

static void tiny_answer(const RgSimCall *call)
{
	RgSimReply *reply = call->reply;
	reply->status = call->status;
	g_string_assign(reply->body, call->code ? call->code : call->body->str);
	rg_sim_reply_header(reply, "Content-Type", "text/plain");
	rg_sim_reply_header(reply, "ETag", call->request_id);
}

static void tiny_due(RgSimPlace *place, unsigned kind, const char *id, const char *state)
{
	json_t *doc = rg_sim_edit(place, kind, id);
	json_object_set_new(doc, "state", json_string(state));
	json_object_del(doc, "_due");
	rg_sim_put(place, kind, doc);
}

static const RgSimCloud tiny_cloud = {
	.name = "tiny",
	.section = "tiny",
	.kinds = tiny_kinds,
	.n_kinds = KINDS,
	.knobs = tiny_knobs,
	.has_place = tiny_has_place,
	.due = tiny_due,
	.claims = tiny_claims,
	.admit = tiny_admit,
	.answer = tiny_answer,
};
static const RgSimCloud *const clouds[] = {&tiny_cloud, &aws_sim_cloud, NULL};

/* ---- the tests */

static RgSim *sim_new(const char *knobs, const char *world_path)
{
	g_autofree char *problem = NULL;
	json_auto_t *changes = json_loads(knobs, 0, NULL), *initial = rg_sim_knobs_new(clouds);
	json_t *changed = rg_sim_knobs_change(clouds, initial, changes, &problem);
	RgSim *sim = rg_sim_new(clouds, 1, changed, world_path, &problem);
	g_assert_cmpstr(problem, ==, NULL);
	return sim;
}

static void sim_close(RgSim *sim)
{
	g_assert_true(rg_sim_close(sim, NULL));
}

/* Asserts the status of a request, and a part of the answer's body (NULL: any). Returns the named
 * header of the reply, or NULL. g_free it. */
static char *ask(RgSim *sim, const char *method, const char *path, const char *body, int status,
	const char *part, const char *header)
{
	g_autoptr(GHashTable) headers = g_hash_table_new(g_str_hash, g_str_equal);
	RgSimRequest request = {method, path, "", headers, body, strlen(body)};
	RgSimReply reply;
	rg_sim_serve(sim, &request, &reply);
	g_assert_cmpint(reply.status, ==, status);
	if (part && !strstr(reply.body->str, part))
		g_error("%s is not in %s", part, reply.body->str);
	char *value = NULL;
	for (unsigned i = 0; header && i < reply.headers->len; i += 2) {
		if (g_str_equal(reply.headers->pdata[i], header))
			value = g_strdup(reply.headers->pdata[i + 1]);
	}
	rg_sim_reply_clear(&reply);
	return value;
}

static void expect(RgSim *sim, const char *method, const char *path, const char *body, int status,
	const char *part)
{
	g_free(ask(sim, method, path, body, status, part, NULL));
}

#define ONE "/tiny/project-a/machines/one"
#define EC2_FORM "Action=DescribeVpcs&Version=2016-11-15"

static void test_each_gets_its_requests(void)
{
	RgSim *sim = sim_new("{\"boot_ms\": 0}", NULL);
	expect(sim, "PUT", ONE, "{\"name\": \"one\"}", 201, "");
	expect(sim, "GET", ONE, "", 200, "up");
	expect(sim, "GET", "/tiny/project-b/machines/one", "", 404, "NOT_FOUND");
	expect(sim, "GET", "/tiny/elsewhere/machines/one", "", 403, "FORBIDDEN");
	expect(sim, "POST", "/", EC2_FORM, 403, "MissingAuthenticationToken");
	expect(sim, "PATCH", "/", "", 405, "no simulated cloud");
	expect(sim, "GET", "/_sim/counters", "", 200, "machines.put");
	expect(sim, "GET", "/_sim/world", "", 200,
		"\"tiny\": {\n\"project-a\": {\"machines\": [\n{");
	expect(sim, "DELETE", ONE, "", 200, "");
	expect(sim, "GET", ONE, "", 404, NULL);
	sim_close(sim);
}

static void test_headers_are_a_list(void)
{
	RgSim *sim = sim_new("{}", NULL);
	g_autofree char *tag = ask(sim, "GET", ONE, "", 404, NULL, "ETag");
	g_assert_cmpuint(strlen(tag), ==, 36);
	expect(sim, "POST", "/_sim/faults",
		"{\"action\": \"machines.*\", \"status\": 503, \"code\": \"BUSY\", "
		"\"retry_after\": 7, "
		"\"count\": 2}",
		200, "1");
	g_autofree char *wait = ask(sim, "GET", ONE, "", 503, "BUSY", "Retry-After");
	g_assert_cmpstr(wait, ==, "7");
	g_autofree char *type = ask(sim, "GET", ONE, "", 503, "BUSY", "Content-Type");
	g_assert_cmpstr(type, ==, "text/plain");
	static const char machine[] = "{\"name\": \"one\"}";
	g_autofree char *place = ask(sim, "PUT", ONE, machine, 201, NULL, "Location");
	g_assert_cmpstr(place, ==, ONE);
	/* What an injected error replaces has no effect. */
	expect(sim, "POST", "/_sim/faults", "{\"when\": \"after\"}", 200, NULL);
	g_autofree char *none = ask(sim, "PUT", ONE, machine, 500, "InternalError", "Location");
	g_assert_null(none);
	sim_close(sim);
}

static void test_knobs_are_of_both(void)
{
	RgSim *sim = sim_new("{\"tiny_most\": 1, \"account\": \"210987654321\"}", NULL);
	expect(sim, "PUT", ONE, "{\"name\": \"one\"}", 201, "");
	expect(sim, "PUT", "/tiny/project-a/machines/two", "{\"name\": \"two\"}", 429, "QUOTA");
	expect(sim, "PUT", "/_sim/knobs", "{\"tiny_most\": 10}", 400, "from 0 to 9");
	expect(sim, "PUT", "/_sim/knobs", "{\"tiny_most\": 2, \"boot_ms\": 5}", 200, NULL);
	expect(sim, "PUT", "/tiny/project-a/machines/two", "{\"name\": \"two\"}", 201, "");
	sim_close(sim);
}

/* Instance types belong to the cloud that the scenario names, or to the first that takes any; tiny
 * does not. */
static void test_a_scenario_names_its_cloud(void)
{
	static const char types[] = "instance_types: {p9.large: {vcpus: 8, memory_gib: "
				    "64}}\nsteps: [{at_s: 0, reclaims: "
				    "[{count: 1}]}]\n";
	RgSim *sim = sim_new("{}", NULL);
	g_autofree char *of_aws = g_strconcat("cloud: aws\n", types, NULL);
	g_autofree char *of_tiny = g_strconcat("cloud: tiny\n", types, NULL);
	expect(sim, "PUT", "/_sim/scenario", of_tiny, 400, "instance_types: tiny takes none");
	expect(sim, "PUT", "/_sim/scenario", of_aws, 200, "\"steps\": 1");
	expect(sim, "PUT", "/_sim/scenario", types, 200, "\"steps\": 1");
	expect(sim, "POST", "/_sim/reset", "", 200, "true");
	sim_close(sim);
}

static void test_one_file_keeps_both(void)
{
	g_autofree char *folder = g_dir_make_tmp("raygpu-clouds-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "world.json", NULL);
	RgSim *sim = sim_new("{\"boot_ms\": 20}", path);
	expect(sim, "PUT", ONE, "{\"name\": \"one\"}", 201, "");
	sim_close(sim);
	sim = sim_new("{}", path);
	expect(sim, "GET", "/_sim/world", "", 200, "\"regions\": {}");
	g_usleep(20 * 1000);
	expect(sim, "GET", ONE, "", 200, "up");
	sim_close(sim);
	g_unlink(path);
	g_rmdir(folder);
}

/* A second plan for a machine replaces the first. */
static void test_the_last_plan_holds(void)
{
	RgSim *sim = sim_new("{\"boot_ms\": 5}", NULL);
	expect(sim, "PUT", ONE, "{\"name\": \"one\"}", 201, "");
	expect(sim, "PUT", "/_sim/knobs", "{\"boot_ms\": 60000}", 200, NULL);
	expect(sim, "PUT", ONE, "{\"name\": \"one\"}", 201, "");
	g_usleep(10 * 1000);
	expect(sim, "GET", ONE, "", 200, "booting");
	sim_close(sim);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/sim/clouds/each gets its requests", test_each_gets_its_requests);
	g_test_add_func("/sim/clouds/reply headers are a list", test_headers_are_a_list);
	g_test_add_func("/sim/clouds/knobs are of both", test_knobs_are_of_both);
	g_test_add_func("/sim/clouds/a scenario names its cloud", test_a_scenario_names_its_cloud);
	g_test_add_func("/sim/clouds/one file keeps both", test_one_file_keeps_both);
	g_test_add_func("/sim/clouds/the last plan holds", test_the_last_plan_holds);
	return g_test_run();
}
