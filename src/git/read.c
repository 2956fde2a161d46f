/* Reads a file of a commit from the object store, without the work tree. */
#include <stdlib.h>
#include <string.h>
#include "git/repo.h"

/* The nearest folder above `file` that exists, without symbolic links: the commit may have folders
 * that the work tree lacks. */
static char *existing_folder(const char *file)
{
	g_autofree char *at = g_path_get_dirname(file);
	for (;;) {
		char *real = realpath(at, NULL);
		if (real) {
			char *copy = g_strdup(real);
			free(real);
			return copy;
		}
		char *parent = g_path_get_dirname(at);
		g_free(at);
		at = parent;
	}
}

/* `file` (absolute, canonical) relative to the work tree; for a bare repository, `path`
 * unchanged. */
static char *path_below(git_repository *repo, const char *path, const char *file, char **root)
{
	const char *workdir = git_repository_workdir(repo);
	char *real = workdir ? realpath(workdir, NULL) : NULL;
	if (!real)
		return workdir ? NULL : g_strdup(g_str_equal(path, ".") ? "" : path);
	/* the folder's name may contain a symbolic link */
	g_autofree char *dir = g_path_get_dirname(file);
	g_autofree char *base = g_path_get_basename(file);
	char *real_dir = realpath(dir, NULL);
	g_autofree char *full = g_build_filename(real_dir ? real_dir : dir, base, NULL);
	size_t len = strlen(real);
	bool is_root = g_str_equal(file, real) || g_str_equal(full, real);
	bool is_below = strncmp(full, real, len) == 0 && full[len] == '/';
	char *below = is_root ? g_strdup("") : is_below ? g_strdup(full + len + 1) : NULL;
	if (below)
		*root = g_strdup(real);
	free(real_dir);
	free(real);
	return below;
}

bool repo_find_commit(git_repository *repo, const char *rev, git_commit **commit, RgDiags *diags)
{
	g_autoptr(git_object) object = NULL;
	git_object *peeled = NULL;
	if (git_revparse_single(&object, repo, rev) == 0 &&
		git_object_peel(&peeled, object, GIT_OBJECT_COMMIT) == 0) {
		*commit = (git_commit *)peeled;
		return true;
	}
	RgDiag *diag = rg_diags_error(
		diags, "git.no-revision", "this git repository has no commit \"%s\"", rev);
	if (git_repository_is_shallow(repo) == 1)
		rg_diag_hint(diag,
			"this clone is shallow: run `git fetch --unshallow` and `git fetch "
			"origin BRANCH`, or configure a full clone in the CI (depth 0)");
	else
		rg_diag_hint(diag, "run `git fetch origin`, and use the branch as origin/BRANCH");
	return false;
}

static char *report_other(const char *path, const char *rev, const char *what, RgDiags *diags)
{
	rg_diags_error(diags, "git.not-a-file", "\"%s\" at \"%s\" is %s", path, rev, what);
	return NULL;
}

static char *read_blob(git_repository *repo, const git_commit *commit, const char *path,
	const char *rev, size_t *len, RgDiags *diags)
{
	g_autoptr(git_tree) tree = NULL;
	g_autoptr(git_tree_entry) entry = NULL;
	g_autoptr(git_blob) blob = NULL;
	if (git_commit_tree(&tree, commit) != 0 || git_tree_entry_bypath(&entry, tree, path) != 0) {
		rg_diags_error(diags, "git.no-file", "\"%s\" at \"%s\" does not exist", path, rev);
		return NULL;
	}
	if (git_tree_entry_type(entry) != GIT_OBJECT_BLOB)
		return report_other(path, rev, "no file", diags);
	if (git_tree_entry_filemode(entry) == GIT_FILEMODE_LINK)
		return report_other(path, rev, "a symbolic link", diags);
	if (git_blob_lookup(&blob, repo, git_tree_entry_id(entry)) != 0) {
		repo_report_unreadable(path, diags);
		return NULL;
	}
	*len = (size_t)git_blob_rawsize(blob);
	char *text = g_malloc(*len + 1);
	memcpy(text, git_blob_rawcontent(blob), *len);
	text[*len] = '\0';
	return text;
}

static char *read_in(git_repository *repo, RgProvenance *provenance, const char *rev, size_t *len,
	RgDiags *diags)
{
	g_autoptr(git_commit) commit = NULL;
	if (!repo_find_commit(repo, rev, &commit, diags))
		return NULL;
	char hex[GIT_OID_HEXSZ + 1];
	provenance->in_repository = true;
	provenance->commit = g_strdup(git_oid_tostr(hex, sizeof hex, git_commit_id(commit)));
	provenance->author = repo_author(commit);
	return read_blob(repo, commit, provenance->path, rev, len, diags);
}

git_repository *repo_open_at(const char *path, char **below, char **root, RgDiags *diags)
{
	g_autofree char *file = g_canonicalize_filename(path, NULL);
	g_autofree char *folder =
		g_file_test(file, G_FILE_TEST_IS_DIR) ? g_strdup(file) : existing_folder(file);
	g_autoptr(git_repository) repo = NULL;
	if (!repo_open_around(folder, &repo, diags))
		return NULL;
	if (repo)
		*below = path_below(repo, path, file, root);
	if (*below)
		return g_steal_pointer(&repo);
	rg_diags_error(
		diags, "git.no-repository", "there is no git repository around \"%s\"", path);
	return NULL;
}

char *repo_read_at(
	const char *path, const char *rev, size_t *len, RgProvenance **provenance, RgDiags *diags)
{
	g_auto(RepoUse) use = repo_begin(path, diags);
	g_autoptr(RgProvenance) found = g_new0(RgProvenance, 1);
	g_autoptr(git_repository) repo =
		use ? repo_open_at(path, &found->path, &found->root, diags) : NULL;
	if (!repo)
		return NULL;
	char *text = read_in(repo, found, rev, len, diags);
	if (text)
		*provenance = g_steal_pointer(&found);
	return text;
}
