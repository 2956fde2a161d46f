/* Provenance of a spec file by libgit2, an internal shared module (raygpu-git.so) opened when
 * needed. Reading only. */
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
