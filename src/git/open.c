/* Which repository a file belongs to: the one whose ".git" is nearest upward, like git with
 * safe.bareRepository=explicit. Files that look like a bare repository can be committed, so none is
 * ever discovered; and a submodule belongs to the work tree whose index has it. */
#include <string.h>
#include "base/paths.h"
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

/* *has: the index of the work tree `outer` has the folder `inner` (a submodule), a folder or link
 * above it, or files below it. False: it cannot be read. */
static bool index_has(git_repository *outer, const char *top, const char *inner, bool *has)
{
	g_autoptr(git_index) index = NULL;
	const char *below = inner + strlen(top);
	g_autofree char *path = g_strdup(below + strspn(below, "/"));
	g_autofree char *folder = g_strconcat(path, "/", NULL);
	*has = false;
	if (git_repository_index(&index, outer) != 0)
		return false;
	*has = git_index_find_prefix(NULL, index, folder) == 0;
	for (char *end = path + strlen(path); !*has && end; end = strrchr(path, '/')) {
		*end = '\0';
		*has = git_index_get_bypath(index, path, GIT_INDEX_STAGE_NORMAL) != NULL;
	}
	return true;
}

/* Git keeps the repositories of submodules in that of the work tree around them; earlier versions
 * did not. */
static bool is_kept_by(git_repository *repo, const char *outer_top)
{
	g_autofree char *kept = g_build_filename(outer_top, ".git", "", NULL);
	const char *own = git_repository_path(repo);
	return own && g_str_has_prefix(own, kept);
}

typedef enum { TOP, SUBMODULE, UNKNOWN } Climbed;

/* The work tree above `*top` that has it: then that one takes the place of both. */
static Climbed climb(char **top, git_repository **repo, RgDiags *diags)
{
	g_autofree char *above = folder_above(*top), *outer_top = NULL;
	g_autoptr(git_repository) outer = NULL;
	int code = above ? open_nearest(above, &outer_top, &outer) : 0;
	/* a folder of another user that happens to be around this repository decides nothing */
	if (code != 0 && is_kept_by(*repo, outer_top)) {
		report_closed(outer_top, code, diags);
		return UNKNOWN;
	}
	bool has = false;
	if (code == 0 && outer && !index_has(outer, outer_top, *top, &has)) {
		repo_report_unreadable(outer_top, diags);
		return UNKNOWN;
	}
	if (!has)
		return TOP;
	g_free(*top);
	*top = g_steal_pointer(&outer_top);
	git_repository_free(*repo);
	*repo = g_steal_pointer(&outer);
	return SUBMODULE;
}

bool repo_open_root(const char *dir, git_repository **repo, RgDiags *diags)
{
	g_autofree char *top = NULL;
	int code = open_nearest(dir, &top, repo);
	if (code != 0)
		return report_closed(top, code, diags);
	Climbed climbed = top ? SUBMODULE : TOP;
	while (climbed == SUBMODULE)
		climbed = climb(&top, repo, diags);
	return climbed == TOP;
}

char *repo_work_tree(git_repository *repo)
{
	const char *workdir = git_repository_workdir(repo);
	return workdir ? rg_path_real(workdir) : NULL;
}

git_repository *repo_open_at(const char *path, char **below, char **root, RgDiags *diags)
{
	g_autofree char *folder =
		g_file_test(path, G_FILE_TEST_IS_DIR) ? g_strdup(path) : g_path_get_dirname(path);
	g_autofree char *real = rg_path_real(folder);
	g_autoptr(git_repository) repo = NULL;
	if (!repo_open_root(real, &repo, diags))
		return NULL;
	g_autofree char *top = repo ? repo_work_tree(repo) : NULL;
	*below = top ? rg_path_named_below(top, path) : NULL;
	if (*below) {
		*root = g_steal_pointer(&top);
		return g_steal_pointer(&repo);
	}
	rg_diags_error(
		diags, "git.no-repository", "there is no git repository around \"%s\"", path);
	return NULL;
}
