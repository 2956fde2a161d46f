#include "spec/inside.h"
#include <glib.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Without symbolic links, g_free it; NULL: there is no such path. */
static char *real_path(const char *path)
{
	char *found = realpath(path, NULL);
	char *real = g_strdup(found);
	free(found);
	return real;
}

/* The path from "/" as it is named: its links count, those of the working folder are the user's. */
static char *named_path(const char *path)
{
	char here[PATH_MAX];
	return g_canonicalize_filename(path, getcwd(here, sizeof here) ? here : "/");
}

static bool lies_in(const char *file, const char *folder)
{
	size_t len = strlen(folder);
	return strncmp(file, folder, len) == 0 && (file[len] == '/' || g_str_equal(folder, "/"));
}

static bool is_tree(const char *folder)
{
	g_autofree char *mark = g_build_filename(folder, ".git", NULL);
	return g_file_test(mark, G_FILE_TEST_EXISTS);
}

bool spec_is_inside(const char *path)
{
	/* what exists and has no path is a pipe, behind a link to /dev/stdin for instance */
	bool exists = g_file_test(path, G_FILE_TEST_EXISTS);
	g_autofree char *file = real_path(path), *folder = named_path(path);
	bool inside = true;
	while (exists && inside && !g_str_equal(folder, "/")) {
		char *above = g_path_get_dirname(folder);
		g_free(folder);
		folder = above;
		if (!is_tree(folder))
			continue;
		g_autofree char *tree = real_path(folder);
		inside = file && tree && lies_in(file, tree);
	}
	return inside;
}
