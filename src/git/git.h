/* What git knows of specs, by libgit2, an internal shared module (raygpu-git.so) opened when
 * needed: provenance, files of a commit, what a branch touches. Reading only. */
#pragma once
#include "base/json.h"

typedef struct {
	bool in_repository;
	char *root;   /* work tree, absolute */
	char *path;   /* the spec's path relative to the root */
	char *commit; /* 40 hex digits; NULL in a repository without a commit */
	char *author; /* "Name <mail>" of the commit; NULL */
	bool dirty;   /* the spec file differs from HEAD, or is not tracked */
} RgProvenance;

void rg_provenance_free(RgProvenance *provenance);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgProvenance, rg_provenance_free)

/* Never NULL unless an error was reported: a repository owned by somebody else (libgit2's
 * GIT_EOWNER, usual in CI containers) is the error git.not-owner with the `git config --global
 * --add safe.directory` line to type, never "no repository". */
RgProvenance *rg_git_provenance(const char *spec_path, RgDiags *diags);

/* The file `path` as the commit `rev` (a branch, a tag, a hash, HEAD~2...) has it, without touching
 * the work tree, which need not have it; a path without a work tree counts from the repository's
 * root. g_free it, and free the provenance, which names that commit. NULL and git.* diagnostics. */
char *rg_git_read(
	const char *path, const char *rev, size_t *len, RgProvenance **provenance, RgDiags *diags);

/* The files below the folder `path` as the commit `rev` has them: char*, relative to `path`, in the
 * order of the tree; no symbolic links, nothing in or named like ".hidden". NULL and git.*
 * diagnostics. When `path` is a file there, *is_file and an empty array. */
GPtrArray *rg_git_list(const char *path, const char *rev, bool *is_file, RgDiags *diags);

/* What one side of a fork of the history touched. */
typedef struct {
	char *root;	   /* work tree, absolute; NULL in a bare repository */
	char *base;	   /* the common ancestor: 40 hex digits */
	GHashTable *paths; /* char* relative to the root: added, changed or deleted since */
} RgGitChanges;
void rg_git_changes_free(RgGitChanges *changes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgGitChanges, rg_git_changes_free)

/* From the common ancestor of `since` and `ref` to `ref`; with `ref` NULL, of `since` and HEAD to
 * the work tree, with what is not committed and files that git neither knows nor ignores.
 * `folder` names the repository. NULL and git.* diagnostics: a shallow clone that lacks the
 * ancestor is an error, never "nothing was touched". */
RgGitChanges *rg_git_changes(
	const char *folder, const char *since, const char *ref, RgDiags *diags);

/* Whether the file is in the index of a repository around it; false also when that can't be read.
 */
bool rg_git_tracks(const char *path);
