/* Loads raygpu's own internal modules (raygpu-http.so, raygpu-git.so): large libraries that most
 * commands do not need. They are beside the installed program (LIBDIR/raygpu/internal) or in the
 * build tree, and come from the same build. Never unloaded. Any thread. */
#pragma once
#include "base/diag.h"

/* A module's one exported function: returns its static table. */
typedef const void *(*RgModuleEntry)(void);

/* Loads `file` and returns what its function `symbol` returns; NULL and a diagnostic `code` that
 * lists all places tried. `folder` is the module's folder under src/. */
const void *rg_module_load(
	const char *folder, const char *file, const char *symbol, const char *code, RgDiags *diags);
