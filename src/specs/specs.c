#include "specs/internal.h"
#include "base/words.h"
#include <sys/stat.h>

void rg_specs_free(RgSpecs *specs)
{
	if (!specs)
		return;
	g_ptr_array_unref(specs->files);
	g_ptr_array_unref(specs->skipped);
	g_ptr_array_unref(specs->removed);
	g_free(specs);
}

char *rg_specs_name(const char *path, const char *ref)
{
	g_autoptr(RgDiags) unused = rg_diags_new(); /* the loader reports what is wrong */
	RgSpecPeek peek = {0};
	if (!g_str_equal(path, "-"))
		specs_peek(path, ref, &peek, unused);
	char *cluster = g_steal_pointer(&peek.cluster);
	rg_spec_peek_clear(&peek);
	return cluster;
}

/* ---- the files of a folder */

/* Names relative to `top`, in all folders except hidden ones and those behind a symbolic link,
 * which may form a cycle. */
static bool walk(const char *top, const char *below, GPtrArray *names, RgDiags *diags)
{
	g_autofree char *folder = g_build_filename(top, below, NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(GDir) dir = g_dir_open(folder, 0, &error);
	if (!dir) {
		rg_diags_error(
			diags, "file.unreadable", "the folder \"%s\" cannot be read", folder);
		return false;
	}
	bool ok = true;
	for (const char *name; (name = g_dir_read_name(dir));) {
		g_autofree char *path = g_build_filename(folder, name, NULL);
		g_autofree char *more =
			*below ? g_build_filename(below, name, NULL) : g_strdup(name);
		struct stat is;
		if (*name == '.' || lstat(path, &is))
			continue;
		if (S_ISDIR(is.st_mode))
			ok = walk(top, more, names, diags) && ok;
		else if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
			g_ptr_array_add(names, g_steal_pointer(&more));
	}
	return ok;
}

/* Names below the folder `path`, sorted; *is_file if it is a file. NULL and diagnostics. */
static GPtrArray *list(const char *path, const char *ref, bool *is_file, RgDiags *diags)
{
	GPtrArray *names = NULL;
	*is_file = false;
	if (ref)
		names = rg_git_list(path, ref, is_file, diags);
	else if (!(*is_file = !g_file_test(path, G_FILE_TEST_IS_DIR))) {
		names = g_ptr_array_new_with_free_func(g_free);
		if (!walk(path, "", names, diags))
			g_clear_pointer(&names, g_ptr_array_unref);
	}
	if (names)
		g_ptr_array_sort(names, rg_by_text);
	return names;
}

/* ---- arguments -> files */

typedef struct {
	RgSpecs *specs;
	const RgSpecsFrom *from;
	GHashTable *seen; /* canonical paths: a file that is named twice counts once */
	RgDiags *diags;
} Finder;

static bool add_file(Finder *finder, const char *path, bool named)
{
	char *canonical = g_canonicalize_filename(path, NULL);
	if (!g_hash_table_add(finder->seen, canonical))
		return true;
	RgSpecPeek peek = {0};
	if (!specs_peek(path, finder->from->ref, &peek, finder->diags))
		return false;
	if (peek.is_spec || named)
		g_ptr_array_add(finder->specs->files, specs_file_new(path, &peek));
	else
		g_ptr_array_add(finder->specs->skipped, g_strdup(path));
	rg_spec_peek_clear(&peek);
	return true;
}

/* A file without a cluster's name that another spec extends is not a spec by itself. */
static void drop_bases(RgSpecs *specs)
{
	g_autoptr(GHashTable) bases = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (guint i = 0; i < specs->files->len; i++) {
		const GPtrArray *files = ((RgSpecFile *)specs->files->pdata[i])->files;
		for (guint k = 1; files && k < files->len; k++)
			g_hash_table_add(bases, g_canonicalize_filename(files->pdata[k], NULL));
	}
	for (guint i = specs->files->len; i > 0; i--) {
		const RgSpecFile *file = specs->files->pdata[i - 1];
		g_autofree char *path = g_canonicalize_filename(file->path, NULL);
		if (!file->cluster && g_hash_table_contains(bases, path))
			g_ptr_array_remove_index(specs->files, i - 1);
	}
}

static bool add_folder(Finder *finder, const char *folder, const GPtrArray *names)
{
	bool ok = true;
	rg_ptr_foreach (const char, name, names) {
		g_autofree char *path = g_str_equal(folder, ".")
						? g_strdup(name)
						: g_build_filename(folder, name, NULL);
		if (specs_is_yaml(name))
			ok = add_file(finder, path, false) && ok;
	}
	return ok;
}

static bool add_argument(Finder *finder, const char *argument)
{
	bool is_file = false;
	if (g_str_equal(argument, "-")) {
		rg_diags_error(finder->diags, "usage.conflict",
			"standard input (-) can only be the one spec");
		return false;
	}
	/* specs_keep_touched handles a named file that the branch removed */
	if (finder->from->changed_since && !finder->from->ref &&
		!g_file_test(argument, G_FILE_TEST_EXISTS))
		return true;
	g_autoptr(GPtrArray) names = list(argument, finder->from->ref, &is_file, finder->diags);
	if (is_file)
		return add_file(finder, argument, true);
	finder->specs->folder = true;
	return names && add_folder(finder, argument, names);
}

static void check_names(const RgSpecs *specs, RgDiags *diags)
{
	g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
	rg_ptr_foreach (RgSpecFile, file, specs->files) {
		/* without a line it is not YAML: an error of its own */
		bool named = file->cluster && file->source.line;
		const RgSpecFile *first = named ? g_hash_table_lookup(names, file->cluster) : NULL;
		if (named && !first)
			g_hash_table_insert(names, file->cluster, file);
		if (!first)
			continue;
		RgDiag *diag = rg_diags_error(diags, "spec.duplicate-cluster",
			"the cluster %s is described twice: at %s:%u and at %s:%u", file->cluster,
			first->path, first->source.line, file->path, file->source.line);
		rg_diag_at(diag, file->source);
		rg_diag_hint(diag, "a cluster has one spec: rename one of the two");
	}
}

/* Whether the arguments are one file, which need not be read. */
static bool is_one_file(char *const *arguments, const RgSpecsFrom *from)
{
	if (arguments[1] || from->changed_since)
		return false;
	if (g_str_equal(arguments[0], "-"))
		return true;
	bool is_file = false;
	g_autoptr(RgDiags) unused = rg_diags_new(); /* the loader reports what is wrong */
	if (!from->ref)
		return !g_file_test(arguments[0], G_FILE_TEST_IS_DIR);
	g_autoptr(GPtrArray) names = rg_git_list(arguments[0], from->ref, &is_file, unused);
	return is_file || !names;
}

RgSpecs *rg_specs_find(char *const *arguments, const RgSpecsFrom *from, RgDiags *diags)
{
	g_autoptr(RgSpecs) specs = g_new0(RgSpecs, 1);
	specs->files = g_ptr_array_new_with_free_func(specs_file_free);
	specs->removed = g_ptr_array_new_with_free_func(specs_file_free);
	specs->skipped = g_ptr_array_new_with_free_func(g_free);
	if (is_one_file(arguments, from)) {
		g_ptr_array_add(specs->files, specs_file_new(arguments[0], &(RgSpecPeek){0}));
		return g_steal_pointer(&specs);
	}
	specs->several = true;
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	Finder finder = {specs, from, seen, diags};
	bool ok = true;
	for (guint i = 0; arguments[i]; i++)
		ok = add_argument(&finder, arguments[i]) && ok;
	if (!ok)
		return NULL;
	drop_bases(specs);
	check_names(specs, diags);
	if (from->changed_since && !specs_keep_touched(specs, arguments, from, diags))
		return NULL;
	return g_steal_pointer(&specs);
}
