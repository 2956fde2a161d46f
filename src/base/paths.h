/* Paths of files. */
#pragma once
#include <glib.h>

/* Where the folder `root` (absolute, without symbolic links) has `path`, as it is named: what the
 * folders below the root are now does not count, so a symbolic link among them is a name like
 * another. "" for the root. If the name leads through no such root, where it leads to counts, of
 * its folder. NULL: outside. g_free it. */
char *rg_path_named_below(const char *root, const char *path);
/* The same through the symbolic links of all folders, but not of the file itself. */
char *rg_path_real_below(const char *root, const char *path);
/* `path`, or the nearest folder above it, that exists, without symbolic links, and behind it what
 * does not exist. Absolute; g_free it. */
char *rg_path_real(const char *path);
