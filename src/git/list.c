/* The files of a folder in a commit; whether the index has a file. */
#include <string.h>
#include "base/paths.h"
#include "git/repo.h"

/* git_treewalk_cb: a positive result skips a folder. */
static int on_entry(const char *root, const git_tree_entry *entry, void *data)
{
	GPtrArray *paths = data;
	if (git_tree_entry_name(entry)[0] == '.')
		return 1;
	git_filemode_t mode = git_tree_entry_filemode(entry);
	if (mode == GIT_FILEMODE_BLOB || mode == GIT_FILEMODE_BLOB_EXECUTABLE)
		g_ptr_array_add(paths, g_strconcat(root, git_tree_entry_name(entry), NULL));
	return 0;
}

static GPtrArray *list_tree(const git_tree *tree, RgDiags *diags, const char *path)
{
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
	if (git_tree_walk(tree, GIT_TREEWALK_PRE, on_entry, paths) == 0)
		return g_steal_pointer(&paths);
	repo_report_unreadable(path, diags);
	return NULL;
}

static GPtrArray *list_below(git_repository *repo, const git_tree *tree, const char *below,
	bool *is_file, RgDiags *diags)
{
	g_autoptr(git_tree_entry) entry = NULL;
	g_autoptr(git_tree) folder = NULL;
	if (*below == '\0')
		return list_tree(tree, diags, below);
	if (git_tree_entry_bypath(&entry, tree, below) != 0) {
		rg_diags_error(diags, "git.no-file", "\"%s\" does not exist in that commit", below);
		return NULL;
	}
	*is_file = git_tree_entry_type(entry) != GIT_OBJECT_TREE;
	if (*is_file)
		return g_ptr_array_new_with_free_func(g_free);
	if (git_tree_lookup(&folder, repo, git_tree_entry_id(entry)) == 0)
		return list_tree(folder, diags, below);
	repo_report_unreadable(below, diags);
	return NULL;
}

GPtrArray *repo_list_at(const char *path, const char *rev, bool *is_file, RgDiags *diags)
{
	bool use = repo_begin(path, diags);
	g_autofree char *below = NULL, *root = NULL;
	g_autoptr(git_repository) repo = use ? repo_open_at(path, &below, &root, diags) : NULL;
	g_autoptr(git_commit) commit = NULL;
	g_autoptr(git_tree) tree = NULL;
	*is_file = false;
	if (!repo || !repo_find_commit(repo, rev, &commit, diags))
		return NULL;
	if (git_commit_tree(&tree, commit) != 0) {
		repo_report_unreadable(path, diags);
		return NULL;
	}
	g_autofree char *real = repo_follow_links(repo, commit, below);
	return list_below(repo, tree, real, is_file, diags);
}

static bool is_in_index(git_index *index, const char *path, const char *ending)
{
	g_autofree char *file = g_strconcat(path, ending, NULL);
	return git_index_get_bypath(index, file, GIT_INDEX_STAGE_NORMAL) != NULL;
}

/* Whether one of the folders above is a submodule. */
static bool is_in_submodule(git_index *index, const char *path)
{
	g_autofree char *at = g_strdup(path);
	for (char *slash; (slash = strrchr(at, '/'));) {
		*slash = '\0';
		if (is_in_index(index, at, ""))
			return true;
	}
	return false;
}

/* Whether it is committed, or would be by the next `git commit`. */
bool repo_tracks(const char *path, bool *tracked, RgDiags *diags)
{
	bool use = repo_begin(path, diags);
	g_autoptr(RgDiags) found = rg_diags_new();
	g_autofree char *dir = g_path_get_dirname(path), *name = g_path_get_basename(path);
	g_autofree char *folder = rg_path_real(dir), *above = NULL, *root = NULL;
	g_autoptr(git_index) index = NULL;
	*tracked = false;
	if (!use)
		return false;
	g_autoptr(git_repository) repo = repo_open_at(folder, &above, &root, found);
	if (!repo) {
		rg_diags_drop(found, "git.no-repository");
		bool none = !rg_diags_has_errors(found);
		rg_diags_take_all(diags, found);
		return none;
	}
	g_autofree char *below = g_build_filename(above, name, NULL);
	if (git_repository_index(&index, repo) != 0)
		return repo_report_unreadable(path, diags);
	*tracked = is_in_index(index, below, "") || is_in_index(index, below, "-journal") ||
		   is_in_index(index, below, "-wal") || is_in_submodule(index, below);
	return true;
}
