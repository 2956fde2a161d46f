/* Old states: the machinery with an invented next version, and the stored file of each version. */
#include "state_fixture.h"
#include "state/internal.h"
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define T0 "aws.instance.train[0]"

static const unsigned versions[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

/* As if the program were one version newer. */
static RgStore *open_next(Fixture *f, RgStoreMode mode, const char *sql)
{
	static RgMigration list[12];
	unsigned n = rg_state_migrations_len;
	g_assert_cmpuint(n + 1, <=, G_N_ELEMENTS(list));
	memcpy(list, rg_state_migrations, n * sizeof(list[0]));
	list[n].sql = sql;
	return store_open_with(f->path, mode, list, n + 1, f->diags);
}

static const char next_sql[] = "ALTER TABLE resources ADD COLUMN zone TEXT;"
			       "UPDATE resources SET zone = 'moved', generation = 7;";

static void make_state(Fixture *f)
{
	fixture_open(f);
	g_assert_true(settle_created(f, open_batch(f, 0, 1), T0, "i-0"));
	fixture_close(f);
}

static void check_moved(Fixture *f)
{
	assert_fine(f->diags);
	g_autoptr(RgSnapshot) snapshot = load(f);
	g_assert_cmpint(rg_resource_set_find(snapshot->recorded, T0)->generation, ==, 7);
}

static void test_reading_migrates_in_memory(Fixture *f, gconstpointer unused)
{
	make_state(f);
	g_autofree char *before = folder_digest(f);
	f->store = open_next(f, RG_STORE_READ, next_sql);
	check_moved(f);
	fixture_close(f);
	g_autofree char *after = folder_digest(f);
	g_assert_cmpstr(before, ==, after);
}

static void test_reading_migrates_what_a_killed_writer_left(Fixture *f, gconstpointer unused)
{
	make_state(f);
	leave_hot_journal(f);
	f->store = open_next(f, RG_STORE_READ, next_sql);
	check_moved(f);
}

static void test_writing_migrates_the_file(Fixture *f, gconstpointer unused)
{
	unsigned today = rg_state_migrations_len;
	g_autofree char *backup = g_strdup_printf("%s.v%u.bak", f->path, today);
	make_state(f);
	f->store = open_next(f, RG_STORE_WRITE, next_sql);
	check_moved(f);
	fixture_close(f);
	g_assert_cmpint(query_int(f->path, "PRAGMA user_version"), ==, today + 1);
	g_assert_cmpint(query_int(backup, "PRAGMA user_version"), ==, today);
	g_assert_cmpint(query_int(backup, "SELECT generation FROM resources"), ==, 0);
	GStatBuf status;
	g_assert_cmpint(g_stat(backup, &status), ==, 0);
	g_assert_cmphex(status.st_mode & 07777, ==, 0600);
	/* and the older program refuses it from then on */
	g_assert_null(rg_store_open(f->path, RG_STORE_WRITE, f->diags));
	assert_code(f->diags, "state.newer");
	diags_reset(f);
	f->store = open_next(f, RG_STORE_WRITE, next_sql);
	check_moved(f);
}

static void test_a_broken_migration_leaves_the_old_file(Fixture *f, gconstpointer unused)
{
	make_state(f);
	g_assert_null(open_next(f, RG_STORE_WRITE,
		"UPDATE resources SET generation = 7; ALTER TABLE no_such_table RENAME TO x;"));
	g_assert_true(rg_diags_has_errors(f->diags));
	diags_reset(f);
	g_assert_cmpint(query_int(f->path, "PRAGMA user_version"), ==, rg_state_migrations_len);
	g_assert_cmpint(query_int(f->path, "SELECT generation FROM resources"), ==, 0);
	fixture_open(f);
}

static void put_kept_file(Fixture *f, unsigned version)
{
	g_autofree char *from = g_strdup_printf(MIGRATE_DIR "/state_v%u.db", version);
	g_autofree char *folder = g_path_get_dirname(f->path), *data = NULL;
	gsize len;
	g_assert_true(g_file_get_contents(from, &data, &len, NULL));
	g_mkdir_with_parents(folder, 0700);
	g_assert_true(g_file_set_contents_full(
		f->path, data, (gssize)len, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
}

/* Version 1 had only the costs of its current records, and says so. */
static void check_kept_lifetimes(Fixture *f)
{
	int64_t from_s;
	json_auto_t *lifetimes = rg_store_lifetimes(f->store, CLUSTER, 0, f->diags);
	const json_t *made = json_array_get(lifetimes, 0);
	g_assert_cmpstr(rg_json_str(made, "address", NULL), ==, T0);
	g_assert_cmpint(
		rg_json_int(json_object_get(made, "pin"), "price_microusd_hour", 0), ==, 32772600);
	g_assert_true(json_is_null(json_object_get(made, "ended_s")));
	g_assert_true(rg_store_history_from(f->store, CLUSTER, &from_s, f->diags));
	g_assert_cmpuint(json_array_size(lifetimes), ==, from_s > 0 ? 1 : 2);
}

/* The content written by write_state.c. */
static void check_kept_content(Fixture *f)
{
	g_autoptr(RgSnapshot) snapshot = load(f);
	const RgResourceSet *recorded = snapshot->recorded;
	g_assert_cmpuint(strlen(snapshot->lineage), ==, 32);
	g_assert_cmpstr(snapshot->region, ==, "us-east-1");
	g_assert_cmpuint(rg_resource_set_size(recorded), ==, 4);
	const RgResource *made = rg_resource_set_find(recorded, T0);
	g_assert_cmpstr(made->id, ==, "i-0");
	g_assert_cmpstr(rg_json_str(made->attrs, "user_data", NULL), ==, "#!/bin/sh");
	g_assert_cmpstr(rg_json_str(rg_resource_outputs(made), "private_ip", NULL), ==, "10.0.0.7");
	g_assert_cmpint(rg_json_int(made->pin, "price_microusd_hour", 0), ==, 32772600);
	g_assert_false(made->mismarked);
	g_assert_cmpint(
		rg_resource_set_find(recorded, "aws.instance.train[2]")->presence, ==, RG_PENDING);
	g_assert_cmpstr(
		rg_resource_set_find(recorded, "aws.security_group.cluster")->id, ==, "sg-1");
	const RgResource *secret = rg_resource_set_find(recorded, RG_SECRET_RAY_TOKEN);
	g_assert_cmpstr(
		rg_json_str(rg_resource_outputs(secret), "value", NULL), ==, "not-a-real-token");
	const RgJournalRow *row = snapshot->journal->pdata[0];
	g_assert_cmpstr(row->token, ==, "00112233445566778899aabbccddeeff");
	g_assert_cmpint(rg_json_int(row->input, "min_count", 0), ==, 1);
	int64_t generation, attempt;
	rg_store_identity(
		f->store, CLUSTER, "aws.instance.train[1]", &generation, &attempt, f->diags);
	g_assert_cmpint(attempt, ==, 1);
	rg_store_identity(
		f->store, CLUSTER, "aws.instance.train[3]", &generation, &attempt, f->diags);
	g_assert_cmpint(generation, ==, 1);
	json_auto_t *runs = rg_store_runs(f->store, CLUSTER, f->diags);
	g_assert_cmpstr(rg_json_str(json_array_get(runs, 0), "outcome", NULL), ==, "partial");
	check_kept_lifetimes(f);
}

static void test_every_kept_file_opens(Fixture *f, gconstpointer unused)
{
	for (size_t i = 0; i < G_N_ELEMENTS(versions); i++) {
		put_kept_file(f, versions[i]);
		g_autofree char *before = folder_digest(f);
		f->store = rg_store_open(f->path, RG_STORE_READ, f->diags);
		assert_fine(f->diags);
		check_kept_content(f);
		fixture_close(f);
		g_autofree char *after = folder_digest(f);
		g_assert_cmpstr(before, ==, after);
		f->store = rg_store_open(f->path, RG_STORE_WRITE, f->diags);
		assert_fine(f->diags);
		check_kept_content(f);
		fixture_close(f);
		g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM hardware"
						   " WHERE gpu = 'GPU-1' AND code = 78"),
			==, versions[i] < 8 ? 0 : 1);
	}
}

/* Older versions had no `marked`: what they recorded was marked with its address. */
static void test_version_3_knows_the_marks(Fixture *f, gconstpointer unused)
{
	put_kept_file(f, 1);
	g_autoptr(RgStore) store = rg_store_open(f->path, RG_STORE_WRITE, f->diags);
	g_assert_nonnull(store);
	assert_fine(f->diags);
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM resources"
					   " WHERE cloud_id IS NOT NULL AND marked = address"),
		==, 2);
	g_assert_cmpint(query_int(f->path, "SELECT count(*) FROM resources"
					   " WHERE cloud_id IS NULL AND marked IS NULL"),
		==, 1);
}

#define BIG_ROWS 5000
#define MIGRATION_KILLS 25

/* An old file whose migration takes long enough to be killed during it. */
static void make_big_old_file(Fixture *f)
{
	sqlite3 *db = NULL;
	put_kept_file(f, 1);
	g_assert_cmpint(sqlite3_open_v2(f->path, &db, SQLITE_OPEN_READWRITE, NULL), ==, SQLITE_OK);
	g_assert_cmpint(
		sqlite3_exec(db,
			"WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n "
			"LIMIT " G_STRINGIFY(
				BIG_ROWS) ")"
					  " INSERT INTO resources (cluster, address, kind, name, "
					  "idx, cloud_id,"
					  " ownership, attrs, generation, created_s, updated_s)"
					  " SELECT cluster, 'aws.instance.train[' || i || ']', "
					  "kind, name, i, 'i-' || i,"
					  " ownership, attrs, 0, 1, 1 FROM n, resources WHERE idx "
					  "= 0",
			NULL, NULL, NULL),
		==, SQLITE_OK);
	sqlite3_close(db);
}

static void kill_while_migrating(const Fixture *f, gulong delay_us)
{
	pid_t child = fork();
	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		g_autoptr(RgDiags) diags = rg_diags_new();
		g_autoptr(RgStore) store = rg_store_open(f->path, RG_STORE_WRITE, diags);
		_exit(store ? 0 : 1);
	}
	g_usleep(delay_us);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Old or new, never between; and nothing is lost. */
static void test_a_killed_migration_loses_nothing(Fixture *f, gconstpointer unused)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(11);
	for (int i = 0; i < MIGRATION_KILLS; i++) {
		make_big_old_file(f);
		kill_while_migrating(f, (gulong)g_rand_int_range(rand, 0, 40000));
		g_autoptr(RgStore) reading = rg_store_open(f->path, RG_STORE_READ, f->diags);
		assert_fine(f->diags);
		g_autoptr(RgSnapshot) snapshot = rg_store_load(reading, CLUSTER, f->diags);
		g_assert_cmpuint(rg_resource_set_size(snapshot->recorded), ==, BIG_ROWS + 4);
		f->store = rg_store_open(f->path, RG_STORE_WRITE, f->diags);
		assert_fine(f->diags);
		g_assert_cmpint(
			query_int(f->path, "PRAGMA user_version"), ==, rg_state_migrations_len);
		g_assert_cmpint(
			query_int(f->path, "SELECT count(*) FROM resources WHERE marked = address"),
			==, BIG_ROWS + 2);
		fixture_close(f);
		g_autofree char *hot = g_strconcat(f->path, "-journal", NULL);
		g_assert_false(g_file_test(hot, G_FILE_TEST_EXISTS));
		g_unlink(f->path);
	}
}

static char *tables_of(const char *path)
{
	GString *text = g_string_new(NULL);
	sqlite3 *db = NULL;
	sqlite3_stmt *statement = NULL;
	g_assert_cmpint(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), ==, SQLITE_OK);
	sqlite3_prepare_v2(db, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name",
		-1, &statement, NULL);
	while (sqlite3_step(statement) == SQLITE_ROW)
		g_string_append_printf(
			text, "%s\n", (const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return g_string_free(text, FALSE);
}

/* Released tables change only through a new migration. */
static void test_the_newest_kept_file_has_the_tables_of_today(Fixture *f, gconstpointer unused)
{
	unsigned newest = versions[G_N_ELEMENTS(versions) - 1];
	g_assert_cmpuint(newest, ==, rg_state_migrations_len);
	put_kept_file(f, newest);
	g_autofree char *kept = tables_of(f->path);
	g_unlink(f->path);
	fixture_open(f);
	g_autofree char *now = tables_of(f->path);
	g_assert_cmpstr(kept, ==, now);
}

#define ADD(path, function)                                                                        \
	g_test_add("/state/migrate/" path, Fixture, NULL, fixture_up, function, fixture_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("reading-in-memory", test_reading_migrates_in_memory);
	ADD("reading-with-hot-journal", test_reading_migrates_what_a_killed_writer_left);
	ADD("writing-the-file", test_writing_migrates_the_file);
	ADD("broken-migration", test_a_broken_migration_leaves_the_old_file);
	ADD("every-kept-file", test_every_kept_file_opens);
	ADD("version-3", test_version_3_knows_the_marks);
	ADD("killed", test_a_killed_migration_loses_nothing);
	ADD("tables-of-today", test_the_newest_kept_file_has_the_tables_of_today);
	return g_test_run();
}
