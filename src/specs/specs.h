/* Which specs a command works on: SPEC arguments are files or folders of them, in the work tree or
 * in a commit, all of them or those that a branch touches; and what such a spec says. Before the
 * path of data begins; reads files and git, no state. Pure data once returned; the caller frees it.
 */
#pragma once
#include "git/git.h"
#include "spec/project.h"
#include "spec/spec.h"

typedef struct {
	char *path;    /* to load it by */
	char *cluster; /* NULL: not known, and the loader will say why */
	RgSource source;
} RgSpecFile;

typedef struct {
	GPtrArray *files;   /* RgSpecFile*: in the order of the arguments, in a folder by path */
	GPtrArray *skipped; /* char*: YAML files of folders that are clearly no specs */
	GPtrArray *removed; /* RgSpecFile*: what the branch took away; the name is known */
	unsigned untouched; /* specs that the branch leaves as they are */
	/* the arguments ask for one report over all: a folder, several of them, or changed_since;
	 * also when one spec or none is found */
	bool several;
	bool folder; /* one of the arguments is a folder */
} RgSpecs;
void rg_specs_free(RgSpecs *specs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgSpecs, rg_specs_free)

typedef struct {
	const char *ref;	   /* read from this commit; NULL: the files as they are */
	const char *changed_since; /* only what differs from where HEAD left this; NULL: all */
} RgSpecsFrom;

/* `arguments` ends with NULL and is not empty. A single file is taken as it is, unread. NULL and
 * diagnostics when a folder, a commit or the history can't be read; two specs of one cluster are
 * an error too, spec.duplicate-cluster, but what was found is given. */
RgSpecs *rg_specs_find(char *const *arguments, const RgSpecsFrom *from, RgDiags *diags);

/* The cluster that a spec names, also one with errors; "-", or not known: NULL. g_free it. */
char *rg_specs_name(const char *path, const char *ref);

/* A spec file with its provenance, at a git revision when `ref` is not NULL. */
RgCluster *rg_specs_load(
	const char *path, const char *ref, RgProvenance **provenance, RgDiags *diags);

/* The project file that holds for a spec (NULL: for the working folder): the work tree's, or, when
 * the spec was read at the commit `ref`, where `spec` says, that commit's. *project NULL: there is
 * none. false: it has errors. */
bool rg_specs_project(const char *spec_path, const char *ref, const RgProvenance *spec,
	RgProject **project, RgDiags *diags);

/* Every folder has this one beside its specs; it is no spec itself, and all below depend on it. */
#define RG_PROJECT_FILE "raygpu.yaml"
