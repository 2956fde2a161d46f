#include "git/git.h"

#include <stdlib.h>
#include <string.h>
#include "base/module.h"
#include "base/paths.h"
#include "git/module.h"

static const RgGitModule *load(RgDiags *diags)
{
#ifdef RG_MODULES_BUILTIN
	const RgGitModule *module = raygpu_git_module();
#else
	const RgGitModule *module =
		rg_module_load("git", "raygpu-git.so", RG_GIT_SYMBOL, "git.unreadable", diags);
#endif
	if (!module)
		return NULL;
	if (module->size == sizeof *module && g_str_equal(module->version, RG_VERSION))
		return module;
	RgDiag *diag = rg_diags_error(
		diags, "git.unreadable", "raygpu-git.so does not belong to this build of raygpu");
	rg_diag_hint(diag, "reinstall raygpu");
	return NULL;
}

const char *rg_git_library(RgDiags *diags)
{
	const RgGitModule *module = load(diags);
	return module ? module->library : NULL;
}

/* Is there a ".git" in the folder of the file, or above it? Without one there is no repository
 * (open.c), and libgit2, whose start takes a sixth of a small plan, is not needed. */
static bool is_below_git(const char *file)
{
	g_autofree char *folder = g_path_get_dirname(file);
	g_autofree char *at = rg_path_real(folder);
	bool found = false;
	for (char *end = at + strlen(at); end && !found; end = strrchr(at, '/')) {
		*end = '\0';
		g_autofree char *mark = g_strconcat(at, "/.git", NULL);
		found = g_file_test(mark, G_FILE_TEST_EXISTS);
	}
	return found;
}

RgProvenance *rg_git_provenance(const char *spec_path, RgDiags *diags)
{
	char *file = realpath(spec_path, NULL);
	bool none = file && !is_below_git(file);
	free(file);
	if (none)
		return g_new0(RgProvenance, 1);
	const RgGitModule *module = load(diags);
	return module ? module->provenance(spec_path, diags) : NULL;
}

char *rg_git_resolve(const char *path, const char *rev, char **root, RgDiags *diags)
{
	const RgGitModule *module = load(diags);
	return module ? module->resolve(path, rev, root, diags) : NULL;
}

char *rg_git_read(
	const char *path, const char *rev, size_t *len, RgProvenance **provenance, RgDiags *diags)
{
	const RgGitModule *module = load(diags);
	return module ? module->read(path, rev, len, provenance, diags) : NULL;
}

char *rg_git_read_below(
	const char *root, const char *below, const char *rev, size_t *len, RgDiags *diags)
{
	const RgGitModule *module = load(diags);
	return module ? module->read_below(root, below, rev, len, diags) : NULL;
}

GPtrArray *rg_git_way(const char *root, const char *below, const char *rev, RgDiags *diags)
{
	const RgGitModule *module = load(diags);
	return module ? module->way(root, below, rev, diags) : NULL;
}

GPtrArray *rg_git_list(const char *path, const char *rev, bool *is_file, RgDiags *diags)
{
	const RgGitModule *module = load(diags);
	return module ? module->list(path, rev, is_file, diags) : NULL;
}

RgGitChanges *rg_git_changes(const char *folder, const char *since, const char *ref, RgDiags *diags)
{
	const RgGitModule *module = load(diags);
	return module ? module->changes(folder, since, ref, diags) : NULL;
}

bool rg_git_tracks(const char *path, bool *tracked, RgDiags *diags)
{
	*tracked = false;
	g_autofree char *file = g_canonicalize_filename(path, NULL);
	if (!is_below_git(file))
		return true;
	const RgGitModule *module = load(diags);
	return module && module->tracks(path, tracked, diags);
}
