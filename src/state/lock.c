/* The lock of a cluster is an open-file-description lock (fcntl F_OFD_SETLK) on PATH.CLUSTER.lock.
 * Why not flock or plain fcntl locks: a plain one is lost when any descriptor of the file is closed
 * in the process; flock is a different kind of lock than SQLite's own on some network file systems.
 * An OFD lock is the same byte-range lock that SQLite uses, so it works wherever SQLite is safe
 * (NFS with a lock daemon), and belongs only to our descriptor. A forked child shares the
 * descriptor; O_CLOEXEC ends that at exec. The file remains: unlinking it would let two processes
 * lock two different files of the same name. */
#include "base/clock.h"
#include "state/lock.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define WAIT_FIRST_MS 50
#define WAIT_MAX_MS 1000
#define TELL_AGAIN_MS 60000

struct RgLock {
	RgStore *store;
	char *cluster;
	int fd;
};

typedef enum { TAKEN, HELD, BROKEN } Attempt;

/* One try; of a file, or of a store elsewhere. */
typedef struct {
	RgStore *store;
	const char *cluster, *path;
	RgHolder holder;
	int fd;
	RgDiags *diags;
} Try;

/* Someone may have removed the file between our open and our lock (`git clean`). */
static bool is_still_there(int fd, const char *path)
{
	struct stat mine, now;
	return fstat(fd, &mine) == 0 && stat(path, &now) == 0 && mine.st_ino == now.st_ino &&
	       mine.st_dev == now.st_dev;
}

static Attempt try_lock(const char *path, int *lock_fd)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	for (int tries = 0; tries < 10; tries++) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return BROKEN;
		if (fcntl(fd, F_OFD_SETLK, &whole) != 0) {
			int why = errno;
			close(fd);
			errno = why;
			return why == EAGAIN || why == EACCES ? HELD : BROKEN;
		}
		if (is_still_there(fd, path)) {
			*lock_fd = fd;
			return TAKEN;
		}
		close(fd);
	}
	return HELD;
}

/* Waits in small steps so that a signal ends it; false if canceled. */
static bool wait_ms(const RgStore *store, int64_t ms)
{
	int64_t until = rg_clock_monotonic_ms() + ms;
	while (rg_clock_monotonic_ms() < until) {
		if (store->canceled && store->canceled(store->canceled_data))
			return false;
		g_usleep((gulong)MIN(ms, 50) * 1000);
	}
	return true;
}

static Attempt try_once(Try *try)
{
	const RgCopy *copy = try->store->copy;
	if (!copy)
		return try_lock(try->path, &try->fd);
	RgLockResult result = copy->ops->lock(copy->remote, try->cluster, &try->holder, try->diags);
	return result == RG_LOCK_TAKEN ? TAKEN : result == RG_LOCK_HELD ? HELD : BROKEN;
}

static void tell_holder(void *data, const RgHolder *holder)
{
	g_autofree char *text = lock_holder_text(holder);
	rg_diag_detail(data, "held by %s", text);
	if (!holder->id)
		return;
	if (holder->expires_s >= 0)
		rg_diag_hint(data,
			"wait until it has ended, or use --lock-timeout: a run that died loses it "
			"in "
			"%" G_GINT64_FORMAT
			" s; if it is dead, `raygpu state unlock %s` ends it now",
			holder->expires_s, holder->id);
	else
		rg_diag_hint(data,
			"wait until it has ended, or use --lock-timeout; if it is dead, `raygpu "
			"state "
			"unlock %s` ends its lock",
			holder->id);
}

static void locked_error(RgStore *store, const char *cluster, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(
		diags, "state.locked", "cluster \"%s\" is locked by another run", cluster);
	rg_diag_hint(diag, "wait until it has ended, or use --lock-timeout; the lock ends with the "
			   "process that holds it");
	if (store->copy)
		store->copy->ops->holder(store->copy->remote, cluster, tell_holder, diag);
	else
		lock_row(store, cluster, tell_holder, diag);
}

static void tell_waiting(const Try *try, int64_t left_ms)
{
	RgStore *store = try->store;
	g_autoptr(RgDiags) diags = rg_diags_new();
	if (!store->waiting)
		return;
	locked_error(store, try->cluster, diags);
	const RgDiag *diag = rg_diags_get(diags, 0);
	store->waiting(store->waiting_data, try->cluster, diag->detail,
		(unsigned)((left_ms + 999) / 1000));
}

static Attempt lock_within(Try *try, unsigned timeout_ms)
{
	int64_t until = rg_clock_monotonic_ms() + timeout_ms, pause_ms = WAIT_FIRST_MS;
	int64_t tell_ms = 0;
	for (;;) {
		Attempt attempt = try_once(try);
		int64_t now_ms = rg_clock_monotonic_ms(), left = until - now_ms;
		if (attempt != HELD || left <= 0)
			return attempt;
		if (now_ms >= tell_ms) {
			tell_waiting(try, left);
			tell_ms = now_ms + TELL_AGAIN_MS;
		}
		if (!wait_ms(try->store, MIN(pause_ms, left)))
			return HELD;
		pause_ms = MIN(2 * pause_ms, WAIT_MAX_MS);
	}
}

static bool write_holder(Try *try)
{
	RgStore *store = try->store;
	if (store->copy) { /* it has written who it is */
		copy_locked(store, try->cluster);
		return true;
	}
	if (!tx_begin(store, try->diags))
		return false;
	Sql q = sql_with(store,
		"INSERT OR REPLACE INTO locks (cluster, user, host, pid, command, started_s)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
		try->diags, TEXT(try->cluster), TEXT(try->holder.user), TEXT(try->holder.host),
		INT(try->holder.pid), TEXT(try->holder.command), INT(try->holder.started_s));
	return tx_end(store, sql_run(&q), try->diags);
}

RgLock *rg_lock_take(RgStore *store, const char *cluster, const char *command, unsigned timeout_ms,
	RgDiags *diags)
{
	g_autofree char *path = lock_path(store, cluster, diags);
	if (!path)
		return NULL;
	struct utsname host;
	g_autofree char *job = job_url();
	Try try = {.store = store,
		.cluster = cluster,
		.path = path,
		.holder = {.user = g_get_user_name(),
			.host = uname(&host) == 0 ? host.nodename : "?",
			.command = command ? command : "?",
			.job = job,
			.pid = getpid(),
			.started_s = rg_clock_now_s()},
		.fd = -1,
		.diags = diags};
	Attempt attempt = lock_within(&try, timeout_ms);
	if (attempt == HELD) {
		locked_error(store, cluster, diags);
		return NULL;
	}
	if (attempt == BROKEN && store->copy)
		return NULL;
	if (attempt == BROKEN) {
		RgDiag *diag = rg_diags_error(diags, "state.unwritable",
			"the lock file \"%s\" could not be used: %s", path, g_strerror(errno));
		rg_diag_hint(diag, "it is created beside the state: check the permissions and the "
				   "disk, or remove whatever has its name");
		return NULL;
	}
	if (!write_holder(&try)) {
		close(try.fd);
		return NULL;
	}
	RgLock *lock = g_new0(RgLock, 1);
	*lock = (RgLock){.store = store, .cluster = g_strdup(cluster), .fd = try.fd};
	g_hash_table_add(store->locked, g_strdup(cluster));
	return lock;
}

void rg_lock_release(RgLock *lock)
{
	if (!lock)
		return;
	g_autoptr(RgDiags) unused = rg_diags_new();
	const RgCopy *copy = lock->store->copy;
	if (copy) {
		copy->ops->unlock(copy->remote, lock->cluster);
	} else if (tx_begin(lock->store, unused)) {
		bool ok = sql_do(lock->store, "DELETE FROM locks WHERE cluster = ?1 AND pid = ?2",
			unused, TEXT(lock->cluster), INT(getpid()));
		tx_end(lock->store, ok, unused);
	}
	g_hash_table_remove(lock->store->locked, lock->cluster);
	if (lock->fd >= 0)
		close(lock->fd);
	g_free(lock->cluster);
	g_free(lock);
}

bool rg_store_unlock(RgStore *store, const char *id, char **cluster, RgDiags *diags)
{
	const RgCopy *copy = store->copy;
	*cluster = NULL;
	if (!copy || !copy->ops->break_lock) {
		RgDiag *diag = rg_diags_error(diags, "state.no-such-lock",
			"locks of the state \"%s\" have no id", store->shown);
		rg_diag_hint(diag, "they end with the process that holds them");
		return false;
	}
	if (!copy->ops->break_lock(copy->remote, id, cluster, diags))
		return false;
	if (*cluster)
		return true;
	RgDiag *diag = rg_diags_error(
		diags, "state.no-such-lock", "the state \"%s\" has no lock %s", store->shown, id);
	rg_diag_hint(diag, "it has been released; state.locked shows the id of the present one");
	return false;
}
