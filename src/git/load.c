#include "git/git.h"

#include <string.h>
#include "base/module.h"
#include "git/module.h"

static const RgGitModule *load(RgDiags *diags)
{
#ifdef RG_MODULES_BUILTIN
	return raygpu_git_module();
#else
	return rg_module_load("git", "raygpu-git.so", RG_GIT_SYMBOL, "git.unreadable", diags);
#endif
}

RgProvenance *rg_git_provenance(const char *spec_path, RgDiags *diags)
{
	const RgGitModule *module = load(diags);
	if (module == NULL)
		return NULL;
	if (module->size != sizeof *module || strcmp(module->version, RG_VERSION) != 0) {
		RgDiag *diag = rg_diags_error(diags, "git.unreadable",
			"raygpu-git.so is of another build than this program");
		rg_diag_hint(diag, "reinstall raygpu");
		return NULL;
	}
	return module->provenance(spec_path, diags);
}
