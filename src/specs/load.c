#include "specs/internal.h"

/* Where a spec comes from: a file, standard input, or a commit; and the project file that applies
 * to it: beside it or above it, in the work tree or in the commit that the spec is read from,
 * because its limits and prices belong to that commit too. */

char *specs_read_at(const void *ref, const char *path, size_t *len, RgDiags *diags)
{
	g_autoptr(RgProvenance) unused = NULL;
	return rg_git_read(path, ref, len, &unused, diags);
}

/* What was planned is what the commit says only if none of the files differs from it. */
static bool look_at_bases(const RgCluster *cluster, RgProvenance *provenance, RgDiags *diags)
{
	for (guint i = 1; provenance->in_repository && i < cluster->files->len; i++) {
		g_autoptr(RgProvenance) base = rg_git_provenance(cluster->files->pdata[i], diags);
		if (!base)
			return false;
		provenance->dirty = provenance->dirty || base->dirty;
	}
	return true;
}

RgCluster *rg_specs_load(
	const char *path, const char *ref, RgProvenance **provenance, RgDiags *diags)
{
	bool is_stdin = g_str_equal(path, "-");
	if (ref && is_stdin) {
		rg_diags_error(diags, "usage.conflict",
			"--ref reads the spec from a commit, not from standard input");
		return NULL;
	}
	if (ref) {
		size_t len = 0;
		g_autofree char *text = rg_git_read(path, ref, &len, provenance, diags);
		const RgSpecReader reader = {specs_read_at, ref};
		return text ? rg_spec_load_from(path, text, len, &reader, diags) : NULL;
	}
	g_autoptr(RgCluster) cluster = rg_spec_load_file(path, diags);
	if (!cluster)
		return NULL;
	*provenance = is_stdin ? g_new0(RgProvenance, 1) : rg_git_provenance(path, diags);
	return *provenance && look_at_bases(cluster, *provenance, diags) ? g_steal_pointer(&cluster)
									 : NULL;
}

char *rg_specs_merged(const char *path, const char *ref, bool json, RgDiags *diags)
{
	size_t len = 0;
	if (!ref)
		return rg_spec_merged_file(path, json, diags);
	g_autoptr(RgProvenance) unused = NULL;
	g_autofree char *text = rg_git_read(path, ref, &len, &unused, diags);
	const RgSpecReader reader = {specs_read_at, ref};
	return text ? rg_spec_merged(path, text, len, &reader, json, diags) : NULL;
}

/* ---- the project file */

static RgProject *load_project(const char *root, const char *below, const char *ref,
	const char *name, bool *there, RgDiags *diags)
{
	size_t len = 0;
	g_autoptr(RgDiags) found = rg_diags_new();
	g_autofree char *text = rg_git_read_below(root, below, ref, &len, found);
	if (!text)
		rg_diags_drop(found, "git.no-file");
	*there = text || rg_diags_has_errors(found);
	rg_diags_take_all(diags, found);
	return text ? rg_project_load(name, text, len, diags) : NULL;
}

bool specs_find_project(const char *root, const char *spec, const char *ref, const char *prefix,
	RgProject **project, char **folder, RgDiags *diags)
{
	g_autofree char *at = g_path_get_dirname(spec);
	for (;;) {
		bool top = g_str_equal(at, "."), there = false;
		g_autofree char *below = top ? g_strdup(RG_PROJECT_FILE)
					     : g_build_filename(at, RG_PROJECT_FILE, NULL);
		g_autofree char *name = g_strconcat(prefix, below, NULL);
		*project = load_project(root, below, ref, name, &there, diags);
		if (there || top) {
			*folder = top ? g_strdup(root) : g_build_filename(root, at, NULL);
			return !there || *project;
		}
		char *above = g_path_get_dirname(at);
		g_free(at);
		at = above;
	}
}

bool rg_specs_project(const char *spec_path, const char *ref, const RgProvenance *spec,
	RgProject **project, RgDiags *diags)
{
	if (!ref) {
		g_autofree char *path = rg_project_find(spec_path);
		*project = path ? rg_project_load_file(path, diags) : NULL;
		return !path || *project;
	}
	g_autofree char *unused = NULL;
	return specs_find_project(spec->root, spec->path, ref, "", project, &unused, diags);
}
