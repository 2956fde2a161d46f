/* The interface between the program (load.c) and raygpu-git.so. Both come from one build; `version`
 * and `size` only detect a mixed installation. */
#pragma once
#include "git/git.h"

typedef struct {
	size_t size;
	const char *version;
	RgProvenance *(*provenance)(const char *spec_path, RgDiags *diags);
	char *(*resolve)(const char *path, const char *rev, char **root, RgDiags *diags);
	char *(*read)(const char *path, const char *rev, size_t *len, RgProvenance **provenance,
		RgDiags *diags);
	char *(*read_below)(
		const char *root, const char *below, const char *rev, size_t *len, RgDiags *diags);
	GPtrArray *(*way)(const char *root, const char *below, const char *rev, RgDiags *diags);
	GPtrArray *(*list)(const char *path, const char *rev, bool *is_file, RgDiags *diags);
	RgGitChanges *(*changes)(
		const char *folder, const char *since, const char *ref, RgDiags *diags);
	bool (*tracks)(const char *path, bool *tracked, RgDiags *diags);
	const char *library; /* name and version */
} RgGitModule;

/* The only symbol that the module exports; returns its RgGitModule. */
#define RG_GIT_SYMBOL "raygpu_git_module"
const void *raygpu_git_module(void);
