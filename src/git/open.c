/* Which repository a file belongs to: the one whose ".git" is nearest upward, like git with
 * safe.bareRepository=explicit. Files that look like a bare repository can be committed, so none is
 * ever discovered; and a submodule belongs to the work tree whose index has it. */
#include <stdlib.h>
#include <string.h>
#include "git/repo.h"

static char *folder_above(const char *folder)
{
	char *above = g_path_get_dirname(folder);
	if (!g_str_equal(above, folder))
		return above;
	g_free(above);
	return NULL;
}

/* The nearest folder upward that has a ".git"; NULL: none has. */
static char *find_top(const char *dir)
{
	char *at = g_strdup(dir);
	while (at) {
		g_autofree char *mark = g_build_filename(at, ".git", NULL);
		if (g_file_test(mark, G_FILE_TEST_EXISTS))
			return at;
		char *above = folder_above(at);
		g_free(at);
		at = above;
	}
	return NULL;
}

static bool report_not_owner(const char *top, RgDiags *diags)
{
	g_autofree char *quoted = g_shell_quote(top);
	RgDiag *diag = rg_diags_error(diags, "git.not-owner",
		"the git repository \"%s\" belongs to another user, so git won't read it", top);
	rg_diag_detail(diag, "this is common in CI containers, which check out as one user and run "
			     "as another; without it a plan cannot record its commit");
	rg_diag_hint(
		diag, "if you trust it, run: git config --global --add safe.directory %s", quoted);
	return false;
}

int repo_open_top(const char *top, git_repository **repo)
{
	g_autofree char *mark = g_build_filename(top, ".git", NULL);
	return git_repository_open_ext(
		repo, mark, GIT_REPOSITORY_OPEN_NO_SEARCH | GIT_REPOSITORY_OPEN_NO_DOTGIT, NULL);
}

/* libgit2 before 1.6 reports "not found" instead of GIT_EOWNER if no safe.directory is configured
 * (libgit2 pull request 6408). */
static bool is_not_owner(int code)
{
	return code == GIT_EOWNER ||
	       (code == GIT_ENOTFOUND && strstr(repo_last_words(), "safe.directory"));
}

/* Of the nearest ".git" that is a repository: its code; 0 and *top NULL: there is none. */
static int open_nearest(const char *dir, char **top, git_repository **repo)
{
	*top = find_top(dir);
	while (*top) {
		int code = repo_open_top(*top, repo);
		if (code != GIT_ENOTFOUND || is_not_owner(code))
			return code;
		g_autofree char *above = folder_above(*top);
		g_free(*top);
		*top = above ? find_top(above) : NULL;
	}
	return 0;
}

static bool report_closed(const char *top, int code, RgDiags *diags)
{
	return is_not_owner(code) ? report_not_owner(top, diags)
				  : repo_report_unreadable(top, diags);
}

bool repo_open_around(const char *dir, git_repository **repo, RgDiags *diags)
{
	g_autofree char *top = NULL;
	int code = open_nearest(dir, &top, repo);
	return code == 0 || report_closed(top, code, diags);
}

/* Whether the index of the work tree `outer` has the folder `inner` (a submodule), a folder or link
 * above it, or files below it. */
static bool index_has(git_repository *outer, const char *top, const char *inner)
{
	g_autoptr(git_index) index = NULL;
	const char *below = inner + strlen(top);
	g_autofree char *path = g_strdup(below + strspn(below, "/"));
	g_autofree char *folder = g_strconcat(path, "/", NULL);
	if (git_repository_index(&index, outer) != 0)
		return false;
	if (git_index_find_prefix(NULL, index, folder) == 0)
		return true;
	while (!git_index_get_bypath(index, path, GIT_INDEX_STAGE_NORMAL)) {
		char *slash = strrchr(path, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
	return true;
}

/* The work tree above `*top` that has it: then that one takes the place of both. */
static bool climb(char **top, git_repository **repo)
{
	g_autofree char *above = folder_above(*top), *outer_top = NULL;
	g_autoptr(git_repository) outer = NULL;
	if (!above || open_nearest(above, &outer_top, &outer) != 0 || !outer ||
		!index_has(outer, outer_top, *top))
		return false;
	g_free(*top);
	*top = g_steal_pointer(&outer_top);
	git_repository_free(*repo);
	*repo = g_steal_pointer(&outer);
	return true;
}

bool repo_open_root(const char *dir, git_repository **repo, RgDiags *diags)
{
	g_autofree char *top = NULL;
	int code = open_nearest(dir, &top, repo);
	if (code != 0)
		return report_closed(top, code, diags);
	while (top && climb(&top, repo))
		continue;
	return true;
}

/* The nearest folder above `file` that exists, without symbolic links: the commit may have folders
 * that the work tree lacks. */
static char *existing_folder(const char *file)
{
	g_autofree char *at = g_path_get_dirname(file);
	for (;;) {
		char *real = realpath(at, NULL);
		if (real) {
			char *copy = g_strdup(real);
			free(real);
			return copy;
		}
		char *parent = g_path_get_dirname(at);
		g_free(at);
		at = parent;
	}
}

/* `file` (absolute, canonical) relative to the work tree; NULL: it is outside. */
static char *path_below(git_repository *repo, const char *file, char **root)
{
	const char *workdir = git_repository_workdir(repo);
	char *real = workdir ? realpath(workdir, NULL) : NULL;
	if (!real)
		return NULL;
	/* the folder's name may contain a symbolic link */
	g_autofree char *dir = g_path_get_dirname(file);
	g_autofree char *base = g_path_get_basename(file);
	char *real_dir = realpath(dir, NULL);
	g_autofree char *full = g_build_filename(real_dir ? real_dir : dir, base, NULL);
	size_t len = strlen(real);
	bool is_root = g_str_equal(file, real) || g_str_equal(full, real);
	bool is_below = strncmp(full, real, len) == 0 && full[len] == '/';
	char *below = is_root ? g_strdup("") : is_below ? g_strdup(full + len + 1) : NULL;
	if (below)
		*root = g_strdup(real);
	free(real_dir);
	free(real);
	return below;
}

git_repository *repo_open_at(const char *path, char **below, char **root, RgDiags *diags)
{
	g_autofree char *file = g_canonicalize_filename(path, NULL);
	g_autofree char *folder =
		g_file_test(file, G_FILE_TEST_IS_DIR) ? g_strdup(file) : existing_folder(file);
	g_autoptr(git_repository) repo = NULL;
	if (!repo_open_root(folder, &repo, diags))
		return NULL;
	if (repo)
		*below = path_below(repo, file, root);
	if (*below)
		return g_steal_pointer(&repo);
	rg_diags_error(
		diags, "git.no-repository", "there is no git repository around \"%s\"", path);
	return NULL;
}
