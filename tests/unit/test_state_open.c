/* Which files are accepted, which are refused, and that a reading handle leaves no trace. */
#include "state_fixture.h"
#include "state/internal.h"
#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define T0 "aws.instance.train[0]"

static unsigned mode_of(const char *path)
{
	struct stat status;
	g_assert_cmpint(stat(path, &status), ==, 0);
	return status.st_mode & 07777;
}

/* A state with one resource, closed. */
static void make_state(Fixture *f)
{
	fixture_open(f);
	g_assert_true(settle_created(f, open_batch(f, 0, 1), T0, "i-0"));
	fixture_close(f);
}

static void expect_refusal(Fixture *f, RgStoreMode mode, const char *code)
{
	g_assert_null(rg_store_open(f->path, mode, f->diags));
	const RgDiag *diag = assert_code(f->diags, code);
	g_assert_nonnull(strstr(diag->summary, "state.db"));
	diags_reset(f);
}

static void test_created_for_the_owner_only(Fixture *f, gconstpointer unused)
{
	g_autofree char *folder = g_path_get_dirname(f->path);
	mode_t before = umask(0);
	fixture_open(f);
	umask(before);
	g_assert_cmphex(mode_of(folder), ==, 0700);
	g_assert_cmphex(mode_of(f->path), ==, 0600);
	g_autofree char *lock = g_strconcat(f->path, "." CLUSTER ".lock", NULL);
	g_assert_cmphex(mode_of(lock), ==, 0600);
	g_assert_cmpint(query_int(f->path, "PRAGMA application_id"), ==, STATE_APPLICATION_ID);
	g_assert_cmpint(query_int(f->path, "PRAGMA user_version"), ==, rg_state_migrations_len);
}

static void test_a_strict_umask_does_no_harm(Fixture *f, gconstpointer unused)
{
	g_autofree char *folder = g_path_get_dirname(f->path);
	mode_t before = umask(0777);
	fixture_open(f);
	umask(before);
	g_assert_cmphex(mode_of(folder), ==, 0700);
	g_assert_cmphex(mode_of(f->path), ==, 0600);
}

static void test_reading_a_missing_state_creates_nothing(Fixture *f, gconstpointer unused)
{
	g_autofree char *folder = g_path_get_dirname(f->path);
	f->store = rg_store_open(f->path, RG_STORE_READ, f->diags);
	assert_fine(f->diags);
	g_autoptr(RgSnapshot) snapshot = load(f);
	g_assert_null(snapshot->lineage);
	g_assert_cmpuint(rg_resource_set_size(snapshot->recorded), ==, 0);
	g_auto(GStrv) names = rg_store_clusters(f->store, f->diags);
	g_assert_cmpuint(g_strv_length(names), ==, 0);
	g_assert_false(g_file_test(folder, G_FILE_TEST_EXISTS));
}

static bool read_one(Fixture *f)
{
	g_autoptr(RgStore) store = rg_store_open(f->path, RG_STORE_READ, f->diags);
	g_autoptr(RgSnapshot) snapshot = store ? rg_store_load(store, CLUSTER, f->diags) : NULL;
	return snapshot && rg_resource_set_find(snapshot->recorded, T0) && snapshot->serial == 3 &&
	       g_hash_table_size(snapshot->tombstones) == 0;
}

/* Everyone may read, nobody may write: neither the file nor the folder. */
static void make_read_only(Fixture *f)
{
	g_autofree char *folder = g_path_get_dirname(f->path);
	g_autofree char *journal = g_strconcat(f->path, "-journal", NULL);
	g_chmod(f->path, 0444);
	g_chmod(journal, 0444);
	g_chmod(folder, 0555);
	g_chmod(f->folder, 0555);
}

static void test_reads_in_a_read_only_folder(Fixture *f, gconstpointer unused)
{
	make_state(f);
	make_read_only(f);
	g_autofree char *before = folder_digest(f);
	as_nobody(read_one, f);
	g_autofree char *after = folder_digest(f);
	g_assert_cmpstr(before, ==, after);
	g_chmod(f->folder, 0755);
}

static void test_reads_what_a_killed_writer_left(Fixture *f, gconstpointer unused)
{
	make_state(f);
	leave_hot_journal(f);
	make_read_only(f);
	g_autofree char *before = folder_digest(f);
	as_nobody(read_one, f);
	g_assert_true(read_one(f));
	g_autofree char *after = folder_digest(f);
	g_assert_cmpstr(before, ==, after);
	g_chmod(f->folder, 0755);
}

static void test_a_writer_killed_after_our_open(Fixture *f, gconstpointer unused)
{
	make_state(f);
	f->store = rg_store_open(f->path, RG_STORE_READ, f->diags);
	assert_fine(f->diags);
	leave_hot_journal(f);
	g_autoptr(RgSnapshot) snapshot = load(f);
	g_assert_cmpint(snapshot->serial, ==, 3);
	g_assert_nonnull(rg_resource_set_find(snapshot->recorded, T0));
	g_autofree char *journal = g_strconcat(f->path, "-journal", NULL);
	g_assert_true(g_file_test(journal, G_FILE_TEST_EXISTS));
}

static void test_the_next_writer_rolls_back(Fixture *f, gconstpointer unused)
{
	make_state(f);
	leave_hot_journal(f);
	fixture_open(f);
	g_autoptr(RgSnapshot) snapshot = load(f);
	g_assert_cmpint(snapshot->serial, ==, 4);
	g_assert_cmpuint(strlen(snapshot->lineage), ==, 32);
	g_assert_nonnull(rg_resource_set_find(snapshot->recorded, T0));
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM pragma_integrity_check"
					   " WHERE integrity_check = 'ok'"),
		==, 1);
}

static bool write_refused(Fixture *f)
{
	g_autoptr(RgStore) store = rg_store_open(f->path, RG_STORE_WRITE, f->diags);
	return !store && rg_diags_count(f->diags) == 1 &&
	       g_str_equal(rg_diags_get(f->diags, 0)->code, "state.unwritable");
}

static bool read_refused(Fixture *f)
{
	g_autoptr(RgStore) store = rg_store_open(f->path, RG_STORE_READ, f->diags);
	return !store && rg_diags_count(f->diags) == 1 &&
	       g_str_equal(rg_diags_get(f->diags, 0)->code, "state.unreadable");
}

static void test_without_permission(Fixture *f, gconstpointer unused)
{
	make_state(f);
	make_read_only(f);
	as_nobody(write_refused, f);
	g_chmod(f->path, 0000);
	as_nobody(read_refused, f);
	as_nobody(write_refused, f);
	g_chmod(f->folder, 0755);
}

static void test_no_place_for_the_folder(Fixture *f, gconstpointer unused)
{
	g_chmod(f->folder, 0555);
	as_nobody(write_refused, f);
	g_chmod(f->folder, 0755);
	g_autofree char *file = g_build_filename(f->folder, ".raygpu", NULL);
	g_assert_true(g_file_set_contents(file, "x", 1, NULL));
	expect_refusal(f, RG_STORE_WRITE, "state.unwritable");
}

static void put_file(Fixture *f, const char *data, size_t len)
{
	g_autofree char *folder = g_path_get_dirname(f->path);
	g_mkdir_with_parents(folder, 0700);
	g_assert_true(g_file_set_contents(f->path, data, (gssize)len, NULL));
}

static void refuse_both(Fixture *f, const char *code)
{
	g_autofree char *before = folder_digest(f);
	expect_refusal(f, RG_STORE_READ, code);
	expect_refusal(f, RG_STORE_WRITE, code);
	g_autofree char *after = folder_digest(f);
	g_assert_cmpstr(before, ==, after);
}

static void test_other_files_are_no_state(Fixture *f, gconstpointer unused)
{
	put_file(f, "{\"version\": 4, \"terraform_version\": \"1.11.4\"}", 46);
	refuse_both(f, "state.not-a-state");
	put_file(f, "x", 1);
	refuse_both(f, "state.not-a-state");
	g_unlink(f->path);
	g_mkdir(f->path, 0700);
	expect_refusal(f, RG_STORE_READ, "state.not-a-state");
	expect_refusal(f, RG_STORE_WRITE, "state.not-a-state");
	g_rmdir(f->path);
}

static void test_databases_of_others_are_no_state(Fixture *f, gconstpointer unused)
{
	make_state(f);
	execute(f->path, "PRAGMA application_id = 12345");
	refuse_both(f, "state.not-a-state");
	execute(f->path, "PRAGMA application_id = 0; PRAGMA user_version = 0");
	refuse_both(f, "state.not-a-state");
}

static void test_a_file_of_no_bytes_is_no_new_state(Fixture *f, gconstpointer unused)
{
	put_file(f, "", 0);
	refuse_both(f, "state.corrupt");
}

static void test_a_newer_state_is_refused(Fixture *f, gconstpointer unused)
{
	make_state(f);
	execute(f->path, "PRAGMA user_version = 99");
	g_assert_null(rg_store_open(f->path, RG_STORE_READ, f->diags));
	const RgDiag *diag = assert_code(f->diags, "state.newer");
	g_assert_nonnull(strstr(diag->summary, "version 99"));
	g_autofree char *known = g_strdup_printf("up to %u", rg_state_migrations_len);
	g_assert_nonnull(strstr(diag->summary, known));
	diags_reset(f);
	refuse_both(f, "state.newer");
}

static void test_migrated_by_another_while_open(Fixture *f, gconstpointer unused)
{
	fixture_open(f);
	int64_t row = open_batch(f, 0, 1);
	g_autoptr(RgStore) reader = rg_store_open(f->path, RG_STORE_READ, f->diags);
	execute(f->path, "PRAGMA user_version = 98");
	g_assert_false(settle_created(f, row, T0, "i-0"));
	assert_code(f->diags, "state.newer");
	diags_reset(f);
	g_assert_null(rg_store_load(reader, CLUSTER, f->diags));
	assert_code(f->diags, "state.newer");
	diags_reset(f);
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM resources"), ==, 0);
}

static void test_a_cut_file_is_corrupt(Fixture *f, gconstpointer unused)
{
	g_autofree char *data = NULL;
	gsize len;
	make_state(f);
	g_assert_true(g_file_get_contents(f->path, &data, &len, NULL));
	put_file(f, data, len / 2);
	g_autoptr(RgStore) store = rg_store_open(f->path, RG_STORE_READ, f->diags);
	if (store)
		g_assert_null(rg_store_load(store, CLUSTER, f->diags));
	const RgDiag *diag = assert_code(f->diags, "state.corrupt");
	g_assert_nonnull(strstr(diag->hint, "restore"));
	diags_reset(f);
}

static void test_text_that_is_no_json_is_corrupt(Fixture *f, gconstpointer unused)
{
	make_state(f);
	execute(f->path, "UPDATE resources SET pin = '{\"value\": \"s3cr3t'");
	f->store = rg_store_open(f->path, RG_STORE_READ, f->diags);
	g_assert_null(rg_store_load(f->store, CLUSTER, f->diags));
	const RgDiag *diag = assert_code(f->diags, "state.corrupt");
	g_assert_null(strstr(diag->summary, "s3cr3t"));
	diags_reset(f);
}

/* Outputs are parsed when they are first needed: unreadable text counts as none. */
static void test_outputs_that_are_no_json_are_none(Fixture *f, gconstpointer unused)
{
	make_state(f);
	execute(f->path, "UPDATE resources SET outputs = '{\"value\": \"s3cr3t'");
	f->store = rg_store_open(f->path, RG_STORE_READ, f->diags);
	RgSnapshot *snapshot = rg_store_load(f->store, CLUSTER, f->diags);
	g_assert_null(rg_resource_outputs(rg_resource_set_get(snapshot->recorded, 0)));
	rg_snapshot_free(snapshot);
}

static void test_tables_of_another_shape_are_corrupt(Fixture *f, gconstpointer unused)
{
	make_state(f);
	execute(f->path, "ALTER TABLE resources DROP COLUMN pin");
	f->store = rg_store_open(f->path, RG_STORE_READ, f->diags);
	g_assert_null(rg_store_load(f->store, CLUSTER, f->diags));
	assert_code(f->diags, "state.corrupt");
	diags_reset(f);
}

/* Whatever the bytes: no crash, and either a snapshot or an error. */
static void test_damaged_bytes_never_crash(Fixture *f, gconstpointer unused)
{
	g_autofree char *whole = NULL;
	gsize len;
	fixture_open(f);
	for (int64_t i = 0; i < 10; i++)
		g_assert_cmpint(open_batch(f, i * 4, 4), >, 0);
	fixture_close(f);
	g_assert_true(g_file_get_contents(f->path, &whole, &len, NULL));
	g_autoptr(GRand) rand = g_rand_new_with_seed(20261121);
	for (int i = 0; i < 400; i++) {
		g_autofree char *data = g_memdup2(whole, len);
		for (int k = 0; k < 8; k++)
			data[g_rand_int_range(rand, 0, (gint32)len)] =
				(char)g_rand_int_range(rand, 0, 256);
		put_file(f, data, len);
		g_autoptr(RgStore) store = rg_store_open(f->path, RG_STORE_READ, f->diags);
		g_autoptr(RgSnapshot) snapshot =
			store ? rg_store_load(store, CLUSTER, f->diags) : NULL;
		g_assert_true(snapshot || rg_diags_has_errors(f->diags));
		diags_reset(f);
	}
}

static void test_names_that_sqlite_would_interpret(Fixture *f, gconstpointer unused)
{
	g_autofree char *before = g_get_current_dir();
	g_assert_cmpint(g_chdir(f->folder), ==, 0);
	g_free(f->path);
	f->path = g_strdup("file:x?mode=memory");
	fixture_open(f);
	fixture_close(f);
	g_assert_true(g_file_test("file:x?mode=memory", G_FILE_TEST_IS_REGULAR));
	g_free(f->path);
	f->path = g_strdup(":memory:");
	fixture_open(f);
	fixture_close(f);
	g_assert_true(g_file_test(":memory:", G_FILE_TEST_IS_REGULAR));
	g_assert_cmpint(g_chdir(before), ==, 0);
}

static void test_a_wal_file_becomes_one_file_again(Fixture *f, gconstpointer unused)
{
	make_state(f);
	execute(f->path, "PRAGMA journal_mode = WAL");
	fixture_open(f);
	g_autofree char *data = NULL;
	g_assert_true(g_file_get_contents(f->path, &data, NULL, NULL));
	g_assert_cmpint(data[18], ==, 1); /* fileformat2.html: 1 = rollback journal, 2 = WAL */
}

static int setting(RgStore *store, int which)
{
	int value = -1;
	g_assert_cmpint(sqlite3_db_config(store->db, which, -1, &value), ==, SQLITE_OK);
	return value;
}

/* A state may come from anywhere: its file changes no schema and runs no code of its own. */
static void test_a_file_is_not_trusted(Fixture *f, gconstpointer unused)
{
	make_state(f);
	for (RgStoreMode mode = RG_STORE_READ; mode <= RG_STORE_WRITE; mode++) {
		g_autoptr(RgStore) store = rg_store_open(f->path, mode, f->diags);
		g_assert_nonnull(store);
		g_assert_cmpint(setting(store, SQLITE_DBCONFIG_DEFENSIVE), ==, 1);
		g_assert_cmpint(setting(store, SQLITE_DBCONFIG_TRUSTED_SCHEMA), ==, 0);
		g_assert_cmpint(setting(store, SQLITE_DBCONFIG_ENABLE_TRIGGER), ==, 0);
		g_assert_cmpint(setting(store, SQLITE_DBCONFIG_ENABLE_VIEW), ==, 0);
	}
}

/* The disk is "full" at the current size of the file. */
static bool write_on_a_full_disk(Fixture *f)
{
	struct stat status;
	fixture_open(f);
	int64_t row = open_batch(f, 0, 1);
	stat(f->path, &status);
	signal(SIGXFSZ, SIG_IGN);
	struct rlimit limit = {.rlim_cur = (rlim_t)status.st_size, .rlim_max = RLIM_INFINITY};
	setrlimit(RLIMIT_FSIZE, &limit);
	int refused = 0;
	for (int64_t i = 1; i < 400 && refused == 0; i++)
		refused += open_batch(f, i * 10, 10) == 0;
	bool told = refused == 1 && rg_diags_count(f->diags) == 1 &&
		    g_str_equal(rg_diags_get(f->diags, 0)->code, "state.unwritable");
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &limit);
	diags_reset(f);
	bool after = settle_created(f, row, T0, "i-0") && open_batch(f, 9000, 10) > 0;
	fixture_close(f);
	return told && after;
}

static void test_a_full_disk_loses_nothing(Fixture *f, gconstpointer unused)
{
	g_chmod(f->folder, 0777);
	as_nobody(write_on_a_full_disk, f);
	g_chmod(f->folder, 0755);
	f->store = rg_store_open(f->path, RG_STORE_READ, f->diags);
	g_autoptr(RgSnapshot) snapshot = load(f);
	g_assert_cmpstr(rg_resource_set_find(snapshot->recorded, T0)->id, ==, "i-0");
	g_assert_nonnull(rg_resource_set_find(snapshot->recorded, "aws.instance.train[9009]"));
	size_t members = 0;
	for (guint i = 0; i < snapshot->journal->len; i++)
		members += json_array_size(((RgJournalRow *)snapshot->journal->pdata[i])->members);
	g_assert_cmpuint(members, ==, 10 * snapshot->journal->len);
}

#define ADD(path, function)                                                                        \
	g_test_add("/state/open/" path, Fixture, NULL, fixture_up, function, fixture_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("created-for-the-owner-only", test_created_for_the_owner_only);
	ADD("strict-umask", test_a_strict_umask_does_no_harm);
	ADD("reading-creates-nothing", test_reading_a_missing_state_creates_nothing);
	ADD("read-only-folder", test_reads_in_a_read_only_folder);
	ADD("hot-journal-is-read-aside", test_reads_what_a_killed_writer_left);
	ADD("hot-journal-after-open", test_a_writer_killed_after_our_open);
	ADD("hot-journal-rolled-back-by-writer", test_the_next_writer_rolls_back);
	ADD("without-permission", test_without_permission);
	ADD("no-place-for-the-folder", test_no_place_for_the_folder);
	ADD("other-files", test_other_files_are_no_state);
	ADD("databases-of-others", test_databases_of_others_are_no_state);
	ADD("no-bytes", test_a_file_of_no_bytes_is_no_new_state);
	ADD("newer", test_a_newer_state_is_refused);
	ADD("newer-while-open", test_migrated_by_another_while_open);
	ADD("cut-file", test_a_cut_file_is_corrupt);
	ADD("no-json", test_text_that_is_no_json_is_corrupt);
	ADD("outputs-no-json", test_outputs_that_are_no_json_are_none);
	ADD("other-tables", test_tables_of_another_shape_are_corrupt);
	ADD("damaged-bytes", test_damaged_bytes_never_crash);
	ADD("special-names", test_names_that_sqlite_would_interpret);
	ADD("wal", test_a_wal_file_becomes_one_file_again);
	ADD("not-trusted", test_a_file_is_not_trusted);
	ADD("full-disk", test_a_full_disk_loses_nothing);
	return g_test_run();
}
