#include "base/module.h"

#include <dlfcn.h>
#include <string.h>

/* NULL and a reason (g_free) if it cannot be loaded. */
static RgModuleEntry load_from(const char *path, const char *symbol, char **reason)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *address = handle ? dlsym(handle, symbol) : NULL;
	if (!address) {
		const char *text = dlerror();
		*reason = g_strdup(text ? text : "symbol is null");
		return NULL;
	}
	RgModuleEntry entry; /* dlsym's documented idiom: C has no cast from object to function */
	memcpy(&entry, &address, sizeof entry);
	return entry;
}

const void *rg_module_load(
	const char *folder, const char *file, const char *symbol, const char *code, RgDiags *diags)
{
	g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *dir = g_path_get_dirname(program ? program : "/usr/bin/raygpu");
	g_autofree char *installed = g_build_filename(dir, RG_INTERNAL_DIR, file, NULL);
	g_autofree char *built = g_build_filename(dir, "../../src", folder, file, NULL);
	const char *const places[] = {installed, built};
	g_autoptr(GString) reasons = g_string_new("tried:");
	for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
		g_autofree char *reason = NULL;
		RgModuleEntry entry = load_from(places[i], symbol, &reason);
		if (!reason)
			return entry();
		g_string_append_printf(reasons, "\n  %s", reason);
		if (!strstr(reason, places[i]))
			g_string_append_printf(reasons, " (%s)", places[i]);
	}
	RgDiag *diag = rg_diags_error(diags, code, "cannot load raygpu's own module \"%s\"", file);
	rg_diag_detail(diag, "%s", reasons->str);
	rg_diag_hint(diag, "reinstall raygpu: program and module must be of the same build");
	return NULL;
}
