#include "archive/module.h"
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

typedef struct archive Archive;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Archive, archive_write_free)
typedef struct archive_entry Entry;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Entry, archive_entry_free)

/* Who made it and when is not part of it. */
static bool add_file(Archive *archive, const RgArchiveFile *file)
{
	gsize len;
	const void *data = g_bytes_get_data(file->content, &len);
	g_autoptr(Entry) entry = archive_entry_new();
	archive_entry_set_pathname(entry, file->name);
	archive_entry_set_size(entry, (la_int64_t)len);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0600);
	archive_entry_set_mtime(entry, 0, 0);
	return archive_write_header(archive, entry) == ARCHIVE_OK &&
	       (len == 0 || archive_write_data(archive, data, len) == (la_ssize_t)len);
}

static bool open_archive(Archive *archive, const char *path, int fd)
{
	if (g_str_has_suffix(path, ".zip"))
		return archive_write_set_format_zip(archive) == ARCHIVE_OK &&
		       archive_write_open_fd(archive, fd) == ARCHIVE_OK;
	bool zstd = g_str_has_suffix(path, ".zst");
	int filter = zstd ? archive_write_add_filter_zstd(archive)
			  : archive_write_add_filter_gzip(archive);
	if (filter != ARCHIVE_OK || archive_write_set_format_pax_restricted(archive) != ARCHIVE_OK)
		return false;
	if (!zstd &&
		archive_write_set_filter_option(archive, "gzip", "timestamp", NULL) != ARCHIVE_OK)
		return false;
	return archive_write_open_fd(archive, fd) == ARCHIVE_OK;
}

static bool report(const char *path, const char *why, RgDiags *diags)
{
	RgDiag *diag =
		rg_diags_error(diags, "file.unwritable", "\"%s\" cannot be written: %s", path, why);
	rg_diag_hint(diag, "check the path and the permissions of its folder");
	return false;
}

static bool write_all(
	const char *path, const RgArchiveFile *files, size_t n, int fd, RgDiags *diags)
{
	g_autoptr(Archive) archive = archive_write_new();
	bool ok = open_archive(archive, path, fd);
	for (size_t i = 0; ok && i < n; i++)
		ok = add_file(archive, &files[i]);
	ok = ok && archive_write_close(archive) == ARCHIVE_OK;
	const char *why = archive_error_string(archive);
	return ok || report(path, why ? why : "no reason given", diags);
}

static bool archive_write_new_file(
	const char *path, const RgArchiveFile *files, size_t n, RgDiags *diags)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return report(path, g_strerror(errno), diags);
	bool ok = write_all(path, files, n, fd, diags);
	if ((fsync(fd) != 0 || close(fd) != 0) && ok)
		ok = report(path, g_strerror(errno), diags);
	if (!ok)
		unlink(path);
	return ok;
}

static const RgArchiveModule module = {
	.size = sizeof(RgArchiveModule),
	.version = RG_VERSION,
	.write = archive_write_new_file,
};

__attribute__((visibility("default"))) const void *raygpu_archive_module(void)
{
	return &module;
}
