#include "apply_fixture.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>
#include "refresh/refresh.h"
#include "state/write.h"

static void free_resource(void *resource)
{
	rg_resource_free(resource);
}

void apply_up(Apply *f, gconstpointer unused)
{
	f->folder = g_dir_make_tmp("raygpu-test-apply-XXXXXX", NULL);
	f->state = g_build_filename(f->folder, "state.db", NULL);
	f->world = g_build_filename(f->folder, "world.json", NULL);
	f->log = g_build_filename(f->folder, "log", NULL);
	f->script = json_object();
	f->diags = rg_diags_new();
	f->wanted = g_ptr_array_new_with_free_func(free_resource);
}

void apply_down(Apply *f, gconstpointer unused)
{
	g_autoptr(GDir) dir = g_dir_open(f->folder, 0, NULL);
	const char *name;
	while ((name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(f->folder, name, NULL);
		g_remove(path);
	}
	g_rmdir(f->folder);
	g_free(f->folder);
	g_free(f->state);
	g_free(f->world);
	g_free(f->log);
	g_free(f->told);
	json_decref(f->script);
	rg_diags_free(f->diags);
	g_ptr_array_unref(f->wanted);
}

json_t *json_of(const char *text)
{
	g_autofree char *real = g_strdelimit(g_strdup(text), "'", '"');
	json_error_t error;
	json_t *value = json_loads(real, JSON_DECODE_ANY, &error);
	if (!value)
		g_error("test's own JSON: %s: %s", text, error.text);
	return value;
}

void script(Apply *f, const char *text)
{
	json_decref(f->script);
	f->script = json_of(text);
	/* counted from now on */
	json_t *world = json_load_file(f->world, 0, NULL);
	if (!world)
		return;
	json_object_set_new(world, "calls", json_object());
	json_dump_file(world, f->world, JSON_COMPACT);
	json_decref(world);
}

void want_nothing(Apply *f)
{
	g_ptr_array_set_size(f->wanted, 0);
}

void want(Apply *f, const char *kind, const char *name, int n, const char *attributes)
{
	json_t *attrs = json_of(attributes);
	for (int i = n < 0 ? -1 : 0; i < n || i < 0; i++) {
		RgResource *resource = rg_resource_new(kind, name, i);
		resource->attrs = json_incref(attrs);
		resource->group = i < 0 ? NULL : resource->name;
		g_ptr_array_add(f->wanted, resource);
		if (i < 0)
			break;
	}
	json_decref(attrs);
}

static RgResourceSet *desired_set(const Apply *f)
{
	RgResourceSet *set = rg_resource_set_new();
	for (guint i = 0; i < f->wanted->len; i++) {
		const RgResource *from = f->wanted->pdata[i];
		RgResource *copy = rg_resource_new(from->kind, from->name, from->index);
		copy->attrs = json_incref(from->attrs);
		copy->group = from->group;
		rg_resource_set_add(set, copy);
	}
	return set;
}

/* ---- one apply */

typedef struct {
	RgProviderHost *host;
	RgProvider *provider;
	RgStore *store;
	RgLock *lock;
	RgSnapshot *snapshot;
	RgResourceSet *desired, *observed;
	RgDiff *diff;
	RgPlan *plan;
	char *run, *lineage;
} Pass;

static bool is_canceled(void *data)
{
	return g_atomic_int_get(&((Apply *)data)->canceled) != 0;
}

static int interrupted(void *data)
{
	return g_atomic_int_get(&((Apply *)data)->level);
}

static void on_event(void *data, const RgEvent *event)
{
	Apply *f = data;
	f->started += event->type == RG_EVENT_START;
	f->blocked += event->type == RG_EVENT_BLOCKED;
	f->seconds += event->type == RG_EVENT_TIME;
	if (event->type == RG_EVENT_REPLAY || event->type == RG_EVENT_GANG ||
		event->type == RG_EVENT_INTERRUPT) {
		char *told = g_strdup_printf("%s%s\n", f->told ? f->told : "", event->text);
		g_free(f->told);
		f->told = told;
	}
	if (f->event)
		f->event(f, event);
}

static void open_provider(Apply *f, Pass *pass)
{
	char *directories[] = {g_strdup(MODULES_DIR), NULL};
	const RgProviderHostOptions options = {.directories = directories, .home = "/"};
	const RgHttpOptions transport = {
		.user_agent = "test", .canceled = is_canceled, .canceled_data = f};
	pass->host = rg_provider_host_new(&options);
	g_free(directories[0]);
	json_auto_t *config = json_pack("{s:O, s:s, s:s, s:s}", "script", f->script, "world",
		f->world, "log", f->log, "state", f->state);
	pass->provider =
		rg_provider_open(pass->host, "cloud", "here", config, &transport, f->diags);
	if (!pass->provider)
		g_error("%s", rg_diags_get(f->diags, 0)->summary);
}

static void open_state(Apply *f, Pass *pass)
{
	pass->store = rg_store_open(f->state, RG_STORE_WRITE, f->diags);
	show_diags(f);
	g_assert_nonnull(pass->store);
	pass->lock = rg_lock_take(pass->store, CLUSTER, "apply", 0, f->diags);
	g_assert_nonnull(pass->lock);
	json_auto_t *nothing = json_object();
	const RgRunBegin begin = {CLUSTER, "cloud", "here", nothing, nothing, nothing};
	g_assert_true(
		rg_store_begin_run(pass->store, &begin, &pass->run, &pass->lineage, f->diags));
	pass->snapshot = rg_store_load(pass->store, CLUSTER, f->diags);
}

static void make_plan(Apply *f, Pass *pass)
{
	const RgSchema *schema = rg_provider_get_schema(pass->provider);
	const RgRefreshInput input = {.cluster = CLUSTER,
		.lineage = pass->lineage,
		.recorded = pass->snapshot->recorded,
		.tombstones = pass->snapshot->tombstones,
		.now_s = g_get_real_time() / G_USEC_PER_SEC + f->later_s,
		.settle_ms = 3000};
	pass->observed = rg_refresh(pass->provider, &input, f->diags);
	pass->desired = desired_set(f);
	pass->diff = rg_diff(schema, pass->desired, pass->snapshot->recorded, pass->observed,
		&f->diff, f->diags);
	const RgPlanRule rule = {.pool = f->gang, .gang = true};
	const RgPlanInput plan = {.command = "plan",
		.rules = &rule,
		.n_rules = f->gang ? 1 : 0,
		.cluster = CLUSTER,
		.lineage = pass->lineage,
		.provider = "cloud"};
	pass->plan = pass->diff ? rg_plan_new(pass->diff, schema, &plan, f->diags) : NULL;
	show_diags(f);
	g_assert_nonnull(pass->plan);
	g_assert_false(pass->plan->errored);
}

static void pass_clear(Pass *pass)
{
	rg_plan_free(pass->plan);
	rg_diff_free(pass->diff);
	rg_resource_set_free(pass->observed);
	rg_resource_set_free(pass->desired);
	rg_snapshot_free(pass->snapshot);
	rg_lock_release(pass->lock);
	rg_store_close(pass->store);
	rg_provider_close(pass->provider);
	rg_provider_host_free(pass->host);
	g_free(pass->run);
	g_free(pass->lineage);
}

bool apply_once(Apply *f)
{
	Pass pass = {0};
	f->started = f->blocked = 0;
	g_clear_pointer(&f->told, g_free);
	rg_diags_clear(f->diags);
	open_provider(f, &pass);
	open_state(f, &pass);
	make_plan(f, &pass);
	rg_diags_clear(f->diags);
	const RgApplyOptions options = {.parallelism = f->parallelism,
		.interrupted = interrupted,
		.interrupted_data = f,
		.event = on_event,
		.event_data = f,
		.run = pass.run,
		.lineage = pass.lineage,
		.commit = "abc"};
	if (f->before)
		f->before(f, pass.store);
	f->done = rg_apply(pass.provider, pass.store, pass.snapshot, pass.plan, &options,
		&f->result, f->diags);
	pass_clear(&pass);
	show_diags(f);
	return f->done;
}

void apply_killed(Apply *f)
{
	pid_t child = fork();
	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		apply_once(f);
		_exit(0);
	}
	int status;
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

void show_diags(const Apply *f)
{
	for (size_t i = 0; i < rg_diags_count(f->diags); i++) {
		const RgDiag *diag = rg_diags_get(f->diags, i);
		g_test_message("%s: %s; %s; %s", diag->code, diag->summary,
			diag->detail ? diag->detail : "-", diag->hint ? diag->hint : "-");
	}
}

const RgDiag *the_error(const Apply *f, const char *code)
{
	for (size_t i = 0; i < rg_diags_count(f->diags); i++) {
		if (g_str_equal(rg_diags_get(f->diags, i)->code, code))
			return rg_diags_get(f->diags, i);
	}
	g_error("no error %s", code);
	return NULL;
}

/* ---- the state and the world */

RgSnapshot *snapshot(Apply *f)
{
	g_autoptr(RgStore) store = rg_store_open(f->state, RG_STORE_READ, f->diags);
	g_assert_nonnull(store);
	RgSnapshot *loaded = rg_store_load(store, CLUSTER, f->diags);
	g_assert_nonnull(loaded);
	return loaded;
}

const char *id_of(const RgSnapshot *snapshot, const char *address)
{
	const RgResource *resource = rg_resource_set_find(snapshot->recorded, address);
	return resource ? resource->id : NULL;
}

unsigned recorded(Apply *f)
{
	unsigned n = 0;
	g_autoptr(RgSnapshot) now = snapshot(f);
	for (size_t i = 0; i < rg_resource_set_size(now->recorded); i++)
		n += rg_resource_set_get(now->recorded, i)->id != NULL;
	return n;
}

unsigned open_rows(Apply *f)
{
	g_autoptr(RgSnapshot) now = snapshot(f);
	return now->journal->len;
}

static unsigned count_things(Apply *f, bool gone_too)
{
	unsigned n = 0;
	size_t i;
	const json_t *thing;
	json_auto_t *world = json_load_file(f->world, 0, NULL);
	json_array_foreach (json_object_get(world, "things"), i, thing)
		n += gone_too || !json_is_true(json_object_get(thing, "gone"));
	return n;
}

unsigned living(Apply *f)
{
	return count_things(f, false);
}

unsigned made(Apply *f)
{
	return count_things(f, true);
}

unsigned logged(Apply *f, const char *line)
{
	g_autofree char *text = NULL;
	unsigned n = 0;
	if (!g_file_get_contents(f->log, &text, NULL, NULL))
		return 0;
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (size_t i = 0; lines[i]; i++)
		n += g_str_has_prefix(lines[i], line);
	return n;
}

void check_sound(Apply *f, unsigned things)
{
	size_t i;
	const json_t *thing;
	g_autoptr(RgSnapshot) now = snapshot(f);
	json_auto_t *world = json_load_file(f->world, 0, NULL);
	g_assert_cmpuint(open_rows(f), ==, 0);
	g_assert_cmpuint(living(f), ==, things);
	g_assert_cmpuint(recorded(f), ==, things);
	json_array_foreach (json_object_get(world, "things"), i, thing) {
		const char *address = json_string_value(json_object_get(thing, "address"));
		if (!json_is_true(json_object_get(thing, "gone")))
			g_assert_cmpstr(id_of(now, address), ==,
				json_string_value(json_object_get(thing, "id")));
	}
	g_assert_cmpuint(logged(f, "unjournalled"), ==, 0);
}

void run_sql(Apply *f, const char *sql)
{
	sqlite3 *db = NULL;
	g_assert_cmpint(sqlite3_open(f->state, &db), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_exec(db, "DELETE FROM sums", NULL, NULL, NULL), ==, SQLITE_OK);
	sqlite3_close(db);
}
