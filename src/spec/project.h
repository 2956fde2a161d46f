/* The project file, raygpu.yaml: settings for every spec in its folder and below. Found and read
 * together with the spec, before fit and plan, which use its budget and policy like the spec's.
 * Owns everything it points to, immutable once loaded, any thread. */
#pragma once
#include "spec/cluster.h"

#define RG_PROJECT_FILE "raygpu.yaml"

/* The other side of a comparison (--changed-since, --ref): the change cannot loosen what it says.
 */
typedef struct {
	char *name, *where; /* "origin/main", "at origin/main"; "work tree", "in the work tree" */
	struct RgProject *project; /* NULL: it has none */
	RgCluster *spec;	   /* of the same file and cluster; NULL: it has none */
	size_t strip;		   /* of the names of the spec's files */
	bool is_here;		   /* it is the work tree */
} RgTrustedSide;
void rg_trusted_side_free(RgTrustedSide *side);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgTrustedSide, rg_trusted_side_free)

typedef struct RgProject {
	char *file;		/* as it was found: "../raygpu.yaml" */
	json_t *view;		/* the file as JSON, checked (schemas/project.schema.json) */
	GHashTable *sources;	/* as in RgCluster */
	RgTrustedSide *trusted; /* NULL: nothing is compared */
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

/* One without settings. */
RgProject *rg_project_new(void);

/* loosened.c */
/* A warning for each setting of the spec and the project file that is looser than on the trusted
 * side. */
void rg_project_tell_loosened(const RgCluster *cluster, const RgProject *project, RgDiags *diags);
/* Whose `catalog` counts: a change of it could pass every limit, if there is one. NULL: none. */
const RgProject *rg_project_catalog(const RgProject *project);

/* A file that sets limits: the spec or the project file. Borrowed. */
typedef struct {
	const json_t *view; /* its "budget" and "policy" count */
	GHashTable *sources;
	const char *file;
	const RgTrustedSide *side; /* whose spec it is; NULL: the names of files are as they are */
} RgLimits;
#define RG_LIMITS_MAX 4
RgLimits rg_limits_of_cluster(const RgCluster *cluster);
RgLimits rg_limits_of_project(const RgProject *project);
/* All that count; either may be NULL. Returns their number. */
size_t rg_limits_all(
	const RgCluster *cluster, const RgProject *project, RgLimits limits[RG_LIMITS_MAX]);
/* The place of "/policy/max_nodes". */
RgSource rg_limits_source(const RgLimits *limits, const char *pointer);
