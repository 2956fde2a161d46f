/* Loads raygpu's own modules, which most commands do not need: large libraries (raygpu-http.so,
 * raygpu-git.so, raygpu-archive.so, raygpu-postgres.so) and the built-in providers (NAME.so). They
 * are beside the installed program (LIBDIR/raygpu/internal) or in the build tree, and come from the
 * same build. Never unloaded. Any thread. */
#pragma once
#include "base/diag.h"

/* A module's one exported function: returns its static table. */
typedef const void *(*RgModuleEntry)(void);

/* Loads `file` and returns what its function `symbol` returns; NULL and a diagnostic `code` that
 * lists all places tried. `folder` is the module's folder, relative to src/. */
const void *rg_module_load(
	const char *folder, const char *file, const char *symbol, const char *code, RgDiags *diags);
