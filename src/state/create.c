#include "state/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return fchmod(fd, 0600) == 0 && fsync(fd) == 0;
}

static bool sync_folder_of(const char *path)
{
	g_autofree char *folder = g_path_get_dirname(path);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool ok = fsync(fd) == 0 || errno == EINVAL || errno == EROFS;
	close(fd);
	return ok;
}

/* link(2) refuses an existing name, even on NFS; file systems without links support the flag. */
static bool publish(const char *from, const char *to, bool replace)
{
	if (replace)
		return rename(from, to) == 0;
	if (link(from, to) == 0) {
		unlink(from);
		return true;
	}
	if (errno != EEXIST && renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return true;
	bool there = errno == EEXIST;
	int why = errno;
	unlink(from);
	errno = why;
	return there;
}

bool create_file(const char *path, const void *data, size_t len, bool replace)
{
	g_autofree char *temporary = g_strdup_printf("%s.new-XXXXXX", path);
	int fd = g_mkstemp_full(temporary, O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	bool ok = write_all(fd, data, len);
	int why = errno;
	close(fd);
	if (!ok) {
		unlink(temporary);
		errno = why;
		return false;
	}
	return publish(temporary, path, replace) && sync_folder_of(path);
}

/* The state contains secrets: git must ignore it. An existing folder is someone else's, unless it
 * has our name. */
static bool ignore_all(const char *folder, bool made)
{
	static const char everything[] = "*\n";
	g_autofree char *base = g_path_get_basename(folder);
	g_autofree char *file = g_build_filename(folder, ".gitignore", NULL);
	if (!made && !g_str_equal(base, ".raygpu"))
		return true;
	return g_file_test(file, G_FILE_TEST_EXISTS) ||
	       create_file(file, everything, strlen(everything), false);
}

bool rg_store_make_folder(const char *path)
{
	if (!rg_store_is_file(path))
		return true;
	g_autofree char *folder = g_path_get_dirname(path);
	bool missing = !g_file_test(folder, G_FILE_TEST_IS_DIR);
	if (missing && (g_mkdir_with_parents(folder, 0700) != 0 || g_chmod(folder, 0700) != 0))
		return false;
	return ignore_all(folder, missing);
}
