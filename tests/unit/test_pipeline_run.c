/* A program that embeds raygpu: no argv, no terminal, nothing of cmd/. It plans a spec, applies it
 * to raygpu-sim through the real module and transport, in the next place if the first one has no
 * capacity, and destroys it again. */
#include "pipeline/pipeline.h"
#include "state/write.h"
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static const char spec[] = "cluster: embedded\n"
			   "provider: {any_of: [{name: aws, region: us-east-1}, "
			   "{name: aws, region: us-west-2}]}\n"
			   "ray: {version: 2.52.0, python: \"3.11\"}\n"
			   "head: {instance_type: m5.large, public_ip: true}\n"
			   "pools:\n"
			   "  work: {instance_type: g4dn.xlarge, nodes: 2, public_ip: true}\n";
/* The workers' type; there are heads everywhere. */
#define SOLD_OUT "{\"g4dn.xlarge\": {\"*\": 0}}"
#define EAST_SOLD_OUT                                                                              \
	"{\"g4dn.xlarge\": {\"us-east-1a\": 0, \"us-east-1b\": 0, \"us-east-1c\": 0, "             \
	"\"us-east-1d\": 0, \"us-east-1e\": 0, \"us-east-1f\": 0}}"

typedef struct {
	char *folder, *spec, *state;
	GPid sim;
	RgProviderHost *providers;
	RgDiags *diags;
	RgSession session;
	unsigned events;
	GString *told; /* what was reported of the places */
	/* how the program reacts */
	bool refuses, interrupts;
	int interrupted;
} Program;

/* The module's environment; the last one is the simulator's address. */
static char endpoint[64];

static const char *environment(const char *name)
{
	static const char *const set[][2] = {{"AWS_ENDPOINT_URL", endpoint},
		{"AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"},
		{"AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"},
		{"AWS_EC2_METADATA_DISABLED", "true"}, {"AWS_CONFIG_FILE", "/dev/null"},
		{"AWS_SHARED_CREDENTIALS_FILE", "/dev/null"}};
	for (size_t i = 0; i < G_N_ELEMENTS(set); i++) {
		if (g_str_equal(set[i][0], name))
			return set[i][1];
	}
	return NULL;
}

static char *below(const Program *program, const char *name)
{
	return g_build_filename(program->folder, name, NULL);
}

static void start_sim(Program *program)
{
	g_autofree char *port_file = below(program, "port"), *port = NULL;
	const char *argv[] = {SIM, "--port", "0", "--port-file", port_file, "--boot-ms", "0",
		"--shutdown-ms", "0", NULL};
	g_assert_true(g_spawn_async(NULL, (char **)(uintptr_t)argv, NULL,
		G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL,
		NULL, NULL, &program->sim, NULL));
	while (!g_file_get_contents(port_file, &port, NULL, NULL) || !*port) {
		g_assert_cmpint(waitpid(program->sim, NULL, WNOHANG), ==, 0);
		g_clear_pointer(&port, g_free);
		g_usleep(5000);
	}
	g_snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%s", g_strstrip(port));
}

static void set_up(Program *program, gconstpointer unused)
{
	program->folder = g_dir_make_tmp("raygpu-embedded-XXXXXX", NULL);
	program->spec = below(program, "cluster.yaml");
	program->state = below(program, "state.db");
	g_assert_true(g_file_set_contents(program->spec, spec, -1, NULL));
	start_sim(program);
	g_auto(GStrv) directories = g_strsplit(PROVIDERS, ":", -1);
	const RgProviderHostOptions options = {
		.directories = directories, .env = environment, .home = program->folder};
	program->diags = rg_diags_new();
	program->told = g_string_new(NULL);
	program->providers = rg_provider_host_new(&options);
	program->session = (RgSession){.providers = program->providers,
		.store = rg_store_open(program->state, RG_STORE_WRITE, program->diags),
		.state_path = program->state,
		.settle_ms = 30000};
	g_assert_nonnull(program->session.store);
}

static void tear_down(Program *program, gconstpointer unused)
{
	static const char *const made[] = {
		"port", "cluster.yaml", "state.db", "state.db.embedded.lock", ".gitignore"};
	rg_store_close(program->session.store);
	rg_provider_host_free(program->providers);
	rg_diags_free(program->diags);
	g_string_free(program->told, TRUE);
	kill(program->sim, SIGTERM);
	waitpid(program->sim, NULL, 0);
	for (size_t i = 0; i < G_N_ELEMENTS(made); i++) {
		g_autofree char *path = below(program, made[i]);
		g_unlink(path);
	}
	g_rmdir(program->folder);
	g_free(program->folder);
	g_free(program->spec);
	g_free(program->state);
}

static void check_no_errors(const Program *program)
{
	for (size_t i = 0; i < rg_diags_count(program->diags); i++) {
		const RgDiag *diag = rg_diags_get(program->diags, i);
		if (diag->severity == RG_SEVERITY_ERROR)
			g_error("%s: %s", diag->code, diag->summary);
	}
}

static RgPass *plan(Program *program)
{
	g_autoptr(RgPass) pass = rg_pipeline_load(program->spec, NULL, NULL, program->diags);
	bool planned = pass && rg_pipeline_plan(&program->session, pass, program->diags);
	check_no_errors(program);
	g_assert_true(planned);
	return g_steal_pointer(&pass);
}

static void count_event(void *data, const RgEvent *event)
{
	Program *program = data;
	program->events += event->type == RG_EVENT_DONE;
}

/* The answer of the simulator's control endpoint. */
static json_t *control(
	const Program *program, const char *method, const char *what, const char *body)
{
	static const char *const headers[] = {"Content-Type: application/json", NULL};
	const RgHttpOptions options = {0};
	g_autofree char *url = g_strdup_printf("%s/_sim/%s", endpoint, what);
	const RgHttpRequest request = {.method = method,
		.url = url,
		.headers = body ? headers : NULL,
		.body = body,
		.body_len = body ? strlen(body) : 0};
	RgHttpReply reply = {0};
	g_autoptr(RgHttp) http = rg_http_open(&options, program->diags);
	g_assert_true(http && rg_http_send(http, &request, &reply, program->diags));
	g_assert_cmpint(reply.status, ==, 200);
	json_t *answer = json_loadb((const char *)reply.body->data, reply.body->len, 0, NULL);
	rg_http_reply_clear(&reply);
	return answer;
}

static void set_capacity(const Program *program, const char *capacity)
{
	g_autofree char *knobs = g_strdup_printf("{\"capacity\": %s}", capacity);
	json_decref(control(program, "PUT", "knobs", knobs));
}

static bool is_live(const json_t *instance)
{
	const json_t *state = json_object_get(instance, "instanceState");
	return !g_str_equal(rg_json_str(state, "name", ""), "terminated");
}

/* Instances, addresses and groups that a region has, beside those that every account has. */
static unsigned count_in(const Program *program, const char *region)
{
	json_auto_t *world = control(program, "GET", "world", NULL);
	const json_t *tables = json_object_get(json_object_get(world, "regions"), region), *row;
	size_t i;
	unsigned n = (unsigned)json_array_size(json_object_get(tables, "network_interfaces"));
	json_array_foreach (json_object_get(tables, "instances"), i, row)
		n += is_live(row);
	json_array_foreach (json_object_get(tables, "security_groups"), i, row)
		n += !g_str_equal(rg_json_str(row, "groupName", ""), "default");
	return n;
}

static void on_leave(void *data, const char *place)
{
	const Program *program = data;
	g_string_append_printf(program->told, "leaves %s\n", place);
}

static bool on_plan(void *data, const RgPass *pass)
{
	const Program *program = data;
	g_assert_false(pass->plan->errored);
	g_string_append_printf(program->told, "plans %s\n", pass->plan->region);
	return !program->refuses;
}

static void on_wait(void *data, int64_t seconds)
{
	Program *program = data;
	g_assert_cmpint(seconds, >=, 4);
	g_string_append(program->told, "waits\n");
	program->interrupted = program->interrupts;
}

static int interrupted(void *data)
{
	return ((const Program *)data)->interrupted;
}

/* Plan and apply, under the lock. */
static bool run_spec(Program *program, int64_t capacity_ms, RgRun *run)
{
	json_auto_t *who = json_pack("{s:s, s:s}", "command", "embedded", "user", "nobody");
	const RgApplyOptions options = {.capacity_ms = capacity_ms,
		.interrupted = interrupted,
		.interrupted_data = program,
		.event = count_event,
		.event_data = program};
	const RgAnywhere anywhere = {
		.leaves = on_leave, .approve = on_plan, .waits = on_wait, .data = program};
	g_autoptr(RgLock) lock =
		rg_lock_take(program->session.store, "embedded", "embedded", 0, program->diags);
	g_assert_nonnull(lock);
	g_autoptr(RgPass) pass = plan(program);
	return rg_pipeline_run_anywhere(
		&program->session, pass, &anywhere, &options, who, run, program->diags);
}

/* Returns what was done. */
static RgApplyResult apply(Program *program)
{
	RgRun run;
	bool done = run_spec(program, 0, &run);
	RgApplyResult result = run.result;
	check_no_errors(program);
	g_assert_true(done);
	g_assert_cmpstr(run.outcome, ==, "done");
	g_assert_nonnull(run.id);
	g_assert_null(run.left);
	g_assert_cmpuint(
		json_array_size(run.changes), >=, result.added + result.changed + result.destroyed);
	rg_run_clear(&run);
	return result;
}

/* The log shows who it was, and which spec. */
static void check_log(Program *program, size_t runs)
{
	json_auto_t *log = rg_store_runs(program->session.store, "embedded", program->diags);
	g_assert_cmpuint(json_array_size(log), ==, runs);
	const json_t *last = json_array_get(log, 0);
	g_assert_cmpstr(rg_json_str(last, "outcome", ""), ==, "done");
	g_assert_cmpstr(rg_json_str(last, "user", ""), ==, "nobody");
	g_assert_cmpstr(rg_json_str(last, "spec", ""), ==, program->spec);
}

static void check_nothing_left(const Program *program)
{
	g_autoptr(RgSnapshot) left =
		rg_store_load(program->session.store, "embedded", program->diags);
	g_assert_cmpuint(rg_resource_set_size(left->recorded), ==, 0);
}

static void test_plans_applies_and_destroys(Program *program, gconstpointer unused)
{
	RgApplyResult made = apply(program);
	g_assert_cmpuint(made.added, >=, 3); /* the head, two nodes, and their dependencies */
	g_assert_cmpuint(program->events, ==, made.added);
	check_log(program, 1);
	g_autoptr(RgPass) again = plan(program);
	g_assert_true(rg_plan_is_noop(again->plan));
	program->session.diff.destroy = true;
	RgApplyResult gone = apply(program);
	g_assert_cmpuint(gone.destroyed, ==, made.added);
	check_log(program, 2);
	check_nothing_left(program);
}

/* [command: outcome] of the log, newest first. */
static char *log_of(const Program *program)
{
	json_auto_t *log = rg_store_runs(program->session.store, "embedded", program->diags);
	GString *text = g_string_new(NULL);
	size_t i;
	const json_t *run;
	json_array_foreach (log, i, run)
		g_string_append_printf(text, "%s: %s\n", rg_json_str(run, "command", ""),
			rg_json_str(run, "outcome", ""));
	return g_string_free(text, FALSE);
}

static void test_next_place_takes_what_the_first_one_has_sold_out(
	Program *program, gconstpointer unused)
{
	RgRun run;
	set_capacity(program, EAST_SOLD_OUT);
	g_assert_true(run_spec(program, 0, &run));
	check_no_errors(program);
	g_assert_cmpstr(program->told->str, ==, "leaves aws us-east-1\nplans us-west-2\n");
	g_assert_cmpstr(run.outcome, ==, "done");
	g_assert_false(run.unplaced);
	g_assert_cmpuint(json_array_size(run.result.tried), >, 0);
	g_assert_cmpuint(count_in(program, "us-east-1"), ==, 0);
	/* three nodes with an interface each, and their group */
	g_assert_cmpuint(count_in(program, "us-west-2"), ==, 7);
	g_autofree char *log = log_of(program);
	g_assert_cmpstr(log, ==, "embedded: done\nmove: done\nembedded: moved\n");
	g_autoptr(RgPass) again = plan(program);
	g_assert_true(rg_plan_is_noop(again->plan));
	rg_run_clear(&run);
}

/* The cluster is in no place, and nothing of it was left behind. */
static void check_unplaced(
	Program *program, const RgRun *run, const char *outcome, const char *told)
{
	g_assert_cmpstr(program->told->str, ==, told);
	g_assert_true(run->unplaced);
	g_assert_cmpstr(run->outcome, ==, outcome);
	check_nothing_left(program);
	g_assert_cmpuint(count_in(program, "us-east-1"), ==, 0);
	g_assert_cmpuint(count_in(program, "us-west-2"), ==, 0);
}

static void test_refused_next_place_leaves_nothing(Program *program, gconstpointer unused)
{
	RgRun run;
	program->refuses = true;
	set_capacity(program, EAST_SOLD_OUT);
	g_assert_false(run_spec(program, 3600000, &run));
	check_no_errors(program);
	check_unplaced(program, &run, "failed", "leaves aws us-east-1\nplans us-west-2\n");
	g_autofree char *log = log_of(program);
	g_assert_cmpstr(log, ==, "move: done\nembedded: moved\n");
	rg_run_clear(&run);
}

#define BOTH_TRIED "leaves aws us-east-1\nplans us-west-2\nleaves aws us-west-2\n"

static void test_no_place_leaves_nothing(Program *program, gconstpointer unused)
{
	RgRun run;
	set_capacity(program, SOLD_OUT);
	g_assert_false(run_spec(program, 0, &run));
	check_unplaced(program, &run, "failed", BOTH_TRIED);
	const RgDiag *last = rg_diags_get(program->diags, rg_diags_count(program->diags) - 1);
	g_assert_cmpstr(last->code, ==, "provider.capacity");
	g_assert_nonnull(strstr(last->detail, "g4dn.xlarge in us-east-1a"));
	g_assert_nonnull(strstr(last->detail, "g4dn.xlarge in us-west-2a"));
	rg_run_clear(&run);
}

static void test_interrupted_wait_leaves_nothing(Program *program, gconstpointer unused)
{
	RgRun run;
	program->interrupts = true;
	set_capacity(program, SOLD_OUT);
	g_assert_false(run_spec(program, 3600000, &run));
	check_unplaced(program, &run, "interrupted", BOTH_TRIED "waits\n");
	rg_run_clear(&run);
}

#define TEST(name) g_test_add("/pipeline/" #name, Program, NULL, set_up, test_##name, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	TEST(plans_applies_and_destroys);
	TEST(next_place_takes_what_the_first_one_has_sold_out);
	TEST(refused_next_place_leaves_nothing);
	TEST(no_place_leaves_nothing);
	TEST(interrupted_wait_leaves_nothing);
	return g_test_run();
}
