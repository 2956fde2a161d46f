/* A program that embeds raygpu: no argv, no terminal, nothing of cmd/. It plans a spec, applies it
 * to raygpu-sim through the real module and transport, and destroys it again. */
#include "pipeline/pipeline.h"
#include <glib/gstdio.h>
#include <signal.h>
#include <sys/wait.h>

static const char spec[] = "cluster: embedded\n"
			   "provider: {name: aws, region: us-east-1}\n"
			   "ray: {version: 2.52.0, python: \"3.11\"}\n"
			   "head: {instance_type: m5.large, public_ip: true}\n"
			   "pools:\n"
			   "  work: {accelerators: \"T4:1\", nodes: 2, public_ip: true}\n";

typedef struct {
	char *folder, *spec, *state;
	GPid sim;
	RgProviderHost *providers;
	RgDiags *diags;
	RgSession session;
	unsigned events;
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
		G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &program->sim,
		NULL));
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
	g_autoptr(RgPass) pass = rg_pipeline_load(program->spec, NULL, program->diags);
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

/* Plan and apply, under the lock; returns what was done. */
static RgApplyResult apply(Program *program)
{
	json_auto_t *who = json_pack("{s:s, s:s}", "command", "embedded", "user", "nobody");
	const RgApplyOptions options = {.event = count_event, .event_data = program};
	g_autoptr(RgLock) lock =
		rg_lock_take(program->session.store, "embedded", "embedded", 0, program->diags);
	g_assert_nonnull(lock);
	g_autoptr(RgPass) pass = plan(program);
	RgRun run;
	bool done = rg_pipeline_run(&program->session, pass, &options, who, &run, program->diags);
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
	g_autoptr(RgSnapshot) left =
		rg_store_load(program->session.store, "embedded", program->diags);
	g_assert_cmpuint(rg_resource_set_size(left->recorded), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/pipeline/plans_applies_and_destroys", Program, NULL, set_up,
		test_plans_applies_and_destroys, tear_down);
	return g_test_run();
}
