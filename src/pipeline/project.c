/* The project file that holds for a spec: beside it or above it, in the work tree, or in the commit
 * that the spec is read from: its limits and prices are of that day too. */
#include "pipeline/internal.h"

bool pass_load_project(const char *spec_path, RgProject **project, RgDiags *diags)
{
	g_autofree char *path = rg_project_find(spec_path);
	*project = path ? rg_project_load_file(path, diags) : NULL;
	return !path || *project;
}

/* One candidate, by its name below the root; *there false: the commit has none of that name. */
static RgProject *load_below(
	const char *below, const char *ref, const RgProvenance *spec, bool *there, RgDiags *diags)
{
	size_t len = 0;
	g_autoptr(RgDiags) found = rg_diags_new();
	g_autoptr(RgProvenance) unused = NULL;
	g_autofree char *path =
		spec->root ? g_build_filename(spec->root, below, NULL) : g_strdup(below);
	g_autofree char *text = rg_git_read(path, ref, &len, &unused, found);
	if (!text)
		rg_diags_drop(found, "git.no-file");
	*there = text || rg_diags_has_errors(found);
	rg_diags_take_all(diags, found);
	return text ? rg_project_load(below, text, len, diags) : NULL;
}

bool pass_load_project_at(const char *spec_path, const char *ref, const RgProvenance *spec,
	RgProject **project, RgDiags *diags)
{
	if (!ref)
		return pass_load_project(spec_path, project, diags);
	bool there = false;
	g_autofree char *folder = g_path_get_dirname(spec->path);
	for (;;) {
		bool top = g_str_equal(folder, ".");
		g_autofree char *below = top ? g_strdup(RG_PROJECT_FILE)
					     : g_build_filename(folder, RG_PROJECT_FILE, NULL);
		*project = load_below(below, ref, spec, &there, diags);
		if (there || top)
			return !there || *project;
		char *above = g_path_get_dirname(folder);
		g_free(folder);
		folder = above;
	}
}
