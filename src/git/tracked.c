/* Whether git has a file in its index: it is committed, or would be by the next `git commit`. */
#include "git/repo.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_index, git_index_free)

static bool is_in_index(const char *path)
{
	g_autoptr(RgDiags) unused = rg_diags_new();
	g_autofree char *below = NULL, *root = NULL;
	g_autoptr(git_index) index = NULL;
	g_autoptr(git_repository) repo = repo_open_at(path, &below, &root, unused);
	return repo && git_repository_index(&index, repo) == 0 &&
	       git_index_get_bypath(index, below, GIT_INDEX_STAGE_NORMAL);
}

bool repo_tracks(const char *path)
{
	if (git_libgit2_init() < 0)
		return false;
	bool tracked = is_in_index(path);
	git_libgit2_shutdown();
	return tracked;
}
