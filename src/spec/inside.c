#include "spec/inside.h"
#include <glib.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Without symbolic links, g_free it; NULL: no such path exists. */
static char *real_path(const char *path)
{
	char *found = realpath(path, NULL);
	char *real = g_strdup(found);
	free(found);
	return real;
}

bool spec_is_inside(const char *path)
{
	/* something that exists without a path is a pipe, for instance behind a link to
	 * /dev/stdin */
	bool exists = g_file_test(path, G_FILE_TEST_EXISTS);
	/* from "/" as named: its links count; those of the working folder are the user's choice */
	char here[PATH_MAX];
	g_autofree char *file = real_path(path);
	g_autofree char *folder =
		g_canonicalize_filename(path, getcwd(here, sizeof here) ? here : "/");
	bool inside = true;
	while (exists && inside && !g_str_equal(folder, "/")) {
		char *above = g_path_get_dirname(folder);
		g_free(folder);
		folder = above;
		g_autofree char *mark = g_build_filename(folder, ".git", NULL);
		if (!g_file_test(mark, G_FILE_TEST_EXISTS))
			continue;
		g_autofree char *tree = real_path(folder);
		size_t len = tree ? strlen(tree) : 0;
		inside = file && tree && strncmp(file, tree, len) == 0 &&
			 (file[len] == '/' || g_str_equal(tree, "/"));
	}
	return inside;
}
