#include "git/module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/paths.h"
#include "git/repo.h"

static bool read_head(git_repository *repo, RgProvenance *provenance, RgDiags *diags)
{
	git_oid oid;
	g_autoptr(git_commit) commit = NULL;
	int unborn = git_repository_head_unborn(repo);
	if (unborn == 1)
		return true;
	if (unborn < 0 || git_reference_name_to_id(&oid, repo, "HEAD") != 0 ||
		git_commit_lookup(&commit, repo, &oid) != 0)
		return repo_report_unreadable(provenance->root, diags);
	char hex[GIT_OID_HEXSZ + 1];
	provenance->commit = g_strdup(git_oid_tostr(hex, sizeof hex, &oid));
	provenance->author = repo_author(commit);
	return true;
}

/* For that one file only: untracked, ignored, staged and changed all mean "not as in HEAD". */
static bool read_status(git_repository *repo, RgProvenance *provenance, RgDiags *diags)
{
	unsigned flags = GIT_STATUS_CURRENT;
	int code = git_status_file(&flags, repo, provenance->path);
	if (code != 0 && code != GIT_ENOTFOUND)
		return repo_report_unreadable(provenance->root, diags);
	provenance->dirty = code == GIT_ENOTFOUND || flags != GIT_STATUS_CURRENT;
	return true;
}

/* `file` is absolute and contains no symbolic links. */
static RgProvenance *read_provenance(const char *file, RgDiags *diags)
{
	g_autoptr(RgProvenance) provenance = g_new0(RgProvenance, 1);
	g_autoptr(git_repository) repo = NULL;
	g_autofree char *dir = g_path_get_dirname(file);
	if (!repo_open_around(dir, &repo, diags))
		return NULL;
	g_autofree char *root = repo ? repo_work_tree(repo) : NULL;
	provenance->path = root ? rg_path_real_below(root, file) : NULL;
	if (!provenance->path) /* core.worktree may point elsewhere */
		return g_steal_pointer(&provenance);
	provenance->root = g_steal_pointer(&root);
	provenance->in_repository = true;
	if (!read_head(repo, provenance, diags) || !read_status(repo, provenance, diags))
		return NULL;
	return g_steal_pointer(&provenance);
}

/* A spec that is a symbolic link counts as the file that it leads to, because that file is read. */
static RgProvenance *provenance(const char *spec_path, RgDiags *diags)
{
	char *file = realpath(spec_path, NULL);
	if (!file) {
		rg_diags_error(diags, "git.unreadable", "cannot find \"%s\": %s", spec_path,
			g_strerror(errno));
		return NULL;
	}
	bool use = repo_begin(spec_path, diags);
	RgProvenance *result = use ? read_provenance(file, diags) : NULL;
	free(file);
	return result;
}

static const RgGitModule module = {
	.size = sizeof(RgGitModule),
	.version = RG_VERSION,
	.provenance = provenance,
	.resolve = repo_resolve_at,
	.read = repo_read_at,
	.read_below = repo_read_below,
	.way = repo_way,
	.list = repo_list_at,
	.changes = repo_changes,
	.tracks = repo_tracks,
	.library = "libgit2/" LIBGIT2_VERSION,
};

__attribute__((visibility("default"))) const void *raygpu_git_module(void)
{
	return &module;
}
