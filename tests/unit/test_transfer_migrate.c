/* Moving clusters from file to file: what arrives, what is refused, and a kill before every write
 * to either file: never two usable copies, and the same move again completes it. */
#include "state_fixture.h"
#include "state/internal.h"
#include "transfer/document.h"
#include "transfer/migrate.h"
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define T0 "aws.instance.train[0]"
#define T1 "aws.instance.train[1]"

typedef struct {
	Fixture f;
	char *target;
} Two;

static void up(Two *two, gconstpointer unused)
{
	fixture_up(&two->f, NULL);
	two->target = g_build_filename(two->f.folder, "target", "new.db", NULL);
}

static void down(Two *two, gconstpointer unused)
{
	g_free(two->target);
	fixture_down(&two->f, NULL);
}

/* A record, one that ended, one of unknown outcome, a log. */
static void make_source(Fixture *f)
{
	const char *ended = T1;
	fixture_open(f);
	g_assert_true(settle_created(f, open_batch(f, 0, 1), T0, "i-0"));
	g_assert_true(settle_created(f, open_batch(f, 1, 1), T1, "i-1"));
	g_assert_true(remove_records(f, &ended, 1));
	g_assert_cmpint(open_batch(f, 2, 2), !=, 0);
	fixture_close(f);
}

/* As `raygpu state migrate` does it. */
static bool transfer(const char *from_place, const char *to_place, RgDiags *diags)
{
	g_autoptr(RgStore) from = rg_store_open_moved(NULL, from_place, RG_STORE_WRITE, diags);
	g_autoptr(RgStore) to =
		from ? rg_store_open_moved(NULL, to_place, RG_STORE_WRITE, diags) : NULL;
	if (!to)
		return false;
	g_autoptr(RgLock) old = rg_lock_take(from, CLUSTER, "test", 0, diags);
	g_autoptr(RgLock) new = rg_lock_take(to, CLUSTER, "test", 0, diags);
	json_auto_t *reports = old && new ? rg_transfer_look(from, to, diags) : NULL;
	const char *step = rg_json_str(json_array_get(reports, 0), "step", NULL);
	if (!step || (g_str_equal(step, "copy") && !rg_transfer_copy(from, to, CLUSTER, diags)))
		return false;
	if (g_str_equal(step, "done"))
		return rg_transfer_end(from, to, diags);
	g_autoptr(RgStore) seen = rg_store_open_moved(NULL, to_place, RG_STORE_READ, diags);
	g_autofree char *digest = NULL;
	return seen && rg_transfer_compare(from, seen, CLUSTER, &digest, diags) &&
	       rg_transfer_finish(from, to, CLUSTER, diags) && rg_transfer_end(from, to, diags);
}

/* What it has, or NULL: it is refused. */
static char *content(const char *place)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgStore) store = rg_store_open(place, RG_STORE_READ, diags);
	json_auto_t *document = store ? rg_state_pull(store, CLUSTER, NULL, diags) : NULL;
	if (!document) {
		const char *code = rg_diags_get(diags, 0)->code;
		g_assert_true(g_str_equal(code, "state.migrated") ||
			      g_str_equal(code, "state.half-moved") ||
			      g_str_equal(code, "state.no-such-cluster"));
		return NULL;
	}
	json_object_del(json_array_get(json_object_get(document, "clusters"), 0), "serial");
	return rg_json_canonical(document);
}

static void refuse_use(Two *two, const char *place, const char *code)
{
	diags_reset(&two->f);
	g_autoptr(RgStore) store = rg_store_open(place, RG_STORE_WRITE, two->f.diags);
	g_assert_null(store);
	assert_code(two->f.diags, code);
	diags_reset(&two->f);
}

static void test_there_and_back(Two *two, gconstpointer unused)
{
	Fixture *f = &two->f;
	make_source(f);
	g_autofree char *before = content(f->path);
	g_assert_true(transfer(f->path, two->target, f->diags));
	assert_fine(f->diags);
	g_autofree char *there = content(two->target);
	g_assert_cmpstr(there, ==, before);
	g_assert_nonnull(strstr(before, "s3cr3t-input"));
	refuse_use(two, f->path, "state.migrated");
	g_assert_true(transfer(f->path, two->target, f->diags)); /* again: nothing to do */
	g_assert_true(transfer(two->target, f->path, f->diags));
	assert_fine(f->diags);
	g_autofree char *back = content(f->path);
	g_assert_cmpstr(back, ==, before);
	refuse_use(two, two->target, "state.migrated");
	/* the journal's row is settled under its new number, and no token comes back */
	f->store = rg_store_open(f->path, RG_STORE_WRITE, f->diags);
	f->lock = rg_lock_take(f->store, CLUSTER, "test", 0, f->diags);
	check_identity(f, T1, 1, 0);
	g_autoptr(RgSnapshot) snapshot = load(f);
	const RgJournalRow *row = snapshot->journal->pdata[0];
	g_assert_true(settle_created(f, row->id, "aws.instance.train[2]", "i-2"));
}

static void refuse_move(Two *two, const char *from, const char *to, const char *code)
{
	diags_reset(&two->f);
	g_assert_false(transfer(from, to, two->f.diags));
	assert_code(two->f.diags, code);
	diags_reset(&two->f);
}

static void test_targets_that_are_refused(Two *two, gconstpointer unused)
{
	Fixture *f = &two->f;
	g_autofree char *third = g_build_filename(f->folder, "third", "x.db", NULL);
	g_autofree char *copy = g_build_filename(f->folder, ".raygpu", "copy.db", NULL);
	g_autofree char *bytes = NULL;
	gsize len;
	make_source(f);
	refuse_move(two, f->path, f->path, "state.locked");
	g_assert_true(g_file_get_contents(f->path, &bytes, &len, NULL));
	g_assert_true(g_file_set_contents(copy, bytes, (gssize)len, NULL));
	refuse_move(two, f->path, copy, "state.migrate-refused"); /* a copy in use */
	Fixture other = *f;
	other.path = third;
	fixture_open(&other);
	fixture_close(&other);
	refuse_move(two, f->path, third, "state.migrate-refused"); /* another lineage */
	g_autofree char *still = content(f->path);
	g_assert_nonnull(still);
	g_assert_true(transfer(f->path, two->target, f->diags));
	refuse_move(two, f->path, copy, "state.migrated");
	refuse_move(two, copy, two->target, "state.migrate-refused");
}

static void test_damage_is_not_moved(Two *two, gconstpointer unused)
{
	Fixture *f = &two->f;
	make_source(f);
	execute(f->path, "UPDATE blobs SET bytes = replace(bytes, 'p4d', 'p5d')");
	refuse_move(two, f->path, two->target, "state.corrupt");
	g_assert_null(content(two->target));
}

/* A handle that was open before the move, and gets the lock after it. */
static void test_who_waited_is_refused(Two *two, gconstpointer unused)
{
	Fixture *f = &two->f;
	make_source(f);
	f->store = rg_store_open(f->path, RG_STORE_WRITE, f->diags);
	g_assert_true(transfer(f->path, two->target, f->diags));
	f->lock = rg_lock_take(f->store, CLUSTER, "test", 0, f->diags);
	assert_fine(f->diags);
	g_assert_null(rg_store_load(f->store, CLUSTER, f->diags));
	assert_code(f->diags, "state.migrated");
	diags_reset(f);
	g_assert_false(rg_store_forget(f->store, CLUSTER, T0, f->diags));
	assert_code(f->diags, "state.migrated");
	diags_reset(f);
	const RgRunBegin begin = {CLUSTER, "aws", "us-east-1", NULL, NULL, NULL};
	g_assert_false(rg_store_begin_run(f->store, &begin, &f->run, &f->lineage, f->diags));
	assert_code(f->diags, "state.migrated");
}

/* ---- kill before the n-th write */

static int writes_left;

static void count_down(void)
{
	if (--writes_left == 0)
		kill(getpid(), SIGKILL);
}

static ssize_t counted_pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	count_down();
	return pwrite(fd, bytes, len, at);
}

static int counted_unlink(const char *path)
{
	count_down();
	return unlink(path);
}

static G_GNUC_NORETURN void move_and_die(Two *two, int n)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	writes_left = n;
	vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)counted_pwrite);
	vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)counted_pwrite);
	vfs->xSetSystemCall(vfs, "unlink", (sqlite3_syscall_ptr)counted_unlink);
	_exit(transfer(two->f.path, two->target, two->f.diags) ? 0 : 1);
}

/* false: it ended before its n-th write. */
static bool killed_at(Two *two, int n)
{
	int status;
	pid_t child = fork();
	g_assert_cmpint(child, >=, 0);
	if (child == 0)
		move_and_die(two, n);
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	return WIFSIGNALED(status);
}

static void put_source(Two *two, const char *bytes, gsize len)
{
	g_autofree char *hot = g_strconcat(two->f.path, "-journal", NULL);
	g_autofree char *hot_target = g_strconcat(two->target, "-journal", NULL);
	g_unlink(hot);
	g_unlink(hot_target);
	g_unlink(two->target);
	g_assert_true(g_file_set_contents(two->f.path, bytes, (gssize)len, NULL));
}

static void test_killed_before_every_write(Two *two, gconstpointer unused)
{
	Fixture *f = &two->f;
	g_autofree char *bytes = NULL;
	gsize len;
	int n = 1, neither = 0;
	make_source(f);
	g_autofree char *before = content(f->path);
	g_assert_true(g_file_get_contents(f->path, &bytes, &len, NULL));
	for (bool killed = true; killed; n++) {
		put_source(two, bytes, len);
		killed = killed_at(two, n);
		g_autofree char *old = content(f->path), *new = content(two->target);
		g_assert_false(old && new);
		neither += !old && !new;
		g_assert_true(!old || g_str_equal(old, before));
		g_assert_true(!new || g_str_equal(new, before));
		g_assert_true(transfer(f->path, two->target, f->diags));
		assert_fine(f->diags);
		g_autofree char *end = content(two->target), *rest = content(f->path);
		g_assert_cmpstr(end, ==, before);
		g_assert_null(rest);
	}
	g_test_message(
		"killed before each of %d writes, %d times between the marks", n - 2, neither);
	g_assert_cmpint(n, >, 20);
	g_assert_cmpint(neither, >, 0);
}

#define ADD(path, function) g_test_add("/transfer/migrate/" path, Two, NULL, up, function, down)

int main(int argc, char **argv)
{
	if (g_access("/dev/shm", W_OK) == 0) /* thousands of fsync() */
		g_setenv("TMPDIR", "/dev/shm", TRUE);
	g_test_init(&argc, &argv, NULL);
	ADD("there-and-back", test_there_and_back);
	ADD("targets-that-are-refused", test_targets_that_are_refused);
	ADD("damage-is-not-moved", test_damage_is_not_moved);
	ADD("who-waited-is-refused", test_who_waited_is_refused);
	ADD("killed-before-every-write", test_killed_before_every_write);
	return g_test_run();
}
