/* Which specs a command works on: SPEC arguments are files or folders, in the work tree or in a
 * commit, and either all of their specs count or those that a branch changes; and the content of
 * such a spec. Runs before the pipeline; reads files and git, not the state. Pure data once
 * returned; the caller frees it. */
#pragma once
#include "git/git.h"
#include "spec/project.h"
#include "spec/spec.h"

typedef struct {
	char *path;    /* to load it by */
	char *cluster; /* NULL: unknown; the loader reports why */
	RgSource source;
	GPtrArray *files; /* char*: the file and those that it extends; NULL: unknown */
	char *was; /* with changed_since, below the root: the file that described the cluster at the
		    * merge base, if it was another one; else NULL */
} RgSpecFile;

typedef struct {
	GPtrArray *files;   /* RgSpecFile*: in the order of the arguments, in a folder by path */
	GPtrArray *skipped; /* char*: YAML files of folders that are clearly not specs */
	GPtrArray *removed; /* RgSpecFile*: what the branch removed; the name is known */
	unsigned untouched; /* specs that the branch does not change */
	/* the arguments request one report over all: a folder, several arguments, or changed_since;
	 * also if one spec or none is found */
	bool several;
	bool folder; /* one of the arguments is a folder */
} RgSpecs;
void rg_specs_free(RgSpecs *specs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgSpecs, rg_specs_free)

typedef struct {
	const char *ref;	   /* read from this commit; NULL: the files as they are */
	const char *changed_since; /* only what differs from the merge base with this; NULL: all;
				    * both are ids of commits */
	const char *since_name;	   /* `changed_since` as the user named it */
} RgSpecsFrom;

/* What a change is compared with. It alone says what is trusted and where the state is, and its
 * limits count beside those of the change. */
typedef struct {
	char *name;   /* as the user named the revision; NULL: the work tree, from which a command
		       * with --ref is given */
	char *commit; /* its id; NULL with `name` */
	char *root;   /* of the git repository */
	GHashTable *former; /* char* -> char*, both below the root: what was moved, and whence */
} RgTrusted;
void rg_trusted_free(RgTrusted *trusted);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgTrusted, rg_trusted_free)
/* The revision in the repository around `path`; NULL and git.* diagnostics. */
RgTrusted *rg_trusted_at(const char *path, const char *rev, RgDiags *diags);
RgTrusted *rg_trusted_work_tree(void);
/* A spec that moves keeps the limits, and the state, of the place where it was. */
void rg_trusted_learn(RgTrusted *trusted, const RgSpecs *specs);
/* Its project file for a spec; NULL: there is none. *folder: where that is in the work tree, or its
 * top; NULL: as the file is named. false: it has errors. */
bool rg_trusted_project(const RgTrusted *trusted, const char *spec_path, RgProject **project,
	char **folder, RgDiags *diags);
/* Adds what it says to the change's project file (NULL: none, and an empty one is made), with a
 * warning for each setting that the change loosens. */
bool rg_trusted_join(
	const RgTrusted *trusted, const RgCluster *cluster, RgProject **project, RgDiags *diags);

/* `arguments` ends with NULL and is not empty. A single file is accepted unread. NULL and
 * diagnostics if a folder, a commit or the history cannot be read; two specs of one cluster are an
 * error too, spec.duplicate-cluster, but the result is returned. */
RgSpecs *rg_specs_find(char *const *arguments, const RgSpecsFrom *from, RgDiags *diags);

/* The cluster that a spec names, even if the spec has errors; NULL for "-" or if unknown. g_free
 * it. */
char *rg_specs_name(const char *path, const char *ref);

/* A spec file with its provenance, at a git revision if `ref` is not NULL. */
RgCluster *rg_specs_load(
	const char *path, const char *ref, RgProvenance **provenance, RgDiags *diags);

/* rg_spec_merged of the spec. g_free it. */
char *rg_specs_merged(const char *path, const char *ref, bool json, RgDiags *diags);

/* The project file that applies to a spec (NULL: to the working folder): the work tree's, or, if
 * the spec was read at the commit `ref`, that commit's. *project NULL: there is none. false: it has
 * errors. */
bool rg_specs_project(const char *spec_path, const char *ref, const RgProvenance *spec,
	RgProject **project, RgDiags *diags);

/* The project file's name; the file is not a spec, and all specs below it depend on it. */
#define RG_PROJECT_FILE "raygpu.yaml"
