/* What a branch changes, and the files of a commit, in repositories created with the git
 * command. */
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include "git/git.h"

typedef struct {
	char *dir;
	RgDiags *diags;
} Place;

static void run(const Place *place, const char *line)
{
	const char *const argv[] = {"/bin/sh", "-ec", line, NULL};
	g_autofree char *err = NULL;
	g_autoptr(GError) error = NULL;
	int status;
	bool ok = g_spawn_sync(place->dir, (char **)(uintptr_t)argv, NULL, G_SPAWN_DEFAULT, NULL,
		NULL, NULL, &err, &status, &error);
	if (!ok || status != 0)
		g_error("%s: %s", line, ok ? err : error->message);
}

/* main: a, b, then a changed; work leaves before that change. */
static void set_up(Place *place, gconstpointer unused)
{
	g_autofree char *dir = g_dir_make_tmp("rg-changes-XXXXXX", NULL);
	place->dir = realpath(dir, NULL);
	place->diags = rg_diags_new();
	run(place,
		"git init -q -b main . && mkdir s && echo 1 > s/a && echo 1 > s/b && "
		"ln -s a s/link && mkdir s/.hidden && echo 1 > s/.hidden/c && "
		"echo ignored > .gitignore && git add -A && git commit -qm one && "
		"git branch work && echo 2 > s/a && git commit -qam two && git checkout -q work");
}

static void tear_down(Place *place, gconstpointer unused)
{
	run(place, "rm -rf ./* .git .gitignore");
	g_rmdir(place->dir);
	free(place->dir);
	rg_diags_free(place->diags);
}

/* The changed paths, sorted, on one line. */
static char *touched(Place *place, const char *since, const char *ref)
{
	g_autoptr(RgGitChanges) changes = rg_git_changes(place->dir, since, ref, place->diags);
	if (!changes)
		return NULL;
	g_assert_cmpstr(changes->root, ==, place->dir);
	g_assert_cmpuint(strlen(changes->base), ==, 40);
	g_autoptr(GList) keys = g_list_sort(
		g_hash_table_get_keys(changes->paths), (GCompareFunc)(void (*)(void))strcmp);
	g_autoptr(GString) line = g_string_new(NULL);
	for (GList *at = keys; at != NULL; at = at->next)
		g_string_append_printf(line, "%s ", (char *)at->data);
	return g_strdup(line->str);
}

static void expect(Place *place, const char *since, const char *ref, const char *paths)
{
	g_autofree char *found = touched(place, since, ref);
	g_assert_cmpstr(found, ==, paths);
	g_assert_false(rg_diags_has_errors(place->diags));
}

static void test_changes(Place *place, gconstpointer unused)
{
	expect(place, "main", NULL, "");
	run(place, "echo 3 > s/new && mkdir ignored && echo 1 > ignored/x && git rm -q s/b");
	expect(place, "main", NULL, "s/b s/new ");
	expect(place, "main", "work", "");
	run(place, "git add -A && git commit -qm w && git mv s/a s/moved");
	expect(place, "main", NULL, "s/a s/b s/moved s/new ");
	expect(place, "main", "work", "s/b s/new ");
	expect(place, "work", "main", "s/a ");
}

static void test_faults(Place *place, gconstpointer unused)
{
	run(place, "git checkout -q --orphan alone && git commit -qm alone");
	g_assert_null(touched(place, "main", NULL));
	g_assert_cmpstr(rg_diags_get(place->diags, 0)->code, ==, "git.no-ancestor");
	g_assert_null(touched(place, "nope", NULL));
	g_assert_cmpstr(rg_diags_get(place->diags, 1)->code, ==, "git.no-revision");
}

static void test_list(Place *place, gconstpointer unused)
{
	g_autofree char *folder = g_build_filename(place->dir, "s", NULL);
	g_autofree char *file = g_build_filename(place->dir, "s/a", NULL);
	bool is_file;
	run(place, "rm -rf s");
	g_autoptr(GPtrArray) names = rg_git_list(folder, "main", &is_file, place->diags);
	g_assert_nonnull(names);
	g_assert_false(is_file);
	g_assert_cmpuint(names->len, ==, 2);
	g_assert_cmpstr(names->pdata[0], ==, "a");
	g_assert_cmpstr(names->pdata[1], ==, "b");
	g_autoptr(GPtrArray) root = rg_git_list(place->dir, "main", &is_file, place->diags);
	g_assert_cmpuint(root->len, ==, 2);
	g_assert_cmpstr(root->pdata[1], ==, "s/b");
	g_autoptr(GPtrArray) none = rg_git_list(file, "main", &is_file, place->diags);
	g_assert_true(is_file);
	g_assert_cmpuint(none->len, ==, 0);
	g_assert_false(rg_diags_has_errors(place->diags));
}

int main(int argc, char **argv)
{
	g_setenv("GIT_CONFIG_GLOBAL", "/dev/null", TRUE);
	g_setenv("GIT_AUTHOR_NAME", "A", TRUE);
	g_setenv("GIT_AUTHOR_EMAIL", "a@example.org", TRUE);
	g_setenv("GIT_COMMITTER_NAME", "A", TRUE);
	g_setenv("GIT_COMMITTER_EMAIL", "a@example.org", TRUE);
	g_test_init(&argc, &argv, NULL);
	g_test_add("/git/changes/paths", Place, NULL, set_up, test_changes, tear_down);
	g_test_add("/git/changes/faults", Place, NULL, set_up, test_faults, tear_down);
	g_test_add("/git/changes/list", Place, NULL, set_up, test_list, tear_down);
	return g_test_run();
}
