/* Who has a cluster's lock, without taking it: for `raygpu doctor`. A lock file that nobody has
 * locked, with a row of a holder, is what a run that died has left behind. */
#include "base/clock.h"
#include "state/lock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_BYTES 150 /* of the escaped name, so that the file name stays valid */

const char *rg_store_library(void)
{
	return "SQLite/" SQLITE_VERSION;
}

void rg_lock_view_clear(RgLockView *view)
{
	g_free(view->holder);
	g_free(view->id);
	*view = (RgLockView){0};
}

/* Any name gives one file beside the state: slashes are escaped. It is beside the file itself,
 * because two paths to one state, one of them through a symbolic link, must use the same lock. */
char *lock_path(const RgStore *store, const char *cluster, RgDiags *diags)
{
	g_autofree char *name = g_uri_escape_string(cluster, NULL, false);
	if (name && *name != '\0' && strlen(name) <= NAME_MAX_BYTES) {
		char *real = realpath(store->path, NULL);
		char *path = g_strdup_printf("%s.%s.lock", real ? real : store->path, name);
		free(real);
		return path;
	}
	RgDiag *diag = rg_diags_error(
		diags, "state.no-such-cluster", "\"%.60s\" is not a valid cluster name", cluster);
	rg_diag_hint(diag,
		"it is part of the name of a lock file: 1 to %d bytes, where all characters except "
		"letters, digits and -._~ count three",
		NAME_MAX_BYTES);
	return NULL;
}

char *lock_holder_text(const RgHolder *holder)
{
	g_autofree char *since = rg_clock_format(holder->started_s);
	return g_strdup_printf("%s@%s, process %" G_GINT64_FORMAT ": raygpu %s, since %s%s%s",
		holder->user, holder->host, holder->pid, holder->command, since,
		holder->job ? ", of " : "", holder->job ? holder->job : "");
}

static void take_holder(void *data, const RgHolder *holder, bool left)
{
	RgLockView *view = data;
	view->state = left ? RG_LOCK_STATE_LEFT : RG_LOCK_STATE_HELD;
	view->holder = lock_holder_text(holder);
	view->id = g_strdup(holder->id);
}

/* Asking leaves the lock as it is, and needs no permission to write. */
static bool is_locked(const char *path, bool *locked, RgDiags *diags)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	*locked = false;
	if (fd < 0 && errno == ENOENT)
		return true;
	int result = fd >= 0 ? fcntl(fd, F_OFD_GETLK, &whole) : -1, why = errno;
	if (fd >= 0)
		close(fd);
	*locked = result == 0 && whole.l_type != F_UNLCK;
	if (result == 0)
		return true;
	rg_diags_error(diags, "state.unreadable", "the lock file \"%s\" cannot be read: %s", path,
		g_strerror(why));
	return false;
}

bool lock_row(RgStore *store, const char *cluster, LockTold told, void *data)
{
	g_autoptr(RgDiags) unused = rg_diags_new();
	if (!tx_begin_read(store, unused))
		return false;
	Sql q = sql_with(store,
		"SELECT user, host, pid, command, started_s FROM locks WHERE cluster = ?1", unused,
		TEXT(cluster));
	if (sql_next(&q)) {
		const RgHolder holder = {.user = sql_column_text(&q, 0),
			.host = sql_column_text(&q, 1),
			.pid = sql_column_int(&q, 2),
			.command = sql_column_text(&q, 3),
			.started_s = sql_column_int(&q, 4),
			.expires_s = -1};
		told(data, &holder);
	}
	bool ok = sql_ok(&q);
	tx_end_read(store);
	return ok;
}

static void take_row(void *data, const RgHolder *holder)
{
	const RgLockView *view = data;
	take_holder(data, holder, view->state != RG_LOCK_STATE_HELD);
}

bool rg_lock_look(RgStore *store, const char *cluster, RgLockView *view, RgDiags *diags)
{
	const RgCopy *copy = store->copy;
	bool known = true, locked = false;
	*view = (RgLockView){0};
	if (copy) {
		if (copy->version &&
			!copy->ops->look(copy->remote, cluster, take_holder, view, &known, diags))
			return false;
		if (!known)
			view->state = RG_LOCK_STATE_UNKNOWN;
		return true;
	}
	g_autofree char *path = lock_path(store, cluster, diags);
	if (!path || !is_locked(path, &locked, diags))
		return false;
	if (locked)
		view->state = RG_LOCK_STATE_HELD;
	lock_row(store, cluster, take_row, view);
	return true;
}
