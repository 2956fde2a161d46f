/* What a branch changed since it left another: `git diff REV...HEAD`, including the work tree. */
#include <string.h>
#include "git/repo.h"

/* Whether `head` can reach `since` through the commits that exist: libgit2's own walk fails at the
 * edge of a shallow clone. */
static bool is_ancestor(git_repository *repo, const git_oid *since, const git_oid *head)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GPtrArray) queue = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(queue, g_strdup(git_oid_tostr_s(head)));
	while (queue->len > 0) {
		g_autofree char *hex = g_ptr_array_steal_index_fast(queue, queue->len - 1);
		git_oid oid;
		g_autoptr(git_commit) commit = NULL;
		if (git_oid_fromstr(&oid, hex) != 0 || !g_hash_table_add(seen, g_strdup(hex)))
			continue;
		if (git_oid_equal(&oid, since))
			return true;
		if (git_commit_lookup(&commit, repo, &oid) != 0)
			continue; /* beyond the edge of the clone */
		for (unsigned i = 0; i < git_commit_parentcount(commit); i++)
			g_ptr_array_add(
				queue, g_strdup(git_oid_tostr_s(git_commit_parent_id(commit, i))));
	}
	return false;
}

static bool find_base(git_repository *repo, const git_commit *since, const git_commit *head,
	git_oid *base, RgDiags *diags)
{
	const git_oid *from = git_commit_id(since), *to = git_commit_id(head);
	int code = git_merge_base(base, repo, from, to);
	bool is_shallow = git_repository_is_shallow(repo) == 1;
	if (code != 0 && is_shallow && is_ancestor(repo, from, to)) {
		git_oid_cpy(base, from);
		code = 0;
	}
	if (code == 0)
		return true;
	g_autofree char *one = g_strndup(git_oid_tostr_s(from), 12);
	RgDiag *diag = rg_diags_error(diags, "git.no-ancestor",
		"this git repository has no common ancestor of %s and %.12s", one,
		git_oid_tostr_s(to));
	if (is_shallow)
		rg_diag_hint(diag, "this clone is shallow: run `git fetch --unshallow` (GitHub: "
				   "fetch-depth: 0, GitLab: GIT_DEPTH: 0)");
	else
		rg_diag_hint(diag, "the two histories are unrelated: use another revision");
	return false;
}

/* Where changed paths go. */
typedef struct {
	git_repository *repo;
	const char *folder; /* of a submodule, before the paths; "" */
	bool to_commit;
	GHashTable *paths;
} Found;

static void add_submodule(const Found *found, const git_diff_delta *delta, const char *path);

static void add_path(const Found *found, const char *path)
{
	if (path)
		g_hash_table_add(found->paths, g_strconcat(found->folder, path, NULL));
}

static int add_delta(const git_diff_delta *delta, float progress, void *data)
{
	const Found *found = data;
	const char *path = delta->old_file.path;
	add_path(found, path);
	add_path(found, delta->new_file.path);
	if (path && delta->old_file.mode == GIT_FILEMODE_COMMIT)
		add_submodule(found, delta, path);
	return 0;
}

static bool compare(const Found *found, const git_oid *base, const git_oid *head);

/* What changed in it, as far as it is checked out. */
static void add_submodule(const Found *found, const git_diff_delta *delta, const char *path)
{
	g_autofree char *top = g_build_filename(git_repository_workdir(found->repo), path, NULL);
	g_autofree char *folder = g_strconcat(found->folder, path, "/", NULL);
	g_autoptr(git_repository) inner = NULL;
	if (repo_open_top(top, &inner) != 0)
		return;
	const Found below = {inner, folder, found->to_commit, found->paths};
	bool stays = delta->new_file.mode == GIT_FILEMODE_COMMIT;
	if (stays || !found->to_commit)
		compare(&below, &delta->old_file.id, stays ? &delta->new_file.id : NULL);
}

/* `head` NULL: to the work tree. */
static bool compare(const Found *found, const git_oid *base, const git_oid *head)
{
	git_repository *repo = found->repo;
	g_autoptr(git_commit) from = NULL, to = NULL;
	g_autoptr(git_tree) old = NULL, new = NULL;
	g_autoptr(git_diff) diff = NULL;
	git_diff_options options = GIT_DIFF_OPTIONS_INIT;
	options.flags = GIT_DIFF_INCLUDE_UNTRACKED | GIT_DIFF_RECURSE_UNTRACKED_DIRS |
			GIT_DIFF_INCLUDE_TYPECHANGE;
	options.ignore_submodules = GIT_SUBMODULE_IGNORE_NONE; /* whatever .gitmodules says */
	if (git_commit_lookup(&from, repo, base) != 0 || git_commit_tree(&old, from) != 0)
		return false;
	bool to_commit = head && found->to_commit;
	int code = !to_commit ? git_diff_tree_to_workdir_with_index(&diff, repo, old, &options)
		   : git_commit_lookup(&to, repo, head) == 0 && git_commit_tree(&new, to) == 0
			   ? git_diff_tree_to_tree(&diff, repo, old, new, &options)
			   : -1;
	return code == 0 &&
	       git_diff_foreach(diff, add_delta, NULL, NULL, NULL, (void *)(uintptr_t)found) == 0;
}

RgGitChanges *repo_changes(const char *folder, const char *since, const char *ref, RgDiags *diags)
{
	bool use = repo_begin(folder, diags);
	g_autoptr(RgGitChanges) changes = g_new0(RgGitChanges, 1);
	g_autofree char *below = NULL;
	g_autoptr(git_repository) repo =
		use ? repo_open_at(folder, &below, &changes->root, diags) : NULL;
	g_autoptr(git_commit) from = NULL, to = NULL;
	git_oid base;
	if (!repo || !repo_find_commit(repo, since, &from, diags) ||
		!repo_find_commit(repo, ref ? ref : "HEAD", &to, diags) ||
		!find_base(repo, from, to, &base, diags))
		return NULL;
	changes->base = g_strdup(git_oid_tostr_s(&base));
	changes->paths = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	const Found found = {repo, "", ref != NULL, changes->paths};
	if (compare(&found, &base, git_commit_id(to)))
		return g_steal_pointer(&changes);
	repo_report_unreadable(folder, diags);
	return NULL;
}
