#include "spec/project.h"
#include <string.h>
#include "base/paths.h"
#include "spec/build.h"
#include "spec/check.h"

#define LEVELS 64 /* maximum number of folders above the spec to search */

void rg_project_free(RgProject *project)
{
	if (!project)
		return;
	g_free(project->file);
	json_decref(project->view);
	g_hash_table_unref(project->sources);
	rg_trusted_side_free(project->trusted);
	g_free(project);
}

void rg_trusted_side_free(RgTrustedSide *side)
{
	if (!side)
		return;
	g_free(side->name);
	g_free(side->where);
	rg_project_free(side->project);
	rg_cluster_free(side->spec);
	g_free(side);
}

RgProject *rg_project_new(void)
{
	RgProject *project = g_new0(RgProject, 1);
	project->file = g_strdup(RG_PROJECT_FILE);
	project->view = json_object();
	project->sources = g_hash_table_new(g_str_hash, g_str_equal);
	return project;
}

/* "clusters" -> ".", "." -> "..", ".." -> "../..", "/a/b" -> "/a". */
static char *folder_above(const char *folder)
{
	if (g_str_equal(folder, "."))
		return g_strdup("..");
	if (g_str_equal(folder, "..") || g_str_has_suffix(folder, "/.."))
		return g_strconcat(folder, "/..", NULL);
	return g_path_get_dirname(folder);
}

static bool is_there(const char *folder, const char *name)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);
	return g_file_test(path, G_FILE_TEST_EXISTS);
}

static bool is_top(const char *folder)
{
	g_autofree char *real = g_canonicalize_filename(folder, NULL);
	return g_str_equal(real, "/") || is_there(folder, ".git");
}

char *rg_project_find(const char *spec_path)
{
	bool has_path = spec_path && !g_str_equal(spec_path, "-");
	g_autofree char *folder = has_path ? g_path_get_dirname(spec_path) : g_strdup(".");
	for (unsigned i = 0; i < LEVELS && folder; i++) {
		if (is_there(folder, RG_PROJECT_FILE))
			return g_str_equal(folder, ".")
				       ? g_strdup(RG_PROJECT_FILE)
				       : g_build_filename(folder, RG_PROJECT_FILE, NULL);
		char *above = is_top(folder) ? NULL : folder_above(folder);
		g_free(folder);
		folder = above;
	}
	return NULL;
}

char *rg_project_home(const char *spec_path)
{
	bool has_path = spec_path && !g_str_equal(spec_path, "-");
	g_autofree char *dir = has_path ? g_path_get_dirname(spec_path) : g_strdup(".");
	g_autofree char *own = rg_path_real(dir); /* the folder may exist only in a commit */
	g_autofree char *folder = g_strdup(own);
	for (unsigned i = 0; i < LEVELS; i++) {
		if (is_there(folder, RG_PROJECT_FILE) || is_there(folder, ".git"))
			return g_steal_pointer(&folder);
		if (is_top(folder))
			break;
		char *above = folder_above(folder);
		g_free(folder);
		folder = above;
	}
	return g_steal_pointer(&own);
}

static void *build_project(
	RgDocument *document, G_GNUC_UNUSED const RgSpecReader *reader, RgDiags *diags)
{
	document->what = "the project file";
	rg_spec_check_shape(document, "project.schema.json", diags);
	if (rg_diags_has_errors(diags))
		return NULL;
	RgProject *project = g_new0(RgProject, 1);
	project->file = g_strdup(document->file);
	project->sources = g_steal_pointer(&document->sources);
	project->view = g_steal_pointer(&document->value);
	return project;
}

RgProject *rg_project_load(const char *file, const char *text, size_t len, RgDiags *diags)
{
	return spec_load_text(file, text, len, build_project, NULL, diags);
}

RgProject *rg_project_load_file(const char *path, RgDiags *diags)
{
	return spec_load_file(path, build_project, diags);
}

RgLimits rg_limits_of_cluster(const RgCluster *cluster)
{
	return (RgLimits){cluster->view, cluster->sources, cluster->file, NULL};
}

RgLimits rg_limits_of_project(const RgProject *project)
{
	return (RgLimits){project->view, project->sources, project->file, NULL};
}

size_t rg_limits_all(
	const RgCluster *cluster, const RgProject *project, RgLimits limits[RG_LIMITS_MAX])
{
	const RgTrustedSide *side = project ? project->trusted : NULL;
	size_t n = 0;
	if (cluster)
		limits[n++] = rg_limits_of_cluster(cluster);
	if (project)
		limits[n++] = rg_limits_of_project(project);
	if (side && side->project) {
		limits[n] = rg_limits_of_project(side->project);
		limits[n++].side = side->is_here ? side : NULL;
	}
	if (side && side->spec && cluster) {
		limits[n] = rg_limits_of_cluster(side->spec);
		limits[n++].side = side;
	}
	return n;
}

RgSource rg_limits_source(const RgLimits *limits, const char *pointer)
{
	const RgSource *found = rg_source_find(limits->sources, pointer);
	RgSource source = found ? *found : (RgSource){.file = g_intern_string(limits->file)};
	if (limits->side) {
		g_autofree char *file = g_strconcat(limits->side->name, ":",
			source.file + MIN(limits->side->strip, strlen(source.file)), NULL);
		source.file = g_intern_string(file);
	}
	return source;
}
