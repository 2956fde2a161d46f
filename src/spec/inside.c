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

static bool is_below(const char *file, const char *tree)
{
	size_t len = strlen(tree);
	return strncmp(file, tree, len) == 0 && (file[len] == '/' || g_str_equal(tree, "/"));
}

static bool is_tree(const char *folder)
{
	g_autofree char *mark = g_build_filename(folder, ".git", NULL);
	return g_file_test(mark, G_FILE_TEST_EXISTS);
}

static void go_up(char **folder)
{
	char *above = g_path_get_dirname(*folder);
	g_free(*folder);
	*folder = above;
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
		go_up(&folder);
		if (!is_tree(folder))
			continue;
		g_autofree char *tree = real_path(folder);
		inside = file && tree && is_below(file, tree);
	}
	return inside;
}

bool spec_is_gits(const char *path)
{
	g_autofree char *real = real_path(path);
	g_auto(GStrv) steps = g_strsplit(real ? real : path, "/", -1);
	bool found = false;
	for (guint i = 0; steps[i]; i++)
		found = found || g_ascii_strcasecmp(steps[i], ".git") == 0;
	return found;
}

bool spec_is_beside(const char *file, const char *other)
{
	char *real = real_path(file), *there = real_path(other);
	g_autofree char *folder = real ? real : g_canonicalize_filename(file, NULL);
	/* one that does not exist is reported as missing */
	g_autofree char *beside = there ? there : g_canonicalize_filename(other, NULL);
	while (!is_tree(folder)) {
		if (g_str_equal(folder, "/"))
			return true;
		go_up(&folder);
	}
	return is_below(beside, folder);
}
