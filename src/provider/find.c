/* Search order: each directory in turn for NAME.so, then raygpu's own modules. The first file of a
 * name decides, even if it is refused: the user who put it there must know. Data files are in
 * DIR/NAME/, where DIR is the directory of NAME.so (`DIR/NAME/schema.json`); those of raygpu's
 * own are embedded. The two are never mixed. */
#include "provider/internal.h"

#include <string.h>
#include <sys/stat.h>
#include "base/caps.h"

bool rg_provider_module_dir_is_usable(const char *dir, char **why)
{
	struct stat info;
	*why = NULL;
	if (!g_path_is_absolute(dir))
		*why = g_strdup_printf("%s is not an absolute path", dir);
	else if (stat(dir, &info) != 0)
		return false;
	else if (!S_ISDIR(info.st_mode))
		*why = g_strdup_printf("%s is not a directory", dir);
	else if ((info.st_mode & S_IWOTH) != 0)
		*why = g_strdup_printf("%s is world-writable", dir);
	return *why == NULL;
}

/* The directory that contains NAME.so, or NULL; `skipped` gets the reasons of skipped ones. */
static const char *find_dir(const RgProviderHost *host, const char *name, GString *skipped)
{
	g_autofree char *file = g_strconcat(name, ".so", NULL);
	for (size_t i = 0; host->directories && host->directories[i]; i++) {
		g_autofree char *why = NULL;
		const char *dir = host->directories[i];
		if (!rg_provider_module_dir_is_usable(dir, &why)) {
			if (why && skipped)
				g_string_append_printf(skipped, "skipped: %s\n", why);
			continue;
		}
		g_autofree char *path = g_build_filename(dir, file, NULL);
		if (g_file_test(path, G_FILE_TEST_EXISTS))
			return dir;
		if (skipped)
			g_string_append_printf(skipped, "not in %s\n", dir);
	}
	return NULL;
}

bool rg_builtin_has_code(const RgBuiltinProvider *builtin)
{
	return builtin && (builtin->entry || builtin->file);
}

static const RgBuiltinProvider *find_builtin(const RgProviderHost *host, const char *name)
{
	for (const RgBuiltinProvider *b = host->builtins; b && b->name; b++) {
		if (g_str_equal(b->name, name))
			return b;
	}
	return NULL;
}

static void add_names_of_dir(const char *path, GPtrArray *names)
{
	g_autofree char *why = NULL;
	g_autoptr(GDir) dir =
		rg_provider_module_dir_is_usable(path, &why) ? g_dir_open(path, 0, NULL) : NULL;
	const char *file;
	while (dir && (file = g_dir_read_name(dir))) {
		if (g_str_has_suffix(file, ".so"))
			g_ptr_array_add(names, g_strndup(file, strlen(file) - 3));
	}
}

static void report_missing(
	const RgProviderHost *host, const char *name, const char *searched, RgDiags *diags)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	for (const RgBuiltinProvider *b = host->builtins; b && b->name; b++) {
		if (rg_builtin_has_code(b))
			g_ptr_array_add(names, g_strdup(b->name));
	}
	for (size_t i = 0; host->directories && host->directories[i]; i++)
		add_names_of_dir(host->directories[i], names);
	g_ptr_array_add(names, NULL);
	g_autofree char *clean = rg_text_clean(name);
	RgDiag *diag =
		rg_diags_error(diags, "provider.not-found", "there is no provider \"%s\"", clean);
	const char *near = rg_nearest_word(clean, (const char *const *)names->pdata);
	if (*searched != '\0')
		rg_diag_detail(diag, "%s", searched);
	if (near)
		rg_diag_hint(diag, "did you mean \"%s\"?", near);
	else
		rg_diag_hint(diag, "`raygpu providers list` lists the available ones");
}

GStrv rg_provider_host_names(RgProviderHost *host)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(g_free);
	for (const RgBuiltinProvider *b = host->builtins; b && b->name; b++)
		g_ptr_array_add(all, g_strdup(b->name));
	for (size_t i = 0; host->directories && host->directories[i]; i++)
		add_names_of_dir(host->directories[i], all);
	g_ptr_array_sort(all, rg_by_text);
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	for (guint i = 0; i < all->len; i++) {
		if (i == 0 || !g_str_equal(all->pdata[i], all->pdata[i - 1]))
			g_strv_builder_add(names, all->pdata[i]);
	}
	return g_strv_builder_end(names);
}

RgModule *rg_provider_module_find(RgProviderHost *host, const char *name, RgDiags *diags)
{
	RgModule *module = name ? g_hash_table_lookup(host->modules, name) : NULL;
	if (module)
		return module;
	g_autoptr(GString) searched = g_string_new(NULL);
	bool valid = rg_provider_module_name_is_valid(name);
	const char *dir = valid ? find_dir(host, name, searched) : NULL;
	const RgBuiltinProvider *builtin = valid && !dir ? find_builtin(host, name) : NULL;
	if (!dir && !rg_builtin_has_code(builtin)) {
		g_strchomp(searched->str);
		report_missing(host, name ? name : "", searched->str, diags);
		return NULL;
	}
	module = g_new0(RgModule, 1);
	module->name = g_strdup(name);
	module->builtin = builtin;
	if (dir)
		module->file = g_strdup_printf("%s/%s.so", dir, name);
	g_hash_table_insert(host->modules, module->name, module);
	return module;
}

void rg_provider_module_free(RgModule *module)
{
	if (!module)
		return;
	rg_schema_free(module->data_schema);
	rg_schema_free(module->schema);
	rg_refusal_clear(&module->refusal);
	g_free(module->file);
	g_free(module->name);
	g_free(module);
}

static GBytes *read_data(const char *path)
{
	struct stat info;
	g_autofree char *text = NULL;
	size_t len;
	if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > RG_CAP_FILE_BYTES)
		return NULL;
	if (!g_file_get_contents(path, &text, &len, NULL))
		return NULL;
	return g_bytes_new_take(g_steal_pointer(&text), len);
}

const char *rg_provider_module_data(
	RgProviderHost *host, const char *name, const char *file, size_t *len)
{
	*len = 0;
	if (!rg_provider_module_name_is_valid(name) || strchr(file, '/') || file[0] == '.')
		return NULL;
	const char *dir = find_dir(host, name, NULL);
	if (!dir) {
		const RgBuiltinProvider *builtin = find_builtin(host, name);
		const struct rg_embedded *row =
			builtin && builtin->data ? rg_embedded_find(builtin->data, file) : NULL;
		if (!row)
			return NULL;
		*len = row->len;
		return row->data;
	}
	g_autofree char *path = g_build_filename(dir, name, file, NULL);
	GBytes *bytes = g_hash_table_lookup(host->files, path);
	if (!bytes) {
		bytes = read_data(path);
		if (!bytes)
			return NULL;
		g_hash_table_insert(host->files, g_steal_pointer(&path), bytes);
	}
	return g_bytes_get_data(bytes, len);
}
