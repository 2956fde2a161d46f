/* Preloaded into the PostgreSQL server: while the file $FULL_DISK exists, no table can grow, as on
 * a full disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Beyond the end of a file below base/. */
static int is_full(int fd, off_t end)
{
	char link[64], path[4096];
	struct stat status;
	const char *flag = getenv("FULL_DISK");
	if (!flag || access(flag, F_OK) != 0 || fstat(fd, &status) != 0 || end <= status.st_size)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return 0;
	path[n] = '\0';
	return strstr(path, "/base/") != NULL;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
	if (!is_full(fd, at + (off_t)len))
		return REAL(pwrite64)(fd, bytes, len, at);
	errno = ENOSPC;
	return -1;
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	return pwrite64(fd, bytes, len, at);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int n, off64_t at)
{
	off_t end = at;
	for (int i = 0; i < n; i++)
		end += (off_t)parts[i].iov_len;
	if (!is_full(fd, end))
		return REAL(pwritev64)(fd, parts, n, at);
	errno = ENOSPC;
	return -1;
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t at)
{
	return pwritev64(fd, parts, n, at);
}

int posix_fallocate64(int fd, off64_t at, off64_t len)
{
	return is_full(fd, at + len) ? ENOSPC : REAL(posix_fallocate64)(fd, at, len);
}

int posix_fallocate(int fd, off_t at, off_t len)
{
	return posix_fallocate64(fd, at, len);
}
