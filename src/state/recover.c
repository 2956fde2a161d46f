#include "state/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <unistd.h>

/* A killed writer leaves FILE-journal; a handle opened with SQLITE_OPEN_READONLY then returns
 * SQLITE_READONLY_ROLLBACK (https://www.sqlite.org/rescode.html). Reading commands must not change
 * the folder, so file and journal are copied into a private folder and rolled back there. */

/* SQLite's lock bytes, https://www.sqlite.org/fileformat2.html and os_unix.c: readers hold the
 * shared range, and while they do nobody changes the database file or rolls it back. */
#define SHARED_FIRST 0x40000002
#define SHARED_SIZE 510

static bool lock_shared(int fd)
{
	struct flock range = {.l_type = F_RDLCK,
		.l_whence = SEEK_SET,
		.l_start = SHARED_FIRST,
		.l_len = SHARED_SIZE};
	for (int waited_ms = 0; waited_ms <= STATE_BUSY_MS; waited_ms += 10) {
		if (fcntl(fd, F_OFD_SETLK, &range) == 0)
			return true;
		if (errno != EAGAIN && errno != EACCES)
			return false;
		g_usleep(10000);
	}
	return false;
}

sqlite3 *memory_copy(sqlite3 *from, int *rc)
{
	sqlite3 *to = NULL;
	*rc = sqlite3_open_v2(":memory:", &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, NULL);
	sqlite3_backup *backup =
		*rc == SQLITE_OK ? sqlite3_backup_init(to, "main", from, "main") : NULL;
	if (backup) {
		sqlite3_backup_step(backup, -1);
		*rc = sqlite3_backup_finish(backup);
	} else if (*rc == SQLITE_OK) {
		*rc = sqlite3_errcode(to);
	}
	if (*rc == SQLITE_OK)
		return to;
	sqlite3_close(to);
	return NULL;
}

static bool copy_file(const char *from, const char *to, GError **error)
{
	g_autofree char *data = NULL;
	gsize len;
	return g_file_get_contents(from, &data, &len, error) &&
	       g_file_set_contents_full(
		       to, data, (gssize)len, G_FILE_SET_CONTENTS_NONE, 0600, error);
}

/* The journal is gone: another writer has rolled it back, and the file is complete. */
static bool copy_pair(const RgStore *store, const char *copy, GError **error)
{
	g_autofree char *journal = g_strconcat(store->path, "-journal", NULL);
	g_autofree char *copied = g_strconcat(copy, "-journal", NULL);
	if (!copy_file(store->path, copy, error))
		return false;
	if (copy_file(journal, copied, error))
		return true;
	if (!g_error_matches(*error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
		return false;
	g_clear_error(error);
	return true;
}

static sqlite3 *copy_and_roll_back(RgStore *store, RgDiags *diags)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *folder = g_dir_make_tmp("raygpu-state-XXXXXX", &error);
	g_autofree char *copy = folder ? g_build_filename(folder, "state.db", NULL) : NULL;
	sqlite3 *db = NULL, *memory = NULL;
	int rc = SQLITE_OK;
	if (copy && copy_pair(store, copy, &error)) {
		rc = sqlite3_open_v2(copy, &db, SQLITE_OPEN_READWRITE, NULL);
		if (rc == SQLITE_OK)
			memory = memory_copy(db, &rc);
		sqlite3_close(db);
	}
	if (copy) {
		g_autofree char *journal = g_strconcat(copy, "-journal", NULL);
		unlink(journal);
		unlink(copy);
		rmdir(folder);
	}
	if (error) {
		RgDiag *diag = rg_diags_error(diags, "state.unreadable",
			"the state \"%s\", whose last writer was killed, could not be copied: %s",
			store->shown, error->message);
		rg_diag_hint(diag, "free some disk space in TMPDIR, or run `raygpu apply`, which "
				   "needs no copy");
	} else if (!memory)
		sql_error(store, rc, diags);
	return memory;
}

sqlite3 *recover_copy(RgStore *store, RgDiags *diags)
{
	int fd = open(store->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !lock_shared(fd)) {
		RgDiag *diag = rg_diags_error(diags, "state.unreadable",
			"the state \"%s\", whose last writer was killed, could not be locked: %s",
			store->shown, g_strerror(errno));
		rg_diag_hint(diag, "run `raygpu apply`, which rolls it back");
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	sqlite3 *memory = copy_and_roll_back(store, diags);
	close(fd);
	return memory;
}

bool store_use_copy(RgStore *store, sqlite3 *copy, RgDiags *diags)
{
	sql_forget_statements(store);
	sqlite3_close(store->db);
	store->db = copy;
	store->checked = 0;
	if (!schema_configure(store, diags))
		return false;
	int64_t version = schema_find_version(store, diags);
	if (version < 0)
		return false;
	return version == store->version || schema_migrate(store, (unsigned)version, diags);
}
