#include "archive/module.h"
#include "base/module.h"

bool rg_archive_write(const char *path, const RgArchiveFile *files, size_t n, RgDiags *diags)
{
#ifdef RG_MODULES_BUILTIN
	const RgArchiveModule *module = raygpu_archive_module();
#else
	const RgArchiveModule *module = rg_module_load(
		"archive", "raygpu-archive.so", RG_ARCHIVE_SYMBOL, "file.unwritable", diags);
#endif
	if (!module)
		return false;
	if (module->size == sizeof *module && g_str_equal(module->version, RG_VERSION))
		return module->write(path, files, n, diags);
	RgDiag *diag = rg_diags_error(diags, "file.unwritable",
		"raygpu-archive.so does not belong to this build of raygpu");
	rg_diag_hint(diag, "reinstall raygpu");
	return false;
}
