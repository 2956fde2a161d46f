/* What git knows about specs, through libgit2, an internal shared module (raygpu-git.so) loaded
 * when needed: provenance, files of a commit, what a branch changes. Reads only. */
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

/* Name and version of the library behind it; NULL and a diagnostic: it cannot be loaded. */
const char *rg_git_library(RgDiags *diags);

/* Never NULL unless an error was reported: a repository owned by another user (libgit2's
 * GIT_EOWNER, common in CI containers) is the error git.not-owner with the `git config --global
 * --add safe.directory` line to type, never "no repository". */
RgProvenance *rg_git_provenance(const char *spec_path, RgDiags *diags);

/* The commit that `rev` names in the repository around `path`: 40 hex digits, g_free; *root
 * (g_free) is its work tree, of a submodule that of the repository that it is part of. NULL and
 * git.* diagnostics: a name of several commits is an error too. */
char *rg_git_resolve(const char *path, const char *rev, char **root, RgDiags *diags);

/* The file `path` in the commit `rev` (a branch, a tag, a hash, HEAD~2...), through the symbolic
 * links of the commit; the work tree need not contain it. g_free it, and free the provenance, which
 * names that commit. NULL and git.* diagnostics. */
char *rg_git_read(
	const char *path, const char *rev, size_t *len, RgProvenance **provenance, RgDiags *diags);

/* The same of the file `below` the work tree `root`, which alone says what repository it is. */
char *rg_git_read_below(
	const char *root, const char *below, const char *rev, size_t *len, RgDiags *diags);

/* The path `below`, and what each symbolic link of the commit on the way makes of it: the last has
 * none, or one that leads out of the commit. char*; NULL and git.* diagnostics. */
GPtrArray *rg_git_way(const char *root, const char *below, const char *rev, RgDiags *diags);

/* The files below the folder `path` in the commit `rev`: char*, relative to `path`, in the order of
 * the tree; no symbolic links, nothing in or named like ".hidden". NULL and git.* diagnostics. If
 * `path` is a file there, *is_file and an empty array. */
GPtrArray *rg_git_list(const char *path, const char *rev, bool *is_file, RgDiags *diags);

/* What one side of a fork of the history changed. */
typedef struct {
	char *root;	   /* work tree, absolute */
	char *base;	   /* the common ancestor: 40 hex digits */
	GHashTable *paths; /* char* relative to the root: added, changed or deleted since; of a
			    * submodule its folder too */
} RgGitChanges;
void rg_git_changes_free(RgGitChanges *changes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgGitChanges, rg_git_changes_free)

/* From the common ancestor of `since` and `ref` to `ref`; with `ref` NULL, of `since` and HEAD to
 * the work tree, including uncommitted files and files that git neither tracks nor ignores.
 * `folder` names the repository. NULL and git.* diagnostics: a shallow clone that lacks the
 * ancestor is an error, never "nothing changed". */
RgGitChanges *rg_git_changes(
	const char *folder, const char *since, const char *ref, RgDiags *diags);

/* *tracked: the file is in the index of the repository around it, or a journal that SQLite would
 * play into it. False and git.* diagnostics: that cannot be read. */
bool rg_git_tracks(const char *path, bool *tracked, RgDiags *diags);
