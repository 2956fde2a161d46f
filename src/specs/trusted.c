#include "specs/internal.h"
#include <string.h>
#include "base/paths.h"

/* What a change is compared with, and what it says about a spec. A change decides what the specs
 * ask for, but not what is trusted and which limits hold. */

void rg_trusted_free(RgTrusted *trusted)
{
	if (!trusted)
		return;
	g_free(trusted->name);
	g_free(trusted->commit);
	g_free(trusted->root);
	if (trusted->former)
		g_hash_table_unref(trusted->former);
	g_free(trusted);
}

RgTrusted *rg_trusted_at(const char *path, const char *rev, RgDiags *diags)
{
	g_autoptr(RgTrusted) trusted = g_new0(RgTrusted, 1);
	trusted->name = g_strdup(rev);
	trusted->commit = rg_git_resolve(path, rev, &trusted->root, diags);
	return trusted->commit ? g_steal_pointer(&trusted) : NULL;
}

RgTrusted *rg_trusted_work_tree(void)
{
	return g_new0(RgTrusted, 1);
}

void rg_trusted_learn(RgTrusted *trusted, const RgSpecs *specs)
{
	if (!trusted->former)
		trusted->former = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	rg_ptr_foreach (const RgSpecFile, file, specs->files) {
		char *below = file->was ? rg_path_named_below(trusted->root, file->path) : NULL;
		if (below)
			g_hash_table_replace(trusted->former, below, g_strdup(file->was));
	}
}

/* Where it has the spec: NULL if that is outside. */
static char *spec_below(const RgTrusted *trusted, const char *path)
{
	g_autofree char *below = rg_path_named_below(trusted->root, path);
	const char *was =
		below && trusted->former ? g_hash_table_lookup(trusted->former, below) : NULL;
	return was ? g_strdup(was) : g_steal_pointer(&below);
}

/* ---- its project file */

static bool project_here(const char *spec_path, RgProject **project, RgDiags *diags)
{
	g_autofree char *path = rg_project_find(spec_path);
	*project = path ? rg_project_load_file(path, diags) : NULL;
	return !path || *project;
}

static bool report_outside(const RgTrusted *trusted, const char *path, RgDiags *diags)
{
	rg_diags_error(diags, "usage.conflict",
		"\"%s\" is not in the git repository \"%s\", which --changed-since compares", path,
		trusted->root);
	return false;
}

bool rg_trusted_project(const RgTrusted *trusted, const char *spec_path, RgProject **project,
	char **folder, RgDiags *diags)
{
	*folder = NULL;
	if (!trusted->commit)
		return project_here(spec_path, project, diags);
	g_autofree char *below = spec_below(trusted, spec_path);
	g_autofree char *prefix = g_strconcat(trusted->name, ":", NULL);
	return below ? specs_find_project(trusted->root, below, trusted->commit, prefix, project,
			       folder, diags)
		     : report_outside(trusted, spec_path, diags);
}

/* ---- the spec as it is there */

static char *read_there(const void *data, const char *path, size_t *len, RgDiags *diags)
{
	const RgTrusted *trusted = data;
	g_autofree char *below = rg_path_named_below(trusted->root, path);
	if (below)
		return rg_git_read_below(trusted->root, below, trusted->commit, len, diags);
	report_outside(trusted, path, diags);
	return NULL;
}

static RgCluster *load_there(const RgTrusted *trusted, const char *spec_path, RgDiags *diags)
{
	size_t len = 0;
	g_autofree char *below = spec_below(trusted, spec_path);
	g_autofree char *full = below ? g_build_filename(trusted->root, below, NULL) : NULL;
	g_autofree char *text = full ? read_there(trusted, full, &len, diags) : NULL;
	const RgSpecReader reader = {read_there, trusted};
	return text ? rg_spec_load_from(full, text, len, &reader, diags) : NULL;
}

/* One that is not there, or is of another cluster, has no limits for this one. One with errors has
 * none either, or nobody could correct it: so that is said. */
static RgCluster *spec_there(const RgTrusted *trusted, const RgTrustedSide *side,
	const RgCluster *cluster, RgDiags *diags)
{
	g_autoptr(RgDiags) found = rg_diags_new();
	g_autoptr(RgCluster) spec = NULL;
	if (trusted->commit)
		spec = load_there(trusted, cluster->file, found);
	else if (g_file_test(cluster->file, G_FILE_TEST_EXISTS))
		spec = rg_spec_load_file(cluster->file, found);
	if (spec)
		return g_str_equal(spec->name, cluster->name) ? g_steal_pointer(&spec) : NULL;
	const RgDiag *first = rg_diags_count(found) > 0 ? rg_diags_get(found, 0) : NULL;
	if (first && !g_str_equal(first->code, "git.no-file")) {
		RgDiag *diag = rg_diags_warning(diags, "trust.loosened",
			"the spec %s cannot be read, so limits of its own do not count",
			side->where);
		rg_diag_detail(diag, "%s", first->summary);
		rg_diag_hint(diag, "correct it there first, on its own");
	}
	return NULL;
}

bool rg_trusted_join(
	const RgTrusted *trusted, const RgCluster *cluster, RgProject **project, RgDiags *diags)
{
	g_autofree char *folder = NULL;
	g_autoptr(RgTrustedSide) side = g_new0(RgTrustedSide, 1);
	side->name = g_strdup(trusted->name ? trusted->name : "work tree");
	side->where = trusted->name ? g_strconcat("at ", trusted->name, NULL)
				    : g_strdup("in the work tree");
	side->is_here = !trusted->commit;
	if (!rg_trusted_project(trusted, cluster->file, &side->project, &folder, diags))
		return false;
	side->strip = trusted->commit ? strlen(trusted->root) + 1 : 0;
	side->spec = spec_there(trusted, side, cluster, diags);
	if (!*project)
		*project = rg_project_new();
	(*project)->trusted = g_steal_pointer(&side);
	rg_project_tell_loosened(cluster, *project, diags);
	return true;
}
