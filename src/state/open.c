#include "state/internal.h"
#include "state/place.h"
#include "base/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void finalize(gpointer statement)
{
	sqlite3_finalize(statement);
}

static RgStore *store_new(
	const char *path, RgStoreMode mode, const RgMigration *migrations, unsigned migrations_len)
{
	RgStore *store = g_new0(RgStore, 1);
	/* absolute: SQLite would treat "file:..." as a URI and ":memory:" as no file */
	store->path = place_is_url(path) ? g_strdup("") : g_canonicalize_filename(path, NULL);
	store->shown = rg_store_shown(path);
	store->mode = mode;
	store->migrations = migrations;
	store->version = migrations_len;
	store->statements = g_hash_table_new_full(NULL, NULL, NULL, finalize);
	store->locked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
#ifndef NDEBUG
	store->owner = pthread_self();
#endif
	return store;
}

void rg_store_close(RgStore *store)
{
	if (!store)
		return;
	store_check_thread(store);
	g_assert(g_hash_table_size(store->locked) == 0);
	g_hash_table_destroy(store->statements);
	g_hash_table_destroy(store->locked);
	g_clear_pointer(&store->told, g_hash_table_destroy);
	sqlite3_close(store->db);
	copy_close(store->copy);
	g_free(store->path);
	g_free(store->shown);
	g_free(store);
}

static void file_error(const RgStore *store, const char *code, const char *verb, RgDiags *diags)
{
	int why = errno;
	RgDiag *diag = rg_diags_error(
		diags, code, "the state \"%s\" %s: %s", store->shown, verb, g_strerror(why));
	rg_diag_hint(diag, "%s",
		why == EACCES || why == EPERM || why == EROFS
			? "check the permissions of the file and its folder, or choose another "
			  "path with --state"
		: why == ENOSPC || why == EDQUOT
			? "free some disk space and run the command again; your state is safe"
			: "check the path and the disk, or choose another path with --state");
}

static bool connect(RgStore *store, const char *path, int flags, RgDiags *diags)
{
	int rc = sqlite3_open_v2(path, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc == SQLITE_OK)
		return schema_configure(store, diags);
	sql_error(store, rc, diags);
	return false;
}

static bool open_memory(RgStore *store, RgDiags *diags)
{
	return connect(store, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, diags) &&
	       schema_migrate(store, 0, diags);
}

/* A state is created completely (create.c), so an empty file was truncated by something else.
 * Treating it as a new state would create every node a second time. */
static bool check_size(const RgStore *store, const struct stat *status, RgDiags *diags)
{
	if (!S_ISREG(status->st_mode)) {
		RgDiag *diag = rg_diags_error(diags, "state.not-a-state",
			"the state \"%s\" is not a regular file", store->shown);
		rg_diag_hint(diag, "select the right file with --state or RAYGPU_STATE");
		return false;
	}
	if (status->st_size > 0)
		return true;
	RgDiag *diag =
		rg_diags_error(diags, "state.corrupt", "the state \"%s\" is empty", store->shown);
	rg_diag_detail(diag, "raygpu never writes an empty file: something else truncated it");
	rg_diag_hint(diag, "restore a copy; delete it only if nothing was ever applied with it");
	return false;
}

/* The state is where the link leads: for example on a disk that is not mounted. A new, empty one
 * would create every node a second time. */
static bool leads_nowhere(const RgStore *store, RgDiags *diags)
{
	if (!g_file_test(store->path, G_FILE_TEST_IS_SYMLINK))
		return false;
	RgDiag *diag = rg_diags_error(diags,
		store->mode == RG_STORE_READ ? "state.unreadable" : "state.unwritable",
		"the state \"%s\" is a symbolic link to a file that does not exist", store->shown);
	rg_diag_hint(diag, "restore the file (is its disk mounted?), or remove the link");
	return true;
}

static bool open_reading(RgStore *store, RgDiags *diags)
{
	struct stat status;
	if (stat(store->path, &status) != 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			return !leads_nowhere(store, diags) && open_memory(store, diags);
		file_error(store, "state.unreadable", "could not be read", diags);
		return false;
	}
	if (!check_size(store, &status, diags))
		return false;
	if (access(store->path, R_OK) != 0) {
		file_error(store, "state.unreadable", "could not be read", diags);
		return false;
	}
	if (!connect(store, store->path, SQLITE_OPEN_READONLY, diags))
		return false;
	int rc = sqlite3_exec(store->db, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL);
	sqlite3 *copy = NULL;
	if (rc == SQLITE_READONLY_ROLLBACK) {
		copy = recover_copy(store, diags);
		return copy && store_use_copy(store, copy, diags);
	}
	int64_t version = schema_find_version(store, diags);
	if (version < 0 || version == store->version)
		return version > 0;
	copy = memory_copy(store->db, &rc);
	if (!copy)
		sql_error(store, rc, diags);
	return copy && store_use_copy(store, copy, diags);
}

static bool store_publish(
	const RgStore *store, sqlite3 *db, const char *path, bool replace, RgDiags *diags)
{
	sqlite3_int64 len = 0;
	unsigned char *bytes = sqlite3_serialize(db, "main", &len, 0);
	bool ok = bytes && create_file(path, bytes, (size_t)len, replace);
	if (!ok)
		file_error(store, "state.unwritable", "could not be created", diags);
	sqlite3_free(bytes);
	return ok;
}

static bool create_state(RgStore *store, RgDiags *diags)
{
	if (!rg_store_make_folder(store->path)) {
		file_error(store, "state.unwritable", "could not be created", diags);
		return false;
	}
	bool ok = open_memory(store, diags) &&
		  store_publish(store, store->db, store->path, false, diags);
	sql_forget_statements(store);
	sqlite3_close(g_steal_pointer(&store->db));
	return ok;
}

static bool set_journal_mode(RgStore *store, RgDiags *diags)
{
	Sql q = sql_new(store, "PRAGMA journal_mode = DELETE", diags);
	bool right = sql_next(&q) && g_strcmp0(sql_column_text(&q, 0), "delete") == 0;
	if (!sql_ok(&q))
		return false;
	if (!right)
		sql_error(store, SQLITE_BUSY, diags);
	return right;
}

/* A damaged list of free pages would make the next change overwrite a page that is in use. */
static bool check_pages(RgStore *store, RgDiags *diags)
{
	Sql q = sql_new(store, "PRAGMA quick_check(1)", diags);
	bool whole = sql_next(&q) && g_strcmp0(sql_column_text(&q, 0), "ok") == 0;
	return sql_ok(&q) && (whole || sql_corrupt(store, "its pages are inconsistent", diags));
}

static bool open_writing(RgStore *store, RgDiags *diags)
{
	struct stat status;
	if (stat(store->path, &status) != 0) {
		if (errno != ENOENT) {
			file_error(store, "state.unwritable", "could not be opened", diags);
			return false;
		}
		if (leads_nowhere(store, diags) || !create_state(store, diags))
			return false;
	} else if (!check_size(store, &status, diags)) {
		return false;
	}
	if (access(store->path, R_OK | W_OK) != 0) {
		file_error(store, "state.unwritable", "could not be opened for writing", diags);
		return false;
	}
	if (!connect(store, store->path, SQLITE_OPEN_READWRITE, diags))
		return false;
	int64_t version = schema_find_version(store, diags);
	if (version < 0 || !set_journal_mode(store, diags))
		return false;
	g_autofree char *backup =
		g_strdup_printf("%s.v%" G_GINT64_FORMAT ".bak", store->path, version);
	if (version != store->version && (!store_publish(store, store->db, backup, true, diags) ||
						 !schema_migrate(store, (unsigned)version, diags)))
		return false;
	return check_pages(store, diags);
}

/* Of a store without a cluster that is here, all were moved. */
static bool find_left(RgStore *store, char **to, RgDiags *diags)
{
	Sql q = sql_new(store,
		"SELECT min(moved ->> '$.to') FROM clusters"
		" HAVING count(*) > 0 AND count(*) = count(moved ->> '$.to')",
		diags);
	*to = sql_next(&q) ? g_strdup(sql_column_text(&q, 0)) : NULL;
	return sql_ok(&q);
}

static bool check_not_moved(RgStore *store, RgDiags *diags)
{
	g_autofree char *to = NULL;
	if (store->moves || store->version < MOVED_VERSION)
		return true;
	if (!tx_begin_read(store, diags))
		return false;
	bool ok = find_left(store, &to, diags);
	tx_end_read(store);
	return ok && (!to || moved_refuse_to(store, NULL, to, diags));
}

static bool open_place(
	RgStore *store, const RgObjectStores *stores, const char *place, RgDiags *diags)
{
	if (place_is_url(place))
		return open_memory(store, diags) && copy_open(store, place, stores, diags);
	return (store->mode == RG_STORE_READ ? open_reading(store, diags)
					     : open_writing(store, diags)) &&
	       check_not_moved(store, diags);
}

RgStore *store_open_with(const char *path, RgStoreMode mode, const RgMigration *migrations,
	unsigned migrations_len, RgDiags *diags)
{
	g_autoptr(RgStore) store = store_new(path, mode, migrations, migrations_len);
	return open_place(store, NULL, path, diags) ? g_steal_pointer(&store) : NULL;
}

static RgStore *open_state(const RgObjectStores *stores, const char *place, RgStoreMode mode,
	bool moves, RgDiags *diags)
{
	rg_store_has_password(place); /* so that it is never printed */
	g_autoptr(RgStore) store =
		store_new(place, mode, rg_state_migrations, rg_state_migrations_len);
	store->moves = moves;
	return open_place(store, stores, place, diags) ? g_steal_pointer(&store) : NULL;
}

RgStore *rg_store_open_in(
	const RgObjectStores *stores, const char *place, RgStoreMode mode, RgDiags *diags)
{
	return open_state(stores, place, mode, false, diags);
}

RgStore *rg_store_open(const char *place, RgStoreMode mode, RgDiags *diags)
{
	return open_state(NULL, place, mode, false, diags);
}

RgStore *rg_store_open_moved(
	const RgObjectStores *stores, const char *place, RgStoreMode mode, RgDiags *diags)
{
	return open_state(stores, place, mode, true, diags);
}

const char *store_shown(const RgStore *store)
{
	return store->shown;
}

bool store_is_elsewhere(const RgStore *store)
{
	return store->copy != NULL;
}

const char *store_place(const RgStore *store)
{
	return store->copy ? store->shown : store->path;
}

void rg_store_set_canceled(RgStore *store, bool (*canceled)(void *data), void *data)
{
	store->canceled = canceled;
	store->canceled_data = data;
}

void rg_store_set_waiting(RgStore *store,
	void (*waiting)(void *data, const char *cluster, const char *holder, unsigned left_s),
	void *data)
{
	store->waiting = waiting;
	store->waiting_data = data;
}

/* Suffix of the file's name; the time distinguishes several copies. */
static char *backup_suffix(const RgStore *store)
{
	g_autoptr(GDateTime) now = g_date_time_new_from_unix_utc(rg_clock_now_s());
	g_autofree char *when = g_date_time_format(now, ".push-%Y%m%dT%H%M%SZ");
	char *suffix = g_strconcat(when, ".bak", NULL);
	for (int i = 2;; i++) {
		g_autofree char *path = g_strconcat(store->path, suffix, NULL);
		if (!g_file_test(path, G_FILE_TEST_EXISTS))
			return suffix;
		g_free(suffix);
		suffix = g_strdup_printf("%s-%d.bak", when, i);
	}
}

bool store_keep_copy(RgStore *store, char **backup, RgDiags *diags)
{
	int64_t clusters = 0;
	if (store->copy) /* the server has its own backups */
		return true;
	if (sql_first_int(sql_new(store, "SELECT count(*) FROM clusters", diags), &clusters) &&
		clusters == 0)
		return true;
	g_autofree char *suffix = backup_suffix(store);
	g_autofree char *path = g_strconcat(store->path, suffix, NULL);
	if (!store_publish(store, store->db, path, true, diags))
		return false;
	*backup = g_strconcat(store->shown, suffix, NULL);
	return true;
}
