/* Archives for people: tar or zip, compressed, through libarchive, an internal shared module
 * (raygpu-archive.so) loaded when needed. */
#pragma once
#include "base/diag.h"

typedef struct {
	const char *name; /* relative; slashes are folders */
	GBytes *content;
} RgArchiveFile;

/* Writes the files to a new file of mode 0600, in their order: the same files give the same bytes.
 * A name that ends in .zip is a zip archive, one in .zst a tar compressed with zstd, all others
 * with gzip. False with file.unwritable, also if the file exists; then nothing is left. */
bool rg_archive_write(const char *path, const RgArchiveFile *files, size_t n, RgDiags *diags);
