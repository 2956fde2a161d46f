/* The project file, raygpu.yaml: settings for every spec in its folder and below. Found and read
 * together with the spec, before fit and plan, which use its budget and policy like the spec's.
 * Owns everything it points to, immutable once loaded, any thread. */
#pragma once
#include "spec/cluster.h"

#define RG_PROJECT_FILE "raygpu.yaml"

typedef struct RgProject {
	char *file;	     /* as it was found: "../raygpu.yaml" */
	json_t *view;	     /* the file as JSON, checked (schemas/project.schema.json) */
	GHashTable *sources; /* as in RgCluster */
} RgProject;

void rg_project_free(RgProject *project);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgProject, rg_project_free)

/* The nearest raygpu.yaml in the spec's folder or above, up to the top of the git repository, or of
 * the file system outside a repository; NULL: there is none. `spec_path` NULL or "-": from the
 * working folder. g_free it. */
char *rg_project_find(const char *spec_path);
/* The folder that the spec belongs to, absolute, the same from every working directory: the project
 * file's if there is one, else the top of the git work tree, else the spec's own. g_free it. */
char *rg_project_home(const char *spec_path);
/* NULL and diagnostics if it has faults. `file` is the name used in diagnostics. */
RgProject *rg_project_load(const char *file, const char *text, size_t len, RgDiags *diags);
/* The same for a file, which may also be unreadable. */
RgProject *rg_project_load_file(const char *path, RgDiags *diags);

/* A file that sets limits: the spec or the project file. Borrowed. */
typedef struct {
	const json_t *view; /* its "budget" and "policy" count */
	GHashTable *sources;
	const char *file;
} RgLimits;
RgLimits rg_limits_of_cluster(const RgCluster *cluster);
RgLimits rg_limits_of_project(const RgProject *project);
/* The place of "/policy/max_nodes". */
RgSource rg_limits_source(const RgLimits *limits, const char *pointer);
