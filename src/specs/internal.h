/* Private to src/specs: how the specs of the arguments are found (specs.c), what a file is
 * (file.c), and which of them a branch changes (touched.c). */
#pragma once
#include "specs/specs.h"

bool specs_is_yaml(const char *path);
void specs_file_free(gpointer file);
/* Takes the peek's name and files. */
RgSpecFile *specs_file_new(const char *path, RgSpecPeek *peek);
/* Reads the files that a spec of the commit `ref` (data) extends from that commit. */
char *specs_read_at(const void *ref, const char *path, size_t *len, RgDiags *diags);
/* What the file is, at from->ref or in the work tree. */
bool specs_peek(const char *path, const char *ref, RgSpecPeek *peek, RgDiags *diags);
/* The project file of the commit `ref` beside `spec` (below the root), or above it; *project NULL:
 * there is none. *folder: where it is in the work tree, or the root; g_free. `prefix`: of its name
 * in diagnostics. false: it has errors. */
bool specs_find_project(const char *root, const char *spec, const char *ref, const char *prefix,
	RgProject **project, char **folder, RgDiags *diags);
/* Keeps only the files that the branch changes, and fills `removed`. `arguments` as in
 * rg_specs_find. */
bool specs_keep_touched(
	RgSpecs *specs, char *const *arguments, const RgSpecsFrom *from, RgDiags *diags);
