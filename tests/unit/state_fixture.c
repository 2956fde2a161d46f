#include "state_fixture.h"
#include "state/internal.h"
#include <glib/gstdio.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void fixture_up(Fixture *f, gconstpointer unused)
{
	g_autoptr(GError) error = NULL;
	f->folder = g_dir_make_tmp("raygpu-test-state-XXXXXX", &error);
	g_assert_no_error(error);
	f->path = g_build_filename(f->folder, ".raygpu", "state.db", NULL);
	f->diags = rg_diags_new();
}

static void remove_tree(const char *folder)
{
	GDir *dir = g_dir_open(folder, 0, NULL);
	const char *name;
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(folder, name, NULL);
		if (g_file_test(path, G_FILE_TEST_IS_DIR) &&
			!g_file_test(path, G_FILE_TEST_IS_SYMLINK))
			remove_tree(path);
		else
			g_remove(path);
	}
	if (dir)
		g_dir_close(dir);
	g_rmdir(folder);
}

void fixture_close(Fixture *f)
{
	g_clear_pointer(&f->lock, rg_lock_release);
	g_clear_pointer(&f->store, rg_store_close);
	g_clear_pointer(&f->run, g_free);
	g_clear_pointer(&f->lineage, g_free);
}

void fixture_down(Fixture *f, gconstpointer unused)
{
	fixture_close(f);
	remove_tree(f->folder);
	g_free(f->folder);
	g_free(f->path);
	rg_diags_free(f->diags);
}

void assert_fine(RgDiags *diags)
{
	if (!rg_diags_has_errors(diags))
		return;
	const RgDiag *diag = rg_diags_get(diags, 0);
	g_error("%s: %s; %s", diag->code, diag->summary, diag->detail ? diag->detail : "");
}

const RgDiag *assert_code(RgDiags *diags, const char *code)
{
	g_assert_cmpuint(rg_diags_count_of(diags, RG_SEVERITY_ERROR), ==, 1);
	const RgDiag *diag = rg_diags_get(diags, 0);
	g_test_message("%s: %s; %s; %s", diag->code, diag->summary,
		diag->detail ? diag->detail : "-", diag->hint ? diag->hint : "-");
	g_assert_cmpstr(diag->code, ==, code);
	g_assert_nonnull(diag->hint); /* every error about the state says what to do */
	return diag;
}

void diags_reset(Fixture *f)
{
	rg_diags_free(f->diags);
	f->diags = rg_diags_new();
}

void fixture_open(Fixture *f)
{
	f->store = rg_store_open(f->path, RG_STORE_WRITE, f->diags);
	assert_fine(f->diags);
	f->lock = rg_lock_take(f->store, CLUSTER, "apply", 0, f->diags);
	assert_fine(f->diags);
	json_auto_t *config = json_pack("{s:s}", "endpoint", "http://127.0.0.1:1");
	json_auto_t *facts = json_pack("{s:{}}", "images");
	json_auto_t *meta = json_pack("{s:s, s:b}", "command", "apply", "dirty", 0);
	const RgRunBegin begin = {CLUSTER, "aws", "us-east-1", config, facts, meta};
	bool ok = rg_store_begin_run(f->store, &begin, &f->run, &f->lineage, f->diags);
	assert_fine(f->diags);
	g_assert_true(ok);
}

/* As others see it; NULL: none. g_free. */
static char *recorded_id(const Fixture *f, const char *address)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *statement = NULL;
	char *id = NULL;
	g_assert_cmpint(sqlite3_open_v2(f->path, &db, SQLITE_OPEN_READONLY, NULL), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_prepare_v2(db, "SELECT cloud_id FROM resources WHERE address = ?1",
				-1, &statement, NULL),
		==, SQLITE_OK);
	sqlite3_bind_text(statement, 1, address, -1, SQLITE_STATIC);
	if (sqlite3_step(statement) == SQLITE_ROW)
		id = g_strdup((const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return id;
}

json_t *member_new(Fixture *f, const char *address, json_t *attrs)
{
	int64_t generation, attempt;
	g_autofree char *gone = recorded_id(f, address);
	g_assert_true(
		rg_store_identity(f->store, CLUSTER, address, &generation, &attempt, f->diags));
	return json_pack("{s:s, s:n, s:I, s:I, s:O, s:s*, s:{s:s, s:i}, s:[s], s:s, s:s}",
		"address", address, "index", "attempt", (json_int_t)attempt, "generation",
		(json_int_t)generation, "attrs", attrs, "gone", gone, "pin", "instance_type",
		"p4d.24xlarge", "price_microusd_hour", 32772600, "depends_on",
		"aws.security_group.cluster", "group", "train", "origin", "/pools/train");
}

bool remove_records(Fixture *f, const char *const *addresses, size_t n)
{
	return rg_store_leaving(f->store, CLUSTER, addresses, n, true, f->diags) &&
	       rg_store_removed(f->store, CLUSTER, addresses, n, f->diags);
}

int64_t open_batch(Fixture *f, int64_t from, int64_t n)
{
	json_auto_t *attrs =
		json_pack("{s:s, s:s}", "instance_type", "p4d.24xlarge", "user_data", "#!/bin/sh");
	json_auto_t *input = json_pack("{s:s, s:s}", "token", "t", "secret", "s3cr3t-input");
	json_auto_t *members = json_array();
	for (int64_t i = from; i < from + n; i++) {
		g_autofree char *address = rg_address_format("aws.instance", "train", i);
		json_array_append_new(members, member_new(f, address, attrs));
	}
	RgJournalRow row = {.run = f->run,
		.kind = (char *)(uintptr_t) "aws.instance",
		.token = (char *)(uintptr_t) "0123",
		.input = input,
		.members = members,
		.started_s = 1000};
	int64_t id = 0;
	if (!rg_store_journal_open(f->store, CLUSTER, &row, &id, f->diags))
		return 0;
	return id;
}

bool settle_created(Fixture *f, int64_t row, const char *address, const char *id)
{
	json_auto_t *outputs = json_pack("{s:s}", "private_ip", id);
	const RgMemberOutcome outcome = {
		.address = address, .created = true, .id = id, .outputs = outputs};
	return rg_store_journal_settle(f->store, CLUSTER, row, &outcome, 1, f->diags);
}

bool settle_failed(Fixture *f, int64_t row, const char *address)
{
	const RgMemberOutcome outcome = {.address = address};
	return rg_store_journal_settle(f->store, CLUSTER, row, &outcome, 1, f->diags);
}

void check_identity(Fixture *f, const char *address, int64_t generation, int64_t attempt)
{
	int64_t g, a;
	g_assert_true(rg_store_identity(f->store, CLUSTER, address, &g, &a, f->diags));
	g_assert_cmpint(g, ==, generation);
	g_assert_cmpint(a, ==, attempt);
}

RgSnapshot *load(Fixture *f)
{
	RgSnapshot *snapshot = rg_store_load(f->store, CLUSTER, f->diags);
	assert_fine(f->diags);
	return snapshot;
}

int64_t query_int(const char *path, const char *sql)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *statement = NULL;
	g_assert_cmpint(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_step(statement), ==, SQLITE_ROW);
	int64_t value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return value;
}

void execute(const char *path, const char *sql)
{
	sqlite3 *db = NULL;
	g_assert_cmpint(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_exec(db, "DELETE FROM sums", NULL, NULL, NULL), ==, SQLITE_OK);
	sqlite3_close(db);
}

#define NOBODY 65534

void as_nobody(bool (*function)(Fixture *f), Fixture *f)
{
	pid_t child = fork();
	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		if (geteuid() == 0 &&
			(setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
				setresuid(NOBODY, NOBODY, NOBODY) != 0))
			_exit(2);
		bool fine = function(f);
		for (size_t i = 0; !fine && i < rg_diags_count(f->diags); i++)
			g_printerr("# %s: %s; %s\n", rg_diags_get(f->diags, i)->code,
				rg_diags_get(f->diags, i)->summary,
				rg_diags_get(f->diags, i)->detail);
		_exit(fine ? 0 : 1);
	}
	int status;
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_true(WIFEXITED(status));
	g_assert_cmpint(WEXITSTATUS(status), ==, 0);
}

void leave_hot_journal(Fixture *f)
{
	pid_t child = fork();
	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		sqlite3 *db = NULL;
		if (sqlite3_open(f->path, &db) == SQLITE_OK)
			sqlite3_exec(db,
				"PRAGMA cache_size = 5; BEGIN IMMEDIATE;"
				"UPDATE clusters SET serial = 777, lineage = 'half';"
				"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
				"WHERE "
				"i < 4000) INSERT INTO tombstones SELECT 1, 'i-' || i || "
				"hex(zeroblob(64)),"
				" 0 FROM n;",
				NULL, NULL, NULL);
		kill(getpid(), SIGKILL);
	}
	int status;
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_autofree char *journal = g_strconcat(f->path, "-journal", NULL);
	g_assert_true(g_file_test(journal, G_FILE_TEST_EXISTS));
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char *folder_digest(Fixture *f)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *folder = g_path_get_dirname(f->path);
	GDir *dir = g_dir_open(folder, 0, NULL);
	const char *name;
	while (dir && (name = g_dir_read_name(dir)))
		g_ptr_array_add(names, g_strdup(name));
	if (dir)
		g_dir_close(dir);
	g_ptr_array_sort(names, compare_names);
	for (guint i = 0; i < names->len; i++) {
		g_autofree char *path = g_build_filename(folder, names->pdata[i], NULL);
		g_autofree char *data = NULL;
		gsize len = 0;
		struct stat status;
		g_assert_cmpint(stat(path, &status), ==, 0);
		g_assert_true(g_file_get_contents(path, &data, &len, NULL));
		g_autofree char *line = g_strdup_printf("%s %o %ld.%ld\n", path, status.st_mode,
			(long)status.st_mtim.tv_sec, (long)status.st_mtim.tv_nsec);
		g_checksum_update(sum, (const guchar *)line, -1);
		g_checksum_update(sum, (const guchar *)data, (gssize)len);
	}
	return g_strdup(g_checksum_get_string(sum));
}
