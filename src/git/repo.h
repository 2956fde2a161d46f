/* Private to the git module: how its files find a repository and report faults. The only header
 * that includes git2.h. */
#pragma once
#include <git2.h>
#include "git/git.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_repository, git_repository_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_commit, git_commit_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_object, git_object_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_tree, git_tree_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_tree_entry, git_tree_entry_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_blob, git_blob_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_diff, git_diff_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_index, git_index_free)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(git_buf, git_buf_dispose)

/* repo.c */
/* Starts libgit2 unless it runs; false and a diagnostic if that fails. */
bool repo_begin(const char *path, RgDiags *diags);
/* false, for the caller to return. */
bool repo_report_unreadable(const char *path, RgDiags *diags);
/* "Name <mail>" of the commit; g_free it. */
char *repo_author(const git_commit *commit);

/* libgit2's last error text. */
const char *repo_last_words(void);

/* open.c */
/* The one whose ".git" is in the folder `top`; libgit2's code. */
int repo_open_top(const char *top, git_repository **repo);
/* Its root, without symbolic links; NULL: it has none. g_free it. */
char *repo_work_tree(git_repository *repo);
/* The repository around `dir`; *repo stays NULL if there is none. False if there is one that cannot
 * be read. */
bool repo_open_around(const char *dir, git_repository **repo, RgDiags *diags);
/* The same, but of a submodule the one that it is part of: a change decides what its submodules
 * contain, so nothing in them says what is trusted. */
bool repo_open_root(const char *dir, git_repository **repo, RgDiags *diags);
/* repo_open_root of `path`, which need not exist; *below is its path in the work tree *root, as it
 * is named (base/paths.h). NULL and a diagnostic if there is none. */
git_repository *repo_open_at(const char *path, char **below, char **root, RgDiags *diags);

/* revision.c */
bool repo_find_commit(git_repository *repo, const char *rev, git_commit **commit, RgDiags *diags);
char *repo_resolve_at(const char *path, const char *rev, char **root, RgDiags *diags);

/* read.c */
char *repo_read_at(
	const char *path, const char *rev, size_t *len, RgProvenance **provenance, RgDiags *diags);

char *repo_read_below(
	const char *root, const char *below, const char *rev, size_t *len, RgDiags *diags);
GPtrArray *repo_way(const char *root, const char *below, const char *rev, RgDiags *diags);
/* `path` in the commit, without the symbolic links on the way that the commit has; one that leads
 * out of it stays. */
char *repo_follow_links(git_repository *repo, const git_commit *commit, const char *path);

/* list.c */
GPtrArray *repo_list_at(const char *path, const char *rev, bool *is_file, RgDiags *diags);
bool repo_tracks(const char *path, bool *tracked, RgDiags *diags);

/* changes.c */
RgGitChanges *repo_changes(const char *folder, const char *since, const char *ref, RgDiags *diags);
