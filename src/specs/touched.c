#include "specs/internal.h"
#include <stdlib.h>
#include <string.h>
#include "base/paths.h"
#include "spec/project.h"

#define MAX_LINKS 40 /* as in path_resolution(7) */

/* --changed-since: which of the specs a branch changes, and the clusters whose specs it removed. A
 * cluster is identified by its name: a spec that moved to another file is not lost. */

typedef struct {
	const RgSpecsFrom *from;
	const RgGitChanges *changes;
	RgDiags *diags;
} Look;

static char *below_root(const Look *look, const char *path)
{
	const char *root = look->changes->root;
	return look->from->ref ? rg_path_named_below(root, path) : rg_path_real_below(root, path);
}

static char *on_disk(const Look *look, const char *below)
{
	return g_build_filename(look->changes->root, below, NULL);
}

/* The file, or a folder above it: a submodule changes as a whole. */
static bool is_changed(const Look *look, const char *below)
{
	g_autofree char *at = g_strdup(below);
	while (!g_hash_table_contains(look->changes->paths, at)) {
		char *slash = strrchr(at, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
	return true;
}

/* Replaces the first symbolic link of `path`, which is absolute. */
static bool step(char **path)
{
	for (char *end = *path; end && end[1];) {
		end = strchr(end + 1, '/');
		g_autofree char *link =
			end ? g_strndup(*path, (gsize)(end - *path)) : g_strdup(*path);
		g_autofree char *target = g_file_read_link(link, NULL);
		if (target) {
			g_autofree char *folder = g_path_get_dirname(link);
			g_autofree char *full = g_canonicalize_filename(target, folder);
			char *next = g_strconcat(full, end, NULL);
			g_free(*path);
			*path = next;
			return true;
		}
	}
	return false;
}

/* Of the commit. */
static bool way_changed_there(const Look *look, const char *path)
{
	const char *root = look->changes->root;
	g_autofree char *below = rg_path_named_below(root, path);
	g_autoptr(GPtrArray) way =
		below ? rg_git_way(root, below, look->from->ref, look->diags) : NULL;
	bool changed = false;
	for (guint i = 0; way && !changed && i < way->len; i++)
		changed = is_changed(look, way->pdata[i]);
	return changed;
}

/* Whether its name, or one of the links on the way to what it leads to, is changed. */
static bool way_changed(const Look *look, const char *path)
{
	if (look->from->ref)
		return way_changed_there(look, path);
	g_autofree char *at = g_canonicalize_filename(path, NULL);
	bool changed = false;
	for (int hops = 0; !changed && hops <= MAX_LINKS; hops++) {
		g_autofree char *below = rg_path_named_below(look->changes->root, at);
		changed = below && is_changed(look, below);
		if (!changed && !step(&at))
			break;
	}
	return changed;
}

/* A link is changed if its target is. */
static bool target_changed(const Look *look, const char *path)
{
	char *real = look->from->ref ? NULL : realpath(path, NULL);
	g_autofree char *below = real ? below_root(look, real) : NULL;
	free(real);
	return below && is_changed(look, below);
}

static bool file_changed(const Look *look, const char *path)
{
	g_autofree char *below = below_root(look, path);
	return below &&
	       (is_changed(look, below) || way_changed(look, path) || target_changed(look, path));
}

/* A project file beside the spec or in a folder above it, as the spec is named. */
static bool project_changed(const Look *look, const char *path)
{
	g_autofree char *dir = rg_path_named_below(look->changes->root, path);
	bool changed = false, top = !dir;
	while (!changed && !top) {
		char *parent = g_path_get_dirname(dir);
		g_free(dir);
		dir = parent;
		top = g_str_equal(dir, ".");
		g_autofree char *file = g_build_filename(
			look->changes->root, top ? "" : dir, RG_PROJECT_FILE, NULL);
		changed = file_changed(look, file);
	}
	return changed;
}

/* The spec, a file that it extends, or the project file. */
static bool is_touched(const Look *look, const RgSpecFile *file, bool *outside)
{
	g_autofree char *below = below_root(look, file->path);
	bool touched = file_changed(look, file->path) || project_changed(look, file->path);
	for (guint i = 1; !touched && file->files && i < file->files->len; i++)
		touched = file_changed(look, file->files->pdata[i]);
	*outside = !below;
	return below && touched;
}

/* Whether `below` is what the argument names, or is in that folder. */
static bool is_in_argument(const Look *look, const char *argument, const char *below)
{
	char *real = g_file_test(argument, G_FILE_TEST_IS_DIR) ? realpath(argument, NULL) : NULL;
	g_autofree char *top = below_root(look, real ? real : argument);
	size_t len = top ? strlen(top) : 0;
	free(real);
	return top && (!*top || g_str_equal(top, below) ||
			      (g_str_has_prefix(below, top) && below[len] == '/'));
}

static bool is_in_arguments(const Look *look, char *const *arguments, const char *below)
{
	for (guint i = 0; arguments[i]; i++) {
		if (is_in_argument(look, arguments[i], below))
			return true;
	}
	return false;
}

/* An argument that does not exist must be what the branch removed, not a typing error: "nothing
 * changed" would hide it. */
static bool check_gone(const Look *look, char *const *arguments)
{
	bool ok = true;
	for (guint i = 0; arguments[i]; i++) {
		GHashTableIter iter;
		gpointer below;
		bool known = look->from->ref || g_file_test(arguments[i], G_FILE_TEST_EXISTS);
		g_hash_table_iter_init(&iter, look->changes->paths);
		while (!known && g_hash_table_iter_next(&iter, &below, NULL))
			known = is_in_argument(look, arguments[i], below);
		if (!known)
			rg_diags_error(look->diags, "file.unreadable",
				"\"%s\" does not exist, neither now nor at the merge base",
				arguments[i]);
		ok = known && ok;
	}
	return ok;
}

/* Names of all clusters that have a spec now: those that were found, and those that the branch
 * moved elsewhere. */
static GHashTable *names_now(const Look *look, const RgSpecs *specs)
{
	GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	rg_ptr_foreach (const RgSpecFile, file, specs->files)
		if (file->cluster)
			g_hash_table_add(names, g_strdup(file->cluster));
	rg_hash_keys (const char, below, look->changes->paths) {
		g_autofree char *path = on_disk(look, below);
		g_autoptr(RgDiags) unused = rg_diags_new();
		RgSpecPeek peek = {0};
		if (specs_is_yaml(below) && specs_peek(path, look->from->ref, &peek, unused) &&
			peek.is_spec && peek.cluster)
			g_hash_table_add(names, g_strdup(peek.cluster));
		rg_spec_peek_clear(&peek);
	}
	return names;
}

static RgSpecFile *file_of(const RgSpecs *specs, const char *cluster)
{
	rg_ptr_foreach (RgSpecFile, file, specs->files)
		if (g_strcmp0(file->cluster, cluster) == 0)
			return file;
	return NULL;
}

/* Of a cluster that was described at `below`: in another file now, or removed. */
static void add_former(const Look *look, const char *below, bool in_arguments, const char *cluster,
	GHashTable *names, RgSpecs *specs)
{
	RgSpecFile *file = file_of(specs, cluster);
	g_autofree char *now = file ? rg_path_named_below(look->changes->root, file->path) : NULL;
	if (now && !file->was && !g_str_equal(now, below))
		file->was = g_strdup(below);
	if (in_arguments && g_hash_table_add(names, g_strdup(cluster)))
		g_ptr_array_add(specs->removed,
			specs_file_new(below, &(RgSpecPeek){.cluster = g_strdup(cluster)}));
}

/* The spec that was at `below` before; false if that cannot be read. */
static bool look_before(
	const Look *look, const char *below, bool in_arguments, GHashTable *names, RgSpecs *specs)
{
	g_autofree char *path = on_disk(look, below);
	g_autoptr(RgDiags) diags = rg_diags_new();
	RgSpecPeek peek = {0};
	if (!specs_peek(path, look->changes->base, &peek, diags)) {
		rg_diags_drop(diags, "git.no-file"); /* it is new */
		rg_diags_drop(diags, "git.not-a-file");
		bool ok = !in_arguments || !rg_diags_has_errors(diags);
		if (in_arguments)
			rg_diags_take_all(look->diags, diags);
		return ok;
	}
	if (peek.is_spec && peek.cluster)
		add_former(look, below, in_arguments, peek.cluster, names, specs);
	rg_spec_peek_clear(&peek);
	return true;
}

static bool find_former(const Look *look, char *const *arguments, RgSpecs *specs)
{
	g_autoptr(GHashTable) names = names_now(look, specs);
	g_autoptr(GList) paths = g_hash_table_get_keys(look->changes->paths);
	bool ok = true;
	paths = g_list_sort(paths, (GCompareFunc)g_strcmp0);
	for (GList *at = paths; at; at = at->next) {
		const char *below = at->data;
		if (specs_is_yaml(below))
			ok = look_before(look, below, is_in_arguments(look, arguments, below),
				     names, specs) &&
			     ok;
	}
	return ok;
}

static bool keep(const Look *look, RgSpecs *specs)
{
	for (guint i = specs->files->len; i > 0; i--) {
		const RgSpecFile *file = specs->files->pdata[i - 1];
		bool outside = false;
		if (is_touched(look, file, &outside))
			continue;
		if (outside) {
			rg_diags_error(look->diags, "usage.conflict",
				"\"%s\" is not in the git repository \"%s\", which --changed-since "
				"compares",
				file->path, look->changes->root);
			return false;
		}
		g_ptr_array_remove_index(specs->files, i - 1);
		specs->untouched++;
	}
	return true;
}

/* What changed on the other side too is taken back by the plan of a branch that lacks it. */
static void warn_of_behind(const Look *look, const char *folder, const RgSpecs *specs)
{
	const RgSpecsFrom *from = look->from;
	g_autoptr(RgDiags) unused = rg_diags_new();
	g_autoptr(RgGitChanges) there =
		rg_git_changes(folder, from->ref ? from->ref : "HEAD", from->changed_since, unused);
	if (!there || !g_hash_table_size(there->paths))
		return;
	const Look other = {from, there, unused};
	rg_ptr_foreach (const RgSpecFile, file, specs->files) {
		bool outside = false;
		if (!is_touched(&other, file, &outside))
			continue;
		RgDiag *diag = rg_diags_warning(look->diags, "git.behind",
			"%s changed on %s too, since this branch left it", file->path,
			from->since_name);
		rg_diag_detail(diag, "a plan of this branch takes that change back");
		rg_diag_hint(diag, "`git rebase %s`, or merge it", from->since_name);
	}
}

bool specs_keep_touched(
	RgSpecs *specs, char *const *arguments, const RgSpecsFrom *from, RgDiags *diags)
{
	g_autoptr(RgGitChanges) changes =
		rg_git_changes(arguments[0], from->changed_since, from->ref, diags);
	if (!changes)
		return false;
	const Look look = {from, changes, diags};
	if (!check_gone(&look, arguments) || !find_former(&look, arguments, specs) ||
		!keep(&look, specs))
		return false;
	warn_of_behind(&look, arguments[0], specs);
	return true;
}
