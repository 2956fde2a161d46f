#include "git/git.h"

#include <string.h>
#include "base/module.h"
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

RgProvenance *rg_git_provenance(const char *spec_path, RgDiags *diags)
{
	const RgGitModule *module = load(diags);
	return module ? module->provenance(spec_path, diags) : NULL;
}

char *rg_git_read(
	const char *path, const char *rev, size_t *len, RgProvenance **provenance, RgDiags *diags)
{
	const RgGitModule *module = load(diags);
	return module ? module->read(path, rev, len, provenance, diags) : NULL;
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

bool rg_git_tracks(const char *path)
{
	g_autoptr(RgDiags) unused = rg_diags_new();
	const RgGitModule *module = load(unused);
	return module && module->tracks(path);
}
