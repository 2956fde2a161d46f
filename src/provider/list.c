/* `raygpu providers list`: a row for every file of the directories and every built-in module: ok,
 * refused (and why), or hidden by another of its name. None of this is an error of the command. */
#include "provider/internal.h"

#include <string.h>

static void add_state(json_t *rows, const char *name, const char *version, const char *file,
	const char *state, const RgRefusal *refusal)
{
	bool ok = !refusal->reason;
	json_t *row = json_pack("{s:s, s:s, s:s, s:s}", "name", name, "version", version, "file",
		file ? file : "built-in", "state", state);
	if (ok)
		json_object_set_new(row, "abi", json_integer(RGP_ABI_MAJOR));
	g_autoptr(GString) reason = g_string_new(refusal->reason);
	if (refusal->remedy)
		g_string_append_printf(reason, "; %s", refusal->remedy);
	rg_json_set_str(row, "reason", ok ? NULL : reason->str);
	json_array_append_new(rows, row);
}

static void add_row(json_t *rows, const char *name, const char *version, const char *file,
	const RgRefusal *refusal)
{
	add_state(rows, name, version, file, !refusal->reason ? "ok" : "refused", refusal);
}

static void add_module(RgProviderHost *host, RgModule *module, json_t *rows)
{
	rg_provider_module_make_ready(host, module);
	g_autofree char *version = rg_text_clean(module->table ? module->table->version : "");
	add_row(rows, module->name, version, module->file, &module->refusal);
}

/* A file or built-in module with a name that was found before: it is correct, but not used. An
 * installation with modules as files hides its own built-in ones. */
static void add_hidden(json_t *rows, const RgModule *first, const char *name, const char *file)
{
	RgRefusal refusal = {0};
	rg_refuse(&refusal, NULL, "not used: %s is found first",
		first->file ? first->file : "the built-in module");
	add_state(rows, name, "-", file, "hidden", &refusal);
	rg_refusal_clear(&refusal);
}

static void add_file(RgProviderHost *host, const char *dir, const char *file, json_t *rows)
{
	g_autoptr(RgDiags) unread = rg_diags_new();
	g_autofree char *name = g_strndup(file, strlen(file) - strlen(".so"));
	g_autofree char *path = g_strdup_printf("%s/%s", dir, file);
	g_autofree char *shown = rg_text_clean(name);
	RgModule *module = rg_provider_module_find(host, name, unread);
	if (module && g_strcmp0(module->file, path) == 0) {
		add_module(host, module, rows);
	} else if (module) {
		add_hidden(rows, module, shown, path);
	} else {
		RgRefusal refusal = {0};
		g_autofree char *clean = rg_text_clean(path);
		rg_refuse(&refusal,
			"a provider's name is at most 32 of a-z, 0-9 and _, beginning with a "
			"letter",
			"the file's name is not a valid provider name");
		add_row(rows, shown, "", clean, &refusal);
		rg_refusal_clear(&refusal);
	}
}

static void add_dir(RgProviderHost *host, const char *path, json_t *rows)
{
	RgRefusal refusal = {0};
	if (!rg_provider_module_dir_is_usable(path, &refusal.reason)) {
		if (refusal.reason)
			add_row(rows, "(directory)", "", path, &refusal);
		rg_refusal_clear(&refusal);
		return;
	}
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
	const char *file;
	while (dir && (file = g_dir_read_name(dir))) {
		if (g_str_has_suffix(file, ".so"))
			g_ptr_array_add(files, g_strdup(file));
	}
	g_ptr_array_sort(files, rg_by_text);
	for (guint i = 0; i < files->len; i++)
		add_file(host, path, g_ptr_array_index(files, i), rows);
}

static void add_builtin(RgProviderHost *host, const RgBuiltinProvider *builtin, json_t *rows)
{
	if (!rg_builtin_has_code(builtin))
		return;
	g_autoptr(RgDiags) unread = rg_diags_new();
	RgModule *module = rg_provider_module_find(host, builtin->name, unread);
	if (module && module->builtin == builtin)
		add_module(host, module, rows);
	else if (module)
		add_hidden(rows, module, builtin->name, NULL);
}

json_t *rg_provider_host_list(RgProviderHost *host)
{
	json_t *rows = json_array();
	pthread_mutex_lock(&host->lock);
	for (size_t i = 0; host->directories && host->directories[i]; i++)
		add_dir(host, host->directories[i], rows);
	for (const RgBuiltinProvider *b = host->builtins; b && b->name; b++)
		add_builtin(host, b, rows);
	pthread_mutex_unlock(&host->lock);
	return rows;
}
