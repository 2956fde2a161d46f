/* The lock of a cluster: one holder among processes, released with its holder, and who holds it. */
#include "state_fixture.h"
#include "base/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static RgStore *open_store(Fixture *f)
{
	RgStore *store = rg_store_open(f->path, RG_STORE_WRITE, f->diags);
	assert_fine(f->diags);
	return store;
}

static void test_one_holder(Fixture *f, gconstpointer unused)
{
	g_autoptr(RgStore) a = open_store(f);
	g_autoptr(RgStore) b = open_store(f);
	RgLock *lock = rg_lock_take(a, CLUSTER, "apply", 0, f->diags);
	g_assert_nonnull(lock);
	g_assert_null(rg_lock_take(b, CLUSTER, "destroy", 0, f->diags));
	const RgDiag *diag = assert_code(f->diags, "state.locked");
	g_autofree char *process =
		g_strdup_printf(", process %d: raygpu apply, since 20", getpid());
	g_assert_nonnull(strstr(diag->detail, process));
	g_assert_nonnull(strstr(diag->detail, g_get_user_name()));
	g_assert_nonnull(strstr(diag->detail, "@"));
	g_assert_nonnull(strstr(diag->hint, "--lock-timeout"));
	diags_reset(f);
	g_autoptr(RgLock) other = rg_lock_take(b, "other", "apply", 0, f->diags);
	g_assert_nonnull(other);
	rg_lock_release(lock);
	g_autoptr(RgLock) next = rg_lock_take(b, CLUSTER, "destroy", 0, f->diags);
	g_assert_nonnull(next);
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM locks"), ==, 2);
}

static void test_a_link_leads_to_the_same_lock(Fixture *f, gconstpointer unused)
{
	g_autofree char *linked = g_strconcat(f->path, "-linked", NULL);
	g_autoptr(RgStore) a = open_store(f);
	g_assert_cmpint(symlink(f->path, linked), ==, 0);
	g_autoptr(RgStore) b = rg_store_open(linked, RG_STORE_WRITE, f->diags);
	g_autoptr(RgLock) lock = rg_lock_take(a, CLUSTER, "apply", 0, f->diags);
	g_assert_nonnull(lock);
	g_assert_null(rg_lock_take(b, CLUSTER, "destroy", 0, f->diags));
	assert_code(f->diags, "state.locked");
	diags_reset(f);
}

static void test_the_row_goes_the_file_stays(Fixture *f, gconstpointer unused)
{
	g_autofree char *file = g_strconcat(f->path, "." CLUSTER ".lock", NULL);
	g_autoptr(RgStore) store = open_store(f);
	rg_lock_release(rg_lock_take(store, CLUSTER, "apply", 0, f->diags));
	g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM locks"), ==, 0);
}

/* A child that takes the lock, reports that, and waits to be killed or hold_ms. */
static pid_t start_holder(Fixture *f, unsigned hold_ms)
{
	int ready[2];
	g_assert_cmpint(pipe2(ready, O_CLOEXEC), ==, 0);
	pid_t child = fork();
	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		RgStore *store = rg_store_open(f->path, RG_STORE_WRITE, f->diags);
		RgLock *lock = rg_lock_take(store, CLUSTER, "apply", 0, f->diags);
		char c = lock ? 'y' : 'n';
		if (write(ready[1], &c, 1) != 1)
			_exit(1);
		g_usleep((gulong)hold_ms * 1000);
		rg_lock_release(lock);
		_exit(0);
	}
	char c = 0;
	close(ready[1]);
	g_assert_cmpint(read(ready[0], &c, 1), ==, 1);
	close(ready[0]);
	g_assert_cmpint(c, ==, 'y');
	return child;
}

static void test_dies_with_its_holder(Fixture *f, gconstpointer unused)
{
	g_autoptr(RgStore) store = open_store(f);
	pid_t child = start_holder(f, 60000);
	g_assert_null(rg_lock_take(store, CLUSTER, "apply", 0, f->diags));
	g_autofree char *process = g_strdup_printf("process %d:", child);
	g_assert_nonnull(strstr(assert_code(f->diags, "state.locked")->detail, process));
	diags_reset(f);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM locks"), ==, 1);
	g_autoptr(RgLock) lock = rg_lock_take(store, CLUSTER, "apply", 0, f->diags);
	g_assert_nonnull(lock);
	g_assert_cmpint(query_int(f->path, "SELECT pid FROM locks"), ==, getpid());
}

static void test_waits_for_its_turn(Fixture *f, gconstpointer unused)
{
	g_autoptr(RgStore) store = open_store(f);
	pid_t child = start_holder(f, 300);
	g_autoptr(RgLock) lock = rg_lock_take(store, CLUSTER, "apply", 30000, f->diags);
	g_assert_nonnull(lock);
	waitpid(child, NULL, 0);
}

static void test_waits_no_longer_than_asked(Fixture *f, gconstpointer unused)
{
	g_autoptr(RgStore) a = open_store(f);
	g_autoptr(RgStore) b = open_store(f);
	g_autoptr(RgLock) lock = rg_lock_take(a, CLUSTER, "apply", 0, f->diags);
	g_assert_nonnull(lock);
	int64_t before = rg_clock_monotonic_ms();
	g_assert_null(rg_lock_take(b, CLUSTER, "apply", 250, f->diags));
	g_assert_cmpint(rg_clock_monotonic_ms() - before, >=, 250);
	assert_code(f->diags, "state.locked");
	diags_reset(f);
}

static bool canceled(void *data)
{
	int *polls = data;
	return ++*polls == 3;
}

static void test_waiting_can_be_canceled(Fixture *f, gconstpointer unused)
{
	int polls = 0;
	g_autoptr(RgStore) a = open_store(f);
	g_autoptr(RgStore) b = open_store(f);
	g_autoptr(RgLock) lock = rg_lock_take(a, CLUSTER, "apply", 0, f->diags);
	g_assert_nonnull(lock);
	rg_store_set_canceled(b, canceled, &polls);
	g_assert_null(rg_lock_take(b, CLUSTER, "apply", 3600000, f->diags));
	g_assert_cmpint(polls, ==, 3);
	assert_code(f->diags, "state.locked");
	diags_reset(f);
}

static void test_programs_that_we_start_do_not_keep_it(Fixture *f, gconstpointer unused)
{
	g_autoptr(RgStore) store = open_store(f);
	RgLock *lock = rg_lock_take(store, CLUSTER, "apply", 0, f->diags);
	char *argv[] = {(char *)(uintptr_t) "sleep", (char *)(uintptr_t) "60", NULL};
	GPid child;
	g_assert_true(g_spawn_async(NULL, argv, NULL,
		G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_LEAVE_DESCRIPTORS_OPEN,
		NULL, NULL, &child, NULL));
	rg_lock_release(lock);
	g_autoptr(RgLock) again = rg_lock_take(store, CLUSTER, "apply", 0, f->diags);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	g_assert_nonnull(again);
}

static void test_any_name_stays_beside_the_state(Fixture *f, gconstpointer unused)
{
	g_autofree char *outside = g_build_filename(f->folder, "x.lock", NULL);
	g_autofree char *inside = g_strconcat(f->path, ".%2F..%2F..%2Fx.lock", NULL);
	g_autoptr(RgStore) store = open_store(f);
	g_autoptr(RgLock) lock = rg_lock_take(store, "/../../x", "apply", 0, f->diags);
	g_assert_nonnull(lock);
	g_assert_false(g_file_test(outside, G_FILE_TEST_EXISTS));
	g_assert_true(g_file_test(inside, G_FILE_TEST_EXISTS));
	g_autofree char *endless = g_strnfill(5000, 'a');
	g_assert_null(rg_lock_take(store, endless, "apply", 0, f->diags));
	assert_code(f->diags, "state.no-such-cluster");
	diags_reset(f);
	g_assert_null(rg_lock_take(store, "", "apply", 0, f->diags));
	assert_code(f->diags, "state.no-such-cluster");
	diags_reset(f);
}

#define RACERS 6
#define LAPS 15

/* Reads a number and writes it back increased by one, which only a lock makes correct. */
static bool count_once(Fixture *f, RgStore *store, const char *file)
{
	g_autofree char *text = NULL;
	RgLock *lock = rg_lock_take(store, CLUSTER, "apply", 60000, f->diags);
	if (!lock || !g_file_get_contents(file, &text, NULL, NULL))
		return false;
	g_usleep(300);
	g_autofree char *next =
		g_strdup_printf("%" G_GINT64_FORMAT, g_ascii_strtoll(text, NULL, 10) + 1);
	bool ok = g_file_set_contents(file, next, -1, NULL);
	rg_lock_release(lock);
	return ok;
}

static void test_processes_take_turns(Fixture *f, gconstpointer unused)
{
	g_autofree char *file = g_build_filename(f->folder, "count", NULL), *text = NULL;
	pid_t children[RACERS];
	g_assert_true(g_file_set_contents(file, "0", 1, NULL));
	for (int i = 0; i < RACERS; i++) {
		children[i] = fork();
		g_assert_cmpint(children[i], >=, 0);
		if (children[i] != 0)
			continue;
		/* all create the state at once, too */
		RgStore *store = rg_store_open(f->path, RG_STORE_WRITE, f->diags);
		bool ok = store != NULL;
		for (int k = 0; k < LAPS && ok; k++)
			ok = count_once(f, store, file);
		_exit(ok ? 0 : 1);
	}
	for (int i = 0; i < RACERS; i++) {
		int status;
		g_assert_cmpint(waitpid(children[i], &status, 0), ==, children[i]);
		g_assert_cmpint(status, ==, 0);
	}
	g_assert_true(g_file_get_contents(file, &text, NULL, NULL));
	g_assert_cmpint(g_ascii_strtoll(text, NULL, 10), ==, RACERS * LAPS);
}

#define ADD(path, function)                                                                        \
	g_test_add("/state/lock/" path, Fixture, NULL, fixture_up, function, fixture_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("one-holder", test_one_holder);
	ADD("link-same-lock", test_a_link_leads_to_the_same_lock);
	ADD("row-goes-file-stays", test_the_row_goes_the_file_stays);
	ADD("dies-with-its-holder", test_dies_with_its_holder);
	ADD("waits-for-its-turn", test_waits_for_its_turn);
	ADD("waits-no-longer-than-asked", test_waits_no_longer_than_asked);
	ADD("waiting-can-be-canceled", test_waiting_can_be_canceled);
	ADD("children-do-not-keep-it", test_programs_that_we_start_do_not_keep_it);
	ADD("any-name-stays-beside-the-state", test_any_name_stays_beside_the_state);
	ADD("processes-take-turns", test_processes_take_turns);
	return g_test_run();
}
