/* Opens a module and refuses what this host cannot call, with file, both versions and remedy. A
 * refused file stays mapped like any other: its code may already have run. */
#include "provider/internal.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>
#include "base/module.h"

/* Majors tried if ours is missing, to distinguish "too new" from "not a provider". */
#define NEIGHBOUR_MAX 9
#define ENTRY_SYMBOL "raygpu_provider_v1"
#define NAME_MAX_LEN 32

typedef const struct rgp_provider *(*EntryFn)(void);

static _Thread_local const char *loading; /* its constructors or entry function run */

bool rg_provider_module_name_is_valid(const char *name)
{
	if (!name || !g_ascii_islower(name[0]))
		return false;
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
	return name[len] == '\0' && len <= NAME_MAX_LEN;
}

void rg_refusal_clear(RgRefusal *refusal)
{
	g_clear_pointer(&refusal->reason, g_free);
	g_clear_pointer(&refusal->remedy, g_free);
}

bool rg_refuse(RgRefusal *refusal, const char *remedy, const char *format, ...)
{
	if (refusal->reason)
		return false;
	va_list args;
	va_start(args, format);
	refusal->reason = g_strdup_vprintf(format, args);
	va_end(args);
	refusal->remedy = g_strdup(remedy);
	return false;
}

static bool refuse_version(const char *file, unsigned major, RgRefusal *why)
{
	g_autofree char *remedy =
		major > RGP_ABI_MAJOR
			? g_strdup_printf("install a raygpu with provider ABI %u, or a release of "
					  "the module for ABI %d",
				  major, RGP_ABI_MAJOR)
			: g_strdup_printf("rebuild the module with this raygpu's raygpu/provider.h "
					  "(ABI %d)",
				  RGP_ABI_MAJOR);
	return rg_refuse(why, remedy, "%s was built for provider ABI %u, this raygpu has %d", file,
		major, RGP_ABI_MAJOR);
}

static bool refuse_no_entry(const char *file, void *handle, RgRefusal *why)
{
	for (unsigned major = 0; major <= NEIGHBOUR_MAX; major++) {
		g_autofree char *symbol = g_strdup_printf("raygpu_provider_v%u", major);
		if (major != RGP_ABI_MAJOR && dlsym(handle, symbol))
			return refuse_version(file, major, why);
	}
	return rg_refuse(why,
		"a module exports that function with RGP_ENTRY of raygpu/provider.h, default "
		"visibility",
		"%s is not a raygpu provider: it has no function raygpu_provider_v%d", file,
		RGP_ABI_MAJOR);
}

static bool file_is_safe(const char *file, RgRefusal *why)
{
	struct stat info;
	if (stat(file, &info) != 0 || !S_ISREG(info.st_mode))
		return rg_refuse(why, "put the module's shared object there",
			"%s is not a regular file that can be read", file);
	if ((info.st_mode & S_IWOTH) != 0)
		return rg_refuse(why, "make it not world-writable: chmod o-w",
			"%s is world-writable, so it is not loaded", file);
	return true;
}

static EntryFn open_entry(const char *file, RgRefusal *why)
{
	if (!file_is_safe(file, why))
		return NULL;
	void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		const char *error = dlerror();
		g_autofree char *text = rg_text_clean(error ? error : "no reason given");
		rg_refuse(why,
			"build it as a shared object for this machine, with all dependencies "
			"linked in",
			"cannot load %s: %s", file, text);
		return NULL;
	}
	void *symbol = dlsym(handle, ENTRY_SYMBOL);
	if (!symbol) {
		refuse_no_entry(file, handle, why);
		return NULL;
	}
	/* POSIX guarantees that a function's address fits a void *; ISO C has no cast for it. */
	EntryFn entry;
	memcpy(&entry, &symbol, sizeof(entry));
	return entry;
}

static bool has_required(const char *file, const struct rgp_provider *table, RgRefusal *why)
{
	const struct {
		const char *name;
		bool there;
	} slots[] = {
		{"schema", table->schema != NULL},
		{"open", table->open != NULL},
		{"close", table->close != NULL},
		{"resolve", table->resolve != NULL},
		{"lower", table->lower != NULL},
		{"list", table->list != NULL},
		{"create", table->create != NULL},
		{"remove", table->remove != NULL},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(slots); i++) {
		if (!slots[i].there)
			return rg_refuse(why, "report it to the module's author: ABI 1 requires it",
				"%s lacks the call \"%s\" that provider ABI %d requires", file,
				slots[i].name, RGP_ABI_MAJOR);
	}
	return true;
}

static bool has_right_name(
	const char *file, const char *name, const struct rgp_provider *table, RgRefusal *why)
{
	if (!table->name || !table->version)
		return rg_refuse(why, "report it to the module's author: its table must have both",
			"%s does not state its name and version", file);
	if (g_str_equal(table->name, name))
		return true;
	g_autofree char *own = rg_text_clean(table->name);
	if (!rg_provider_module_name_is_valid(table->name))
		return rg_refuse(why,
			"a provider's name is at most 32 of a-z, 0-9 and _, beginning with a "
			"letter",
			"%s calls itself \"%.40s\", which is not a valid provider name", file, own);
	g_autofree char *remedy = g_strdup_printf("name the file %s.so", own);
	return rg_refuse(
		why, remedy, "%s claims to be the provider \"%s\", not \"%s\"", file, own, name);
}

static bool table_is_sound(
	const char *file, const char *name, const struct rgp_provider *table, RgRefusal *why)
{
	size_t needed = offsetof(struct rgp_provider, remove) + sizeof(table->remove);
	if (!table)
		return rg_refuse(why, "report it to the module's author: it refused to start",
			"%s returned no table of calls", file);
	/* size and abi_major come first in every version, so they can always be read. */
	if (table->size >= offsetof(struct rgp_provider, flags) &&
		table->abi_major != RGP_ABI_MAJOR)
		return refuse_version(file, table->abi_major, why);
	if (table->size < needed)
		return rg_refuse(why,
			"rebuild the module with raygpu/provider.h of ABI 1.0 or later",
			"%s has a table of %u bytes, provider ABI %d.%d begins at %zu", file,
			table->size, RGP_ABI_MAJOR, 0, needed);
	return has_right_name(file, name, table, why) && has_required(file, table, why);
}

static bool load_file(RgModule *module)
{
	EntryFn entry = open_entry(module->file, &module->refusal);
	if (!entry)
		return false;
	module->table = entry();
	return table_is_sound(module->file, module->name, module->table, &module->refusal);
}

static bool load_builtin(RgModule *module)
{
	const RgBuiltinProvider *builtin = module->builtin;
	g_autoptr(RgDiags) diags = rg_diags_new();
	module->table = builtin->entry ? builtin->entry()
				       : rg_module_load("../providers", builtin->file, ENTRY_SYMBOL,
						 "provider.refused", diags);
	if (rg_diags_count(diags) > 0) {
		const RgDiag *diag = rg_diags_get(diags, 0);
		g_autofree char *tried = rg_text_clean(diag->detail);
		return rg_refuse(&module->refusal, diag->hint, "%s, %s", diag->summary, tried);
	}
	if (!table_is_sound(module->name, module->name, module->table, &module->refusal))
		return false;
	return builtin->entry || g_str_equal(module->table->version, RG_VERSION) ||
	       rg_refuse(&module->refusal, "reinstall raygpu",
		       "%s does not belong to this build of raygpu", builtin->file);
}

const char *rg_provider_module_loading(void)
{
	return loading;
}

bool rg_provider_module_load(RgModule *module)
{
	if (module->loaded)
		return module->table != NULL;
	module->loaded = true;
	loading = module->name;
	if (!(module->builtin ? load_builtin(module) : load_file(module)))
		module->table = NULL;
	loading = NULL;
	return module->table != NULL;
}
